//! An open file without its pages: header, footer, checksums of pages, and reading from the disk.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::{
    CHECKSUM_PAGE_FLAG, CHECKSUMS_PER_PAGE, Checksum, END_MARK, FOOTER_NUMBER, FileSummary, PAGE,
    TRAILER_LEN,
};
use crate::base::error::{Error, Result};
use crate::base::inspection::Inspection;
use crate::file::codec::bytes::Fields;
use crate::file::codec::header::{FileHeader, FileKind, HEADER_LEN};
use crate::file::storage::{PageMemory, Pages, ReadFile, Reservation};

/// Pages that are read at a time when an entire file or a large part is read.
pub(super) const CHUNK: usize = 64;

/// Returns how many bytes the checksums of a body take.
fn checksums_len(body_len: usize) -> usize {
    let pages = body_len.div_ceil(PAGE);
    pages.saturating_add(pages.div_ceil(CHECKSUMS_PER_PAGE)).saturating_mul(4)
}

/// A copy of the end of a file's body, whose pages have all passed their checksums.
#[derive(Debug)]
pub(super) struct BodyCopy {
    /// The offset in the file of the first byte, a multiple of the length of a page.
    pub(super) base: usize,
    pub(super) memory: PageMemory,
    /// Held for its drop.
    pub(super) _reserved: Reservation,
}

/// What is shared by all page memories of a file.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) source: Arc<dyn ReadFile>,
    path: PathBuf,
    pub(super) database_id: u128,
    pub(super) checksum: Checksum,
    /// Whether queries read so many places of the file that address translation takes much of
    /// their time.
    pub(super) is_scattered: bool,
    pub(super) len: usize,
    pub(super) body_len: usize,
    /// The meta fields, and their offset.
    meta: (usize, Vec<u8>),
    /// The checksums of pages, each checksum page once it has been read and has passed its own
    /// checksum.
    checksums: Box<[OnceLock<Box<[u8]>>]>,
    /// The copy, once there is one; `None` if a page is damaged.
    pub(super) copy: OnceLock<Option<BodyCopy>>,
}

impl OpenFile {
    /// Opens a file that must have exactly this header and the length `expected_len`. Reads its
    /// header and footer.
    pub(super) fn open(
        source: Arc<dyn ReadFile>,
        path: &Path,
        header: &FileHeader,
        expected_len: u64,
    ) -> Result<Self> {
        if source.length() != expected_len {
            return Err(Error::corruption(format!(
                "the file has {} bytes, the manifest says {expected_len}",
                source.length()
            )));
        }
        let len = usize::try_from(expected_len)
            .map_err(|_| Error::corruption("the file does not fit into the address space"))?;
        let checksum = Checksum::of_file(header);
        let mut file = Self {
            source,
            path: path.to_owned(),
            database_id: header.database_id,
            checksum,
            is_scattered: header.kind == FileKind::Bands
                || header.kind == FileKind::Table && header.bits == 128,
            len,
            body_len: 0,
            meta: (0, Vec::new()),
            checksums: Box::default(),
            copy: OnceLock::new(),
        };
        let mut bytes = vec![0; file.len.min(HEADER_LEN)];
        file.read(0, &mut bytes)?;
        header.expect(&bytes)?;
        file.read_footer()?;
        Ok(file)
    }

    /// Reads the body's length and the meta fields.
    fn read_footer(&mut self) -> Result<()> {
        // The meta fields of every kind of file are far shorter.
        let mut tail = vec![0; self.len.min(PAGE)];
        let tail_at = self.len - tail.len();
        self.read(tail_at, &mut tail)?;
        let trailer = self.len.saturating_sub(TRAILER_LEN);
        let corruption = |message, at: usize| Error::corruption(message).at_offset(at as u64);
        let in_tail = |range: Range<usize>| {
            let start = range.start.wrapping_sub(tail_at);
            tail.get(start..start.wrapping_add(range.len())).unwrap_or_default()
        };
        let mut fields = Fields::new(in_tail(trailer..self.len), trailer as u64);
        let body = fields.u64("body length")?;
        let meta_len = fields.u32("meta length")? as usize;
        let crc = fields.u32("footer checksum")?;
        if fields.bytes(END_MARK.len(), "end mark")? != END_MARK {
            return Err(corruption("the file does not end with the end mark", trailer));
        }
        let Some(start) = trailer.checked_sub(meta_len).filter(|&start| start >= tail_at) else {
            return Err(corruption("the footer is too long", trailer));
        };
        let covered = in_tail(start..trailer + 12);
        if self.checksum.piece(FOOTER_NUMBER, covered) != crc {
            return Err(corruption("the footer does not match its checksum", start));
        }
        let body_len = usize::try_from(body).unwrap_or(usize::MAX);
        if body_len < HEADER_LEN || body_len.saturating_add(checksums_len(body_len)) != start {
            let message = "the body length in the footer does not match the file's length";
            return Err(corruption(message, trailer));
        }
        self.body_len = body_len;
        self.meta = (start, in_tail(start..trailer).to_vec());
        let checksum_pages = body_len.div_ceil(PAGE).div_ceil(CHECKSUMS_PER_PAGE);
        self.checksums = (0..checksum_pages).map(|_| OnceLock::new()).collect();
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn meta(&self) -> Fields<'_> {
        let (offset, bytes) = &self.meta;
        Fields::new(bytes, *offset as u64)
    }

    /// Returns the bytes of memory that all checksums of pages take once they are read.
    pub(super) fn checksums_len(&self) -> usize {
        self.meta.0.saturating_sub(self.body_len)
    }

    /// Returns the bytes of a page: its range in the file.
    fn page(&self, page: usize) -> Range<usize> {
        let start = page.saturating_mul(PAGE).min(self.body_len);
        start..self.body_len.min(start.saturating_add(PAGE))
    }

    /// Reads bytes of the file, checked or not.
    fn read(&self, offset: usize, to: &mut [u8]) -> Result<()> {
        self.source.read_at(offset as u64, to).map_err(|e| self.failed_read(offset, e))
    }

    /// Reads bytes that will not be read again soon, checked or not.
    fn read_once(&self, offset: usize, to: &mut [u8]) -> Result<()> {
        self.source.read_once(offset as u64, to).map_err(|e| self.failed_read(offset, e))
    }

    fn failed_read(&self, offset: usize, e: io::Error) -> Error {
        let error = match e.kind() {
            io::ErrorKind::UnexpectedEof => {
                Error::corruption("the file ends here, although it was longer when it was opened")
            }
            _ => Error::io("read", &self.path, e),
        };
        error.at_path(&self.path).at_offset(offset as u64)
    }

    /// Reads some pages into `to`, which has as many bytes, and checks them.
    pub(super) fn read_pages(&self, pages: Range<usize>, to: &mut [u8]) -> Result<()> {
        self.read(pages.start.saturating_mul(PAGE), to)?;
        pages.zip(to.chunks(PAGE)).try_for_each(|(page, bytes)| self.check_page(page, bytes))
    }

    /// Does what [`read_pages`](Self::read_pages) does for pages that will not be read again soon.
    pub(super) fn read_pages_once(&self, pages: Range<usize>, to: &mut [u8]) -> Result<()> {
        self.read_once(pages.start.saturating_mul(PAGE), to)?;
        pages.zip(to.chunks(PAGE)).try_for_each(|(page, bytes)| self.check_page(page, bytes))
    }

    /// Returns the number of bytes that these pages have.
    pub(super) fn len_of(&self, pages: &Range<usize>) -> usize {
        let first = self.page(pages.start);
        self.page(pages.end.saturating_sub(1)).end.saturating_sub(first.start)
    }

    pub(super) fn check_page(&self, page: usize, bytes: &[u8]) -> Result<()> {
        if self.checksum.piece(page as u64, bytes) == self.page_checksum(page)? {
            return Ok(());
        }
        Err(self.corruption(page * PAGE, "the page does not match its checksum"))
    }

    /// Returns the stored checksum of a page, after checking the checksum page that it is in.
    fn page_checksum(&self, page: usize) -> Result<u32> {
        let crcs = self.checksum_page(page / CHECKSUMS_PER_PAGE)?;
        let at = page % CHECKSUMS_PER_PAGE * 4;
        Fields::new(crcs.get(at..).unwrap_or_default(), (self.body_len + at) as u64)
            .u32("page checksum")
    }

    pub(super) fn checksum_page(&self, number: usize) -> Result<&[u8]> {
        let place = self.checksums.get(number);
        let place = place.ok_or_else(|| self.corruption(self.body_len, "there is no such page"))?;
        if let Some(crcs) = place.get() {
            return Ok(crcs);
        }
        let pages = self.body_len.div_ceil(PAGE);
        let len = pages.saturating_sub(number * CHECKSUMS_PER_PAGE).min(CHECKSUMS_PER_PAGE) * 4;
        let start = self.body_len + number * PAGE;
        let mut bytes = vec![0; len + 4];
        self.read(start, &mut bytes)?;
        let own = bytes.split_off(len);
        let own = Fields::new(&own, (start + len) as u64).u32("checksum of page checksums")?;
        if own != self.checksum.piece(CHECKSUM_PAGE_FLAG | number as u64, &bytes) {
            let message = "the page checksums do not match their own checksum";
            return Err(self.corruption(start, message));
        }
        Ok(place.get_or_init(|| bytes.into()))
    }

    /// Reads the checksums of all pages, if they were not read before.
    pub(super) fn load_checksums(&self) -> Result<()> {
        self.source.prefetch_counted(self.body_len, self.checksums_len());
        (0..self.checksums.len()).try_for_each(|number| self.checksum_page(number).map(drop))
    }

    /// Copies the body to memory, from the page with this offset on. Each page must pass its
    /// checksum in the copy. Makes no copy if `goes_on` returns false before the end.
    pub(super) fn copied(
        &self,
        offset: usize,
        reserved: Reservation,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<BodyCopy>> {
        let (first, end) = (offset / PAGE, self.body_len.div_ceil(PAGE));
        let len = self.body_len.saturating_sub(first * PAGE);
        let mut bytes = Pages::new(len).map_err(|e| e.at_path(&self.path))?;
        let to = bytes.get_mut(..len).unwrap_or_default();
        for (start, to) in (first..end).step_by(CHUNK).zip(to.chunks_mut(CHUNK * PAGE)) {
            if !goes_on() {
                return Ok(None);
            }
            self.source.prefetch_counted(start * PAGE, 2 * CHUNK * PAGE);
            self.read_pages(start..end.min(start + CHUNK), to)?;
        }
        self.source.forget((first * PAGE) as u64, len as u64);
        let memory = PageMemory::complete(bytes, len);
        Ok(Some(BodyCopy { base: first * PAGE, memory, _reserved: reserved }))
    }

    /// Passes all bytes of the file to `visit`, unchecked, with their offset, in chunks of pages.
    pub(super) fn for_each_chunk(
        &self,
        mut visit: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = vec![0; self.len.min(CHUNK * PAGE)];
        for start in (0..self.len).step_by(CHUNK * PAGE) {
            let len = (self.len - start).min(CHUNK * PAGE);
            let to = buffer.get_mut(..len).unwrap_or_default();
            self.read_once(start, to)?;
            visit(start, to)?;
        }
        Ok(())
    }

    /// Reads every byte, and checks each page and then the entire file against their checksums.
    /// Returns whether the file is sound. Damage is reported once: the checksum of the entire file
    /// adds nothing if a page is damaged, nor do the pages whose checksums are on one damaged page.
    pub(super) fn verify(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<bool> {
        let found = inspection.found();
        let mut last_offset = None;
        let mut file_crc = crc32fast::Hasher::new();
        let mut stopped = Ok(());
        let read = self.for_each_chunk(|start, bytes| {
            let end = self.body_len.min(start + bytes.len());
            let body = bytes.get(..end.saturating_sub(start)).unwrap_or_default();
            for (page, bytes) in (start / PAGE..).zip(body.chunks(PAGE)) {
                if let Err(error) = self.check_page(page, bytes)
                    && last_offset != Some(error.offset())
                {
                    last_offset = Some(error.offset());
                    inspection.report(error);
                }
            }
            file_crc.update(bytes);
            stopped = inspection.advance(bytes.len());
            stopped.clone()
        });
        stopped?;
        if let Err(error) = read {
            inspection.report(error);
            return Ok(false);
        }
        if file_crc.finalize() != expected.crc && inspection.found() == found {
            let message = "the file does not match its checksum in the manifest";
            inspection.report(self.corruption(0, message));
        }
        Ok(inspection.found() == found)
    }

    /// Returns an error at an offset of this file.
    #[cold]
    pub(super) fn corruption(&self, offset: usize, message: &str) -> Error {
        Error::corruption(message).at_path(&self.path).at_offset(offset as u64)
    }
}
