//! Walking a table in order, many blocks decoded at a time.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use super::Table;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Bytes of blocks that are decoded at a time: many enough that lanes run side by side, few enough
/// that several cursors' fingerprints stay in the processor's cache.
const BATCH: usize = 16 << 10;

/// Bytes that are announced ahead in a cold file: enough that its reads do not wait for one another,
/// and no more than systems take on at a time.
const AHEAD: usize = 256 << 10;

/// Walks a table in order and knows the place of each fingerprint.
#[derive(Debug)]
pub(crate) struct Cursor<'a, F> {
    table: &'a Table<F>,
    /// The first block that is decoded, and the first behind it that is not.
    first_block: usize,
    next_block: usize,
    /// Blocks since the beginning, and the first that is not announced.
    passed: usize,
    announced: usize,
    /// The fingerprints of the decoded blocks, and where each block ends among them.
    rows: Vec<F>,
    ends: Vec<usize>,
    /// Where it stands among them.
    at: usize,
}

impl<'a, F: Fingerprint> Cursor<'a, F> {
    /// Stands at the first fingerprint that is at least `low`.
    pub(super) fn new(table: &'a Table<F>, low: F) -> Result<Self> {
        let block = table.find_block(low)?;
        let (rows, ends) = (Vec::new(), Vec::new());
        let mut cursor = Self {
            table,
            first_block: block,
            next_block: block,
            passed: 0,
            announced: block,
            rows,
            ends,
            at: 0,
        };
        cursor.decode()?;
        cursor.at = cursor.rows.partition_point(|&row| row < low);
        Ok(cursor)
    }

    /// The fingerprints from here on, as far as they are decoded; none behind the last.
    #[inline]
    pub(crate) fn rows(&self) -> &[F] {
        self.rows.get(self.at..).unwrap_or_default()
    }

    /// The blocks that are decoded.
    pub(crate) fn block_numbers(&self) -> Range<usize> {
        self.first_block..self.next_block
    }

    /// What is in [`rows`](Self::rows), by blocks: each block's number, how many fingerprints it has,
    /// and those of them from here on, its last ones.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (usize, usize, &[F])> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let spans = (self.first_block..).zip(starts.zip(self.ends.iter().copied()));
        spans.filter(|&(_, (_, end))| end > self.at).map(|(block, (start, end))| {
            let rows = self.rows.get(start.max(self.at)..end).unwrap_or_default();
            (block, end.saturating_sub(start), rows)
        })
    }

    /// Passes the next `count` of [`rows`](Self::rows).
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
        self.announce(blocks.len());
        self.ends.clear();
        let mut end = 0usize;
        for block in blocks.clone() {
            end = end.saturating_add(table.block_len(block)?);
            self.ends.push(end);
        }
        self.rows.clear();
        table.decode(blocks, &mut self.rows)?;
        self.check(last)
    }

    /// Announces what comes next when so many blocks more are decoded: the farther ahead, the longer
    /// this goes on, so that short walks read little in vain.
    fn announce(&mut self, blocks: usize) {
        self.passed = self.passed.saturating_add(blocks);
        let ahead = self.passed.min(AHEAD / self.table.block_size());
        if self.announced < self.next_block.saturating_add(ahead / 2) {
            let end = self.next_block.saturating_add(ahead).min(self.table.blocks());
            self.table.announce(self.announced..end);
            self.announced = self.announced.max(end);
        }
    }

    /// Lanes read any bytes as some fingerprints: a builder's ascend, and each block ends with its
    /// key.
    fn check(&self, last: Option<F>) -> Result<()> {
        for (block, &end) in (self.first_block..).zip(&self.ends) {
            let found = end.checked_sub(1).and_then(|last| self.rows.get(last)).copied();
            if found != Some(self.table.key(block)?) {
                let error = Error::corruption("block does not end with its key");
                return Err(self.table.in_block(block, error));
            }
        }
        let follows = last.is_none_or(|last| self.rows.first().is_none_or(|&row| row > last));
        if follows && self.rows.is_sorted_by(|a, b| a < b) {
            return Ok(());
        }
        let error = Error::corruption("fingerprints of these blocks do not ascend");
        Err(self.table.in_block(self.first_block, error))
    }
}

/// Of use to tests: one fingerprint at a time.
#[cfg(test)]
impl<F: Fingerprint> Cursor<'_, F> {
    pub(crate) fn current(&self) -> Option<F> {
        self.rows().first().copied()
    }

    /// The block of the current fingerprint, and its place in it.
    pub(crate) fn place(&self) -> (usize, usize) {
        let begun = self.ends.partition_point(|&end| end <= self.at);
        let start = if begun == 0 { 0 } else { self.ends[begun - 1] };
        (self.first_block + begun, self.at - start)
    }
}
