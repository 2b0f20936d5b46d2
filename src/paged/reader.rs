//! Reading a paged file: header and footer when it is opened, pages when they are first used.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::copy::BodyCopy;
use super::{
    CHECKSUM_PAGE_FLAG, CHECKSUMS_PER_PAGE, Checksum, END_MARK, FOOTER_NUMBER, FileSummary, PAGE,
    TRAILER_LEN,
};
use crate::codec::bytes::Fields;
use crate::codec::header::{FileHeader, HEADER_LEN};
use crate::cpu;
use crate::error::{Error, Result};
use crate::inspection::Inspection;
use crate::storage::{Map, Pages, Reservation, Storage};

/// Pages that are read at a time when an entire file or a large part is read.
const PREFETCH_PAGES: usize = 64;

/// An open, immutable file. Its bytes are returned only after their pages have passed their
/// checksums.
#[derive(Debug)]
pub(crate) struct PagedFile {
    map: Map,
    path: PathBuf,
    checksum: Checksum,
    body_len: usize,
    /// The offset and the length of the meta fields.
    meta: (usize, usize),
    /// One bit per page, set once the page has passed its checksum. Setting a bit twice is
    /// harmless, and the file's bytes never change, so threads need no memory ordering.
    checked: Box<[AtomicU64]>,
    /// The copy, once there is one; `None` if copying failed.
    copy: OnceLock<Option<BodyCopy>>,
}

impl PagedFile {
    /// Opens a file that must have exactly this header and the length `expected_len`.
    pub(crate) fn open(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        expected_len: u64,
    ) -> Result<Self> {
        let path = storage.root().join(name);
        let map = storage.map_for_queries(name)?;
        Self::from_map(map, &path, header, expected_len).map_err(|e| e.at_path(path))
    }

    fn from_map(map: Map, path: &Path, header: &FileHeader, expected_len: u64) -> Result<Self> {
        if map.len() as u64 != expected_len {
            return Err(Error::corruption(format!(
                "the file has {} bytes, the manifest says {expected_len}",
                map.len()
            )));
        }
        header.expect(&map)?;
        let checksum = Checksum::of_file(header);
        let (body_len, meta) = read_footer(&map, &checksum)?;
        let words = body_len.div_ceil(PAGE).div_ceil(64);
        let checked = (0..words).map(|_| AtomicU64::new(0)).collect();
        let (path, copy) = (path.to_owned(), OnceLock::new());
        Ok(Self { map, path, checksum, body_len, meta, checked, copy })
    }

    /// Returns whether single pages are read from the disk when they are needed. Callers should
    /// then [`prefetch`](Self::prefetch) what they are about to read.
    #[inline]
    pub(crate) fn is_cold(&self) -> bool {
        self.map.is_cold()
    }

    /// Prefetches these bytes if the file is cold, without waiting for them.
    pub(crate) fn prefetch(&self, offset: usize, len: usize) {
        self.map.prefetch(offset, len.min(self.map.len().saturating_sub(offset)));
    }

    /// Reads a part that every query needs into memory if the file is cold.
    pub(crate) fn load_if_cold(&self, offset: usize, len: usize) -> Result<()> {
        if !self.is_cold() {
            return Ok(());
        }
        self.map.prefetch(offset, len);
        self.map.populate(offset, len).map_err(|e| Error::io("read", &self.path, e))
    }

    /// Reads the checksums of all pages into memory if the file is cold, because the first use of
    /// each page needs one.
    pub(crate) fn load_checksums_if_cold(&self) -> Result<()> {
        self.load_if_cold(self.body_len, self.map.len() - self.body_len)
    }

    /// Returns the file's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(test)]
    pub(super) fn body_len(&self) -> usize {
        self.body_len
    }

    /// Returns an error unless the body ends at `end`, the end of its last part; `None` stands for
    /// an end outside of the address space. Every kind of file checks this when it is opened,
    /// before it relies on a count or an offset in its footer.
    pub(crate) fn expect_body_end(&self, end: Option<usize>) -> Result<()> {
        if end == Some(self.body_len) {
            return Ok(());
        }
        Err(self.corruption(
            self.body_len,
            "the length of the body does not match the counts in the footer",
        ))
    }

    /// Returns the kind's own fields in the footer, with their offset.
    pub(crate) fn meta(&self) -> Fields<'_> {
        let (start, len) = self.meta;
        Fields::new(self.map.get(start..start + len).unwrap_or_default(), start as u64)
    }

    /// Returns the memory used in addition to the map, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.checked.len() * 8
    }

    /// Returns the body, for many reads in a row.
    #[inline(always)]
    pub(crate) fn body(&self) -> Body<'_> {
        Body { bytes: &self.map, base: 0, is_checked: false, file: self }
    }

    /// Returns the body for reads of the part that [`copy_from`](Self::copy_from) copies: from the
    /// copy, once there is one.
    #[inline(always)]
    pub(crate) fn copied_body(&self) -> Body<'_> {
        match self.copy.get() {
            Some(Some(copy)) => {
                Body { bytes: &copy.bytes, base: copy.base, is_checked: true, file: self }
            }
            _ => self.body(),
        }
    }

    /// Returns whether the file is not copied, and has neither failed to be copied nor is in memory
    /// anyway.
    pub(crate) fn needs_copy(&self) -> bool {
        self.copy.get().is_none() && !self.map.is_resident()
    }

    /// Returns whether there is a copy.
    pub(crate) fn has_copy(&self) -> bool {
        matches!(self.copy.get(), Some(Some(_)))
    }

    /// Returns the length of a copy from the page with this offset on.
    pub(crate) fn copy_len(&self, offset: usize) -> usize {
        self.body_len.saturating_sub(offset / PAGE * PAGE)
    }

    /// Copies the body to memory, from the page with this offset on. Each page must pass its
    /// checksum in the copy. Makes no copy if `goes_on` returns false before the end, nor ever again
    /// after an error.
    pub(crate) fn copy_from(
        &self,
        offset: usize,
        reserved: Reservation,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<()> {
        match self.copied(offset, reserved, goes_on) {
            Ok(None) => Ok(()),
            Ok(copy) => {
                // If another thread was faster, its copy is as good.
                let _ = self.copy.set(copy);
                Ok(())
            }
            Err(error) => {
                let _ = self.copy.set(None);
                Err(error)
            }
        }
    }

    fn copied(
        &self,
        offset: usize,
        reserved: Reservation,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<BodyCopy>> {
        let io_error = |e| Error::io("copy to memory", &self.path, e);
        let (base, len) = (offset / PAGE * PAGE, self.copy_len(offset));
        let mut bytes = Pages::new(len).map_err(|e| e.at_path(&self.path))?;
        for (chunk, to) in bytes.chunks_mut(PREFETCH_PAGES * PAGE).enumerate() {
            if !goes_on() {
                return Ok(None);
            }
            let start = base + chunk * PREFETCH_PAGES * PAGE;
            self.prefetch(start, 2 * PREFETCH_PAGES * PAGE);
            self.map.populate(start, to.len()).map_err(io_error)?;
            let from = self.map.get(start..).unwrap_or_default();
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
            for (page, bytes) in (start / PAGE..).zip(to.chunks(PAGE)) {
                self.check_page(page, bytes)?;
            }
        }
        Ok(Some(BodyCopy { base, bytes, _reserved: reserved }))
    }

    /// Checks the bytes of a page.
    fn check_page(&self, page: usize, bytes: &[u8]) -> Result<()> {
        if self.checksum.piece(page as u64, bytes) == self.page_checksum(page)? {
            return Ok(());
        }
        Err(self.corruption(page * PAGE, "the page does not match its checksum"))
    }

    /// Returns `len` bytes of the body at `offset`, checked.
    #[inline]
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Result<&[u8]> {
        self.body().bytes(offset, len)
    }

    /// Checks all pages of these bytes that were not checked before.
    #[cold]
    #[inline(never)]
    fn check_pages(&self, offset: usize, len: usize) -> Result<()> {
        let end = offset.saturating_add(len);
        if end > self.body_len {
            return Err(self.outside(offset, len));
        }
        for page in offset / PAGE..end.div_ceil(PAGE) {
            if !is_checked(&self.checked, page) {
                self.check_now(page)?;
            }
        }
        Ok(())
    }

    /// Returns what [`bytes`](Self::bytes) does and up to `tail` bytes that follow, which are not
    /// checked and mean nothing. For decoders that load words.
    #[inline]
    pub(crate) fn bytes_with_tail(&self, offset: usize, len: usize, tail: usize) -> Result<&[u8]> {
        let checked = self.bytes(offset, len)?;
        Ok(self.map.get(offset..offset + len + tail).unwrap_or(checked))
    }

    /// Reads these bytes into memory in one go, unless they were checked before. Ignores read
    /// errors: checking the pages reports them.
    pub(crate) fn load(&self, offset: usize, len: usize) {
        let end = self.body_len.min(offset.saturating_add(len));
        let first = offset / PAGE;
        let is_checked = |page| is_checked(&self.checked, page);
        if len > PAGE && !(is_checked(first) && is_checked(end.saturating_sub(1) / PAGE)) {
            let start = first * PAGE;
            let _ = self.map.populate(start, end.saturating_sub(start));
        }
    }

    /// Reads a page and checks it, even if it was checked before.
    fn check_now(&self, page: usize) -> Result<()> {
        let offset = page * PAGE;
        let end = self.body_len.min(offset + PAGE);
        // If the operating system supports it, an unreadable page is an error here, not a fault
        // later.
        self.map.populate(offset, end - offset).map_err(|e| Error::io("read", &self.path, e))?;
        self.check_page(page, self.map.get(offset..end).unwrap_or_default())?;
        if let Some(word) = self.checked.get(page / 64) {
            word.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the stored checksum of a page, after checking the checksum page that it is in.
    fn page_checksum(&self, page: usize) -> Result<u32> {
        let checksum_page = page / CHECKSUMS_PER_PAGE;
        let pages = self.body_len.div_ceil(PAGE);
        let len = (pages - checksum_page * CHECKSUMS_PER_PAGE).min(CHECKSUMS_PER_PAGE) * 4;
        let start = self.body_len + checksum_page * PAGE;
        let crcs = self.map.get(start..start + len).unwrap_or_default();
        let mut own = Fields::new(self.map.get(start + len..).unwrap_or_default(), start as u64);
        let own = own.u32("checksum of page checksums").map_err(|e| e.at_path(&self.path))?;
        if own != self.checksum.piece(CHECKSUM_PAGE_FLAG | checksum_page as u64, crcs) {
            return Err(
                self.corruption(start, "the page checksums do not match their own checksum")
            );
        }
        let at = page % CHECKSUMS_PER_PAGE * 4;
        Fields::new(crcs.get(at..).unwrap_or_default(), (start + at) as u64).u32("page checksum")
    }

    /// Reads every byte, and checks each page and then the entire file against their checksums.
    /// Returns whether the file is sound. Damage is reported once: the checksum of the entire file
    /// adds nothing if a page is damaged, nor do the pages whose checksums are on one damaged page.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<bool> {
        let found = inspection.found();
        let mut last_offset = None;
        let mut file_crc = crc32fast::Hasher::new();
        for (chunk, bytes) in self.map.chunks(PREFETCH_PAGES * PAGE).enumerate() {
            let start = chunk * PREFETCH_PAGES * PAGE;
            self.prefetch(start, 2 * PREFETCH_PAGES * PAGE);
            if let Err(e) = self.map.populate(start, bytes.len()) {
                inspection.report(Error::io("read", &self.path, e));
                return Ok(false);
            }
            let end = self.body_len.min(start + bytes.len());
            for page in start / PAGE..end.max(start).div_ceil(PAGE) {
                if let Err(error) = self.check_now(page)
                    && last_offset != Some(error.offset())
                {
                    last_offset = Some(error.offset());
                    inspection.report(error);
                }
            }
            file_crc.update(bytes);
            inspection.advance(bytes.len())?;
        }
        if file_crc.finalize() != expected.crc && inspection.found() == found {
            let message = "the file does not match its checksum in the manifest";
            inspection.report(self.corruption(0, message));
        }
        Ok(inspection.found() == found)
    }

    /// Returns all bytes of the file, for a copy.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.map
    }

    /// Returns an error at an offset of this file.
    #[cold]
    pub(crate) fn corruption(&self, offset: usize, message: &str) -> Error {
        Error::corruption(message).at_path(&self.path).at_offset(offset as u64)
    }

    /// Returns the error for bytes that are not all in the body.
    #[cold]
    fn outside(&self, offset: usize, len: usize) -> Error {
        let message =
            format!("{len} bytes expected here, but the body ends at byte {}", self.body_len);
        self.corruption(offset, &message)
    }
}

/// The body of an open file, for many reads: a read need not go through the map.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    /// The bytes of the file from `base` on.
    bytes: &'a [u8],
    base: usize,
    /// Whether all of these bytes are in the body and have passed their checksums.
    is_checked: bool,
    file: &'a PagedFile,
}

impl<'a> Body<'a> {
    /// Returns `len` bytes at `offset`, checked.
    #[inline(always)]
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Result<&'a [u8]> {
        self.check(offset, len)?;
        let start = offset.wrapping_sub(self.base);
        Ok(self.bytes.get(start..start.wrapping_add(len)).unwrap_or_default())
    }

    /// Does what [`bytes`](Self::bytes) does, faster for bytes of many pages.
    #[inline(always)]
    pub(crate) fn bytes_of_pages(&self, offset: usize, len: usize) -> Result<&'a [u8]> {
        let end = offset.saturating_add(len);
        let checked =
            self.is_checked || are_checked(&self.file.checked, offset / PAGE..end.div_ceil(PAGE));
        if !checked || end > self.file.body_len {
            self.file.check_pages(offset, len)?;
        }
        Ok(self.from(offset).get(..len).unwrap_or_default())
    }

    /// Returns the bytes from `offset` on, checked or not.
    #[inline(always)]
    pub(crate) fn from(&self, offset: usize) -> &'a [u8] {
        self.bytes.get(offset.wrapping_sub(self.base)..).unwrap_or_default()
    }

    /// Returns an error unless these bytes are in the body and their pages pass their checksums.
    #[inline(always)]
    pub(crate) fn check(&self, offset: usize, len: usize) -> Result<()> {
        // Nearly always the bytes are within one page that was checked before.
        let end = offset.saturating_add(len);
        let within = offset % PAGE + len <= PAGE && end <= self.file.body_len;
        if within && (self.is_checked || is_checked(&self.file.checked, offset / PAGE)) {
            return Ok(());
        }
        self.file.check_pages(offset, len)
    }

    /// Returns all bytes of the file, checked or not; not for a [copied
    /// body](PagedFile::copied_body).
    #[inline(always)]
    pub(crate) fn raw(&self) -> &'a [u8] {
        self.bytes
    }

    /// Prefetches the cache line of a byte without waiting for it.
    #[inline(always)]
    pub(crate) fn prefetch(&self, offset: usize) {
        cpu::prefetch(self.bytes, offset.wrapping_sub(self.base));
    }

    /// Does what [`PagedFile::corruption`] does.
    #[cold]
    pub(crate) fn corruption(&self, offset: usize, message: &str) -> Error {
        self.file.corruption(offset, message)
    }
}

/// Returns whether a page has passed its checksum before.
#[inline(always)]
fn is_checked(checked: &[AtomicU64], page: usize) -> bool {
    let word = checked.get(page / 64);
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
}

/// Returns whether all of these pages have passed their checksums before.
#[inline(always)]
fn are_checked(checked: &[AtomicU64], pages: Range<usize>) -> bool {
    let words = checked.get(pages.start / 64..pages.end.div_ceil(64)).unwrap_or_default();
    let last = words.len().saturating_sub(1);
    words.iter().enumerate().all(|(number, word)| {
        let mut unchecked = !word.load(Ordering::Relaxed);
        if number == 0 {
            unchecked &= u64::MAX << (pages.start % 64);
        }
        if number == last {
            unchecked &= u64::MAX >> (pages.end.wrapping_neg() % 64);
        }
        unchecked == 0
    })
}

/// Returns the body's length, and the offset and the length of the meta fields.
fn read_footer(file: &[u8], checksum: &Checksum) -> Result<(usize, (usize, usize))> {
    let trailer = file.len().saturating_sub(TRAILER_LEN);
    let mut fields = Fields::new(file.get(trailer..).unwrap_or_default(), trailer as u64);
    let body = fields.u64("body length")?;
    let meta_len = fields.u32("meta length")? as usize;
    let crc = fields.u32("footer checksum")?;
    if fields.bytes(END_MARK.len(), "end mark")? != END_MARK {
        return Err(
            Error::corruption("the file does not end with the end mark").at_offset(trailer as u64)
        );
    }
    let Some(start) = trailer.checked_sub(meta_len) else {
        return Err(
            Error::corruption("the footer is longer than the file").at_offset(trailer as u64)
        );
    };
    let covered = file.get(start..trailer + 12).unwrap_or_default();
    if checksum.piece(FOOTER_NUMBER, covered) != crc {
        return Err(
            Error::corruption("the footer does not match its checksum").at_offset(start as u64)
        );
    }
    let body_len = usize::try_from(body).unwrap_or(usize::MAX);
    let pages = body_len.div_ceil(PAGE);
    let checksums = pages.saturating_add(pages.div_ceil(CHECKSUMS_PER_PAGE)).saturating_mul(4);
    if body_len < HEADER_LEN || body_len.saturating_add(checksums) != start {
        return Err(Error::corruption(
            "the body length in the footer does not match the file's length",
        )
        .at_offset(trailer as u64));
    }
    Ok((body_len, (start, meta_len)))
}
