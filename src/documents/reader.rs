//! Looking up documents.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, OnceLock};

use super::EncodedDocument;
use super::filter::{KeyHash, KeyHasher};
use super::inner::Node;
use super::keys::Damage;
use super::leaf::{Leaf, pages_of};
use super::meta::{Meta, Places};
use super::symbols::SymbolTable;
use crate::base::error::{Error, Result};
use crate::file::codec::header::HEADER_LEN;
use crate::file::paged::{PAGE, Paged, PagedFile};
use crate::fingerprint::DocId;
use crate::fingerprint::Ids;

/// An open file of documents, for fingerprints of any width.
#[derive(Debug)]
pub(crate) struct DocumentFile {
    pub(super) file: PagedFile,
    pub(super) ids: Ids,
    pub(super) meta: Meta,
    pub(super) places: Places,
    pub(super) hasher: KeyHasher,
    /// The symbol table, once it was read.
    symbols: Arc<OnceLock<SymbolTable>>,
    /// Bytes of a fingerprint.
    pub(super) width: usize,
}

impl Paged for DocumentFile {
    fn file(&self) -> &PagedFile {
        &self.file
    }

    fn file_mut(&mut self) -> &mut PagedFile {
        &mut self.file
    }

    fn with_file(&self, file: PagedFile) -> Self {
        let Self { ids, meta, places, hasher, width, .. } = *self;
        Self { file, ids, meta, places, hasher, symbols: self.symbols.clone(), width }
    }
}

impl DocumentFile {
    /// Reads the footer of a file of fingerprints of `width` bytes.
    pub(super) fn from_file(file: PagedFile, ids: Ids, width: usize) -> Result<Self> {
        let (meta, places) = Meta::read(&file, ids).map_err(|e| e.at_path(file.path()))?;
        let hasher = KeyHasher::of_database(file.database_id());
        Ok(Self { file, ids, meta, places, hasher, symbols: Arc::default(), width })
    }

    pub(crate) fn records(&self) -> u64 {
        self.meta.records
    }

    /// Returns the number of records that say that a document was removed.
    pub(crate) fn removals(&self) -> u64 {
        self.meta.removals
    }

    /// Returns the number of records of duplicates.
    pub(crate) fn duplicates(&self) -> u64 {
        self.meta.duplicates
    }

    /// Returns the greatest id of a document in the file.
    pub(crate) fn greatest_id(&self) -> Option<DocId> {
        (self.meta.live() > 0).then_some(DocId(self.meta.greatest_id))
    }

    /// Returns the bytes of the file that hold keys.
    pub(crate) fn names_bytes(&self) -> u64 {
        self.meta.key_bytes
    }

    /// Returns the memory used in addition to pages, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let symbols = self.symbols.get().map_or(0, |_| size_of::<[u64; 512]>());
        self.file.memory() + symbols
    }

    /// Reads what nearly every lookup needs: the checksums of pages, the symbol
    /// table, the inner nodes and the chunks of the locator, and the filter. A lookup by key then
    /// reads one page, and one by id two. Stops early if `goes_on` returns false.
    pub(crate) fn load(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        self.file.load_checksums()?;
        self.file.load(0, PAGE, goes_on)?;
        let Places { inner_at, locator, filter } = self.places;
        self.file.load(inner_at, locator.pages_at.saturating_sub(inner_at), goes_on)?;
        self.file.load(locator.chunks_at, locator.chunks_len(), goes_on)?;
        self.file.load(filter.offset, filter.len(), goes_on)
    }

    /// Returns what the file says about the document with this key. The outer `None`: nothing; the
    /// inner one: it was removed.
    #[inline]
    pub(super) fn get(
        &self,
        key: &[u8],
        hash: KeyHash,
    ) -> Result<Option<Option<EncodedDocument<'_>>>> {
        if self.meta.records == 0 || !self.may_contain(hash)? {
            return Ok(None);
        }
        self.find(key)
    }

    /// Returns false only if the file says nothing about the key with this hash.
    #[inline]
    pub(super) fn may_contain(&self, hash: KeyHash) -> Result<bool> {
        self.places.filter.may_contain(&self.file.body(), hash)
    }

    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Option<EncodedDocument<'_>>>> {
        let symbols = self.symbols()?;
        let page = self.leaf_with(key)?;
        let leaf = self.leaf(page)?;
        let document = || match leaf.keys.search(key, symbols)? {
            (index, true) => leaf.document(index, key).map(Some),
            _ => Ok(None),
        };
        document().map_err(|damage| self.damaged_leaf(page, damage))
    }

    /// Returns the name and the document with this id, in a database with names.
    pub(super) fn by_id(&self, id: DocId) -> Result<Option<(String, EncodedDocument<'_>)>> {
        if self.greatest_id() < Some(id) {
            return Ok(None);
        }
        let Some(page) = self.places.locator.page_of(&self.file, id)? else { return Ok(None) };
        let (leaf, symbols) = (self.leaf(page)?, self.symbols()?);
        let document = || {
            let index = leaf.find_id(id).ok_or("the locator names a leaf without the id")?;
            let key = leaf.keys.get(index, symbols)?;
            let document = leaf.document(index, &key)?.ok_or("the locator names another leaf")?;
            Ok((String::from_utf8(key).map_err(|_| "a name is not valid UTF-8")?, document))
        };
        document().map(Some).map_err(|damage| self.damaged_leaf(page, damage))
    }

    /// Returns the page number of the leaf that has `key`, if any has. There must be a leaf.
    pub(super) fn leaf_with(&self, key: &[u8]) -> Result<u64> {
        let symbols = self.symbols()?;
        let mut page = self.meta.root;
        for _ in 0..self.meta.depth {
            let node = self.node(page)?;
            page = node
                .child_with(key, symbols)
                .map_err(|damage| self.damaged(self.inner_at(page), damage))?;
        }
        Ok(page)
    }

    /// Returns the leaf on a page, counted from the first leaf.
    #[inline]
    pub(super) fn leaf(&self, page: u64) -> Result<Leaf<'_>> {
        let bytes = self.pages(leaf_at(page))?;
        Leaf::read(bytes, self.ids, self.width).map_err(|damage| self.damaged_leaf(page, damage))
    }

    /// Returns the inner node on a page, counted from the first inner node.
    #[inline]
    pub(super) fn node(&self, page: u64) -> Result<Node<'_>> {
        let at = self.inner_at(page);
        Node::read(self.pages(at)?).map_err(|damage| self.damaged(at, damage))
    }

    /// Returns all pages of the leaf or inner node at this offset.
    #[inline]
    fn pages(&self, at: usize) -> Result<&[u8]> {
        let first = self.file.bytes(at, PAGE)?;
        match pages_of(first) {
            Ok(1) => Ok(first),
            Ok(pages) => self.file.bytes(at, pages * PAGE),
            Err(damage) => Err(self.damaged(at, damage)),
        }
    }

    pub(super) fn inner_at(&self, page: u64) -> usize {
        let page = usize::try_from(page).unwrap_or(usize::MAX);
        page.saturating_mul(PAGE).saturating_add(self.places.inner_at)
    }

    /// Returns the symbol table, which is read when it is first needed.
    #[inline]
    pub(super) fn symbols(&self) -> Result<&SymbolTable> {
        match self.symbols.get() {
            Some(symbols) => Ok(symbols),
            None => self.read_symbols(),
        }
    }

    #[cold]
    fn read_symbols(&self) -> Result<&SymbolTable> {
        let bytes = self.file.bytes(HEADER_LEN, PAGE - HEADER_LEN)?;
        let symbols = SymbolTable::read(bytes);
        let symbols =
            symbols.ok_or_else(|| self.damaged(HEADER_LEN, "the symbol table is damaged"))?;
        Ok(self.symbols.get_or_init(|| symbols))
    }

    #[cold]
    pub(super) fn damaged(&self, at: usize, damage: Damage) -> Error {
        self.file.corruption(at, damage)
    }

    #[cold]
    pub(super) fn damaged_leaf(&self, page: u64, damage: Damage) -> Error {
        self.damaged(leaf_at(page), damage)
    }

    /// Returns the keys of up to `most` leaves, to train a symbol table with, for a file that will
    /// have similar keys.
    pub(crate) fn sample(&self, most: u64) -> Result<Vec<Vec<u8>>> {
        let (symbols, pages) = (self.symbols()?, self.meta.leaf_pages);
        let (mut keys, mut key) = (Vec::new(), Vec::new());
        let step = pages.div_ceil(most.max(1)).max(1);
        for page in (0..pages).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            // On a page in the middle of a long leaf, anything may be found.
            let Ok(leaf) = self.leaf(page) else { continue };
            let _ = leaf.keys.for_each(symbols, &mut key, |key| keys.push(key.to_vec()));
        }
        Ok(keys)
    }
}

/// Returns the offset of a leaf, given its page counted from the first leaf.
pub(super) fn leaf_at(page: u64) -> usize {
    let page = usize::try_from(page).unwrap_or(usize::MAX);
    page.saturating_add(1).saturating_mul(PAGE)
}
