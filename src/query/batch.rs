//! A batch of queries, and its answers.

use std::ops::Index;

use super::options::Within;
use crate::base::error::Result;
use crate::fingerprint::{Fingerprint, Match};

/// Most queries of [`Snapshot::query_batch`](crate::Snapshot::query_batch) that are answered
/// together. Besides the answers, a million queries take some 40 MiB at 64 bits and 70 MiB at 128:
/// the queries in one table's bit order, and the hits.
pub(crate) const BATCH: usize = 1 << 20;

/// Queries that are answered together: fewer than 2^32.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a, F> {
    pub queries: &'a [F],
    pub within: Within,
    /// Whether only the nearest match of each query is wanted.
    pub nearest: bool,
    /// Most fingerprints that may be found, and most matches, all queries taken together.
    pub most: usize,
    pub threads: usize,
    /// Called from time to time, by any thread. The search ends with its error.
    pub check: &'a (dyn Fn() -> Result<()> + Sync),
}

/// The answers to a batch of queries: the matches of each, sorted by distance, fingerprint and id.
/// Made by [`Snapshot::query_batch`](crate::Snapshot::query_batch).
///
/// All matches are in one list, so that there is no allocation per query.
///
/// # Examples
///
/// ```
/// let db = fpdb::Db::options().in_memory()?;
/// db.write(&[(0b1100, 1), (0b1111, 2)]).run()?;
/// let queries = [0b1101, u64::MAX, 0b1111];
/// let answers = db.query_batch(&queries, 1)?;
/// for (query, matches) in queries.iter().zip(answers.iter()) {
///     println!("{query:#b} has {} near-duplicates", matches.len());
/// }
/// assert!(answers.len() == 3 && !answers.is_empty());
/// assert_eq!(answers[0].len(), 2);
/// assert_eq!(answers.offsets(), [0, 2, 2, 3]);
/// let distances: Vec<u32> = answers.matches().iter().map(|found| found.distance).collect();
/// assert_eq!(distances, [1, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers<F = u64> {
    /// Where the matches of each query begin, and the end of the last one's.
    offsets: Vec<usize>,
    matches: Vec<Match<F>>,
}

impl<F> Answers<F> {
    /// Makes the answers to no query.
    pub(crate) fn new() -> Self {
        Self { offsets: vec![0], matches: Vec::new() }
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether there was no query.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the matches of each query, in the order of the queries.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Match<F>]> {
        self.offsets.windows(2).map(|range| &self.matches[range[0]..range[1]])
    }

    /// Returns where the matches of each query begin in [`matches`](Self::matches), and where the
    /// last query's end: query n has the matches from `offsets()[n]` to `offsets()[n + 1]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Returns the matches of all queries, one query after the other.
    pub fn matches(&self) -> &[Match<F>] {
        &self.matches
    }
}

/// Returns the matches of one query.
///
/// # Panics
///
/// If there is no such query.
impl<F> Index<usize> for Answers<F> {
    type Output = [Match<F>];

    fn index(&self, query: usize) -> &[Match<F>] {
        &self.matches[self.offsets[query]..self.offsets[query + 1]]
    }
}

impl<F: Fingerprint> Answers<F> {
    /// Makes answers of unsorted matches. Query n has the matches from `offsets[n]` to `offsets[n +
    /// 1]`.
    pub(super) fn of_unsorted(offsets: Vec<usize>, mut matches: Vec<Match<F>>) -> Self {
        let mut rest = &mut matches[..];
        for range in offsets.windows(2) {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(range[1] - range[0]);
            own.sort_unstable();
            rest = others;
        }
        Self { offsets, matches }
    }

    /// Appends the answer to one more query.
    pub(crate) fn push(&mut self, matches: &[Match<F>]) {
        self.matches.extend_from_slice(matches);
        self.offsets.push(self.matches.len());
    }

    /// Appends the answers to more queries.
    pub(crate) fn append(&mut self, others: &Self) {
        let before = self.matches.len();
        self.matches.extend_from_slice(&others.matches);
        self.offsets.extend(others.offsets.iter().skip(1).map(|offset| before + offset));
    }

    /// Leaves out all matches but the nearest one of each query.
    pub(super) fn keep_nearest(&mut self) {
        let (mut start, mut kept) = (0, 0);
        for end in self.offsets.iter_mut().skip(1) {
            if start < *end {
                self.matches[kept] = self.matches[start];
                kept += 1;
            }
            start = std::mem::replace(end, kept);
        }
        self.matches.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::DocId;

    fn found(distance: u32, id: u64) -> Match<u64> {
        Match { distance, fingerprint: 7, id: DocId(id) }
    }

    #[test]
    fn answers_are_sorted_and_keep_the_nearest_of_each_query() {
        let matches = vec![found(3, 1), found(1, 9), found(1, 2), found(2, 5)];
        let mut answers = Answers::of_unsorted(vec![0, 0, 3, 3, 4], matches);
        let lists: Vec<_> = answers.iter().collect();
        let sorted = [found(1, 2), found(1, 9), found(3, 1)];
        assert_eq!(lists, [&[], &sorted[..], &[], &[found(2, 5)]]);
        answers.keep_nearest();
        let lists: Vec<_> = answers.iter().collect();
        assert_eq!(lists, [&[], &[found(1, 2)][..], &[], &[found(2, 5)]]);
        assert_eq!(answers.matches().len(), 2);
    }

    #[test]
    fn appended_answers_follow_the_others() {
        let mut answers = Answers::new();
        answers.push(&[found(1, 1), found(1, 2)]);
        let mut others = Answers::new();
        others.push(&[]);
        others.push(&[found(2, 3)]);
        answers.append(&others);
        answers.append(&Answers::new());
        let lists: Vec<_> = answers.iter().map(<[_]>::len).collect();
        assert_eq!(lists, [2, 0, 1]);
    }
}
