//! What all clones of a handle and its background thread share.
//!
//! Locks are taken in this order: the log's lead, writer, maintenance, flushing, manifest, then
//! those inside `Current`, memtables and plans. Who holds one of the later never takes an earlier
//! one, so a writer may wait for the background thread. Under the manifest's lock no storage call is
//! made but installing it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::commit::Writer;
use super::options::Tuning;
use super::signals::Signals;
use crate::error::{Error, ErrorKind, Result};
use crate::files::FileName;
use crate::fingerprint::Fingerprint;
use crate::manifest::Manifest;
use crate::memtable::Memtable;
use crate::query::Planner;
use crate::settings::Settings;
use crate::sorter::FileNumbers;
use crate::storage::Storage;
use crate::version::{Current, Version};

#[derive(Debug)]
pub(super) struct Core<F> {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) settings: Arc<Settings>,
    pub(super) tuning: Tuning,
    pub(super) planner: Arc<Planner<F>>,
    pub(super) current: Current<F>,
    /// The last commit that is acknowledged, or may be: readers see commits up to it.
    pub(super) visible: AtomicU64,
    /// Held by whoever writes to the log's file or syncs it.
    pub(super) lead: Mutex<()>,
    pub(super) writer: Mutex<Writer>,
    /// Where a leader, with the writer, waits for its group.
    pub(super) gathered: Condvar,
    /// Bytes of the log, for who asks without waiting for the writer.
    pub(super) log_bytes: AtomicU64,
    pub(super) manifest: Mutex<Manifest>,
    /// Held by whoever replaces segments: compaction, one at a time.
    pub(super) maintenance: Mutex<()>,
    /// Held by whoever writes the frozen memtable as a segment.
    pub(super) flushing: Mutex<()>,
    pub(super) signals: Signals,
    /// Why no more writes are taken, once that is so.
    pub(super) poison: OnceLock<Error>,
    pub(super) recovery: super::RecoveryReport,
    /// The lock on the folder: gone once the handle is closed. Who writes files without the writer's
    /// lock keeps it meanwhile.
    pub(super) folder: Mutex<Option<Arc<WriterLock>>>,
    /// The next memtable, laid out ahead so that no writer waits for that.
    pub(super) spare: Mutex<Option<Memtable<F>>>,
    /// Nanoseconds that writers waited for flush and compaction.
    pub(super) stalled: AtomicU64,
}

/// Held, not used: its drop lets the next writer in.
pub(super) struct WriterLock(
    #[expect(dead_code, reason = "held for its drop")] Box<dyn Send + Sync>,
);

impl WriterLock {
    pub(super) fn take(storage: &dyn Storage) -> Result<Self> {
        storage.lock().map(Self)
    }
}

impl std::fmt::Debug for WriterLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriterLock")
    }
}

/// What a handle says that was closed.
pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Poisoned, "the handle was closed")
}

/// A thread that panicked under one of these locks has left nothing half done that is not caught
/// by `poison`: what is shared is changed by single assignments.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Fingerprint> Core<F> {
    /// The sources as they are now, and the last commit to see in them.
    pub(super) fn view(&self) -> (Arc<Version<F>>, u64) {
        // In this order: whatever is visible now is in a version taken later.
        let seq = self.visible.load(Ordering::Acquire);
        (self.current.get(), seq)
    }

    /// An empty memtable whose first name has this document id.
    pub(super) fn new_memtable(&self, first_doc: u64) -> Memtable<F> {
        let spare = lock(&self.spare).take();
        spare.unwrap_or_else(|| self.lay_out_memtable()).beginning_at(first_doc)
    }

    pub(super) fn lay_out_memtable(&self) -> Memtable<F> {
        Memtable::new(self.settings.permutations(), self.tuning.memtable_entries, 0)
    }

    /// The lock on the folder, to be kept while files are written.
    pub(super) fn keep_folder(&self) -> Result<Arc<WriterLock>> {
        self.check_writable()?;
        lock(&self.folder).clone().ok_or_else(closed)
    }

    /// Refuses writes after a failure: what is on disk is no longer known.
    pub(super) fn check_writable(&self) -> Result<()> {
        match self.poison.get() {
            Some(error) => Err(error.repeat_as(
                ErrorKind::Poisoned,
                "no more writes are taken until the database is opened again, since: ",
            )),
            None => Ok(()),
        }
    }

    /// Takes no more writes from now on, since `error` happened. Gives the error back.
    pub(super) fn poison(&self, error: Error) -> Error {
        let error = error.into_fatal();
        let _ = self.poison.set(error.clone());
        error
    }

    /// Changes the manifest, durably. What the new one names must be durable. After a failure the
    /// old one holds; or no more writes are taken, where it is not known which will be found.
    pub(super) fn install(&self, change: impl FnOnce(&mut Manifest)) -> Result<()> {
        let mut manifest = lock(&self.manifest);
        self.check_writable()?;
        let mut next = manifest.clone();
        change(&mut next);
        next.generation += 1;
        next.prepare(&*self.storage)?;
        Manifest::publish(&*self.storage).map_err(|e| self.poison(e))?;
        *manifest = next;
        Ok(())
    }

    /// Removes a file that no manifest names any more. What fails is swept at the next open.
    pub(super) fn remove_file(&self, name: FileName) {
        let _ = self.storage.remove(&name.to_string());
    }
}

impl<F: Fingerprint> FileNumbers for Core<F> {
    /// A number that no file has had. After a crash it may be given again, to a file of the same
    /// or another kind, but only once what had it was swept.
    fn next(&self) -> u64 {
        let mut manifest = lock(&self.manifest);
        manifest.next_file += 1;
        manifest.next_file - 1
    }
}
