//! The handle for reading and writing.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::progress::{Progress, Watch};
use crate::db::api::engine::WriteEngine;
use crate::db::api::snapshot::Snapshot;
use crate::db::read::stats::{Description, Stats};
use crate::db::recovery::recover::RecoveryReport;
use crate::fingerprint::Fingerprint;

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
/// database and for opening it again. Before that, recent entries are flushed, which may free
/// space. The same handle continues once there is space. If other programs use up that reserve
/// too, a write to the log can fail, after which the handle accepts no more writes; then the
/// database has to be opened again.
///
/// [`close`](Self::close) flushes and reports errors. Dropping the last clone only syncs the log,
/// and ignores errors.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Ids, Outcome};
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// assert_eq!((db.description().bits, db.description().max_distance), (64, 3));
/// let before = db.snapshot();
/// assert_eq!(db.insert_if_novel(0b1100, "https://a.example/")?, Outcome::Inserted(DocId(0)));
/// let second = db.insert_if_novel(0b1110, "https://b.example/")?;
/// let Outcome::Duplicate(found) = second else { panic!("{second:?}") };
/// assert_eq!(found.distance, 1);
/// assert_eq!(db.snapshot().name(found.id)?.as_deref(), Some("https://a.example/"));
/// assert!(before.is_empty() && db.stats().entries == 1);
/// db.close()?;
/// # Ok::<(), fpdb::Error>(())
/// ```
pub struct Db<F: Fingerprint = u64> {
    engine: Arc<dyn WriteEngine<F>>,
}

/// Shows the folder only: the rest would fill pages.
impl<F: Fingerprint> fmt::Debug for Db<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Clone for Db<F> {
    fn clone(&self) -> Self {
        Self { engine: self.engine.clone() }
    }
}

impl<F: Fingerprint> Db<F> {
    pub(super) fn new(engine: Arc<dyn WriteEngine<F>>) -> Self {
        Self { engine }
    }

    pub(super) fn engine(&self) -> &dyn WriteEngine<F> {
        &*self.engine
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> &crate::db::state::core::Core<F> {
        self.engine.handle().core()
    }

    /// Returns a handle of the same database whose long operations report their progress to
    /// `report`, and end with the error `Cancelled` if it breaks: [`compact`](Self::compact),
    /// [`verify`](Self::verify), [`backup`](Self::backup), [`expire`](Self::expire),
    /// [`bulk_load`](Self::bulk_load), and everything long that its [snapshots](Self::snapshot) do.
    ///
    /// `report` may be called from any of the [threads](crate::Options::threads) of an operation,
    /// by one at a time, while the others wait for it. It must not write to this database: it might
    /// wait for itself.
    ///
    /// ```
    /// use fpdb::{Db, DocId, Entry, ErrorKind, Ids};
    /// use std::ops::ControlFlow;
    ///
    /// let db = Db::options().ids(Ids::User).in_memory()?;
    /// let watched = db.on_progress(|progress| {
    ///     eprintln!("{}: {} of {:?}", progress.phase, progress.done, progress.total);
    ///     ControlFlow::Break(()) // a real program breaks when the user cancels
    /// });
    /// let entries = (0..1000).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
    /// assert_eq!(watched.bulk_load(entries).unwrap_err().kind(), ErrorKind::Cancelled);
    /// assert!(db.snapshot().is_empty());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn on_progress(
        &self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self { engine: self.engine.watched(Watch::new(report)) }
    }

    /// Returns the database as it is now, for reading.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        Snapshot::new(self.engine.snapshot())
    }

    /// Returns statistics about the database.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// Returns what opening the database found in its log.
    #[must_use]
    pub fn recovery(&self) -> RecoveryReport {
        self.engine.recovery()
    }

    /// Returns the folder of the database.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.engine.path()
    }

    /// Returns what the database is, as it was when the handle was opened: its distance, kind of
    /// ids, layout, recipe and so on.
    #[must_use]
    pub fn description(&self) -> &Description {
        self.engine.description()
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
    /// drop(db); // without closing it
    /// let db = fpdb::Db::open(&path)?;
    /// assert_eq!(db.recovery().operations, 1);
    /// db.close()?;
    /// assert_eq!(fpdb::Db::open(&path)?.recovery().commits, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(self) -> Result<()> {
        self.engine.close()
    }
}
