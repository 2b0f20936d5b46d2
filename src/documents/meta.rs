//! The footer of a file of documents: counts, and what determines where the parts of the file are.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::column::width_of;
use super::filter::{BLOCK, Filter, MAX_BLOCKS};
use super::locator::{CHUNK_LEN, Locator};
use crate::base::error::Result;
use crate::file::codec::bytes::{Fields, PutFields};
use crate::file::paged::{PAGE, PagedFile};
use crate::fingerprint::Ids;

/// More levels than any tree has.
const MAX_DEPTH: u64 = 64;
/// Limit of every count, so that sums of lengths do not overflow.
const MAX_COUNT: u64 = 1 << 48;

/// The fields of the footer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) records: u64,
    pub(super) removals: u64,
    pub(super) duplicates: u64,
    pub(super) stamped: u64,
    /// 0 if there is no live record.
    pub(super) greatest_id: u64,
    /// Bytes of leaves that hold keys.
    pub(super) key_bytes: u64,
    pub(super) leaf_pages: u64,
    pub(super) inner_pages: u64,
    /// Levels of inner nodes.
    pub(super) depth: u64,
    /// The page number of the topmost inner node, counted from the first one, or of the only leaf.
    pub(super) root: u64,
    /// Chunks of the locator.
    pub(super) chunks: u64,
    pub(super) filter_blocks: u64,
}

/// Where the parts of a file are, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) inner_at: usize,
    pub(super) locator: Locator,
    pub(super) filter: Filter,
}

impl Meta {
    /// Returns the number of records of documents that were not removed.
    pub(super) fn live(&self) -> u64 {
        self.records.saturating_sub(self.removals)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut meta = Vec::new();
        [
            self.records,
            self.removals,
            self.duplicates,
            self.stamped,
            self.greatest_id,
            self.key_bytes,
            self.leaf_pages,
            self.inner_pages,
            self.depth,
            self.root,
            self.chunks,
            self.filter_blocks,
        ]
        .into_iter()
        .for_each(|field| meta.put_u64(field));
        meta
    }

    fn decode(mut fields: Fields<'_>) -> Result<Self> {
        let meta = Self {
            records: fields.u64("record count")?,
            removals: fields.u64("count of removed documents")?,
            duplicates: fields.u64("count of duplicates")?,
            stamped: fields.u64("count of stamps")?,
            greatest_id: fields.u64("greatest id")?,
            key_bytes: fields.u64("bytes of keys")?,
            leaf_pages: fields.u64("pages of leaves")?,
            inner_pages: fields.u64("pages of inner nodes")?,
            depth: fields.u64("levels of inner nodes")?,
            root: fields.u64("page number of the root")?,
            chunks: fields.u64("chunk count")?,
            filter_blocks: fields.u64("blocks of the filter")?,
        };
        Ok(meta)
    }

    /// Reads the footer, and checks that the parts make up the body.
    pub(super) fn read(file: &PagedFile, ids: Ids) -> Result<(Self, Places)> {
        let meta = Self::decode(file.meta())?;
        if !meta.is_consistent(ids) {
            return Err(file.corruption(0, "the counts in the footer are contradictory"));
        }
        let places = meta.places();
        file.expect_body_end(places.map(|places| places.filter.offset + places.filter.len()))?;
        Ok((meta, places.unwrap_or(NOWHERE)))
    }

    fn is_consistent(&self, ids: Ids) -> bool {
        let live = self.live();
        let counts = [self.records, self.leaf_pages, self.inner_pages, self.key_bytes];
        let has_chunks = ids == Ids::Names && live > 0;
        let top = if self.depth == 0 { self.leaf_pages } else { self.inner_pages };
        counts.iter().all(|&count| count < MAX_COUNT)
            && self.removals <= self.records
            && self.duplicates <= live
            && self.stamped <= live
            && (live > 0 || self.greatest_id == 0)
            && (self.leaf_pages > 0) == (self.records > 0)
            && (self.filter_blocks > 0) == (self.records > 0)
            && (self.inner_pages > 0) == (self.depth > 0)
            && self.depth <= MAX_DEPTH
            && (self.root < top || (self.root == 0 && self.records == 0))
            && (self.chunks > 0) == has_chunks
            && self.chunks <= live
            && self.filter_blocks <= MAX_BLOCKS
    }

    /// Returns where the parts are. `None` if that is outside of the address space.
    fn places(&self) -> Option<Places> {
        let size = |count: u64| usize::try_from(count).ok();
        let page = |page: u64| size(page)?.checked_mul(PAGE);
        let inner_at = page(self.leaf_pages + 1)?;
        let pages_at = inner_at.checked_add(page(self.inner_pages)?)?;
        let width = width_of(self.leaf_pages.saturating_sub(1));
        let located = if self.chunks > 0 { self.live() } else { 0 };
        let bytes = located.checked_mul(width.into())?.div_ceil(8);
        let chunks_at = pages_at.checked_add(size(bytes)?)?.checked_next_multiple_of(8)?;
        let chunks = size(self.chunks)?;
        let locator = Locator { pages_at, width, chunks_at, chunks, live: located };
        let offset = chunks_at.checked_add(chunks.checked_mul(CHUNK_LEN)?)?;
        let offset = offset.checked_next_multiple_of(BLOCK)?;
        let filter = Filter { offset, blocks: self.filter_blocks };
        offset.checked_add(filter.len())?;
        Some(Places { inner_at, locator, filter })
    }
}

const NOWHERE: Places = Places {
    inner_at: 0,
    locator: Locator { pages_at: 0, width: 0, chunks_at: 0, chunks: 0, live: 0 },
    filter: Filter { offset: 0, blocks: 0 },
};
