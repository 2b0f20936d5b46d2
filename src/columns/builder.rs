//! Writing a table of columns in one pass over its rows.

use super::row::Row;
use crate::codec::bytes::PutFields;
use crate::codec::header::{FileHeader, HEADER_LEN};
use crate::error::{Error, Result};
use crate::layout::{block_bytes, bucket_bits};
use crate::paged::{FileSummary, PagedWriter};
use crate::scratch::{ScratchFiles, Spool};
use crate::storage::Storage;

/// Each part of the file begins at a multiple of this many bytes: a cache line.
pub(super) const ALIGNMENT: usize = 64;

/// Writes one table of columns.
#[derive(Debug)]
pub(crate) struct ColumnsBuilder<'a> {
    writer: PagedWriter<'a>,
    bucket_bits: u8,
    block_bytes: u8,
    /// The blocks of the rows, which follow all keys.
    blocks: Spool<'a>,
    /// The starts of the buckets so far.
    directory: Spool<'a>,
    buckets: u64,
    rows: u32,
    bytes: Vec<u8>,
}

impl<'a> ColumnsBuilder<'a> {
    /// Creates the file of a table for this many fingerprints in this many blocks of table 0.
    pub(crate) fn create(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        (fingerprints, blocks): (u64, u64),
        files: ScratchFiles<'a>,
    ) -> Result<Self> {
        if u32::try_from(fingerprints).is_err() {
            return Err(Error::invalid(format!(
                "a segment with columns can have at most 2^32 - 1 fingerprints, not \
                 {fingerprints}: divide the documents among several databases"
            )));
        }
        Ok(Self {
            writer: PagedWriter::create(storage, name, header)?.with_scratch(Some(files)),
            bucket_bits: bucket_bits(fingerprints),
            block_bytes: block_bytes(blocks),
            blocks: Spool::new(Some(files)),
            directory: Spool::new(Some(files)),
            buckets: 0,
            rows: 0,
            bytes: Vec::new(),
        })
    }

    /// Adds rows as a [`RowMaker`](super::RowMaker) makes them, ascending, all greater than those
    /// before.
    pub(crate) fn push_all(&mut self, rows: &[u128]) -> Result<()> {
        self.bytes.clear();
        for &row in rows {
            let row = Row(row);
            self.end_buckets(row.bucket(self.bucket_bits).into())?;
            self.bytes.put_u32(row.key(self.bucket_bits));
            let block = row.block().to_le_bytes();
            let (block, _) = block.split_at(self.block_bytes.into());
            self.blocks.push(block)?;
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
        self.blocks.read(|bytes| self.writer.write(bytes))?;
        self.writer.align(ALIGNMENT)?;
        self.directory.read(|bytes| self.writer.write(bytes))?;
        let mut meta = Vec::new();
        meta.put_u32(self.rows);
        meta.put_u8(self.bucket_bits);
        meta.put_u8(self.block_bytes);
        self.writer.finish(&meta)
    }
}

/// Returns the most bytes that the body of a table takes for this many fingerprints in this many
/// blocks.
pub(crate) fn most_body_bytes(fingerprints: u64, blocks: u64) -> u64 {
    let rows = fingerprints * (4 + u64::from(block_bytes(blocks)));
    let directory = 4 * ((1 << bucket_bits(fingerprints)) + 1);
    (HEADER_LEN + 2 * ALIGNMENT) as u64 + rows + directory
}
