//! Merging: the documents of several sources as one sequence, in the order of their keys.
//!
//! Of several records with the same key, the newest one counts.

use crate::base::error::Result;
use crate::documents::{Documents, DocumentsCursor};
use crate::fingerprint::{Document, Fingerprint, Record};
use crate::store::memtable::RecentDocuments;
use crate::store::segment::Replaced;

/// The documents of one source, in the order of their keys.
enum Records<'a, F: Fingerprint> {
    Recent(RecentDocuments<'a, F>),
    Segment(Box<DocumentsCursor<'a, F>>),
}

/// A source and its next record.
struct Source<'a, F: Fingerprint> {
    records: Records<'a, F>,
    key: Vec<u8>,
    document: Option<Document<F>>,
}

impl<F: Fingerprint> Source<'_, F> {
    /// Reads the next record. Returns false at the end.
    fn advance(&mut self) -> Result<bool> {
        match &mut self.records {
            Records::Recent(recent) => {
                let Some(document) = recent.next(&mut self.key) else { return Ok(false) };
                self.document = document;
            }
            Records::Segment(cursor) => {
                let Some((key, document)) = cursor.next()? else { return Ok(false) };
                self.key.clear();
                self.key.extend_from_slice(key);
                self.document = document;
            }
        }
        Ok(true)
    }
}

/// Merges the records of sources.
pub(crate) struct DocumentMerge<'a, F: Fingerprint> {
    /// Those that have records left, oldest first.
    sources: Vec<Source<'a, F>>,
    key: Vec<u8>,
    replaced: Replaced,
}

impl<'a, F: Fingerprint> DocumentMerge<'a, F> {
    /// Begins with the first key. The sources are given from old to new, segments first.
    pub(crate) fn new(
        documents: impl Iterator<Item = &'a Documents<F>>,
        recent: impl Iterator<Item = RecentDocuments<'a, F>>,
    ) -> Result<Self> {
        Self::of_cursors(documents.map(|documents| documents.iter_from(None)), recent)
    }

    /// Does the same with cursors at the first keys.
    pub(crate) fn of_cursors(
        cursors: impl Iterator<Item = DocumentsCursor<'a, F>>,
        recent: impl Iterator<Item = RecentDocuments<'a, F>>,
    ) -> Result<Self> {
        let segments = cursors.map(|cursor| Records::Segment(Box::new(cursor)));
        let recent = recent.map(Records::Recent);
        let mut sources = Vec::new();
        for records in segments.chain(recent) {
            let mut source = Source { records, key: Vec::new(), document: None };
            if source.advance()? {
                sources.push(source);
            }
        }
        Ok(Self { sources, key: Vec::new(), replaced: Replaced::default() })
    }

    /// Returns the next key and what the newest source says about it: the document, or that it was
    /// removed.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_, F>>> {
        let Some(least) = self.sources.iter().map(|source| &source.key).min() else {
            return Ok(None);
        };
        self.key.clear();
        self.key.extend_from_slice(least);
        let (mut document, mut is_newest) = (None, true);
        for at in (0..self.sources.len()).rev() {
            if self.sources[at].key != self.key {
                continue;
            }
            if is_newest {
                document = self.sources[at].document;
            } else {
                let skipped = self.sources[at].document;
                self.replaced.documents += u64::from(skipped.is_some());
                self.replaced.originals += u64::from(skipped.is_some_and(|it| it.is_original()));
            }
            is_newest = false;
            if !self.sources[at].advance()? {
                self.sources.remove(at);
            }
        }
        Ok(Some((&self.key, document)))
    }

    /// Returns the key that was returned last.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns how many documents were skipped so far because a newer source has their key.
    pub(crate) fn replaced(&self) -> Replaced {
        self.replaced
    }
}

impl<F: Fingerprint> std::fmt::Debug for DocumentMerge<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentMerge")
            .field("sources", &self.sources.len())
            .finish_non_exhaustive()
    }
}
