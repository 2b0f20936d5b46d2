//! mih-rs: multi-index hashing, the fastest exact peer in memory. Its index is built once and never
//! changed.

use anyhow::Result;
use mih_rs::Index;

use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, timed};

struct MihRs {
    index: Index<u64>,
    k: u32,
}

pub(super) fn entrants(_: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    Ok(vec![Entrant::new("mih-rs", build)])
}

fn build(job: &Job) -> Result<MihRs> {
    Ok(MihRs { index: Index::new(job.fingerprints.to_vec())?, k: job.k })
}

impl Peer for MihRs {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        let mut searcher = self.index.range_searcher();
        timed(queries, each, |query, found| {
            found.extend_from_slice(searcher.run(query, self.k as usize));
            Ok(())
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        let mut counter = Counter(0);
        self.index.serialize_into(&mut counter)?;
        Ok(counter.0)
    }
}

/// Counts the bytes that are written.
struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
