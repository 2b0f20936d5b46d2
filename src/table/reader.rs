//! Reading a table: find the block by its key, decode it, stop early.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use super::cursor::Cursor;
use super::filter::Filter;
use super::index::Index;
use super::lens::Lens;
use crate::block::{self, Coding, Packed};
use crate::codec::block_code::BlockCode;
use crate::codec::header::FileHeader;
use crate::cpu;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::paged::{FileSummary, PagedFile};
use crate::storage::Storage;

/// Blocks that are decoded before they are visited: what they hold fits the second-level cache.
const SCANNED: usize = 64;

/// Bytes behind a block that a decoder may load with its last bits.
const BEHIND: usize = 16;

/// An open table.
#[derive(Debug)]
pub(crate) struct Table<F> {
    pub(super) file: PagedFile,
    pub(super) coding: Coding,
    block_size: usize,
    count: u64,
    pub(super) index: Index<F>,
    pub(super) filter: Option<Filter>,
}

impl<F: Fingerprint> Table<F> {
    /// Opens the file; reads its header and footer only.
    pub(crate) fn open(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        len: u64,
    ) -> Result<Self> {
        let file = PagedFile::open(storage, name, header, len)?;
        let path = file.path().to_owned();
        Self::from_file(file).map_err(|e| e.at_path(path))
    }

    fn from_file(file: PagedFile) -> Result<Self> {
        let mut meta = file.meta();
        let count = meta.u64("fingerprint count")?;
        let blocks = usize::try_from(meta.u64("block count")?).unwrap_or(usize::MAX);
        let block_size = meta.u32("block size")? as usize;
        let depth = meta.u32("filter depth")?;
        let offset = usize::try_from(meta.u64("filter offset")?).unwrap_or(usize::MAX);
        let words = meta.u64("filter words")?;
        let coding = Coding::read(F::BITS, &mut meta)?;
        let size_allowed = block_size.is_power_of_two()
            && (block::MIN_SIZE..=block::MAX_SIZE).contains(&block_size);
        let counts_agree = count >= blocks as u64 && (count == 0) == (blocks == 0);
        if !size_allowed || !counts_agree || depth > 64 || (words > 0 && depth == 0) {
            return Err(meta.corruption("table footer has impossible values"));
        }
        meta.finish("table footer")?;
        let filter = (words > 0).then_some(Filter { depth, offset, words });
        let parts = parts_of(blocks, block_size, words);
        let Some((index, ..)) = parts.filter(|&(_, filter, _)| filter == offset) else {
            return Err(file.corruption(0, "the table's parts are not where its footer says"));
        };
        file.expect_body_end(parts.map(|(.., end)| end))?;
        let filter_len = usize::try_from(words).unwrap_or(usize::MAX).saturating_mul(8);
        file.keep(index.start(), index.len().saturating_add(filter_len))?;
        Ok(Self { file, coding, block_size, count, index, filter })
    }

    /// Number of fingerprints.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.index.count()
    }

    /// Bytes that should be in memory for fast answers: index, filter, and what marks checked pages.
    pub(crate) fn index_memory(&self) -> u64 {
        let filter = self.filter.map_or(0, |f| f.words.saturating_mul(8));
        (self.index.len() + self.file.memory()) as u64 + filter
    }

    /// Bytes of the blocks, of the index and of the filter.
    pub(crate) fn part_sizes(&self) -> (u64, u64, u64) {
        let filter = self.filter.map_or(0, |f| f.words.saturating_mul(8));
        ((self.blocks() * self.block_size) as u64, self.index.len() as u64, filter)
    }

    /// Whether there is a filter.
    #[inline]
    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    #[inline]
    pub(super) fn start_of(&self, block: usize) -> usize {
        block.saturating_add(1).saturating_mul(self.block_size)
    }

    /// One block, and a few bytes behind it, which may be anything.
    #[inline]
    fn block(&self, block: usize) -> Result<&[u8]> {
        self.file.bytes_and_behind(self.start_of(block), self.block_size, BEHIND)
    }

    /// A block whose page has passed its checksum.
    #[inline(always)]
    pub(crate) fn packed(&self, block: usize) -> Result<Packed<'_>> {
        self.lens().packed(block)
    }

    /// The code of its blocks.
    #[inline]
    pub(crate) fn code(&self) -> BlockCode {
        self.coding.kind()
    }

    pub(super) fn block_size(&self) -> usize {
        self.block_size
    }

    /// The last fingerprint of a block, as the index has it.
    pub(crate) fn key(&self, block: usize) -> Result<F> {
        self.index.key(&self.file.body(), block)
    }

    /// Announces the reading of blocks in turn.
    pub(super) fn announce(&self, blocks: Range<usize>) {
        if self.is_cold() {
            self.fetch(blocks);
        }
    }

    /// Announces the reading of blocks, if the file is cold.
    #[cold]
    pub(super) fn fetch(&self, blocks: Range<usize>) {
        self.file.fetch(self.start_of(blocks.start), blocks.len() * self.block_size);
    }

    #[cold]
    pub(super) fn in_block(&self, block: usize, error: Error) -> Error {
        error.at_path(self.file.path()).at_offset(((block + 1) * self.block_size) as u64)
    }

    /// The first block whose key is at least `target`: the one that holds it if any does. Equal to
    /// the number of blocks if `target` is greater than every key. Reads one cell of the directory,
    /// and keys only where fingerprints crowd, then at most log2(blocks).
    pub(crate) fn find_block(&self, target: F) -> Result<usize> {
        self.index.first_at_least(&self.file.body(), target)
    }

    /// For many look-ups whose waits for memory are to overlap.
    #[inline(always)]
    pub(crate) fn lens(&self) -> Lens<'_, F> {
        Lens::new(self)
    }

    /// Whether [`Lens::find_blocks`] should be done with all look-ups before any block is decoded: it
    /// announces the reads of their blocks.
    #[inline]
    pub(crate) fn is_cold(&self) -> bool {
        self.file.is_cold()
    }

    /// How many fingerprints of a block a search compares that looks for those from `low` to `high`.
    pub(crate) fn looked_at(&self, block: usize, low: F, high: F) -> Result<usize> {
        self.packed(block)?.looked_at(low, high).map_err(|e| self.in_block(block, e))
    }

    /// The blocks that hold what there is from `low` to `high`, which may lie far apart.
    pub(crate) fn blocks_between(&self, low: F, high: F) -> Result<Range<usize>> {
        let end = self.find_block(high)?.saturating_add(1).min(self.blocks());
        Ok(self.find_block(low)?.min(end)..end)
    }

    /// Appends the fingerprints of these blocks to `out`, in order.
    pub(crate) fn decode(&self, blocks: Range<usize>, out: &mut Vec<F>) -> Result<()> {
        self.file.read_ahead(self.start_of(blocks.start), blocks.len() * self.block_size);
        let blocks = blocks.map(|block| self.packed(block));
        cpu::fastest(
            #[inline(always)]
            || block::decode_all(self.code(), blocks, out),
        )
        .map_err(|e| e.at_path(self.file.path()))
    }

    /// Visits every fingerprint, in no order: what takes least time if each is looked at once.
    pub(crate) fn visit_all(&self, visit: impl FnMut(F)) -> Result<()> {
        let blocks = (0..self.blocks()).map(|block| self.packed(block));
        cpu::fastest(
            #[inline(always)]
            || block::visit_all(self.code(), blocks, visit),
        )
        .map_err(|e| e.at_path(self.file.path()))
    }

    /// Visits all fingerprints in order, some at a time: for many looks at each.
    pub(crate) fn scan(&self, mut visit: impl FnMut(&[F])) -> Result<()> {
        let mut some = Vec::new();
        for first in (0..self.blocks()).step_by(SCANNED) {
            some.clear();
            self.decode(first..self.blocks().min(first + SCANNED), &mut some)?;
            visit(&some);
        }
        Ok(())
    }

    /// The block that a fingerprint is in, and its place in it.
    pub(crate) fn locate(&self, fingerprint: F) -> Result<Option<(usize, usize)>> {
        let block = self.find_block(fingerprint)?;
        Ok(self.place_in(block, fingerprint)?.map(|index| (block, index)))
    }

    /// The place of a fingerprint in the block that it must be in if it is anywhere, which may be one
    /// behind the last.
    pub(crate) fn place_in(&self, block: usize, fingerprint: F) -> Result<Option<usize>> {
        if block == self.blocks() {
            return Ok(None);
        }
        self.packed(block)?.place(fingerprint).map_err(|e| self.in_block(block, e))
    }

    /// Fingerprints in one block.
    pub(crate) fn block_len(&self, block: usize) -> Result<usize> {
        self.packed(block)?.len().map_err(|e| self.in_block(block, e))
    }

    /// A cursor at the first fingerprint that is at least `low`.
    pub(crate) fn cursor(&self, low: F) -> Result<Cursor<'_, F>> {
        Cursor::new(self, low)
    }

    /// Reads the whole file and decodes it strictly; errors go to `report`. Gives a sum over the
    /// set of fingerprints, made by `sum_of`, that does not depend on their order.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        sum_of: impl Fn(F) -> u64,
        report: &mut dyn FnMut(Error),
    ) -> u64 {
        self.file.verify(expected, report);
        let (mut sum, mut count, mut previous) = (0u64, 0u64, None);
        for block in 0..self.blocks() {
            let checked = self.block(block).and_then(|bytes| {
                let key = self.index.key(&self.file.body(), block)?;
                let mut first = None;
                self.coding.check(bytes, self.block_size, key, |f| {
                    first = first.or(Some(f));
                    sum = sum.wrapping_add(sum_of(f));
                    count += 1;
                })?;
                if previous.is_some_and(|p| first.is_some_and(|first| p >= first)) {
                    return Err(Error::corruption("block begins below the previous key"));
                }
                previous = Some(key);
                Ok(())
            });
            if let Err(error) = checked {
                report(self.in_block(block, error));
            }
        }
        if let Err(error) = self.index.check(&self.file.body()) {
            report(error);
        }
        if count != self.count {
            report(self.file.corruption(0, "the footer's count is not that of the blocks"));
        }
        sum
    }

    /// The whole file as it is, for a copy.
    pub(crate) fn raw(&self) -> &[u8] {
        self.file.raw()
    }
}

/// The index, where the filter begins and the body ends; `None` if that is beyond all files.
fn parts_of<F: Fingerprint>(
    blocks: usize,
    block_size: usize,
    filter_words: u64,
) -> Option<(Index<F>, usize, usize)> {
    let index = Index::new(blocks, blocks.checked_add(1)?.checked_mul(block_size)?)?;
    let filter = index.end().checked_next_multiple_of(8)?;
    let end = filter.checked_add(usize::try_from(filter_words).ok()?.checked_mul(8)?)?;
    Some((index, filter, end))
}
