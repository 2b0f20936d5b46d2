//! Records that do not fit in memory. They are sorted bucket by bucket at each visit.

use std::collections::BTreeMap;

use super::buckets::{Buckets, Scratch};
use super::chunks::ChunkPool;
use super::record::{Record, decode};
use super::runs::{BATCH, Runs};
use super::space::Space;
use crate::base::error::Result;

/// A sample has one bucket in this many.
const BUCKETS_PER_SAMPLED: usize = 128;

/// Puts records into buckets, and writes the buckets to a run when the memory is full.
#[derive(Debug)]
pub(super) struct RunWriter<'a, R> {
    pool: ChunkPool,
    buckets: Buckets<R>,
    runs: Runs<'a>,
    space: Space,
}

impl<'a, R: Record> RunWriter<'a, R> {
    /// Makes a writer of records whose first `from` bits are equal.
    pub(super) fn new(runs: Runs<'a>, space: Space, from: u32) -> Self {
        Self { pool: space.pool(), buckets: Buckets::new(from, space.bits), runs, space }
    }

    #[inline]
    pub(super) fn push(&mut self, record: R) -> Result<()> {
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

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.runs.is_empty()
    }

    pub(super) fn has_runs(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Returns the records in memory, which are all if there are no runs.
    pub(super) fn into_memory(self) -> (ChunkPool, Buckets<R>, Space) {
        (self.pool, self.buckets, self.space)
    }

    /// Ends the input, and leaves no record in memory.
    pub(super) fn finish(mut self) -> Result<OnDisk<'a, R>> {
        if !self.buckets.is_empty() {
            self.write_run()?;
        }
        let Self { runs, space, pool, .. } = self;
        // Buckets that are moved need this memory.
        drop(pool);
        OnDisk::new(runs, space)
    }
}

/// Records in runs.
#[derive(Debug)]
pub(super) struct OnDisk<'a, R> {
    runs: Runs<'a>,
    space: Space,
    /// The buckets that do not fit in memory. Their records are not in the runs any more.
    large: BTreeMap<usize, Large<'a, R>>,
}

/// The records of a bucket that does not fit in memory.
#[derive(Debug)]
enum Large<'a, R> {
    Equal(R),
    /// In buckets by later bits.
    Spread(OnDisk<'a, R>),
}

impl<'a, R: Record> OnDisk<'a, R> {
    /// Moves the records of buckets that do not fit in memory to runs of their own.
    fn new(runs: Runs<'a>, space: Space) -> Result<Self> {
        let (mut large, mut first_taken) = (BTreeMap::new(), 0);
        for bucket in 0..1 << space.bits {
            if space.holds::<R>(runs.bucket_len::<R>(bucket)) {
                first_taken = bucket + 1;
            } else {
                large.insert(bucket, Large::take(&runs, bucket, first_taken, space)?);
            }
        }
        Ok(Self { runs, space, large })
    }

    /// Announces that all records are visited only `count` more times.
    pub(super) fn set_passes(&mut self, count: usize) {
        self.runs.set_passes(count);
        for large in self.large.values_mut() {
            if let Large::Spread(records) = large {
                records.set_passes(count);
            }
        }
    }

    /// Returns about how many bytes of memory a visit in order takes.
    pub(super) fn memory(&self) -> usize {
        let most = self.runs.largest_bucket() / R::LEN * 2 * size_of::<R>();
        most.min(self.space.memory.max(BATCH))
    }

    /// Returns the number of records; duplicates are counted.
    pub(super) fn len(&self) -> u64 {
        self.runs.len::<R>()
    }

    /// Visits the records of evenly spaced buckets.
    pub(super) fn sample(&self, visit: &mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> {
        let mut scratch = Scratch::new();
        for bucket in self.runs.spread_buckets((1 << self.space.bits) / BUCKETS_PER_SAMPLED) {
            match self.large.get(&bucket) {
                None => visit(self.sort(bucket, &mut scratch)?)?,
                Some(Large::Equal(record)) => visit(&[*record])?,
                Some(Large::Spread(records)) => {
                    scratch = Scratch::new();
                    records.sample(visit)?;
                }
            }
        }
        Ok(())
    }

    /// Visits all records, ascending and without duplicates.
    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> {
        let mut scratch = Scratch::new();
        for bucket in 0..1 << self.space.bits {
            let large = self.large.get(&bucket);
            let sorted = match large {
                None => self.sort(bucket, &mut scratch)?,
                Some(Large::Equal(record)) => std::slice::from_ref(record),
                Some(Large::Spread(_)) => &[],
            };
            self.runs.end_visit(bucket);
            visit(sorted)?;
            if let Some(Large::Spread(records)) = large {
                scratch = Scratch::new();
                records.for_each(visit)?;
            }
        }
        Ok(())
    }

    /// Visits all records in any order and possibly with duplicates.
    pub(super) fn for_each_unordered(
        &self,
        visit: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        for (&bucket, large) in &self.large {
            self.runs.for_each_unordered(start..bucket, visit)?;
            self.runs.end_visit(bucket);
            match large {
                Large::Equal(record) => visit(&[*record])?,
                Large::Spread(records) => records.for_each_unordered(visit)?,
            }
            start = bucket + 1;
        }
        self.runs.for_each_unordered(start..1 << self.space.bits, visit)
    }

    /// Returns the records of a bucket that fits in memory, sorted.
    fn sort<'s>(&self, bucket: usize, scratch: &'s mut Scratch<R>) -> Result<&'s [R]> {
        let len = self.runs.bucket_len::<R>(bucket);
        scratch.sorted(len, |keep| self.runs.visit_bucket::<R>(bucket, keep))
    }
}

impl<'a, R: Record> Large<'a, R> {
    /// Takes the records of a bucket out of the runs, as [`Runs::take_bucket`] does.
    fn take(runs: &Runs<'a>, bucket: usize, first_taken: usize, space: Space) -> Result<Self> {
        let (mut first, mut differing) = (None, R::ZERO);
        runs.visit_bucket::<R>(bucket, &mut |bytes| {
            for record in decode::<R>(bytes) {
                differing = record.add_differing(*first.get_or_insert(record), differing);
            }
            Ok(())
        })?;
        let from = differing.leading_zeros();
        if from >= R::BITS {
            runs.take_bucket::<R>(bucket, first_taken, &mut |_| Ok(()))?;
            return Ok(Self::Equal(first.unwrap_or(R::ZERO)));
        }
        let mut writer = RunWriter::new(runs.another(), space, from);
        runs.take_bucket::<R>(bucket, first_taken, &mut |bytes| {
            decode::<R>(bytes).try_for_each(|record| writer.push(record))
        })?;
        writer.finish().map(Self::Spread)
    }
}
