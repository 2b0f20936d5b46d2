//! Flush and compaction, and the thread that does them in the background.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
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

/// Segments beyond which writes wait for compaction. The policy keeps far fewer; more means that
/// writes outrun it.
const MOST_SEGMENTS: usize = 32;

/// How long a write waits that fills the memtable to twice its size. Before, it waits in proportion,
/// so that writers slow down rather than stop.
const SLOWEST: Duration = Duration::from_millis(1);

/// Less is not worth the call: systems sleep no shorter.
const SHORTEST: Duration = Duration::from_micros(50);

/// How long the background thread waits for the readers of a version that it has replaced.
const SHORT_READ: Duration = Duration::from_millis(10);

/// How long a failed flush or compaction rests before it is tried again.
const RETRY: Duration = Duration::from_secs(1);

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

    /// Whether a full memtable must not be frozen yet, and the background thread will see to that.
    pub(super) fn is_behind(&self, version: &Version<F>) -> bool {
        self.is_served() && !has_room(version)
    }

    /// Whether the background thread does what is to be done.
    fn is_served(&self) -> bool {
        self.tuning.background && !self.signals.stopped()
    }

    /// Waits as a write must that finds the memtable `over` its `capacity`.
    pub(super) fn slow_down(&self, over: usize, capacity: usize) {
        let over = u32::try_from(over).unwrap_or(u32::MAX);
        let delay = SLOWEST * over / u32::try_from(capacity).unwrap_or(u32::MAX).max(1);
        if delay >= SHORTEST {
            self.stall(|| std::thread::sleep(delay));
        }
    }

    /// Waits, and counts the time.
    fn stall<T>(&self, wait: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = wait();
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.stalled.fetch_add(nanos, Ordering::Relaxed);
        result
    }

    /// Waits until no memtable is frozen any more, and while compaction is far behind. Called without
    /// a lock.
    pub(super) fn wait_for_flush(&self) -> Result<()> {
        let mut state = lock(&self.signals.state);
        loop {
            self.check_writable()?;
            if let Some(error) = state.error.take() {
                return Err(error.repeat_as(error.kind(), "in the background: "));
            }
            let version = self.current.get();
            let served = self.tuning.background && !state.stop;
            if version.frozen.is_none() && (!served || has_room(&version)) {
                return Ok(());
            }
            if !served {
                // An earlier flush failed, or the handle is being closed: nobody else will.
                drop(state);
                return self.flush_frozen();
            }
            state.work = true;
            self.changed_soon();
            let changed = &self.signals.changed;
            state = self.stall(|| changed.wait(state).unwrap_or_else(PoisonError::into_inner));
        }
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
            manifest.bytes_flushed += segment.as_ref().map_or(0, |s| s.meta().bytes());
            manifest.segments.extend(segment.as_ref().map(|s| s.meta().clone()));
            // All logs but the last are ended, and what they hold is in segments now.
            let last = manifest.logs.pop();
            ended = std::mem::take(&mut manifest.logs);
            manifest.logs.extend(last);
            manifest.next_doc = manifest.next_doc.max(next_doc);
            manifest.last_seq = manifest.last_seq.max(frozen.last_seq());
        })?;
        let replaced = self.current.get();
        self.current.update(|version| Version {
            segments: version.segments.iter().cloned().chain(segment).collect(),
            frozen: None,
            flushed: version.flushed.max(frozen.last_seq()),
            ..version.clone()
        });
        ended.iter().for_each(|log| self.remove_file(FileName::Log(log.id)));
        self.signals.notify();
        self.outlive_readers(replaced);
        Ok(())
    }

    /// Drops a version that was replaced, after those who read it only for a moment: who is last
    /// frees a memtable or removes files, and that should not be a query.
    fn outlive_readers(&self, replaced: Arc<Version<F>>) {
        if self.tuning.background {
            let deadline = Instant::now() + SHORT_READ;
            while Arc::strong_count(&replaced) > 1 && Instant::now() < deadline {
                std::thread::sleep(SHORTEST);
            }
        }
    }

    /// After a call has brought in segments: sees to it that they stay few. What fails is no failure
    /// of the call, which is done; the next one tries again.
    pub(super) fn compact_as_needed(&self) {
        if self.tuning.background {
            return self.signals.work();
        }
        let compacted = self.compact_until_done();
        self.signals.note(&compacted);
    }

    /// Merges as long as the policy names anything.
    pub(super) fn compact_until_done(&self) -> Result<()> {
        while self.compact_once(&|| Ok(()))? {}
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
    pub(super) fn compact_once(&self, pause: &(dyn Fn() -> Result<()> + Sync)) -> Result<bool> {
        let _one_at_a_time = lock(&self.maintenance);
        let segments = self.current.get().segments.clone();
        let weights: Vec<Weight> = segments
            .iter()
            .map(|s| Weight { entries: s.meta().entries, removed: s.meta().removed })
            .collect();
        match pick(&weights) {
            Some(run) => {
                // One processor is left to those who write and ask.
                let threads = self.threads().saturating_sub(1).max(1);
                self.merge(&segments[run.clone()], run.start == 0, pause, threads)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn threads(&self) -> usize {
        self.tuning.threads.unwrap_or(1)
    }

    /// Merges all segments into one.
    pub(super) fn compact_all(&self) -> Result<CompactReport> {
        let _one_at_a_time = lock(&self.maintenance);
        let _folder = self.keep_folder()?;
        let before = self.current.get().segments.clone();
        let removed = before.iter().any(|s| s.meta().removed > 0);
        if before.len() > 1 || removed {
            let pause = || self.check_writable().and_then(|()| self.flush_if_urgent());
            self.merge(&before, true, &pause, self.threads())?;
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
        pause: &(dyn Fn() -> Result<()> + Sync),
        threads: usize,
    ) -> Result<()> {
        let (storage, settings) = (&self.storage, &*self.settings);
        let merger = Merger { storage, settings, inputs, is_oldest, pause, threads };
        let output = merger.run(self.next())?.map(|meta| self.open_new(meta)).transpose()?;
        let is_input = |id: u64| inputs.iter().any(|s| s.meta().id == id);
        let meta = output.as_ref().map(|s| s.meta().clone());
        self.install_with(output.as_deref(), |manifest| {
            let at = manifest.segments.iter().position(|s| is_input(s.id)).unwrap_or(0);
            manifest.segments.retain(|s| !is_input(s.id));
            manifest.bytes_compacted += meta.as_ref().map_or(0, SegmentMeta::bytes);
            manifest.segments.splice(at..at, meta);
        })?;
        let replaced = self.current.get();
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
        self.outlive_readers(replaced);
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
        let _guard = PanicGuard::new(self);
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

    fn lay_out_spare(&self) {
        if lock(&self.spare).is_none() {
            let spare = self.lay_out_memtable();
            *lock(&self.spare) = Some(spare);
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
            self.lay_out_spare();
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
            while !state.stop && !state.sync && Instant::now() < deadline {
                let left = deadline.saturating_duration_since(Instant::now());
                let waited = self.signals.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let stop = state.stop;
            state.sync = false;
            drop(state);
            // A failure poisons the handle: the next write tells.
            if self.sync_log().is_err() || stop {
                return;
            }
        }
    }
}

/// Whether a full memtable may be frozen and become a segment.
fn has_room<F>(version: &Version<F>) -> bool {
    version.frozen.is_none() && version.segments.len() < MOST_SEGMENTS
}

/// Takes no more writes if the thread panics meanwhile: others would wait for what it has begun.
pub(super) struct PanicGuard<'a, F: Fingerprint> {
    core: &'a Core<F>,
    /// Whether the thread was panicking before.
    panicking: bool,
}

impl<'a, F: Fingerprint> PanicGuard<'a, F> {
    pub(super) fn new(core: &'a Core<F>) -> Self {
        Self { core, panicking: std::thread::panicking() }
    }
}

impl<F: Fingerprint> Drop for PanicGuard<'_, F> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panicking {
            let message = "a thread panicked amid a write: this is a fault of fpdb";
            self.core.poison(Error::new(ErrorKind::Poisoned, message));
            self.core.signals.notify();
        }
    }
}
