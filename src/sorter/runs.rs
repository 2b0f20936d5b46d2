//! Buckets on disk.

use std::sync::Arc;

use super::buckets::{Chunks, sort_once};
use super::record::Record;
use super::{FileNumbers, Sorter, Space, radix};
use crate::error::{Error, Result};
use crate::files::FileName;
use crate::storage::{Map, Storage};

/// Bytes that are written or read at a time.
const BATCH: usize = 1 << 16;

/// Files that hold all buckets, one behind the other; removed with the value.
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
    /// The bytes of a bucket, read into memory.
    fn bucket(&self, bucket: usize) -> Result<&[u8]> {
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        let Some(bytes) = self.map.get(start..self.ends[bucket]) else {
            return Err(Error::corruption(format!("the sorted run {} was cut short", self.name)));
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

    /// Writes buckets as one more run. Their memory is freed on the way.
    pub(super) fn add<R: Record>(
        &mut self,
        buckets: impl Iterator<Item = Chunks<R>>,
    ) -> Result<()> {
        let name = FileName::Run(self.numbers.next()).to_string();
        let written = self.write(&name, buckets);
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
        buckets: impl Iterator<Item = Chunks<R>>,
    ) -> Result<Vec<usize>> {
        let file = self.storage.create(name)?;
        let mut bytes = Vec::with_capacity(BATCH);
        let (mut ends, mut end) = (Vec::new(), 0);
        for bucket in buckets {
            for chunk in bucket {
                if bytes.len() + chunk.len() * R::LEN > BATCH {
                    file.append(&bytes)?;
                    bytes.clear();
                }
                chunk.iter().for_each(|record| record.write(&mut bytes));
                end += chunk.len() * R::LEN;
            }
            ends.push(end);
        }
        file.append(&bytes)?;
        Ok(ends)
    }

    pub(super) fn for_each<R: Record>(
        &self,
        space: Space,
        visit: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        let (mut records, mut scratch) = (Vec::<R>::new(), Vec::new());
        for bucket in 0..1 << space.bits {
            let pieces: Vec<&[u8]> =
                self.runs.iter().map(|run| run.bucket(bucket)).collect::<Result<_>>()?;
            let len = pieces.iter().map(|piece| piece.len()).sum::<usize>() / R::LEN;
            if len * 2 * size_of::<R>() > space.memory.max(BATCH) {
                (records, scratch) = (Vec::new(), Vec::new());
                self.sort_large(&pieces, space, visit)?;
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

    /// Gives a bucket that does not fit in memory.
    fn sort_large<R: Record>(
        &self,
        pieces: &[&[u8]],
        space: Space,
        visit: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        let records = || pieces.iter().flat_map(|piece| decode::<R>(piece));
        let Some(from) = radix::common(records()) else {
            return records().take(1).try_for_each(|record| visit(&[record]));
        };
        let runs = Runs::new(self.storage, self.numbers);
        let mut sorter = Sorter::of_later_bits(runs, space.memory, from);
        records().try_for_each(|record| sorter.push(record))?;
        sorter.finish(1, |_| Ok(()))?.for_each(visit)
    }

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

fn decode<R: Record>(bytes: &[u8]) -> impl Iterator<Item = R> {
    bytes.chunks_exact(R::LEN).filter_map(R::read)
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        for run in &self.runs {
            let _ = self.storage.remove(&run.name);
        }
    }
}
