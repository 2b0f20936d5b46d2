//! Sync, flush, compaction, verification and backup.

use std::path::Path;

use crate::base::error::Result;
use crate::db::api::db::Db;
use crate::db::read::verify::{VerifyLevel, VerifyReport};
use crate::db::upkeep::compact::CompactReport;
use crate::fingerprint::Fingerprint;

impl<F: Fingerprint> Db<F> {
    /// Makes everything written so far durable: it survives a loss of power.
    ///
    /// # Errors
    ///
    /// `NoSpace`, `Io`, or `Replaced` if the folder is not this database's any more; after that the
    /// handle is `Poisoned` and accepts no more writes. `Closed`.
    ///
    /// ```
    /// use fpdb::{Db, Durability};
    /// let db = Db::options().durability(Durability::Buffered).in_memory()?;
    /// db.insert(7, 1)?; // a loss of power may take it
    /// db.sync()?; // from here on it cannot
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync(&self) -> Result<()> {
        self.engine().sync()
    }

    /// Reads into memory what queries need, as far as it fits, and returns when that is done:
    /// copies the directories and filters of all tables and decodes small segments, within
    /// [`Options::index_memory`](crate::Options::index_memory), and then reads all files for which
    /// there is room in [`Options::page_memory`](crate::Options::page_memory), near the speed of
    /// the device. The background does the same after opening, so this is only needed by those who
    /// want to wait, or without a background.
    ///
    /// Reports its progress in bytes to the function given to [`on_progress`](Self::on_progress).
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`, for the first table that cannot be copied: the others are, and queries
    /// read that one from its file. `Cancelled`: what is in memory by then stays there. A damaged
    /// page is reported when it is used.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let db = fpdb::Db::options().create(&path)?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// db.warm()?;
    /// assert!(db.stats().index_loaded_bytes > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warm(&self) -> Result<()> {
        self.engine().warm()
    }

    /// Drops all pages of files from memory, whatever other programs need. Copies of directories
    /// and filters stay ([`Options::index_memory`](crate::Options::index_memory)), and so does what
    /// snapshots that exist have read. Queries read again what they use; once they have read a 64th
    /// of [`Options::page_memory`](crate::Options::page_memory), the background reads whole files
    /// again, too. For a process that asks nothing for some time.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let db = fpdb::Db::options().background(false).create(&path)?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// assert_eq!(db.query(7, 3)?.len(), 1);
    /// db.release_memory();
    /// assert_eq!(db.stats().page_memory_bytes, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release_memory(&self) {
        self.engine().release_memory();
    }

    /// Asks the system how much memory is available. If it is less than
    /// [`Options::page_memory`](crate::Options::page_memory) leaves free, drops pages of files, so
    /// that it is left again. Does nothing if that option is set.
    ///
    /// Reads that need more memory do the same from time to time, and so does each flush. So this
    /// is for a process whose database is idle while other programs of the machine, or of the
    /// control group, begin to need memory: call it about once a second. It takes less than a
    /// millisecond, and waits for no query.
    ///
    /// ```
    /// let db = fpdb::Db::options().in_memory()?;
    /// db.fit_memory();
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn fit_memory(&self) {
        self.engine().fit_memory();
    }

    /// Writes all recent entries as a segment.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Closed`; `Replaced`; `NoSpace`; `Io`.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// assert_eq!((db.stats().segments.len(), db.stats().memtable_entries), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&self) -> Result<()> {
        self.engine().flush()
    }

    /// Merges everything into one segment and frees the space of removed entries. Sketches that are
    /// too many for one segment, 2^32 or more, are divided among as few as can hold them. Does not
    /// begin without free disk space for the largest possible result, which can be somewhat larger
    /// than a second copy. Readers and writers continue in the meantime.
    ///
    /// # Errors
    ///
    /// `NoSpace` if the disk is too full; `Cancelled`; `Io`; `Corruption`; `Poisoned`; `Closed`;
    /// `Replaced`. The database stays as it was. A single segment without removed entries is left
    /// as it is, and is not checked for damage; so are the oldest of several that are too many
    /// sketches for one, as far as a merge with newer ones would not leave fewer.
    pub fn compact(&self) -> Result<CompactReport> {
        self.engine().compact()
    }

    /// Returns the most bytes of free disk space that [`compact`](Self::compact) takes while it
    /// runs, without what is in memory: it writes the new segment before it removes the old ones. 0
    /// if there is nothing to do. Reads the heads of all postings.
    ///
    /// ```
    /// # let db = fpdb::Db::options().background(false).in_memory()?;
    /// for ids in [0..100u64, 100..101] {
    ///     let entries: Vec<(u64, u64)> = ids.map(|id| (id << 32, id)).collect();
    ///     db.write(&entries).run()?;
    ///     db.flush()?;
    /// }
    /// assert!(db.compact_space() > 0);
    /// db.compact()?;
    /// assert_eq!(db.compact_space(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn compact_space(&self) -> u64 {
        self.engine().compact_space()
    }

    /// Flushes, then reads and checks every byte of every segment; see
    /// [`Snapshot::verify`](crate::Snapshot::verify).
    ///
    /// # Errors
    ///
    /// The same as [`flush`](Self::flush), except that a poisoned handle is verified without
    /// flushing; `Cancelled`. Damage is not an error: the returned report lists it.
    pub fn verify(&self, level: VerifyLevel) -> Result<VerifyReport> {
        self.engine().verify(level)
    }

    /// Copies the database, as it is now, into an empty or missing folder. Writers wait while
    /// recent entries are flushed, but not while files are copied. Each file is compared with its
    /// checksum during the copy.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the folder contains anything; `Cancelled`; `Locked`; `Poisoned`;
    /// `Closed`; `Replaced`; `Corruption`; `NoSpace`; `Io`. A backup that fails removes what it
    /// wrote. If the process ends before, the copy cannot be opened, and the next backup into the
    /// folder removes it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// db.backup(folder.path().join("copy"))?;
    /// let copy = fpdb::Db::options().open_read_only(folder.path().join("copy"))?;
    /// assert!(copy.snapshot().contains(7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        self.engine().backup(path.as_ref())
    }
}
