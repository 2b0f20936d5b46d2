//! Reading a table of columns.

use std::ops::Range;

use super::builder::ALIGNMENT;
use super::row::Row;
use crate::codec::header::HEADER_LEN;
use crate::cpu::CACHE_LINE;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::layout::{KEY_BITS, MAX_BLOCK_BYTES, MAX_BUCKET_BITS, Prefix};
use crate::paged::{Body, OpenPaged, Paged, PagedFile};

/// An open table of columns.
#[derive(Debug)]
pub(crate) struct Columns {
    file: PagedFile,
    rows: u32,
    bucket_bits: u8,
    /// Bytes of the number of a block.
    block_bytes: u8,
}

impl Paged for Columns {
    fn file(&self) -> &PagedFile {
        &self.file
    }

    fn with_file(&self, file: PagedFile) -> Self {
        let Self { rows, bucket_bits, block_bytes, .. } = *self;
        Self { file, rows, bucket_bits, block_bytes }
    }
}

impl OpenPaged for Columns {
    fn from_file(file: PagedFile) -> Result<Self> {
        let mut meta = file.meta();
        let rows = meta.u32("row count")?;
        let bucket_bits = meta.u8("bits of a bucket")?;
        let block_bytes = meta.u8("bytes of the number of a block")?;
        if bucket_bits > MAX_BUCKET_BITS || !(1..=MAX_BLOCK_BYTES).contains(&block_bytes) {
            return Err(
                meta.corruption("the footer of the columns has a value that is not allowed")
            );
        }
        let columns = Self { rows, bucket_bits, block_bytes, file };
        columns
            .file
            .expect_body_end(columns.directory_at().checked_add(columns.directory_len()))?;
        Ok(columns)
    }
}

impl Columns {
    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Returns the number of leading bits that select a bucket.
    #[inline(always)]
    pub(crate) fn bucket_bits(&self) -> u8 {
        self.bucket_bits
    }

    fn blocks_at(&self) -> usize {
        (HEADER_LEN + 4 * self.rows()).next_multiple_of(ALIGNMENT)
    }

    fn directory_at(&self) -> usize {
        (self.blocks_at() + usize::from(self.block_bytes) * self.rows()).next_multiple_of(ALIGNMENT)
    }

    fn directory_len(&self) -> usize {
        4 * ((1 << self.bucket_bits) + 1)
    }

    /// Returns the bytes of the columns and of the directory.
    pub(crate) fn part_sizes(&self) -> (u64, u64) {
        ((4 + u64::from(self.block_bytes)) * u64::from(self.rows), self.directory_len() as u64)
    }

    /// Returns whether parts may have to be read from the disk when they are needed.
    #[inline(always)]
    pub(crate) fn is_cold(&self) -> bool {
        self.file.is_cold()
    }

    /// Returns a view for many reads.
    #[inline(always)]
    pub(crate) fn view(&self) -> ColumnsView<'_> {
        ColumnsView {
            columns: self,
            body: self.file.body(),
            blocks_at: self.blocks_at(),
            block_bytes: self.block_bytes.into(),
            directory_at: self.directory_at(),
        }
    }
}

/// A table of columns together with its file's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnsView<'a> {
    columns: &'a Columns,
    body: Body<'a>,
    blocks_at: usize,
    block_bytes: usize,
    directory_at: usize,
}

impl<'a> ColumnsView<'a> {
    /// Starts to read the directory entries of these buckets.
    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, buckets: &Range<u32>) {
        self.body.prefetch(self.start_at(buckets.start));
    }

    #[inline(always)]
    fn start_at(&self, bucket: u32) -> usize {
        self.directory_at + 4 * bucket as usize
    }

    /// Returns the first row of each of these buckets, and the first after them.
    #[inline(always)]
    fn starts(&self, buckets: &Range<u32>) -> Result<&'a [[u8; 4]]> {
        let bytes = self.body.bytes_of_pages(self.start_at(buckets.start), 4 * (buckets.len() + 1));
        bytes.map(|bytes| bytes.as_chunks().0)
    }

    /// Returns the rows of these buckets.
    #[inline(always)]
    pub(crate) fn rows_of(&self, buckets: &Range<u32>) -> Result<Range<usize>> {
        // Of many buckets, what is between the ends is not read.
        let (starts, ends) = match buckets.len() {
            ..=NEAR_BUCKETS => self.starts(buckets).map(|starts| (starts, starts))?,
            _ => {
                let of = |bucket| self.starts(&(bucket..bucket));
                (of(buckets.start)?, of(buckets.end)?)
            }
        };
        let row = |start: Option<&[u8; 4]>| start.map_or(0, |&start| row_at(start));
        let (start, end) = (row(starts.first()), row(ends.last()));
        if start > end || end > self.columns.rows() {
            return Err(self.no_such_rows(buckets.start));
        }
        Ok(start..end)
    }

    /// Returns the bucket of a row that is in one of these buckets.
    #[expect(clippy::cast_possible_truncation, reason = "not more than there are buckets")]
    pub(crate) fn bucket_of(&self, row: usize, buckets: &Range<u32>) -> Result<u32> {
        let ends = self.starts(buckets)?.get(1..).unwrap_or_default();
        let before = ends.partition_point(|&end| row_at(end) <= row);
        Ok(buckets.start + before as u32)
    }

    /// Returns the error for a bucket with impossible rows.
    #[cold]
    fn no_such_rows(&self, bucket: u32) -> Error {
        let message = "the directory of the columns refers to rows that they do not have";
        self.body.corruption(self.start_at(bucket), message)
    }

    /// Starts to read the keys of these rows.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, rows: &Range<usize>) {
        let mut at = HEADER_LEN + 4 * rows.start;
        let end = (HEADER_LEN + 4 * rows.end).min(at + MOST_PREFETCHED * CACHE_LINE);
        while at < end {
            self.body.prefetch(at);
            at = (at + CACHE_LINE) & !(CACHE_LINE - 1);
        }
    }

    /// Returns the keys of these rows.
    #[inline(always)]
    pub(crate) fn keys(&self, rows: &Range<usize>) -> Result<&'a [[u8; 4]]> {
        let bytes = self.body.bytes_of_pages(HEADER_LEN + 4 * rows.start, 4 * rows.len());
        bytes.map(|bytes| bytes.as_chunks().0)
    }

    /// Returns the keys of these rows, and up to `more` words that follow them if these are in
    /// memory too: for loops over several keys at a time.
    #[inline(always)]
    pub(crate) fn keys_from(&self, rows: &Range<usize>, more: usize) -> Result<&'a [[u8; 4]]> {
        let start = HEADER_LEN + 4 * rows.start;
        match self.body.bytes_in_memory(start, 4 * (rows.len() + more)) {
            Some(bytes) => Ok(bytes.as_chunks().0),
            None => self.keys(rows),
        }
    }

    /// Starts to read the block of a row.
    #[inline(always)]
    pub(crate) fn prefetch_block(&self, row: usize) {
        self.body.prefetch(self.block_at(row));
    }

    #[inline(always)]
    fn block_at(&self, row: usize) -> usize {
        self.blocks_at + self.block_bytes * row
    }

    /// Returns the blocks of these rows.
    #[inline(always)]
    pub(crate) fn blocks(&self, rows: &Range<usize>) -> Result<impl Iterator<Item = u32> + 'a> {
        let len = self.block_bytes * rows.len();
        let bytes = self.body.bytes_of_pages(self.block_at(rows.start), len)?;
        Ok(bytes
            .chunks_exact(self.block_bytes)
            .map(|number| number.iter().rev().fold(0, |block, &byte| block << 8 | u32::from(byte))))
    }

    /// Returns the error for a row that refers to a block that table 0 does not have.
    #[cold]
    pub(crate) fn no_such_block(&self, row: usize) -> Error {
        let message = "the row refers to a block that table 0 does not have";
        self.body.corruption(self.block_at(row), message)
    }

    /// Asks the system for the pages of the directory that these buckets need.
    #[cold]
    pub(crate) fn fetch_directory(&self, buckets: &Range<u32>) {
        self.columns.file.fetch(self.start_at(buckets.start), 4 * (buckets.len() + 1));
    }

    /// Asks the system for the pages of the keys of these rows.
    #[cold]
    pub(crate) fn fetch_keys(&self, rows: &Range<usize>) {
        self.columns.file.fetch(HEADER_LEN + 4 * rows.start, 4 * rows.len());
    }

    /// Asks the system for the page of the block of a row.
    #[cold]
    pub(crate) fn fetch_block(&self, row: usize) {
        self.columns.file.fetch(self.block_at(row), self.block_bytes);
    }

    /// Returns the rows that have this prefix; if it is longer than bucket and key, those that have
    /// as much of it.
    pub(crate) fn rows_with<F: Fingerprint>(&self, prefix: Prefix<F>) -> Result<Range<usize>> {
        let bits = self.columns.bucket_bits;
        let row = |fingerprint: F| Row(fingerprint.to_u128() << (u128::BITS - F::BITS));
        let (low, high) = (row(prefix.low()), row(prefix.high()));
        let buckets = low.bucket(bits)..high.bucket(bits) + 1;
        let rows = self.rows_of(&buckets)?;
        if prefix.depth <= u32::from(bits) {
            return Ok(rows);
        }
        let (low, high) = (low.key(bits), high.key(bits));
        let keys = self.keys(&rows)?;
        let start = keys.partition_point(|&key| u32::from_le_bytes(key) < low);
        let end = keys.partition_point(|&key| u32::from_le_bytes(key) <= high);
        Ok(rows.start + start..rows.start + end.max(start))
    }

    /// Returns the length of the longest prefix that [`rows_with`](Self::rows_with) tells apart.
    pub(crate) fn resolution(&self) -> u32 {
        u32::from(self.columns.bucket_bits + KEY_BITS)
    }

    /// Passes all rows to `visit`, in order, as numbers.
    pub(super) fn for_each_row(
        &self,
        buckets: Range<u32>,
        visit: &mut impl FnMut(Row),
    ) -> Result<()> {
        for bucket in buckets {
            let rows = self.rows_of(&(bucket..bucket + 1))?;
            let keys = self.keys(&rows)?;
            for (&key, block) in keys.iter().zip(self.blocks(&rows)?) {
                let key = u32::from_le_bytes(key);
                visit(Row::of(bucket, self.columns.bucket_bits, key, block));
            }
        }
        Ok(())
    }
}

/// Returns a row number of the directory.
#[inline(always)]
fn row_at(start: [u8; 4]) -> usize {
    u32::from_le_bytes(start) as usize
}

/// Number of buckets whose starts are read together.
const NEAR_BUCKETS: usize = 16;

/// Most cache lines of keys that are prefetched for a lookup.
const MOST_PREFETCHED: usize = 4;
