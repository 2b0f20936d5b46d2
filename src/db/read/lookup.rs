//! Reading documents: by key, by id, and all of them.

use crate::base::error::{Error, Result};
use crate::db::read::reader::Reader;
use crate::db::state::key::{DocumentKey, Key, expect_documents};
use crate::fingerprint::Ids;
use crate::fingerprint::{DocId, Document, Fingerprint};
use crate::query::QueryOptions;
use crate::store::merge::DocumentMerge;

/// What a database with user ids cannot do.
const NO_DOCUMENTS: &str = "finds no documents by their keys";

/// A document, with its name if it has one.
pub(crate) type NamedDocument<F> = (Option<String>, Document<F>);

impl<F: Fingerprint> Reader<F> {
    /// Returns what is known about the document with this key. Finds originals and remembered
    /// duplicates. Takes a few microseconds, or one or two reads of the disk per segment that has
    /// the key.
    pub(crate) fn get(&self, key: Key<'_>) -> Result<Option<Document<F>>> {
        let key = self.document_key(key)?;
        self.read(|view| view.version.document(&key.to_bytes(), view.seq))
    }

    fn document_key<'k>(&self, key: Key<'k>) -> Result<DocumentKey<'k>> {
        let key = DocumentKey::new(self.settings.ids, key, NO_DOCUMENTS);
        key.map_err(|e| self.at_path(e))
    }

    /// Returns the name of a document, in a database with names; `None` if no document has this id.
    pub(crate) fn name(&self, id: DocId) -> Result<Option<String>> {
        if self.settings.ids != Ids::Names {
            return Ok(None);
        }
        let found = self.read(|view| view.version.document_by_id(id, view.seq))?;
        Ok(found.and_then(|(name, _)| name))
    }

    /// Returns the names of several documents, in the order of `ids`.
    pub(crate) fn names(&self, ids: &[DocId]) -> Result<Vec<Option<String>>> {
        // Ids that were assigned together are often close in the file.
        let mut order: Vec<(u64, usize)> = ids.iter().map(|id| id.0).zip(0..).collect();
        order.sort_unstable();
        let mut names = vec![None; ids.len()];
        for (id, at) in order {
            names[at] = self.name(DocId(id))?;
        }
        Ok(names)
    }

    /// Returns the id that the next new name gets, in a database with names.
    pub(crate) fn next_id(&self) -> Option<DocId> {
        (self.settings.ids == Ids::Names).then(|| DocId(self.version.active.next_doc()))
    }

    /// Returns an iterator over the documents with their names, in the order of names or, in a
    /// database with unique ids, of ids: those with a greater key than `after`, or all of them. It
    /// ends after an error.
    pub(crate) fn documents(
        &self,
        after: Option<Key<'_>>,
    ) -> Result<impl Iterator<Item = Result<NamedDocument<F>>> + Send + use<'_, F>> {
        self.expect_documents()?;
        let has_names = self.settings.ids == Ids::Names;
        let after = after.map(|key| self.document_key(key)).transpose()?;
        let after = after.map(DocumentKey::to_bytes);
        let mut merge = Some(self.document_merge(after.as_deref())?);
        Ok(std::iter::from_fn(move || {
            loop {
                match merge.as_mut()?.next() {
                    Ok(Some((_, None))) => {}
                    Ok(Some((key, Some(document)))) => {
                        let name = has_names.then(|| String::from_utf8_lossy(key).into_owned());
                        return Some(Ok((name, document)));
                    }
                    Ok(None) => merge = None,
                    Err(error) => {
                        merge = None;
                        return Some(Err(error));
                    }
                }
            }
        }))
    }

    pub(crate) fn document_merge(&self, after: Option<&[u8]>) -> Result<DocumentMerge<'_, F>> {
        let files = self.version.segments.iter().filter_map(|segment| segment.documents());
        let recent = self.version.memtables().map(|memtable| memtable.documents(self.seq, after));
        DocumentMerge::of_cursors(files.map(|documents| documents.iter_from(after)), recent)
    }

    /// Refuses a query since a stamp in a database without stamps.
    pub(crate) fn expect_stamps(&self, options: QueryOptions) -> Result<()> {
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
