//! Reading a database while another process may write to it.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::base::error::Result;
use crate::base::progress::Watch;
use crate::db::options::Options;
use crate::db::options::mismatch::{other_extraction, other_recipe};
use crate::db::read::reader::Reader;
use crate::db::read::stats::{Description, Stats};
use crate::db::recovery::read_state::{State, expect_later, load, read_manifest};
use crate::db::state::index_loader::{HasVersion, IndexLoader};
use crate::db::upkeep::backup;
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::query::Planner;
use crate::store::segment::Loadable;

/// A database that is open for reading, while another process may write to it.
pub(crate) struct ReadOnlyHandle<F: Fingerprint> {
    shared: Arc<Shared<F>>,
    watch: Watch,
}

/// What all clones of a handle share.
struct Shared<F: Fingerprint> {
    storage: Arc<dyn Storage>,
    description: Description,
    shown: Arc<Shown<F>>,
}

/// What the database shows now.
struct Shown<F: Fingerprint> {
    state: RwLock<State<F>>,
    /// Copies the indexes of the state's version to memory.
    indexes: Arc<IndexLoader>,
}

/// Shows the folder only: everything else would fill pages.
impl<F: Fingerprint> fmt::Debug for ReadOnlyHandle<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.shared.storage.root();
        f.debug_struct("ReadOnlyHandle").field("path", &path).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Drop for Shared<F> {
    fn drop(&mut self) {
        self.shown.indexes.stop();
    }
}

impl<F: Fingerprint> Shown<F> {
    fn read<T>(&self, look: impl FnOnce(&State<F>) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the current state.
    fn reader(&self) -> Reader<F> {
        let reader = self.read(|state| state.reader.clone());
        if reader.version.is_spent() { self.renewed(reader) } else { reader }
    }

    /// Replaces the version of `reader` in the current state by one with empty memory for pages,
    /// and returns the current state; see [`Current`](crate::store::version::Current).
    #[cold]
    fn renewed(&self, reader: Reader<F>) -> Reader<F> {
        let Ok(renewed) = reader.version.renewed().map(Arc::new) else { return reader };
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&state.reader.version, &reader.version) {
            state.reader.version = renewed;
        }
        let current = state.reader.clone();
        drop(state);
        drop(reader);
        self.indexes.offer(|| current.version.needs_loading());
        current
    }
}

impl<F: Fingerprint> HasVersion for Shown<F> {
    fn segments(&self) -> Vec<Arc<dyn Loadable>> {
        self.reader().version.loadable()
    }

    fn make_room_for_copies(&self) {
        self.reader().version.make_room_for_copies();
    }

    fn needs_loading(&self) -> bool {
        self.reader().version.needs_loading()
    }
}

impl<F: Fingerprint> ReadOnlyHandle<F> {
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
        let candidates = options.tuning.most_candidate_pages(storage.page_budget().limit());
        let planner = Arc::new(Planner::of(&settings, options.costs.clone(), candidates));
        let indexes = IndexLoader::new(&options.tuning, storage.page_budget());
        let threads = options.tuning.resolved(options.storage.is_none()).threads.unwrap_or(1);
        let state = RwLock::new(load(&storage, manifest, None, &planner, threads, &[])?);
        let shown = Arc::new(Shown { state, indexes });
        let database: Arc<dyn HasVersion> = shown.clone();
        shown.indexes.begin(Arc::downgrade(&database));
        let shared = Arc::new(Shared { storage, description, shown });
        Ok(Self { shared, watch: options.watch })
    }

    /// Returns the same database with another function for the progress of long operations.
    pub(crate) fn watched(&self, watch: Watch) -> Self {
        Self { shared: self.shared.clone(), watch }
    }

    /// Reads the state that the writer has reached. Returns true if there is anything new.
    pub(crate) fn refresh(&self) -> Result<bool> {
        let storage = &self.shared.storage;
        // In this order: another thread may refresh at the same time.
        let (seen, opened, Reader { version, planner, threads, .. }) =
            self.read(|state| (state.age(), state.manifest.clone(), state.reader.clone()));
        storage.check_root()?;
        let manifest = read_manifest(&**storage)?;
        expect_later(&opened, &manifest).map_err(|e| e.at_path(storage.root()))?;
        let known = &version.segments;
        let state = load(storage, manifest, Some(&opened), &planner, threads, known)?;
        storage.check_root()?;
        let mut current = self.shared.shown.state.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have refreshed in the meantime and seen more.
        if state.age() > current.age() {
            *current = state;
        }
        let is_newer = current.age() > seen;
        drop(current);
        self.shared.shown.indexes.offer(|| self.reader().version.needs_loading());
        Ok(is_newer)
    }

    /// Copies the state that is shown into another folder.
    pub(crate) fn backup(&self, path: &Path) -> Result<()> {
        let (reader, manifest) = self.read(|state| (state.reader.clone(), state.manifest.clone()));
        let reader = Reader { watch: self.watch.clone(), ..reader };
        backup::backup_of_reader(&*self.shared.storage, &reader, manifest, path)
    }

    /// Reads into memory what queries need, as far as it fits.
    pub(crate) fn warm(&self) -> Result<()> {
        self.shared.shown.indexes.load(&self.watch)
    }

    /// Drops all pages of files.
    pub(crate) fn release_memory(&self) {
        self.reader().version.release_memory();
        drop(self.reader());
    }

    /// Drops pages of files as far as others need the memory.
    pub(crate) fn fit_memory(&self) {
        self.shared.storage.page_budget().fit();
        drop(self.reader());
    }

    fn read<T>(&self, look: impl FnOnce(&State<F>) -> T) -> T {
        self.shared.shown.read(look)
    }

    /// Returns the current state.
    pub(crate) fn reader(&self) -> Reader<F> {
        Reader { watch: self.watch.clone(), ..self.shared.shown.reader() }
    }

    /// Returns statistics about the database.
    pub(crate) fn stats(&self) -> Stats {
        self.read(|state| {
            let Reader { settings, version, planner, .. } = &state.reader;
            let (entries, manifest) = (state.reader.counts(), &state.manifest);
            let indexes = &self.shared.shown.indexes;
            Stats {
                queries: planner.counters().sum(),
                ..Stats::gather(settings, version, entries, manifest, state.bytes_log, indexes)
            }
        })
    }

    /// Returns what the database is, as it was when the handle was opened.
    pub(crate) fn description(&self) -> &Description {
        &self.shared.description
    }
}
