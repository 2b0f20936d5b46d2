//! Work on many items in several threads.

use std::num::NonZero;
use std::thread;

use crate::base::interrupt::Cancel;
use crate::base::numbers::Number;

/// Items between two looks at whether the caller wants no more.
const STEP: usize = 64;

/// Returns the number of threads that the caller gave, or else the number of processors.
pub(crate) fn threads(given: Option<Number>) -> usize {
    let processors = || thread::available_parallelism().map_or(1, NonZero::get);
    given.map_or_else(processors, Number::count)
}

/// Divides the items among threads. Returns the results in order, or some if it is cancelled.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    cancel: &Cancel,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let some = |items: &[T]| {
        let mut results = Vec::with_capacity(items.len());
        for step in items.chunks(STEP) {
            if cancel.is_cancelled() {
                break;
            }
            results.extend(step.iter().map(&work));
        }
        results
    };
    let share = items.len().div_ceil(threads.max(1)).max(STEP);
    if items.len() <= share {
        return some(items);
    }
    thread::scope(|scope| {
        let some = &some;
        let workers: Vec<_> =
            items.chunks(share).map(|items| scope.spawn(move || some(items))).collect();
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.flatten().collect()
    })
}
