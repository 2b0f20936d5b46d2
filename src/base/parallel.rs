//! Distributes work over threads, and takes the locks of what they share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::base::error::Result;

/// Locks a mutex, even if a thread panicked while it held it. What these locks protect is changed
/// by single assignments, and the database's `PanicGuard` stops all writes where a panic could
/// leave a change half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    let items = Mutex::new(Some(items));
    in_threads(threads, &|| {
        let mut state = state();
        let take = || lock(&items).as_mut()?.next();
        while let Some(item) = take() {
            // After an error, no thread takes another item.
            work(&mut state, item).inspect_err(|_| *lock(&items) = None)?;
        }
        Ok(())
    })
}

/// Runs `work` in this many threads, one of which is the caller's. Returns the first error. It is
/// compiled once, while [`for_each`] is compiled for each kind of work.
fn in_threads(threads: usize, work: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
    let first = Mutex::new(Ok(()));
    let run = || {
        if let Err(error) = work() {
            let mut first = lock(&first);
            if first.is_ok() {
                *first = Err(error);
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    first.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Does the work for each item in several threads. Returns the results in the order of the items.
#[cfg(feature = "text")]
pub(crate) fn map<I: Sync, T: Default + Send>(
    threads: usize,
    items: &[I],
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut done: Vec<T> = items.iter().map(|_| T::default()).collect();
    let tasks = items.iter().zip(&mut done);
    for_each(
        threads,
        tasks,
        || (),
        |(), (item, done)| {
            *done = work(item)?;
            Ok(())
        },
    )?;
    Ok(done)
}
