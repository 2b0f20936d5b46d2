//! Reading a table: finding blocks by their keys, and decoding them.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use super::filter::Filter;
use super::index::Index;
use crate::block::{self, Coding, Packed};
use crate::codec::block_code::BlockCode;
use crate::codec::header::FileHeader;
use crate::cpu;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::inspection::Inspection;
use crate::paged::{Body, FileSummary, PagedFile};
use crate::storage::Storage;

/// How many blocks `verify` decodes between two reports of progress.
const BLOCKS_PER_STEP: usize = 4096;

/// Blocks that a scan decodes before it visits their fingerprints, which fit into the second-level
/// cache.
const SCAN_BLOCKS: usize = 64;

/// Bytes after a block that a decoder may load together with the block's last bits.
const TAIL: usize = 16;

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
    /// Opens the file; reads only its header and footer.
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
            return Err(meta.corruption("the table's footer has a value that is not allowed"));
        }
        meta.finish("table footer")?;
        let filter = (words > 0).then_some(Filter { depth, offset, words });
        let parts = parts_of(blocks, block_size, words);
        let Some((index, ..)) = parts.filter(|&(_, filter, _)| filter == offset) else {
            let message =
                "the filter's offset in the table's footer does not match the block count";
            return Err(file.corruption(0, message));
        };
        file.expect_body_end(parts.map(|(.., end)| end))?;
        let filter_len = usize::try_from(words).unwrap_or(usize::MAX).saturating_mul(8);
        file.load_if_cold(index.start(), index.len().saturating_add(filter_len))?;
        Ok(Self { file, coding, block_size, count, index, filter })
    }

    /// Returns the number of fingerprints.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.index.count()
    }

    /// Returns the bytes that should be in memory for fast answers: the index, the filter, and the
    /// marks of checked pages.
    pub(crate) fn index_memory(&self) -> u64 {
        let filter = self.filter.map_or(0, |f| f.words.saturating_mul(8));
        (self.index.len() + self.file.memory()) as u64 + filter
    }

    /// Returns the bytes of the blocks, of the index and of the filter.
    pub(crate) fn part_sizes(&self) -> (u64, u64, u64) {
        let filter = self.filter.map_or(0, |f| f.words.saturating_mul(8));
        ((self.blocks() * self.block_size) as u64, self.index.len() as u64, filter)
    }

    /// Returns whether the table has a filter.
    #[inline]
    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns the offset of a block in the file.
    #[inline]
    pub(super) fn start_of(&self, block: usize) -> usize {
        block.saturating_add(1).saturating_mul(self.block_size)
    }

    /// Returns one block and a few bytes after it, which may be anything.
    #[inline]
    fn block(&self, block: usize) -> Result<&[u8]> {
        self.file.bytes_with_tail(self.start_of(block), self.block_size, TAIL)
    }

    /// Returns a block whose page has passed its checksum.
    #[inline(always)]
    pub(crate) fn packed(&self, block: usize) -> Result<Packed<'_>> {
        self.packed_in(&self.file.body(), block)
    }

    /// Does what [`packed`](Self::packed) does, given the file's body.
    #[inline(always)]
    pub(super) fn packed_in<'a>(&'a self, body: &Body<'a>, block: usize) -> Result<Packed<'a>> {
        let (start, size) = (self.start_of(block), self.block_size);
        body.check(start, size)?;
        Ok(Packed { bytes: body.raw(), start, size, coding: &self.coding })
    }

    /// Returns the code of the table's blocks.
    #[inline]
    pub(crate) fn code(&self) -> BlockCode {
        self.coding.kind()
    }

    pub(super) fn block_size(&self) -> usize {
        self.block_size
    }

    /// Returns a block's key from the index: the block's last fingerprint.
    pub(crate) fn key(&self, block: usize) -> Result<F> {
        self.index.key(&self.file.body(), block)
    }

    /// Prefetches blocks if the file is cold.
    pub(super) fn prefetch(&self, blocks: Range<usize>) {
        if self.is_cold() {
            self.prefetch_cold(blocks);
        }
    }

    /// Prefetches blocks of a cold file.
    #[cold]
    pub(super) fn prefetch_cold(&self, blocks: Range<usize>) {
        self.file.prefetch(self.start_of(blocks.start), blocks.len() * self.block_size);
    }

    /// Adds the file's path and the block's offset to an error.
    #[cold]
    pub(super) fn in_block(&self, block: usize, error: Error) -> Error {
        error.at_path(self.file.path()).at_offset(((block + 1) * self.block_size) as u64)
    }

    /// Returns the first block whose key is at least `target`: if any block holds `target`, this
    /// one does. Returns the number of blocks if `target` is greater than every key.
    ///
    /// Reads one slot of the directory. Reads keys too, at most log2(blocks) of them, but only
    /// where fingerprints are dense.
    pub(crate) fn find_block(&self, target: F) -> Result<usize> {
        self.index.first_at_least(&self.file.body(), target)
    }

    /// Returns whether single pages are read from the disk when they are needed. Then
    /// [`TableView::find_blocks`](super::TableView::find_blocks) should run for all lookups before
    /// any block is decoded, because it prefetches their blocks.
    #[inline]
    pub(crate) fn is_cold(&self) -> bool {
        self.file.is_cold()
    }

    /// Returns how many fingerprints of a block a search for the range from `low` to `high`
    /// compares.
    pub(crate) fn count_candidates(&self, block: usize, low: F, high: F) -> Result<usize> {
        self.packed(block)?.count_candidates(low, high).map_err(|e| self.in_block(block, e))
    }

    /// Returns the blocks that hold the fingerprints from `low` to `high`, which may be far apart.
    pub(crate) fn blocks_between(&self, low: F, high: F) -> Result<Range<usize>> {
        let end = self.find_block(high)?.saturating_add(1).min(self.blocks());
        Ok(self.find_block(low)?.min(end)..end)
    }

    /// Appends the fingerprints of these blocks to `out`, in order.
    pub(crate) fn decode(&self, blocks: Range<usize>, out: &mut Vec<F>) -> Result<()> {
        self.file.load(self.start_of(blocks.start), blocks.len() * self.block_size);
        let blocks = blocks.map(|block| self.packed(block));
        cpu::with_native_instructions(
            #[inline(always)]
            || block::decode_all(self.code(), blocks, out),
        )
        .map_err(|e| e.at_path(self.file.path()))
    }

    /// Visits every fingerprint, in no particular order: the fastest way to see each one once.
    pub(crate) fn visit_all(&self, visit: impl FnMut(F)) -> Result<()> {
        let blocks = (0..self.blocks()).map(|block| self.packed(block));
        cpu::with_native_instructions(
            #[inline(always)]
            || block::visit_all(self.code(), blocks, visit),
        )
        .map_err(|e| e.at_path(self.file.path()))
    }

    /// Visits all fingerprints in order, in slices that stay in the cache: for callers that read
    /// each fingerprint many times.
    pub(crate) fn scan(&self, mut visit: impl FnMut(&[F])) -> Result<()> {
        let mut fingerprints = Vec::new();
        for first in (0..self.blocks()).step_by(SCAN_BLOCKS) {
            fingerprints.clear();
            self.decode(first..self.blocks().min(first + SCAN_BLOCKS), &mut fingerprints)?;
            visit(&fingerprints);
        }
        Ok(())
    }

    /// Returns the block that holds a fingerprint and its place in the block.
    pub(crate) fn locate(&self, fingerprint: F) -> Result<Option<(usize, usize)>> {
        let block = self.find_block(fingerprint)?;
        Ok(self.place_in(block, fingerprint)?.map(|index| (block, index)))
    }

    /// Returns the place of a fingerprint in `block`, which [`find_block`](Self::find_block)
    /// returned for it and which may be the number of blocks.
    pub(crate) fn place_in(&self, block: usize, fingerprint: F) -> Result<Option<usize>> {
        if block == self.blocks() {
            return Ok(None);
        }
        self.packed(block)?.place(fingerprint).map_err(|e| self.in_block(block, e))
    }

    /// Returns the number of fingerprints in one block.
    pub(crate) fn block_len(&self, block: usize) -> Result<usize> {
        self.packed(block)?.len().map_err(|e| self.in_block(block, e))
    }

    /// Reads the entire file and, if its checksums match, decodes it strictly. Returns the sum of
    /// `hash` over all fingerprints, which does not depend on their order, or `None` for a damaged
    /// file.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        hash: impl Fn(F) -> u64,
        inspection: &mut Inspection<'_>,
    ) -> Result<Option<u64>> {
        if !self.file.verify(expected, inspection)? {
            return Ok(None);
        }
        let found = inspection.found();
        let (mut sum, mut count, mut previous) = (0u64, 0u64, None);
        for block in 0..self.blocks() {
            let checked = self.block(block).and_then(|bytes| {
                let key = self.index.key(&self.file.body(), block)?;
                let mut first = None;
                self.coding.check(bytes, self.block_size, key, |f| {
                    first = first.or(Some(f));
                    sum = sum.wrapping_add(hash(f));
                    count += 1;
                })?;
                if previous.is_some_and(|p| first.is_some_and(|first| p >= first)) {
                    let message =
                        "the block's first fingerprint is not greater than the previous block's key";
                    return Err(Error::corruption(message));
                }
                previous = Some(key);
                Ok(())
            });
            if let Err(error) = checked {
                inspection.report(self.in_block(block, error));
            }
            if (block + 1) % BLOCKS_PER_STEP == 0 {
                inspection.advance(BLOCKS_PER_STEP * self.block_size)?;
            }
        }
        // The rest of the file, so that every file is counted twice.
        let counted = self.blocks() / BLOCKS_PER_STEP * BLOCKS_PER_STEP * self.block_size;
        inspection.advance(self.file.raw().len().saturating_sub(counted))?;
        if let Err(error) = self.index.check(&self.file.body()) {
            inspection.report(error);
        }
        if count != self.count && inspection.found() == found {
            inspection.report(self.file.corruption(
                0,
                "the blocks do not hold as many fingerprints as the table's footer says",
            ));
        }
        Ok((inspection.found() == found).then_some(sum))
    }

    /// Returns all bytes of the file, for a copy.
    pub(crate) fn raw(&self) -> &[u8] {
        self.file.raw()
    }
}

/// Returns the index, the filter's offset and the body's length; `None` if a value does not fit
/// into the address space.
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
