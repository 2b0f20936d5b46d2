//! gaoya's SimHash index: hash tables of ids under blocks of the fingerprint.
//!
//! It finds what is *less* than its distance away. To find everything within k bits, it gets the
//! distance k + 1 and, since each differing bit may spoil a block, k + 2 blocks. `gaoya-plain` is
//! what its parameters' names suggest, distance k and k + 1 blocks: it misses what is exactly k
//! bits away.

use anyhow::{Result, ensure};
use gaoya::simhash::SimHashIndex;

use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, timed};

/// Beyond this, a build takes minutes and a query about 100 ms.
const MAX_ENTRIES: usize = 1 << 24;

struct Gaoya {
    index: SimHashIndex<u64, u32>,
}

pub(super) fn entrants(_: &Engines, n: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    ensure!(n <= MAX_ENTRIES, "only for up to {MAX_ENTRIES} fingerprints");
    Ok(vec![Entrant::exact("gaoya", |job| Ok(build(job, job.k + 1)))])
}

pub(super) fn plain(_: &Engines, n: usize, k: u32) -> Result<Vec<Entrant<'_>>> {
    ensure!(n <= MAX_ENTRIES, "only for up to {MAX_ENTRIES} fingerprints");
    ensure!(k > 0, "nothing is less than 0 bits away");
    Ok(vec![Entrant::exact("gaoya-plain", |job| Ok(build(job, job.k))).lossy()])
}

/// Builds the index with one more block than differing bits, and a table for each block.
fn build(job: &Job, distance: u32) -> Gaoya {
    let mut index = SimHashIndex::new(distance as usize + 1, distance as usize);
    let ids = (0..job.fingerprints.len() as u32).collect();
    index.par_bulk_insert(ids, job.fingerprints.to_vec());
    Gaoya { index }
}

impl Peer for Gaoya {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        timed(queries, each, |query, found| {
            found.extend(self.index.query(&query).into_iter().copied());
            Ok(())
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(0)
    }
}
