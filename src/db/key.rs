//! What the caller calls a document.

use std::borrow::Cow;

use crate::fingerprint::DocId;

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
    /// For a database with [user ids](crate::Ids::User).
    Id(DocId),
    /// For a database with [names](crate::Ids::Names): 1 to 65,535 bytes.
    Name(&'a str),
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
