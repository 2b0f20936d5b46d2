//! How locks are taken.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if a thread panicked while it held it. What these locks protect is changed
/// by single assignments, and [`PanicGuard`](crate::db::state::poison::PanicGuard) stops all writes
/// where a panic could leave a change half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
