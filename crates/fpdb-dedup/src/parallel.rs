//! Work on many items in several threads.

use std::thread;

use crate::error::{Error, Result};

/// Items between two looks at whether the caller wants no more.
const STEP: usize = 64;

/// Returns whether the caller wants no more.
pub(crate) type IsEnough<'a> = &'a (dyn Fn() -> bool + Sync);

/// Divides the items among threads. Returns the results in order, or `Cancelled` if the caller
/// wants no more.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    is_enough: IsEnough<'_>,
    work: impl Fn(&T) -> R + Sync,
) -> Result<Vec<R>> {
    let some = |items: &[T]| {
        let mut results = Vec::with_capacity(items.len());
        for step in items.chunks(STEP) {
            if is_enough() {
                return Err(Error::Cancelled);
            }
            results.extend(step.iter().map(&work));
        }
        Ok(results)
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
        let parts: Vec<Vec<R>> = ended.collect::<Result<_>>()?;
        Ok(parts.into_iter().flatten().collect())
    })
}
