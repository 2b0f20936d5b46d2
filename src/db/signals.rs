//! What writers and the background threads tell each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::core::lock;
use crate::error::{Error, Result};

/// What writers and the background thread tell each other.
#[derive(Debug, Default)]
pub(super) struct Signals {
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    /// For a merge that is under way: a memtable is frozen, or the handle is closed.
    pub(super) urgent: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// There may be something to do.
    pub(super) work: bool,
    pub(super) stop: bool,
    /// The log is to be synced before the interval is over.
    pub(super) sync: bool,
    /// The next write returns it.
    pub(super) error: Option<Error>,
    /// Its text, for `stats`, until the work succeeds.
    pub(super) message: Option<String>,
}

impl Signals {
    /// There is something to do.
    pub(super) fn work(&self) {
        self.urgent.store(true, Ordering::Relaxed);
        lock(&self.state).work = true;
        self.changed.notify_all();
    }

    /// The log is to be synced before the interval is over.
    pub(super) fn sync_soon(&self) {
        lock(&self.state).sync = true;
        self.changed.notify_all();
    }

    /// The background thread is to end.
    pub(super) fn stop(&self) {
        lock(&self.state).stop = true;
        // Afterwards: a merge that sees it must see the other too.
        self.urgent.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    pub(super) fn stopped(&self) -> bool {
        lock(&self.state).stop
    }

    /// Something was done.
    pub(super) fn notify(&self) {
        drop(lock(&self.state));
        self.changed.notify_all();
    }

    /// Waits for work until `deadline`; false if the thread is to end.
    pub(super) fn wait_for_work(&self, deadline: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        loop {
            if state.stop {
                return false;
            }
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if std::mem::take(&mut state.work) || left.is_some_and(|left| left.is_zero()) {
                return true;
            }
            state = match left {
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// For `stats` alone.
    pub(super) fn note(&self, result: &Result<()>) {
        lock(&self.state).message = result.as_ref().err().map(Error::to_string);
    }

    pub(super) fn report(&self, result: Result<()>) {
        let mut state = lock(&self.state);
        match result {
            Ok(()) => (state.error, state.message) = (None, None),
            Err(error) => {
                state.message = Some(error.to_string());
                state.error = Some(error);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// What went wrong in the background last, unless it has succeeded since.
    pub(super) fn message(&self) -> Option<String> {
        lock(&self.state).message.clone()
    }
}
