//! Sorting more records than fit in memory.
//!
//! Bulk loads sort entries by fingerprint, and fingerprints in each table's bit order. Records are
//! put into buckets by their leading bits as they arrive. When memory is full, all buckets are
//! written to a file, a run, one after another. At the end, each bucket is collected from all runs,
//! sorted in memory and passed on. So every record is written once and read once per pass, and
//! nothing is merged. The records of a bucket that does not fit in memory are first moved to runs
//! of their own, by later bits. Where the file system can do that, their old places are given back
//! at the same time, so that no records are on disk twice.
//!
//! Runs are scratch files. They are of no use after a crash, and removed as orphans at the next
//! open.

mod buckets;
mod chunks;
mod disk;
mod radix;
mod record;
mod runs;
mod space;

use buckets::{Bucket, Scratch, split};
use chunks::ChunkPool;
use disk::{OnDisk, RunWriter};
pub(crate) use record::Record;
use record::decode;
use runs::Runs;
use space::Space;
pub(crate) use space::copies;

use crate::base::error::Result;
use crate::base::parallel;
use crate::file::scratch::ScratchFiles;

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
    rest: RunWriter<'a, R>,
}

impl<'a, R: Record> Sorter<'a, R> {
    /// Makes a sorter that uses `memory` bytes and up to `threads` threads. It always uses at least
    /// a kilobyte or so.
    pub(crate) fn new(files: ScratchFiles<'a>, memory: usize, threads: usize) -> Self {
        let most_few = (memory / FEW_SHARE / size_of::<R>()).min(MAX_FEW);
        let rest = RunWriter::new(Runs::new(files), Space::new(memory, threads), 0);
        Self { few: Vec::new(), most_few, rest }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        if self.most_few > 0 { self.push_few(record) } else { self.rest.push(record) }
    }

    #[cold]
    fn push_few(&mut self, record: R) -> Result<()> {
        self.few.push(record);
        if self.few.len() < self.most_few {
            return Ok(());
        }
        self.most_few = 0;
        std::mem::take(&mut self.few).into_iter().try_for_each(|record| self.rest.push(record))
    }

    /// Ends the input. Sorts it now if everything is in memory. `done` is called with the number of
    /// records of each part that is sorted, and stops the sort if it returns an error.
    pub(crate) fn finish(self, done: &(dyn Fn(u64) -> Result<()> + Sync)) -> Result<Sorted<'a, R>> {
        let Self { mut few, most_few, rest } = self;
        if rest.has_runs() {
            return Ok(Sorted(Place::Disk(rest.finish()?)));
        }
        if most_few > 0 {
            few.sort_unstable();
            few.dedup();
            done(few.len() as u64)?;
            return Ok(Sorted(Place::Few(few)));
        }
        let (mut pool, mut buckets, space) = rest.into_memory();
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

/// Sorted records without duplicates, which can be read any number of times.
#[derive(Debug)]
pub(crate) struct Sorted<'a, R>(Place<'a, R>);

#[derive(Debug)]
enum Place<'a, R> {
    Few(Vec<R>),
    Memory { pool: ChunkPool, parts: Vec<Bucket> },
    Disk(OnDisk<'a, R>),
}

impl<R: Record> Sorted<'_, R> {
    /// Announces that all records are visited only `count` more times, by
    /// [`for_each`](Self::for_each) or [`for_each_unordered`](Self::for_each_unordered). Records on
    /// disk then take no space after their last visit, where the file system can do that.
    pub(crate) fn with_passes(mut self, count: usize) -> Self {
        if let Place::Disk(records) = &mut self.0 {
            records.set_passes(count);
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.0 {
            Place::Few(records) => records.is_empty(),
            Place::Memory { parts, .. } => parts.is_empty(),
            Place::Disk(_) => false,
        }
    }

    /// Returns about how many bytes of memory the records take, on disk while they are visited in
    /// order.
    pub(crate) fn memory(&self) -> usize {
        match &self.0 {
            Place::Few(records) => records.len() * size_of::<R>(),
            Place::Memory { pool, .. } => pool.bytes_of_slabs(),
            Place::Disk(records) => records.memory(),
        }
    }

    /// Returns the number of records; duplicates on disk are counted.
    pub(crate) fn len(&self) -> u64 {
        match &self.0 {
            Place::Few(records) => records.len() as u64,
            Place::Memory { parts, .. } => parts.iter().map(|part| part.records as u64).sum(),
            Place::Disk(records) => records.len(),
        }
    }

    /// Visits parts of the records, from evenly spaced places. Each slice is ascending and without
    /// duplicates. This takes little time in comparison with [`for_each`](Self::for_each).
    pub(crate) fn sample(&self, visit: &mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> {
        match &self.0 {
            Place::Few(records) => visit(records),
            Place::Memory { pool, parts } => {
                let step = usize::try_from(self.len().div_ceil(SAMPLE)).unwrap_or(usize::MAX);
                sample_chunks(pool, parts, step.max(1), visit)
            }
            Place::Disk(records) => records.sample(visit),
        }
    }

    /// Visits all records, ascending and without duplicates, in slices. Records on disk are sorted
    /// at each call, within the memory that the sorter was given.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> {
        match &self.0 {
            Place::Few(records) => visit(records),
            Place::Memory { pool, parts } => visit_chunks(pool, parts, visit),
            Place::Disk(records) => records.for_each(visit),
        }
    }

    /// Visits all records in slices, in any order and possibly with duplicates. This costs less
    /// than [`for_each`](Self::for_each) if they are on disk.
    pub(crate) fn for_each_unordered(
        &self,
        visit: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        match &self.0 {
            Place::Few(records) => visit(records),
            Place::Memory { pool, parts } => visit_chunks(pool, parts, visit),
            Place::Disk(records) => records.for_each_unordered(visit),
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

#[cfg(test)]
mod tests;
