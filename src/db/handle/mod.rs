//! The public handle.

mod maintenance;
mod reads;
mod writes;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use super::core::Core;
use super::locks::lock;
use super::recover::RecoveryReport;
use super::snapshot::Snapshot;
use super::stats::Stats;
use super::{background, close, sync};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::Layout;
use crate::settings::Ids;

/// A database, open for reading and writing: a folder that one process at a time writes to.
///
/// A handle is cheap to clone and can be used from many threads; every method takes `&self`. Reads
/// see what was acknowledged when they began.
///
/// Recent entries are in memory and in the log. A background thread writes them as segments
/// (*flush*) and merges segments (*compaction*). If that fails, because of a full disk or a damaged
/// segment, inserts continue as long as there is room for them in memory and in the log, and the
/// thread tries again. In the meantime [`Stats::background_error`] shows the failure, and queries
/// get slower with the number of segments.
///
/// A handle works only in the process that opened it: after a `fork()`, the child's calls fail with
/// `Closed`, and it must open the database itself, for reading if its parent goes on. The folder
/// stays locked until both have ended or closed the handle.
///
/// When the disk is nearly full, inserts fail with [`NoSpace`](crate::ErrorKind::NoSpace) while
/// there is still room to flush recent entries, and 1 MiB more: for removals, for closing the
/// database and for opening it again. The same handle continues once there is space. If other
/// programs use up that reserve too, a write to the log can fail, after which the handle accepts no
/// more writes; then the database has to be opened again.
///
/// [`close`](Self::close) flushes and reports errors. Dropping the last clone only syncs the log,
/// and ignores errors.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Ids, Novelty};
/// # let folder = tempfile::tempdir()?;
/// let db = Db::options().ids(Ids::Names).create(folder.path().join("crawl.fpdb"))?;
/// assert!(matches!(db.insert_if_novel(0b1100, "https://a/")?, Novelty::Inserted(_)));
/// match db.insert_if_novel(0b1110, "https://b/")? {
///     Novelty::Inserted(id) => unreachable!("{id} is one bit from the first"),
///     Novelty::Duplicate(m) => {
///         assert_eq!((m.distance, db.name(m.id)?.as_deref()), (1, Some("https://a/")));
///     }
/// }
/// db.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Db<F: Fingerprint = u64> {
    handle: Arc<Handle<F>>,
}

impl<F: Fingerprint> Clone for Db<F> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone() }
    }
}

/// The shared state and its threads, which end with the last clone.
#[derive(Debug)]
struct Handle<F: Fingerprint> {
    core: Arc<Core<F>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    recovery: RecoveryReport,
}

impl<F: Fingerprint> Handle<F> {
    /// Ends the threads. A child of the process has none.
    fn stop_threads(&self) {
        if !self.core.poison.process().is_current() {
            return;
        }
        self.core.signals.stop();
        self.core.indexes.stop();
        for thread in lock(&self.threads).drain(..) {
            // If the thread panicked, its message was printed already. Nothing is gained by another
            // panic.
            let _ = thread.join();
        }
    }
}

impl<F: Fingerprint> Drop for Handle<F> {
    fn drop(&mut self) {
        if !self.core.poison.process().is_current() {
            // There are no threads to wait for, and waiting would never end.
            let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
            threads.drain(..).for_each(std::mem::forget);
            return;
        }
        self.stop_threads();
        // Best effort: callers who need to know use `close`.
        let _ = sync::sync_log(&self.core);
    }
}

impl<F: Fingerprint> Db<F> {
    pub(super) fn start(core: Core<F>, recovery: RecoveryReport) -> Result<Self> {
        let threads = Mutex::new(Vec::new());
        let handle = Handle { core: Arc::new(core), threads, recovery };
        background::start(&handle.core, &mut lock(&handle.threads))?;
        handle.core.indexes.offer(&handle.core.current.get());
        Ok(Self { handle: Arc::new(handle) })
    }

    /// Returns a snapshot for one read, in the process that opened the database.
    fn readable(&self) -> Result<Snapshot<F>> {
        self.writable().map(|_| self.snapshot())
    }

    /// Returns the shared state, in the process that opened the database. In a child, locks may be
    /// held by threads that do not exist there.
    fn writable(&self) -> Result<&Core<F>> {
        let core = self.core();
        core.poison.process().expect_current()?;
        Ok(core)
    }

    pub(super) fn core(&self) -> &Core<F> {
        &self.handle.core
    }

    /// Returns the database as it is now, for reading.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// let before = db.snapshot();
    /// db.insert(7, 1)?;
    /// assert!(before.is_empty() && db.contains(7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        let core = self.core();
        let (version, seq) = core.visible_version();
        let (settings, planner) = (core.settings.clone(), core.planner.clone());
        let renewed = OnceLock::new();
        Snapshot { settings, planner, version, renewed, seq, threads: core.threads() }
    }

    /// Returns statistics about the database.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// assert_eq!((db.stats().entries, db.stats().memtable_entries), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        // Taking a snapshot may free pages.
        let page_memory_bytes = self.core().storage.page_budget().used();
        let snapshot = self.snapshot();
        let stats = Stats::of_core(self.core(), snapshot.counts(), &snapshot.version);
        Stats { page_memory_bytes, ..stats }
    }

    /// Returns what opening the database found in its log.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let db = fpdb::Db::options().create(&path)?;
    /// db.insert(7, 1)?;
    /// drop(db); // without closing it
    /// assert_eq!(fpdb::Db::open(&path)?.recovery().operations, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn recovery(&self) -> RecoveryReport {
        self.handle.recovery
    }

    /// Returns the folder of the database.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.core().storage.root()
    }

    /// Returns the distance that the database was created for.
    #[must_use]
    pub fn max_distance(&self) -> u32 {
        self.core().settings.max_distance
    }

    /// Returns the tables and their bit orders.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.core().settings.layout
    }

    /// Returns the recipe that the fingerprints come from, if one was named.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        self.core().settings.recipe.as_deref()
    }

    /// Returns the extraction that the texts come from, if one was named.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let db = fpdb::Db::options().create(folder.path().join("crawl.fpdb"))?;
    /// assert_eq!(db.extraction(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn extraction(&self) -> Option<&str> {
        self.core().settings.extraction.as_deref()
    }

    /// Returns whether the caller numbers documents or names them.
    #[must_use]
    pub fn id_kind(&self) -> Ids {
        self.core().settings.ids
    }

    /// Flushes everything, ends the background threads and closes the database, also for the other
    /// clones of the handle. From now on their writes fail with `Closed`. They can still read, and
    /// see what was written up to now, because files that are open stay as they are.
    ///
    /// The next open finds no log to replay, and finds the folder unlocked, even if clones are
    /// left. If another thread is in the middle of a bulk load or a full compaction, the folder
    /// stays locked until that has failed.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Closed` the second time; `Replaced`; `NoSpace`; `Io`. The
    /// handle is closed in any case, and what was acknowledged is safe.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let db = fpdb::Db::options().create(&path)?;
    /// db.insert(7, 1)?;
    /// db.close()?;
    /// assert_eq!(fpdb::Db::open(&path)?.recovery().commits, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(self) -> Result<()> {
        self.writable()?;
        self.handle.stop_threads();
        close::close(self.core())
    }
}
