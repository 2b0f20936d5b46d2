//! A database as the server uses it.

use std::sync::Mutex;

use fpdb::{Db, Description, Fingerprint, ReadOnlyDb, Sketch, Snapshot, Stats};

use crate::events;
use crate::failure::{Failure, Result};
use crate::net::clients::lock;

/// An open database of fingerprints or sketches. Handles of all types convert into it, so
/// [`Server::serve`](crate::Server::serve) takes them as they are.
///
/// With a [`ReadOnlyDb`], clients can read, beside another process that writes. Once a second, the
/// server looks what that process has written.
///
/// # Examples
///
/// ```
/// use fpdb::Db;
/// use fpdb_server::Database;
/// # let folder = tempfile::tempdir()?;
/// let db = fpdb::Options::bits128().create(folder.path().join("db"))?;
/// assert!(matches!(Database::from(db), Database::Bits128(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub enum Database {
    /// With fingerprints of 64 bits.
    Bits64(Db<u64>),
    /// With fingerprints of 128 bits.
    Bits128(Db<u128>),
    /// With sketches.
    Sketches(Db<Sketch>),
    /// With fingerprints of 64 bits, opened for reading only.
    ReadOnly64(ReadOnlyDb<u64>),
    /// With fingerprints of 128 bits, opened for reading only.
    ReadOnly128(ReadOnlyDb<u128>),
    /// With sketches, opened for reading only.
    ReadOnlySketches(ReadOnlyDb<Sketch>),
}

macro_rules! from_handles {
    ($($handle:ty => $kind:ident,)*) => {$(
        impl From<$handle> for Database {
            fn from(db: $handle) -> Self {
                Self::$kind(db)
            }
        }
    )*};
}

from_handles! {
    Db<u64> => Bits64,
    Db<u128> => Bits128,
    Db<Sketch> => Sketches,
    ReadOnlyDb<u64> => ReadOnly64,
    ReadOnlyDb<u128> => ReadOnly128,
    ReadOnlyDb<Sketch> => ReadOnlySketches,
}

/// The database that is served.
#[derive(Debug)]
pub(crate) enum Handle<F: Fingerprint> {
    Writer(Db<F>),
    Reader {
        db: ReadOnlyDb<F>,
        /// Why the state of the writing process cannot be read, if the last attempt failed.
        failure: Mutex<Option<String>>,
    },
}

impl<F: Fingerprint> From<Db<F>> for Handle<F> {
    fn from(db: Db<F>) -> Self {
        Self::Writer(db)
    }
}

impl<F: Fingerprint> From<ReadOnlyDb<F>> for Handle<F> {
    fn from(db: ReadOnlyDb<F>) -> Self {
        Self::Reader { db, failure: Mutex::default() }
    }
}

impl<F: Fingerprint> Handle<F> {
    /// Returns the handle that writes, or the error of commands that need it.
    pub(crate) fn writer(&self) -> Result<&Db<F>> {
        match self {
            Self::Writer(db) => Ok(db),
            Self::Reader { .. } => Err(Failure::new(
                "READONLY",
                "this server only reads the database: send writes to the process that writes it",
            )),
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Reader { .. })
    }

    pub(crate) fn snapshot(&self) -> Snapshot<F> {
        match self {
            Self::Writer(db) => db.snapshot(),
            Self::Reader { db, .. } => db.snapshot(),
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        match self {
            Self::Writer(db) => db.stats(),
            Self::Reader { db, .. } => db.stats(),
        }
    }

    /// Returns the most bytes of free disk space that a compaction takes. A reader has none.
    pub(crate) fn compact_space(&self) -> u64 {
        match self {
            Self::Writer(db) => db.compact_space(),
            Self::Reader { .. } => 0,
        }
    }

    pub(crate) fn description(&self) -> &Description {
        match self {
            Self::Writer(db) => db.description(),
            Self::Reader { db, .. } => db.description(),
        }
    }

    /// Reads what another process has written. Logs the first failure in a row.
    pub(crate) fn refresh(&self) {
        let Self::Reader { db, failure } = self else { return };
        let error = db.refresh().err();
        let mut failure = lock(failure);
        if let (Some(error), None) = (&error, &*failure) {
            events::refresh_failed(error);
        }
        *failure = error.map(|error| error.to_string());
    }

    /// Gives memory back if other programs need it.
    pub(crate) fn fit_memory(&self) {
        match self {
            Self::Writer(db) => db.fit_memory(),
            Self::Reader { db, .. } => db.fit_memory(),
        }
    }

    /// Returns why the database does not do what it is for, if it does not.
    ///
    /// A failure in the background is no such reason, whether space lacks or a segment is damaged:
    /// reads work, and so do writes. If they cannot go on because of it, each says so itself.
    pub(crate) fn failure(&self) -> Option<String> {
        match self {
            Self::Writer(db) => db.stats().write_error,
            Self::Reader { failure, .. } => lock(failure).clone(),
        }
    }
}
