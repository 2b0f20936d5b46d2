//! Reading a database while another process may write to it.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use super::agreement::{other_extraction, other_recipe};
use super::index_loader::IndexLoader;
use super::key::Key;
use super::options::Options;
use super::read_state::{State, expect_later, load, read_manifest};
use super::snapshot::{Snapshot, VerifyReport};
use super::stats::Stats;
use crate::error::Result;
use crate::fingerprint::{DocId, Document, Fingerprint, Match};
use crate::layout::Layout;
use crate::query::{Answers, Planner};
use crate::settings::Ids;
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
    layout: Layout,
    ids: Ids,
    recipe: Option<String>,
    extraction: Option<String>,
    max_distance: u32,
    state: RwLock<State<F>>,
    /// Copies the indexes of the state's version to memory.
    indexes: Arc<IndexLoader<F>>,
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
    pub(super) fn open(options: Options<F>, path: &Path) -> Result<Self> {
        let storage = options.storage_at(path);
        options.check().map_err(|e| e.at_path(path))?;
        let manifest = read_manifest(&*storage)?;
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
        let shared = Shared {
            storage,
            layout: settings.layout,
            ids: settings.ids,
            recipe: settings.recipe,
            extraction: settings.extraction,
            max_distance: settings.max_distance,
            state,
            indexes,
        };
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
    /// assert!(reader.refresh()? && reader.contains(7)?);
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
        if snapshot.version.pages.is_exceeded() { self.renewed(snapshot) } else { snapshot }
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
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        self.snapshot().query(fingerprint, distance)
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

    /// Returns whether any entry has exactly this fingerprint.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// assert!(reader.contains(7)? && !reader.contains(6)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        self.snapshot().contains(fingerprint)
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 2)?;
    /// db.insert(7, 1)?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// assert_eq!(reader.ids(7)?, [fpdb::DocId(1), fpdb::DocId(2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.snapshot().ids(fingerprint)
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

    /// Returns the id of the document with this name.
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
    /// assert_eq!(reader.id_of("https://example.org/")?, Some(DocId(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id_of(&self, name: &str) -> Result<Option<DocId>> {
        self.snapshot().id_of(name)
    }

    /// Returns whether there is a document with this name.
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
    /// assert!(reader.contains_name("https://example.org/")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_name(&self, name: &str) -> Result<bool> {
        self.snapshot().contains_name(name)
    }

    /// Returns the name of a document, in a database with names; see [`Snapshot::name`].
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(&path)?;
    /// let id = db.insert(7, "https://example.org/")?;
    /// let reader = Db::open_read_only(&path)?;
    /// assert_eq!(reader.name(id)?.as_deref(), Some("https://example.org/"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        self.snapshot().name(id)
    }

    /// Returns the names of several documents, in the order of `ids`.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// use fpdb::{Db, DocId, Ids};
    /// let db = Db::options().ids(Ids::Names).create(&path)?;
    /// db.insert(7, "https://example.org/")?;
    /// let reader = Db::open_read_only(&path)?;
    /// assert_eq!(reader.names(&[DocId(0)])?, [Some("https://example.org/".to_owned())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self, ids: &[DocId]) -> Result<Vec<Option<String>>> {
        self.snapshot().names(ids)
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

    /// Reads and checks every byte of every segment; see [`Snapshot::verify`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// let reader = fpdb::Db::open_read_only(folder.path().join("db"))?;
    /// assert!(reader.verify().errors.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self) -> VerifyReport {
        self.snapshot().verify()
    }

    /// Returns the distance that the database was created for.
    #[must_use]
    pub fn max_distance(&self) -> u32 {
        self.shared.max_distance
    }

    /// Returns the tables and their bit orders.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    /// Returns the recipe that the fingerprints come from, if one was named.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        self.shared.recipe.as_deref()
    }

    /// Returns the extraction that the texts come from, if one was named.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("crawl.fpdb");
    /// fpdb::Db::options().extraction("main/1").create(&path)?;
    /// assert_eq!(fpdb::Db::open_read_only(&path)?.extraction(), Some("main/1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn extraction(&self) -> Option<&str> {
        self.shared.extraction.as_deref()
    }

    /// Returns whether the caller numbers documents or names them.
    #[must_use]
    pub fn id_kind(&self) -> Ids {
        self.shared.ids
    }
}
