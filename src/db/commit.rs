//! Commits: from operations to the log, to the memtable, to readers.
//!
//! A commit gets its number, its place in the log and its entries in the memtable under the
//! writer's lock. Under `Durability::Buffered` it is written to the log's file there and then. Under
//! `Durability::Sync` it is visible to readers, and acknowledged, once it is written and synced; one
//! thread does that for all that wait, without the lock.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

use super::core::{Core, lock};
use super::group::{Groups, Lead, Role};
use super::maintain::PanicGuard;
use super::options::Durability;
use crate::codec::header::FileKind;
use crate::error::Result;
use crate::files::FileName;
use crate::fingerprint::Fingerprint;
use crate::log::{LogWriter, Op, Start};
use crate::manifest::LogRef;
use crate::sorter::FileNumbers;
use crate::storage::WriteFile;
use crate::version::Version;

/// What the one writer owns.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) log: LogWriter,
    pub(super) log_id: u64,
    /// Where the last commit ends in the log; what follows tells only how far it is synced.
    pub(super) committed_end: u64,
    /// The last commit.
    pub(super) seq: u64,
    /// The next document id of a database with names.
    pub(super) next_doc: u64,
    /// Whether the log's sync before its end was asked for.
    pub(super) presynced: bool,
    /// Who waits for commits to be synced.
    pub(super) groups: Groups,
}

/// When a memtable is full but for one part in so many, its log is synced, under
/// `Durability::Buffered`: so that little is left to be synced when it ends, which writers wait for.
const PRESYNCED: usize = 16;

impl<F: Fingerprint> Core<F> {
    /// Takes in a commit and gives its number; not yet acknowledged under `Durability::Sync`.
    pub(super) fn commit(&self, writer: &mut Writer, ops: &[Op<F>]) -> Result<u64> {
        self.check_writable()?;
        let is_buffered = self.tuning.durability == Durability::Buffered;
        let seq = writer.seq + 1;
        writer.committed_end = writer.log.append(seq, ops)?;
        if is_buffered {
            // How much of it arrived is unknown after an error, so nothing may follow it.
            writer.log.write().map_err(|e| self.poison(e))?;
        }
        writer.seq = seq;
        self.log_bytes.store(writer.committed_end, Ordering::Relaxed);
        let named = ops.iter().filter(|op| matches!(op, Op::InsertNamed { .. })).count();
        writer.next_doc += named as u64;
        self.current.get().active.apply(seq, ops).map_err(|e| self.poison(e))?;
        if is_buffered {
            self.visible.store(seq, Ordering::Release);
        }
        Ok(seq)
    }

    /// Lets go of the writer, and waits until commit `seq` may be acknowledged.
    pub(super) fn acknowledge(&self, mut writer: MutexGuard<'_, Writer>, seq: u64) -> Result<()> {
        let is_done = || self.visible.load(Ordering::Acquire) >= seq;
        if is_done() {
            return Ok(());
        }
        let role = writer.groups.join(seq);
        drop(writer);
        // Dropped after the lead is: the next leader is woken before the many.
        let _waker = match role {
            Role::Leader(waker) => Some(waker),
            Role::Follower { over, is_last } => {
                if is_last {
                    self.gathered.notify_one();
                }
                over.wait();
                None
            }
        };
        if is_done() {
            return Ok(());
        }
        let lead = self.lead();
        if is_done() {
            return Ok(());
        }
        self.sync_leading(&lead, self.gather())
    }

    /// The writer, when the open group is gathered or its leader's patience is over.
    fn gather(&self) -> MutexGuard<'_, Writer> {
        let writer = lock(&self.writer);
        let patience = writer.groups.patience();
        let waits = |writer: &mut Writer| !writer.groups.is_gathered();
        let waited = self.gathered.wait_timeout_while(writer, patience, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits for the right to write to the log's file and to sync it. No other lock may be held.
    pub(super) fn lead(&self) -> Lead<'_> {
        lock(&self.lead)
    }

    /// Makes all commits so far durable, and visible.
    pub(super) fn sync_log(&self) -> Result<()> {
        let lead = self.lead();
        self.sync_leading(&lead, lock(&self.writer))
    }

    /// The same, for who has the lead.
    fn sync_leading(&self, _: &Lead<'_>, mut writer: MutexGuard<'_, Writer>) -> Result<()> {
        self.check_writable()?;
        let seq = writer.seq;
        if writer.log.durable() >= writer.committed_end {
            self.visible.fetch_max(seq, Ordering::AcqRel);
            return Ok(());
        }
        // What was taken and is not written would be a gap.
        let _guard = PanicGuard::new(self);
        let unwritten = writer.log.take();
        writer.groups.close(seq);
        drop(writer);
        let start = Instant::now();
        // The promise of Durability::Sync and of `Db::sync`: acknowledged commits survive a loss of
        // power. A second sync after a failed one would prove nothing.
        unwritten.write_and_sync().map_err(|e| self.poison(e))?;
        let took = start.elapsed();
        let mut writer = lock(&self.writer);
        writer.groups.synced(took);
        writer.log.set_durable(unwritten.end);
        if writer.committed_end <= unwritten.end {
            // Nobody writes: tell processes that read how far they may.
            writer.log.append_watermark();
            writer.log.write().map_err(|e| self.poison(e))?;
        }
        drop(writer);
        self.visible.fetch_max(seq, Ordering::AcqRel);
        Ok(())
    }

    /// The writer, with room for a commit.
    pub(super) fn writer_with_room(&self) -> Result<MutexGuard<'_, Writer>> {
        loop {
            let mut writer = lock(&self.writer);
            if self.takes_another(&mut writer)? {
                return Ok(writer);
            }
            drop(writer);
            self.make_room()?;
        }
    }

    /// Whether the memtable takes another commit. Where the background thread is behind, it takes up
    /// to twice its size, ever more slowly.
    fn takes_another(&self, writer: &mut Writer) -> Result<bool> {
        self.check_writable()?;
        self.take_background_error()?;
        let capacity = self.tuning.memtable_entries;
        let version = self.current.get();
        let fill = version.active.fill();
        if fill >= capacity - capacity / PRESYNCED && !writer.presynced {
            writer.presynced = true;
            self.signals.sync_soon();
        }
        let Some(over) = fill.checked_sub(capacity) else { return Ok(true) };
        let goes_on = over < capacity && self.is_behind(&version);
        if goes_on {
            self.slow_down(over, capacity);
        }
        Ok(goes_on)
    }

    /// Freezes a full memtable, as soon as the one before is written.
    fn make_room(&self) -> Result<()> {
        self.wait_for_flush()?;
        let lead = self.lead();
        // Nobody else freezes one meanwhile.
        let version = self.current.get();
        if version.frozen.is_some() || version.active.fill() < self.tuning.memtable_entries {
            return Ok(());
        }
        drop(version);
        drop(self.rotate(&lead)?);
        drop(lead);
        if self.tuning.background {
            self.signals.work();
            return Ok(());
        }
        self.flush_frozen()?;
        self.compact_until_done()
    }

    /// Writes everything in memory as segments. As long as the writer is held nothing comes in.
    pub(super) fn flush_all(&self) -> Result<MutexGuard<'_, Writer>> {
        self.check_writable()?;
        // First without the lead, which others wait for.
        self.flush_frozen()?;
        let lead = self.lead();
        self.check_writable()?;
        self.flush_frozen()?;
        let writer = lock(&self.writer);
        if self.current.get().active.len() == 0 {
            return Ok(writer);
        }
        drop(writer);
        let writer = self.rotate(&lead)?;
        self.flush_frozen()?;
        Ok(writer)
    }

    /// Freezes the memtable, which must not be while another is frozen, and begins a new log
    /// (protocol P3). Until the manifest names the new log nothing is written to it.
    fn rotate(&self, lead: &Lead<'_>) -> Result<MutexGuard<'_, Writer>> {
        // What takes long comes before writers have to wait.
        self.sync_leading(lead, lock(&self.writer))?;
        let (log_id, file) = self.new_log()?;
        let mut writer = lock(&self.writer);
        match self.change_logs(lead, &mut writer, log_id, file) {
            Ok(()) => Ok(writer),
            Err(error) => {
                if self.poison.get().is_none() {
                    self.remove_file(FileName::Log(log_id));
                }
                Err(error)
            }
        }
    }

    fn change_logs(
        &self,
        _: &Lead<'_>,
        writer: &mut Writer,
        log_id: u64,
        file: Arc<dyn WriteFile>,
    ) -> Result<()> {
        let _guard = PanicGuard::new(self);
        // The old log's end is recorded as official, so it must be there.
        let unwritten = writer.log.take();
        writer.groups.close(writer.seq);
        unwritten.write_and_sync().map_err(|e| self.poison(e))?;
        let end = unwritten.end;
        writer.log.set_durable(end);
        self.visible.fetch_max(writer.seq, Ordering::AcqRel);
        let previous = writer.log_id;
        let start = Start { previous_log: previous, previous_end: end, last_seq: writer.seq };
        let log = LogWriter::begin(file, self.settings.header(FileKind::Log, 0, log_id), start)?;
        self.install(|manifest| {
            for log in manifest.logs.iter_mut().filter(|log| log.id == previous) {
                log.end = Some(end);
            }
            manifest.logs.push(LogRef { id: log_id, end: None });
        })?;
        let committed_end = log.len();
        (writer.log, writer.log_id, writer.committed_end) = (log, log_id, committed_end);
        writer.presynced = false;
        self.log_bytes.store(writer.committed_end, Ordering::Relaxed);
        let active = Arc::new(self.new_memtable(writer.next_doc));
        self.current.update(|version| Version {
            frozen: Some(version.active.clone()),
            active,
            ..version.clone()
        });
        Ok(())
    }

    /// The file of a new log, still empty, whose name is durable: the manifest that names it must not
    /// outlive that.
    fn new_log(&self) -> Result<(u64, Arc<dyn WriteFile>)> {
        let id = self.next();
        let name = FileName::Log(id);
        let created = self.storage.create(&name.to_string()).and_then(|file| {
            self.storage.sync_dir().map_err(|e| self.poison(e))?;
            Ok((id, file))
        });
        created.inspect_err(|_| self.remove_file(name))
    }
}
