//! The documents of several databases as one sequence, in the order of their keys.

use crate::base::error::Result;
use crate::db::read::reader::Reader;
use crate::fingerprint::{DocId, Document, Fingerprint};
use crate::store::merge::DocumentMerge;

/// A database and its next document.
struct Source<'a, F: Fingerprint> {
    reader: &'a Reader<F>,
    merge: DocumentMerge<'a, F>,
    /// Added to its ids.
    raised: u64,
    next: Option<(Vec<u8>, Document<F>)>,
}

impl<F: Fingerprint> Source<'_, F> {
    fn advance(&mut self) -> Result<()> {
        while let Some((key, document)) = self.merge.next()? {
            if let Some(document) = document {
                self.next = Some((key.to_vec(), document));
                return Ok(());
            }
        }
        self.next = None;
        Ok(())
    }
}

/// Iterates over the documents of several databases, each key once.
/// [`Source::databases`](crate::Source::databases) says what becomes of ids and of equal keys.
pub(crate) struct Union<'a, F: Fingerprint> {
    sources: Vec<Source<'a, F>>,
    has_names: bool,
    next_doc: u64,
    failed: bool,
}

impl<'a, F: Fingerprint> Union<'a, F> {
    pub(crate) fn new(readers: &'a [Reader<F>], has_names: bool) -> Result<Self> {
        let (mut sources, mut next_doc) = (Vec::new(), 0);
        for reader in readers {
            let (merge, raised) = (reader.document_merge(None)?, next_doc);
            let mut source = Source { reader, merge, raised, next: None };
            source.advance()?;
            sources.push(source);
            next_doc += reader.version.active.next_doc();
        }
        Ok(Self { sources, has_names, next_doc, failed: false })
    }

    /// Returns the next id of the new database.
    pub(crate) fn next_doc(&self) -> u64 {
        self.next_doc
    }

    fn step(&mut self) -> Result<Option<(Vec<u8>, Document<F>)>> {
        let keys = self.sources.iter().filter_map(|source| source.next.as_ref());
        let Some(key) = keys.map(|(key, _)| key).min().cloned() else { return Ok(None) };
        let (mut id, mut newest) = (None, None);
        for (at, source) in self.sources.iter_mut().enumerate() {
            let Some((_, document)) = source.next.as_ref().filter(|(next, _)| *next == key) else {
                continue;
            };
            let document = *document;
            let raised = if self.has_names { source.raised } else { 0 };
            id.get_or_insert(DocId(document.id.0 + raised));
            if newest.is_none_or(|(_, there): (usize, Document<F>)| there.stamp <= document.stamp) {
                newest = Some((at, document));
            }
            source.advance()?;
        }
        let (Some(id), Some((at, document))) = (id, newest) else { return Ok(None) };
        let duplicate_of = document.duplicate_of.map(|id| self.new_id(at, id)).transpose()?;
        Ok(Some((key, Document { id, duplicate_of, ..document })))
    }

    /// Returns the new id of a document of source `at`.
    fn new_id(&self, at: usize, id: DocId) -> Result<DocId> {
        let Some(source) = self.sources.get(at).filter(|_| self.has_names) else { return Ok(id) };
        let raised = DocId(id.0 + source.raised);
        let Some(name) = source.reader.name(id)? else { return Ok(raised) };
        for earlier in self.sources.iter().take(at) {
            if let Some(found) = earlier.reader.get(name.as_str().into())? {
                return Ok(DocId(found.id.0 + earlier.raised));
            }
        }
        Ok(raised)
    }
}

impl<F: Fingerprint> Iterator for Union<'_, F> {
    type Item = Result<(Vec<u8>, Document<F>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.step().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}
