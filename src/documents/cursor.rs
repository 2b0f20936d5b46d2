//! Reading documents in key order.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;

use super::Document;
use super::reader::DocumentFile;
use super::typed::{Documents, decode};
use crate::base::error::{ErrorKind, Result};
use crate::file::paged::Sequential;
use crate::fingerprint::Ids;
use crate::fingerprint::{Fingerprint, Record};

/// The records of one leaf, decoded.
#[derive(Debug, Default)]
pub(super) struct LeafRecords {
    /// All keys, one after another, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// Each has, in place of its fingerprint, the place where the bytes of the fingerprint begin.
    documents: Vec<Option<Document<usize>>>,
    fingerprints: Vec<u8>,
    /// Bytes of a fingerprint.
    width: usize,
    /// Pages of the leaf.
    pub(super) pages: u64,
    /// Bytes that hold keys.
    pub(super) keys_len: usize,
    key: Vec<u8>,
}

impl LeafRecords {
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<Record<'_, &[u8]>> {
        let document = self.documents.get(index)?.and_then(|document| {
            let at = document.fingerprint;
            Some(document.with(self.fingerprints.get(at..at + self.width)?))
        });
        let start = index.checked_sub(1).map_or(Some(0), |last| self.ends.get(last).copied())?;
        Some((self.keys.get(start..*self.ends.get(index)?)?, document))
    }

    /// Replaces the records with the records of another leaf.
    pub(super) fn read(&mut self, documents: &DocumentFile, page: u64) -> Result<()> {
        let Self { keys, ends, documents: decoded, fingerprints, width, pages, keys_len, key } =
            self;
        *width = documents.width;
        keys.clear();
        ends.clear();
        decoded.clear();
        fingerprints.clear();
        let (symbols, leaf) = (documents.symbols()?, documents.leaf(page)?);
        let mut read = || {
            let suffixes = leaf.keys.for_each(symbols, key, |key| {
                keys.extend_from_slice(key);
                ends.push(keys.len());
            })?;
            *keys_len = leaf.keys_len(suffixes);
            let mut start = 0;
            for (index, &end) in ends.iter().enumerate() {
                let key = keys.get(start..end).unwrap_or_default();
                let document = leaf.document(index, key)?;
                let is_named = documents.ids == Ids::Names && document.is_some();
                if is_named && std::str::from_utf8(key).is_err() {
                    return Err("a name is not valid UTF-8");
                }
                decoded.push(document.map(|document| {
                    let at = fingerprints.len();
                    fingerprints.extend_from_slice(document.fingerprint);
                    document.with(at)
                }));
                start = end;
            }
            Ok(())
        };
        *pages = leaf.pages as u64;
        read().map_err(|damage| documents.damaged_leaf(page, damage))
    }
}

/// Goes through records in key order.
#[derive(Debug)]
pub(crate) struct DocumentsCursor<'a, F> {
    records: Records<'a>,
    width: PhantomData<F>,
}

/// Does the same, whatever the width.
#[derive(Debug)]
struct Records<'a> {
    shared: &'a DocumentFile,
    reader: Sequential<'a, DocumentFile>,
    /// The key to begin after, until the first leaf is read.
    after: Option<Vec<u8>>,
    leaf: LeafRecords,
    /// The place of the next record in the leaf.
    next: usize,
    /// The page of the next leaf.
    page: u64,
    /// The number of pages of leaves; 0 after an error.
    end: u64,
    /// The last key of the leaf before.
    last: Vec<u8>,
    /// Whether to go on after a damaged leaf.
    skips_damage: bool,
}

impl<F: Fingerprint> Documents<F> {
    /// Returns the records whose keys are greater than `after`, or all of them.
    pub(crate) fn iter_from(&self, after: Option<&[u8]>) -> DocumentsCursor<'_, F> {
        DocumentsCursor { records: Records::new(self, after, false), width: PhantomData }
    }

    /// Returns all records that can be read.
    pub(crate) fn iter_readable(&self) -> DocumentsCursor<'_, F> {
        DocumentsCursor { records: Records::new(self, None, true), width: PhantomData }
    }
}

impl<F: Fingerprint> DocumentsCursor<'_, F> {
    /// Returns the next record: its key, and the document unless it was removed. `None` at the end,
    /// and after an error.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_, F>>> {
        let record = self.records.next()?;
        Ok(record.map(|(key, document)| (key, document.map(decode))))
    }
}

impl<'a> Records<'a> {
    fn new(shared: &'a DocumentFile, after: Option<&[u8]>, skips_damage: bool) -> Self {
        Self {
            shared,
            reader: Sequential::new(shared),
            after: after.map(<[u8]>::to_vec),
            leaf: LeafRecords::default(),
            next: 0,
            page: 0,
            end: shared.meta.leaf_pages,
            last: Vec::new(),
            skips_damage,
        }
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Record<'_, &[u8]>>> {
        while self.next >= self.leaf.len() {
            if self.page >= self.end {
                return Ok(None);
            }
            if let Err(error) = self.advance() {
                self.leaf = LeafRecords::default();
                if self.skips_damage && error.kind() == ErrorKind::Corruption {
                    self.page += 1;
                    continue;
                }
                self.end = 0;
                return Err(error);
            }
        }
        self.next += 1;
        Ok(self.leaf.get(self.next - 1))
    }

    /// Reads the next leaf. If there is a key to begin after, the first leaf is the one that has
    /// this key or would have it.
    fn advance(&mut self) -> Result<()> {
        let Some(after) = self.after.take() else { return self.read_leaf() };
        self.page = self.shared.leaf_with(&after)?;
        self.read_leaf()?;
        let leaf = &self.leaf;
        let is_before = |&index: &usize| leaf.get(index).is_some_and(|(key, _)| key <= &*after);
        self.next = (0..leaf.len()).take_while(is_before).count();
        Ok(())
    }

    fn read_leaf(&mut self) -> Result<()> {
        if let Some((key, _)) = self.leaf.len().checked_sub(1).and_then(|i| self.leaf.get(i)) {
            self.last.clear();
            self.last.extend_from_slice(key);
        }
        let documents = self.reader.get()?;
        self.leaf.read(documents, self.page)?;
        if self.leaf.get(0).is_none_or(|(key, _)| key <= &*self.last) {
            return Err(documents.damaged_leaf(self.page, "a leaf does not follow the one before"));
        }
        if self.skips_damage {
            self.check_keys()?;
        }
        self.page += self.leaf.pages;
        self.next = 0;
        Ok(())
    }

    /// Checks that the keys of the leaf are in the filter. After a damaged leaf, this may be a
    /// later page of a leaf, whose bytes only look like one.
    fn check_keys(&mut self) -> Result<()> {
        // Not the reader in order: the filter is read at random places.
        let documents = self.shared;
        for (key, _) in (0..self.leaf.len()).filter_map(|index| self.leaf.get(index)) {
            // The filter may be damaged, too.
            if matches!(documents.may_contain(documents.hasher.hash(key)), Ok(false)) {
                return Err(documents.damaged_leaf(self.page, "a key is missing in the filter"));
            }
        }
        Ok(())
    }
}
