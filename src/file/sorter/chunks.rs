//! Memory for records, in chunks.
//!
//! Chunks are parts of a few large pieces of memory, slabs, so that the system can use huge pages
//! for them. Records are stored as bytes, as they are in runs. Chunks that are free again are used
//! first, so the memory of one run is used for the next one.

use super::record::Record;
use crate::base::error::{Error, Result};
use crate::file::storage::Pages;

/// Bytes of the first slab. Each following one is as large as all before it, up to
/// [`LARGEST_SLAB`].
const FIRST_SLAB: usize = 1 << 20;
/// Bytes of the largest slab. At its ends, up to 4 MiB are not in huge pages.
const LARGEST_SLAB: usize = 64 << 20;

/// The place of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Chunk {
    slab: u32,
    /// The offset of its first byte in the slab.
    start: u32,
}

/// All chunks of a sorter.
#[derive(Debug)]
pub(super) struct ChunkPool {
    slabs: Vec<Pages>,
    /// Bytes of a chunk.
    chunk: usize,
    /// Chunks that are not in use. The last one is used first.
    free: Vec<Chunk>,
    /// Bytes of all slabs.
    total: usize,
    /// Most bytes of all slabs.
    limit: usize,
}

impl ChunkPool {
    /// Creates a pool of at most `limit` bytes in chunks of `chunk` bytes. Takes no memory yet.
    pub(super) fn new(chunk: usize, limit: usize) -> Self {
        Self { slabs: Vec::new(), chunk, free: Vec::new(), total: 0, limit }
    }

    /// Returns a chunk, or `None` if all are in use.
    pub(super) fn take(&mut self) -> Result<Option<Chunk>> {
        if self.free.is_empty() {
            let room = self.limit.saturating_sub(self.total);
            self.grow(self.total.clamp(FIRST_SLAB, LARGEST_SLAB).min(room))?;
        }
        Ok(self.free.pop())
    }

    /// Returns a chunk, even if that exceeds the limit.
    pub(super) fn take_more(&mut self) -> Result<Chunk> {
        if let Some(chunk) = self.take()? {
            return Ok(chunk);
        }
        self.grow(FIRST_SLAB)?;
        self.free.pop().ok_or_else(|| Error::invalid("a chunk is larger than a slab"))
    }

    fn grow(&mut self, bytes: usize) -> Result<()> {
        let chunks = bytes / self.chunk;
        if chunks == 0 {
            return Ok(());
        }
        let slab = u32::try_from(self.slabs.len()).unwrap_or(u32::MAX);
        self.slabs.push(Pages::new(chunks * self.chunk)?);
        self.total += chunks * self.chunk;
        let starts = (0..chunks).rev().filter_map(|i| u32::try_from(i * self.chunk).ok());
        self.free.extend(starts.map(|start| Chunk { slab, start }));
        Ok(())
    }

    /// Returns the bytes of all chunks.
    pub(super) fn bytes_of_slabs(&self) -> usize {
        self.total
    }

    /// Gives chunks back.
    pub(super) fn release(&mut self, chunks: impl IntoIterator<Item = Chunk>) {
        self.free.extend(chunks);
    }

    /// Returns the number of records of a full chunk.
    pub(super) fn records_in_chunk<R: Record>(&self) -> usize {
        self.chunk / R::LEN
    }

    /// Returns the bytes of a chunk that can hold records.
    pub(super) fn bytes<R: Record>(&self, chunk: Chunk) -> &[u8] {
        let start = chunk.start as usize;
        &self.slabs[chunk.slab as usize][start..start + self.chunk / R::LEN * R::LEN]
    }

    /// Returns the bytes of all chunks, as a list for each slab.
    pub(super) fn split(&mut self) -> SplitChunks<'_> {
        let chunk = self.chunk;
        let slabs = self.slabs.iter_mut();
        let slabs = slabs.map(|slab| slab.chunks_exact_mut(chunk).map(Some).collect()).collect();
        SplitChunks { slabs, chunk }
    }

    /// Writes a record and moves the place on; returns false if the place is at its end.
    #[inline]
    pub(super) fn write<R: Record>(&mut self, place: &mut Place, record: R) -> bool {
        if place.at == place.end {
            return false;
        }
        let at = place.at as usize;
        record.put(&mut self.slabs[place.slab as usize][at..at + R::LEN]);
        #[expect(clippy::cast_possible_truncation, reason = "a record has at most 32 bytes")]
        let len = R::LEN as u32;
        place.at += len;
        true
    }
}

/// Where the next record goes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    slab: u32,
    at: u32,
    end: u32,
}

impl Place {
    /// Returns the place of the first record in a chunk.
    pub(super) fn in_chunk<R: Record>(pool: &ChunkPool, chunk: Chunk) -> Self {
        let len = u32::try_from(pool.records_in_chunk::<R>() * R::LEN).unwrap_or(0);
        Self { slab: chunk.slab, at: chunk.start, end: chunk.start + len }
    }

    /// Returns how many more records fit.
    pub(super) fn room<R: Record>(&self) -> usize {
        (self.end - self.at) as usize / R::LEN
    }
}

/// The bytes of chunks, so that several threads can write to different chunks.
pub(super) struct SplitChunks<'a> {
    slabs: Vec<Vec<Option<&'a mut [u8]>>>,
    chunk: usize,
}

impl<'a> SplitChunks<'a> {
    /// Takes the bytes of a chunk, which must not have been taken before.
    pub(super) fn take(&mut self, chunk: Chunk) -> Option<&'a mut [u8]> {
        self.slabs.get_mut(chunk.slab as usize)?.get_mut(chunk.start as usize / self.chunk)?.take()
    }
}
