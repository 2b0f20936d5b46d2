//! Opening, creating and merging databases.

use std::path::Path;

use crate::db::api::db::Db;
use crate::db::api::engine::engine;
use crate::db::api::read_only::ReadOnlyDb;
use crate::db::build::MergeReport;
use crate::db::handle::open::Mode;
use crate::db::options::Options;
use crate::db::read::verify::{VerifyLevel, VerifyReport};
use crate::db::repair::RepairReport;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

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
        engine::<F>().open(self, path.as_ref(), Mode::Create).map(Db::new)
    }

    /// Opens a database for reading and writing.
    ///
    /// Takes one or two milliseconds for the files, whatever their size, and about a microsecond
    /// per entry in the log: what [`Db::close`] did not have to do in an earlier process is done
    /// now, and the log's entries are written as a segment. After a clean close there are none.
    ///
    /// Pages of files are read and checked when they are first used, or in the background before
    /// ([`page_memory`](Self::page_memory)). If another program changes or truncates a file in the
    /// meantime, or the device fails, a read returns an error.
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
        engine::<F>().open(self, path.as_ref(), Mode::Open).map(Db::new)
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
        engine::<F>().open(self, path.as_ref(), Mode::OpenOrCreate).map(Db::new)
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
    /// assert_eq!(Db::open_read_only(folder.path().join("copy"))?.snapshot().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_memory(self) -> Result<Db<F>> {
        engine::<F>().open_in_memory(self).map(Db::new)
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
    /// assert!(reader.snapshot().query(7, 3)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<ReadOnlyDb<F>> {
        engine::<F>().open_read_only(self, path.as_ref()).map(ReadOnlyDb::new)
    }
}

impl<F: Fingerprint> Options<F> {
    /// Combines databases into a new one. Other processes may write to them; the new database gets
    /// what is committed when the merge begins.
    ///
    /// All databases must have the same width, recipe, extraction and kind of ids. Options that are
    /// not set are taken from the first one. What becomes of ids depends on their kind:
    ///
    /// - [User ids](crate::Ids::User) stay as they are. Equal entries become one.
    /// - [Unique ids](crate::Ids::Unique) stay as they are. If several databases have a document
    ///   with the same id, the one with the greatest stamp is taken, and of equal stamps the last
    ///   one.
    /// - [Names](crate::Ids::Names) stay as they are, and the same document is taken. The ids of
    ///   the first database stay, too. The ids of each further database are raised by the number of
    ///   ids that the databases before it have assigned. A name that several databases have keeps
    ///   the id that it has in the first of them.
    ///
    /// Reads and writes in order, within [`bulk_memory`](Options::bulk_memory). After an error,
    /// nothing of the new database is left, unless its last sync failed after it was complete. If
    /// the process ends before the merge does, the new database cannot be opened; the same merge
    /// can be repeated.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is anything at `out`; `Unsupported` for databases of different
    /// recipes, extractions or widths; `InvalidArgument` without sources, for different kinds of
    /// ids, or for options that no database can have; the errors of opening the sources; `NoSpace`;
    /// `Corruption`; `Io`.
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// # let folder = tempfile::tempdir()?;
    /// let [a, b, out] = ["a", "b", "out"].map(|name| folder.path().join(name));
    /// for (path, name) in [(&a, "https://a.example/"), (&b, "https://b.example/")] {
    ///     let db = Db::options().ids(Ids::Names).create(path)?;
    ///     db.insert(0x00ff, name)?;
    ///     db.close()?;
    /// }
    /// let report = Db::options().merge(&[&a, &b], &out)?;
    /// assert_eq!(report.written, 2);
    /// let merged = Db::open(&out)?;
    /// assert_eq!(merged.snapshot().name(fpdb::DocId(1))?.as_deref(), Some("https://b.example/"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge<P: AsRef<Path>>(
        self,
        sources: &[P],
        out: impl AsRef<Path>,
    ) -> Result<MergeReport> {
        let sources: Vec<&Path> = sources.iter().map(AsRef::as_ref).collect();
        engine::<F>().merge(self, &sources, out.as_ref())
    }

    /// Writes a database again with other options: another layout, maximum distance, block size,
    /// code or filter. Options that are not set stay as they are, except that a new maximum
    /// distance without a layout leads to the layout that a new database would have. Ids, names and
    /// stamps stay. The source is not changed.
    ///
    /// # Errors
    ///
    /// The same as [`merge`](Options::merge).
    ///
    /// ```
    /// use fpdb::{Db, Layout};
    /// # let folder = tempfile::tempdir()?;
    /// let [small, fast] = ["small", "fast"].map(|name| folder.path().join(name));
    /// let db = Db::options().layout(Layout::preset("single", 64)?).create(&small)?;
    /// db.insert(7, 1)?;
    /// db.close()?;
    /// let _ = Db::options().layout(Layout::preset("half-2", 64)?).rebuild(&small, &fast)?;
    /// let db = Db::open(&fast)?;
    /// assert_eq!((db.description().layout.tables(), db.snapshot().contains(7)?), (2, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rebuild(self, source: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<MergeReport> {
        self.merge(&[source.as_ref()], out)
    }

    /// Does what [`Snapshot::verify`](crate::Snapshot::verify) does for a database that is not open,
    /// and need not be fit to be opened: then each file is checked by itself, and the report lists
    /// the damage of all.
    ///
    /// # Errors
    ///
    /// The same as [`open_read_only`](Options::open_read_only), but `Corruption` only if both the
    /// manifest and its copy are lost.
    ///
    /// ```
    /// use fpdb::{Db, VerifyLevel};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let db = Db::options().create(&path)?;
    /// db.insert(7, 1)?;
    /// db.close()?;
    /// assert!(Db::options().verify(&path, VerifyLevel::Full)?.errors.is_empty());
    /// std::fs::remove_file(path.join("MANIFEST"))?;
    /// let report = Db::options().verify(&path, VerifyLevel::Full)?;
    /// assert!(report.errors[0].to_string().contains("the manifest is missing"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(self, path: impl AsRef<Path>, level: VerifyLevel) -> Result<VerifyReport> {
        engine::<F>().verify(self, path.as_ref(), level)
    }

    /// Writes everything that a damaged database still proves to a new database, which has the same
    /// settings. The damaged one is not changed.
    ///
    /// Every table holds the same fingerprints, and the files of documents say again which entries
    /// there are, so most damage loses nothing: what one file lost, others prove. The report lists
    /// all damage and whatever no file proves any more. Documents whose names are lost keep their
    /// fingerprints, so that near-duplicates of them are still found; such a document is called
    /// `(lost name of id N)`.
    ///
    /// Reads everything twice or more. Takes memory for the fingerprints of damaged places, and, if
    /// records of documents are lost, for all entries, about 48 bytes each; otherwise it works
    /// within [`bulk_memory`](Options::bulk_memory).
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is anything at `out`; `Corruption` or `NotFound` if both the manifest
    /// and its copy are lost; `Unsupported` for a database of another version or width; `NoSpace`; `Io`.
    ///
    /// ```
    /// use fpdb::Db;
    /// # let folder = tempfile::tempdir()?;
    /// let [broken, fixed] = ["broken", "fixed"].map(|name| folder.path().join(name));
    /// let db = Db::options().create(&broken)?;
    /// db.insert(7, 1)?;
    /// db.close()?;
    /// // One table is lost.
    /// let is_table = |name: &str| name.ends_with(".t00");
    /// for file in std::fs::read_dir(&broken)? {
    ///     let path = file?.path();
    ///     if path.to_str().is_some_and(is_table) {
    ///         std::fs::remove_file(path)?;
    ///     }
    /// }
    /// let report = Db::options().repair(&broken, &fixed)?;
    /// assert_eq!((report.damage.len(), report.losses.len(), report.written), (1, 0, 1));
    /// assert!(Db::open(&fixed)?.snapshot().contains(7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair(self, broken: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<RepairReport> {
        engine::<F>().repair(self, broken.as_ref(), out.as_ref())
    }
}
