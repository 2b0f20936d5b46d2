//! Flush and compaction, and the thread that does them in the background.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::core::{Core, lock};
use super::options::Durability;
use crate::compaction::{Merger, Weight, pick, write_changes};
use crate::error::{Error, ErrorKind, Result};
use crate::files::FileName;
use crate::fingerprint::Fingerprint;
use crate::manifest::Manifest;
use crate::segment::{Segment, SegmentMeta};
use crate::sorter::FileNumbers;
use crate::version::Version;

/// Segments beyond which writes wait for compaction a little, and then until it has caught up. The
/// policy keeps far fewer; more means that writes outrun it.
const SLOW_SEGMENTS: usize = 24;
const STOP_SEGMENTS: usize = 48;
const SLOW_WRITE: Duration = Duration::from_millis(1);

/// How long a failed flush or compaction rests before it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// What writers and the background thread tell each other.
#[derive(Debug, Default)]
pub(super) struct Signals {
    state: Mutex<State>,
    changed: Condvar,
    /// For a merge that is under way: a memtable is frozen, or the handle is closed.
    urgent: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// There may be something to do.
    work: bool,
    stop: bool,
    /// The next write returns it.
    error: Option<Error>,
    /// Its text, for `stats`, until the work succeeds.
    message: Option<String>,
}

impl Signals {
    /// There is something to do.
    pub(super) fn work(&self) {
        self.urgent.store(true, Ordering::Relaxed);
        lock(&self.state).work = true;
        self.changed.notify_all();
    }

    /// The background thread is to end.
    pub(super) fn stop(&self) {
        lock(&self.state).stop = true;
        // Afterwards: a merge that sees it must see the other too.
        self.urgent.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    fn stopped(&self) -> bool {
        lock(&self.state).stop
    }

    /// Something was done.
    fn notify(&self) {
        drop(lock(&self.state));
        self.changed.notify_all();
    }

    /// Waits for work until `deadline`; false if the thread is to end.
    fn wait_for_work(&self, deadline: Option<Instant>) -> bool {
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

    fn report(&self, result: Result<()>) {
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

/// What a full compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Segments before.
    pub segments_before: usize,
    /// Segments after.
    pub segments_after: usize,
    /// Bytes of all segments before.
    pub bytes_before: u64,
    /// Bytes of all segments after.
    pub bytes_after: u64,
}

impl<F: Fingerprint> Core<F> {
    /// Returns, once, what went wrong in the background, to the next write.
    pub(super) fn take_background_error(&self) -> Result<()> {
        match lock(&self.signals.state).error.take() {
            Some(error) => Err(error.repeat_as(error.kind(), "in the background: ")),
            None => Ok(()),
        }
    }

    /// Called with the writer's lock held and a full memtable: waits until none is frozen any more,
    /// and while compaction is far behind.
    pub(super) fn wait_for_flush(&self) -> Result<()> {
        let mut state = lock(&self.signals.state);
        loop {
            self.check_writable()?;
            if let Some(error) = state.error.take() {
                return Err(error.repeat_as(error.kind(), "in the background: "));
            }
            let version = self.current.get();
            let served = self.tuning.background && !state.stop;
            let behind = served && version.segments.len() >= STOP_SEGMENTS;
            if version.frozen.is_none() && !behind {
                break;
            }
            if !served {
                // An earlier flush failed, or the handle is being closed: nobody else will.
                drop(state);
                return self.flush_frozen();
            }
            state.work = true;
            self.changed_soon();
            state = self.signals.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        if self.current.get().segments.len() >= SLOW_SEGMENTS {
            std::thread::sleep(SLOW_WRITE);
        }
        Ok(())
    }

    fn changed_soon(&self) {
        self.signals.urgent.store(true, Ordering::Relaxed);
        self.signals.changed.notify_all();
    }

    /// Writes the frozen memtable, if there is one, as a segment (protocol P3).
    pub(super) fn flush_frozen(&self) -> Result<()> {
        let _one_at_a_time = lock(&self.flushing);
        let Some(frozen) = self.current.get().frozen.clone() else { return Ok(()) };
        let id = self.next();
        let changes = frozen.net_changes(u64::MAX);
        let names = frozen.names();
        let written = write_changes(&self.storage, &self.settings, id, &changes, &names)?;
        let segment = written.map(|meta| self.open_new(meta)).transpose()?;
        let next_doc = names.0.0 + names.1.len() as u64;
        let mut ended = Vec::new();
        self.install_with(segment.as_deref(), |manifest| {
            manifest.segments.extend(segment.as_ref().map(|s| s.meta().clone()));
            // All logs but the last are ended, and what they hold is in segments now.
            let last = manifest.logs.pop();
            ended = std::mem::take(&mut manifest.logs);
            manifest.logs.extend(last);
            manifest.next_doc = manifest.next_doc.max(next_doc);
            manifest.last_seq = manifest.last_seq.max(frozen.last_seq());
        })?;
        self.current.update(|version| Version {
            segments: version.segments.iter().cloned().chain(segment).collect(),
            frozen: None,
            flushed: version.flushed.max(frozen.last_seq()),
            ..version.clone()
        });
        ended.iter().for_each(|log| self.remove_file(FileName::Log(log.id)));
        self.signals.notify();
        Ok(())
    }

    /// Opens a segment that was just written, its names made durable before any manifest has them.
    fn open_new(&self, meta: SegmentMeta) -> Result<Arc<Segment<F>>> {
        self.storage.sync_dir().map_err(|e| self.poison(e))?;
        let files = meta.files();
        let opened = Segment::open(&self.storage, &self.settings, meta);
        if opened.is_err() {
            files.iter().for_each(|(name, _)| self.remove_file(*name));
        }
        opened.map(Arc::new)
    }

    /// As `install`, for a manifest that names a new segment: where no manifest can name it, its
    /// files go at once.
    fn install_with(
        &self,
        segment: Option<&Segment<F>>,
        change: impl FnOnce(&mut Manifest),
    ) -> Result<()> {
        let installed = self.install(change);
        if let (Err(_), None, Some(segment)) = (&installed, self.poison.get(), segment) {
            segment.retire();
        }
        installed
    }

    /// Adds a bulk load's segment, newer than all others.
    pub(super) fn add_segment(&self, meta: SegmentMeta) -> Result<()> {
        let segment = self.open_new(meta)?;
        self.install_with(Some(&segment), |manifest| {
            manifest.segments.push(segment.meta().clone());
        })?;
        self.current.update(|version| Version {
            segments: version.segments.iter().chain([&segment]).cloned().collect(),
            loads: version.loads + 1,
            ..version.clone()
        });
        Ok(())
    }

    /// Merges the run of segments that the policy names; false if it names none.
    pub(super) fn compact_once(&self, pause: &dyn Fn() -> Result<()>) -> Result<bool> {
        let _one_at_a_time = lock(&self.maintenance);
        let segments = self.current.get().segments.clone();
        let weights: Vec<Weight> = segments
            .iter()
            .map(|s| Weight { entries: s.meta().entries, removed: s.meta().removed })
            .collect();
        match pick(&weights) {
            Some(run) => self.merge(&segments[run.clone()], run.start == 0, pause).map(|()| true),
            None => Ok(false),
        }
    }

    /// Merges all segments into one.
    pub(super) fn compact_all(&self) -> Result<CompactReport> {
        let _one_at_a_time = lock(&self.maintenance);
        self.check_writable()?;
        let before = self.current.get().segments.clone();
        let removed = before.iter().any(|s| s.meta().removed > 0);
        if before.len() > 1 || removed {
            self.merge(&before, true, &|| self.flush_if_urgent())?;
        }
        let after = self.current.get().segments.clone();
        let bytes = |segments: &[Arc<Segment<F>>]| segments.iter().map(|s| s.meta().bytes()).sum();
        Ok(CompactReport {
            segments_before: before.len(),
            segments_after: after.len(),
            bytes_before: bytes(&before),
            bytes_after: bytes(&after),
        })
    }

    /// Replaces a run of segments by their merge (protocol P4).
    fn merge(
        &self,
        inputs: &[Arc<Segment<F>>],
        is_oldest: bool,
        pause: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let (storage, settings) = (&self.storage, &*self.settings);
        let merger = Merger { storage, settings, inputs, is_oldest, pause };
        let output = merger.run(self.next())?.map(|meta| self.open_new(meta)).transpose()?;
        let is_input = |id: u64| inputs.iter().any(|s| s.meta().id == id);
        let meta = output.as_ref().map(|s| s.meta().clone());
        self.install_with(output.as_deref(), |manifest| {
            let at = manifest.segments.iter().position(|s| is_input(s.id)).unwrap_or(0);
            manifest.segments.retain(|s| !is_input(s.id));
            manifest.segments.splice(at..at, meta);
        })?;
        self.current.update(|version| {
            let mut segments = version.segments.clone();
            let at = segments.iter().position(|s| is_input(s.meta().id)).unwrap_or(0);
            segments.retain(|s| !is_input(s.meta().id));
            segments.splice(at..at, output);
            Version { segments, ..version.clone() }
        });
        // Their files go with the last snapshot that uses them.
        inputs.iter().for_each(|segment| segment.retire());
        self.signals.notify();
        Ok(())
    }

    /// Within a merge: flushes for writers that may be waiting. The background thread cannot while
    /// it waits for another's merge to end.
    fn flush_if_urgent(&self) -> Result<()> {
        if !self.signals.urgent.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.signals.urgent.store(false, Ordering::Relaxed);
        self.flush_frozen()
    }

    /// The background thread: flush first, then one compaction after another.
    pub(super) fn work(&self) {
        let _guard = PanicGuard(self);
        let mut retry_at = None;
        while self.signals.wait_for_work(retry_at) {
            let result = self.work_until_done();
            retry_at = match &result {
                // A poisoned handle has told its writers, and damage does not heal.
                Err(error)
                    if self.poison.get().is_none() && error.kind() != ErrorKind::Corruption =>
                {
                    Some(Instant::now() + RETRY)
                }
                _ => None,
            };
            if !self.signals.stopped() {
                self.signals.report(result);
            }
        }
    }

    fn work_until_done(&self) -> Result<()> {
        let pause = || {
            if self.signals.urgent.load(Ordering::Relaxed) && self.signals.stopped() {
                return Err(Error::new(ErrorKind::Io, "compaction was broken off by the end"));
            }
            self.flush_if_urgent()
        };
        loop {
            self.signals.urgent.store(false, Ordering::Relaxed);
            self.flush_frozen()?;
            if self.signals.stopped() || !self.compact_once(&pause)? {
                return Ok(());
            }
        }
    }

    /// The second thread, under `Durability::Buffered`: syncs the log at intervals.
    pub(super) fn sync_at_intervals(&self) {
        debug_assert_eq!(self.tuning.durability, Durability::Buffered);
        loop {
            let deadline = Instant::now() + self.tuning.sync_interval;
            let mut state = lock(&self.signals.state);
            while !state.stop && Instant::now() < deadline {
                let left = deadline.saturating_duration_since(Instant::now());
                let waited = self.signals.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let stop = state.stop;
            drop(state);
            // A failure poisons the handle: the next write tells.
            if self.sync_log().is_err() || stop {
                return;
            }
        }
    }
}

/// Tells writers, which would wait for it, that the background thread has panicked.
struct PanicGuard<'a, F: Fingerprint>(&'a Core<F>);

impl<F: Fingerprint> Drop for PanicGuard<'_, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let message = "the background thread panicked: this is a fault of fpdb";
            self.0.poison(Error::new(ErrorKind::Poisoned, message));
            self.0.signals.notify();
        }
    }
}
