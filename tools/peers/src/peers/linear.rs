//! A scan, which every index must beat.

use anyhow::Result;

use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, timed};
use crate::scan::scan;

struct Linear {
    fingerprints: Vec<u64>,
    k: u32,
}

pub(super) fn entrants(_: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    Ok(vec![Entrant::new("linear", build)])
}

fn build(job: &Job) -> Result<Linear> {
    Ok(Linear { fingerprints: job.fingerprints.to_vec(), k: job.k })
}

impl Peer for Linear {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        timed(queries, each, |query, found| {
            scan(&self.fingerprints, query, self.k, found);
            Ok(())
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(size_of_val(self.fingerprints.as_slice()) as u64)
    }
}
