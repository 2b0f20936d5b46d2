//! Checks answers.

use anyhow::{Result, ensure};

use peers::scan::scan;

/// Comparisons that scans may spend on checking the first answers of a set.
const SCAN_BUDGET: usize = 1 << 31;
/// Minimum number of queries that are checked by a scan.
const MIN_SCANNED: usize = 50;

/// The right answers.
///
/// Positions that are distinct and within the distance are a complete answer if there are as many
/// of them as matches, so only that number is kept per query.
pub struct Judge<'a> {
    fingerprints: &'a [u64],
    queries: &'a [u64],
    k: u32,
    /// The number of matches of the first queries, by a scan.
    scanned: Vec<usize>,
    /// The number of matches of the other queries, by the first peer that answered.
    reported: Vec<Option<usize>>,
    sorted: Vec<u32>,
}

impl<'a> Judge<'a> {
    pub fn new(fingerprints: &'a [u64], queries: &'a [u64], k: u32) -> Self {
        let scans = (SCAN_BUDGET / fingerprints.len().max(1)).max(MIN_SCANNED).min(queries.len());
        let mut found = Vec::new();
        let count = |&query: &u64| {
            found.clear();
            scan(fingerprints, query, k, &mut found);
            found.len()
        };
        let scanned = queries[..scans].iter().map(count).collect();
        let reported = vec![None; queries.len() - scans];
        // Allocated now, so that nothing is allocated while the memory of peers is counted.
        let sorted = Vec::with_capacity(fingerprints.len().min(1 << 16));
        Self { fingerprints, queries, k, scanned, reported, sorted }
    }

    /// Checks an answer to query `i`.
    pub fn check(&mut self, peer: &str, i: usize, found: &[u32]) -> Result<()> {
        let (query, k) = (self.queries[i], self.k);
        self.sorted.clear();
        self.sorted.extend_from_slice(found);
        self.sorted.sort_unstable();
        for pair in self.sorted.windows(2) {
            ensure!(pair[0] != pair[1], "{peer}: query {query:016x} returns {} twice", pair[0]);
        }
        for &position in found {
            let near = self.fingerprints.get(position as usize);
            let near = near.is_some_and(|f| (f ^ query).count_ones() <= k);
            ensure!(near, "{peer}: query {query:016x} returns {position}, which is not within {k}");
        }
        let existing = match self.scanned.get(i) {
            Some(&existing) => existing,
            None => *self.reported[i - self.scanned.len()].get_or_insert(found.len()),
        };
        ensure!(found.len() == existing, "{}", self.difference(peer, i, found.len()));
        Ok(())
    }

    /// Finds out by a scan which peer's answer is wrong.
    fn difference(&self, peer: &str, i: usize, found: usize) -> String {
        let (query, mut all) = (self.queries[i], Vec::new());
        scan(self.fingerprints, query, self.k, &mut all);
        let missed = all.iter().find(|position| self.sorted.binary_search(position).is_err());
        let k = self.k;
        match missed {
            Some(position) => format!(
                "{peer}: query {query:016x} at k = {k} returns {found} of {} matches, without {position}",
                all.len()
            ),
            None => {
                format!("query {query:016x} at k = {k}: {peer} is right, an earlier peer was wrong")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: [u64; 3] = [0, 1, 0xff];

    fn judge(found: &[u32]) -> Result<()> {
        Judge::new(&SET, &[0], 1).check("it", 0, found)
    }

    #[test]
    fn missed_match_ends_the_run() {
        judge(&[1, 0]).unwrap();
        let error = judge(&[0]).unwrap_err().to_string();
        assert!(error.contains("0000000000000000") && error.contains("without 1"), "{error}");
    }

    #[test]
    fn positions_that_are_far_or_missing_or_repeated_are_refused() {
        for wrong in [&[0, 1, 2][..], &[0, 1, 3], &[0, 0]] {
            assert!(judge(wrong).is_err());
        }
    }

    #[test]
    fn peers_are_compared_beyond_the_scanned_queries_and_the_wrong_one_is_named() {
        let mut judge = Judge::new(&SET, &[0], 1);
        (judge.scanned, judge.reported) = (vec![], vec![None]);
        judge.check("one", 0, &[0]).unwrap();
        let error = judge.check("two", 0, &[0, 1]).unwrap_err().to_string();
        assert!(error.contains("two is right"), "{error}");
    }
}
