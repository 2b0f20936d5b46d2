//! What became of a document that was written.

use crate::fingerprint::{DocId, Match};

/// What became of a document that was written.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Ids, Outcome};
///
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// let page = "https://a.example/";
/// assert_eq!(db.upsert_if_novel(0b0000, page)?, Outcome::Inserted(DocId(0)));
/// assert_eq!(db.upsert_if_novel(0b0000, page)?, Outcome::Unchanged(DocId(0)));
/// let updated = Outcome::Updated { id: DocId(0), from: 0b0000, distance: 1 };
/// assert_eq!(db.upsert_if_novel(0b0001, page)?, updated);
/// let copy = db.upsert_if_novel(0b0001, "https://b.example/")?;
/// assert!(copy.is_duplicate() && copy.id() == DocId(0));
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[must_use]
pub enum Outcome<F = u64> {
    /// The key was new. The document is in the database now, under this id.
    Inserted(DocId),
    /// The document existed with this fingerprint.
    Unchanged(DocId),
    /// The key was remembered as a duplicate, with this fingerprint, and it still is one: see
    /// [`OnDuplicate::Remember`].
    UnchangedDuplicate {
        /// The document.
        id: DocId,
        /// The nearest other document within the distance.
        of: Match<F>,
    },
    /// The key existed with another fingerprint, which was replaced.
    Updated {
        /// The document.
        id: DocId,
        /// The fingerprint before.
        from: F,
        /// The number of bits in which it differs from the new one.
        distance: u32,
    },
    /// The nearest other document within the distance. The new document was not inserted. What
    /// became of the key's own old version is the caller's choice: see [`OnDuplicate`].
    Duplicate(Match<F>),
    /// The key existed with this fingerprint, and the call was one that only inserts. Nothing was
    /// written. The distance is 0 if the fingerprint is the same, so a program that repeats a call
    /// because it does not know whether it succeeded can tell its own document from another one.
    ///
    /// ```
    /// use fpdb::{Db, DocId, Ids, Match, Outcome};
    ///
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let page = "https://a.example/";
    /// assert_eq!(db.insert_if_novel(0b0000, page)?, Outcome::Inserted(DocId(0)));
    /// let found = Match { distance: 2, fingerprint: 0b0000, id: DocId(0) };
    /// assert_eq!(db.insert_if_novel(0b0011, page)?, Outcome::Exists(found));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    Exists(Match<F>),
}

impl<F> Outcome<F> {
    /// Returns the id of the document or, if it is not in the database, of the one that it
    /// duplicates.
    pub fn id(&self) -> DocId {
        match self {
            Self::Inserted(id)
            | Self::Unchanged(id)
            | Self::UnchangedDuplicate { id, .. }
            | Self::Updated { id, .. } => *id,
            Self::Duplicate(found) | Self::Exists(found) => found.id,
        }
    }

    /// Returns whether another document is within the distance. A document that
    /// [exists](Self::Exists) is not its own duplicate.
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Duplicate(_) | Self::UnchangedDuplicate { .. })
    }
}

/// What becomes of a key whose document turns out to be a duplicate of another one.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Ids, OnDuplicate, Outcome};
///
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// let write = |page| db.write(&[page]).unless_near(3).or_update(OnDuplicate::Remember).run();
/// assert_eq!(write((0b0000, "https://a.example/"))?, [Outcome::Inserted(DocId(0))]);
/// assert!(write((0b0001, "https://b.example/"))?[0].is_duplicate());
/// // The next crawl knows the copy.
/// assert_eq!(db.get("https://b.example/")?.unwrap().duplicate_of, Some(DocId(0)));
/// let again = write((0b0001, "https://b.example/"))?[0];
/// assert!(matches!(again, Outcome::UnchangedDuplicate { id: DocId(1), .. }));
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnDuplicate {
    /// The key keeps its old version, if it has one, with the new stamp if that is greater.
    #[default]
    Keep,
    /// The key's old version is removed.
    Remove,
    /// The key is kept with the new fingerprint and the id of the document that it duplicates. It
    /// is not an original any more: queries do not find it, and it makes no other document a
    /// duplicate.
    ///
    /// A remembered duplicate that is written again with the same fingerprint is
    /// [unchanged](Outcome::UnchangedDuplicate), whatever is chosen then, as long as another
    /// document is near. From then on, it is a duplicate of the nearest one, because the original
    /// that it had may be gone.
    ///
    /// A remembered duplicate becomes an original when it is written again and no other document is
    /// near any more. The outcome is then `Updated`, with distance 0 if its fingerprint is the
    /// same.
    Remember,
}
