//! Reading a table: find the block by its key, decode it, stop early.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::filter::Filter;
use crate::block::{self, BlockReader};
use crate::codec::header::FileHeader;
use crate::codec::huffman::Code;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::paged::{FileSummary, PagedFile};
use crate::storage::Storage;

/// How far the first step of a search over the keys goes from its estimate.
const FIRST_STRIDE: usize = 4;

/// Blocks that a scan decodes at a time.
const LANES: usize = 4;

/// Bytes that processors fetch at a time.
const LINE: usize = 64;

/// An open table.
#[derive(Debug)]
pub(crate) struct Table<F> {
    file: PagedFile,
    code: Code,
    block_size: usize,
    blocks: usize,
    count: u64,
    keys_offset: usize,
    first: F,
    last: F,
    /// Blocks per unit of `top64`, as if fingerprints were spread evenly from first to last.
    density: f64,
    filter: Option<Filter>,
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
        let first: F = meta.fingerprint("first fingerprint")?;
        let last: F = meta.fingerprint("last fingerprint")?;
        let code = Code::from_lengths(meta.bytes(F::BITS as usize, "code lengths")?)?;
        let size_allowed = block_size.is_power_of_two()
            && (block::MIN_SIZE..=block::MAX_SIZE).contains(&block_size);
        let counts_agree = count >= blocks as u64 && (count == 0) == (blocks == 0) && first <= last;
        if !size_allowed || !counts_agree || depth > 64 || (words > 0 && depth == 0) {
            return Err(meta.corruption("table footer has impossible values"));
        }
        meta.finish("table footer")?;
        let filter = (words > 0).then_some(Filter { depth, offset, words });
        let parts = parts_of::<F>(blocks, block_size, words);
        let Some((keys_offset, ..)) = parts.filter(|&(_, filter, _)| filter == offset) else {
            return Err(file.corruption(0, "the table's parts are not where its footer says"));
        };
        file.expect_body_end(parts.map(|(.., end)| end))?;
        let spread = last.top64().saturating_sub(first.top64());
        let density = blocks as f64 / (spread as f64 + 1.0);
        Ok(Self {
            file,
            code,
            block_size,
            blocks,
            count,
            keys_offset,
            first,
            last,
            density,
            filter,
        })
    }

    /// Number of fingerprints.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Bytes that should be in memory for fast answers: keys, filter, and what marks checked pages.
    pub(crate) fn index_memory(&self) -> u64 {
        let filter = self.filter.map_or(0, |f| f.words.saturating_mul(8));
        (self.blocks * F::BYTES + self.file.memory()) as u64 + filter
    }

    /// False only if no fingerprint begins with the `depth` leading bits of `prefix`. Without a
    /// filter, or with one that knows of more bits than `depth`, the answer is always true.
    #[inline]
    pub(crate) fn may_contain(&self, prefix: F, depth: u32) -> Result<bool> {
        match &self.filter {
            Some(filter) if depth >= filter.depth => filter.may_contain(&self.file, prefix),
            _ => Ok(true),
        }
    }

    #[inline]
    fn key(&self, block: usize) -> Result<F> {
        let offset = self.keys_offset.saturating_add(block.saturating_mul(F::BYTES));
        let bytes = self.file.bytes(offset, F::BYTES)?;
        F::read_le(bytes).ok_or_else(|| self.file.corruption(offset, "key cut short"))
    }

    #[inline]
    fn block(&self, block: usize) -> Result<&[u8]> {
        self.file.bytes((block + 1) * self.block_size, self.block_size)
    }

    #[inline]
    fn reader(&self, block: usize) -> Result<BlockReader<'_, F>> {
        BlockReader::new(self.block(block)?, &self.code).map_err(|e| self.in_block(block, e))
    }

    #[cold]
    fn in_block(&self, block: usize, error: Error) -> Error {
        error.at_path(self.file.path()).at_offset(((block + 1) * self.block_size) as u64)
    }

    /// The first block whose key is at least `target`: the one that holds it if any does. Equal to
    /// the number of blocks if `target` is greater than every key.
    ///
    /// Interpolation search: two estimates, then strides that double until they pass the target,
    /// then bisection between the last two. About five key reads where fingerprints are spread
    /// evenly, at most 2 log2(blocks) where they are not.
    pub(crate) fn find_block(&self, target: F) -> Result<usize> {
        let estimate = self.refine(self.guess(target), target)?;
        self.find_block_near(estimate, target)
    }

    /// The block where `target` would be if fingerprints were spread evenly from first to last.
    /// Reads nothing.
    #[inline]
    pub(crate) fn guess(&self, target: F) -> usize {
        self.estimate(0, self.first, target)
    }

    /// A better estimate, from the key at the first.
    #[inline]
    pub(crate) fn refine(&self, estimate: usize, target: F) -> Result<usize> {
        if self.blocks == 0 {
            return Ok(0);
        }
        Ok(self.estimate(estimate, self.key(estimate)?, target))
    }

    /// As [`find_block`](Self::find_block), from an estimate.
    #[inline]
    pub(crate) fn find_block_near(&self, estimate: usize, target: F) -> Result<usize> {
        if target > self.last || self.blocks == 0 {
            return Ok(self.blocks);
        }
        if target <= self.first {
            return Ok(0);
        }
        let (low, high) = self.bracket(estimate, target)?;
        self.bisect(low, high, target)
    }

    /// Reads one key for nothing but to have it in the processor's cache. Touching many places in
    /// a loop lets their reads overlap; the result must be used, or the reads are optimised away.
    #[inline]
    pub(crate) fn touch_key(&self, block: usize) -> u8 {
        self.file.touch(self.keys_offset.saturating_add(block.saturating_mul(F::BYTES)))
    }

    /// The same for a block.
    #[inline]
    pub(crate) fn touch_block(&self, block: usize) -> u8 {
        let start = (block + 1) * self.block_size;
        self.file.touch(start) ^ self.file.touch(start + LINE)
    }

    /// Where `target` should be, seen from a block whose key is `key`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "an estimate; the result is clamped")]
    #[expect(clippy::cast_sign_loss, reason = "not negative after max")]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn estimate(&self, block: usize, key: F, target: F) -> usize {
        let (key, target) = (key.top64(), target.top64());
        let distance = target.abs_diff(key) as f64 * self.density;
        let signed = if target >= key { distance } else { -distance };
        ((block as f64 + signed).max(0.0) as usize).min(self.blocks.saturating_sub(1))
    }

    /// `(low, high)` with `key(low - 1) < target <= key(high)`, near `estimate`. `target` must not
    /// be above the last key.
    #[inline]
    fn bracket(&self, estimate: usize, target: F) -> Result<(usize, usize)> {
        let mut stride = FIRST_STRIDE;
        if self.key(estimate)? < target {
            let mut low = estimate + 1;
            loop {
                let high = (low + stride).min(self.blocks - 1);
                if high == self.blocks - 1 || self.key(high)? >= target {
                    return Ok((low, high));
                }
                low = high + 1;
                stride *= 2;
            }
        }
        let mut high = estimate;
        while high > 0 {
            let probe = high.saturating_sub(stride);
            if self.key(probe)? < target {
                return Ok((probe + 1, high));
            }
            high = probe;
            stride *= 2;
        }
        Ok((0, 0))
    }

    #[inline]
    fn bisect(&self, mut low: usize, mut high: usize, target: F) -> Result<usize> {
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle)? < target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Visits every fingerprint from `low` to `high` inclusive, ascending; `block` is what
    /// [`find_block`](Self::find_block) said of `low`.
    #[inline]
    pub(crate) fn scan_range(
        &self,
        block: usize,
        low: F,
        high: F,
        mut visit: impl FnMut(F),
    ) -> Result<()> {
        for block in block..self.blocks {
            let mut reader = self.reader(block)?;
            loop {
                let current = reader.current();
                if current > high {
                    return Ok(());
                }
                if current >= low {
                    visit(current);
                }
                if !reader.advance().map_err(|e| self.in_block(block, e))? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Visits every fingerprint, in no order: blocks are decoded several at a time. Where one
    /// codeword ends is known only when it is decoded, so the processor waits within a block; it
    /// need not between blocks.
    pub(crate) fn scan(&self, mut visit: impl FnMut(F)) -> Result<()> {
        let whole = self.blocks - self.blocks % LANES;
        for first in (0..whole).step_by(LANES) {
            let mut readers = [
                self.reader(first)?,
                self.reader(first + 1)?,
                self.reader(first + 2)?,
                self.reader(first + 3)?,
            ];
            let shortest = readers.iter().map(BlockReader::len).min().unwrap_or(0);
            for _ in 1..shortest {
                for (block, reader) in (first..).zip(&mut readers) {
                    visit(reader.current());
                    reader.advance().map_err(|e| self.in_block(block, e))?;
                }
            }
            for (block, reader) in (first..).zip(&mut readers) {
                self.drain(block, reader, &mut visit)?;
            }
        }
        for block in whole..self.blocks {
            self.drain(block, &mut self.reader(block)?, &mut visit)?;
        }
        Ok(())
    }

    /// Visits the fingerprints of a block from the current one on.
    fn drain(
        &self,
        block: usize,
        reader: &mut BlockReader<'_, F>,
        visit: &mut impl FnMut(F),
    ) -> Result<()> {
        loop {
            visit(reader.current());
            if !reader.advance().map_err(|e| self.in_block(block, e))? {
                return Ok(());
            }
        }
    }

    /// The block that a fingerprint is in, and its place in it.
    pub(crate) fn locate(&self, fingerprint: F) -> Result<Option<(usize, usize)>> {
        let block = self.find_block(fingerprint)?;
        if block == self.blocks {
            return Ok(None);
        }
        let mut reader = self.reader(block)?;
        let mut index = 0;
        while reader.current() < fingerprint {
            if !reader.advance().map_err(|e| self.in_block(block, e))? {
                return Ok(None);
            }
            index += 1;
        }
        Ok((reader.current() == fingerprint).then_some((block, index)))
    }

    /// Fingerprints in one block.
    pub(crate) fn block_len(&self, block: usize) -> Result<usize> {
        Ok(self.reader(block)?.len())
    }

    /// A cursor at the first fingerprint that is at least `low`.
    pub(crate) fn cursor(&self, low: F) -> Result<Cursor<'_, F>> {
        let mut cursor =
            Cursor { table: self, block: self.find_block(low)?, reader: None, index: 0 };
        cursor.enter()?;
        while cursor.current().is_some_and(|f| f < low) {
            cursor.advance()?;
        }
        Ok(cursor)
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
        for block in 0..self.blocks {
            let checked = self.block(block).and_then(|bytes| {
                let key = self.key(block)?;
                block::check(bytes, &self.code, key, |f| {
                    sum = sum.wrapping_add(sum_of(f));
                    count += 1;
                })?;
                let first = BlockReader::<F>::new(bytes, &self.code)?.current();
                if previous.is_some_and(|p| p >= first) {
                    return Err(Error::corruption("block begins below the previous key"));
                }
                previous = Some(key);
                Ok(())
            });
            if let Err(error) = checked {
                report(self.in_block(block, error));
            }
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

/// Where keys and filter begin and the body ends; `None` if that is beyond all files.
fn parts_of<F: Fingerprint>(
    blocks: usize,
    block_size: usize,
    filter_words: u64,
) -> Option<(usize, usize, usize)> {
    let keys = blocks.checked_add(1)?.checked_mul(block_size)?;
    let filter = keys.checked_add(blocks.checked_mul(F::BYTES)?)?.checked_next_multiple_of(8)?;
    let end = filter.checked_add(usize::try_from(filter_words).ok()?.checked_mul(8)?)?;
    Some((keys, filter, end))
}

/// Walks a table in order and knows the place of each fingerprint.
#[derive(Debug)]
pub(crate) struct Cursor<'a, F> {
    table: &'a Table<F>,
    block: usize,
    reader: Option<BlockReader<'a, F>>,
    index: usize,
}

impl<F: Fingerprint> Cursor<'_, F> {
    /// The fingerprint it stands at; `None` behind the last.
    #[inline]
    pub(crate) fn current(&self) -> Option<F> {
        self.reader.as_ref().map(BlockReader::current)
    }

    /// The block of the current fingerprint, and its place in it.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.block, self.index)
    }

    #[inline]
    pub(crate) fn advance(&mut self) -> Result<()> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        if reader.advance().map_err(|e| self.table.in_block(self.block, e))? {
            self.index += 1;
            return Ok(());
        }
        self.block += 1;
        self.enter()
    }

    fn enter(&mut self) -> Result<()> {
        self.index = 0;
        self.reader = match self.block < self.table.blocks {
            true => Some(self.table.reader(self.block)?),
            false => None,
        };
        Ok(())
    }
}
