//! The public handle.

mod backup;
mod calibrate;
mod commit;
mod core;
mod group;
mod load;
mod maintain;
mod open;
mod options;
mod reader;
mod signals;
mod snapshot;
mod stats;
mod write;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::files::FileName;
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::layout::Layout;
use crate::manifest::Manifest;
use crate::progress::Progress;
use crate::settings::Ids;
use crate::storage::Disk;
use core::{Core, lock};

pub use load::LoadReport;
pub use maintain::CompactReport;
pub use options::{Durability, Options};
pub use reader::Reader;
pub use snapshot::{Iter, Snapshot, VerifyReport};
pub use stats::{Description, SegmentStats, Stats, TableStats};
pub use write::{Key, Novelty};

/// What opening a database found in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Commits that were in the log and not yet in a segment.
    pub commits: u64,
    /// Their operations.
    pub operations: u64,
    /// Whether the log ended in a torn write: what a crash broke off. It was never acknowledged,
    /// but under [`Durability::Buffered`], where a loss of power may take what was not yet synced.
    pub torn_tail: bool,
    /// Where the last log was valid up to.
    pub(crate) log_end: u64,
    /// Bytes of all logs.
    pub(crate) log_bytes: u64,
}

/// What can be learnt of the database at `path` from its manifest alone: so that a program can
/// choose the width before it opens. Takes no lock.
///
/// # Errors
///
/// `NotFound`, `Unsupported`, `Corruption`, `Io`, as opening.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("db");
/// fpdb::Options::bits128().create(&path)?;
/// assert_eq!(fpdb::describe(&path)?.bits, 128);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn describe(path: impl AsRef<Path>) -> Result<Description> {
    let storage = Disk::new(path.as_ref());
    let manifest = Manifest::read(&storage).map_err(|e| open::explain_missing(&storage, e))?;
    Ok(Description::of(manifest))
}

/// A database, open for reading and writing: a folder that one process writes to at a time.
///
/// A handle is cheap to clone and may be used from many threads; every method takes `&self`. Reads
/// see what is acknowledged when they begin.
///
/// [`close`](Self::close) reports errors; dropping the last clone does what it can.
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

/// The core with its threads, which end with the last clone.
#[derive(Debug)]
struct Handle<F: Fingerprint> {
    core: Arc<Core<F>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<F: Fingerprint> Handle<F> {
    fn stop_threads(&self) {
        self.core.signals.stop();
        for thread in lock(&self.threads).drain(..) {
            // A panic there has been printed, and is no reason for another.
            let _ = thread.join();
        }
    }
}

impl<F: Fingerprint> Drop for Handle<F> {
    fn drop(&mut self) {
        self.stop_threads();
        // Best effort: `close` is there for who wants to know.
        let _ = self.core.sync_log();
    }
}

impl Db<u64> {
    /// Options for a database of 64-bit fingerprints; [`Options::bits128`] for 128-bit ones.
    pub fn options() -> Options<u64> {
        Options::new()
    }

    /// Opens a database of 64-bit fingerprints with default options; see [`Options::open`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }
}

impl<F: Fingerprint> Db<F> {
    fn start(core: Core<F>) -> Result<Self> {
        let core = Arc::new(core);
        let handle = Handle { core: core.clone(), threads: Mutex::new(Vec::new()) };
        if core.tuning.background {
            let spawn = |name: &str, work: fn(&Core<F>)| {
                let core = core.clone();
                let thread = std::thread::Builder::new().name(name.to_owned());
                let thread = thread.spawn(move || work(&core)).map_err(|e| {
                    Error::io("start a background thread", handle.core.storage.root(), e)
                })?;
                lock(&handle.threads).push(thread);
                Ok::<(), Error>(())
            };
            spawn("fpdb-compaction", Core::work)?;
            if core.tuning.durability == Durability::Buffered {
                spawn("fpdb-sync", Core::sync_at_intervals)?;
            }
            core.signals.work();
        }
        Ok(Self { handle: Arc::new(handle) })
    }

    fn core(&self) -> &Core<F> {
        &self.handle.core
    }

    /// Inserts an entry and returns its document's id. An entry that stands already (the same
    /// fingerprint and id) is left as it is; a name gets a new id each time.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind; `Poisoned` after a failed write; `Io`. What
    /// went wrong in the background since the last write is returned too, once: nothing was
    /// inserted then, and the call may be repeated.
    pub fn insert<'k>(&self, fingerprint: F, key: impl Into<Key<'k>>) -> Result<DocId> {
        let ids = self.core().insert_all(&[(fingerprint, key.into())])?;
        Ok(ids.first().copied().unwrap_or_default())
    }

    /// Inserts several entries in one commit: after a crash all are there or none.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert); nothing is inserted then.
    pub fn insert_batch(&self, documents: &[(F, Key<'_>)]) -> Result<Vec<DocId>> {
        self.core().insert_all(documents)
    }

    /// Inserts a document unless something is within the database's distance of it; then says what.
    ///
    /// Atomic against every other writer: of two documents within the distance of each other never
    /// both are inserted. Under [`Durability::Sync`] the entry that a duplicate is told of is as
    /// durable as one that is inserted.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn insert_if_novel<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Key<'k>>,
    ) -> Result<Novelty<F>> {
        let novelties = self.insert_if_novel_batch(&[(fingerprint, key.into())])?;
        novelties.into_iter().next().ok_or_else(|| Error::invalid("no verdict"))
    }

    /// As [`insert_if_novel`](Self::insert_if_novel) for several documents in turn, in one commit.
    /// A document may be a duplicate of one before it in the batch.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert); nothing is inserted then.
    pub fn insert_if_novel_batch(&self, documents: &[(F, Key<'_>)]) -> Result<Vec<Novelty<F>>> {
        self.core().insert_novel(documents, |_| Ok(()))
    }

    /// As [`insert_if_novel_batch`](Self::insert_if_novel_batch), and shows the verdicts to
    /// `before_commit` before anything is written: what it does with the novel documents has
    /// happened once they count as seen. Other writers wait meanwhile, so it must not write to this
    /// database itself: it would wait for itself.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert), or the callback's; nothing is inserted then.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::{Key, Novelty};
    /// let documents = [(0b0001, Key::from(1)), (0b0011, Key::from(2))];
    /// let mut novel = 0;
    /// let verdicts = db.insert_if_novel_batch_with(&documents, |verdicts| {
    ///     novel = verdicts.iter().filter(|v| matches!(v, Novelty::Inserted(_))).count();
    ///     Ok(()) // print them, say
    /// })?;
    /// assert_eq!((novel, verdicts.len()), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel_batch_with(
        &self,
        documents: &[(F, Key<'_>)],
        before_commit: impl FnOnce(&[Novelty<F>]) -> io::Result<()>,
    ) -> Result<Vec<Novelty<F>>> {
        self.core().insert_novel(documents, before_commit)
    }

    /// Removes an entry; false if there is none. Its space is returned by compaction.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Corruption`; `Io`.
    pub fn remove(&self, fingerprint: F, id: impl Into<DocId>) -> Result<bool> {
        self.core().remove(Entry { fingerprint, id: id.into() })
    }

    /// Loads many entries at once, in any order, without the log: sorted within
    /// [`bulk_memory`](Options::bulk_memory), on disk beyond, and written as one segment. Durable
    /// when it returns; after a crash all are there or none. For databases with user ids.
    ///
    /// Other writers wait while the tables are written.
    ///
    /// # Errors
    ///
    /// The first error among the entries; `InvalidArgument` in a database with names; `Poisoned`;
    /// `Corruption`; `Io`.
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

    /// As [`bulk_load`](Self::bulk_load), telling `report` how far it is, some thousand entries at a
    /// time; when that breaks, nothing is loaded.
    ///
    /// `report` may be called from any of the [threads](Options::threads), one at a time, while
    /// others wait for it.
    ///
    /// # Errors
    ///
    /// As there; `Cancelled` if `report` broke.
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
        self.core().load(entries, &mut report)
    }

    /// The database as it is now, for reading.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        let core = self.core();
        let (version, seq) = core.view();
        let (settings, planner) = (core.settings.clone(), core.planner.clone());
        let threads = core.tuning.threads.unwrap_or(1);
        Snapshot { settings, planner, version, seq, threads }
    }

    /// See [`Snapshot::query`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        self.snapshot().query(fingerprint, distance)
    }

    /// See [`Snapshot::query_batch`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Vec<Vec<Match<F>>>> {
        self.snapshot().query_batch(fingerprints, distance)
    }

    /// See [`Snapshot::nearest`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        self.snapshot().nearest(fingerprint, distance)
    }

    /// See [`Snapshot::contains`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        self.snapshot().contains(fingerprint)
    }

    /// See [`Snapshot::ids`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.snapshot().ids(fingerprint)
    }

    /// See [`Snapshot::name`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        self.snapshot().name(id)
    }

    /// Makes everything written so far durable: it survives a loss of power.
    ///
    /// # Errors
    ///
    /// `Io`, and then `Poisoned`: the handle takes no more writes.
    pub fn sync(&self) -> Result<()> {
        self.core().sync_log()
    }

    /// Writes all recent entries as a segment.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Io`.
    pub fn flush(&self) -> Result<()> {
        drop(self.core().flush_all()?);
        self.core().compact_as_needed();
        Ok(())
    }

    /// Merges everything into one segment and returns the space of removed entries. Needs free
    /// space for a second copy; readers and writers go on meanwhile.
    ///
    /// # Errors
    ///
    /// `Io` if the disk is too full, and kin; the database stays as it was.
    pub fn compact(&self) -> Result<CompactReport> {
        drop(self.core().flush_all()?);
        self.core().compact_all()
    }

    /// Flushes, then reads and checks every byte of every segment; see [`Snapshot::verify`].
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush), but none after a failed write. Damage found is in the report.
    pub fn verify(&self) -> Result<VerifyReport> {
        if self.core().poison.get().is_none() {
            self.flush()?;
        }
        Ok(self.snapshot().verify())
    }

    /// Copies the database, as it is now, into an empty or missing folder; writers wait while
    /// recent entries are flushed, not while files are copied. Each file is compared with its
    /// checksum on the way.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the folder holds anything; `Corruption`; `Io`. A backup that fails
    /// removes what it wrote.
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
        self.core().backup(path.as_ref())
    }

    /// The database in numbers.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let snapshot = self.snapshot();
        self.core().stats(snapshot.len(), &snapshot.version)
    }

    /// What opening found in the log.
    #[must_use]
    pub fn recovery(&self) -> RecoveryReport {
        self.core().recovery
    }

    /// The distance that the database was made for.
    #[must_use]
    pub fn max_distance(&self) -> u32 {
        self.core().settings.max_distance
    }

    /// The tables and their bit orders.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.core().settings.layout
    }

    /// The recipe that the fingerprints come from, if one was named.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        self.core().settings.recipe.as_deref()
    }

    /// Whether documents are numbered by the caller or named.
    #[must_use]
    pub fn id_kind(&self) -> Ids {
        self.core().settings.ids
    }

    /// Flushes everything, ends the background threads and closes the database, also for other
    /// clones of the handle: their writes are refused from now on, as `Poisoned`. Their reads go on,
    /// for files that were opened stay as they are, and see what was written up to now.
    ///
    /// The next open finds no log to replay, and finds the folder unlocked, whatever clones are
    /// left; unless another thread is amid a bulk load or a full compaction, which keep it until
    /// they have failed.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Io`. The handle is closed all the same, and what was
    /// acknowledged is safe.
    pub fn close(self) -> Result<()> {
        self.handle.stop_threads();
        let core = self.core();
        let flushed = core.flush_for_close();
        core.poison(core::closed());
        lock(&core.folder).take();
        flushed
    }
}

impl<F: Fingerprint> Core<F> {
    fn flush_for_close(&self) -> Result<()> {
        let writer = self.flush_all()?;
        let log = writer.log_id;
        // The log is empty: every commit is in a segment.
        self.install(|manifest| manifest.logs.clear())?;
        self.remove_file(FileName::Log(log));
        self.poison(core::closed());
        Ok(())
    }
}
