//! Records in memory, in buckets by their leading bits.
//!
//! A bucket is a list of chunks. So no bucket is ever moved to grow, and no records have to be
//! counted first. Sorting needs the memory of the records, and scratch space for one bucket.

use std::marker::PhantomData;

use super::chunks::{Chunk, ChunkPool, Place};
use super::radix;
use super::record::{Record, decode};
use crate::base::error::Result;

/// Bits by which a bucket with more records than the scratch space is split.
const SPLIT_BITS: u32 = 8;

/// The records of one bucket. All chunks but the last are full.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) chunks: Vec<Chunk>,
    pub(super) records: usize,
}

impl Bucket {
    /// Returns the bytes of the records in each chunk.
    pub(super) fn pieces<'a, R: Record>(
        &'a self,
        pool: &'a ChunkPool,
    ) -> impl Iterator<Item = &'a [u8]> {
        let mut left = self.records * R::LEN;
        self.chunks.iter().map(move |&chunk| {
            let bytes = pool.bytes::<R>(chunk);
            let bytes = &bytes[..left.min(bytes.len())];
            left -= bytes.len();
            bytes
        })
    }
}

/// Records in buckets by some of their bits. All bits before those are equal.
#[derive(Debug)]
pub(super) struct Buckets<R> {
    from: u32,
    bits: u32,
    /// For each bucket, where its next record goes.
    places: Vec<Place>,
    /// The chunks, each with the number of its bucket, in the order in which they were begun.
    chunks: Vec<(usize, Chunk)>,
    records: PhantomData<R>,
}

impl<R: Record> Buckets<R> {
    /// Makes buckets by `bits` bits from bit `from` on.
    pub(super) fn new(from: u32, bits: u32) -> Self {
        let places = vec![Place::default(); 1 << bits];
        Self { from, bits, places, chunks: Vec::new(), records: PhantomData }
    }

    /// Adds a record. Returns false, and does not add it, if the pool has no chunk for it.
    #[inline]
    pub(super) fn push(&mut self, pool: &mut ChunkPool, record: R) -> Result<bool> {
        let bucket = record.digit(self.from, self.bits);
        if pool.write(&mut self.places[bucket], record) {
            return Ok(true);
        }
        let chunk = pool.take()?;
        Ok(chunk.is_some_and(|chunk| self.begin_chunk(pool, bucket, chunk, record)))
    }

    /// Adds a record, even if the pool exceeds its limit for it.
    #[inline]
    pub(super) fn push_more(&mut self, pool: &mut ChunkPool, record: R) -> Result<()> {
        let bucket = record.digit(self.from, self.bits);
        if !pool.write(&mut self.places[bucket], record) {
            let chunk = pool.take_more()?;
            self.begin_chunk(pool, bucket, chunk, record);
        }
        Ok(())
    }

    #[cold]
    fn begin_chunk(
        &mut self,
        pool: &mut ChunkPool,
        bucket: usize,
        chunk: Chunk,
        record: R,
    ) -> bool {
        self.places[bucket] = Place::in_chunk::<R>(pool, chunk);
        self.chunks.push((bucket, chunk));
        pool.write(&mut self.places[bucket], record)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns all buckets in order, and leaves them empty.
    pub(super) fn take(&mut self, pool: &ChunkPool) -> Vec<Bucket> {
        let empty = |_| Bucket { chunks: Vec::new(), records: 0 };
        let mut buckets: Vec<Bucket> = self.places.iter().map(empty).collect();
        for (bucket, chunk) in self.chunks.drain(..) {
            buckets[bucket].chunks.push(chunk);
        }
        for (bucket, place) in buckets.iter_mut().zip(&mut self.places) {
            let most = bucket.chunks.len() * pool.records_in_chunk::<R>();
            bucket.records = most - std::mem::take(place).room::<R>();
        }
        buckets
    }
}

/// Splits a bucket into buckets of at most `most` records, in order, without empty ones. Equal
/// records in a larger bucket become one.
pub(super) fn split<R: Record>(
    bucket: Bucket,
    most: usize,
    pool: &mut ChunkPool,
    out: &mut Vec<Bucket>,
) -> Result<()> {
    if bucket.records <= most {
        out.extend(Some(bucket).filter(|bucket| bucket.records > 0));
        return Ok(());
    }
    let Some(from) = radix::common(bucket.pieces::<R>(pool).flat_map(decode::<R>)) else {
        let mut chunks = bucket.chunks;
        pool.release(chunks.drain(1..));
        out.push(Bucket { chunks, records: 1 });
        return Ok(());
    };
    let mut parts = Buckets::<R>::new(from, SPLIT_BITS);
    let mut piece = Vec::new();
    let mut left = bucket.records;
    for chunk in bucket.chunks {
        // The chunk can be used again as soon as its records are copied.
        piece.clear();
        piece.extend(decode::<R>(pool.bytes::<R>(chunk)).take(left));
        left -= piece.len();
        pool.release([chunk]);
        piece.iter().try_for_each(|&record| parts.push_more(pool, record))?;
    }
    parts.take(pool).into_iter().try_for_each(|part| split::<R>(part, most, pool, out))
}

/// Scratch space for sorting.
#[derive(Debug, Default)]
pub(super) struct Scratch<R> {
    records: Vec<R>,
    other: Vec<R>,
}

impl<R: Record> Scratch<R> {
    pub(super) fn new() -> Self {
        Self { records: Vec::new(), other: Vec::new() }
    }

    /// Sorts the `len` records in these chunks, and removes duplicate ones. Returns how many are
    /// left.
    pub(super) fn sort_chunks(&mut self, chunks: &mut [&mut [u8]], len: usize) -> usize {
        self.records.clear();
        self.records.reserve_exact(len);
        for chunk in chunks.iter() {
            let left = len - self.records.len();
            self.records.extend(decode::<R>(chunk).take(left));
        }
        self.sort();
        let mut rest = self.records.iter();
        for chunk in chunks {
            chunk.chunks_exact_mut(R::LEN).zip(&mut rest).for_each(|(to, record)| record.put(to));
        }
        self.records.len()
    }

    /// Sorts the `len` records whose bytes `read` passes on, and removes duplicate ones.
    pub(super) fn sorted(
        &mut self,
        len: usize,
        read: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<&[R]> {
        self.records.clear();
        self.records.reserve_exact(len);
        read(&mut |bytes| {
            self.records.extend(decode::<R>(bytes));
            Ok(())
        })?;
        self.sort();
        Ok(&self.records)
    }

    fn sort(&mut self) {
        // What is in `other` does not matter.
        self.other.truncate(self.records.len());
        self.other.extend_from_slice(&self.records[self.other.len()..]);
        if radix::sort(&mut self.records, &mut self.other) {
            std::mem::swap(&mut self.records, &mut self.other);
        }
        self.records.dedup();
    }
}
