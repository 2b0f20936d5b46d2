//! Writing a table of bands in one pass over its rows.

use super::MOST_ROWS;
use super::row::{Row, bucket_bits, page_bytes};
use crate::base::error::{Error, Result};
use crate::file::codec::bytes::PutFields;
use crate::file::codec::header::{FileHeader, HEADER_LEN};
use crate::file::paged::{FileSummary, PagedWriter};
use crate::file::scratch::{ScratchFiles, Spool};
use crate::file::storage::Storage;

/// Each part of the file begins at a multiple of this many bytes: a cache line.
pub(super) const ALIGNMENT: usize = 64;

/// Writes one table of bands.
#[derive(Debug)]
pub(crate) struct BandBuilder<'a> {
    writer: PagedWriter<'a>,
    bucket_bits: u8,
    page_bytes: u8,
    /// The pages of the rows, which follow all rests.
    pages: Spool<'a>,
    /// The starts of the buckets so far.
    directory: Spool<'a>,
    buckets: u64,
    rows: u32,
    bytes: Vec<u8>,
}

impl<'a> BandBuilder<'a> {
    /// Creates the file of a table for this many documents in leaves on this many pages.
    pub(crate) fn create(
        storage: &'a dyn Storage,
        name: &str,
        header: &FileHeader,
        (documents, pages): (u64, u64),
        files: ScratchFiles<'a>,
    ) -> Result<Self> {
        if documents.max(pages) > MOST_ROWS {
            return Err(Error::invalid(format!(
                "a segment of sketches can have at most 2^32 - 1 documents on as many pages, not \
                 {documents} on {pages}: compact the database"
            )));
        }
        Ok(Self {
            writer: PagedWriter::create(storage, name, header)?.with_scratch(Some(files)),
            bucket_bits: bucket_bits(documents),
            page_bytes: page_bytes(pages),
            pages: Spool::new(Some(files)),
            directory: Spool::new(Some(files)),
            buckets: 0,
            rows: 0,
            bytes: Vec::new(),
        })
    }

    /// Adds rows, ascending, none less than those before.
    pub(crate) fn push_all(&mut self, rows: &[Row]) -> Result<()> {
        self.bytes.clear();
        for &row in rows {
            self.end_buckets(row.bucket(self.bucket_bits).into())?;
            self.bytes.extend_from_slice(&row.rest(self.bucket_bits).to_le_bytes());
            let page = row.page().to_le_bytes();
            let (page, _) = page.split_at(self.page_bytes.into());
            self.pages.append(page)?;
            self.rows += 1;
        }
        self.writer.write(&self.bytes)
    }

    /// Adds the starts of all buckets up to and including this one to the directory.
    fn end_buckets(&mut self, bucket: u64) -> Result<()> {
        while self.buckets <= bucket {
            self.directory.push(&self.rows.to_le_bytes())?;
            self.buckets += 1;
        }
        Ok(())
    }

    /// Writes the other parts and the footer. The file's bytes are durable afterwards.
    pub(crate) fn finish(mut self) -> Result<FileSummary> {
        self.end_buckets(1 << self.bucket_bits)?;
        self.writer.align(ALIGNMENT)?;
        self.pages.read(|bytes| self.writer.write(bytes))?;
        self.writer.align(ALIGNMENT)?;
        self.directory.read(|bytes| self.writer.write(bytes))?;
        let mut meta = Vec::new();
        meta.put_u32(self.rows);
        meta.put_u8(self.bucket_bits);
        meta.put_u8(self.page_bytes);
        self.writer.finish(&meta)
    }
}

/// Returns the most bytes that the body of a table takes for this many documents in leaves on this
/// many pages.
pub(crate) fn most_body_bytes(documents: u64, pages: u64) -> u64 {
    let rows = documents * (2 + u64::from(page_bytes(pages)));
    let directory = 4 * ((1 << bucket_bits(documents)) + 1);
    (HEADER_LEN + 2 * ALIGNMENT) as u64 + rows + directory
}
