//! Where document ids come from.

use std::fmt;

/// Where document ids come from. Chosen when a database is created, for the entire database.
///
/// A crawler wants `Names` or `Unique`: only they find documents by their keys, keep stamps, update
/// documents and remember duplicates. `User` is the default because of what it costs to keep
/// documents. With four million documents, one of them takes 17 bytes with `User`, 28 with `Unique`
/// and 36 with URLs, an insert takes 5, 7 and 8 us, and the process took at most 119, 227 and 322
/// MB of memory. Only `User` can be bulk loaded.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Ids};
///
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// let id = db.insert(0x00ff, "https://example.org/")?;
/// assert_eq!(db.snapshot().name(id)?.as_deref(), Some("https://example.org/"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Ids {
    /// The caller gives each fingerprint an id. An id may have several fingerprints, and is not
    /// found by itself.
    User,
    /// The caller gives each document an id, which identifies one document: it is found by its id,
    /// and inserting it again updates it. Takes about 12 bytes more per document than `User`.
    Unique,
    /// The caller gives each document a name, for example a URL, which identifies one document: it
    /// is found by its name, and inserting it again updates it. The database assigns ids in commit
    /// order.
    Names,
}

impl Ids {
    /// Returns whether the database keeps documents: what a key says about one of them.
    pub(crate) fn identify_documents(self) -> bool {
        self != Self::User
    }
}

impl fmt::Display for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Unique => "unique",
            Self::Names => "names",
        })
    }
}
