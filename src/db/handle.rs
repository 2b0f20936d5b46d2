//! The public handle.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::core::Core;
use super::key::Key;
use super::load::LoadReport;
use super::locks::lock;
use super::recover::RecoveryReport;
use super::snapshot::{Snapshot, VerifyReport};
use super::stats::Stats;
use super::write::{self, Novelty};
use super::{CompactReport, background, backup, close, compact, flush, load, sync};
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::layout::Layout;
use crate::progress::Progress;
use crate::settings::Ids;

/// A database, open for reading and writing: a folder that one process at a time writes to.
///
/// A handle is cheap to clone and can be used from many threads; every method takes `&self`. Reads
/// see what was acknowledged when they began.
///
/// [`close`](Self::close) flushes and reports errors. Dropping the last clone only syncs the log, as
/// far as it can.
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
    fn stop_threads(&self) {
        self.core.signals.stop();
        for thread in lock(&self.threads).drain(..) {
            // If it panicked, the message was printed, and that is no reason for another panic.
            let _ = thread.join();
        }
    }
}

impl<F: Fingerprint> Drop for Handle<F> {
    fn drop(&mut self) {
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
        Ok(Self { handle: Arc::new(handle) })
    }

    fn core(&self) -> &Core<F> {
        &self.handle.core
    }

    /// Inserts an entry and returns its document's id. If the entry exists already (the same
    /// fingerprint and id), nothing changes. A name gets a new id each time.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind; `Poisoned` after a failed write; `Closed`; `Io`.
    /// A failure in the background since the last write is returned too, once: then nothing was
    /// inserted, and the call can be repeated.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 42)?;
    /// assert_eq!(db.query(0b1101, 3)?[0].id, fpdb::DocId(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert<'k>(&self, fingerprint: F, key: impl Into<Key<'k>>) -> Result<DocId> {
        let ids = write::insert(self.core(), &[(fingerprint, key.into())])?;
        Ok(ids.first().copied().unwrap_or_default())
    }

    /// Inserts several entries in one commit: after a crash either all are there or none. Returns the
    /// documents' ids in the order of `documents`.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert). Then nothing is inserted.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// let pages: Vec<(u64, String)> = vec![(7, "https://a/".into()), (9, "https://b/".into())];
    /// assert_eq!(db.insert_batch(&pages)?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_batch<'k, K>(&self, documents: &'k [(F, K)]) -> Result<Vec<DocId>>
    where
        &'k K: Into<Key<'k>>,
    {
        write::insert(self.core(), &with_keys(documents))
    }

    /// Inserts a document unless an entry is within the database's distance of it. Returns the new
    /// document's id, or the nearest such entry.
    ///
    /// Atomic with respect to every other writer: two documents within that distance of each other are
    /// never both inserted. Under [`Durability::Sync`](crate::Durability::Sync), an entry reported as
    /// the match of a duplicate is as durable as an inserted one.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert).
    ///
    /// ```
    /// use fpdb::Novelty;
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// assert!(matches!(db.insert_if_novel(0b1100, 1)?, Novelty::Inserted(_)));
    /// assert!(matches!(db.insert_if_novel(0b1101, 2)?, Novelty::Duplicate(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Key<'k>>,
    ) -> Result<Novelty<F>> {
        self.insert_if_novel_within(fingerprint, key, self.max_distance())
    }

    /// Does the same as [`insert_if_novel`](Self::insert_if_novel), with another distance than the
    /// database's. Create the database with the largest distance that you need: smaller ones cost
    /// less, larger ones more.
    ///
    /// Two documents within `distance` of each other are never both inserted, if all writers use at
    /// least this distance.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert).
    ///
    /// ```
    /// use fpdb::Novelty;
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().max_distance(6).create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// assert!(matches!(db.insert_if_novel_within(0b0000, 2, 1)?, Novelty::Inserted(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel_within<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Key<'k>>,
        distance: u32,
    ) -> Result<Novelty<F>> {
        let document = [(fingerprint, key.into())];
        let novelties = write::insert_if_novel(self.core(), &document, distance, |_| Ok(()))?;
        novelties.into_iter().next().ok_or_else(|| Error::invalid("no document was given"))
    }

    /// Does the same as [`insert_if_novel`](Self::insert_if_novel) for several documents in turn, in
    /// one commit. A document may be a duplicate of one before it in the batch.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert). Then nothing is inserted.
    ///
    /// ```
    /// use fpdb::Novelty;
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// let novelties = db.insert_if_novel_batch(&[(0b0001, 1), (0b0011, 2)])?;
    /// assert!(matches!(novelties[1], Novelty::Duplicate(m) if m.id == fpdb::DocId(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel_batch<'k, K>(&self, documents: &'k [(F, K)]) -> Result<Vec<Novelty<F>>>
    where
        &'k K: Into<Key<'k>>,
    {
        self.insert_if_novel_batch_with(documents, self.max_distance(), |_| Ok(()))
    }

    /// Does the same as [`insert_if_novel_batch`](Self::insert_if_novel_batch) with a distance of your
    /// choice, and shows the decisions to `before_commit` before anything is written. Whatever that
    /// does with the novel documents has happened before they count as seen.
    ///
    /// Other writers wait in the meantime. So `before_commit` must not write to this database: it would
    /// wait for itself.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert), or the error of `before_commit`. Then nothing is inserted.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::Novelty;
    /// let mut novel = 0;
    /// let novelties = db.insert_if_novel_batch_with(&[(0b0001, 1), (0b0011, 2)], 3, |novelties| {
    ///     novel = novelties.iter().filter(|n| matches!(n, Novelty::Inserted(_))).count();
    ///     Ok(()) // a real program prints or stores them here
    /// })?;
    /// assert_eq!((novel, novelties.len()), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel_batch_with<'k, K>(
        &self,
        documents: &'k [(F, K)],
        distance: u32,
        before_commit: impl FnOnce(&[Novelty<F>]) -> io::Result<()>,
    ) -> Result<Vec<Novelty<F>>>
    where
        &'k K: Into<Key<'k>>,
    {
        write::insert_if_novel(self.core(), &with_keys(documents), distance, before_commit)
    }

    /// Removes an entry. Returns false if it does not exist. Compaction frees its space.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Closed`; `Corruption`; `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// assert!(db.remove(7, 1)?);
    /// assert!(!db.remove(7, 1)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, fingerprint: F, id: impl Into<DocId>) -> Result<bool> {
        write::remove(self.core(), Entry { fingerprint, id: id.into() })
    }

    /// Loads many entries at once, in any order and without the log: sorts them within
    /// [`bulk_memory`](crate::Options::bulk_memory), on disk beyond that, and writes them as one
    /// segment. They are durable when this returns; after a crash either all are there or none.
    ///
    /// Other writers wait while the tables are written. The database must have
    /// [user ids](Ids::User).
    ///
    /// # Errors
    ///
    /// The first error among the entries; `InvalidArgument` in a database with names; `Poisoned`;
    /// `Closed`; `Corruption`; `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::{DocId, Entry};
    /// let entries = (0..1000u64).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
    /// assert_eq!(db.bulk_load(entries)?.inserted, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk_load(
        &self,
        entries: impl IntoIterator<Item = Result<Entry<F>>>,
    ) -> Result<LoadReport> {
        self.bulk_load_with(entries, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`bulk_load`](Self::bulk_load) and reports its progress. If `report` breaks,
    /// nothing is loaded.
    ///
    /// `report` may be called from any of the [threads](crate::Options::threads), by one at a time,
    /// while the others wait for it.
    ///
    /// # Errors
    ///
    /// The same as [`bulk_load`](Self::bulk_load), and `Cancelled` if `report` broke.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::{DocId, Entry, ErrorKind};
    /// use std::ops::ControlFlow;
    /// let entries = (0..1000u64).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
    /// let loaded = db.bulk_load_with(entries, |progress| {
    ///     eprintln!("{:?}: {} of {:?}", progress.phase, progress.done, progress.total);
    ///     ControlFlow::Break(())
    /// });
    /// assert_eq!(loaded.unwrap_err().kind(), ErrorKind::Cancelled);
    /// assert!(db.snapshot().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk_load_with(
        &self,
        entries: impl IntoIterator<Item = Result<Entry<F>>>,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<LoadReport> {
        load::load(self.core(), entries, &mut report)
    }

    /// Returns the database as it is now, for reading.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        let core = self.core();
        let (version, seq) = core.visible_version();
        let (settings, planner) = (core.settings.clone(), core.planner.clone());
        Snapshot { settings, planner, version, seq, threads: core.threads() }
    }

    /// Returns every entry within `distance` bits of `fingerprint`, sorted by distance, fingerprint
    /// and id. The same as [`Snapshot::query`] on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        self.snapshot().query(fingerprint, distance)
    }

    /// Returns the answers to several queries, in their order. The same as [`Snapshot::query_batch`]
    /// on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Vec<Vec<Match<F>>>> {
        self.snapshot().query_batch(fingerprints, distance)
    }

    /// Returns the nearest entry within `distance` bits. The same as [`Snapshot::nearest`] on a new
    /// snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        self.snapshot().nearest(fingerprint, distance)
    }

    /// Returns whether any entry has exactly this fingerprint.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        self.snapshot().contains(fingerprint)
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.snapshot().ids(fingerprint)
    }

    /// Returns the name of a document, in a database with names. The same as [`Snapshot::name`] on a
    /// new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        self.snapshot().name(id)
    }

    /// Makes everything written so far durable: it survives a loss of power.
    ///
    /// # Errors
    ///
    /// `Io`; after that the handle is `Poisoned` and accepts no more writes.
    pub fn sync(&self) -> Result<()> {
        sync::sync_log(self.core())
    }

    /// Writes all recent entries as a segment.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Closed`; `Io`.
    pub fn flush(&self) -> Result<()> {
        drop(flush::flush_all(self.core())?);
        compact::compact_as_needed(self.core());
        Ok(())
    }

    /// Merges everything into one segment and frees the space of removed entries. Needs free disk space
    /// for a second copy. Readers and writers continue in the meantime.
    ///
    /// # Errors
    ///
    /// `Io` if the disk is too full or fails; `Corruption`; `Poisoned`; `Closed`. The database stays
    /// as it was. One segment without removed entries is left alone, and so not checked for damage.
    pub fn compact(&self) -> Result<CompactReport> {
        self.compact_with(|_| ControlFlow::Continue(()))
    }

    /// Does the same as [`compact`](Self::compact) and reports its progress. If `report` breaks, the
    /// database stays as it was.
    ///
    /// # Errors
    ///
    /// The same as [`compact`](Self::compact), and `Cancelled` if `report` broke.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// db.compact_with(|progress| {
    ///     eprintln!("{} of {:?} rows", progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact_with(
        &self,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<CompactReport> {
        drop(flush::flush_all(self.core())?);
        compact::compact_all(self.core(), &mut report)
    }

    /// Flushes, then reads and checks every byte of every segment; see [`Snapshot::verify`].
    ///
    /// # Errors
    ///
    /// The same as [`flush`](Self::flush), except that a poisoned handle is verified without flushing.
    /// Damage is not an error but in the report.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.verify_with(|_| ControlFlow::Continue(()))
    }

    /// Does the same as [`verify`](Self::verify) and reports its progress; see
    /// [`Snapshot::verify_with`].
    ///
    /// # Errors
    ///
    /// The same as [`verify`](Self::verify), and `Cancelled` if `report` broke.
    pub fn verify_with(
        &self,
        report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<VerifyReport> {
        if !self.core().poison.is_set() {
            self.flush()?;
        }
        self.snapshot().verify_with(report)
    }

    /// Copies the database, as it is now, into an empty or missing folder. Writers wait while recent
    /// entries are flushed, but not while files are copied. Each file is compared with its checksum
    /// during the copy.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the folder contains anything; `Corruption`; `Io`. A backup that fails removes
    /// what it wrote.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// db.backup(folder.path().join("copy"))?;
    /// let copy = fpdb::Db::options().open_read_only(folder.path().join("copy"))?;
    /// assert!(copy.contains(7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        self.backup_with(path, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`backup`](Self::backup) and reports its progress. If `report` breaks, what was
    /// written is removed.
    ///
    /// # Errors
    ///
    /// The same as [`backup`](Self::backup), and `Cancelled` if `report` broke.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// db.backup_with(folder.path().join("copy"), |progress| {
    ///     eprintln!("{} of {:?} bytes", progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_with(
        &self,
        path: impl AsRef<Path>,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<()> {
        backup::backup(self.core(), path.as_ref(), &mut report)
    }

    /// Returns the database in figures.
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
        let snapshot = self.snapshot();
        Stats::of_core(self.core(), snapshot.len(), &snapshot.version)
    }

    /// Returns what opening the database found in its log.
    #[must_use]
    pub fn recovery(&self) -> RecoveryReport {
        self.handle.recovery
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
    /// clones of the handle. From now on their writes fail with `Closed`. They can still read, and see
    /// what was written up to now, because files that are open stay as they are.
    ///
    /// The next open finds no log to replay, and finds the folder unlocked, even if clones are left. If
    /// another thread is in the middle of a bulk load or a full compaction, the folder stays locked
    /// until that has failed.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Closed` the second time; `Io`. The handle is closed in any
    /// case, and what was acknowledged is safe.
    pub fn close(self) -> Result<()> {
        self.handle.stop_threads();
        close::close(self.core())
    }
}

/// Converts the keys of a batch.
fn with_keys<'k, F: Fingerprint, K>(documents: &'k [(F, K)]) -> Vec<(F, Key<'k>)>
where
    &'k K: Into<Key<'k>>,
{
    documents.iter().map(|(fingerprint, key)| (*fingerprint, key.into())).collect()
}
