//! web-simhash: the paper's 20 tables in memory, sorted again at every insert.

use anyhow::{Result, ensure};
use web_simhash::{SimHash64, SimHashIndex};

use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, timed};

/// The build takes quadratic time, already a few seconds at this size.
const MAX_ENTRIES: usize = 1 << 13;

struct WebSimhash {
    index: SimHashIndex,
}

pub(super) fn entrants(_: &Engines, n: usize, k: u32) -> Result<Vec<Entrant<'_>>> {
    ensure!(n <= MAX_ENTRIES, "only for up to {MAX_ENTRIES} fingerprints");
    ensure!(k == 3, "only for k = 3");
    Ok(vec![Entrant::exact("web-simhash", build)])
}

fn build(job: &Job) -> Result<WebSimhash> {
    let mut index = SimHashIndex::new_google64_k3();
    for (position, &fingerprint) in job.fingerprints.iter().enumerate() {
        index.insert(position.to_string(), SimHash64(fingerprint));
    }
    Ok(WebSimhash { index })
}

impl Peer for WebSimhash {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        timed(queries, each, |query, found| {
            for found_entry in self.index.query(SimHash64(query)) {
                found.push(found_entry.id.parse()?);
            }
            Ok(())
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(0)
    }
}
