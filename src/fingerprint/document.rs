//! Documents, entries and matches.

use std::fmt::{self, Display};
use std::num::ParseIntError;
use std::str::FromStr;

use super::Fingerprint;

/// The id of a document. In a database with user ids the caller chooses it. In a database with
/// names the database assigns ids, without gaps, in commit order.
///
/// # Examples
///
/// ```
/// use fpdb::DocId;
///
/// let id = DocId::from(7);
/// assert_eq!((u64::from(id), id.to_string()), (7, "7".to_owned()));
/// assert_eq!("7".parse(), Ok(id));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DocId(pub u64);

impl Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

impl From<u64> for DocId {
    fn from(id: u64) -> Self {
        Self(id)
    }
}

impl From<DocId> for u64 {
    fn from(DocId(id): DocId) -> Self {
        id
    }
}

/// Parses the decimal number that an id is displayed as.
impl FromStr for DocId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> std::result::Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

/// A fingerprint and the document that has it. Ordered by fingerprint, then id.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Entry};
///
/// let db = Db::options().in_memory()?;
/// let report = db.bulk_load([Ok(Entry { fingerprint: 0x00ff, id: DocId(1) })])?;
/// assert_eq!(report.inserted, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Entry<F = u64> {
    /// The document's fingerprint.
    pub fingerprint: F,
    /// The document.
    pub id: DocId,
}

impl<F: Fingerprint> Entry<F> {
    /// Returns the entry as tables hold it; `None` for one of a sketch.
    pub(crate) fn word(self) -> Option<Entry<F::Word>> {
        Some(Entry { fingerprint: self.fingerprint.word()?, id: self.id })
    }

    /// Returns the entry that a table holds.
    pub(crate) fn of_word(Entry { fingerprint, id }: Entry<F::Word>) -> Self {
        Self { fingerprint: F::of_word(fingerprint), id }
    }
}

/// An entry within the distance of a query. Ordered by distance, then fingerprint, then id.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Match};
///
/// let db = Db::options().in_memory()?;
/// db.insert(0b0111, 1)?;
/// let matches = db.query(0b0100, 3)?;
/// assert_eq!(matches, [Match { distance: 2, fingerprint: 0b0111, id: DocId(1) }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Match<F = u64> {
    /// Number of bits in which the entry's fingerprint differs from the query's.
    pub distance: u32,
    /// The entry's fingerprint.
    pub fingerprint: F,
    /// The entry's document.
    pub id: DocId,
}

/// What a database knows about a document.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Ids, Stamped};
///
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// db.insert(0x00ff, Stamped::new("https://a.example/", 2026))?;
/// let found = db.get("https://a.example/")?.expect("it was just inserted");
/// assert_eq!((found.fingerprint, found.id, found.stamp), (0x00ff, DocId(0), Some(2026)));
/// assert_eq!(found.duplicate_of, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Document<F = u64> {
    /// Its fingerprint.
    pub fingerprint: F,
    /// Its id.
    pub id: DocId,
    /// The greatest stamp that the caller gave, for instance the time of the last visit.
    pub stamp: Option<u64>,
    /// The document that this one was a duplicate of when it was last written. `None` for an
    /// original. Queries find originals only.
    pub duplicate_of: Option<DocId>,
}

impl<F> Document<F> {
    /// Makes an original without a stamp, for
    /// [`Source::documents`](crate::Source::documents).
    ///
    /// ```
    /// use fpdb::{DocId, Document};
    /// let mut document = Document::new(0x00ffu64, DocId(7));
    /// document.stamp = Some(2026);
    /// assert_eq!((document.fingerprint, document.duplicate_of), (0x00ff, None));
    /// ```
    #[must_use]
    pub fn new(fingerprint: F, id: DocId) -> Self {
        Self { fingerprint, id, stamp: None, duplicate_of: None }
    }
}

impl<F> Match<F> {
    /// Returns the entry that was found.
    pub(crate) fn entry(&self) -> Entry<F>
    where
        F: Copy,
    {
        Entry { fingerprint: self.fingerprint, id: self.id }
    }
}

/// A key and the document that it has, or `None` if it was removed.
pub(crate) type Record<'a, F> = (&'a [u8], Option<Document<F>>);

impl<F> Document<F> {
    /// Returns the same document with another fingerprint, or another form of it.
    pub(crate) fn with<G>(&self, fingerprint: G) -> Document<G> {
        let Self { id, stamp, duplicate_of, .. } = *self;
        Document { fingerprint, id, stamp, duplicate_of }
    }

    /// Returns whether it is no duplicate.
    pub(crate) fn is_original(&self) -> bool {
        self.duplicate_of.is_none()
    }

    /// Returns the entry that the document has in the tables, if it is an original.
    pub(crate) fn entry(self) -> Option<Entry<F>> {
        let Self { fingerprint, id, .. } = self;
        self.duplicate_of.is_none().then_some(Entry { fingerprint, id })
    }
}
