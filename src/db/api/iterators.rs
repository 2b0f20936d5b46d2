//! The iterators of a snapshot.

use std::fmt;
use std::iter::FusedIterator;

use crate::base::error::Result;
use crate::db::api::engine::NamedDocuments;
use crate::db::read::reader::Entries;
use crate::fingerprint::{Document, Entry, Fingerprint};

/// An iterator over the entries of a snapshot, by fingerprint and then id, or of sketches by key;
/// see [`Snapshot::iter`](crate::Snapshot::iter).
///
/// # Examples
///
/// ```
/// # let db = fpdb::Db::options().in_memory()?;
/// db.insert(9, 1)?;
/// db.insert(7, 2)?;
/// let snapshot = db.snapshot();
/// let entries: fpdb::Result<Vec<_>> = snapshot.iter().collect();
/// assert_eq!(entries?[0].fingerprint, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Iter<'a, F = u64>(pub(super) Box<Entries<'a, F>>);

impl<F> fmt::Debug for Iter<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Iterator for Iter<'_, F> {
    type Item = Result<Entry<F>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl<F: Fingerprint> FusedIterator for Iter<'_, F> {}

/// An iterator over the documents of a [`Snapshot`](crate::Snapshot), by key: each with its name,
/// if the database has names.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Ids};
/// let db = Db::options().ids(Ids::Unique).in_memory()?;
/// db.insert(0x00ff, 7)?;
/// for document in db.snapshot().documents()? {
///     let (_, document) = document?;
///     assert_eq!((document.id.0, document.fingerprint), (7, 0x00ff));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Documents<'a, F = u64>(pub(super) Box<NamedDocuments<'a, F>>);

impl<F> fmt::Debug for Documents<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Iterator for Documents<'_, F> {
    type Item = Result<(Option<String>, Document<F>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl<F: Fingerprint> FusedIterator for Documents<'_, F> {}
