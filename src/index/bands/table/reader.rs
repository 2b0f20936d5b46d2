//! Reading a table of bands.

use std::ops::Range;

use super::builder::ALIGNMENT;
use super::row::{MAX_BUCKET_BITS, MAX_PAGE_BYTES, Row, band_mask, bucket_of, rest_of};
use crate::base::cpu::CACHE_LINE;
use crate::base::error::{Error, Result};
use crate::file::codec::header::HEADER_LEN;
use crate::file::paged::{Body, OpenPaged, Paged, PagedFile};
use crate::file::storage::Reservation;
use crate::index::Indexed;

/// An open table of bands.
#[derive(Debug)]
pub(crate) struct BandTable {
    file: PagedFile,
    rows: u32,
    bucket_bits: u8,
    /// Bytes of the number of a page.
    page_bytes: u8,
}

impl Paged for BandTable {
    fn file(&self) -> &PagedFile {
        &self.file
    }

    fn file_mut(&mut self) -> &mut PagedFile {
        &mut self.file
    }

    fn with_file(&self, file: PagedFile) -> Self {
        let Self { rows, bucket_bits, page_bytes, .. } = *self;
        Self { file, rows, bucket_bits, page_bytes }
    }
}

/// The index of a table of bands is its directory.
impl Indexed for BandTable {
    fn paged_file(&self) -> &PagedFile {
        &self.file
    }

    fn needs_index(&self) -> bool {
        self.file.needs_copy()
    }

    fn needed_index_len(&self) -> u64 {
        if self.file.needs_copy() { self.index_len() } else { 0 }
    }

    fn loaded_index_len(&self) -> u64 {
        if self.file.has_copy() { self.index_len() } else { 0 }
    }

    fn load_index(&self, reserved: Reservation, goes_on: &dyn Fn() -> bool) -> Result<()> {
        match self.file.needs_copy() {
            true => self.file.copy_from(self.directory_at(), reserved, goes_on),
            false => Ok(()),
        }
    }

    fn load_index_pages(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        self.file.load(self.directory_at(), self.directory_len(), goes_on)
    }
}

impl OpenPaged for BandTable {
    fn from_file(file: PagedFile) -> Result<Self> {
        let mut meta = file.meta();
        let rows = meta.u32("row count")?;
        let bucket_bits = meta.u8("bits of a bucket")?;
        let page_bytes = meta.u8("bytes of the number of a page")?;
        if bucket_bits > MAX_BUCKET_BITS || !(1..=MAX_PAGE_BYTES).contains(&page_bytes) {
            return Err(meta.corruption("the footer of the bands has a value that is not allowed"));
        }
        let bands = Self { rows, bucket_bits, page_bytes, file };
        bands.file.expect_body_end(bands.directory_at().checked_add(bands.directory_len()))?;
        Ok(bands)
    }
}

impl BandTable {
    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows as usize
    }

    fn pages_at(&self) -> usize {
        (HEADER_LEN + 2 * self.rows()).next_multiple_of(ALIGNMENT)
    }

    fn directory_at(&self) -> usize {
        (self.pages_at() + usize::from(self.page_bytes) * self.rows()).next_multiple_of(ALIGNMENT)
    }

    fn directory_len(&self) -> usize {
        4 * ((1 << self.bucket_bits) + 1)
    }

    /// Returns the bits of a band that the table has.
    pub(crate) fn band_mask(&self) -> u64 {
        band_mask(self.bucket_bits)
    }

    /// Returns the number of buckets.
    pub(crate) fn buckets(&self) -> u32 {
        1 << self.bucket_bits
    }

    /// Returns the bytes of the columns and of the directory.
    pub(crate) fn part_sizes(&self) -> (u64, u64) {
        ((2 + u64::from(self.page_bytes)) * u64::from(self.rows), self.directory_len() as u64)
    }

    /// Returns the bytes of the directory in memory.
    pub(crate) fn index_len(&self) -> u64 {
        self.file.copy_len(self.directory_at()) as u64
    }

    /// Returns whether parts may have to be read from the disk when they are needed.
    #[inline(always)]
    pub(crate) fn is_cold(&self) -> bool {
        self.file.is_cold()
    }

    /// Returns a view for many reads.
    #[inline(always)]
    pub(crate) fn view(&self) -> BandView<'_> {
        BandView {
            bands: self,
            body: self.file.body(),
            directory: self.file.copied_body(),
            pages_at: self.pages_at(),
            page_bytes: self.page_bytes.into(),
            directory_at: self.directory_at(),
        }
    }
}

/// A table of bands together with its file's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BandView<'a> {
    bands: &'a BandTable,
    body: Body<'a>,
    /// The body that has the directory.
    directory: Body<'a>,
    pages_at: usize,
    page_bytes: usize,
    directory_at: usize,
}

impl<'a> BandView<'a> {
    /// Returns the bucket of a band.
    #[inline(always)]
    pub(crate) fn bucket(&self, band: u64) -> u32 {
        bucket_of(band, self.bands.bucket_bits)
    }

    /// Starts to read the directory entry of a bucket.
    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, bucket: u32) {
        self.directory.prefetch(self.start_at(bucket));
    }

    /// Asks the system for the page of that directory entry.
    #[cold]
    pub(crate) fn fetch_directory(&self, bucket: u32) {
        if !self.bands.file.has_copy() {
            self.bands.file.fetch(self.start_at(bucket), 8);
        }
    }

    #[inline(always)]
    fn start_at(&self, bucket: u32) -> usize {
        self.directory_at + 4 * bucket as usize
    }

    /// Returns the rows of a bucket.
    #[inline(always)]
    pub(crate) fn rows_of(&self, bucket: u32) -> Result<Range<usize>> {
        let bytes = self.directory.bytes_of_pages(self.start_at(bucket), 8)?;
        let (ends, _) = bytes.as_chunks();
        let row = |end: Option<&[u8; 4]>| end.map_or(0, |&end| u32::from_le_bytes(end) as usize);
        let (start, end) = (row(ends.first()), row(ends.last()));
        if start > end || end > self.bands.rows() {
            return Err(self.no_such_rows(bucket));
        }
        Ok(start..end)
    }

    /// Returns the error for a bucket with impossible rows.
    #[cold]
    fn no_such_rows(&self, bucket: u32) -> Error {
        let message = "the directory of the bands refers to rows that they do not have";
        self.body.corruption(self.start_at(bucket), message)
    }

    /// Starts to read the first and the last rests of these rows.
    #[inline(always)]
    pub(crate) fn prefetch_rests(&self, rows: &Range<usize>) {
        let mut at = rest_at(rows.start);
        let end = rest_at(rows.end).min(at + MOST_PREFETCHED * CACHE_LINE);
        while at < end {
            self.body.prefetch(at);
            at = (at + CACHE_LINE) & !(CACHE_LINE - 1);
        }
    }

    /// Asks the system for the pages of the rests of these rows.
    #[cold]
    pub(crate) fn fetch_rests(&self, rows: &Range<usize>) {
        self.bands.file.fetch(rest_at(rows.start), 2 * rows.len().min(MOST_AT_ONCE));
    }

    fn rests(&self, rows: &Range<usize>) -> Result<&'a [[u8; 2]]> {
        let bytes = self.body.bytes_of_pages(rest_at(rows.start), 2 * rows.len())?;
        Ok(bytes.as_chunks().0)
    }

    /// Returns which of the rows of its bucket have a band.
    #[inline(always)]
    pub(crate) fn rows_with(&self, band: u64, bucket: &Range<usize>) -> Result<Range<usize>> {
        let rest = rest_of(band, self.bands.bucket_bits);
        if bucket.len() > MOST_AT_ONCE {
            return self.rows_with_among_many(rest, bucket);
        }
        let rests = self.rests(bucket)?;
        let before = match rests.len() {
            // Counting needs no branches.
            ..=MOST_COUNTED => rests.iter().filter(|&&r| u16::from_le_bytes(r) < rest).count(),
            _ => rests.partition_point(|&r| u16::from_le_bytes(r) < rest),
        };
        let from = rests.get(before..).unwrap_or_default();
        let is_same = |r: &[u8; 2]| u16::from_le_bytes(*r) == rest;
        let same = match from.first().is_some_and(is_same) {
            // Rests ascend, and most bands have one row.
            true if from.get(1).is_some_and(is_same) => from.partition_point(is_same),
            one => usize::from(one),
        };
        Ok(bucket.start + before..bucket.start + before + same)
    }

    /// Returns which rows of a bucket have a rest. Reads only some of them.
    #[cold]
    fn rows_with_among_many(&self, rest: u16, bucket: &Range<usize>) -> Result<Range<usize>> {
        let start = self.first_row(bucket.clone(), |other| other >= rest)?;
        Ok(start..self.first_row(start..bucket.end, |other| other > rest)?)
    }

    /// Returns the first of these rows whose rest is one of the last ones, or else their end.
    fn first_row(&self, rows: Range<usize>, is_late: impl Fn(u16) -> bool) -> Result<usize> {
        let Range { mut start, mut end } = rows;
        while start < end {
            let middle = start + (end - start) / 2;
            let bytes = self.body.bytes(rest_at(middle), 2)?.first_chunk();
            match is_late(bytes.map_or(0, |&bytes| u16::from_le_bytes(bytes))) {
                true => end = middle,
                false => start = middle + 1,
            }
        }
        Ok(start)
    }

    /// Starts to read the page of a row.
    #[inline(always)]
    pub(crate) fn prefetch_page(&self, row: usize) {
        self.body.prefetch(self.page_at(row));
    }

    /// Asks the system for where the pages of these rows are.
    #[cold]
    pub(crate) fn fetch_pages(&self, rows: &Range<usize>) {
        self.bands
            .file
            .fetch(self.page_at(rows.start), self.page_bytes * rows.len().min(MOST_AT_ONCE));
    }

    #[inline(always)]
    fn page_at(&self, row: usize) -> usize {
        self.pages_at + self.page_bytes * row
    }

    /// Returns the pages of these rows.
    #[inline(always)]
    pub(crate) fn pages(&self, rows: &Range<usize>) -> Result<impl Iterator<Item = u32> + 'a> {
        let len = self.page_bytes * rows.len();
        let bytes = self.body.bytes_of_pages(self.page_at(rows.start), len)?;
        Ok(bytes
            .chunks_exact(self.page_bytes)
            .map(|number| number.iter().rev().fold(0, |page, &byte| page << 8 | u32::from(byte))))
    }

    /// Returns the error for a row that refers to a page that has no leaf.
    #[cold]
    pub(crate) fn no_such_page(&self, row: usize) -> Error {
        self.body.corruption(self.page_at(row), "the row refers to a page that has no leaf")
    }

    /// Passes all rows of these buckets to `visit`, in order.
    pub(crate) fn for_each_row(
        &self,
        buckets: Range<u32>,
        visit: &mut impl FnMut(Row),
    ) -> Result<()> {
        for bucket in buckets {
            let rows = self.rows_of(bucket)?;
            for (&rest, page) in self.rests(&rows)?.iter().zip(self.pages(&rows)?) {
                let rest = u16::from_le_bytes(rest);
                visit(Row::of_parts(bucket, self.bands.bucket_bits, rest, page));
            }
        }
        Ok(())
    }
}

/// Returns where the rest of a row is.
#[inline(always)]
fn rest_at(row: usize) -> usize {
    HEADER_LEN + 2 * row
}

/// Most rows that are read at once; few in unit tests, so that small tables have more.
pub(crate) const MOST_AT_ONCE: usize = if cfg!(test) { 1 << 6 } else { 1 << 14 };

/// Most rests that are compared one by one.
const MOST_COUNTED: usize = 128;

/// Most cache lines of rests that are prefetched for a lookup.
const MOST_PREFETCHED: usize = 4;
