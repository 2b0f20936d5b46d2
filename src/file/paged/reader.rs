//! Reading a paged file: header and footer when it is opened, pages when they are first used.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::Cell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::counted_pages::CountedPages;
use super::in_order::InOrder;
use super::open_file::{CHUNK, OpenFile};
use super::{FileSummary, PAGE};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::inspection::Inspection;
use crate::file::codec::bytes::Fields;
use crate::file::codec::header::FileHeader;
use crate::file::storage::{PageBudget, PageBytes, ReadFile, Reservation, Storage};

thread_local! {
    static PAGES_READ: Cell<u64> = const { Cell::new(0) };
}

/// Returns how many pages this thread has read from files.
#[inline]
pub(crate) fn pages_read() -> u64 {
    PAGES_READ.get()
}

/// An open, immutable file. Its bytes are returned only after their pages have passed their
/// checksums.
#[derive(Debug)]
pub(crate) struct PagedFile {
    pub(super) file: Arc<OpenFile>,
    pub(super) pages: Arc<CountedPages>,
    /// The memory of a sequential reader, whose `pages` are empty.
    in_order: Option<Box<InOrder>>,
}

impl PagedFile {
    /// Opens a file that must have exactly this header and the length `expected_len`.
    pub(crate) fn open(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        expected_len: u64,
    ) -> Result<Self> {
        let (source, path) = (storage.open(name)?, storage.root().join(name));
        Self::of_source(source, &path, header, expected_len, storage.page_budget())
    }

    /// Does what [`open`](Self::open) does for a file that is open already.
    pub(crate) fn of_source(
        source: Arc<dyn ReadFile>,
        path: &Path,
        header: &FileHeader,
        expected_len: u64,
        budget: Arc<PageBudget>,
    ) -> Result<Self> {
        let file = OpenFile::open(source, path, header, expected_len);
        let file = Arc::new(file.map_err(|error| error.at_path(path))?);
        let pages = Arc::new(CountedPages::new(&file, budget)?);
        Ok(Self { file, pages, in_order: None })
    }

    /// Returns the same file with empty memory for its pages, or with the same memory if that is
    /// set aside for it.
    pub(crate) fn renewed(&self) -> Result<Self> {
        let pages = match &self.pages.budget {
            Some(budget) if !self.pages.stays() => {
                Arc::new(CountedPages::new(&self.file, budget.clone())?)
            }
            _ => self.pages.clone(),
        };
        Ok(Self { file: self.file.clone(), pages, in_order: None })
    }

    /// Returns how many bytes of memory are set aside for the file.
    pub(crate) fn set_aside(&self) -> u64 {
        if self.pages.stays() { self.pages.set_aside } else { 0 }
    }

    /// Lets the memory that is set aside for the file be dropped when the file is
    /// [renewed](Self::renewed).
    pub(crate) fn release(&self) {
        self.pages.is_released.store(true, Ordering::Relaxed);
    }

    /// Returns the same file for a sequential reader, which reads ahead and keeps few pages. If all
    /// pages are in memory, returns `None`.
    pub(crate) fn sequential(&self) -> Result<Option<Self>> {
        if self.pages.memory.is_warm() {
            return Ok(None);
        }
        let pages = Arc::new(CountedPages::none()?);
        let in_order = Some(Box::new(InOrder::new(self.file.body_len)));
        Ok(Some(Self { file: self.file.clone(), pages, in_order }))
    }

    /// Returns whether a sequential reader has read so many pages that it should
    /// [forget](Self::forget_pages) them.
    pub(super) fn has_many_pages(&self) -> bool {
        self.in_order.as_ref().is_some_and(|in_order| in_order.is_full())
    }

    /// Forgets the pages of a sequential reader, but for the last ones.
    pub(super) fn forget_pages(&mut self) {
        if let Some(in_order) = &mut self.in_order {
            in_order.forget();
        }
    }

    /// Returns whether the pages of these bytes are in memory.
    pub(crate) fn is_ready(&self, offset: usize, len: usize) -> bool {
        match &self.in_order {
            Some(in_order) => in_order.get(offset, len).is_some(),
            None => self.pages.memory.bytes().get(offset, len).is_some(),
        }
    }

    /// Returns whether there is room for all pages of the file.
    pub(crate) fn fits(&self) -> bool {
        let has_room = |budget: &Arc<PageBudget>| budget.has_room(self.file.body_len as u64);
        self.pages.set_aside > 0 || self.pages.budget.as_ref().is_none_or(has_room)
    }

    /// Returns whether pages may have to be read from the disk when they are needed. Callers should
    /// then [`prefetch`](Self::prefetch) what they are about to read.
    #[inline(always)]
    pub(crate) fn is_cold(&self) -> bool {
        !self.pages.memory.is_warm()
    }

    /// Returns the file's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the id of the database that the file belongs to.
    pub(crate) fn database_id(&self) -> u128 {
        self.file.database_id
    }

    /// Returns the length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.file.len as u64
    }

    /// Returns the length of the body.
    #[cfg(test)]
    pub(crate) fn body_len(&self) -> usize {
        self.file.body_len
    }

    /// Returns an error unless the body ends at `end`, the end of its last part; `None` stands for
    /// an end outside of the address space. Every kind of file checks this when it is opened,
    /// before it relies on a count or an offset in its footer.
    pub(crate) fn expect_body_end(&self, end: Option<usize>) -> Result<()> {
        if end == Some(self.file.body_len) {
            return Ok(());
        }
        Err(self.corruption(
            self.file.body_len,
            "the length of the body does not match the counts in the footer",
        ))
    }

    /// Returns the kind's own fields in the footer, with their offset.
    pub(crate) fn meta(&self) -> Fields<'_> {
        self.file.meta()
    }

    /// Returns the memory used in addition to pages, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.pages.memory.overhead() + self.file.checksums_len()
    }

    /// Returns the body, for many reads in a row.
    #[inline(always)]
    pub(crate) fn body(&self) -> Body<'_> {
        Body { bytes: self.pages.memory.bytes(), base: 0, file: self }
    }

    /// Returns the body for reads of the part that [`copy_from`](Self::copy_from) copies: from the
    /// copy, once there is one.
    #[inline(always)]
    pub(crate) fn copied_body(&self) -> Body<'_> {
        match self.file.copy.get() {
            Some(Some(copy)) => Body { bytes: copy.memory.bytes(), base: copy.base, file: self },
            _ => self.body(),
        }
    }

    /// Returns whether the file is not copied, and has not failed to be copied.
    pub(crate) fn needs_copy(&self) -> bool {
        self.file.copy.get().is_none()
    }

    /// Returns whether there is a copy.
    pub(crate) fn has_copy(&self) -> bool {
        matches!(self.file.copy.get(), Some(Some(_)))
    }

    /// Returns the length of a copy from the page with this offset on.
    pub(crate) fn copy_len(&self, offset: usize) -> usize {
        self.file.body_len.saturating_sub(offset / PAGE * PAGE)
    }

    /// Copies the body to memory, from the page with this offset on. Each page must pass its
    /// checksum in the copy. Makes no copy if `goes_on` returns false before the end, nor ever
    /// again if a page is damaged.
    pub(crate) fn copy_from(
        &self,
        offset: usize,
        reserved: Reservation,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<()> {
        match self.file.copied(offset, reserved, goes_on) {
            Ok(None) => Ok(()),
            Ok(copy) => {
                self.pages.grow(self.copy_len(offset) as u64);
                // If another thread was faster, its copy is as good.
                let _ = self.file.copy.set(copy);
                Ok(())
            }
            Err(error) => {
                if error.kind() == ErrorKind::Corruption {
                    let _ = self.file.copy.set(None);
                }
                Err(error)
            }
        }
    }

    /// Returns `len` bytes of the body at `offset`, checked.
    #[inline]
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Result<&[u8]> {
        self.body().bytes(offset, len)
    }

    /// Returns what [`bytes`](Self::bytes) does and some bytes that follow on the same page. For
    /// decoders that load words: it takes them longer without.
    #[inline]
    pub(crate) fn bytes_with_tail(&self, offset: usize, len: usize) -> Result<&[u8]> {
        match self.pages.memory.bytes().until_page_end(offset, len) {
            Some(bytes) => Ok(bytes),
            None if len <= self.rest_of_page(offset) => self.body().until_page_end(offset, len),
            None => self.bytes(offset, len),
        }
    }

    /// Returns how many bytes follow on the same page of the body.
    fn rest_of_page(&self, offset: usize) -> usize {
        (PAGE - offset % PAGE).min(self.file.body_len.saturating_sub(offset))
    }

    /// Returns what [`bytes`](Self::bytes) does, for a sequential reader.
    #[inline(never)]
    fn bytes_in_order<'a>(
        &self,
        in_order: &'a InOrder,
        offset: usize,
        len: usize,
    ) -> Result<&'a [u8]> {
        if let Some(bytes) = in_order.get(offset, len) {
            return Ok(bytes);
        }
        if offset.saturating_add(len) > self.file.body_len {
            return Err(self.outside(offset, len));
        }
        in_order.read(offset, len, &|pages, to| self.read(pages, to))?;
        in_order.get(offset, len).ok_or_else(|| self.outside(offset, len))
    }

    /// Makes all pages of these bytes ready.
    #[cold]
    #[inline(never)]
    fn fill(&self, offset: usize, len: usize) -> Result<()> {
        let end = offset.saturating_add(len);
        if end > self.file.body_len {
            return Err(self.outside(offset, len));
        }
        self.note_read(offset / PAGE..end.div_ceil(PAGE));
        let (mut page, end) = (offset / PAGE, end.div_ceil(PAGE));
        while page < end {
            let needed = self.missing_from(page, end);
            if !needed.is_empty() {
                self.fill_pages(needed.clone())?;
            }
            page = needed.end.max(page + 1);
        }
        Ok(())
    }

    /// Returns the pages from `first` on that are not ready, up to `end` and at most [`CHUNK`].
    pub(super) fn missing_from(&self, first: usize, end: usize) -> Range<usize> {
        let bytes = self.pages.memory.bytes();
        let end = end.min(first.saturating_add(CHUNK));
        let missing = (first..end).take_while(|&page| !bytes.is_ready(page)).count();
        first..first + missing
    }

    /// Makes some pages ready that are not.
    pub(super) fn fill_pages(&self, pages: Range<usize>) -> Result<()> {
        if pages.len() == 1 {
            let mut buffer = [0; PAGE];
            let to = buffer.get_mut(..self.file.len_of(&pages)).unwrap_or_default();
            self.read(pages.clone(), to)?;
            self.insert(pages.start, to);
            return Ok(());
        }
        let mut buffer = vec![0; self.file.len_of(&pages)];
        if self.read(pages.clone(), &mut buffer).is_err() {
            // The error is about the first page that has one.
            let mut pages = pages;
            return pages.try_for_each(|page| self.fill_pages(page..page + 1));
        }
        pages.zip(buffer.chunks(PAGE)).for_each(|(page, bytes)| self.insert(page, bytes));
        Ok(())
    }

    /// Reads and checks pages. The system may keep a copy of them: if memory is set aside for the
    /// file, it is dropped once the file is complete, and otherwise the pages are dropped from
    /// memory before long. A query does not ask for that each time: it would wait until all
    /// processors have finished with the pages that they read last.
    fn read(&self, pages: Range<usize>, to: &mut [u8]) -> Result<()> {
        PAGES_READ.set(pages_read().wrapping_add(pages.len() as u64));
        match self.in_order {
            Some(_) => self.file.read_pages_once(pages, to),
            None => self.file.read_pages(pages, to),
        }
    }

    fn insert(&self, page: usize, bytes: &[u8]) {
        let CountedPages { memory, budget, set_aside, .. } = &*self.pages;
        let is_new = memory.insert(page, bytes);
        let Some(budget) = budget.as_ref().filter(|_| is_new) else { return };
        if *set_aside == 0 {
            budget.add_page();
        } else if memory.is_warm() {
            // This was the last page, so the background has nothing to read.
            self.file.source.forget(0, self.file.body_len as u64);
        }
        self.pages.grow(PAGE as u64);
    }

    /// Does what [`OpenFile::verify`] does.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<bool> {
        self.file.verify(expected, inspection)
    }

    /// Passes all bytes of the file to `visit`, unchecked, for a copy.
    pub(crate) fn for_each_chunk(&self, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.file.for_each_chunk(|_, bytes| visit(bytes))
    }

    /// Returns an error at an offset of this file.
    #[cold]
    pub(crate) fn corruption(&self, offset: usize, message: &str) -> Error {
        self.file.corruption(offset, message)
    }

    /// Returns the error for bytes that are not all in the body.
    #[cold]
    fn outside(&self, offset: usize, len: usize) -> Error {
        let message =
            format!("{len} bytes expected here, but the body ends at byte {}", self.file.body_len);
        self.corruption(offset, &message)
    }
}

/// The body of an open file, for many reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    /// The bytes of the file from `base` on.
    bytes: PageBytes<'a>,
    base: usize,
    file: &'a PagedFile,
}

impl<'a> Body<'a> {
    /// Returns `len` bytes at `offset`, checked.
    #[inline(always)]
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Result<&'a [u8]> {
        // Nearly always the bytes are within one page that was read before.
        match self.bytes.within_page(offset.wrapping_sub(self.base), len) {
            Some(bytes) => Ok(bytes),
            None => self.read(offset, len),
        }
    }

    /// Does what [`bytes`](Self::bytes) does, faster for bytes of many pages.
    #[inline(always)]
    pub(crate) fn bytes_of_pages(&self, offset: usize, len: usize) -> Result<&'a [u8]> {
        match self.bytes.get(offset.wrapping_sub(self.base), len) {
            Some(bytes) => Ok(bytes),
            None => self.read(offset, len),
        }
    }

    /// Returns the bytes from `offset` to the end of the page, at least `len`, all checked.
    #[inline(always)]
    pub(crate) fn until_page_end(&self, offset: usize, len: usize) -> Result<&'a [u8]> {
        match self.bytes.until_page_end(offset.wrapping_sub(self.base), len) {
            Some(bytes) => Ok(bytes),
            None => match self.file.rest_of_page(offset) {
                rest if rest < len => Err(self.file.outside(offset, len)),
                rest => self.read(offset, rest),
            },
        }
    }

    /// Returns all bytes from `offset` on if they are in memory and checked, which is so in a
    /// [copied body](PagedFile::copied_body).
    #[inline(always)]
    pub(crate) fn complete_from(&self, offset: usize) -> Option<&'a [u8]> {
        self.bytes.complete_from(offset.wrapping_sub(self.base))
    }

    /// Reads what is missing of these bytes, and returns them.
    #[cold]
    #[inline(never)]
    fn read(&self, offset: usize, len: usize) -> Result<&'a [u8]> {
        if let Some(in_order) = &self.file.in_order {
            return self.file.bytes_in_order(in_order, offset, len);
        }
        self.file.fill(offset, len)?;
        let bytes = self.bytes.get(offset.wrapping_sub(self.base), len);
        bytes.ok_or_else(|| self.file.outside(offset, len))
    }

    /// Prefetches the cache line of a byte without waiting for it.
    #[inline(always)]
    pub(crate) fn prefetch(&self, offset: usize) {
        self.bytes.prefetch(offset.wrapping_sub(self.base));
    }

    /// Does what [`PagedFile::corruption`] does.
    #[cold]
    pub(crate) fn corruption(&self, offset: usize, message: &str) -> Error {
        self.file.corruption(offset, message)
    }
}
