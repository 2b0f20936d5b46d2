//! Runs: buckets of records on disk.

use std::sync::Arc;

use super::buckets::Bucket;
use super::chunks::ChunkPool;
use super::record::{Record, decode};
use crate::error::{Error, Result};
use crate::files::FileName;
use crate::storage::{Map, Storage};

/// Bytes that are written or read at a time.
pub(super) const BATCH: usize = 1 << 16;

/// A source of numbers for scratch files.
pub(crate) trait FileNumbers: std::fmt::Debug + Sync {
    /// Returns the next number.
    fn next(&self) -> u64;
}

/// Files that hold all buckets, one after another. They are removed when the value is dropped.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    storage: &'a Arc<dyn Storage>,
    numbers: &'a dyn FileNumbers,
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    name: String,
    map: Map,
    /// Where each bucket ends.
    ends: Vec<usize>,
}

impl Run {
    /// Returns the bytes of a bucket.
    fn bucket(&self, bucket: usize) -> Result<&[u8]> {
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        let Some(bytes) = self.map.get(start..self.ends[bucket]) else {
            return Err(Error::corruption(format!("the scratch file {} is too short", self.name)));
        };
        Ok(bytes)
    }
}

impl<'a> Runs<'a> {
    pub(super) fn new(storage: &'a Arc<dyn Storage>, numbers: &'a dyn FileNumbers) -> Self {
        Self { storage, numbers, runs: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes buckets as one more run.
    pub(super) fn add<R: Record>(&mut self, buckets: &[Bucket], pool: &ChunkPool) -> Result<()> {
        let name = FileName::Run(self.numbers.next()).to_string();
        let written = self.write::<R>(&name, buckets, pool);
        let run = written
            .and_then(|ends| Ok(Run { map: self.storage.map(&name)?, name: name.clone(), ends }));
        match run {
            Ok(run) => self.runs.push(run),
            Err(error) => {
                let _ = self.storage.remove(&name);
                return Err(error);
            }
        }
        Ok(())
    }

    fn write<R: Record>(
        &self,
        name: &str,
        buckets: &[Bucket],
        pool: &ChunkPool,
    ) -> Result<Vec<usize>> {
        let file = self.storage.create(name)?;
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
        Ok(ends)
    }

    /// Returns the bytes of a bucket, one piece per run.
    pub(super) fn bucket(&self, bucket: usize) -> Result<Vec<&[u8]>> {
        self.runs.iter().map(|run| run.bucket(bucket)).collect()
    }

    /// Returns the number of records.
    pub(super) fn len<R: Record>(&self) -> u64 {
        self.runs.iter().map(|run| (run.map.len() / R::LEN) as u64).sum()
    }

    /// Returns up to `count` buckets, at least one, ascending: those of evenly spaced records. So
    /// the fuller a bucket is, the more likely it is one of them.
    pub(super) fn spread_buckets(&self, count: usize) -> Vec<usize> {
        let buckets = self.runs.first().map_or(0, |run| run.ends.len());
        let ends = (0..buckets).map(|b| self.runs.iter().map(|run| run.ends[b]).sum::<usize>());
        let ends: Vec<usize> = ends.collect();
        let (len, count) = (ends.last().copied().unwrap_or(0), count.max(1));
        let places = (0..count).map(|i| len / count * i + len / count / 2);
        let mut buckets: Vec<usize> =
            places.map(|place| ends.partition_point(|&end| end <= place)).collect();
        buckets.dedup();
        buckets
    }

    /// Returns empty runs with the same storage and file numbers.
    pub(super) fn another(&self) -> Self {
        Self::new(self.storage, self.numbers)
    }

    /// Visits all records, in no particular order.
    pub(super) fn for_each_unordered<R: Record>(
        &self,
        visit: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        let mut records = Vec::with_capacity(BATCH / R::LEN);
        for run in &self.runs {
            for bytes in run.map.chunks(BATCH / R::LEN * R::LEN) {
                records.clear();
                records.extend(decode::<R>(bytes));
                visit(&records)?;
            }
        }
        Ok(())
    }
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        for run in &self.runs {
            let _ = self.storage.remove(&run.name);
        }
    }
}
