//! Reading the state of a database that another process may be writing to.

use std::sync::{Arc, OnceLock};

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::progress::Watch;
use crate::db::read::reader::Reader;
use crate::db::recovery::orphans;
use crate::db::recovery::recover::{self, open_segments, replay};
use crate::documents::KeyHasher;
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::query::Planner;
use crate::settings::Settings;
use crate::store::log::ReadMode;
use crate::store::manifest::{Manifest, Session};
use crate::store::memtable::Memtable;
use crate::store::segment::Segment;
use crate::store::version::Version;

/// How often a set of files may be replaced while it is being opened.
const ATTEMPTS: usize = 16;

/// What a reader has read.
#[derive(Debug)]
pub(crate) struct State<F: Fingerprint> {
    pub(crate) manifest: Manifest,
    pub(crate) reader: Reader<F>,
    pub(crate) bytes_log: u64,
}

impl<F: Fingerprint> State<F> {
    /// Greater for a later state.
    pub(crate) fn age(&self) -> (u64, u64) {
        (self.manifest.generation, self.reader.seq)
    }
}

/// Reads the manifest. Fails if there are files that are newer.
pub(crate) fn read_manifest(storage: &dyn Storage) -> Result<Manifest> {
    // In this order: a writer installs a manifest before it creates files of that generation.
    let names = storage.list()?.unwrap_or_default();
    let manifest = recover::read_manifest(storage)?;
    manifest.expect_finished().map_err(|e| e.at_path(storage.root()))?;
    orphans::refuse_newer(storage, &names, &manifest)?;
    Ok(manifest)
}

/// Returns an error unless `found` can be a later state of the database with the manifest `seen`.
pub(crate) fn expect_later(seen: &Manifest, found: &Manifest) -> Result<()> {
    let replaced = |what: &str| {
        let message = format!("the folder now contains {what}: open it again");
        Err(Error::new(ErrorKind::Replaced, message))
    };
    if found.settings.database_id != seen.settings.database_id {
        return replaced("another database");
    }
    if found.generation < seen.generation {
        return replaced("an older state of the database, perhaps from a backup");
    }
    // A database without entries may still be given a recipe and an extraction.
    let (recipe, extraction) = (seen.settings.recipe.clone(), seen.settings.extraction.clone());
    let same = Settings {
        recipe: recipe.or_else(|| found.settings.recipe.clone()),
        extraction: extraction.or_else(|| found.settings.extraction.clone()),
        ..seen.settings.clone()
    };
    let has_diverged =
        |earlier: &Session| earlier.nonce == seen.session && earlier.last < seen.generation;
    if same != found.settings
        || found.generation == seen.generation && found != seen
        || found.earlier_sessions.iter().any(has_diverged)
    {
        return replaced("a copy of the database that has diverged");
    }
    Ok(())
}

/// Opens what the manifest names. If a writer replaces files in the meantime, starts again with the
/// newer manifest. It must be later than the one `seen` before.
pub(crate) fn load<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    mut manifest: Manifest,
    seen: Option<&Manifest>,
    planner: &Arc<Planner>,
    threads: usize,
    known: &[Arc<Segment<F>>],
) -> Result<State<F>> {
    for _ in 0..ATTEMPTS {
        let result = load_once(storage, &manifest, planner, threads, known);
        let newest = match &result {
            Err(_) => Manifest::read(&**storage)?,
            Ok(_) => return result,
        };
        expect_later(seen.unwrap_or(&manifest), &newest).map_err(|e| e.at_path(storage.root()))?;
        if newest.generation == manifest.generation {
            return result;
        }
        manifest = newest;
    }
    Err(Error::new(
        ErrorKind::Io,
        "the files of the database were replaced again and again while it was being opened: try \
         again",
    )
    .at_path(storage.root()))
}

fn load_once<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    manifest: &Manifest,
    planner: &Arc<Planner>,
    threads: usize,
    known: &[Arc<Segment<F>>],
) -> Result<State<F>> {
    let settings = &manifest.settings;
    let segments = open_segments(storage, manifest, known)?;
    let memtable = Memtable::new(&settings.index, manifest.next_doc);
    let bytes_log = replay(&**storage, manifest, ReadMode::Follow, &memtable)?.log_bytes;
    let seq = memtable.last_seq().max(manifest.last_seq);
    let flushed = manifest.last_seq;
    let (active, pages) = (Arc::new(memtable), storage.page_budget());
    let version = Version {
        segments,
        frozen: None,
        active,
        flushed,
        loads: 0,
        generation: pages.generation(),
        pages,
        ids: settings.ids,
        hasher: KeyHasher::of_database(settings.database_id),
    };
    let reader = Reader {
        settings: Arc::new(settings.clone()),
        planner: planner.clone(),
        version: Arc::new(version),
        renewed: OnceLock::new(),
        seq,
        watch: Watch::default(),
        threads,
    };
    Ok(State { manifest: manifest.clone(), reader, bytes_log })
}
