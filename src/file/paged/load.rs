//! Reading pages into memory before anybody needs them.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;
use std::sync::Arc;

use super::PAGE;
use super::open_file::CHUNK;
use super::reader::PagedFile;
use crate::base::error::Result;
use crate::file::storage::PageBudget;

/// How many bytes the background asks for in advance while no query waits for the device. A query
/// would wait for them, too.
const READ_AHEAD: usize = CHUNK * PAGE;

impl PagedFile {
    /// Asks the system to read these bytes soon unless they are in memory, without waiting for
    /// them.
    pub(crate) fn prefetch(&self, offset: usize, len: usize) {
        let _ = self.prefetch_missing(offset, len);
    }

    /// Does what [`prefetch`](Self::prefetch) does for bytes that the caller reads next, and has
    /// the memory of their pages allocated while the device reads.
    pub(crate) fn fetch(&self, offset: usize, len: usize) {
        if let Some(pages) = self.prefetch_missing(offset, len) {
            self.pages.memory.populate(pages);
        }
    }

    /// Notes that somebody waits for these pages. Prefetches the next ones for a reader in order.
    pub(super) fn note_read(&self, pages: Range<usize>) {
        // A sequential reader has no budget, and reads many pages at a time.
        let Some(budget) = &self.pages.budget else { return };
        budget.count_wait();
        let next = self.pages.read_ahead.after(&pages);
        self.prefetch(next.start.saturating_mul(PAGE), next.len() * PAGE);
    }

    /// Prefetches the bytes and returns their pages, unless all of these are in memory.
    fn prefetch_missing(&self, offset: usize, len: usize) -> Option<Range<usize>> {
        let len = len.min(self.file.body_len.saturating_sub(offset));
        if len == 0 || self.is_ready(offset, len) {
            return None;
        }
        let pages = offset / PAGE..offset.saturating_add(len).div_ceil(PAGE);
        self.file.source.prefetch_counted(offset, len);
        Some(pages)
    }

    /// Reads a part that every query needs: into the memory for pages if there is room, and into
    /// the system's cache otherwise. Stops early if `goes_on` returns false.
    pub(crate) fn load(&self, offset: usize, len: usize, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let len = len.min(self.file.body_len.saturating_sub(offset));
        let has_room = |budget: &Arc<PageBudget>| budget.has_room(len as u64);
        if self.fits() || self.pages.budget.as_ref().is_some_and(has_room) {
            let pages = offset / PAGE..offset.saturating_add(len).div_ceil(PAGE);
            return self.load_pages(pages, &|_| goes_on());
        }
        self.prefetch(offset, len);
        Ok(())
    }

    /// Returns how many bytes [`load_all`](Self::load_all) would read.
    pub(crate) fn missing_bytes(&self) -> u64 {
        if self.set_aside() == 0 || self.pages.memory.is_warm() {
            return 0;
        }
        let bytes = self.pages.memory.bytes();
        let missing = (0..self.end_of_needed()).filter(|&page| !bytes.is_ready(page));
        (missing.count() * PAGE) as u64
    }

    /// Returns how many bytes are both in the memory for pages and in the copy.
    pub(crate) fn bytes_also_copied(&self) -> u64 {
        let bytes = self.pages.memory.bytes();
        let copied = self.end_of_needed()..self.file.body_len.div_ceil(PAGE);
        (copied.filter(|&page| bytes.is_ready(page)).count() * PAGE) as u64
    }

    /// If memory is set aside for the file, reads all its pages that are neither in memory nor
    /// copied, unless the memory is given up meanwhile. `goes_on` is called after each step with
    /// the bytes that were read, and returns whether to continue. A page that cannot be read is
    /// reported when it is used.
    pub(crate) fn load_all(&self, goes_on: &dyn Fn(u64) -> bool) {
        if self.set_aside() == 0 || self.pages.memory.is_warm() {
            return;
        }
        let end = self.end_of_needed();
        // Others may need the memory in the meantime.
        let goes_on = |bytes| goes_on(bytes) && self.set_aside() > 0;
        let is_sound = self.load_pages(0..end, &goes_on).is_ok();
        // The system still has the pages that queries read. It drops none of its large pages in
        // part.
        self.file.source.forget(0, self.file.body_len as u64);
        // In this order: nothing counts as missing once the memory is given up.
        if is_sound && self.missing_bytes() == 0 && self.set_aside() > 0 {
            self.pages.memory.set_warm();
        }
    }

    /// Reads the pages in this range that are not in memory yet, in small steps. `goes_on` is
    /// called after each step with the bytes that were read, and returns whether to continue. If a
    /// page cannot be read, the others are read all the same, and the first error is returned.
    fn load_pages(&self, pages: Range<usize>, goes_on: &dyn Fn(u64) -> bool) -> Result<()> {
        let (mut page, end) = (pages.start, pages.end);
        let mut result = Ok(());
        let waits = || self.pages.budget.as_ref().map_or(0, |budget| budget.waits());
        let mut waits_before = waits();
        while page < end {
            let missing = self.missing_from(page, end);
            page = missing.end.max(page + 1);
            if missing.is_empty() {
                continue;
            }
            let waits_now = waits();
            let ahead = if waits_now == waits_before { READ_AHEAD } else { 0 };
            waits_before = waits_now;
            let (from, to) = (missing.start * PAGE, (page * PAGE + ahead).min(end * PAGE));
            self.file.source.prefetch_counted(from, to - from);
            let bytes = (missing.len() * PAGE) as u64;
            result = result.and(self.fill_pages(missing));
            if self.set_aside() > 0 {
                self.file.source.forget(from as u64, bytes);
            }
            if !goes_on(bytes) {
                break;
            }
        }
        result
    }

    /// Returns the end of the pages that [`load_all`](Self::load_all) reads. They include the first
    /// page of a copy, because a block may end on it, and blocks are not read from the copy.
    fn end_of_needed(&self) -> usize {
        let pages = self.file.body_len.div_ceil(PAGE);
        let copy = self.file.copy.get().and_then(Option::as_ref);
        copy.map_or(pages, |copy| pages.min(copy.base / PAGE + 1))
    }

    /// Reads the checksums of all pages into memory, because the first use of each page needs one.
    pub(crate) fn load_checksums(&self) -> Result<()> {
        self.file.load_checksums()
    }
}
