//! The state that all clones of a handle and its background threads share. This file has only the
//! fields and simple access to them. What is done with them is in the other files of this folder,
//! one concern per file.
//!
//! # Lock order
//!
//! `compacting`, `log.permit`, `log.writer`, `flushing`, `manifest`, and then the locks inside
//! `current`, `signals`, `indexes`, the memtables and the planner. A thread that holds one of the
//! later locks never takes an earlier one, so a writer may wait for the background thread. Under
//! `manifest` the only storage calls are those that compare or install it.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::parallel::lock;
use crate::db::options::Tuning;
use crate::db::state::disk_space::DiskSpace;
use crate::db::state::group::Groups;
use crate::db::state::index_loader::{HasVersion, IndexLoader};
use crate::db::state::poison::Poison;
use crate::db::state::signals::Signals;
use crate::file::codec::header::FileKind;
use crate::file::names::{FileId, first_number, generation_of};
use crate::file::storage::{LockedFolder, Storage};
use crate::fingerprint::Fingerprint;
use crate::query::Planner;
use crate::settings::{IndexSettings, Settings};
use crate::store::log::LogWriter;
use crate::store::manifest::Manifest;
use crate::store::segment::Loadable;
use crate::store::version::{Current, Version};

/// The shared state of one open database.
pub(crate) struct Core<F: Fingerprint> {
    /// The live sources of entries. Before `base`, so that their files are closed before the folder
    /// is unlocked.
    pub(crate) current: Current<F>,
    /// What does not depend on the type of fingerprint, so that it is compiled once.
    pub(crate) base: Base,
}

/// The part of the shared state that is the same for all types of fingerprints.
pub(crate) struct Base {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) tuning: Tuning,
    pub(crate) planner: Arc<Planner>,
    /// The last visible commit: readers see commits up to this one.
    pub(crate) visible: AtomicU64,
    pub(crate) log: Log,
    pub(crate) manifest: Mutex<Manifest>,
    /// Held while segments are replaced: one compaction at a time.
    pub(crate) compacting: Mutex<()>,
    /// Held while the frozen memtable is written as a segment.
    pub(crate) flushing: Mutex<()>,
    pub(crate) signals: Signals,
    pub(crate) poison: Poison,
    /// The folder, locked until the handle is closed. An operation that writes files keeps a clone
    /// until it ends.
    pub(crate) folder: Mutex<Option<Arc<LockedFolder>>>,
    /// Copies the indexes of the current version to memory.
    pub(crate) indexes: Arc<IndexLoader>,
    /// Nanoseconds that writers have waited for flush and compaction.
    pub(crate) stalled: AtomicU64,
    /// How many writes were refused because the disk is full.
    pub(crate) refused: AtomicU64,
}

/// What works with a [`Base`] works with the entire state.
impl<F: Fingerprint> Deref for Core<F> {
    type Target = Base;

    #[inline]
    fn deref(&self) -> &Base {
        &self.base
    }
}

/// Shows the folder only: everything else would fill pages.
impl<F: Fingerprint> fmt::Debug for Core<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("path", &self.storage.root()).finish_non_exhaustive()
    }
}

/// The append log and the locks around it.
#[derive(Debug)]
pub(crate) struct Log {
    /// The right to write to the log's file and to sync it; see `commit/sync.rs`.
    pub(crate) permit: Mutex<()>,
    pub(crate) writer: Mutex<Writer>,
    /// Where the leader of a sync group waits for its followers, with `writer`.
    pub(crate) gathered: Condvar,
    /// Bytes in the log's file, readable without the writer; 0 if the log has not begun.
    pub(crate) bytes: AtomicU64,
}

impl Log {
    pub(crate) fn new(writer: Writer) -> Self {
        let bytes = AtomicU64::new(writer.log.len());
        Self { permit: Mutex::new(()), writer: Mutex::new(writer), gathered: Condvar::new(), bytes }
    }
}

/// What one writer at a time changes.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) log: LogWriter,
    pub(crate) log_id: FileId,
    /// Where the last commit ends in the log. What follows only says how far the log is synced.
    pub(crate) committed_end: u64,
    /// The number of the last commit.
    pub(crate) seq: u64,
    /// The next document id of a database with names.
    pub(crate) next_doc: u64,
    /// Whether an early sync of this log has been requested; see `backpressure.rs`.
    pub(crate) sync_requested: bool,
    /// The threads that wait for commits to be synced.
    pub(crate) groups: Groups,
    pub(crate) space: DiskSpace,
}

impl Writer {
    /// A writer to a log that will begin with the first write.
    pub(crate) fn not_begun(settings: &Settings, seq: u64, next_doc: u64) -> Self {
        let id = FileId { number: 0, nonce: 0 };
        let log = LogWriter::not_begun(&settings.header(FileKind::Log, 0, id));
        Self::new(log, id, seq, next_doc)
    }

    /// Whether the log has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.log.len() > 0
    }

    /// A writer to a log that has no commits yet.
    pub(crate) fn new(log: LogWriter, log_id: FileId, seq: u64, next_doc: u64) -> Self {
        let (committed_end, groups) = (log.len(), Groups::default());
        let (sync_requested, space) = (false, DiskSpace::default());
        Self { log, log_id, committed_end, seq, next_doc, sync_requested, groups, space }
    }
}

/// The error of a handle that was closed.
pub(crate) fn closed(storage: &dyn Storage) -> Error {
    let message = "the database was closed: open it again";
    Error::new(ErrorKind::Closed, message).at_path(storage.root())
}

impl<F: Fingerprint> HasVersion for Core<F> {
    fn segments(&self) -> Vec<Arc<dyn Loadable>> {
        self.current.get().loadable()
    }

    fn make_room_for_copies(&self) {
        self.current.get().make_room_for_copies();
    }

    fn needs_loading(&self) -> bool {
        self.current.get().needs_loading()
    }
}

impl<F: Fingerprint> Core<F> {
    /// Returns the live sources and the last visible commit.
    pub(crate) fn visible_version(&self) -> (Arc<Version<F>>, u64) {
        // In this order: whatever is visible now is in a version taken later.
        let seq = self.visible.load(Ordering::Acquire);
        (self.current.get(), seq)
    }

    /// Drops pages of files as far as others need the memory.
    pub(crate) fn fit_memory(&self) {
        self.storage.page_budget().fit();
        drop(self.current.get());
    }
}

impl Base {
    /// How many threads bulk loads, full compactions and batches of queries may use.
    pub(crate) fn threads(&self) -> usize {
        self.tuning.threads.unwrap_or(1)
    }

    /// Returns how many documents a segment may have: those of sketches are limited.
    pub(crate) fn most_documents(&self) -> u64 {
        match &self.settings.index {
            IndexSettings::Tables(_) => u64::MAX,
            IndexSettings::Bands(_) => self.tuning.most_segment_documents,
        }
    }

    /// Whether a background thread flushes and compacts.
    pub(crate) fn has_background(&self) -> bool {
        self.tuning.background && !self.signals.is_stopped()
    }

    /// Returns the locked folder, for an operation that writes files.
    pub(crate) fn keep_folder(&self) -> Result<Arc<LockedFolder>> {
        self.poison.check()?;
        lock(&self.folder).clone().ok_or_else(|| closed(&*self.storage))
    }

    /// Returns the number of a new log or segment; see [`next_number`].
    pub(crate) fn next_number(&self, folder: &LockedFolder) -> Result<u64> {
        next_number(folder, lock(&self.manifest).generation)
    }
}

/// Returns the number of a log or segment that is created while the manifest of this generation is
/// in force.
pub(crate) fn next_number(folder: &LockedFolder, generation: u64) -> Result<u64> {
    let number = folder.next_number(first_number(generation));
    if generation_of(number) == generation {
        return Ok(number);
    }
    let message = "too many files were begun since the last manifest: open the database again";
    Err(Error::new(ErrorKind::Io, message).at_path(folder.storage().root()).into_fatal())
}
