//! Creating and opening databases.

use std::path::Path;

use crate::codec::header::{MAJOR, MINOR};
use crate::db::handle::Db;
use crate::db::handle::read_only::ReadOnlyDb;
use crate::db::read::snapshot::Snapshot;
use crate::db::read::stats::Description;
use crate::db::recovery::recover::{explain_missing, recover};
use crate::db::state::options::{DEFAULT_BLOCK, DEFAULT_DISTANCE, Options};
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::file_names::{FileName, MANIFEST, MANIFEST_TMP};
use crate::fingerprint::Fingerprint;
use crate::layout::Layout;
use crate::manifest::Manifest;
use crate::settings::{Ids, Settings};
use crate::storage::{Disk, InMemory, LOCK, LockedFolder, PageBudget, Storage};

impl Db<u64> {
    /// Returns options for a database of 64-bit fingerprints. For 128-bit ones use
    /// [`Options::bits128`].
    ///
    /// ```
    /// let db = fpdb::Db::options().max_distance(6).in_memory()?;
    /// assert_eq!(db.description().max_distance, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn options() -> Options<u64> {
        Options::new()
    }

    /// Opens a database of 64-bit fingerprints for reading and writing, with default options; see
    /// [`Options::open`]. For 128-bit fingerprints use `Options::bits128().open(path)`.
    ///
    /// # Errors
    ///
    /// The same as [`Options::open`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// # fpdb::Db::options().create(&path)?.close()?;
    /// let db = fpdb::Db::open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Opens a database of 64-bit fingerprints for reading only, with default options; see
    /// [`Options::open_read_only`]. For 128-bit fingerprints use
    /// `Options::bits128().open_read_only(path)`.
    ///
    /// # Errors
    ///
    /// The same as [`Options::open_read_only`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// # fpdb::Db::options().create(&path)?.close()?;
    /// let reader = fpdb::Db::open_read_only(&path)?;
    /// assert!(reader.snapshot().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<ReadOnlyDb> {
        Self::options().open_read_only(path)
    }
}

impl<F: Fingerprint> Options<F> {
    /// Creates a database in a folder that is missing or empty. A folder in which an earlier
    /// creation was interrupted counts as empty.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is a database or anything else; `InvalidArgument` for options that
    /// no database can have, or for a folder on a network file system; `Locked`; `NoSpace`; `Io`.
    /// If the options are refused, nothing is created.
    ///
    /// ```
    /// let db = fpdb::Db::options().in_memory()?;
    /// db.insert(7, 1)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(self, path: impl AsRef<Path>) -> Result<Db<F>> {
        open(self, path.as_ref(), Mode::Create)
    }

    /// Opens a database for reading and writing.
    ///
    /// Takes one or two milliseconds for the files, whatever their size, and about a microsecond
    /// per entry in the log: what [`Db::close`] did not have to do in an earlier process is done
    /// now, and the log's entries are written as a segment. After a clean close there are none.
    ///
    /// Pages of files are read and checked when they are first used. If another program changes or
    /// truncates a file in the meantime, or the device fails, a read returns an error. Only under
    /// [`Access::Mapped`](crate::Access::Mapped) can that end the process.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Locked` if another handle or process has it open for writing; `Unsupported` for
    /// another width, recipe or version; `InvalidArgument` if another stored option differs;
    /// `Corruption`; `NoSpace`; `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("crawl.fpdb");
    /// # fpdb::Db::options().create(&path)?.close()?;
    /// use fpdb::{Db, Durability};
    /// let db = Db::options().durability(Durability::Buffered).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(self, path: impl AsRef<Path>) -> Result<Db<F>> {
        open(self, path.as_ref(), Mode::Open)
    }

    /// Opens a database, or creates it if there is none.
    ///
    /// # Errors
    ///
    /// The same as [`open`](Self::open) and [`create`](Self::create).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("crawl.fpdb");
    /// use fpdb::Db;
    /// Db::options().open_or_create(&path)?.close()?; // creates it
    /// Db::options().open_or_create(&path)?.close()?; // opens it
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_or_create(self, path: impl AsRef<Path>) -> Result<Db<F>> {
        open(self, path.as_ref(), Mode::OpenOrCreate)
    }

    /// Creates a database in memory, which is gone when its last handle and snapshot are: for
    /// tests, and for data that fits. [`Db::backup`] writes it to a folder. Takes at least the
    /// memory that the files of such a database would take on the disk.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for options that do not fit together.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::Db;
    /// let db = Db::options().in_memory()?;
    /// db.insert(7, 1)?;
    /// db.backup(folder.path().join("copy"))?;
    /// assert_eq!(Db::open_read_only(folder.path().join("copy"))?.query(7, 0)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_memory(mut self) -> Result<Db<F>> {
        let root = Path::new("(memory)");
        let pages = self.tuning.page_memory.map_or_else(PageBudget::default, PageBudget::new);
        self.storage = Some(InMemory::folder(root, pages));
        open(self, root, Mode::Create)
    }

    /// Opens a database for reading, even while a process writes to it. Takes no lock and writes
    /// nothing.
    ///
    /// # Errors
    ///
    /// The same as [`open`](Self::open), except `Locked`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("crawl.fpdb");
    /// # let db = fpdb::Db::options().create(&path)?;
    /// let reader = fpdb::Db::options().open_read_only(&path)?;
    /// assert!(reader.query(7, 3)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<ReadOnlyDb<F>> {
        let reader = ReadOnlyDb::open(self, path.as_ref())?;
        report(path.as_ref(), &reader.snapshot(), true);
        Ok(reader)
    }
}

impl Description {
    /// Reads from its manifest alone what a database is, for instance to choose the width before
    /// opening it. Takes no lock.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Unsupported`, `Corruption` and `Io`, for the same reasons as opening.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// fpdb::Options::bits128().create(&path)?;
    /// assert_eq!(fpdb::Description::read(&path)?.bits, 128);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let storage = Disk::new(path.as_ref());
        let manifest = Manifest::read(&storage).map_err(|e| explain_missing(&storage, e))?;
        Ok(Self::of(manifest))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Create,
    /// Creates a database that a merge or rebuild will fill.
    Combine,
    Open,
    OpenOrCreate,
}

/// Creates a database that nobody can open until its manifest says that it is finished.
pub(crate) fn create_unfinished<F: Fingerprint>(options: Options<F>, path: &Path) -> Result<Db<F>> {
    open(options, path, Mode::Combine)
}

fn open<F: Fingerprint>(options: Options<F>, path: &Path, mode: Mode) -> Result<Db<F>> {
    let storage = options.storage_at(path);
    options.check().map_err(|e| e.at_path(path))?;
    // Before anything is created or locked: a call that cannot succeed leaves nothing behind, and
    // its error does not depend on who else has the database open.
    let new_settings = match read_manifest(&options, &*storage, mode)? {
        Some(_) => None,
        None => {
            let settings = new_settings(&options, &*storage)?;
            storage.create_root()?;
            refuse_foreign_files(&*storage)?;
            Some(settings)
        }
    };
    let folder = LockedFolder::lock(&storage)?;
    // Again: another process may have changed it before it released the lock.
    let manifest = match (read_manifest(&options, &*storage, mode)?, new_settings) {
        (Some(manifest), _) => manifest,
        (None, Some(settings)) => create(settings, &folder, mode == Mode::Combine)?,
        (None, None) => return Err(explain_missing(&*storage, no_manifest())),
    };
    let watch = options.watch.clone();
    let (core, recovery) = recover(options, folder, manifest)?;
    let db = Db::start(core, recovery, watch)?;
    report(path, &db.snapshot(), false);
    Ok(db)
}

fn report<F: Fingerprint>(path: &Path, opened: &Snapshot<F>, read_only: bool) {
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
    match Manifest::read(storage) {
        Ok(found) if mode == Mode::Combine && found.is_unfinished => Ok(Some(found)),
        Ok(_) if matches!(mode, Mode::Create | Mode::Combine) => Err(already_exists(storage)),
        Ok(manifest) => {
            manifest.expect_finished().map_err(|e| e.at_path(storage.root()))?;
            options.check_agreement(&manifest.settings).map_err(|e| e.at_path(storage.root()))?;
            Ok(Some(manifest))
        }
        Err(error) if error.kind() == ErrorKind::NotFound && mode != Mode::Open => Ok(None),
        Err(error) => Err(explain_missing(storage, error)),
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
    let is_ours =
        |name: &str| [LOCK, MANIFEST_TMP].contains(&name) || FileName::parse(name).is_some();
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
    let max_distance = options.max_distance.unwrap_or(DEFAULT_DISTANCE);
    let entries = options.expected_entries;
    let (layout, auto_filter) = match &options.layout {
        Some(layout) => (layout.clone(), layout.auto_filter(max_distance, entries)),
        None => Layout::auto(F::BITS, max_distance, entries),
    };
    let settings = Settings {
        database_id: storage.fresh_id()?,
        layout,
        max_distance,
        ids: options.ids.unwrap_or(Ids::User),
        recipe: options.recipe.clone(),
        extraction: options.extraction.clone(),
        block_size: options.block_size.unwrap_or(DEFAULT_BLOCK),
        code: options.code.unwrap_or_default(),
        filter_bits: options.filter_bits.unwrap_or(auto_filter),
    };
    settings.check()?;
    if settings.layout.bits() != F::BITS {
        return Err(Error::invalid(format!(
            "a layout of {} bits cannot be used for {}-bit fingerprints",
            settings.layout.bits(),
            F::BITS
        )));
    }
    Ok(settings)
}

/// Creates a database; storage-format.md, "Create". The folder may contain what an interrupted
/// creation left, but no files of a database.
fn create(settings: Settings, folder: &LockedFolder, is_unfinished: bool) -> Result<Manifest> {
    let storage = &**folder.storage();
    let names = storage.list()?.unwrap_or_default();
    if names.iter().any(|name| FileName::parse(name).is_some()) {
        return Err(explain_missing(storage, no_manifest()));
    }
    refuse_foreign_files(storage)?;
    let mut manifest = Manifest::new(settings, folder.session());
    manifest.is_unfinished = is_unfinished;
    manifest.install(storage)?;
    Ok(manifest)
}
