//! Many prefix lookups in one table, in five steps. The filter takes steps 1 and 2. Together, the
//! five are steps 2 to 4 of a query (`query/tables/pipeline.rs`).
//!
//! Each step prefetches what the next step reads. A caller takes all its lookups through one step
//! before the next, so that their waits for memory overlap.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use super::filter::{Filter, FilterChecks, NearFilter};
use super::reader::Table;
use crate::base::cpu::CACHE_LINE;
use crate::base::error::Result;
use crate::file::codec::prefix_hash::HashGroup;
use crate::file::paged::Body;
use crate::fingerprint::Word;
use crate::index::tables::block::Packed;

/// Most blocks of one lookup that are prefetched.
const PREFETCHED_BLOCKS: usize = 3;

/// A table together with its file's body, so that a lookup needs no further indirection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableView<'a, F> {
    table: &'a Table<F>,
    /// For blocks.
    body: Body<'a>,
    /// For the index and the filter: their copy in memory, if there is one.
    copied: Body<'a>,
}

/// A lookup in progress: all fingerprints from `low` to `high`, both inclusive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lookup<F> {
    pub low: F,
    pub high: F,
    /// The start and the end of the blocks that hold the range; equal before step 4.
    blocks: (usize, usize),
}

impl<F: Word> Lookup<F> {
    /// Returns the lookup of all fingerprints that begin with the `depth` leading bits of `prefix`.
    #[inline(always)]
    pub(crate) fn of_prefix(prefix: F, depth: u32) -> Self {
        let mask = F::prefix_mask(depth);
        Self { low: prefix & mask, high: prefix | !mask, blocks: (0, 0) }
    }

    /// Returns the lookup of one fingerprint that is known to be in this block.
    #[inline(always)]
    pub(crate) fn in_block(fingerprint: F, block: usize) -> Self {
        Self { low: fingerprint, high: fingerprint, blocks: (block, block.saturating_add(1)) }
    }

    /// Returns the blocks that are left.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> Range<usize> {
        self.blocks.0..self.blocks.1
    }

    /// Takes the first of the blocks that are left.
    #[inline(always)]
    pub(crate) fn take_block(&mut self) -> Option<usize> {
        let (block, end) = self.blocks;
        (block < end).then(|| {
            self.blocks.0 = block + 1;
            block
        })
    }
}

impl<F: Word> Table<F> {
    /// Returns a view for lookups whose waits for memory are to overlap.
    #[inline(always)]
    pub(crate) fn view(&self) -> TableView<'_, F> {
        TableView { table: self, body: self.file.body(), copied: self.file.copied_body() }
    }
}

impl<'a, F: Word> TableView<'a, F> {
    pub(crate) fn table(&self) -> &'a Table<F> {
        self.table
    }

    /// Returns the filter if it checks exactly the `depth` leading bits. A filter can be ignored.
    #[inline(always)]
    pub(crate) fn filter(&self, depth: u32) -> Option<FilterView<'a>> {
        let filter = self.table.filter.as_ref().filter(|filter| filter.depth == depth)?;
        Some(FilterView { filter, body: self.copied })
    }

    /// Step 3: starts the lookup of all fingerprints that begin with the `depth` leading bits of
    /// `prefix`.
    #[inline(always)]
    pub(crate) fn start_lookup(&self, prefix: F, depth: u32) -> Lookup<F> {
        let lookup = Lookup::of_prefix(prefix, depth);
        self.table.index.prefetch(&self.copied, lookup.low);
        lookup
    }

    /// Step 4: finds the blocks that hold the range.
    #[inline(always)]
    pub(crate) fn find_blocks(&self, lookup: &mut Lookup<F>) -> Result<()> {
        let blocks = self.table.index.blocks(&self.copied, lookup.low, lookup.high)?;
        lookup.blocks = (blocks.start, blocks.end);
        if self.table.is_cold() {
            self.table.fetch(blocks.clone());
        }
        for block in blocks.take(PREFETCHED_BLOCKS) {
            self.prefetch_block(block);
        }
        Ok(())
    }

    /// Prefetches the beginning of a block.
    #[inline(always)]
    pub(crate) fn prefetch_block(&self, block: usize) {
        let start = self.table.start_of(block);
        self.body.prefetch(start);
        self.body.prefetch(start.wrapping_add(CACHE_LINE));
    }

    /// Step 5: returns a block whose page has passed its checksum.
    #[inline(always)]
    pub(crate) fn packed(&self, block: usize) -> Result<Packed<'a>> {
        self.table.packed_in(&self.body, block)
    }
}

/// The prefix filter of a table, with the file's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterView<'a> {
    filter: &'a Filter,
    body: Body<'a>,
}

impl<'a> FilterView<'a> {
    /// Returns the filter as one that is checked in a single step, unless it is too large.
    #[inline(always)]
    pub(crate) fn near(&self) -> Result<Option<NearFilter<'a>>> {
        self.filter.near(&self.body)
    }

    /// Step 1: starts to check up to [`CHECKED_TOGETHER`](super::CHECKED_TOGETHER) prefixes, given
    /// the [hash](crate::file::codec::prefix_hash) of the query's prefix, and of the bits by which
    /// each of the prefixes differs from it.
    #[inline(always)]
    pub(crate) fn start_checks(&self, query: u64, flips: &[HashGroup], checks: &mut FilterChecks) {
        self.filter.start_checks(&self.body, query, flips, checks);
    }

    /// Step 2: returns a bit for each prefix, beginning with the lowest: 0 if the filter rules out
    /// that any fingerprint begins with it.
    #[inline(always)]
    pub(crate) fn passing(&self, checks: &FilterChecks) -> Result<u32> {
        self.filter.passing(&self.body, checks)
    }
}
