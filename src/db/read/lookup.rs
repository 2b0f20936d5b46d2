//! Reading documents: by key, by id, and all of them.

use crate::db::read::snapshot::Snapshot;
use crate::db::state::key::{DocumentKey, Key, expect_documents};
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Document, Fingerprint};
use crate::merge::DocumentMerge;
use crate::query::QueryOptions;
use crate::settings::Ids;

/// What a database with user ids cannot do.
const NO_DOCUMENTS: &str = "finds no documents by their keys";

impl<F: Fingerprint> Snapshot<F> {
    /// Returns what is known about the document with this key. Finds originals and remembered
    /// duplicates. Takes a few microseconds, or one or two reads of the disk per segment that has
    /// the key.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind, and in a database with
    /// [user ids](crate::Ids::User); otherwise the same as [`query`](Self::query).
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// db.insert(7, "https://example.org/")?;
    /// let snapshot = db.snapshot();
    /// assert_eq!(snapshot.get("https://example.org/")?.map(|found| found.fingerprint), Some(7));
    /// assert_eq!(snapshot.get("https://example.com/")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document<F>>> {
        let key = DocumentKey::new(self.settings.ids, key.into(), NO_DOCUMENTS);
        let key = key.map_err(|e| self.at_path(e))?;
        self.read(|view| view.version.document(&key.to_bytes(), view.seq))
    }

    /// Returns the name of a document, in a database with names; `None` if no document has this id.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let id = db.insert(7, "https://example.org/")?;
    /// assert_eq!(db.snapshot().name(id)?.as_deref(), Some("https://example.org/"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        if self.settings.ids != Ids::Names {
            return Ok(None);
        }
        let found = self.read(|view| view.version.document_by_id(id, view.seq))?;
        Ok(found.and_then(|(name, _)| name))
    }

    /// Returns the names of several documents, in the order of `ids`.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// use fpdb::{Db, DocId, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let id = db.insert(7, "https://example.org/")?;
    /// let names = db.snapshot().names(&[DocId(9), id])?;
    /// assert_eq!(names, [None, Some("https://example.org/".to_owned())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self, ids: &[DocId]) -> Result<Vec<Option<String>>> {
        // Ids that were assigned together are often close in the file.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_unstable_by_key(|&at| ids[at]);
        let mut names = vec![None; ids.len()];
        for at in order {
            names[at] = self.name(ids[at])?;
        }
        Ok(names)
    }

    /// Returns an iterator over all documents with their names, in the order of names or, in a
    /// database with unique ids, of ids. It ends after an error.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database with [user ids](crate::Ids::User); otherwise the same as
    /// [`query`](Self::query).
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// db.insert(7, "https://b.example/")?;
    /// db.insert(9, "https://a.example/")?;
    /// let snapshot = db.snapshot();
    /// let names: fpdb::Result<Vec<_>> = snapshot.documents()?.map(|d| Ok(d?.0)).collect();
    /// let expected = ["https://a.example/", "https://b.example/"];
    /// assert_eq!(names?.into_iter().flatten().collect::<Vec<_>>(), expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn documents(&self) -> Result<Documents<'_, F>> {
        self.expect_documents()?;
        let has_names = self.settings.ids == Ids::Names;
        Ok(Documents { merge: Some(self.document_merge()?), has_names })
    }

    pub(crate) fn document_merge(&self) -> Result<DocumentMerge<'_, F>> {
        let files = self.version.segments.iter().filter_map(|segment| segment.documents());
        let recent = self.version.memtables().map(|memtable| memtable.documents(self.seq));
        DocumentMerge::new(files, recent)
    }

    /// Refuses a query since a stamp in a database without stamps.
    pub(crate) fn expect_stamps(&self, options: &QueryOptions) -> Result<()> {
        if options.since.is_some() { self.expect_documents() } else { Ok(()) }
    }

    pub(crate) fn expect_documents(&self) -> Result<()> {
        let checked = expect_documents(self.settings.ids, NO_DOCUMENTS);
        checked.map_err(|e| self.at_path(e))
    }

    pub(crate) fn at_path(&self, error: Error) -> Error {
        match self.version.segments.first() {
            Some(segment) => error.at_path(segment.root()),
            None => error,
        }
    }
}

/// An iterator over the documents of a [`Snapshot`], by key: each with its name, if the database
/// has names.
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
pub struct Documents<'a, F = u64> {
    /// `None` after the last document and after an error.
    merge: Option<DocumentMerge<'a, F>>,
    has_names: bool,
}

impl<F> std::fmt::Debug for Documents<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents").finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Iterator for Documents<'_, F> {
    type Item = Result<(Option<String>, Document<F>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let merge = self.merge.as_mut()?;
        loop {
            match merge.next() {
                Ok(Some((_, None))) => {}
                Ok(Some((key, Some(document)))) => {
                    let name = self.has_names.then(|| String::from_utf8_lossy(key).into_owned());
                    return Some(Ok((name, document)));
                }
                Ok(None) => {
                    self.merge = None;
                    return None;
                }
                Err(error) => {
                    self.merge = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl<F: Fingerprint> std::iter::FusedIterator for Documents<'_, F> {}
