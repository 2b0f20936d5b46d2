//! How writers and the background threads wake each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::error::{Error, Result};
use crate::base::parallel::lock;

/// Requests to the background threads, and what they report.
#[derive(Debug, Default)]
pub(crate) struct Signals {
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
    /// The last failure to flush, until a flush succeeds.
    flush_failure: Option<FlushFailure>,
    /// The last failure to compact, until the policy finds nothing left to merge.
    compaction_failure: Option<Error>,
}

#[derive(Debug)]
struct FlushFailure {
    /// The number of the step that it was.
    step: u64,
    at: Instant,
    error: Error,
}

/// How long writes wait before a failed flush or compaction is tried again. Each try may write much
/// before it fails.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Signals {
    /// Asks the background thread to flush and compact.
    pub(crate) fn request_work(&self) {
        self.urgent.store(true, Ordering::Relaxed);
        lock(&self.state).work = true;
        self.changed.notify_all();
    }

    /// Asks the syncing thread to sync the log now.
    pub(crate) fn request_sync(&self) {
        lock(&self.state).sync = true;
        self.changed.notify_all();
    }

    /// Asks the threads to end.
    pub(crate) fn stop(&self) {
        let mut state = lock(&self.state);
        state.stop = true;
        state.steps += 1;
        drop(state);
        // After `stop`: a merge that sees this flag must see the other too.
        self.urgent.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Whether the threads should end.
    pub(crate) fn is_stopped(&self) -> bool {
        lock(&self.state).stop
    }

    /// Whether work that is more urgent than a merge is waiting.
    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent.load(Ordering::Relaxed)
    }

    /// Withdraws the request for urgent work, because it is about to be done.
    pub(crate) fn begin_urgent(&self) {
        self.urgent.store(false, Ordering::Relaxed);
    }

    /// Wakes writers that wait for a step of the background thread.
    pub(crate) fn step(&self) {
        lock(&self.state).steps += 1;
        self.changed.notify_all();
    }

    /// Returns the number of steps so far, for [`wait_for_step`](Self::wait_for_step).
    pub(crate) fn steps(&self) -> u64 {
        lock(&self.state).steps
    }

    /// Asks for work, and waits until there have been more than `seen` steps.
    pub(crate) fn wait_for_step(&self, seen: u64) {
        self.request_work();
        let state = lock(&self.state);
        let waited = self.changed.wait_while(state, |state| state.steps == seen);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits for work, but at most until `deadline`. Returns false if the thread should end.
    pub(crate) fn wait_for_work(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.wait_until(deadline, |state| state.work);
        state.work = false;
        !state.stop
    }

    /// Waits for a request to sync, but at most for `interval`. Returns false if the thread should
    /// end.
    pub(crate) fn wait_for_sync(&self, interval: Duration) -> bool {
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

    /// Records how a flush ended, for `stats` and for writers that wait for it.
    pub(crate) fn flushed(&self, result: &Result<()>) {
        let at = Instant::now();
        let mut state = lock(&self.state);
        state.steps += 1;
        let step = state.steps;
        let failure = |error: &Error| FlushFailure { step, at, error: error.clone() };
        state.flush_failure = result.as_ref().err().map(failure);
        drop(state);
        self.changed.notify_all();
    }

    /// Records how compaction ended, for `stats` and for writers that wait for it.
    pub(crate) fn compacted(&self, result: &Result<()>) {
        let mut state = lock(&self.state);
        state.steps += 1;
        state.compaction_failure = result.as_ref().err().cloned();
        drop(state);
        self.changed.notify_all();
    }

    /// Returns an error if the last flush failed, and did so after step `seen`.
    pub(crate) fn check_flush_after(&self, seen: u64) -> Result<()> {
        self.check_flush(|failure| failure.step > seen)
    }

    /// Returns an error if the last flush failed so shortly before `now` that no write should cause
    /// another one.
    pub(crate) fn check_flush_at(&self, now: Instant) -> Result<()> {
        self.check_flush(|failure| now.saturating_duration_since(failure.at) < RETRY_AFTER)
    }

    fn check_flush(&self, counts: impl Fn(&FlushFailure) -> bool) -> Result<()> {
        match &lock(&self.state).flush_failure {
            Some(failure) if counts(failure) => {
                let prefix = "a full memtable could not be flushed: ";
                Err(failure.error.repeat_as(failure.error.kind(), prefix).into_obstacle())
            }
            _ => Ok(()),
        }
    }

    /// Whether the last compaction failed.
    pub(crate) fn is_compaction_failing(&self) -> bool {
        lock(&self.state).compaction_failure.is_some()
    }

    /// Returns the last failure to flush or to compact, unless that has succeeded since.
    pub(crate) fn message(&self) -> Option<String> {
        let state = lock(&self.state);
        let flush = state.flush_failure.as_ref().map(|failure| &failure.error);
        flush.or(state.compaction_failure.as_ref()).map(Error::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_flush_is_not_repeated_for_a_second_and_then_is() {
        let signals = Signals::default();
        let failed = Err(Error::invalid("the disk is full"));
        assert!(signals.check_flush_at(Instant::now()).is_ok());
        let before = Instant::now();
        signals.flushed(&failed);
        let after = Instant::now();
        for soon in [before, after, before + RETRY_AFTER - Duration::from_millis(1)] {
            let error = signals.check_flush_at(soon).unwrap_err();
            assert!(error.stops_all_writes(), "{error}");
            assert!(error.to_string().ends_with("could not be flushed: the disk is full"));
        }
        assert!(signals.check_flush_at(after + RETRY_AFTER).is_ok());
        signals.flushed(&Ok(()));
        assert!(signals.check_flush_at(before).is_ok());
    }
}
