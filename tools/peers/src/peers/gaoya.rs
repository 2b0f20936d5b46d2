//! gaoya's SimHash index: hash tables of ids under blocks of the fingerprint.
//!
//! It finds what is *less* than its distance away. To find everything within k bits, it gets the
//! distance k + 1 and, since each differing bit may spoil a block, k + 2 blocks.

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
    Ok(vec![Entrant::new("gaoya", build)])
}

fn build(job: &Job) -> Result<Gaoya> {
    let distance = job.k as usize + 1;
    let mut index = SimHashIndex::new(distance + 1, distance);
    let ids = (0..job.fingerprints.len() as u32).collect();
    index.par_bulk_insert(ids, job.fingerprints.to_vec());
    Ok(Gaoya { index })
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
