//! Distributes work over threads.

use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// Does the work for each item, in up to `threads` threads. Each thread has its own state. Returns
/// the first error. With one thread, no thread is spawned and items are taken in order.
pub(crate) fn for_each<T: Send, S>(
    threads: usize,
    mut items: impl ExactSizeIterator<Item = T> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> Result<()> + Sync,
) -> Result<()> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        let mut state = state();
        return items.try_for_each(|item| work(&mut state, item));
    }
    let shared = Mutex::new((items, Ok(())));
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let take = || {
        let mut shared = lock();
        if shared.1.is_ok() { shared.0.next() } else { None }
    };
    let run = || {
        let mut state = state();
        while let Some(item) = take() {
            if let Err(error) = work(&mut state, item) {
                let first = &mut lock().1;
                if first.is_ok() {
                    *first = Err(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    shared.into_inner().unwrap_or_else(PoisonError::into_inner).1
}
