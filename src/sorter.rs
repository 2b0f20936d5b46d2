//! Sorting more records than fit in memory: sorted runs on disk, merged when read.
//!
//! Bulk loads sort entries by fingerprint, and fingerprints in each table's bit order. Runs are
//! scratch files: of no use after a crash, swept at the next open.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::codec::bytes::Fields;
use crate::error::Result;
use crate::files::FileName;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::storage::{Map, Storage};

/// Something that is sorted, as fixed-width bytes in a run.
pub(crate) trait Record: Copy + Ord {
    /// Bytes of a record in a run.
    const LEN: usize;
    fn write(self, out: &mut Vec<u8>);
    fn read(fields: &mut Fields<'_>) -> Result<Self>;
}

impl<F: Fingerprint> Record for Entry<F> {
    const LEN: usize = F::BYTES + 8;
    fn write(self, out: &mut Vec<u8>) {
        self.fingerprint.write_le(out);
        self.id.0.write_le(out);
    }
    fn read(fields: &mut Fields<'_>) -> Result<Self> {
        let fingerprint = fields.fingerprint("fingerprint")?;
        Ok(Self { fingerprint, id: DocId(fields.u64("id")?) })
    }
}

/// A fingerprint in some table's bit order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row<F>(pub F);

impl<F: Fingerprint> Record for Row<F> {
    const LEN: usize = F::BYTES;
    fn write(self, out: &mut Vec<u8>) {
        self.0.write_le(out);
    }
    fn read(fields: &mut Fields<'_>) -> Result<Self> {
        fields.fingerprint("fingerprint").map(Self)
    }
}

/// Records of a run that are written or read at a time.
const BATCH: usize = 8192;

/// Takes records in any order and gives them sorted, each once, as often as asked.
#[derive(Debug)]
pub(crate) struct Sorter<'a, R> {
    storage: &'a Arc<dyn Storage>,
    /// Most records held in memory.
    capacity: usize,
    held: Vec<R>,
    runs: Vec<Run>,
    next_file: &'a dyn FileNumbers,
    sorted: bool,
}

/// Where numbers for scratch files come from.
pub(crate) trait FileNumbers: std::fmt::Debug {
    fn next(&self) -> u64;
}

#[derive(Debug)]
struct Run {
    name: String,
    map: Map,
}

impl<'a, R: Record> Sorter<'a, R> {
    /// Holds at most about `memory` bytes of records.
    pub(crate) fn new(
        storage: &'a Arc<dyn Storage>,
        next_file: &'a dyn FileNumbers,
        memory: usize,
    ) -> Self {
        let capacity = (memory / size_of::<R>()).max(BATCH);
        let (held, runs) = (Vec::new(), Vec::new());
        Self { storage, capacity, held, runs, next_file, sorted: true }
    }

    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        if self.held.len() == self.capacity {
            self.spill()?;
        }
        if self.held.len() == self.held.capacity() {
            // Doubling would take up to twice the memory that was allowed.
            let more = self.held.len().max(BATCH).min(self.capacity - self.held.len());
            self.held.reserve_exact(more);
        }
        self.held.push(record);
        self.sorted = false;
        Ok(())
    }

    fn sort_held(&mut self) {
        if !self.sorted {
            self.held.sort_unstable();
            self.held.dedup();
            self.sorted = true;
        }
    }

    fn spill(&mut self) -> Result<()> {
        self.sort_held();
        let name = FileName::Run(self.next_file.next()).to_string();
        let file = self.storage.create(&name)?;
        let mut bytes = Vec::with_capacity(BATCH * R::LEN);
        for batch in self.held.chunks(BATCH) {
            batch.iter().for_each(|record| record.write(&mut bytes));
            if let Err(error) = file.append(&bytes) {
                let _ = self.storage.remove(&name);
                return Err(error);
            }
            bytes.clear();
        }
        self.held.clear();
        let map = self.storage.map(&name)?;
        self.runs.push(Run { name, map });
        Ok(())
    }

    /// Gives all records, ascending, each once. May be called again.
    pub(crate) fn for_each(&mut self, mut visit: impl FnMut(R) -> Result<()>) -> Result<()> {
        self.sort_held();
        if self.runs.is_empty() {
            return self.held.iter().try_for_each(|&record| visit(record));
        }
        let mut rest: Vec<Stream<'_, R>> = self.runs.iter().map(Stream::of_run).collect();
        rest.push(Stream { bytes: &[], held: self.held.iter() });
        let mut heads = BinaryHeap::with_capacity(rest.len());
        for (stream, records) in rest.iter_mut().enumerate() {
            heads.extend(records.next()?.map(|record| Reverse((record, stream))));
        }
        let mut last = None;
        while let Some(Reverse((record, stream))) = heads.pop() {
            heads.extend(rest[stream].next()?.map(|next| Reverse((next, stream))));
            if last != Some(record) {
                last = Some(record);
                visit(record)?;
            }
        }
        Ok(())
    }
}

impl<R> Drop for Sorter<'_, R> {
    fn drop(&mut self) {
        for run in &self.runs {
            let _ = self.storage.remove(&run.name);
        }
    }
}

/// What is left of one sorted sequence: the bytes of a run, or records in memory.
struct Stream<'a, R> {
    bytes: &'a [u8],
    held: std::slice::Iter<'a, R>,
}

impl<'a, R: Record> Stream<'a, R> {
    fn of_run(run: &'a Run) -> Self {
        Self { bytes: &run.map, held: [].iter() }
    }

    fn next(&mut self) -> Result<Option<R>> {
        let Some((head, rest)) = self.bytes.split_at_checked(R::LEN) else {
            return Ok(self.held.next().copied());
        };
        self.bytes = rest;
        R::read(&mut Fields::new(head, 0)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Sim;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Debug, Default)]
    struct Numbers(AtomicU64);
    impl FileNumbers for Numbers {
        fn next(&self) -> u64 {
            self.0.fetch_add(1, Ordering::Relaxed)
        }
    }

    #[test]
    fn records_come_sorted_and_once_however_many_runs_there_are() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim.clone();
        let numbers = Numbers::default();
        for count in [0, 1, BATCH, 3 * BATCH + 5] {
            let records: Vec<Entry<u64>> = (0..count as u64)
                .map(|i| Entry {
                    fingerprint: i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 5000,
                    id: DocId(i % 7),
                })
                .collect();
            let mut expected = records.clone();
            expected.sort_unstable();
            expected.dedup();
            let mut sorter = Sorter::new(&storage, &numbers, 1);
            records.iter().for_each(|&r| sorter.push(r).unwrap());
            assert_eq!(sorter.runs.len(), count.saturating_sub(1) / BATCH);
            for _ in 0..2 {
                let mut got = Vec::new();
                sorter
                    .for_each(|r| {
                        got.push(r);
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(got, expected);
            }
            drop(sorter);
            assert_eq!(sim.list().unwrap().unwrap(), Vec::<String>::new(), "scratch files left");
        }
    }
}
