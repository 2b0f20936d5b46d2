//! What `upsert_if_novel` can be asked for, and what it answers.

use crate::fingerprint::{DocId, Match};

/// What became of a document that was inserted or updated.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Ids, Outcome};
///
/// let folder = tempfile::tempdir()?;
/// let db = Db::options().ids(Ids::Names).create(folder.path().join("crawl.fpdb"))?;
/// let page = "https://a.example/";
/// assert_eq!(db.upsert_if_novel(0b0000, page)?, Outcome::Inserted(DocId(0)));
/// assert_eq!(db.upsert_if_novel(0b0000, page)?, Outcome::Unchanged);
/// assert_eq!(db.upsert_if_novel(0b0001, page)?, Outcome::Updated { from: 0b0000, distance: 1 });
/// let copy = db.upsert_if_novel(0b0001, "https://b.example/")?;
/// assert!(matches!(copy, Outcome::Duplicate(found) if found.id == DocId(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Outcome<F = u64> {
    /// The key was new. The document is in the database now, under this id.
    Inserted(DocId),
    /// The key existed with this fingerprint.
    Unchanged,
    /// The key existed with another fingerprint, which was replaced.
    Updated {
        /// The fingerprint before.
        from: F,
        /// The number of bits in which it differs from the new one.
        distance: u32,
    },
    /// The nearest other document within the distance. What became of the key's own old version is
    /// the caller's choice: see [`OnDuplicate`].
    Duplicate(Match<F>),
}

/// What becomes of a key whose document turns out to be a duplicate of another one.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Ids, OnDuplicate, Outcome, UpsertOptions};
///
/// let folder = tempfile::tempdir()?;
/// let db = Db::options().ids(Ids::Names).create(folder.path().join("crawl.fpdb"))?;
/// let _ = db.upsert_if_novel(0b0000, "https://a.example/")?;
/// let options = UpsertOptions::new().on_duplicate(OnDuplicate::Remember);
/// let copy = db.upsert_if_novel_with(0b0001, "https://b.example/", &options)?;
/// assert!(matches!(copy, Outcome::Duplicate(_)));
/// // The next crawl knows the copy.
/// assert_eq!(db.get("https://b.example/")?.unwrap().duplicate_of, Some(DocId(0)));
/// let again = db.upsert_if_novel_with(0b0001, "https://b.example/", &options)?;
/// assert_eq!(again, Outcome::Unchanged);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnDuplicate {
    /// The key keeps its old version, if it has one, with the new stamp.
    #[default]
    Keep,
    /// The key's old version is removed.
    Remove,
    /// The key is kept with the new fingerprint and the id of the document that it duplicates. It is
    /// not an original any more: queries do not find it, and it makes no other document a duplicate.
    ///
    /// A remembered duplicate becomes an original when it is written again and no other document is
    /// near any more. The outcome is then `Updated`, with distance 0 if its fingerprint is the same.
    Remember,
}

/// How [`Db::upsert_if_novel_with`](crate::Db::upsert_if_novel_with) decides.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Ids, OnDuplicate, Outcome, UpsertOptions};
///
/// let folder = tempfile::tempdir()?;
/// let db = Db::options().ids(Ids::Names).create(folder.path().join("crawl.fpdb"))?;
/// let _ = db.upsert_if_novel(0b0000, "https://a.example/")?;
/// let strict = UpsertOptions::new().within(0).on_duplicate(OnDuplicate::Remove);
/// let outcome = db.upsert_if_novel_with(0b0001, "https://b.example/", &strict)?;
/// assert!(matches!(outcome, Outcome::Inserted(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct UpsertOptions {
    pub(super) distance: Option<u32>,
    pub(super) on_duplicate: OnDuplicate,
}

impl UpsertOptions {
    /// Returns the defaults: the database's maximum distance, and [`OnDuplicate::Keep`].
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(fpdb::UpsertOptions::new(), fpdb::UpsertOptions::default());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the distance within which another document makes this one a duplicate, inclusive.
    ///
    /// # Examples
    ///
    /// ```
    /// let exact_copies_only = fpdb::UpsertOptions::new().within(0);
    /// # assert_ne!(exact_copies_only, fpdb::UpsertOptions::new());
    /// ```
    pub fn within(self, distance: u32) -> Self {
        Self { distance: Some(distance), ..self }
    }

    /// Sets what becomes of the key of a duplicate.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::{OnDuplicate, UpsertOptions};
    /// let forgetful = UpsertOptions::new().on_duplicate(OnDuplicate::Remove);
    /// # assert_ne!(forgetful, UpsertOptions::new());
    /// ```
    pub fn on_duplicate(self, on_duplicate: OnDuplicate) -> Self {
        Self { on_duplicate, ..self }
    }
}
