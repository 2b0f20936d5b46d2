//! The background threads: one flushes and compacts, one syncs the log at intervals.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::core::Core;
use super::options::Durability;
use super::poison::PanicGuard;
use super::{compact, flush, sync};
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::fingerprint::Fingerprint;

/// How long to wait before a failed flush or compaction is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Starts the threads that the options request and appends them to `threads`, so that the caller
/// can end those that run if a later one cannot be started.
pub(super) fn start<F: Fingerprint>(
    core: &Arc<Core<F>>,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<()> {
    if !core.tuning.background {
        return Ok(());
    }
    threads.push(spawn(core, "fpdb-compaction", flush_and_compact)?);
    if core.tuning.durability == Durability::Buffered {
        threads.push(spawn(core, "fpdb-sync", sync_at_intervals)?);
    }
    core.signals.request_work();
    Ok(())
}

fn spawn<F: Fingerprint>(
    core: &Arc<Core<F>>,
    name: &str,
    work: fn(&Core<F>),
) -> Result<JoinHandle<()>> {
    let shared = core.clone();
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread
        .spawn(move || work(&shared))
        .map_err(|e| Error::io("start a background thread", core.storage.root(), e))
}

/// The first thread: flushes, then runs one compaction after another.
fn flush_and_compact<F: Fingerprint>(core: &Core<F>) {
    let wake = || core.signals.step();
    let _guard = PanicGuard::new(&core.poison, &wake);
    let mut retry_at = None;
    while core.signals.wait_for_work(retry_at) {
        let result = work_until_done(core);
        retry_at = match &result {
            Err(error) if is_worth_a_retry(core, error) => Some(Instant::now() + RETRY_AFTER),
            _ => None,
        };
        if !core.signals.is_stopped() {
            if let Err(error) = &result {
                Event::BackgroundFailed { path: core.storage.root(), error }.report();
            }
            core.signals.report(result);
        }
    }
}

/// A poisoned handle has reported its error to the writers, and damage does not go away.
fn is_worth_a_retry<F: Fingerprint>(core: &Core<F>, error: &Error) -> bool {
    !core.poison.is_set() && error.kind() != ErrorKind::Corruption
}

fn work_until_done<F: Fingerprint>(core: &Core<F>) -> Result<()> {
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
        if core.signals.is_stopped() || !compact::compact_once(core, &pause)? {
            return Ok(());
        }
    }
}

/// The second thread, under `Durability::Buffered`.
fn sync_at_intervals<F: Fingerprint>(core: &Core<F>) {
    loop {
        let goes_on = core.signals.wait_for_sync(core.tuning.sync_interval);
        // A failure poisons the handle, so the next write returns it.
        if sync::sync_log(core).is_err() || !goes_on {
            return;
        }
    }
}
