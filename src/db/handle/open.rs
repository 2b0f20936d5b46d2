//! Creating and opening databases.

use std::path::Path;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::events::Event;
use crate::db::handle::WriteHandle;
use crate::db::handle::read_only::ReadOnlyHandle;
use crate::db::options::{DEFAULT_BLOCK, DEFAULT_DISTANCE, DEFAULT_SIMILARITY, Options, is_sketch};
use crate::db::read::reader::Reader;
use crate::db::read::stats::Description;
use crate::db::recovery::recover::{self, belongs_to_database, explain_missing};
use crate::file::codec::header::{MAJOR, MINOR};
use crate::file::names::{MANIFEST, MANIFEST_TMP};
use crate::file::storage::{Disk, InMemory, LOCK, LockedFolder, PageBudget, Storage};
use crate::fingerprint::Fingerprint;
use crate::fingerprint::Ids;
use crate::index::bands::{BandRule, Jaccard};
use crate::index::rule::MatchRule;
use crate::index::tables::layout::Layout;
use crate::settings::{IndexSettings, Settings, TableSettings};
use crate::store::manifest::Manifest;

impl Description {
    /// Reads from its manifest alone what a database is, for instance to choose the width before
    /// opening it. Takes no lock.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Unsupported`, `Corruption` and `Io`, for the same reasons as opening.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let storage = Disk::new(path.as_ref());
        recover::read_manifest(&storage).map(Self::of)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Create,
    /// Creates a database that a merge or rebuild will fill.
    Combine,
    Open,
    OpenOrCreate,
}

/// Creates a database that nobody can open until its manifest says that it is finished.
pub(crate) fn create_unfinished<F: Fingerprint>(
    options: Options<F>,
    path: &Path,
) -> Result<WriteHandle<F>> {
    open(options, path, Mode::Combine)
}

pub(crate) fn open<F: Fingerprint>(
    options: Options<F>,
    path: &Path,
    mode: Mode,
) -> Result<WriteHandle<F>> {
    let storage = options.storage_at(path);
    options.check().map_err(|e| e.at_path(path))?;
    // Before anything is created or locked: a call that cannot succeed leaves nothing behind, and
    // its error does not depend on who else has the database open.
    let mut is_new = false;
    let new_settings = match read_manifest(&options, &*storage, mode)? {
        Some(_) => None,
        None => {
            let settings = new_settings(&options, &*storage)?;
            is_new = storage.list()?.is_none();
            storage.create_root()?;
            refuse_foreign_files(&*storage)?;
            Some(settings)
        }
    };
    let folder = LockedFolder::lock(&storage).inspect_err(|_| {
        if is_new {
            // Nothing happens if somebody has a file there.
            storage.remove_root();
        }
    })?;
    // Again: another process may have changed it before it released the lock.
    let manifest = match (read_manifest(&options, &*storage, mode)?, new_settings) {
        (Some(manifest), _) => manifest,
        (None, Some(settings)) => create(settings, &folder, mode == Mode::Combine)?,
        (None, None) => return Err(explain_missing(&*storage, no_manifest())),
    };
    let watch = options.watch.clone();
    let (core, recovery) = recover::recover(options, folder, manifest)?;
    let db = WriteHandle::start(core, recovery, watch)?;
    report(path, &db.reader(), false);
    Ok(db)
}

/// Opens a database for reading only.
pub(crate) fn open_read_only<F: Fingerprint>(
    options: Options<F>,
    path: &Path,
) -> Result<ReadOnlyHandle<F>> {
    let handle = ReadOnlyHandle::open(options, path)?;
    report(path, &handle.reader(), true);
    Ok(handle)
}

/// Creates a database in memory.
pub(crate) fn open_in_memory<F: Fingerprint>(mut options: Options<F>) -> Result<WriteHandle<F>> {
    let root = Path::new("(memory)");
    let pages = options.tuning.page_memory.map_or_else(PageBudget::default, PageBudget::new);
    options.storage = Some(InMemory::folder(root, pages));
    open(options, root, Mode::Create)
}

fn report<F: Fingerprint>(path: &Path, opened: &Reader<F>, read_only: bool) {
    let (entries, segments) = (opened.len(), opened.version.segments.len());
    Event::Opened { path, entries, segments, format: (MAJOR, MINOR), read_only }.report();
}

/// Reads the manifest and compares it with the options. Returns `None` if there is no
/// database and the mode allows creating one.
fn read_manifest<F: Fingerprint>(
    options: &Options<F>,
    storage: &dyn Storage,
    mode: Mode,
) -> Result<Option<Manifest>> {
    match recover::read_manifest(storage) {
        Ok(found) if mode == Mode::Combine && found.is_unfinished => Ok(Some(found)),
        Ok(_) if matches!(mode, Mode::Create | Mode::Combine) => Err(already_exists(storage)),
        Ok(manifest) => {
            manifest.expect_finished().map_err(|e| e.at_path(storage.root()))?;
            manifest.expect_writable().map_err(|e| e.at_path(storage.root()))?;
            options.check_agreement(&manifest.settings).map_err(|e| e.at_path(storage.root()))?;
            if manifest.settings.passages.is_some() && !options.is_for_index {
                return Err(Error::is_index().at_path(storage.root()));
            }
            Ok(Some(manifest))
        }
        Err(error) if error.kind() == ErrorKind::NotFound && mode != Mode::Open => Ok(None),
        Err(error) => Err(error),
    }
}

fn no_manifest() -> Error {
    Error::new(ErrorKind::NotFound, "there is no manifest")
}

fn already_exists(storage: &dyn Storage) -> Error {
    Error::new(ErrorKind::AlreadyExists, "there is a database already: open it")
        .at_path(storage.root())
}

/// Refuses a folder without a manifest that holds a file which is not part of a database.
fn refuse_foreign_files(storage: &dyn Storage) -> Result<()> {
    let names = storage.list()?.unwrap_or_default();
    let is_ours = |name: &str| [LOCK, MANIFEST_TMP].contains(&name) || belongs_to_database(name);
    match names.iter().find(|name| !is_ours(name)) {
        Some(other) if !names.iter().any(|name| name == MANIFEST) => {
            let message =
                format!("the folder is not empty, it contains {other}: choose another one");
            Err(Error::new(ErrorKind::AlreadyExists, message).at_path(storage.root()))
        }
        _ => Ok(()),
    }
}

/// Returns the settings of a new database.
fn new_settings<F: Fingerprint>(options: &Options<F>, storage: &dyn Storage) -> Result<Settings> {
    let settings = Settings {
        database_id: storage.fresh_id()?,
        ids: options.new_ids(),
        recipe: options.recipe.clone(),
        extraction: options.extraction.clone(),
        passages: options.passages,
        index: if is_sketch::<F>() { bands(options)? } else { tables(options)? },
    };
    settings.check()?;
    if settings.bits() != F::BITS {
        return Err(Error::invalid(format!(
            "a layout of {} bits cannot be used for {}-bit fingerprints",
            settings.bits(),
            F::BITS
        )));
    }
    Manifest::new(settings.clone(), 0).expect_readable()?;
    Ok(settings)
}

/// Returns the index of a new database of fingerprints.
fn tables<F: Fingerprint>(options: &Options<F>) -> Result<IndexSettings> {
    let has_bands = options.rule.is_some_and(|rule| rule.band_rule().is_some());
    if options.similar.is_some() || has_bands {
        return Err(Error::invalid(
            "a database of fingerprints has no similarity: give a max distance, or store sketches",
        ));
    }
    let distance = match options.rule {
        Some(rule) => rule.distance(),
        None => {
            let distance = options.max_distance.unwrap_or(DEFAULT_DISTANCE);
            MatchRule::within(F::BITS, distance)?.distance()
        }
    };
    let entries = options.expected_entries;
    let (layout, auto_filter) = match &options.layout {
        Some(layout) => (layout.clone(), layout.auto_filter(distance, entries)),
        None => Layout::auto(F::BITS, distance, entries),
    };
    Ok(IndexSettings::Tables(TableSettings {
        layout,
        distance,
        block_size: options.block_size.unwrap_or(DEFAULT_BLOCK),
        filter_bits: options.filter_bits.unwrap_or(auto_filter),
    }))
}

/// Returns the index of a new database of sketches.
fn bands<F>(options: &Options<F>) -> Result<IndexSettings> {
    if options.max_distance.is_some() {
        return Err(Error::invalid(
            "a database of sketches has no max distance: give a similarity",
        ));
    }
    options.expect_no_tables()?;
    if options.ids == Some(Ids::User) {
        return Err(Error::invalid(
            "sketches belong to documents, so their ids must be names or unique",
        ));
    }
    let jaccard = options.similar.unwrap_or(Jaccard::at_least(DEFAULT_SIMILARITY));
    let given = options.rule.and_then(|rule| rule.band_rule());
    let chosen = || BandRule::for_similarity(jaccard, options.expected_entries);
    Ok(IndexSettings::Bands(given.unwrap_or_else(chosen)))
}

/// Creates a database; storage-format.md, "Create". The folder may contain what an interrupted
/// creation left, but no files of a database.
fn create(settings: Settings, folder: &LockedFolder, is_unfinished: bool) -> Result<Manifest> {
    let storage = &**folder.storage();
    let names = storage.list()?.unwrap_or_default();
    if names.iter().any(|name| belongs_to_database(name)) {
        return Err(explain_missing(storage, no_manifest()));
    }
    refuse_foreign_files(storage)?;
    let mut manifest = Manifest::new(settings, folder.session()).created_by(storage.program());
    manifest.is_unfinished = is_unfinished;
    manifest.install(storage)?;
    Ok(manifest)
}
