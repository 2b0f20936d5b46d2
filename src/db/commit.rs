//! Commits: from operations to the log, to the memtable, to readers.
//!
//! A commit gets its number, its place in the log and its entries in the memtable under the
//! writer's lock. Under `Durability::Sync` it is visible to readers, and acknowledged, once a sync
//! covers it; one thread syncs for all that wait (group commit).

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};

use super::core::{Core, lock};
use super::options::Durability;
use crate::codec::header::FileKind;
use crate::error::Result;
use crate::files::FileName;
use crate::fingerprint::Fingerprint;
use crate::log::{LogWriter, Op, Start};
use crate::manifest::LogRef;
use crate::sorter::FileNumbers;
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
}

/// The threads that wait for a sync.
#[derive(Debug, Default)]
pub(super) struct SyncGroup {
    /// Whether one of them is syncing.
    leading: Mutex<bool>,
    done: Condvar,
}

impl SyncGroup {
    pub(super) fn wake_all(&self) {
        self.done.notify_all();
    }
}

/// Gives the lead up, come what may, and wakes the others.
struct Leader<'a>(&'a SyncGroup);

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        *lock(&self.0.leading) = false;
        self.0.done.notify_all();
    }
}

impl<F: Fingerprint> Core<F> {
    /// Writes a commit and gives its number; not yet acknowledged under `Durability::Sync`.
    pub(super) fn commit(&self, writer: &mut Writer, ops: &[Op<F>]) -> Result<u64> {
        self.check_writable()?;
        let seq = writer.seq + 1;
        // How much of it arrived is unknown after an error, so nothing may follow it.
        writer.committed_end = writer.log.append(seq, ops).map_err(|e| self.poison(e))?;
        writer.seq = seq;
        self.log_bytes.store(writer.committed_end, Ordering::Relaxed);
        let named = ops.iter().filter(|op| matches!(op, Op::InsertNamed { .. })).count();
        writer.next_doc += named as u64;
        self.current.get().active.apply(seq, ops).map_err(|e| self.poison(e))?;
        if self.tuning.durability == Durability::Buffered {
            self.visible.store(seq, Ordering::Release);
        }
        Ok(seq)
    }

    /// Waits until commit `seq` may be acknowledged. Must not be called under the writer's lock.
    pub(super) fn acknowledge(&self, seq: u64) -> Result<()> {
        let group = &self.sync_group;
        let mut leading = lock(&group.leading);
        while self.visible.load(Ordering::Acquire) < seq {
            self.check_writable()?;
            if *leading {
                leading =
                    group.done.wait(leading).unwrap_or_else(std::sync::PoisonError::into_inner);
                continue;
            }
            *leading = true;
            drop(leading);
            let leader = Leader(group);
            let result = self.sync_log();
            drop(leader);
            result?;
            leading = lock(&group.leading);
        }
        Ok(())
    }

    /// Makes all commits so far durable, and visible.
    pub(super) fn sync_log(&self) -> Result<()> {
        let writer = lock(&self.writer);
        self.check_writable()?;
        let (seq, len, log_id) = (writer.seq, writer.log.len(), writer.log_id);
        if writer.log.durable() >= writer.committed_end {
            self.visible.fetch_max(seq, Ordering::AcqRel);
            return Ok(());
        }
        let file = writer.log.sync_handle();
        drop(writer);
        // The promise of Durability::Sync and of `Db::sync`: acknowledged commits survive a loss
        // of power. A second sync after a failed one would prove nothing.
        file.sync().map_err(|e| self.poison(e))?;
        let mut writer = lock(&self.writer);
        if writer.log_id == log_id {
            writer.log.set_durable(len);
            if writer.committed_end <= len {
                // Nobody writes: tell processes that read how far they may.
                writer.log.append_watermark().map_err(|e| self.poison(e))?;
            }
        }
        self.visible.fetch_max(seq, Ordering::AcqRel);
        Ok(())
    }

    /// Makes room for a commit: a full memtable is frozen, its log ended, and others begun.
    pub(super) fn make_room(&self, writer: &mut Writer) -> Result<()> {
        self.check_writable()?;
        self.take_background_error()?;
        if !self.current.get().active.is_full(self.tuning.memtable_entries) {
            return Ok(());
        }
        self.wait_for_flush()?;
        self.rotate(writer)?;
        if self.tuning.background {
            self.signals.work();
            return Ok(());
        }
        self.flush_frozen()?;
        self.compact_once(&|| Ok(())).map(drop)
    }

    /// Freezes the memtable, which must not be while another is frozen, and begins a new log
    /// (protocol P3). Until the manifest names the new log nothing is written to it.
    pub(super) fn rotate(&self, writer: &mut Writer) -> Result<()> {
        let end = writer.log.len();
        // The old log's end is recorded as official, so it must be there.
        writer.log.sync_handle().sync().map_err(|e| self.poison(e))?;
        writer.log.set_durable(end);
        self.visible.fetch_max(writer.seq, Ordering::AcqRel);
        let previous = writer.log_id;
        let start = Start { previous_log: previous, previous_end: end, last_seq: writer.seq };
        let (log_id, log) = self.new_log(start)?;
        let installed = self.install(|manifest| {
            for log in manifest.logs.iter_mut().filter(|log| log.id == previous) {
                log.end = Some(end);
            }
            manifest.logs.push(LogRef { id: log_id, end: None });
        });
        if installed.is_err() && self.poison.get().is_none() {
            self.remove_file(FileName::Log(log_id));
        }
        installed?;
        *writer = Writer { committed_end: log.len(), log, log_id, ..*writer };
        self.log_bytes.store(writer.committed_end, Ordering::Relaxed);
        self.current.update(|version| Version {
            frozen: Some(version.active.clone()),
            active: self.new_memtable(writer.next_doc).into(),
            ..version.clone()
        });
        self.sync_group.wake_all();
        Ok(())
    }

    /// A new log, durable, that no manifest names yet.
    fn new_log(&self, start: Start) -> Result<(u64, LogWriter)> {
        let id = self.next();
        let name = FileName::Log(id).to_string();
        let header = self.settings.header(FileKind::Log, 0, id);
        let log = LogWriter::create(&*self.storage, &name, header, start);
        let log = log.and_then(|log| {
            // The manifest that names the log must not outlive its name.
            self.storage.sync_dir().map_err(|e| self.poison(e))?;
            Ok(log)
        });
        match log {
            Ok(log) => Ok((id, log)),
            Err(error) => {
                self.remove_file(FileName::Log(id));
                Err(error)
            }
        }
    }
}
