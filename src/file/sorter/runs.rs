//! Runs: buckets of records on disk.

use std::ops::Range;
use std::sync::Mutex;

use super::buckets::Bucket;
use super::chunks::ChunkPool;
use super::record::{Record, decode};
use crate::base::error::Result;
use crate::base::parallel::lock;
use crate::file::scratch::{ScratchFiles, ScratchReader};
use crate::file::storage::PAGE;

/// Bytes that are written or read at a time.
pub(super) const BATCH: usize = 1 << 16;

/// Bytes of a run that are given back at a time while a bucket is taken out of it.
const TAKEN: usize = 1 << 20;

/// The buckets are divided into at least this many groups, if there are as many buckets. A group is
/// discarded at a time, and read at a time if the order does not matter.
const GROUPS: usize = 128;

/// Files that hold all buckets, one after another. They are removed when the value is dropped.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    files: ScratchFiles<'a>,
    runs: Vec<Run<'a>>,
    passes: Option<Mutex<Passes>>,
}

/// The last passes over all buckets, each in order.
#[derive(Debug)]
struct Passes {
    /// How many there are.
    count: usize,
    /// How often each bucket was visited.
    visits: Vec<usize>,
    /// How many of the first buckets were discarded.
    discarded: usize,
}

#[derive(Debug)]
struct Run<'a> {
    file: ScratchReader<'a>,
    /// Where each bucket ends.
    ends: Vec<usize>,
}

impl Run<'_> {
    /// Returns where the bytes of a bucket are.
    fn bucket(&self, bucket: usize) -> Range<usize> {
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        start..self.ends[bucket]
    }

    /// Passes these bytes to `visit`, some records at a time.
    fn visit<R: Record>(
        &self,
        bytes: Range<usize>,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.file.read(bytes, BATCH / R::LEN * R::LEN, visit)
    }
}

impl<'a> Runs<'a> {
    pub(super) fn new(files: ScratchFiles<'a>) -> Self {
        Self { files, runs: Vec::new(), passes: None }
    }

    /// Announces the last passes, so that each bucket is discarded after its last visit.
    pub(super) fn set_passes(&mut self, count: usize) {
        let buckets = self.runs.first().map_or(0, |run| run.ends.len());
        let passes = Passes { count, visits: vec![0; buckets], discarded: 0 };
        self.passes = Some(Mutex::new(passes));
    }

    /// Ends the visit of a bucket, as a part of a pass.
    pub(super) fn end_visit(&self, bucket: usize) {
        let Some(passes) = &self.passes else { return };
        let mut passes = lock(passes);
        passes.visits[bucket] += 1;
        debug_assert!(passes.visits[bucket] <= passes.count, "a discarded bucket was read");
        let (begin, visits) = (passes.discarded, &passes.visits);
        let done = visits[begin..].iter().take_while(|&&visits| visits >= passes.count).count();
        let end = begin + done;
        if done < group(visits.len()) && end < visits.len() {
            return;
        }
        passes.discarded = end;
        for run in self.runs.iter().filter(|_| done > 0) {
            run.file.discard(run.bucket(begin).start..run.bucket(end - 1).end);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes buckets as one more run.
    pub(super) fn add<R: Record>(&mut self, buckets: &[Bucket], pool: &ChunkPool) -> Result<()> {
        let mut file = self.files.create()?;
        let mut bytes = Vec::with_capacity(BATCH);
        let (mut ends, mut end) = (Vec::new(), 0);
        for bucket in buckets {
            for piece in bucket.pieces::<R>(pool) {
                if bytes.len() + piece.len() > BATCH {
                    file.append(&bytes)?;
                    bytes.clear();
                }
                bytes.extend_from_slice(piece);
            }
            end += bucket.records * R::LEN;
            ends.push(end);
        }
        file.append(&bytes)?;
        self.runs.push(Run { file: file.finish()?, ends });
        Ok(())
    }

    pub(super) fn bucket_len<R: Record>(&self, bucket: usize) -> usize {
        self.runs.iter().map(|run| run.bucket(bucket).len()).sum::<usize>() / R::LEN
    }

    /// Passes the bytes of a bucket to `visit`, some records at a time.
    pub(super) fn visit_bucket<R: Record>(
        &self,
        bucket: usize,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.runs.iter().try_for_each(|run| run.visit::<R>(run.bucket(bucket), visit))
    }

    /// Passes the bytes of a bucket to `visit`, and gives back their disk space meanwhile. They
    /// cannot be read again. All buckets from `first_taken` up to this one must have been taken
    /// already.
    pub(super) fn take_bucket<R: Record>(
        &self,
        bucket: usize,
        first_taken: usize,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        for run in &self.runs {
            let range = run.bucket(bucket);
            // A page that also holds bytes of other buckets stays until they are taken.
            let others_end = run.bucket(first_taken).start.next_multiple_of(PAGE);
            let (mut kept, mut end) = (others_end.max(range.start / PAGE * PAGE), range.start);
            run.visit::<R>(range.clone(), &mut |bytes| {
                visit(bytes)?;
                end += bytes.len();
                if end >= kept + TAKEN || end == range.end && end > kept {
                    run.file.discard(kept..end);
                    kept = end / PAGE * PAGE;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    pub(super) fn len<R: Record>(&self) -> u64 {
        self.runs.iter().map(|run| (run.file.len() / R::LEN) as u64).sum()
    }

    /// Returns where each bucket would end if all runs were one.
    fn ends(&self) -> impl Iterator<Item = usize> {
        let buckets = self.runs.first().map_or(0, |run| run.ends.len());
        (0..buckets).map(|b| self.runs.iter().map(|run| run.ends[b]).sum())
    }

    /// Returns the bytes of the largest bucket.
    pub(super) fn largest_bucket(&self) -> usize {
        let mut start = 0;
        self.ends().map(|end| end - std::mem::replace(&mut start, end)).max().unwrap_or(0)
    }

    /// Returns up to `count` buckets, at least one, ascending: the buckets of evenly spaced
    /// records. So the fuller a bucket is, the more likely it is one of them.
    pub(super) fn spread_buckets(&self, count: usize) -> Vec<usize> {
        let ends: Vec<usize> = self.ends().collect();
        let (len, count) = (ends.last().copied().unwrap_or(0), count.max(1));
        let places = (0..count).map(|i| len / count * i + len / count / 2);
        let mut buckets: Vec<usize> =
            places.map(|place| ends.partition_point(|&end| end <= place)).collect();
        buckets.dedup();
        buckets
    }

    /// Returns empty runs that make files in the same way.
    pub(super) fn another(&self) -> Self {
        Self::new(self.files)
    }

    /// Visits all records of these buckets, ordered only by groups of buckets.
    pub(super) fn for_each_unordered<R: Record>(
        &self,
        buckets: Range<usize>,
        visit: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        let mut records = Vec::with_capacity(BATCH / R::LEN);
        let together = group(self.runs.first().map_or(0, |run| run.ends.len()));
        for first in buckets.clone().step_by(together) {
            let end = buckets.end.min(first + together);
            for run in &self.runs {
                let bytes = run.bucket(first).start..run.bucket(end - 1).end;
                run.visit::<R>(bytes, &mut |bytes| {
                    records.clear();
                    records.extend(decode::<R>(bytes));
                    visit(&records)
                })?;
            }
            (first..end).for_each(|bucket| self.end_visit(bucket));
        }
        Ok(())
    }
}

/// Returns how many buckets make up a group, if there are this many in total.
fn group(buckets: usize) -> usize {
    (buckets / GROUPS).max(1)
}
