//! Writing a file of documents as a stream.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::encoder::Encoder;
use super::filter::{BLOCK, FilterBuilder, KeyHasher};
use super::inner::TreeBuilder;
use super::keys::common_len;
use super::leaf_builder::LeafBuilder;
use super::locator::LocatorBuilder;
use super::meta::Meta;
use super::symbols::SymbolTable;
use super::{Document, EncodedDocument, MAX_KEY};
use crate::base::error::{Error, Result};
use crate::file::codec::header::FileHeader;
use crate::file::paged::{FileSummary, PAGE, PagedWriter};
use crate::file::scratch::ScratchFiles;
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::fingerprint::Ids;

/// Writes documents in the order of their keys.
///
/// In memory are one leaf, one inner node per level, and with scratch files a few tens of megabytes
/// for sorting. Without scratch files, the inner nodes, and 24 bytes per document.
#[derive(Debug)]
pub(crate) struct DocumentsBuilder<'a> {
    writer: PagedWriter<'a>,
    ids: Ids,
    encoder: Encoder,
    leaf: LeafBuilder,
    /// The encoded leaf.
    encoded: Vec<u8>,
    tree: TreeBuilder<'a>,
    locator: LocatorBuilder<'a>,
    hasher: KeyHasher,
    filter: FilterBuilder<'a>,
    /// The last key.
    last: Vec<u8>,
    /// The bytes of the last fingerprint.
    fingerprint: Vec<u8>,
    meta: Meta,
}

impl<'a> DocumentsBuilder<'a> {
    /// Creates the file, for at most `most` records.
    pub(crate) fn create(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        ids: Ids,
        symbols: SymbolTable,
        most: u64,
        scratch: Option<ScratchFiles<'a>>,
    ) -> Result<Self> {
        let mut writer = PagedWriter::create(storage, name, header)?.with_scratch(scratch);
        let mut encoded = Vec::new();
        symbols.put(&mut encoded);
        writer.write(&encoded)?;
        writer.align(PAGE)?;
        Ok(Self {
            writer,
            ids,
            encoder: Encoder::new(&symbols),
            leaf: LeafBuilder::new(ids, header.bits as usize / 8),
            encoded,
            tree: TreeBuilder::new(scratch),
            locator: LocatorBuilder::new(most, scratch),
            hasher: KeyHasher::of_database(header.database_id),
            filter: FilterBuilder::new(most, scratch),
            last: Vec::new(),
            fingerprint: Vec::new(),
            meta: Meta::default(),
        })
    }

    /// Adds what the segment says about the document with this key; `None` if it was removed. Fails
    /// unless the key is greater than those before and has 1 to 65,535 bytes, and, if users choose
    /// ids, is the document's id.
    pub(crate) fn push<F: Fingerprint>(
        &mut self,
        key: &[u8],
        document: Option<&Document<F>>,
    ) -> Result<()> {
        let mut bytes = std::mem::take(&mut self.fingerprint);
        bytes.clear();
        document.into_iter().for_each(|document| document.fingerprint.write_le(&mut bytes));
        let pushed = self.push_encoded(key, document.map(|document| document.with(&*bytes)));
        self.fingerprint = bytes;
        pushed
    }

    fn push_encoded(&mut self, key: &[u8], document: Option<EncodedDocument<'_>>) -> Result<()> {
        self.check(key, document)?;
        self.filter.push(self.hasher.hash(key))?;
        self.count(document);
        if !self.leaf.is_empty() && self.leaf.push(key, document, &mut self.encoder) {
            self.last.clear();
            self.last.extend_from_slice(key);
            return Ok(());
        }
        self.end_leaf()?;
        let common = common_len(&self.last, key);
        let separator = key.get(..common + 1).unwrap_or(key);
        self.tree.push(separator, self.meta.leaf_pages, &mut self.encoder)?;
        self.leaf.push(key, document, &mut self.encoder);
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// Returns how many documents were added, and how many removed ones.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        (self.meta.live(), self.meta.removals, self.meta.duplicates)
    }

    /// Returns whether it has as many originals as a segment of at most `most` documents can have,
    /// or nearly as many pages of leaves: a leaf may take several.
    pub(crate) fn is_full(&self, most: u64) -> bool {
        let originals = self.meta.live().saturating_sub(self.meta.duplicates);
        originals >= most || self.meta.leaf_pages >= most - most / 64
    }

    fn check(&self, key: &[u8], document: Option<EncodedDocument<'_>>) -> Result<()> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(Error::corruption("a key is empty or too long"));
        }
        if self.meta.records > 0 && key <= &*self.last {
            return Err(Error::corruption("the keys of documents do not ascend: run verify"));
        }
        if self.ids != Ids::Names {
            let id = key.try_into().map(u64::from_be_bytes).ok();
            if id.is_none() || document.is_some_and(|document| Some(document.id.0) != id) {
                return Err(Error::corruption("the key of a document is not its id: run verify"));
            }
        }
        Ok(())
    }

    fn count(&mut self, document: Option<EncodedDocument<'_>>) {
        let meta = &mut self.meta;
        meta.records += 1;
        let Some(document) = document else {
            meta.removals += 1;
            return;
        };
        meta.duplicates += u64::from(document.duplicate_of.is_some());
        meta.stamped += u64::from(document.stamp.is_some());
        meta.greatest_id = meta.greatest_id.max(document.id.0);
    }

    /// Writes the leaf, if there is any.
    fn end_leaf(&mut self) -> Result<()> {
        if self.leaf.is_empty() {
            return Ok(());
        }
        if self.ids == Ids::Names {
            let (page, locator) = (self.meta.leaf_pages, &mut self.locator);
            self.leaf.ids().try_for_each(|id| locator.push(id, page))?;
        }
        self.meta.key_bytes += self.leaf.keys_len() as u64;
        self.leaf.finish(&mut self.encoded);
        self.meta.leaf_pages += (self.encoded.len() / PAGE) as u64;
        self.writer.write(&self.encoded)
    }

    /// Writes the last leaf, the inner nodes, the locator, the filter and the footer. The file's
    /// bytes are durable afterwards.
    pub(crate) fn finish(mut self) -> Result<FileSummary> {
        self.end_leaf()?;
        let Self { mut writer, mut meta, tree, locator, filter, mut encoder, .. } = self;
        let tree = tree.finish(&mut encoder)?;
        (meta.inner_pages, meta.depth, meta.root) = (tree.pages, tree.depth, tree.root);
        tree.nodes.read(|nodes| writer.write(nodes))?;
        if self.ids == Ids::Names {
            meta.chunks = locator.finish(&mut writer, meta.live(), meta.leaf_pages)?;
        }
        writer.align(BLOCK)?;
        meta.filter_blocks = filter.finish(|block| writer.write(block))?;
        writer.finish(&meta.encode())
    }
}
