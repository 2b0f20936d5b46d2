//! Reading a database from another process than the one that writes it.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use super::open::{explain_missing, open_segments, replay};
use super::options::{Options, other_recipe};
use super::{Snapshot, Stats, VerifyReport};
use crate::error::{ErrorKind, Result};
use crate::fingerprint::{DocId, Fingerprint, Match};
use crate::log::ReadMode;
use crate::manifest::Manifest;
use crate::memtable::Memtable;
use crate::query::Planner;
use crate::segment::Segment;
use crate::storage::Storage;
use crate::version::Version;

/// How often a set of files may be replaced while it is being opened.
const ATTEMPTS: usize = 16;

/// A database opened for reading only, by [`Options::open_read_only`]: beside the one process that
/// may be writing to it, without a lock, without writing anything.
///
/// It shows the state at its opening until [`refresh`](Self::refresh): everything that is in
/// segments, and of the log what is known to be durable.
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
#[derive(Debug)]
pub struct Reader<F = u64> {
    storage: Arc<dyn Storage>,
    state: RwLock<State<F>>,
}

#[derive(Debug)]
struct State<F> {
    manifest: Manifest,
    snapshot: Snapshot<F>,
    bytes_log: u64,
}

impl<F> State<F> {
    /// Greater for what was seen later.
    fn age(&self) -> (u64, u64) {
        (self.manifest.generation, self.snapshot.seq)
    }
}

impl<F: Fingerprint> Reader<F> {
    pub(super) fn open(options: Options<F>, path: &Path) -> Result<Self> {
        let storage = options.storage_at(path);
        let manifest = Manifest::read(&*storage).map_err(|e| explain_missing(&*storage, e))?;
        options.agree(&manifest.settings)?;
        if let (Some(asked), None) = (&options.recipe, &manifest.settings.recipe) {
            return Err(other_recipe(asked, "no named recipe").at_path(path));
        }
        let planner = Arc::new(Planner::of(&manifest.settings, options.costs.clone()));
        let threads = options.tuning.settled(options.storage.is_none()).threads.unwrap_or(1);
        let state = load(&storage, manifest, &planner, threads, &[])?;
        Ok(Self { storage, state: RwLock::new(state) })
    }

    /// Looks again: true if there is anything new to see. Snapshots taken before stay as they are.
    /// Costs opening the new files and reading the log.
    ///
    /// # Errors
    ///
    /// As at opening; the state seen so far stays.
    pub fn refresh(&self) -> Result<bool> {
        let manifest = Manifest::read(&*self.storage)?;
        let (seen, Snapshot { version, planner, threads, .. }) =
            self.read(|state| (state.age(), state.snapshot.clone()));
        let state = load(&self.storage, manifest, &planner, threads, &version.segments)?;
        let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have refreshed meanwhile, and seen more.
        if state.age() > current.age() {
            *current = state;
        }
        Ok(current.age() > seen)
    }

    fn read<T>(&self, look: impl FnOnce(&State<F>) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The state seen now, as a snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        self.read(|state| state.snapshot.clone())
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

    /// See [`Db::stats`](super::Db::stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.read(|state| {
            let Snapshot { settings, version, .. } = &state.snapshot;
            let (entries, manifest) = (state.snapshot.len(), &state.manifest);
            Stats::gather(settings, version, entries, manifest, state.bytes_log)
        })
    }

    /// See [`Snapshot::verify`].
    pub fn verify(&self) -> VerifyReport {
        self.snapshot().verify()
    }
}

/// Opens what the manifest names. A writer may replace files meanwhile: then the newer manifest is
/// taken, as long as there is a newer one.
fn load<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    mut manifest: Manifest,
    planner: &Arc<Planner<F>>,
    threads: usize,
    known: &[Arc<Segment<F>>],
) -> Result<State<F>> {
    for _ in 0..ATTEMPTS {
        let result = load_once(storage, &manifest, planner, threads, known);
        let newest = match &result {
            Err(_) => Manifest::read(&**storage)?,
            Ok(_) => return result,
        };
        if newest.generation == manifest.generation {
            return result;
        }
        manifest = newest;
    }
    Err(crate::Error::new(
        ErrorKind::Io,
        "the database's files were replaced again and again while it was being opened",
    )
    .at_path(storage.root()))
}

fn load_once<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    manifest: &Manifest,
    planner: &Arc<Planner<F>>,
    threads: usize,
    known: &[Arc<Segment<F>>],
) -> Result<State<F>> {
    let settings = &manifest.settings;
    let segments = open_segments(storage, manifest, known)?;
    let memtable = Memtable::new(settings.permutations(), 1 << 16, manifest.next_doc);
    let bytes_log = replay(&**storage, manifest, ReadMode::Follow, &memtable)?.log_bytes;
    let seq = memtable.last_seq().max(manifest.last_seq);
    let flushed = manifest.last_seq;
    let version = Version { segments, frozen: None, active: Arc::new(memtable), flushed, loads: 0 };
    let snapshot = Snapshot {
        settings: Arc::new(settings.clone()),
        planner: planner.clone(),
        version: Arc::new(version),
        seq,
        threads,
    };
    Ok(State { manifest: manifest.clone(), snapshot, bytes_log })
}
