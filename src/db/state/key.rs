//! What the caller calls a document, and when it was seen.

use std::borrow::Cow;

use crate::base::error::{Error, Result};
use crate::fingerprint::DocId;
use crate::fingerprint::Ids;
use crate::store::log::{KeyBytes, MAX_NAME_LEN, document_key};

/// A document's number or name. Which of the two a database uses is chosen when it is created: see
/// [`Options::ids`](crate::Options::ids).
///
/// Numbers and strings convert into keys, so most calls need not name this type. References to them
/// convert as well, so that a slice of owned names can be inserted.
///
/// # Examples
///
/// ```
/// use fpdb::{DocId, Key};
/// assert_eq!(Key::from(7), Key::Id(DocId(7)));
/// assert_eq!(Key::from("https://example.org/"), Key::Name("https://example.org/"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key<'a> {
    /// For a database with [user ids](crate::Ids::User) or [unique ids](crate::Ids::Unique).
    Id(DocId),
    /// For a database with [names](crate::Ids::Names): 1 to 65,535 bytes.
    Name(&'a str),
}

impl Key<'_> {
    /// The most bytes of a name.
    ///
    /// ```
    /// use fpdb::{Db, Ids, Key};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let longest = "x".repeat(Key::MAX_NAME_LEN);
    /// db.insert(7, &longest)?;
    /// assert!(db.insert(7, &(longest + "x")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const MAX_NAME_LEN: usize = MAX_NAME_LEN;
}

impl From<DocId> for Key<'_> {
    fn from(id: DocId) -> Self {
        Self::Id(id)
    }
}

impl From<&DocId> for Key<'_> {
    fn from(id: &DocId) -> Self {
        Self::Id(*id)
    }
}

impl From<u64> for Key<'_> {
    fn from(id: u64) -> Self {
        Self::Id(DocId(id))
    }
}

impl From<&u64> for Key<'_> {
    fn from(id: &u64) -> Self {
        Self::Id(DocId(*id))
    }
}

impl<'a> From<&'a str> for Key<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&&'a str> for Key<'a> {
    fn from(name: &&'a str) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a String> for Key<'a> {
    fn from(name: &'a String) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a Cow<'_, str>> for Key<'a> {
    fn from(name: &'a Cow<'_, str>) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&Key<'a>> for Key<'a> {
    fn from(key: &Key<'a>) -> Self {
        *key
    }
}

/// A key with a stamp: a number of the caller's that says when the document was seen, for instance
/// the time in seconds or the number of a crawl. [`Db::expire`](crate::Db::expire) removes
/// documents with old stamps, and [`QueryOptions::since`](crate::QueryOptions::since) ignores them.
///
/// A document has the greatest stamp that it was written or [touched](crate::Db::touch) with, so it
/// was seen at that time, even if a clock steps back or two crawlers write in another order. To
/// lower a stamp, remove the document and write it again.
///
/// Everything that converts into a [`Key`] converts into a `Stamped` without a stamp.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Ids, Stamped};
///
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// db.insert(0x00ff, Stamped::new("https://a.example/", 20_261_122))?;
/// db.insert(0x0ff0, "https://b.example/")?;
/// assert_eq!(db.get("https://a.example/")?.unwrap().stamp, Some(20_261_122));
/// assert_eq!(db.get("https://b.example/")?.unwrap().stamp, None);
///
/// db.insert(0x00fe, Stamped::new("https://a.example/", 20_261_121))?;
/// assert_eq!(db.get("https://a.example/")?.unwrap().stamp, Some(20_261_122));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamped<'a> {
    /// The document.
    pub key: Key<'a>,
    /// Its stamp. A document that exists keeps its own, unless this one is greater.
    pub stamp: Option<u64>,
}

impl<'a> Stamped<'a> {
    /// Makes a key with a stamp.
    pub fn new(key: impl Into<Key<'a>>, stamp: u64) -> Self {
        Self { key: key.into(), stamp: Some(stamp) }
    }
}

impl<'a, K: Into<Key<'a>>> From<K> for Stamped<'a> {
    fn from(key: K) -> Self {
        Self { key: key.into(), stamp: None }
    }
}

impl<'a> From<&Stamped<'a>> for Stamped<'a> {
    fn from(stamped: &Stamped<'a>) -> Self {
        *stamped
    }
}

/// A key that identifies a document of the database, because it fits the database's kind of ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentKey<'a>(Key<'a>);

impl<'a> DocumentKey<'a> {
    /// Checks a key. `what` completes "a database with user ids" in the error that it causes there.
    pub(crate) fn new(ids: Ids, key: Key<'a>, what: &str) -> Result<Self> {
        expect_documents(ids, what)?;
        check(ids, key).map(|()| Self(key))
    }

    /// Takes a key that comes from the database.
    pub(crate) fn of_stored(key: Key<'a>) -> Self {
        Self(key)
    }

    /// Returns the bytes by which documents are sorted and found.
    pub(crate) fn to_bytes(self) -> KeyBytes<'a> {
        match self.0 {
            Key::Name(name) => document_key(Some(name), DocId(0)),
            Key::Id(id) => document_key(None, id),
        }
    }

    /// Returns the name, in a database with names.
    pub(crate) fn name(self) -> Option<&'a str> {
        match self.0 {
            Key::Name(name) => Some(name),
            Key::Id(_) => None,
        }
    }

    /// Returns the id of a new document: the caller's, or the next one of a database with names.
    pub(crate) fn id(self, next_doc: u64) -> DocId {
        match self.0 {
            Key::Name(_) => DocId(next_doc),
            Key::Id(id) => id,
        }
    }
}

/// A key that outlives the call that gave it.
pub(crate) enum OwnedKey {
    Id(DocId),
    Name(Box<str>),
}

impl OwnedKey {
    pub(crate) fn as_key(&self) -> Key<'_> {
        match self {
            Self::Id(id) => Key::Id(*id),
            Self::Name(name) => Key::Name(name),
        }
    }
}

impl From<Key<'_>> for OwnedKey {
    fn from(key: Key<'_>) -> Self {
        match key {
            Key::Id(id) => Self::Id(id),
            Key::Name(name) => Self::Name(name.into()),
        }
    }
}

/// Returns the id of an entry in a database with user ids.
pub(crate) fn entry_id(key: Key<'_>) -> Result<DocId> {
    match key {
        Key::Id(id) => Ok(id),
        Key::Name(_) => Err(wrong_kind(Ids::User)),
    }
}

/// Refuses a key of the wrong kind or length.
fn check(ids: Ids, key: Key<'_>) -> Result<()> {
    match (ids, key) {
        (Ids::User | Ids::Unique, Key::Id(_)) => Ok(()),
        (Ids::Names, Key::Name(name)) if (1..=MAX_NAME_LEN).contains(&name.len()) => Ok(()),
        (Ids::Names, Key::Name(name)) => Err(Error::invalid(format!(
            "a name must have 1 to {MAX_NAME_LEN} bytes, and this one has {}",
            name.len()
        ))),
        _ => Err(wrong_kind(ids)),
    }
}

fn wrong_kind(ids: Ids) -> Error {
    Error::invalid(match ids {
        Ids::User | Ids::Unique => {
            "the caller chooses the ids in this database, which has user ids or unique ids: give an id \
             instead of a name"
        }
        Ids::Names => "this database assigns ids itself: give a name instead of an id",
    })
}

/// Refuses a database whose ids do not identify documents.
pub(crate) fn expect_documents(ids: Ids, what: &str) -> Result<()> {
    if ids.identify_documents() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a database with user ids {what}: create it with unique ids or with names"
    )))
}
