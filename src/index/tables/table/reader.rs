//! Reading a table: finding the blocks that may hold a fingerprint, and decoding them.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::decoded::{Decoded, decoded_len};
use super::filter::{Filter, MAX_WORDS};
use super::index::Index;
use crate::base::cpu;
use crate::base::error::{Error, ErrorKind, Result};
use crate::file::codec::huffman::Code;
use crate::file::paged::{Body, OpenPaged, PAGE, Paged, PagedFile, Sequential};
use crate::file::storage::Reservation;
use crate::fingerprint::Word;
use crate::index::Indexed;
use crate::index::tables::block::{self, Packed, Stored};

/// Blocks that a scan decodes before it visits their fingerprints, which fit into the second-level
/// cache.
const SCAN_BLOCKS: usize = 64;

/// Bytes of blocks that are decoded from one slice.
const RUN: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Table<F> {
    pub(super) file: PagedFile,
    pub(super) code: Arc<Code>,
    pub(super) block_size: usize,
    /// How many of the lowest bits are zero in all fingerprints.
    zeros: u32,
    pub(super) count: u64,
    pub(super) index: Index<F>,
    pub(super) filter: Option<Filter>,
    /// The fingerprints, once they are decoded; `None` if they are damaged.
    decoded: Arc<OnceLock<Option<Decoded<F>>>>,
}

impl<F: Word> Paged for Table<F> {
    fn file(&self) -> &PagedFile {
        &self.file
    }

    fn file_mut(&mut self) -> &mut PagedFile {
        &mut self.file
    }

    fn with_file(&self, file: PagedFile) -> Self {
        let (code, decoded) = (self.code.clone(), self.decoded.clone());
        let Self { block_size, zeros, count, index, filter, .. } = *self;
        Self { file, code, block_size, zeros, count, index, filter, decoded }
    }
}

/// The index of a table is its index of blocks and its filter, and all fingerprints, decoded, if it
/// is small.
impl<F: Word> Indexed for Table<F> {
    fn paged_file(&self) -> &PagedFile {
        &self.file
    }

    fn needs_index(&self) -> bool {
        self.file.needs_copy() || self.needs_decoding()
    }

    fn needed_index_len(&self) -> u64 {
        let copy = if self.file.needs_copy() { self.index_copy_len() } else { 0 };
        let decoded = self.decoded_len().filter(|_| self.needs_decoding());
        copy + decoded.unwrap_or(0)
    }

    fn loaded_index_len(&self) -> u64 {
        let copy = if self.file.has_copy() { self.index_copy_len() } else { 0 };
        let decoded = self.decoded_len().filter(|_| self.decoded().is_some());
        copy + decoded.unwrap_or(0)
    }

    fn load_index(&self, mut reserved: Reservation, goes_on: &dyn Fn() -> bool) -> Result<()> {
        if self.file.needs_copy() {
            let reserved = reserved.split(self.index_copy_len());
            self.file.copy_from(self.index.start(), reserved, goes_on)?;
        }
        if self.needs_decoding() && goes_on() {
            let decoded = self.decode_table(reserved);
            let error = decoded.as_ref().err().cloned();
            // A read that failed may succeed later; damage does not change.
            if error.as_ref().is_none_or(|error| error.kind() == ErrorKind::Corruption) {
                // If another thread was faster, its fingerprints are the same.
                let _ = self.decoded.set(decoded.ok());
            }
            return error.map_or(Ok(()), Err);
        }
        Ok(())
    }

    fn load_index_pages(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let len = self.file.copy_len(self.index.start());
        self.file.load(self.index.start(), len, goes_on)
    }
}

impl<F: Word> OpenPaged for Table<F> {
    fn from_file(file: PagedFile) -> Result<Self> {
        let mut meta = file.meta();
        let count = meta.u64("fingerprint count")?;
        let blocks = usize::try_from(meta.u64("block count")?).unwrap_or(usize::MAX);
        let block_size = meta.u32("block size")? as usize;
        let depth = meta.u32("filter depth")?;
        let overflow = usize::try_from(meta.u64("keys in the overflow")?).unwrap_or(usize::MAX);
        let words = meta.u64("filter words")?;
        let code = meta.u8("block code")?;
        if code != block::CODE {
            return Err(meta.corruption(format!("block code {code}")));
        }
        let lengths = meta.bytes(F::BITS as usize, "code lengths")?;
        let code = Arc::new(Code::from_lengths(lengths)?);
        let zeros = u32::from(meta.u8("zero bits")?);
        let size_allowed = block_size.is_power_of_two()
            && (block::MIN_SIZE..=block::MAX_SIZE).contains(&block_size);
        let counts_agree = count >= blocks as u64 && (count == 0) == (blocks == 0);
        let filter_allowed = depth <= 64 && words <= MAX_WORDS && (words == 0 || depth > 0);
        if !size_allowed || !counts_agree || !filter_allowed || zeros >= F::BITS {
            return Err(meta.corruption("the table's footer has a value that is not allowed"));
        }
        let parts = parts_of(blocks, block_size, overflow, words);
        file.expect_body_end(parts.map(|(.., end)| end))?;
        let Some((index, _)) = parts else {
            return Err(file.corruption(0, "the table does not fit into the address space"));
        };
        let filter = (words > 0).then_some(Filter { depth, offset: index.end(), words });
        let decoded = Arc::default();
        Ok(Self { file, code, block_size, zeros, count, index, filter, decoded })
    }
}

impl<F: Word> Table<F> {
    /// Returns the number of fingerprints.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn blocks(&self) -> usize {
        self.index.count()
    }

    /// Returns how many of the lowest bits are zero in all fingerprints.
    pub(crate) fn zeros(&self) -> u32 {
        self.zeros
    }

    /// Returns the lengths of the codewords by leading difference.
    pub(crate) fn code_lengths(&self) -> Vec<u8> {
        let mut lengths = vec![0; self.zeros as usize];
        lengths.extend_from_slice(self.code.lengths(F::BITS - self.zeros));
        lengths
    }

    pub(crate) fn block_bytes(&self) -> u64 {
        self.blocks() as u64 * self.block_size as u64
    }

    /// Returns the bytes that should be in memory for fast answers: the index, the filter, the
    /// marks of checked pages, and the fingerprints if the table is small.
    pub(crate) fn index_memory(&self) -> u64 {
        let filter = self.filter.map_or(0, |f| f.words.saturating_mul(8));
        let decoded = self.decoded_len().unwrap_or(0);
        (self.index.len() + self.file.memory()) as u64 + filter + decoded
    }

    fn index_copy_len(&self) -> u64 {
        self.file.copy_len(self.index.start()) as u64
    }

    fn decoded_len(&self) -> Option<u64> {
        decoded_len::<F>(self.count, self.blocks())
    }

    fn needs_decoding(&self) -> bool {
        self.decoded.get().is_none() && self.decoded_len().is_some()
    }

    /// Decodes the fingerprints of a small table.
    fn decode_table(&self, reserved: Reservation) -> Result<Decoded<F>> {
        let mut fingerprints = Vec::with_capacity(usize::try_from(self.count).unwrap_or(0));
        let (mut starts, mut end) = (Vec::with_capacity(self.blocks() + 1), 0u32);
        let mut reader = Sequential::new(self);
        for blocks in self.runs(0..self.blocks()) {
            let table = self.reader_of(&blocks, &mut reader)?;
            table.decode(blocks.clone(), &mut fingerprints)?;
            for block in blocks {
                starts.push(end);
                let len = table.packed(block)?.len().map_err(|e| self.in_block(block, e))?;
                end = end.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
            }
        }
        if fingerprints.len() as u64 == self.count && fingerprints.is_sorted_by(|a, b| a < b) {
            return Ok(Decoded::new(fingerprints, starts, reserved));
        }
        let message = "the blocks do not hold as many ascending fingerprints as the footer says";
        Err(self.file.corruption(0, message))
    }

    /// Returns the fingerprints of a small table, once they are decoded.
    #[inline(always)]
    pub(crate) fn decoded(&self) -> Option<&Decoded<F>> {
        self.decoded.get().and_then(Option::as_ref)
    }

    /// Returns the bytes of the blocks, of the index and of the filter.
    pub(crate) fn part_sizes(&self) -> (u64, u64, u64) {
        let filter = self.filter.map_or(0, |f| f.words.saturating_mul(8));
        ((self.blocks() * self.block_size) as u64, self.index.len() as u64, filter)
    }

    /// Returns the offset of a block in the file.
    #[inline]
    pub(super) fn start_of(&self, block: usize) -> usize {
        block.saturating_add(1).saturating_mul(self.block_size)
    }

    /// Returns a block whose page has passed its checksum.
    #[inline(always)]
    pub(crate) fn packed(&self, block: usize) -> Result<Packed<'_>> {
        self.packed_in(&self.file.body(), block)
    }

    /// Does what [`packed`](Self::packed) does, given the file's body.
    #[inline(always)]
    pub(super) fn packed_in<'a>(&'a self, body: &Body<'a>, block: usize) -> Result<Packed<'a>> {
        let size = self.block_size;
        let bytes = body.until_page_end(self.start_of(block), size)?;
        Ok(Packed { bytes, size, code: &self.code, zeros: self.zeros })
    }

    pub(crate) fn block_size(&self) -> usize {
        self.block_size
    }

    /// Prefetches blocks for a reader in order if the file is cold.
    pub(super) fn prefetch(&self, blocks: Range<usize>) {
        if self.is_cold() {
            self.file.prefetch(self.start_of(blocks.start), blocks.len() * self.block_size);
        }
    }

    /// Fetches the blocks of these fingerprints, which ascend and are located next, if the file is
    /// cold.
    pub(crate) fn fetch_each(&self, fingerprints: &[F]) -> Result<()> {
        if !self.is_cold() || self.decoded().is_some() {
            return Ok(());
        }
        // Blocks on the same page or on adjacent ones are fetched together.
        let (mut run, near): (Range<usize>, _) = (0..0, PAGE / self.block_size);
        for &fingerprint in fingerprints {
            let blocks = self.blocks_between(fingerprint, fingerprint)?;
            if blocks.start <= run.end.saturating_add(near) {
                run.end = run.end.max(blocks.end);
            } else {
                self.fetch(std::mem::replace(&mut run, blocks));
            }
        }
        self.fetch(run);
        Ok(())
    }

    /// Fetches blocks of a cold file, which are searched next.
    #[cold]
    pub(crate) fn fetch(&self, blocks: Range<usize>) {
        self.file.fetch(self.start_of(blocks.start), blocks.len() * self.block_size);
    }

    /// Adds the file's path and the block's offset to an error.
    #[cold]
    pub(super) fn in_block(&self, block: usize, error: Error) -> Error {
        error.at_path(self.file.path()).at_offset(((block + 1) * self.block_size) as u64)
    }

    /// Returns whether single pages are read from the disk when they are needed. Then
    /// [`TableView::find_blocks`](super::TableView::find_blocks) should run for all lookups before
    /// any block is decoded, because it prefetches their blocks.
    #[inline]
    pub(crate) fn is_cold(&self) -> bool {
        self.file.is_cold()
    }

    /// Returns the blocks that hold the fingerprints from `low` to `high`, which may be far apart,
    /// and rarely another block too.
    pub(crate) fn blocks_between(&self, low: F, high: F) -> Result<Range<usize>> {
        self.index.blocks(&self.file.copied_body(), low, high)
    }

    /// Divides blocks into parts that are decoded from one slice each.
    fn runs(&self, blocks: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let each = RUN / self.block_size;
        blocks.clone().step_by(each).map(move |first| first..blocks.end.min(first + each))
    }

    fn packed_run(&self, blocks: &Range<usize>) -> Result<impl Iterator<Item = Packed<'_>>> {
        let (size, code, zeros) = (self.block_size, &*self.code, self.zeros);
        let len = blocks.len().saturating_mul(size);
        let all = self.file.body().bytes_of_pages(self.start_of(blocks.start), len)?;
        let starts = (0..all.len()).step_by(size);
        Ok(starts.map(move |start| {
            let bytes = all.get(start..).unwrap_or_default();
            Packed { bytes, size, code, zeros }
        }))
    }

    /// Appends the fingerprints of these blocks to `out`, in order.
    pub(crate) fn decode(&self, blocks: Range<usize>, out: &mut Vec<F>) -> Result<()> {
        for run in self.runs(blocks) {
            let blocks = self.packed_run(&run)?.map(Ok);
            cpu::with_native_instructions(
                #[inline(always)]
                || block::decode_all(blocks, out),
            )
            .map_err(|e| self.in_block(run.start, e))?;
        }
        Ok(())
    }

    /// Visits every fingerprint, in no particular order: the fastest way to see each one once.
    pub(crate) fn visit_all(&self, mut visit: impl FnMut(F)) -> Result<()> {
        let mut reader = Sequential::new(self);
        for run in self.runs(0..self.blocks()) {
            let blocks = self.reader_of(&run, &mut reader)?.packed_run(&run)?.map(Ok);
            cpu::with_native_instructions(
                #[inline(always)]
                || block::visit_all(blocks, &mut visit),
            )
            .map_err(|e| self.in_block(run.start, e))?;
        }
        Ok(())
    }

    /// Returns the memory that should be used to read blocks that may be many: the queries' memory,
    /// if the blocks are in it or it has room for the table, and otherwise the memory of `reader`,
    /// which is for this table.
    pub(crate) fn reader_of<'r>(
        &'r self,
        blocks: &Range<usize>,
        reader: &'r mut Sequential<'_, Self>,
    ) -> Result<&'r Self> {
        if self.is_ready(blocks) || self.file.fits() { Ok(self) } else { reader.get() }
    }

    /// Returns whether these blocks are in memory.
    pub(super) fn is_ready(&self, blocks: &Range<usize>) -> bool {
        let len = blocks.len().saturating_mul(self.block_size);
        self.file.is_ready(self.start_of(blocks.start), len)
    }

    /// Visits all fingerprints in order, in slices that stay in the cache: for callers that read
    /// each fingerprint many times. Ends with the first error of `visit`.
    pub(crate) fn scan(&self, mut visit: impl FnMut(&[F]) -> Result<()>) -> Result<()> {
        let (mut fingerprints, mut reader) = (Vec::new(), Sequential::new(self));
        for first in (0..self.blocks()).step_by(SCAN_BLOCKS) {
            fingerprints.clear();
            let blocks = first..self.blocks().min(first + SCAN_BLOCKS);
            self.reader_of(&blocks, &mut reader)?.decode(blocks, &mut fingerprints)?;
            visit(&fingerprints)?;
        }
        Ok(())
    }

    /// Returns where a fingerprint is: its block, and its index in the block.
    pub(crate) fn locate(&self, fingerprint: F) -> Result<Option<(usize, usize)>> {
        if let Some(decoded) = self.decoded() {
            return Ok(decoded.locate(fingerprint));
        }
        self.locate_in(self.blocks_between(fingerprint, fingerprint)?, fingerprint)
    }

    /// Does what [`locate`](Self::locate) does, given what
    /// [`blocks_between`](Self::blocks_between) returns: nearly always one block.
    pub(crate) fn locate_in(
        &self,
        blocks: Range<usize>,
        fingerprint: F,
    ) -> Result<Option<(usize, usize)>> {
        for block in blocks {
            let place = self.packed(block)?.place(fingerprint);
            if let Some(place) = place.map_err(|e| self.in_block(block, e))? {
                return Ok(Some((block, place)));
            }
        }
        Ok(None)
    }

    /// Returns the number of fingerprints in one block.
    pub(crate) fn block_len(&self, block: usize) -> Result<usize> {
        if let Some(len) = self.decoded().and_then(|decoded| decoded.block_len(block)) {
            return Ok(len);
        }
        self.packed(block)?.len().map_err(|e| self.in_block(block, e))
    }

    /// Returns how a block stores its fingerprints. Checks it strictly.
    pub(crate) fn stored(&self, block: usize) -> Result<Vec<Stored<F>>> {
        block::stored(&self.packed(block)?).map_err(|e| self.in_block(block, e))
    }

    /// Passes all bytes of the file to `visit`, for a copy.
    #[cfg(test)]
    pub(crate) fn raw(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let read = self.file.for_each_chunk(|bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        });
        assert!(read.is_ok());
        all
    }
}

/// Returns the index and the body's length, given what the footer says; `None` if a value does not
/// fit into the address space.
fn parts_of<F: Word>(
    blocks: usize,
    block_size: usize,
    overflow: usize,
    filter_words: u64,
) -> Option<(Index<F>, usize)> {
    let offset = blocks.checked_add(1)?.checked_mul(block_size)?;
    let index = Index::new(blocks, overflow, offset)?;
    let filter_len = usize::try_from(filter_words).ok()?.checked_mul(8)?;
    Some((index, index.end().checked_add(filter_len)?))
}
