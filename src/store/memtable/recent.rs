//! The documents of a memtable, by key.

use super::Memtable;
use crate::documents::SymbolTable;
use crate::fingerprint::{Document, Fingerprint};

/// The documents that a reader sees changed, in the order of their keys. It holds only their
/// numbers, and reads one document at a time.
#[derive(Debug)]
pub(crate) struct RecentDocuments<'a, F: Fingerprint> {
    memtable: &'a Memtable<F>,
    /// How many commits the reader sees.
    commits: u32,
    numbers: Vec<u32>,
    /// How many of them were read.
    read: usize,
}

impl<F: Fingerprint> Memtable<F> {
    /// Returns the documents with keys after `after` that a commit up to `seq` changed, by key.
    pub(crate) fn documents(&self, seq: u64, after: Option<&[u8]>) -> RecentDocuments<'_, F> {
        let inner = self.read();
        let commits = inner.commits_until(seq);
        let numbers = inner.documents.sorted(commits, after);
        RecentDocuments { memtable: self, commits, numbers, read: 0 }
    }
}

impl<F: Fingerprint> RecentDocuments<'_, F> {
    /// Returns the number of documents, those that were read included.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Reads the next document: its key into `key`, and what it is, or `None` if it was removed.
    pub(crate) fn next(&mut self, key: &mut Vec<u8>) -> Option<Option<Document<F>>> {
        let &number = self.numbers.get(self.read)?;
        self.read += 1;
        let documents = &self.memtable.read().documents;
        key.clear();
        key.extend_from_slice(&documents.key(number));
        // The reader sees a change of each of these documents, and no change is ever forgotten.
        let document = documents.get(number, self.commits);
        debug_assert!(document.is_some(), "a change of document {number} is gone");
        Some(document?.1)
    }

    /// Chooses symbols for the keys.
    pub(crate) fn symbols(&self) -> SymbolTable {
        let documents = &self.memtable.read().documents;
        SymbolTable::train_sorted(self.len(), |place| documents.key(self.numbers[place]))
    }

    /// Returns how many of the documents older sources have, and how many are originals there.
    pub(crate) fn replaced(&self) -> (u64, u64) {
        self.memtable.read().documents.replaced(&self.numbers)
    }
}
