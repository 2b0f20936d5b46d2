//! Sync, flush, compaction, verification and backup.

use std::ops::ControlFlow;
use std::path::Path;

use super::Db;
use crate::db::compact::{self, CompactReport};
use crate::db::snapshot::VerifyReport;
use crate::db::{backup, flush, sync};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::progress::Progress;

impl<F: Fingerprint> Db<F> {
    /// Makes everything written so far durable: it survives a loss of power.
    ///
    /// # Errors
    ///
    /// `NoSpace`, `Io`, or `Replaced` if the folder is not this database's any more; after that the
    /// handle is `Poisoned` and accepts no more writes. `Closed`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// use fpdb::{Db, Durability};
    /// let db = Db::options().durability(Durability::Buffered).create(&path)?;
    /// db.insert(7, 1)?; // a loss of power may take it
    /// db.sync()?; // from here on it cannot
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync(&self) -> Result<()> {
        sync::sync_log(self.writable()?)
    }

    /// Copies the directories and filters of all tables to memory and decodes small segments, as
    /// far as [`Options::index_memory`](crate::Options::index_memory) allows, and returns how many
    /// bytes all of that takes. The background does the same, so this is only needed before
    /// measuring, or without a background.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`, for the first table that cannot be copied. The others are, and queries
    /// read that one from its file.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// assert_eq!(db.load_index()?, db.stats().index_loaded_bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_index(&self) -> Result<u64> {
        let version = self.writable()?.current.get();
        self.writable()?.indexes.copy(&version)?;
        Ok(version.loaded_indexes_len())
    }

    /// Writes all recent entries as a segment.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Closed`; `Replaced`; `NoSpace`; `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// assert_eq!((db.stats().segments.len(), db.stats().memtable_entries), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&self) -> Result<()> {
        drop(flush::flush_all(self.writable()?)?);
        compact::compact_as_needed(self.core());
        Ok(())
    }

    /// Merges everything into one segment and frees the space of removed entries. Does not begin
    /// without free disk space for the largest possible result, which can be somewhat larger than a
    /// second copy. Readers and writers continue in the meantime.
    ///
    /// # Errors
    ///
    /// `NoSpace` if the disk is too full; `Io`; `Corruption`; `Poisoned`; `Closed`; `Replaced`. The
    /// database stays as it was. A single segment without removed entries is left as it is, and is
    /// not checked for damage.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// for id in 0..3u64 {
    ///     db.insert(id << 32, id)?;
    ///     db.flush()?;
    /// }
    /// db.compact()?;
    /// assert_eq!(db.stats().segments.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(&self) -> Result<CompactReport> {
        self.compact_with(|_| ControlFlow::Continue(()))
    }

    /// Does the same as [`compact`](Self::compact) and reports its progress. If `report` breaks,
    /// the database stays as it was.
    ///
    /// # Errors
    ///
    /// The same as [`compact`](Self::compact), and `Cancelled` if `report` broke.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// db.compact_with(|progress| {
    ///     eprintln!("{} of {:?} rows", progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact_with(
        &self,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<CompactReport> {
        drop(flush::flush_all(self.writable()?)?);
        compact::compact_all(self.writable()?, &mut report)
    }

    /// Flushes, then reads and checks every byte of every segment; see
    /// [`Snapshot::verify`](crate::Snapshot::verify).
    ///
    /// # Errors
    ///
    /// The same as [`flush`](Self::flush), except that a poisoned handle is verified without
    /// flushing. Damage is not an error: the returned report lists it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// let report = db.verify()?;
    /// assert!(report.files > 0 && report.errors.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self) -> Result<VerifyReport> {
        self.verify_with(|_| ControlFlow::Continue(()))
    }

    /// Does the same as [`verify`](Self::verify) and reports its progress; see
    /// [`Snapshot::verify_with`](crate::Snapshot::verify_with).
    ///
    /// # Errors
    ///
    /// The same as [`verify`](Self::verify), and `Cancelled` if `report` broke.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// let report = db.verify_with(|progress| {
    ///     eprintln!("{} of {:?} bytes", progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert!(report.errors.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify_with(
        &self,
        report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<VerifyReport> {
        if !self.core().poison.is_set() {
            self.flush()?;
        }
        self.snapshot().verify_with(report)
    }

    /// Copies the database, as it is now, into an empty or missing folder. Writers wait while
    /// recent entries are flushed, but not while files are copied. Each file is compared with its
    /// checksum during the copy.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the folder contains anything; `Locked`; `Poisoned`; `Closed`; `Replaced`;
    /// `Corruption`; `NoSpace`; `Io`. A backup that fails removes what it wrote.
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
        self.backup_with(path, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`backup`](Self::backup) and reports its progress. If `report` breaks, what
    /// was written is removed.
    ///
    /// # Errors
    ///
    /// The same as [`backup`](Self::backup), and `Cancelled` if `report` broke.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// db.backup_with(folder.path().join("copy"), |progress| {
    ///     eprintln!("{} of {:?} bytes", progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_with(
        &self,
        path: impl AsRef<Path>,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<()> {
        backup::backup(self.writable()?, path.as_ref(), &mut report)
    }
}
