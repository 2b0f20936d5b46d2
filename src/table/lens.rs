//! Looking many prefixes up in a table, step by step.
//!
//! Each step fetches ahead what the next one reads. It is taken by all look-ups before the next, so
//! that their waits for memory overlap.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use super::filter::{Filter, Question};
use super::reader::Table;
use crate::block::Packed;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::paged::Body;

/// Bytes that processors fetch at a time.
const LINE: usize = 64;

/// Blocks of a range that are fetched ahead.
const FETCHED: usize = 3;

/// A table with what look-ups use of it at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lens<'a, F> {
    table: &'a Table<F>,
    body: Body<'a>,
}

/// A look-up on its way: everything from `low` to `high`.
#[derive(Debug, Clone)]
pub(crate) struct Target<F> {
    pub low: F,
    pub high: F,
    /// Blocks of the range; empty before step 4.
    pub blocks: Range<usize>,
}

impl<'a, F: Fingerprint> Lens<'a, F> {
    #[inline(always)]
    pub(super) fn new(table: &'a Table<F>) -> Self {
        Self { table, body: table.file.body() }
    }

    pub(crate) fn table(&self) -> &'a Table<F> {
        self.table
    }

    /// Step 1: puts a prefix of `depth` bits to the filter; `None` if it cannot say no.
    #[inline(always)]
    pub(crate) fn ask(&self, prefix: F, depth: u32) -> Option<Question> {
        // It tells nothing of prefixes shorter than its own.
        let filter = self.table.filter.as_ref().filter(|filter| filter.depth <= depth)?;
        Some(filter.ask(&self.body, prefix))
    }

    /// Step 2: false if the filter knows that there is nothing.
    #[inline(always)]
    pub(crate) fn may_contain(&self, question: Question) -> Result<bool> {
        Filter::may_contain(&self.body, question)
    }

    /// Step 3: everything that begins with the `depth` leading bits of `prefix`.
    #[inline(always)]
    pub(crate) fn aim(&self, prefix: F, depth: u32) -> Target<F> {
        let mask = F::prefix_mask(depth);
        let (low, high) = (prefix & mask, prefix | !mask);
        self.table.index.prefetch(&self.body, low);
        Target { low, high, blocks: 0..0 }
    }

    /// Step 4: which blocks the range is in.
    #[inline(always)]
    pub(crate) fn find_blocks(&self, target: &mut Target<F>) -> Result<()> {
        target.blocks = self.table.index.blocks(&self.body, target.low, target.high)?;
        if self.table.is_cold() {
            self.table.fetch(target.blocks.clone());
        }
        for block in target.blocks.clone().take(FETCHED) {
            let start = self.table.start_of(block);
            self.body.prefetch(start);
            self.body.prefetch(start.wrapping_add(LINE));
        }
        Ok(())
    }

    /// Step 5: a block whose page has passed its checksum.
    #[inline(always)]
    pub(crate) fn packed(&self, block: usize) -> Result<Packed<'a>> {
        let (start, size) = (self.table.start_of(block), self.table.block_size());
        self.body.check(start, size)?;
        Ok(Packed { bytes: self.body.raw(), start, size, coding: &self.table.coding })
    }
}
