//! Sorting more records than fit in memory.
//!
//! Bulk loads sort entries by fingerprint, and fingerprints in each table's bit order. Records are
//! put into buckets by their leading bits as they arrive. When memory is full, all buckets are
//! written to a file, a run, one after another. At the end, each bucket is collected from all runs,
//! sorted in memory and passed on. So every record is written once and read once per pass, and
//! nothing is merged. A bucket that does not fit in memory is sorted in the same way, by later
//! bits.
//!
//! Runs are scratch files. They are of no use after a crash, and removed as orphans at the next
//! open.

mod buckets;
mod chunks;
mod radix;
mod record;
mod runs;

use std::marker::PhantomData;

use buckets::{Bucket, Buckets, Scratch, split};
use chunks::ChunkPool;
pub(crate) use record::Record;
use record::decode;
use runs::{BATCH, Runs};

use crate::error::Result;
use crate::parallel;
use crate::scratch::ScratchFiles;

/// Most bits that choose a bucket. More bits cost cache misses when records arrive, fewer when they
/// are sorted.
const MAX_BITS: u32 = 10;
/// Bytes of memory per bucket. With less, too much would be unused in chunks that are not full.
const BUCKET_BYTES: usize = 32 << 10;
/// Bytes of a chunk, of which a bucket has at least four if all are equally full.
const CHUNK_BYTES: usize = 8 << 10;
const MIN_CHUNK_BYTES: usize = 512;
/// Bytes of scratch space for sorting, half of which is a copy: about the size of the second-level
/// cache. A larger bucket is sorted at once only if the memory is at least
/// [`MEMORY_PER_SCRATCH`] times as large.
const SCRATCH_BYTES: usize = 2 << 20;
const MEMORY_PER_SCRATCH: usize = 32;

/// Most records that are sorted without buckets, in which they would be on as many pages of memory.
const MAX_FEW: usize = 1 << 12;
/// Part of the memory that these take at most.
const FEW_SHARE: usize = 8;

/// Takes records in any order, and sorts them.
#[derive(Debug)]
pub(crate) struct Sorter<'a, R> {
    /// The first records.
    few: Vec<R>,
    /// As long as there are fewer records than this, they are not put into buckets. Then 0.
    most_few: usize,
    pool: ChunkPool,
    buckets: Buckets<R>,
    runs: Runs<'a>,
    space: Space,
}

/// How the allowed memory is used.
#[derive(Debug, Clone, Copy)]
struct Space {
    memory: usize,
    threads: usize,
    /// Bytes of scratch space for sorting, of all threads.
    scratch: usize,
    /// Bits that choose a bucket.
    bits: u32,
}

impl Space {
    fn new(memory: usize, threads: usize) -> Self {
        let bits = (memory / BUCKET_BYTES).checked_ilog2().unwrap_or(0).clamp(1, MAX_BITS);
        let scratch = SCRATCH_BYTES.max(memory / MEMORY_PER_SCRATCH).min(memory / 8);
        Self { memory, threads, scratch, bits }
    }

    /// Returns a pool for records.
    fn pool(self) -> ChunkPool {
        let chunk = (self.memory >> self.bits >> 2).clamp(MIN_CHUNK_BYTES, CHUNK_BYTES);
        let least = chunk << self.bits;
        ChunkPool::new(chunk, (self.memory - self.scratch).max(least))
    }
}

impl<'a, R: Record> Sorter<'a, R> {
    /// Makes a sorter that uses `memory` bytes and up to `threads` threads. It always uses at least
    /// a kilobyte or so.
    pub(crate) fn new(files: ScratchFiles<'a>, memory: usize, threads: usize) -> Self {
        let most_few = (memory / FEW_SHARE / size_of::<R>()).min(MAX_FEW);
        let sorter = Self::of_later_bits(Runs::new(files), Space::new(memory, threads), 0);
        Self { most_few, ..sorter }
    }

    /// Makes a sorter for records whose first `from` bits are equal.
    fn of_later_bits(runs: Runs<'a>, space: Space, from: u32) -> Self {
        let (pool, buckets) = (space.pool(), Buckets::new(from, space.bits));
        Self { few: Vec::new(), most_few: 0, pool, buckets, runs, space }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        if self.most_few > 0 { self.push_few(record) } else { self.push_to_bucket(record) }
    }

    #[cold]
    fn push_few(&mut self, record: R) -> Result<()> {
        self.few.push(record);
        if self.few.len() < self.most_few {
            return Ok(());
        }
        self.most_few = 0;
        std::mem::take(&mut self.few).into_iter().try_for_each(|record| self.push_to_bucket(record))
    }

    #[inline]
    fn push_to_bucket(&mut self, record: R) -> Result<()> {
        if self.buckets.push(&mut self.pool, record)? {
            return Ok(());
        }
        self.write_run()?;
        self.buckets.push_more(&mut self.pool, record)
    }

    /// Moves all records in memory to a run.
    fn write_run(&mut self) -> Result<()> {
        let buckets = self.buckets.take(&self.pool);
        self.runs.add::<R>(&buckets, &self.pool)?;
        self.pool.release(buckets.into_iter().flat_map(|bucket| bucket.chunks));
        Ok(())
    }

    /// Ends the input. Sorts it now if everything is in memory. `done` is called with the number of
    /// records of each part that is sorted, and stops the sort if it returns an error.
    pub(crate) fn finish(
        mut self,
        done: impl Fn(u64) -> Result<()> + Sync,
    ) -> Result<Sorted<'a, R>> {
        if !self.runs.is_empty() {
            if !self.buckets.is_empty() {
                self.write_run()?;
            }
            let Self { runs, space, .. } = self;
            return Ok(Sorted(Place::Disk { runs, space, records: PhantomData }));
        }
        let Self { mut few, most_few, mut pool, mut buckets, space, .. } = self;
        if most_few > 0 {
            few.sort_unstable();
            few.dedup();
            done(few.len() as u64)?;
            return Ok(Sorted(Place::Few(few)));
        }
        let most = (space.scratch / space.threads / 2 / size_of::<R>()).max(1);
        let mut parts = Vec::new();
        for bucket in buckets.take(&pool) {
            split::<R>(bucket, most, &mut pool, &mut parts)?;
        }
        let mut bytes = pool.split();
        let tasks: Vec<_> = parts
            .iter_mut()
            .map(|part| {
                let chunks = part.chunks.iter().filter_map(|&chunk| bytes.take(chunk));
                (chunks.collect::<Vec<_>>(), &mut part.records)
            })
            .collect();
        let sort = |scratch: &mut Scratch<R>,
                    (mut chunks, records): (Vec<&mut [u8]>, &mut usize)| {
            *records = scratch.sort_chunks(&mut chunks, *records);
            done(*records as u64)
        };
        parallel::for_each(space.threads, tasks.into_iter(), Scratch::new, sort)?;
        drop(bytes);
        Ok(Sorted(Place::Memory { pool, parts }))
    }
}

/// About the number of records in a sample of records in memory.
const SAMPLE: u64 = 1 << 18;
/// Number of neighbours in a piece of such a sample.
const SAMPLE_PIECE: usize = 512;
/// A sample of records on disk has one bucket in this many.
const BUCKETS_PER_SAMPLED: usize = 128;

/// Sorted records without duplicates, which can be read any number of times.
#[derive(Debug)]
pub(crate) struct Sorted<'a, R>(Place<'a, R>);

#[derive(Debug)]
enum Place<'a, R> {
    Few(Vec<R>),
    Memory { pool: ChunkPool, parts: Vec<Bucket> },
    Disk { runs: Runs<'a>, space: Space, records: PhantomData<R> },
}

impl<R: Record> Sorted<'_, R> {
    /// Announces that all records are visited only `count` more times, by
    /// [`for_each`](Self::for_each) or [`for_each_unordered`](Self::for_each_unordered). Records on
    /// disk then take no space after their last visit, where the file system can do that.
    pub(crate) fn with_passes(mut self, count: usize) -> Self {
        if let Place::Disk { runs, .. } = &mut self.0 {
            runs.set_passes(count);
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.0 {
            Place::Few(records) => records.is_empty(),
            Place::Memory { parts, .. } => parts.is_empty(),
            Place::Disk { .. } => false,
        }
    }

    /// Returns about how many bytes of memory the records take, on disk while they are visited in
    /// order.
    pub(crate) fn memory(&self) -> usize {
        match &self.0 {
            Place::Few(records) => records.len() * size_of::<R>(),
            Place::Memory { pool, .. } => pool.bytes_of_slabs(),
            Place::Disk { runs, space, .. } => {
                let most = runs.largest_bucket() / R::LEN * 2 * size_of::<R>();
                most.min(space.memory.max(BATCH))
            }
        }
    }

    /// Returns the number of records; duplicates on disk are counted.
    pub(crate) fn len(&self) -> u64 {
        match &self.0 {
            Place::Few(records) => records.len() as u64,
            Place::Memory { parts, .. } => parts.iter().map(|part| part.records as u64).sum(),
            Place::Disk { runs, .. } => runs.len::<R>(),
        }
    }

    /// Visits parts of the records, from evenly spaced places. Each slice is ascending and without
    /// duplicates. This takes little time in comparison with [`for_each`](Self::for_each).
    pub(crate) fn sample(&self, mut visit: impl FnMut(&[R]) -> Result<()>) -> Result<()> {
        match &self.0 {
            Place::Few(records) => visit(records),
            Place::Memory { pool, parts } => {
                let step = usize::try_from(self.len().div_ceil(SAMPLE)).unwrap_or(usize::MAX);
                sample_chunks(pool, parts, step.max(1), &mut visit)
            }
            Place::Disk { runs, space, .. } => {
                let buckets = runs.spread_buckets((1 << space.bits) / BUCKETS_PER_SAMPLED);
                sort_runs(runs, *space, buckets, &|_| {}, &mut visit)
            }
        }
    }

    /// Visits all records, ascending and without duplicates, in slices. Records on disk are sorted
    /// at each call, within the memory that the sorter was given.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&[R]) -> Result<()>) -> Result<()> {
        match &self.0 {
            Place::Few(records) => visit(records),
            Place::Memory { pool, parts } => visit_chunks(pool, parts, &mut visit),
            Place::Disk { runs, space, .. } => {
                let read = |bucket| runs.end_visit(bucket);
                sort_runs(runs, *space, 0..1 << space.bits, &read, &mut visit)
            }
        }
    }

    /// Visits all records in slices, in any order and possibly with duplicates. This costs less
    /// than [`for_each`](Self::for_each) if they are on disk.
    pub(crate) fn for_each_unordered(
        &self,
        mut visit: impl FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        match &self.0 {
            Place::Few(records) => visit(records),
            Place::Memory { pool, parts } => visit_chunks(pool, parts, &mut visit),
            Place::Disk { runs, .. } => runs.for_each_unordered(&mut visit),
        }
    }
}

/// Visits the records of these buckets, a chunk at a time.
fn visit_chunks<R: Record>(
    pool: &ChunkPool,
    buckets: &[Bucket],
    visit: &mut dyn FnMut(&[R]) -> Result<()>,
) -> Result<()> {
    let mut records = Vec::with_capacity(pool.records_in_chunk::<R>());
    for piece in buckets.iter().flat_map(|bucket| bucket.pieces::<R>(pool)) {
        records.clear();
        records.extend(decode::<R>(piece));
        visit(&records)?;
    }
    Ok(())
}

/// Visits every `step`th piece of [`SAMPLE_PIECE`] neighbours. The pieces do not depend on where
/// the chunks begin.
fn sample_chunks<R: Record>(
    pool: &ChunkPool,
    buckets: &[Bucket],
    step: usize,
    visit: &mut dyn FnMut(&[R]) -> Result<()>,
) -> Result<()> {
    let (mut piece, mut skip) = (Vec::with_capacity(SAMPLE_PIECE), 0);
    for mut bytes in buckets.iter().flat_map(|bucket| bucket.pieces::<R>(pool)) {
        loop {
            let skipped = skip.min(bytes.len() / R::LEN);
            skip -= skipped;
            bytes = &bytes[skipped * R::LEN..];
            if bytes.is_empty() {
                break;
            }
            let more = (SAMPLE_PIECE - piece.len()).min(bytes.len() / R::LEN);
            let (head, tail) = bytes.split_at(more * R::LEN);
            piece.extend(decode::<R>(head));
            bytes = tail;
            if piece.len() == SAMPLE_PIECE {
                visit(&piece)?;
                piece.clear();
                skip = SAMPLE_PIECE * (step - 1);
            }
        }
    }
    visit(&piece)
}

/// Visits all records of these buckets of the runs, sorted bucket by bucket. `read` is called with
/// each bucket that need not be read again.
fn sort_runs<R: Record>(
    runs: &Runs<'_>,
    space: Space,
    buckets: impl IntoIterator<Item = usize>,
    read: &dyn Fn(usize),
    visit: &mut dyn FnMut(&[R]) -> Result<()>,
) -> Result<()> {
    let mut scratch = Scratch::new();
    for bucket in buckets {
        let len = runs.bucket_len::<R>(bucket);
        if len * 2 * size_of::<R>() > space.memory.max(BATCH) {
            scratch = Scratch::new();
            sort_large(runs, bucket, space, read, visit)?;
        } else {
            let sorted = scratch.sorted(len, |keep| runs.visit_bucket::<R>(bucket, keep))?;
            read(bucket);
            visit(sorted)?;
        }
    }
    Ok(())
}

/// Visits the records of a bucket that does not fit in memory, sorted.
fn sort_large<R: Record>(
    runs: &Runs<'_>,
    bucket: usize,
    space: Space,
    read: &dyn Fn(usize),
    visit: &mut dyn FnMut(&[R]) -> Result<()>,
) -> Result<()> {
    let (mut first, mut differing) = (None, R::ZERO);
    runs.visit_bucket::<R>(bucket, &mut |bytes| {
        for record in decode::<R>(bytes) {
            differing = record.add_differing(*first.get_or_insert(record), differing);
        }
        Ok(())
    })?;
    let from = differing.leading_zeros();
    if from >= R::BITS {
        read(bucket);
        return first.iter().try_for_each(|&record| visit(&[record]));
    }
    let mut sorter = Sorter::of_later_bits(runs.another(), space, from);
    runs.visit_bucket::<R>(bucket, &mut |bytes| {
        decode::<R>(bytes).try_for_each(|record| sorter.push(record))
    })?;
    read(bucket);
    sorter.finish(|_| Ok(()))?.with_passes(1).for_each(visit)
}

#[cfg(test)]
mod tests;
