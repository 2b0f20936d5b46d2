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
mod radix;
mod record;
mod runs;

use std::sync::Arc;

use buckets::{Buckets, Chunks, SCRATCH_BYTES, Scratch, sort_once};
pub(crate) use record::{Record, Row};
pub(crate) use runs::FileNumbers;
use runs::{BATCH, Runs, decode};

use crate::error::Result;
use crate::parallel;
use crate::storage::Storage;

/// Most bits that choose a bucket. More bits cost cache misses when records arrive, fewer when they
/// are sorted.
const MOST_BITS: u32 = 10;
/// Bytes of memory per bucket. With less, too much would be unused in chunks that are not full.
const BUCKET_BYTES: usize = 32 << 10;

/// Records that are always held in memory. With fewer, nearly every record would become a run.
const LEAST_RECORDS: usize = 64;

/// Takes records in any order, and sorts them.
#[derive(Debug)]
pub(crate) struct Sorter<'a, R> {
    buckets: Buckets<R>,
    runs: Runs<'a>,
    space: Space,
    /// Most records in memory.
    limit: usize,
}

/// How the allowed memory is used.
#[derive(Debug, Clone, Copy)]
struct Space {
    memory: usize,
    /// Bytes of scratch space for sorting, per thread.
    scratch: usize,
    /// Bits that choose a bucket.
    bits: u32,
}

impl Space {
    fn new(memory: usize) -> Self {
        let bits = (memory / BUCKET_BYTES).checked_ilog2().unwrap_or(0).clamp(1, MOST_BITS);
        Self { memory, scratch: (memory / 8).min(SCRATCH_BYTES), bits }
    }
}

impl<'a, R: Record> Sorter<'a, R> {
    /// Makes a sorter that uses `memory` bytes, and scratch space for each thread but one. It
    /// always uses at least a kilobyte or so.
    pub(crate) fn new(
        storage: &'a Arc<dyn Storage>,
        numbers: &'a dyn FileNumbers,
        memory: usize,
    ) -> Self {
        Self::of_later_bits(Runs::new(storage, numbers), memory, 0)
    }

    /// Makes a sorter for records whose first `from` bits are equal.
    fn of_later_bits(runs: Runs<'a>, memory: usize, from: u32) -> Self {
        let space = Space::new(memory);
        let limit = ((memory - space.scratch) / size_of::<R>()).max(LEAST_RECORDS);
        Self { buckets: Buckets::new(from, space.bits), runs, space, limit }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        if self.buckets.push(record, self.limit) {
            return Ok(());
        }
        self.runs.add(self.buckets.take().into_chunks())?;
        // There is always room for one chunk.
        let _fits = self.buckets.push(record, usize::MAX);
        Ok(())
    }

    /// Ends the input. If everything is in memory, sorts it in up to `threads` threads. `done` is
    /// called with the number of records of each part that is sorted, and stops the sort if it
    /// returns an error.
    pub(crate) fn finish(
        mut self,
        threads: usize,
        done: impl Fn(u64) -> Result<()> + Sync,
    ) -> Result<Sorted<'a, R>> {
        if !self.runs.is_empty() {
            if !self.buckets.is_empty() {
                self.runs.add(self.buckets.take().into_chunks())?;
            }
            let Self { runs, space, .. } = self;
            return Ok(Sorted(Place::Disk { runs, space }));
        }
        let mut buckets: Vec<Chunks<R>> = self.buckets.into_chunks().collect();
        let scratch = || Scratch::new(self.space.scratch);
        let work = |scratch: &mut Scratch<R>, bucket: &mut Chunks<R>| {
            scratch.sort(bucket);
            done(bucket.iter().map(|chunk| chunk.len() as u64).sum())
        };
        parallel::for_each(threads, buckets.iter_mut(), scratch, work)?;
        Ok(Sorted(Place::Memory(buckets.into_iter().flatten().collect())))
    }
}

/// About the number of records in a sample of records in memory.
const SAMPLE: u64 = 1 << 18;
/// Number of neighbours in a piece of such a sample.
const SAMPLE_PIECE: u64 = 512;
/// A sample of records on disk has one bucket in this many.
const BUCKETS_PER_SAMPLED: usize = 128;

/// Sorted records without duplicates, which can be read any number of times.
#[derive(Debug)]
pub(crate) struct Sorted<'a, R>(Place<'a, R>);

#[derive(Debug)]
enum Place<'a, R> {
    Memory(Chunks<R>),
    Disk { runs: Runs<'a>, space: Space },
}

impl<R: Record> Sorted<'_, R> {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.0, Place::Memory(chunks) if chunks.is_empty())
    }

    /// Returns the number of records; duplicates on disk are counted.
    pub(crate) fn len(&self) -> u64 {
        match &self.0 {
            Place::Memory(chunks) => chunks.iter().map(|chunk| chunk.len() as u64).sum(),
            Place::Disk { runs, .. } => runs.len::<R>(),
        }
    }

    /// Visits parts of the records, from evenly spaced places. Each slice is ascending and without
    /// duplicates. This takes little time in comparison with [`for_each`](Self::for_each).
    pub(crate) fn sample(&self, mut visit: impl FnMut(&[R]) -> Result<()>) -> Result<()> {
        match &self.0 {
            Place::Memory(chunks) => {
                let step = self.len().div_ceil(SAMPLE).max(1);
                let (mut piece, mut passed) = (Vec::new(), 0);
                for chunk in chunks {
                    passed += chunk.len() as u64;
                    if passed > SAMPLE_PIECE * (step - 1) {
                        piece.extend_from_slice(chunk);
                    }
                    if passed >= SAMPLE_PIECE * step {
                        visit(&piece)?;
                        piece.clear();
                        passed = 0;
                    }
                }
                visit(&piece)
            }
            Place::Disk { runs, space } => {
                let buckets = runs.spread_buckets((1 << space.bits) / BUCKETS_PER_SAMPLED);
                sort_runs(runs, *space, buckets, &mut visit)
            }
        }
    }

    /// Visits all records, ascending and without duplicates, in slices. Records on disk are sorted
    /// at each call, within the memory that the sorter was given.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&[R]) -> Result<()>) -> Result<()> {
        match &self.0 {
            Place::Memory(chunks) => chunks.iter().try_for_each(|chunk| visit(chunk)),
            Place::Disk { runs, space } => sort_runs(runs, *space, 0..1 << space.bits, &mut visit),
        }
    }

    /// Visits all records in slices, in any order and possibly with duplicates. This costs less
    /// than [`for_each`](Self::for_each) if they are on disk.
    pub(crate) fn for_each_unordered(
        &self,
        mut visit: impl FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        match &self.0 {
            Place::Memory(chunks) => chunks.iter().try_for_each(|chunk| visit(chunk)),
            Place::Disk { runs, .. } => runs.for_each_unordered(&mut visit),
        }
    }
}

/// Visits all records of these buckets of the runs, sorted bucket by bucket.
fn sort_runs<R: Record>(
    runs: &Runs<'_>,
    space: Space,
    buckets: impl IntoIterator<Item = usize>,
    visit: &mut dyn FnMut(&[R]) -> Result<()>,
) -> Result<()> {
    let (mut records, mut scratch) = (Vec::<R>::new(), Vec::new());
    for bucket in buckets {
        let pieces = runs.bucket(bucket)?;
        let len = pieces.iter().map(|piece| piece.len()).sum::<usize>() / R::LEN;
        if len * 2 * size_of::<R>() > space.memory.max(BATCH) {
            (records, scratch) = (Vec::new(), Vec::new());
            sort_large(runs, &pieces, space, visit)?;
            continue;
        }
        records.clear();
        records.reserve_exact(len);
        pieces.iter().for_each(|piece| records.extend(decode::<R>(piece)));
        sort_once(&mut records, &mut scratch);
        visit(&records)?;
    }
    Ok(())
}

/// Visits the records of a bucket that does not fit in memory, sorted.
fn sort_large<R: Record>(
    runs: &Runs<'_>,
    pieces: &[&[u8]],
    space: Space,
    visit: &mut dyn FnMut(&[R]) -> Result<()>,
) -> Result<()> {
    let records = || pieces.iter().flat_map(|piece| decode::<R>(piece));
    let Some(from) = radix::common(records()) else {
        return records().take(1).try_for_each(|record| visit(&[record]));
    };
    let mut sorter = Sorter::of_later_bits(runs.another(), space.memory, from);
    records().try_for_each(|record| sorter.push(record))?;
    sorter.finish(1, |_| Ok(()))?.for_each(visit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::{DocId, Entry, Fingerprint};
    use crate::storage::Sim;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Debug, Default)]
    struct Numbers(AtomicU64);
    impl FileNumbers for Numbers {
        fn next(&self) -> u64 {
            self.0.fetch_add(1, Ordering::Relaxed)
        }
    }

    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(seed: &mut u64, n: u32) -> u32 {
        u32::try_from(random(seed) % u64::from(n)).unwrap()
    }

    fn wide<F: Fingerprint>(seed: &mut u64) -> F {
        F::from_u128(u128::from(random(seed)) << 64 | u128::from(random(seed)))
    }

    /// Returns fingerprints with every kind of skew.
    fn kinds<F: Fingerprint>(n: usize) -> Vec<Vec<F>> {
        let seed = &mut 5;
        let uniform: Vec<F> = (0..n).map(|_| wide(seed)).collect();
        let mut sorted = uniform.clone();
        sorted.sort_unstable();
        let reversed = sorted.iter().rev().copied().collect();
        let mut clustered: Vec<F> = Vec::new();
        while clustered.len() < n {
            let centre = wide::<F>(seed);
            for _ in 0..1 << (random(seed) % 12) {
                let flips = (0..random(seed) % 9).map(|_| F::ONE << (below(seed, F::BITS)));
                clustered.push(flips.fold(centre, |value, flip| value ^ flip));
            }
        }
        clustered.truncate(n);
        let few = (0..n).map(|_| F::from_u128((random(seed) % 5).into())).collect();
        let hot = uniform.iter().map(|&f| f >> (below(seed, F::BITS))).collect();
        let low = uniform.iter().map(|&f| f >> (F::BITS - 24)).collect();
        vec![uniform, sorted, reversed, clustered, few, hot, low, vec![F::MAX; n]]
    }

    /// Sorts in this much memory, compares with a plain sort, and returns the number of runs.
    fn check<R: Record + std::fmt::Debug>(records: &[R], memory: usize, threads: usize) -> usize {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim.clone();
        let numbers = Numbers::default();
        let mut expected = records.to_vec();
        expected.sort_unstable();
        expected.dedup();
        let mut sorter = Sorter::new(&storage, &numbers, memory);
        records.iter().for_each(|&record| sorter.push(record).unwrap());
        let sorted = sorter.finish(threads, |_| Ok(())).unwrap();
        let runs = sim.list().unwrap().unwrap().len();
        let mut got = Vec::new();
        let mut add = |some: &[R]| {
            got.extend_from_slice(some);
            Ok(())
        };
        sorted.for_each(&mut add).unwrap();
        sorted.for_each(&mut add).unwrap();
        let twice = [&expected[..], &expected].concat();
        assert!(got == twice, "{memory} {threads}");
        got.clear();
        sorted
            .for_each_unordered(|some| {
                got.extend_from_slice(some);
                Ok(())
            })
            .unwrap();
        got.sort_unstable();
        got.dedup();
        assert!(got == expected, "{memory} {threads}");
        assert_eq!(sorted.is_empty(), records.is_empty());
        drop(sorted);
        assert_eq!(sim.list().unwrap().unwrap(), Vec::<String>::new(), "scratch files left");
        runs
    }

    fn check_width<F: Fingerprint>() {
        let mut runs = Vec::new();
        for n in [0, 1, 2, 15, 16, 17, 511, 513, 3000, 70_000] {
            for fingerprints in kinds::<F>(n) {
                let rows: Vec<Row<F>> = fingerprints.iter().map(|&f| Row(f)).collect();
                let with_ids = (0..).zip(&fingerprints);
                let entries: Vec<Entry<F>> = with_ids
                    .map(|(id, &fingerprint)| Entry { fingerprint, id: DocId(id * id % 1001) })
                    .collect();
                for (memory, threads) in [(0, 1), (100 << 10, 2), (64 << 20, 3)] {
                    // Many runs of few records take long and test nothing more.
                    if memory > 0 || n <= 3000 {
                        runs.push(check(&rows, memory, threads));
                        runs.push(check(&entries, memory, threads));
                    }
                }
            }
        }
        assert!(runs.contains(&0) && runs.iter().any(|&runs| runs > 9));
    }

    #[test]
    fn records_are_sorted_and_unique_for_any_skew_and_memory() {
        check_width::<u64>();
        check_width::<u128>();
    }

    #[test]
    fn buckets_larger_than_the_cache_are_split() {
        let n = 400_000u64;
        let hot: Vec<Row<u64>> = (0..n).map(|i| Row(i * i % (n / 3))).collect();
        assert_eq!(check(&hot, 64 << 20, 2), 0);
    }

    #[test]
    fn sample_has_neighbours_from_all_over_the_records() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim.clone();
        let numbers = Numbers::default();
        // Nearly all records begin with 32 zeros, so they are in the first bucket.
        let crowd = (0..200_000u64).map(|i| Row(i * 3));
        for memory in [64 << 20, 1 << 20] {
            let mut sorter = Sorter::new(&storage, &numbers, memory);
            crowd.clone().for_each(|record| sorter.push(record).unwrap());
            (1..100).for_each(|i| sorter.push(Row(i << 57)).unwrap());
            let sorted = sorter.finish(1, |_| Ok(())).unwrap();
            let (mut sampled, mut neighbours) = (0, 0);
            let visit = |piece: &[Row<u64>]| {
                assert!(piece.is_sorted_by(|a, b| a < b));
                neighbours += piece.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 3).count();
                sampled += piece.len();
                Ok(())
            };
            sorted.sample(visit).unwrap();
            assert_eq!(sorted.len(), 200_099);
            assert!(neighbours > 100_000 && neighbours <= sampled, "{neighbours} {memory}");
        }
    }

    #[test]
    fn sample_of_many_records_is_a_small_part_of_them() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim.clone();
        let numbers = Numbers::default();
        for (memory, most) in [(64 << 20, 600_000), (8 << 20, 20_000)] {
            let mut sorter = Sorter::new(&storage, &numbers, memory);
            let mut seed = 8;
            (0..1_000_000).for_each(|_| sorter.push(Row(random(&mut seed))).unwrap());
            let sorted = sorter.finish(2, |_| Ok(())).unwrap();
            let (mut sampled, mut low, mut high) = (0, u64::MAX, 0);
            let visit = |piece: &[Row<u64>]| {
                sampled += piece.len();
                low = piece.iter().fold(low, |low, row| low.min(row.0));
                high = piece.iter().fold(high, |high, row| high.max(row.0));
                Ok(())
            };
            sorted.sample(visit).unwrap();
            assert!((3_000..most).contains(&sampled), "{sampled} in {memory} bytes");
            assert!(memory < 9 << 20 || high - low > u64::MAX / 20 * 19, "{low:x} to {high:x}");
        }
    }

    #[test]
    fn memory_is_used_for_records() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim.clone();
        let numbers = Numbers::default();
        let memory = 4 << 20;
        let mut sorter = Sorter::new(&storage, &numbers, memory);
        let (mut pushed, mut seed) = (0, 1);
        while sim.list().unwrap().unwrap().is_empty() {
            sorter.push(Row(random(&mut seed))).unwrap();
            pushed += 1;
        }
        let used = pushed * size_of::<u64>();
        assert!((memory * 6 / 10..=memory).contains(&used), "{used} of {memory} used");
    }

    #[test]
    fn error_stops_the_sort_and_leaves_no_file() {
        for call in 0..12 {
            let sim = Sim::new();
            sim.create_root().unwrap();
            let storage: Arc<dyn Storage> = sim.clone();
            let numbers = Numbers::default();
            let mut sorter = Sorter::new(&storage, &numbers, 0);
            sim.fail_at(sim.calls() + call, crate::storage::Fault::NoSpace, false);
            let mut seed = 3;
            let failed = (0..2000).find_map(|_| sorter.push(Row(random(&mut seed))).err());
            assert_eq!(failed.unwrap().kind(), crate::ErrorKind::Io);
            sim.fail_no_more();
            drop(sorter);
            assert_eq!(sim.list().unwrap().unwrap(), Vec::<String>::new());
        }
    }
}
