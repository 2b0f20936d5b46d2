//! Reading a database while another process may write to it.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::db::read::snapshot::Snapshot;
use crate::db::read::stats::{Description, Stats};
use crate::db::recovery::read_state::{State, expect_later, load, read_manifest};
use crate::db::state::index_loader::IndexLoader;
use crate::db::state::key::Key;
use crate::db::state::mismatch::{other_extraction, other_recipe};
use crate::db::state::options::Options;
use crate::error::Result;
use crate::fingerprint::{Document, Fingerprint, Match};
use crate::progress::Watch;
use crate::query::{Answers, Planner, QueryOptions};
use crate::storage::Storage;

/// A database that was opened for reading only, with [`Options::open_read_only`]. Another process
/// may write to it at the same time. Takes no lock and writes nothing.
///
/// It shows the state at the time when it was opened, until [`refresh`](Self::refresh) is called:
/// everything in segments, and of the log what is known to be durable. Under
/// [`Durability::Buffered`](crate::Durability::Buffered) that is what the writer has synced.
///
/// A clone shares its state, so refreshing one refreshes all.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("db");
/// let db = fpdb::Db::options().create(&path)?;
/// let reader = fpdb::Db::options().open_read_only(&path)?;
/// db.insert(7, 1)?;
/// assert!(reader.query(7, 0)?.is_empty());
/// assert!(reader.refresh()?);
/// assert_eq!(reader.query(7, 0)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ReadOnlyDb<F = u64> {
    shared: Arc<Shared<F>>,
}

struct Shared<F> {
    storage: Arc<dyn Storage>,
    description: Description,
    state: RwLock<State<F>>,
    /// Copies the indexes of the state's version to memory.
    indexes: Arc<IndexLoader<F>>,
    watch: Watch,
}

/// Shows the folder only: everything else would fill pages.
impl<F> fmt::Debug for Shared<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("path", &self.storage.root()).finish_non_exhaustive()
    }
}

impl<F> Drop for Shared<F> {
    fn drop(&mut self) {
        self.indexes.stop();
    }
}

impl<F: Fingerprint> ReadOnlyDb<F> {
    pub(crate) fn open(options: Options<F>, path: &Path) -> Result<Self> {
        let storage = options.storage_at(path);
        options.check().map_err(|e| e.at_path(path))?;
        let manifest = read_manifest(&*storage)?;
        let description = Description::of(manifest.clone());
        let settings = manifest.settings.clone();
        options.check_agreement(&settings).map_err(|e| e.at_path(path))?;
        if let (Some(requested), None) = (&options.recipe, &settings.recipe) {
            return Err(other_recipe(requested, None).at_path(path));
        }
        if let (Some(requested), None) = (&options.extraction, &settings.extraction) {
            return Err(other_extraction(requested, None).at_path(path));
        }
        let planner = Arc::new(Planner::of(&settings, options.costs.clone()));
        let indexes = IndexLoader::new(&options.tuning);
        let threads = options.tuning.resolved(options.storage.is_none()).threads.unwrap_or(1);
        let state = RwLock::new(load(&storage, manifest, None, &planner, threads, &[])?);
        let shared = Shared { storage, description, state, indexes, watch: options.watch };
        let reader = Self { shared: Arc::new(shared) };
        reader.offer_indexes();
        Ok(reader)
    }

    /// Reads the state that the writer has reached. Returns true if there is anything new.
    /// Snapshots taken before stay as they are. Opens the new files and reads the log.
    ///
    /// # Errors
    ///
    /// `Replaced` if the database in the folder is now another one, or an older state of this one,
    /// or if the folder was moved or removed: open it again. Otherwise the same as opening. The
    /// previous state then stays.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// assert!(!reader.refresh()?);
    /// db.insert(7, 1)?;
    /// assert!(reader.refresh()? && reader.snapshot().contains(7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refresh(&self) -> Result<bool> {
        let storage = &self.shared.storage;
        // In this order: another thread may refresh at the same time.
        let (seen, opened, Snapshot { version, planner, threads, .. }) =
            self.read(|state| (state.age(), state.manifest.clone(), state.snapshot.clone()));
        storage.check_root()?;
        let manifest = read_manifest(&**storage)?;
        expect_later(&opened, &manifest).map_err(|e| e.at_path(storage.root()))?;
        let known = &version.segments;
        let state = load(storage, manifest, Some(&opened), &planner, threads, known)?;
        storage.check_root()?;
        let mut current = self.shared.state.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have refreshed in the meantime and seen more.
        if state.age() > current.age() {
            *current = state;
        }
        let is_newer = current.age() > seen;
        drop(current);
        self.offer_indexes();
        Ok(is_newer)
    }

    /// Has the indexes of the current state copied in the background.
    fn offer_indexes(&self) {
        self.shared.indexes.offer(&self.snapshot().version);
    }

    /// Copies the directories and filters of all tables to memory, decodes small segments, and
    /// returns how many bytes all of that takes; see [`Db::load_index`](crate::Db::load_index).
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`, for the first table that cannot be copied.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// assert_eq!(reader.load_index()?, reader.stats().index_loaded_bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_index(&self) -> Result<u64> {
        let version = self.snapshot().version;
        self.shared.indexes.copy(&version)?;
        Ok(version.loaded_indexes_len())
    }

    fn read<T>(&self, look: impl FnOnce(&State<F>) -> T) -> T {
        look(&self.shared.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the current state as a snapshot.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// let before = reader.snapshot();
    /// db.insert(7, 1)?;
    /// reader.refresh()?;
    /// assert_eq!((before.len(), reader.snapshot().len()), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        let snapshot = self.read(|state| state.snapshot.clone());
        let snapshot = match snapshot.version.pages.is_exceeded() {
            true => self.renewed(snapshot),
            false => snapshot,
        };
        Snapshot { watch: self.shared.watch.clone(), ..snapshot }
    }

    /// Replaces the version of `snapshot` in the current state by one with empty memory for pages,
    /// and returns the current snapshot; see [`Current`](crate::version::Current).
    #[cold]
    fn renewed(&self, snapshot: Snapshot<F>) -> Snapshot<F> {
        let Ok(renewed) = snapshot.version.renewed().map(Arc::new) else { return snapshot };
        let mut state = self.shared.state.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&state.snapshot.version, &snapshot.version) {
            state.snapshot.version = renewed;
        }
        let current = state.snapshot.clone();
        drop(state);
        drop(snapshot);
        current.version.pages.accept_rest();
        self.shared.indexes.offer(&current.version);
        current
    }

    /// Returns every entry within `distance` bits of `fingerprint`, sorted by distance, fingerprint
    /// and id; see [`Snapshot::query`].
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// let matches = reader.query(0b1101, 1)?;
    /// assert_eq!((matches.len(), matches[0].distance), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query(&self, fingerprint: F, options: impl Into<QueryOptions>) -> Result<Vec<Match<F>>> {
        self.snapshot().query(fingerprint, options)
    }

    /// Returns the answers to several queries, in their order; see [`Snapshot::query_batch`].
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// let answers = reader.query_batch(&[0b1100, 0b0000], 1)?;
    /// assert_eq!((answers[0].len(), answers[1].len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Answers<F>> {
        self.snapshot().query_batch(fingerprints, distance)
    }

    /// Returns the nearest entry within `distance` bits; see [`Snapshot::nearest`].
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// let nearest = reader.nearest(0b1110, 3)?;
    /// assert_eq!(nearest.map(|m| (m.id.0, m.distance)), Some((1, 1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        self.snapshot().nearest(fingerprint, distance)
    }

    /// Returns what is known about the document with this key; see [`Snapshot::get`].
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind, and in a database with
    /// [user ids](crate::Ids::User); `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// use fpdb::{Db, DocId, Ids};
    /// let db = Db::options().ids(Ids::Names).create(&path)?;
    /// db.insert(7, "https://example.org/")?;
    /// let reader = Db::open_read_only(&path)?;
    /// assert_eq!(reader.get("https://example.org/")?.map(|found| found.id), Some(DocId(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document<F>>> {
        self.snapshot().get(key)
    }

    /// Returns statistics about the database.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// assert_eq!(reader.stats().entries, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.read(|state| {
            let Snapshot { settings, version, .. } = &state.snapshot;
            let (entries, manifest) = (state.snapshot.counts(), &state.manifest);
            let indexes = &self.shared.indexes;
            Stats::gather(settings, version, entries, manifest, state.bytes_log, indexes)
        })
    }

    /// Returns what the database is, as it was when the handle was opened.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// # fpdb::Db::options().create(&path)?.close()?;
    /// let reader = fpdb::Db::open_read_only(&path)?;
    /// assert_eq!(reader.description().max_distance, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.shared.description
    }
}
