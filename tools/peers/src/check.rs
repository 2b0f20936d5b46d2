//! Whether answers are right.

use anyhow::{Result, ensure};

use crate::peer::linear::scan;

/// Fingerprints looked at by the scans that judge the first answers of a set.
const JUDGED: usize = 1 << 31;
/// Queries that are judged by a scan at least.
const LEAST: usize = 50;

/// The right answers. Positions that are different and within the distance are all of them if they
/// are as many, so of each query only a number is kept.
pub struct Judge<'a> {
    fingerprints: &'a [u64],
    queries: &'a [u64],
    k: u32,
    /// How many are near the first queries, by a scan.
    scanned: Vec<usize>,
    /// How many are near the others, by the first exact peer that was asked.
    told: Vec<Option<usize>>,
    sorted: Vec<u32>,
}

/// Matches found, of how many there are.
#[derive(Default)]
pub struct Recall {
    found: usize,
    of: usize,
}

impl Recall {
    /// 1 where there is nothing to find.
    pub fn share(&self) -> f64 {
        if self.of == 0 { 1.0 } else { self.found as f64 / self.of as f64 }
    }
}

impl<'a> Judge<'a> {
    pub fn new(fingerprints: &'a [u64], queries: &'a [u64], k: u32) -> Self {
        let judged = (JUDGED / fingerprints.len().max(1)).max(LEAST).min(queries.len());
        let mut found = Vec::new();
        let count = |&query: &u64| {
            found.clear();
            scan(fingerprints, query, k, &mut found);
            found.len()
        };
        let scanned = queries[..judged].iter().map(count).collect();
        let told = vec![None; queries.len() - judged];
        // Nothing is allocated later, when the memory of peers is counted.
        let sorted = Vec::with_capacity(fingerprints.len().min(1 << 16));
        Self { fingerprints, queries, k, scanned, told, sorted }
    }

    /// Judges an answer to query `i`.
    pub fn check(
        &mut self,
        peer: &str,
        exact: bool,
        i: usize,
        found: &[u32],
        recall: &mut Recall,
    ) -> Result<()> {
        let (query, k) = (self.queries[i], self.k);
        self.sorted.clear();
        self.sorted.extend_from_slice(found);
        self.sorted.sort_unstable();
        for pair in self.sorted.windows(2) {
            ensure!(pair[0] != pair[1], "{peer}: query {query:016x} gives {} twice", pair[0]);
        }
        for &position in found {
            let near = self.fingerprints.get(position as usize);
            let near = near.is_some_and(|f| (f ^ query).count_ones() <= k);
            ensure!(near, "{peer}: query {query:016x} gives {position}, which is not within {k}");
        }
        let of = match self.scanned.get(i) {
            Some(&of) => Some(of),
            None if exact => Some(*self.told[i - self.scanned.len()].get_or_insert(found.len())),
            None => self.told[i - self.scanned.len()],
        };
        // A lossy peer's answer that nobody else was asked for says nothing.
        let Some(of) = of else { return Ok(()) };
        ensure!(!exact || found.len() == of, "{}", self.difference(peer, i, found.len()));
        recall.found += found.len();
        recall.of += of;
        Ok(())
    }

    /// Tells by a scan whose answer is wrong.
    fn difference(&self, peer: &str, i: usize, found: usize) -> String {
        let (query, mut all) = (self.queries[i], Vec::new());
        scan(self.fingerprints, query, self.k, &mut all);
        let missed = all.iter().find(|position| self.sorted.binary_search(position).is_err());
        let k = self.k;
        match missed {
            Some(position) => format!(
                "{peer}: query {query:016x} at k = {k} gives {found} of {} matches, not {position}",
                all.len()
            ),
            None => {
                format!("query {query:016x} at k = {k}: {peer} is right, a peer before was not")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: [u64; 3] = [0, 1, 0xff];

    fn judge(exact: bool, found: &[u32]) -> Result<f64> {
        let mut recall = Recall::default();
        Judge::new(&SET, &[0], 1).check("it", exact, 0, found, &mut recall)?;
        Ok(recall.share())
    }

    #[test]
    fn a_match_left_out_ends_the_run_of_an_exact_peer_and_is_seen_in_the_recall_of_another() {
        assert_eq!(judge(true, &[1, 0]).unwrap(), 1.0);
        let error = judge(true, &[0]).unwrap_err().to_string();
        assert!(error.contains("0000000000000000") && error.contains("not 1"), "{error}");
        assert_eq!(judge(false, &[0]).unwrap(), 0.5);
    }

    #[test]
    fn nobody_may_give_what_is_far_or_missing_or_the_same_twice() {
        for wrong in [&[0, 1, 2][..], &[0, 1, 3], &[0, 0]] {
            assert!(judge(true, wrong).is_err() && judge(false, wrong).is_err());
        }
    }

    #[test]
    fn beyond_what_is_scanned_peers_are_compared_and_the_wrong_one_is_told() {
        let mut judge = Judge::new(&SET, &[0], 1);
        (judge.scanned, judge.told) = (vec![], vec![None]);
        let mut recall = Recall::default();
        judge.check("one", true, 0, &[0], &mut recall).unwrap();
        let error = judge.check("two", true, 0, &[0, 1], &mut recall).unwrap_err().to_string();
        assert!(error.contains("two is right"), "{error}");
    }
}
