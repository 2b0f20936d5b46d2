//! Reading a paged file: header and footer at open, pages when first touched.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Checksum, END_MAGIC, FOOTER_MARK, FileSummary, GROUP, GROUP_MARK, PAGE, TRAILER_LEN};
use crate::codec::bytes::Fields;
use crate::codec::header::{FileHeader, HEADER_LEN};
use crate::cpu;
use crate::error::{Error, Result};
use crate::storage::{Map, Storage};

/// Pages that are announced at a time where a whole cold file is read.
const AHEAD: usize = 64;

/// An open, immutable file. Bytes are handed out only after their pages passed their checksums.
#[derive(Debug)]
pub(crate) struct PagedFile {
    map: Map,
    path: PathBuf,
    checksum: Checksum,
    body_len: usize,
    /// Where meta begins and how long it is.
    meta: (usize, usize),
    /// One bit a page: it passed its checksum. Setting a bit twice does no harm, and the bytes
    /// never change, so no ordering is needed between threads.
    checked: Box<[AtomicU64]>,
}

impl PagedFile {
    /// Opens a file that must be `header`'s and as long as `expected_len`.
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
                "the manifest says {expected_len} bytes, the file has {}",
                map.len()
            )));
        }
        header.expect(&map)?;
        let checksum = Checksum::of_file(header);
        let (body_len, meta) = read_footer(&map, &checksum)?;
        let words = body_len.div_ceil(PAGE).div_ceil(64);
        let checked = (0..words).map(|_| AtomicU64::new(0)).collect();
        let file = Self { map, path: path.to_owned(), checksum, body_len, meta, checked };
        // Each page's first use asks for its checksum.
        file.load_if_cold(body_len, file.map.len() - body_len)?;
        Ok(file)
    }

    /// Whether single pages are read when they are asked for: reads should be announced by
    /// [`prefetch`](Self::prefetch).
    #[inline]
    pub(crate) fn is_cold(&self) -> bool {
        self.map.is_cold()
    }

    /// Announces that these bytes will be read, if the file is cold, and does not wait for them.
    pub(crate) fn prefetch(&self, offset: usize, len: usize) {
        self.map.fetch(offset, len.min(self.map.len().saturating_sub(offset)));
    }

    /// Reads a part of a cold file that every query needs.
    pub(crate) fn load_if_cold(&self, offset: usize, len: usize) -> Result<()> {
        if !self.is_cold() {
            return Ok(());
        }
        self.map.fetch(offset, len);
        self.map.populate(offset, len).map_err(|e| Error::io("read", &self.path, e))
    }

    /// The file's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(test)]
    pub(super) fn body_len(&self) -> usize {
        self.body_len
    }

    /// Requires that the body ends where its parts do; `end` is `None` if that is beyond all files.
    /// Every kind asks this at open, before it goes by a count or an offset of its footer.
    pub(crate) fn expect_body_end(&self, end: Option<usize>) -> Result<()> {
        if end == Some(self.body_len) {
            return Ok(());
        }
        Err(self.corruption(self.body_len, "the body has another length than the footer says"))
    }

    /// The kind's own part of the footer, with its offset.
    pub(crate) fn meta(&self) -> Fields<'_> {
        let (start, len) = self.meta;
        Fields::new(self.map.get(start..start + len).unwrap_or_default(), start as u64)
    }

    /// Memory held beside the map, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.checked.len() * 8
    }

    /// The body, for many reads in a row.
    #[inline(always)]
    pub(crate) fn body(&self) -> Body<'_> {
        Body { bytes: &self.map, checked: &self.checked, len: self.body_len, file: self }
    }

    /// `len` bytes of the body at `offset`, checked.
    #[inline]
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Result<&[u8]> {
        self.body().bytes(offset, len)
    }

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

    /// As [`bytes`](Self::bytes), and up to `behind` bytes that follow, unchecked and of no meaning:
    /// for a decoder that loads whole words.
    #[inline]
    pub(crate) fn bytes_with_tail(
        &self,
        offset: usize,
        len: usize,
        behind: usize,
    ) -> Result<&[u8]> {
        let checked = self.bytes(offset, len)?;
        Ok(self.map.get(offset..offset + len + behind).unwrap_or(checked))
    }

    /// Reads these bytes into memory in one go, if they were not checked before. What cannot be read
    /// is found out by who checks it.
    pub(crate) fn load(&self, offset: usize, len: usize) {
        let end = self.body_len.min(offset.saturating_add(len));
        let first = offset / PAGE;
        let is_checked = |page| is_checked(&self.checked, page);
        if len > PAGE && !(is_checked(first) && is_checked(end.saturating_sub(1) / PAGE)) {
            let start = first * PAGE;
            let _ = self.map.populate(start, end.saturating_sub(start));
        }
    }

    fn check_now(&self, page: usize) -> Result<()> {
        let offset = page * PAGE;
        let end = self.body_len.min(offset + PAGE);
        // Where the system can, a page that cannot be read becomes an error here and not a fault.
        self.map.populate(offset, end - offset).map_err(|e| Error::io("read", &self.path, e))?;
        let bytes = self.map.get(offset..end).unwrap_or_default();
        if self.checksum.piece(page as u64, bytes) != self.page_checksum(page)? {
            return Err(self.corruption(offset, "page fails its checksum"));
        }
        if let Some(word) = self.checked.get(page / 64) {
            word.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
        Ok(())
    }

    /// The recorded checksum of a page, its group checked.
    fn page_checksum(&self, page: usize) -> Result<u32> {
        let group = page / GROUP;
        let pages = self.body_len.div_ceil(PAGE);
        let len = (pages - group * GROUP).min(GROUP) * 4;
        let start = self.body_len + group * PAGE;
        let crcs = self.map.get(start..start + len).unwrap_or_default();
        let mut own = Fields::new(self.map.get(start + len..).unwrap_or_default(), start as u64);
        let own = own.u32("checksum of checksums").map_err(|e| e.at_path(&self.path))?;
        if own != self.checksum.piece(GROUP_MARK | group as u64, crcs) {
            return Err(self.corruption(start, "page checksums fail their checksum"));
        }
        let at = page % GROUP * 4;
        Fields::new(crcs.get(at..).unwrap_or_default(), (start + at) as u64).u32("page checksum")
    }

    /// Reads every byte: each page against its checksum, the whole against `expected`. Errors are
    /// passed to `report`, and the reading goes on.
    pub(crate) fn verify(&self, expected: FileSummary, report: &mut dyn FnMut(Error)) {
        for page in 0..self.body_len.div_ceil(PAGE) {
            if page % AHEAD == 0 {
                self.prefetch(page * PAGE, 2 * AHEAD * PAGE);
            }
            if let Err(error) = self.check_now(page) {
                report(error);
            }
        }
        let mut whole = crc32fast::Hasher::new();
        for (piece, bytes) in self.map.chunks(AHEAD * PAGE).enumerate() {
            let start = piece * AHEAD * PAGE;
            self.prefetch(start, 2 * AHEAD * PAGE);
            match self.map.populate(start, bytes.len()) {
                Ok(()) => whole.update(bytes),
                Err(e) => return report(Error::io("read", &self.path, e)),
            }
        }
        if whole.finalize() != expected.crc {
            report(self.corruption(0, "the file fails the manifest's checksum"));
        }
    }

    /// The whole file as it is, for a copy.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.map
    }

    /// An error at a place of this file.
    #[cold]
    pub(crate) fn corruption(&self, offset: usize, message: &str) -> Error {
        Error::corruption(message).at_path(&self.path).at_offset(offset as u64)
    }

    #[cold]
    fn outside(&self, offset: usize, len: usize) -> Error {
        let message = format!("{len} bytes asked for, the body ends at {}", self.body_len);
        self.corruption(offset, &message)
    }
}

/// The body of an open file with what every read of it needs at hand, some steps nearer than from
/// the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    /// The whole file.
    bytes: &'a [u8],
    checked: &'a [AtomicU64],
    /// The body's length.
    len: usize,
    file: &'a PagedFile,
}

impl<'a> Body<'a> {
    /// `len` bytes at `offset`, checked.
    #[inline(always)]
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Result<&'a [u8]> {
        self.check(offset, len)?;
        Ok(self.bytes.get(offset..offset.wrapping_add(len)).unwrap_or_default())
    }

    /// The word at `offset`, a multiple of 8, checked.
    #[inline(always)]
    pub(crate) fn word(&self, offset: usize) -> Result<u64> {
        debug_assert!(offset.is_multiple_of(8), "such a word lies within one page");
        if offset.saturating_add(8) > self.len || !is_checked(self.checked, offset / PAGE) {
            self.file.check_pages(offset, 8)?;
        }
        let word = self.bytes.get(offset..).and_then(<[u8]>::first_chunk);
        Ok(word.map_or(0, |word| u64::from_le_bytes(*word)))
    }

    /// Requires that these bytes are in the body and their pages pass their checksums.
    #[inline(always)]
    pub(crate) fn check(&self, offset: usize, len: usize) -> Result<()> {
        // Nearly always: within one page, which was checked before.
        let within = offset % PAGE + len <= PAGE && offset.saturating_add(len) <= self.len;
        if within && is_checked(self.checked, offset / PAGE) {
            return Ok(());
        }
        self.file.check_pages(offset, len)
    }

    /// The whole file, whether checked or not.
    #[inline(always)]
    pub(crate) fn raw(&self) -> &'a [u8] {
        self.bytes
    }

    /// Asks for the surroundings of a byte without waiting for them.
    #[inline(always)]
    pub(crate) fn prefetch(&self, offset: usize) {
        cpu::prefetch(self.bytes, offset);
    }

    /// As [`PagedFile::corruption`].
    #[cold]
    pub(crate) fn corruption(&self, offset: usize, message: &str) -> Error {
        self.file.corruption(offset, message)
    }
}

/// Whether a page passed its checksum before.
#[inline(always)]
fn is_checked(checked: &[AtomicU64], page: usize) -> bool {
    let word = checked.get(page / 64);
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
}

/// The body's length, and where meta begins and how long it is.
fn read_footer(file: &[u8], checksum: &Checksum) -> Result<(usize, (usize, usize))> {
    let trailer = file.len().saturating_sub(TRAILER_LEN);
    let mut fields = Fields::new(file.get(trailer..).unwrap_or_default(), trailer as u64);
    let body = fields.u64("body length")?;
    let meta_len = fields.u32("footer length")? as usize;
    let crc = fields.u32("footer checksum")?;
    if fields.bytes(END_MAGIC.len(), "end mark")? != END_MAGIC {
        return Err(
            Error::corruption("the file does not end with an end mark").at_offset(trailer as u64)
        );
    }
    let Some(start) = trailer.checked_sub(meta_len) else {
        return Err(Error::corruption("footer longer than the file").at_offset(trailer as u64));
    };
    let covered = file.get(start..trailer + 12).unwrap_or_default();
    if checksum.piece(FOOTER_MARK, covered) != crc {
        return Err(Error::corruption("footer fails its checksum").at_offset(start as u64));
    }
    let body_len = usize::try_from(body).unwrap_or(usize::MAX);
    let pages = body_len.div_ceil(PAGE);
    let checksums = pages.saturating_add(pages.div_ceil(GROUP)).saturating_mul(4);
    if body_len < HEADER_LEN || body_len.saturating_add(checksums) != start {
        return Err(
            Error::corruption("body length does not fit the file's").at_offset(trailer as u64)
        );
    }
    Ok((body_len, (start, meta_len)))
}
