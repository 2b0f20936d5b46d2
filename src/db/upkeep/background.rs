//! The background threads: one flushes and compacts, one syncs the log at intervals.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::events::Event;
use crate::db::commit::sync;
use crate::db::options::Durability;
use crate::db::state::core::{Base, Core};
use crate::db::state::poison::PanicGuard;
use crate::db::state::signals::RETRY_AFTER;
use crate::db::upkeep::compact;
use crate::db::upkeep::flush;
use crate::fingerprint::Fingerprint;

/// The wait doubles with each failure of compaction in a row, up to this. A compaction may read a
/// lot before it meets the same damage or the same full disk again.
const LAST_RETRY_AFTER: Duration = Duration::from_secs(16);

/// Starts the threads that the options request and appends them to `threads`, so that the caller
/// can end those that run if a later one cannot be started.
pub(crate) fn start<F: Fingerprint>(
    core: &Arc<Core<F>>,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<()> {
    if !core.tuning.background {
        return Ok(());
    }
    let shared = core.clone();
    let work = Box::new(move || flush_and_compact(&shared));
    threads.push(spawn(core, "fpdb-compaction", work)?);
    if core.tuning.durability != Durability::Sync {
        let shared = core.clone();
        threads.push(spawn(core, "fpdb-sync", Box::new(move || sync_at_intervals(&shared)))?);
    }
    core.signals.request_work();
    Ok(())
}

fn spawn(core: &Base, name: &str, work: Box<dyn FnOnce() + Send>) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(|e| Error::io("start a background thread", core.storage.root(), e))
}

/// The first thread: flushes, then runs one compaction after another.
fn flush_and_compact<F: Fingerprint>(core: &Core<F>) {
    let wake = || core.signals.step();
    let _guard = PanicGuard::new(&core.poison, &wake);
    let mut compaction = Retries::default();
    let mut retry_at = None;
    while core.signals.wait_for_work(retry_at) {
        let flushed = work_until_done(core, &mut compaction);
        let retry_flush = match &flushed {
            Err(error) => {
                report_failure(core, error);
                is_worth_a_retry(core, error).then(|| Instant::now() + RETRY_AFTER)
            }
            Ok(()) => None,
        };
        retry_at = retry_flush.into_iter().chain(compaction.wake_at).min();
    }
}

/// When compaction is tried again after it failed.
#[derive(Debug, Default)]
struct Retries {
    /// It is not tried before.
    not_before: Option<Instant>,
    /// The thread wakes up for it then, even if nothing else is to be done.
    wake_at: Option<Instant>,
    /// How long it waited the last time.
    waited: Option<Duration>,
}

impl Retries {
    fn is_due(&self) -> bool {
        self.not_before.is_none_or(|at| at <= Instant::now())
    }

    fn after_failure(&self, is_worth_waking: bool) -> Self {
        let wait = self.waited.map_or(RETRY_AFTER, |waited| (waited * 2).min(LAST_RETRY_AFTER));
        let at = Instant::now() + wait;
        let wake_at = is_worth_waking.then_some(at);
        Self { not_before: Some(at), wake_at, waited: Some(wait) }
    }
}

fn report_failure(core: &Base, error: &Error) {
    if !core.signals.is_stopped() {
        Event::BackgroundFailed { path: core.storage.root(), error }.report();
    }
}

/// A poisoned handle has reported its error to the writers, and damage does not go away.
fn is_worth_a_retry(core: &Base, error: &Error) -> bool {
    !core.poison.is_set() && error.kind() != ErrorKind::Corruption
}

/// Flushes and compacts until there is nothing to do, or compaction fails. Returns an error if a
/// flush failed.
fn work_until_done<F: Fingerprint>(core: &Core<F>, compaction: &mut Retries) -> Result<()> {
    let pause = |_| {
        if core.signals.is_urgent() && core.signals.is_stopped() {
            return Err(Error::new(
                ErrorKind::Cancelled,
                "compaction was cancelled because the database is being closed",
            ));
        }
        compact::flush_if_urgent(core)
    };
    loop {
        core.signals.begin_urgent();
        flush::flush_frozen(core)?;
        if core.signals.is_stopped() || !compaction.is_due() {
            return Ok(());
        }
        match compact::compact_once(core, &pause) {
            Ok(true) => {}
            Ok(false) => {
                core.signals.compacted(&Ok(()));
                *compaction = Retries::default();
                return Ok(());
            }
            // Not a failure.
            Err(_) if core.signals.is_stopped() => return Ok(()),
            // A flush is tried again at once: it may have failed because the files of the merge
            // took the space that it needed, and they are removed by now.
            Err(error) => {
                report_failure(core, &error);
                *compaction = compaction.after_failure(is_worth_a_retry(core, &error));
                core.signals.compacted(&Err(error));
            }
        }
    }
}

/// The second thread, under `Durability::Buffered`.
fn sync_at_intervals(core: &Base) {
    let Some(interval) = core.tuning.durability.interval() else { return };
    loop {
        let goes_on = core.signals.wait_for_sync(interval);
        // A failure poisons the handle, so the next write returns it.
        if sync::sync_log(core).is_err() || !goes_on {
            return;
        }
    }
}
