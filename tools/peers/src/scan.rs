//! A scan of all fingerprints: a peer of its own, and the check of all answers.

use multiversion::multiversion;

/// Fingerprints that are counted before positions are looked for, which few chunks need.
const CHUNK: usize = 1024;

/// Pushes the positions of all fingerprints within k, in ascending order.
pub fn scan(fingerprints: &[u64], query: u64, k: u32, found: &mut Vec<u32>) {
    for (chunk, first) in fingerprints.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
        if count(chunk, query, k) > 0 {
            let near = (first..).zip(chunk).filter(|&(_, f)| (f ^ query).count_ones() <= k);
            found.extend(near.map(|(position, _)| position));
        }
    }
}

/// Counts the fingerprints within k, with the best instructions that the machine has.
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
    fn scan_finds_exactly_what_a_plain_loop_finds() {
        let set = Source::new(Data::Clustered).unwrap().take(5000);
        for query in set.queries(100, 3) {
            let near = |i: &u32| (set.fingerprints[*i as usize] ^ query).count_ones() <= 3;
            let expected: Vec<u32> = (0..5000).filter(near).collect();
            let mut found = Vec::new();
            scan(&set.fingerprints, query, 3, &mut found);
            assert_eq!(found, expected);
        }
    }
}
