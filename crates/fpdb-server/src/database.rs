//! A database of either width.

use fpdb::Db;

/// An open database of either width. Both convert into it, so
/// [`Server::serve`](crate::Server::serve) takes a [`Db`] as it is.
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
}

impl From<Db<u64>> for Database {
    fn from(db: Db<u64>) -> Self {
        Self::Bits64(db)
    }
}

impl From<Db<u128>> for Database {
    fn from(db: Db<u128>) -> Self {
        Self::Bits128(db)
    }
}
