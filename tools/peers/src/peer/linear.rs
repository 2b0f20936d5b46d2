//! A scan: the least that every index must beat, and the judge of all answers.

use anyhow::Result;
use multiversion::multiversion;

use super::{Each, Entrant, Job, Peer, timed};
use crate::args::Engines;

/// Counted at once before positions are looked for, which few chunks need.
const CHUNK: usize = 1024;

struct Linear {
    fingerprints: Vec<u64>,
    k: u32,
}

pub(super) fn entrants(_: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    Ok(vec![Entrant::exact("linear", build)])
}

fn build(job: &Job) -> Result<Linear> {
    Ok(Linear { fingerprints: job.fingerprints.to_vec(), k: job.k })
}

impl Peer for Linear {
    fn ask(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        timed(queries, each, |query, found| {
            scan(&self.fingerprints, query, self.k, found);
            Ok(())
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(size_of_val(self.fingerprints.as_slice()) as u64)
    }
}

/// Pushes the positions of all within k, ascending.
pub fn scan(fingerprints: &[u64], query: u64, k: u32, found: &mut Vec<u32>) {
    for (chunk, first) in fingerprints.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
        if count(chunk, query, k) > 0 {
            let near = (first..).zip(chunk).filter(|&(_, f)| (f ^ query).count_ones() <= k);
            found.extend(near.map(|(position, _)| position));
        }
    }
}

/// How many are within k, with the best instructions that the machine has.
#[multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt",
    "x86_64+popcnt"
))]
fn count(fingerprints: &[u64], query: u64, k: u32) -> u64 {
    fingerprints.iter().map(|f| u64::from((f ^ query).count_ones() <= k)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Data, Source};

    #[test]
    fn finds_exactly_what_a_plain_loop_finds() {
        let set = Source::new(Data::Clustered).take(5000).unwrap();
        for query in set.queries(100, 3) {
            let near = |i: &u32| (set.fingerprints[*i as usize] ^ query).count_ones() <= 3;
            let expected: Vec<u32> = (0..5000).filter(near).collect();
            let mut found = Vec::new();
            scan(&set.fingerprints, query, 3, &mut found);
            assert_eq!(found, expected);
        }
    }
}
