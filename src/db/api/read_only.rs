//! Reading a database while another process may write to it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::progress::{Progress, Watch};
use crate::db::api::engine::FollowEngine;
use crate::db::api::snapshot::Snapshot;
use crate::db::read::stats::{Description, Stats};
use crate::fingerprint::Fingerprint;

/// A database that was opened for reading only, with
/// [`Options::open_read_only`](crate::Options::open_read_only). Another process may write to it at
/// the same time. Takes no lock and writes nothing.
///
/// It shows the state at the time when it was opened, until [`refresh`](Self::refresh) is called:
/// everything in segments, and of the log what is known to be durable. Under
/// [`Durability::Buffered`](crate::Durability::Buffered) that is what the writer has synced.
///
/// All reads are on a [`snapshot`](Self::snapshot). A clone shares its state, so refreshing one
/// refreshes all.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("db");
/// let db = fpdb::Db::options().create(&path)?;
/// let reader = fpdb::Db::options().open_read_only(&path)?;
/// assert_eq!(reader.description().max_distance, 3);
/// assert!(!reader.refresh()?);
/// let before = reader.snapshot();
/// db.insert(7, 1)?;
/// db.flush()?;
/// assert!(reader.snapshot().is_empty());
/// assert!(reader.refresh()?);
/// assert_eq!((before.len(), reader.snapshot().query(7, 0)?.len()), (0, 1));
/// reader.warm()?;
/// assert!(reader.stats().index_loaded_bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReadOnlyDb<F: Fingerprint = u64> {
    engine: Arc<dyn FollowEngine<F>>,
}

impl<F: Fingerprint> Clone for ReadOnlyDb<F> {
    fn clone(&self) -> Self {
        Self { engine: self.engine.clone() }
    }
}

impl<F: Fingerprint> ReadOnlyDb<F> {
    pub(super) fn new(engine: Arc<dyn FollowEngine<F>>) -> Self {
        Self { engine }
    }

    /// Reads the state that the writer has reached. Returns true if there is anything new.
    /// Snapshots taken before stay as they are. Opens the new files and reads the log.
    ///
    /// # Errors
    ///
    /// `Replaced` if the database in the folder is now another one, or an older state of this one,
    /// or if the folder was moved or removed: open it again. Otherwise the same as opening. The
    /// previous state then stays.
    pub fn refresh(&self) -> Result<bool> {
        self.engine.refresh()
    }

    /// Reads into memory what queries need, as far as it fits; see [`Db::warm`](crate::Db::warm).
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`, for the first table that cannot be copied; `Cancelled`.
    pub fn warm(&self) -> Result<()> {
        self.engine.warm()
    }

    /// Drops all pages of files from memory; see [`Db::release_memory`](crate::Db::release_memory).
    pub fn release_memory(&self) {
        self.engine.release_memory();
    }

    /// Drops pages of files as far as other programs need the memory; see
    /// [`Db::fit_memory`](crate::Db::fit_memory).
    pub fn fit_memory(&self) {
        self.engine.fit_memory();
    }

    /// Returns a handle of the same database whose long operations report their progress to
    /// `report`, and end with the error `Cancelled` if it breaks: [`backup`](Self::backup), and
    /// everything long that its [snapshots](Self::snapshot) do; see
    /// [`Db::on_progress`](crate::Db::on_progress).
    #[must_use]
    pub fn on_progress(
        &self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self { engine: self.engine.watched(Watch::new(report)) }
    }

    /// Copies the database, as this handle shows it, into an empty or missing folder. Works while
    /// another process writes. Each file is compared with its checksum during the copy.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the folder contains anything; `Cancelled`; `Locked`; `Corruption`;
    /// `NoSpace`; `Io`. A backup that fails removes what it wrote. If the process ends before, the
    /// copy cannot be opened, and the next backup into the folder removes it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// use fpdb::{Db, ErrorKind};
    /// use std::ops::ControlFlow;
    ///
    /// let db = Db::options().create(&path)?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// let reader = Db::open_read_only(&path)?;
    /// reader.backup(folder.path().join("copy"))?;
    /// db.insert(8, 1)?;
    /// let copy = Db::open(folder.path().join("copy"))?;
    /// assert!(copy.snapshot().contains(7)? && !copy.snapshot().contains(8)?);
    ///
    /// let cancelled = reader.on_progress(|_| ControlFlow::Break(()));
    /// let error = cancelled.backup(folder.path().join("second")).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Cancelled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        self.engine.backup(path.as_ref())
    }

    /// Returns the current state as a snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        Snapshot::new(self.engine.snapshot())
    }

    /// Returns statistics about the database.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// Returns what the database is, as it was when the handle was opened.
    #[must_use]
    pub fn description(&self) -> &Description {
        self.engine.description()
    }
}
