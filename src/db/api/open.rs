//! Opening, creating and building databases.

use std::path::Path;

use crate::base::error::Result;
use crate::db::api::db::Db;
use crate::db::api::engine::engine;
use crate::db::api::read_only::ReadOnlyDb;
use crate::db::build::{BuildReport, Source};
use crate::db::handle::open::Mode;
use crate::db::options::Options;
use crate::db::read::verify::{VerifyLevel, VerifyReport};
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
        Options::default()
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
    /// no database can have; `Locked`; `NoSpace`; `Io`, also for a
    /// [file system](Options::trust_file_system) whose locks may not work. If the options or the
    /// file system are refused, nothing is created.
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
    /// Creates a database of what others hold, of what a damaged one still proves, or of entries or
    /// documents: merges, rebuilds, repairs and imports.
    ///
    /// The database is complete or not there: other processes can open it when the build has ended,
    /// and after an error, nothing of it is left, unless its last sync failed after it was
    /// complete. If the process ends before the build does, the same can be repeated. Works within
    /// [`bulk_memory`](Self::bulk_memory).
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is anything at `path`; `InvalidArgument` for options that no
    /// database can have; the errors of opening the source, and those that [`Source`] describes;
    /// `Corruption`; `Cancelled`; `NoSpace`; `Io`.
    ///
    /// ```
    /// use fpdb::{Db, Source};
    /// # let folder = tempfile::tempdir()?;
    /// let [monday, tuesday, both] = ["mon", "tue", "both"].map(|name| folder.path().join(name));
    /// for (path, id) in [(&monday, 1), (&tuesday, 2)] {
    ///     let db = Db::options().create(path)?;
    ///     db.insert(7, id)?;
    ///     db.close()?;
    /// }
    /// let _ = Db::options().build(&both, Source::databases([&monday, &tuesday]))?;
    /// assert_eq!(Db::open(&both)?.snapshot().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "merge")]
    #[doc(alias = "rebuild")]
    #[doc(alias = "repair")]
    pub fn build(self, path: impl AsRef<Path>, source: Source<'_, F>) -> Result<BuildReport> {
        engine::<F>().build(self, path.as_ref(), source)
    }

    /// Does what [`Snapshot::verify`](crate::Snapshot::verify) does for a database that is not
    /// open, and need not be fit to be opened: then each file is checked by itself, and the report
    /// lists the damage of all.
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
}
