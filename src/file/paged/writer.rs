//! Writing a paged file as a stream.

use std::sync::Arc;

use super::{CHECKSUM_PAGE_FLAG, CHECKSUMS_PER_PAGE, Checksum, END_MARK, FOOTER_NUMBER, PAGE};
use crate::base::error::Result;
use crate::file::codec::bytes::PutFields;
use crate::file::codec::header::FileHeader;
use crate::file::scratch::{ScratchFiles, Spool};
use crate::file::storage::{Kept, Storage, WriteFile};

/// Bytes that go to the file at a time. They are large enough for Linux to cache the file in pages
/// of 2 MiB, which it then maps as such. It does not if fewer bytes are written at a time, or from
/// an offset that is not a multiple of 2 MiB.
const BUFFER: usize = 512 * PAGE;

/// Number of bytes after which the system is asked to write them to the device, so that the device
/// does not wait until the file is complete.
const WRITE_BACK: u64 = 32 << 20;

/// Bytes of checksum pages that are written together; few in unit tests.
const TOGETHER: usize = if cfg!(test) { PAGE } else { 16 * PAGE };

/// What the manifest records of a finished file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileSummary {
    /// Length in bytes.
    pub len: u64,
    /// CRC-32 of all bytes, independent of the checksums inside the file.
    pub crc: u32,
}

/// Writes one file: the bytes of the body in order, then [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct PagedWriter<'a> {
    file: Arc<dyn WriteFile>,
    kept: Kept,
    checksum: Checksum,
    buffer: Vec<u8>,
    written: u64,
    file_crc: crc32fast::Hasher,
    pages: u64,
    page_checksums: Spool<'a>,
}

impl<'a> PagedWriter<'a> {
    pub(crate) fn create(storage: &dyn Storage, name: &str, header: &FileHeader) -> Result<Self> {
        let mut writer = Self {
            file: storage.create(name)?,
            kept: Kept::nothing(&storage.page_budget()),
            checksum: Checksum::of_file(header),
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
            file_crc: crc32fast::Hasher::new(),
            pages: 0,
            page_checksums: Spool::new(None),
        };
        writer.write(&header.encode())?;
        Ok(writer)
    }

    /// Keeps the checksums of pages in a scratch file if they are many. The default is memory.
    pub(crate) fn with_scratch(self, files: Option<ScratchFiles<'a>>) -> Self {
        Self { page_checksums: Spool::new(files), ..self }
    }

    /// Returns the length of the body so far.
    pub(crate) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends to the body.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while self.buffer.len() + bytes.len() >= BUFFER {
            let (head, rest) = bytes.split_at(BUFFER - self.buffer.len());
            self.buffer.extend_from_slice(head);
            self.write_out()?;
            bytes = rest;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends zeros until the body's length is a multiple of `alignment`.
    pub(crate) fn align(&mut self, alignment: usize) -> Result<()> {
        let over = usize::try_from(self.position() % alignment as u64).unwrap_or(0);
        if over > 0 { self.write(&vec![0; alignment - over]) } else { Ok(()) }
    }

    /// Writes the checksums and the footer, and makes the file's bytes durable. `meta` is the
    /// kind's own part of the footer.
    pub(crate) fn finish(mut self, meta: &[u8]) -> Result<FileSummary> {
        self.write_out()?;
        let body_len = self.written;
        let mut tail = self.write_checksums()?;
        let start = tail.len();
        tail.extend_from_slice(meta);
        tail.put_u64(body_len);
        tail.put_u32(u32::try_from(meta.len()).unwrap_or(u32::MAX));
        let crc = self.checksum.piece(FOOTER_NUMBER, &tail[start..]);
        tail.put_u32(crc);
        tail.extend_from_slice(&END_MARK);
        self.append(&tail)?;
        // The bytes must be durable before a manifest that names this file is.
        self.file.sync()?;
        Ok(FileSummary { len: self.written, crc: self.file_crc.finalize() })
    }

    /// Writes the checksum pages, and returns the last ones instead of writing them.
    fn write_checksums(&mut self) -> Result<Vec<u8>> {
        let checksums = std::mem::replace(&mut self.page_checksums, Spool::new(None));
        let mut pages = ChecksumPages { bytes: Vec::new(), start: 0, number: CHECKSUM_PAGE_FLAG };
        checksums.read(|checksums| {
            checksums.chunks(4).try_for_each(|checksum| {
                pages.bytes.extend_from_slice(checksum);
                let is_full = pages.bytes.len() - pages.start == 4 * CHECKSUMS_PER_PAGE;
                if is_full { pages.end_page(self) } else { Ok(()) }
            })
        })?;
        if pages.bytes.len() > pages.start {
            pages.end_page(self)?;
        }
        Ok(pages.bytes)
    }

    /// Writes the buffered bytes and computes their page checksums.
    fn write_out(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for page in buffer.chunks(PAGE) {
            let checksum = self.checksum.piece(self.pages, page);
            self.page_checksums.push(&checksum.to_le_bytes())?;
            self.pages += 1;
        }
        self.append(&buffer)?;
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.kept.append(&*self.file, bytes)?;
        self.file_crc.update(bytes);
        let before = self.written;
        self.written += bytes.len() as u64;
        if self.written / WRITE_BACK > before / WRITE_BACK {
            self.file.write_back();
        }
        Ok(())
    }
}

/// Checksum pages that are being made.
struct ChecksumPages {
    bytes: Vec<u8>,
    /// Where the last page begins.
    start: usize,
    number: u64,
}

impl ChecksumPages {
    /// Ends the page, and writes all pages if there are many.
    fn end_page(&mut self, writer: &mut PagedWriter<'_>) -> Result<()> {
        let crc = writer.checksum.piece(self.number, &self.bytes[self.start..]);
        self.bytes.put_u32(crc);
        self.number += 1;
        if self.bytes.len() >= TOGETHER {
            writer.append(&self.bytes)?;
            self.bytes.clear();
        }
        self.start = self.bytes.len();
        Ok(())
    }
}
