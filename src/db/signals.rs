//! How writers and the background threads wake each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::locks::lock;
use crate::error::{Error, Result};

/// Requests to the background threads, and what they report.
#[derive(Debug, Default)]
pub(super) struct Signals {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a merge should stop for a moment, because a memtable is frozen or the handle is
    /// being closed. Outside the lock, because merges check it often.
    urgent: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Flush or compaction may have something to do.
    work: bool,
    /// The log should be synced before the interval ends.
    sync: bool,
    /// The threads should end.
    stop: bool,
    /// Counts completed steps and failures, for writers that wait for one.
    steps: u64,
    /// The last failure in the background, until a write returns it.
    error: Option<Error>,
    /// Its text for `stats`, until the work succeeds.
    message: Option<String>,
}

impl Signals {
    /// Asks the background thread to flush and compact.
    pub(super) fn request_work(&self) {
        self.urgent.store(true, Ordering::Relaxed);
        lock(&self.state).work = true;
        self.changed.notify_all();
    }

    /// Asks the syncing thread to sync the log now.
    pub(super) fn request_sync(&self) {
        lock(&self.state).sync = true;
        self.changed.notify_all();
    }

    /// Asks the threads to end.
    pub(super) fn stop(&self) {
        let mut state = lock(&self.state);
        state.stop = true;
        state.steps += 1;
        drop(state);
        // After `stop`: a merge that sees this flag must see the other too.
        self.urgent.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Whether the threads should end.
    pub(super) fn is_stopped(&self) -> bool {
        lock(&self.state).stop
    }

    /// Whether work that is more urgent than a merge is waiting.
    pub(super) fn is_urgent(&self) -> bool {
        self.urgent.load(Ordering::Relaxed)
    }

    /// Withdraws the request for urgent work, because it is about to be done.
    pub(super) fn begin_urgent(&self) {
        self.urgent.store(false, Ordering::Relaxed);
    }

    /// Wakes writers that wait for a step of the background thread.
    pub(super) fn step(&self) {
        lock(&self.state).steps += 1;
        self.changed.notify_all();
    }

    /// Returns the number of steps so far, for [`wait_for_step`](Self::wait_for_step).
    pub(super) fn steps(&self) -> u64 {
        lock(&self.state).steps
    }

    /// Asks for work, and waits until there have been more than `seen` steps.
    pub(super) fn wait_for_step(&self, seen: u64) {
        self.request_work();
        let state = lock(&self.state);
        let waited = self.changed.wait_while(state, |state| state.steps == seen);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits for work, but at most until `deadline`. Returns false if the thread should end.
    pub(super) fn wait_for_work(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.wait_until(deadline, |state| state.work);
        state.work = false;
        !state.stop
    }

    /// Waits for a request to sync, but at most for `interval`. Returns false if the thread should
    /// end.
    pub(super) fn wait_for_sync(&self, interval: Duration) -> bool {
        let mut state = self.wait_until(Some(Instant::now() + interval), |state| state.sync);
        state.sync = false;
        !state.stop
    }

    fn wait_until(
        &self,
        deadline: Option<Instant>,
        is_requested: impl Fn(&State) -> bool,
    ) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        while !state.stop && !is_requested(&state) {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            state = match left {
                Some(left) if left.is_zero() => break,
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state
    }

    /// Records how work in the background ended. The next write returns a failure.
    pub(super) fn report(&self, result: Result<()>) {
        let mut state = lock(&self.state);
        state.message = result.as_ref().err().map(Error::to_string);
        state.error = result.err();
        state.steps += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Records how work ended, for `stats` only.
    pub(super) fn note(&self, result: &Result<()>) {
        lock(&self.state).message = result.as_ref().err().map(Error::to_string);
    }

    /// Returns a failure in the background to the next write, once.
    pub(super) fn check(&self) -> Result<()> {
        match lock(&self.state).error.take() {
            Some(error) => Err(error.repeat_as(error.kind(), "in the background: ")),
            None => Ok(()),
        }
    }

    /// Returns the last failure in the background, unless the work has succeeded since.
    pub(super) fn message(&self) -> Option<String> {
        lock(&self.state).message.clone()
    }
}
