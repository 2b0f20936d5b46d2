//! The locator: on which page the document with an id is, in a database with names.
//!
//! Ids are in chunks of 64. A bitmap says which ids of a chunk are live, and chunks without any are
//! not stored: a gap in the ids costs nothing, however long it is. The page numbers of all live ids
//! are next to each other in id order. storage-format.md, "Documents".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::column::width_of;
use crate::base::error::{Error, Result};
use crate::file::codec::bits::{LowBitWriter, peek_low};
use crate::file::codec::bytes::Fields;
use crate::file::paged::{PagedFile, PagedWriter};
use crate::file::scratch::{ScratchFiles, Spool};
use crate::file::sorter::Sorter;
use crate::fingerprint::{DocId, Entry};

/// Number of ids that share a chunk.
const CHUNK: u64 = 64;
/// Bytes of a stored chunk: its number, its bitmap, and the number of live ids before it.
pub(super) const CHUNK_LEN: usize = 24;
/// Page numbers that are written at a time; a multiple of 8, so that they end with a byte.
const TOGETHER: usize = 1 << 13;
/// Most ids that are kept in memory if there are scratch files.
const IN_MEMORY: u64 = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// Memory for sorting more than that.
const SORTER_MEMORY: usize = 32 << 20;

/// The locator of an open file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Locator {
    /// Where the page numbers are.
    pub(super) pages_at: usize,
    /// Bits of a page number.
    pub(super) width: u32,
    /// Where the chunks are.
    pub(super) chunks_at: usize,
    pub(super) chunks: usize,
    /// Number of live ids.
    pub(super) live: u64,
}

struct Chunk {
    number: u64,
    live: u64,
    before: u64,
}

impl Locator {
    /// Returns the bytes of the chunks.
    pub(super) fn chunks_len(&self) -> usize {
        self.chunks.saturating_mul(CHUNK_LEN)
    }

    /// Returns the page of the leaf that has the live record with this id, counted from the first
    /// leaf.
    pub(super) fn page_of(&self, file: &PagedFile, id: DocId) -> Result<Option<u64>> {
        let number = id.0 / CHUNK;
        // Chunk numbers ascend, so chunk n is at position n or earlier. If no chunk is missing, the
        // first guess is right.
        let most = usize::try_from(number).unwrap_or(usize::MAX).saturating_add(1);
        let (mut low, mut high) = (0, self.chunks.min(most));
        let mut guess = high.saturating_sub(1);
        while low < high {
            let chunk = self.chunk(file, guess)?;
            if chunk.number == number {
                return self.page_in(file, &chunk, id);
            }
            if chunk.number < number {
                low = guess + 1
            } else {
                high = guess
            }
            guess = low + (high - low) / 2;
        }
        Ok(None)
    }

    fn page_in(&self, file: &PagedFile, chunk: &Chunk, id: DocId) -> Result<Option<u64>> {
        let bit = 1 << (id.0 % CHUNK);
        if chunk.live & bit == 0 {
            return Ok(None);
        }
        let rank = chunk.before.saturating_add((chunk.live & (bit - 1)).count_ones().into());
        let position = rank.saturating_mul(self.width.into());
        let byte = usize::try_from(position / 8).unwrap_or(usize::MAX);
        let at = self.pages_at.saturating_add(byte);
        let shift = usize::try_from(position % 8).unwrap_or(0);
        let bytes = file.bytes(at, (shift + self.width as usize).div_ceil(8))?;
        Ok(Some(peek_low(bytes, shift, self.width)))
    }

    fn chunk(&self, file: &PagedFile, index: usize) -> Result<Chunk> {
        let at = self.chunks_at.saturating_add(index.saturating_mul(CHUNK_LEN));
        let mut fields = Fields::new(file.bytes(at, CHUNK_LEN)?, at as u64);
        Ok(Chunk {
            number: fields.u64("chunk number")?,
            live: fields.u64("bitmap of ids")?,
            before: fields.u64("number of ids before a chunk")?,
        })
    }

    /// Checks that chunks ascend, and have exactly the ids that are live.
    pub(super) fn check(&self, file: &PagedFile) -> Result<()> {
        let (mut last, mut before) = (None, 0);
        for index in 0..self.chunks {
            let chunk = self.chunk(file, index)?;
            let ascends = last.is_none_or(|last| last < chunk.number);
            if !ascends
                || chunk.live == 0
                || chunk.before != before
                || chunk.number > u64::MAX / CHUNK
            {
                return Err(self.corruption(file, index));
            }
            last = Some(chunk.number);
            before += u64::from(chunk.live.count_ones());
        }
        if before == self.live { Ok(()) } else { Err(self.corruption(file, self.chunks)) }
    }

    fn corruption(&self, file: &PagedFile, index: usize) -> Error {
        let at = self.chunks_at.saturating_add(index.saturating_mul(CHUNK_LEN));
        file.corruption(at, "the chunks of the locator are contradictory")
    }
}

/// Collects where the documents are.
#[derive(Debug)]
pub(super) struct LocatorBuilder<'a> {
    /// Ids with the page numbers of their leaves, in place of ids.
    places: Places<'a>,
    scratch: Option<ScratchFiles<'a>>,
}

#[derive(Debug)]
enum Places<'a> {
    Memory(Vec<Entry<u64>>),
    Sorter(Box<Sorter<'a, Entry<u64>>>),
}

impl<'a> LocatorBuilder<'a> {
    /// Creates a locator for at most `most` ids. Without scratch files, they are in memory.
    pub(super) fn new(most: u64, scratch: Option<ScratchFiles<'a>>) -> Self {
        let places = match scratch.filter(|_| most > IN_MEMORY) {
            Some(files) => Places::Sorter(Box::new(Sorter::new(files, SORTER_MEMORY, 1))),
            None => Places::Memory(Vec::new()),
        };
        Self { places, scratch }
    }

    pub(super) fn push(&mut self, id: u64, page: u64) -> Result<()> {
        let place = Entry { fingerprint: id, id: DocId(page) };
        match &mut self.places {
            Places::Memory(places) => {
                places.push(place);
                Ok(())
            }
            Places::Sorter(sorter) => sorter.push(place),
        }
    }

    /// Writes the locator. `live` is the number of ids, and `pages` the number of the leaves'
    /// pages. Returns the number of chunks.
    pub(super) fn finish(self, writer: &mut PagedWriter<'_>, live: u64, pages: u64) -> Result<u64> {
        let width = width_of(pages.saturating_sub(1));
        let mut chunks = ChunkWriter {
            width,
            bits: LowBitWriter::default(),
            pending: 0,
            chunks: Spool::new(self.scratch),
            count: 0,
            open: Chunk { number: 0, live: 0, before: 0 },
            last: None,
            written: 0,
        };
        match self.places {
            Places::Memory(mut places) => {
                places.sort_unstable();
                places.iter().try_for_each(|place| chunks.push(place, writer))?;
            }
            Places::Sorter(sorter) => {
                sorter.finish(&|_| Ok(()))?.with_passes(1).for_each(&mut |places| {
                    places.iter().try_for_each(|place| chunks.push(place, writer))
                })?
            }
        }
        chunks.end_chunk()?;
        chunks.write_pages(writer)?;
        writer.align(8)?;
        chunks.chunks.read(|bytes| writer.write(bytes))?;
        // The sorter keeps one of two documents with the same id in the same leaf.
        if chunks.written != live {
            return Err(Error::corruption("two documents have the same id"));
        }
        Ok(chunks.count)
    }
}

struct ChunkWriter<'a> {
    width: u32,
    /// Page numbers that are not written yet, and how many.
    bits: LowBitWriter,
    pending: usize,
    chunks: Spool<'a>,
    count: u64,
    open: Chunk,
    last: Option<u64>,
    /// The number of ids so far.
    written: u64,
}

impl ChunkWriter<'_> {
    fn push(&mut self, place: &Entry<u64>, writer: &mut PagedWriter<'_>) -> Result<()> {
        let id = place.fingerprint;
        if self.last.replace(id) == Some(id) {
            return Err(Error::corruption(format!("two documents have the id {id}")));
        }
        if id / CHUNK != self.open.number {
            self.end_chunk()?;
            self.open = Chunk { number: id / CHUNK, live: 0, before: self.written };
        }
        self.open.live |= 1 << (id % CHUNK);
        self.written += 1;
        self.bits.put(place.id.0, self.width);
        self.pending += 1;
        if self.pending == TOGETHER { self.write_pages(writer) } else { Ok(()) }
    }

    fn end_chunk(&mut self) -> Result<()> {
        let Chunk { number, live, before } = self.open;
        if live == 0 {
            return Ok(());
        }
        self.count += 1;
        [number, live, before].iter().try_for_each(|field| self.chunks.push(&field.to_le_bytes()))
    }

    fn write_pages(&mut self, writer: &mut PagedWriter<'_>) -> Result<()> {
        writer.write(self.bits.finish())?;
        self.bits.start_at(0);
        self.pending = 0;
        Ok(())
    }
}
