//! A cursor that reads a table in order and decodes many blocks at a time.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use super::Table;
use crate::base::error::{Error, Result};
use crate::file::paged::Sequential;
use crate::fingerprint::Word;

/// Bytes of blocks that are decoded at a time: enough to decode several blocks side by side, few
/// enough that the fingerprints of several cursors stay in the processor's cache.
const BATCH: usize = 16 << 10;

/// Bytes of a cold file that are prefetched: enough that its reads do not wait for one another, and
/// no more than operating systems read ahead at a time.
const PREFETCH_LEN: usize = 256 << 10;

/// Reads a table in order and knows the place of each fingerprint.
#[derive(Debug)]
pub(crate) struct Cursor<'a, F> {
    table: &'a Table<F>,
    /// What reads the blocks that are not in memory.
    reader: Sequential<'a, Table<F>>,
    /// The first decoded block.
    first_block: usize,
    /// The first block after the decoded ones.
    next_block: usize,
    /// Blocks decoded since the cursor was created.
    passed: usize,
    /// The first block that is not prefetched.
    prefetched: usize,
    /// The fingerprints of the decoded blocks.
    rows: Vec<F>,
    /// For each decoded block, the end of its fingerprints in `rows`.
    ends: Vec<usize>,
    /// The index in `rows` of the next fingerprint.
    at: usize,
}

impl<F: Word> Table<F> {
    /// Returns a cursor at the first fingerprint that is at least `low`.
    pub(crate) fn cursor(&self, low: F) -> Result<Cursor<'_, F>> {
        Cursor::new(self, low)
    }
}

impl<'a, F: Word> Cursor<'a, F> {
    fn new(table: &'a Table<F>, low: F) -> Result<Self> {
        let block = table.blocks_between(low, low)?.start;
        let (rows, ends) = (Vec::new(), Vec::new());
        let mut cursor = Self {
            table,
            reader: Sequential::new(table),
            first_block: block,
            next_block: block,
            passed: 0,
            prefetched: block,
            rows,
            ends,
            at: 0,
        };
        cursor.decode()?;
        // All fingerprints of the first blocks may be lower.
        while cursor.rows().first().is_some_and(|&row| row < low) {
            cursor.skip(cursor.rows().partition_point(|&row| row < low))?;
        }
        Ok(cursor)
    }

    /// Returns the next fingerprints that are decoded; none after the table's last fingerprint.
    #[inline]
    pub(crate) fn rows(&self) -> &[F] {
        self.rows.get(self.at..).unwrap_or_default()
    }

    /// Returns the numbers of the decoded blocks.
    pub(crate) fn block_numbers(&self) -> Range<usize> {
        self.first_block..self.next_block
    }

    /// Returns [`rows`](Self::rows) by block: the block's number, how many fingerprints it has in
    /// all, and those that the cursor has not passed.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (usize, usize, &[F])> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let spans = (self.first_block..).zip(starts.zip(self.ends.iter().copied()));
        spans.filter(|&(_, (_, end))| end > self.at).map(|(block, (start, end))| {
            let rows = self.rows.get(start.max(self.at)..end).unwrap_or_default();
            (block, end.saturating_sub(start), rows)
        })
    }

    /// Skips the next `count` of [`rows`](Self::rows).
    pub(crate) fn skip(&mut self, count: usize) -> Result<()> {
        self.at = self.at.saturating_add(count);
        if self.at >= self.rows.len() { self.decode() } else { Ok(()) }
    }

    fn decode(&mut self) -> Result<()> {
        let table = self.table;
        let last = self.rows.last().copied();
        let end = self.next_block.saturating_add((BATCH / table.block_size()).max(1));
        let blocks = self.next_block..end.min(table.blocks());
        (self.first_block, self.next_block, self.at) = (blocks.start, blocks.end, 0);
        self.prefetch(blocks.len());
        let reader = if table.is_ready(&blocks) { table } else { self.reader.get()? };
        self.rows.clear();
        reader.decode(blocks.clone(), &mut self.rows)?;
        self.ends.clear();
        let mut end = 0usize;
        for block in blocks {
            end = end.saturating_add(reader.block_len(block)?);
            self.ends.push(end);
        }
        self.check(last)
    }

    /// Prefetches blocks ahead of the next `blocks`, which are about to be decoded. The further the
    /// cursor has come, the further ahead it prefetches, so that short reads prefetch few blocks
    /// that they do not need.
    fn prefetch(&mut self, blocks: usize) {
        self.passed = self.passed.saturating_add(blocks);
        let ahead = self.passed.min(PREFETCH_LEN / self.table.block_size());
        if self.prefetched < self.next_block.saturating_add(ahead / 2) {
            let end = self.next_block.saturating_add(ahead).min(self.table.blocks());
            self.table.prefetch(self.prefetched..end);
            self.prefetched = self.prefetched.max(end);
        }
    }

    /// Checks that the decoded fingerprints ascend, also after those decoded before. The decoders
    /// are total: they decode even damaged bytes to some fingerprints.
    fn check(&self, last: Option<F>) -> Result<()> {
        let follows = last.is_none_or(|last| self.rows.first().is_none_or(|&row| row > last));
        if follows && self.rows.is_sorted_by(|a, b| a < b) {
            return Ok(());
        }
        let error =
            Error::corruption("the fingerprints do not ascend in the blocks from this one on");
        Err(self.table.in_block(self.first_block, error))
    }
}

/// For tests: one fingerprint at a time.
#[cfg(test)]
impl<F: Word> Cursor<'_, F> {
    pub(crate) fn current(&self) -> Option<F> {
        self.rows().first().copied()
    }

    /// Returns the block of the current fingerprint and its place in the block.
    pub(crate) fn place(&self) -> (usize, usize) {
        let begun = self.ends.partition_point(|&end| end <= self.at);
        let start = if begun == 0 { 0 } else { self.ends[begun - 1] };
        (self.first_block + begun, self.at - start)
    }
}
