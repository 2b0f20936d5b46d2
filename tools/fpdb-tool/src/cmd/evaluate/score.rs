//! Precision and recall, computed from distances and labels.

use std::thread;

use fpdb::Fingerprint;
use fpdb::text::Recipe;
use serde::Serialize;

use super::input::{Pair, Truth};
use crate::recipe::Width;

/// The number of pairs at each distance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Distances {
    /// The counts by distance, starting with 0.
    counts: Vec<u64>,
    /// Pairs in which a document has no fingerprint. They are within no distance.
    unreachable: u64,
}

impl Distances {
    fn add(&mut self, distance: Option<u32>, pairs: u64) {
        let Some(distance) = distance else {
            self.unreachable += pairs;
            return;
        };
        let at = distance as usize;
        self.counts.resize(self.counts.len().max(at + 1), 0);
        self.counts[at] += pairs;
    }

    /// Adds the pairs of `all` that are in none of `known`, which are parts of `all`.
    fn add_rest(&mut self, all: &Distances, known: [&Distances; 3]) {
        for (distance, &pairs) in (0u32..).zip(&all.counts) {
            let known: u64 = known.iter().map(|part| part.at(distance)).sum();
            self.add(Some(distance), pairs - known);
        }
        let known: u64 = known.iter().map(|part| part.unreachable).sum();
        self.add(None, all.unreachable - known);
    }

    fn at(&self, distance: u32) -> u64 {
        self.counts.get(distance as usize).copied().unwrap_or(0)
    }

    fn reachable(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(super) fn pairs(&self) -> u64 {
        self.reachable() + self.unreachable
    }

    /// Returns the number of pairs within a distance.
    pub(super) fn within(&self, distance: u32) -> u64 {
        (0..=distance).map(|d| self.at(d)).sum()
    }

    pub(super) fn summary(&self) -> Summary {
        let weighted = (0u64..).zip(&self.counts).map(|(distance, pairs)| distance * pairs);
        Summary {
            pairs: self.pairs(),
            unreachable: self.unreachable,
            mean: ratio(weighted.sum(), self.reachable()),
            p10: self.percentile(10),
            p50: self.percentile(50),
            p90: self.percentile(90),
            p99: self.percentile(99),
            max: self.percentile(100),
        }
    }

    /// Returns the least distance within which this share of the reachable pairs is.
    fn percentile(&self, percent: u64) -> Option<u32> {
        let needed = (self.reachable() * percent).div_ceil(100).max(1);
        let mut within = 0;
        (0..).zip(&self.counts).find_map(|(distance, pairs)| {
            within += pairs;
            (within >= needed).then_some(distance)
        })
    }
}

/// A summary of distances. The statistics are of the reachable pairs.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Summary {
    pub(super) pairs: u64,
    /// Pairs in which a document has no fingerprint.
    pub(super) unreachable: u64,
    pub(super) mean: Option<f64>,
    pub(super) p10: Option<u32>,
    pub(super) p50: Option<u32>,
    pub(super) p90: Option<u32>,
    pub(super) p99: Option<u32>,
    pub(super) max: Option<u32>,
}

/// All pairs, or all pairs of one kind, by label.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub(super) duplicate: Distances,
    pub(super) between: Distances,
    pub(super) different: Distances,
    /// The strong duplicates: those that are nearly equal.
    pub(super) strong: Distances,
}

/// The result of counting all pairs within k as duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Score {
    pub(super) k: u32,
    pub(super) true_positives: u64,
    pub(super) false_positives: u64,
    pub(super) false_negatives: u64,
    /// `None` if no pair is within k.
    pub(super) precision: Option<f64>,
    /// `None` if there are no duplicates.
    pub(super) recall: Option<f64>,
    /// The harmonic mean of precision and recall.
    pub(super) f1: Option<f64>,
    /// The recall of the strong duplicates.
    pub(super) recall_strong: Option<f64>,
}

impl Group {
    fn add(&mut self, pair: &Pair, distance: Option<u32>) {
        match pair.truth {
            Truth::Duplicate => self.duplicate.add(distance, 1),
            Truth::Between => self.between.add(distance, 1),
            Truth::Different => self.different.add(distance, 1),
        }
        if pair.strong && pair.truth == Truth::Duplicate {
            self.strong.add(distance, 1);
        }
    }

    pub(super) fn score(&self, k: u32) -> Score {
        let (found, wrong) = (self.duplicate.within(k), self.different.within(k));
        let missed = self.duplicate.pairs() - found;
        Score {
            k,
            true_positives: found,
            false_positives: wrong,
            false_negatives: missed,
            precision: ratio(found, found + wrong),
            recall: ratio(found, found + missed),
            f1: ratio(2 * found, 2 * found + wrong + missed),
            recall_strong: ratio(self.strong.within(k), self.strong.pairs()),
        }
    }
}

/// Returns the score with the best F1. Of equal ones, that is the one with the smallest k.
pub(super) fn best(scores: &[Score]) -> Option<&Score> {
    let f1 = |score: &Score| score.f1.unwrap_or(0.0);
    scores.iter().reduce(|best, score| if f1(score) > f1(best) { score } else { best })
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The results of one recipe.
pub(super) struct Scores {
    pub(super) without_fingerprint: u64,
    pub(super) all: Group,
    /// The pairs by kind, in the order in which kinds first occur.
    pub(super) kinds: Vec<(String, Group)>,
}

/// Fingerprints all texts and measures the pairs. If the list is `complete`, pairs that are not in
/// it are different, and every pair of documents is measured, which takes time proportional to the
/// square of their number.
pub(super) fn measure<F: Width>(
    recipe: &Recipe<F>,
    texts: &[String],
    pairs: &[Pair],
    complete: bool,
) -> Scores {
    let fingerprints = fingerprint_all(recipe, texts);
    let (mut all, mut kinds) = (Group::default(), Vec::<(String, Group)>::new());
    for pair in pairs {
        let distance = distance(fingerprints[pair.a], fingerprints[pair.b]);
        all.add(pair, distance);
        let Some(kind) = &pair.kind else { continue };
        let at = kinds.iter().position(|(known, _)| known == kind).unwrap_or(kinds.len());
        if at == kinds.len() {
            kinds.push((kind.clone(), Group::default()));
        }
        kinds[at].1.add(pair, distance);
    }
    if complete {
        let listed = all.clone();
        let known = [&listed.duplicate, &listed.between, &listed.different];
        all.different.add_rest(&all_distances(&fingerprints), known);
    }
    let without_fingerprint = fingerprints.iter().filter(|f| f.is_none()).count() as u64;
    Scores { without_fingerprint, all, kinds }
}

fn distance<F: Fingerprint>(a: Option<F>, b: Option<F>) -> Option<u32> {
    Some(a?.distance(b?))
}

/// Returns the distances of all pairs of fingerprints.
fn all_distances<F: Fingerprint>(fingerprints: &[Option<F>]) -> Distances {
    let known: Vec<F> = fingerprints.iter().copied().flatten().collect();
    let threads = threads();
    // Rows get shorter, so each thread takes both long and short ones.
    let rows = |first: usize| {
        let mut counts = vec![0; F::BITS as usize + 1];
        for row in (first..known.len()).step_by(threads) {
            for other in &known[row + 1..] {
                counts[known[row].distance(*other) as usize] += 1;
            }
        }
        counts
    };
    let mut all = Distances::default();
    thread::scope(|scope| {
        let rows = &rows;
        let shares: Vec<_> = (0..threads).map(|i| scope.spawn(move || rows(i))).collect();
        for share in shares {
            let counts = share.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
            (0..).zip(counts).for_each(|(distance, pairs)| all.add(Some(distance), pairs));
        }
    });
    let pairs_of = |n: usize| (n as u64 * (n as u64).saturating_sub(1)) / 2;
    all.add(None, pairs_of(fingerprints.len()) - pairs_of(known.len()));
    all
}

fn fingerprint_all<F: Width>(recipe: &Recipe<F>, texts: &[String]) -> Vec<Option<F>> {
    let share = texts.len().div_ceil(threads()).max(1);
    let fingerprint = |text: &String| recipe.fingerprint(text).fingerprint;
    thread::scope(|scope| {
        let shares: Vec<_> = texts
            .chunks(share)
            .map(|texts| scope.spawn(move || texts.iter().map(fingerprint).collect::<Vec<_>>()))
            .collect();
        shares
            .into_iter()
            .flat_map(|share| share.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
            .collect()
    })
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(counts: &[u64], unreachable: u64) -> Distances {
        Distances { counts: counts.to_vec(), unreachable }
    }

    #[test]
    fn scores_follow_their_definitions() {
        let group = Group {
            duplicate: distances(&[3, 0, 1], 1),
            between: distances(&[9, 9, 9], 9),
            different: distances(&[0, 2, 5], 3),
            strong: distances(&[2], 0),
        };
        let score = group.score(1);
        assert_eq!((score.true_positives, score.false_positives, score.false_negatives), (3, 2, 2));
        assert_eq!((score.precision, score.recall, score.f1), (Some(0.6), Some(0.6), Some(0.6)));
        assert_eq!(group.score(64).recall, Some(0.8));
        assert_eq!(group.score(0).recall_strong, Some(1.0));
        assert_eq!(Group::default().score(3).f1, None);
    }

    #[test]
    fn best_of_equal_scores_has_the_smallest_distance() {
        let group = Group { duplicate: distances(&[1, 1], 0), ..Group::default() };
        let scores: Vec<_> = (0..5).map(|k| group.score(k)).collect();
        assert_eq!(best(&scores).unwrap().k, 1);
    }

    #[test]
    fn percentiles_are_those_of_reachable_pairs() {
        let summary = distances(&[1, 0, 8, 1], 90).summary();
        assert_eq!((summary.pairs, summary.unreachable, summary.mean), (100, 90, Some(1.9)));
        let percentiles = [summary.p10, summary.p50, summary.p90, summary.p99, summary.max];
        assert_eq!(percentiles, [0, 2, 2, 3, 3].map(Some));
        assert_eq!(distances(&[], 2).summary().max, None);
    }

    #[test]
    fn all_pairs_are_measured_for_any_number_of_texts() {
        for n in [0usize, 1, 2, 7] {
            let values: Vec<_> = (0..n).map(|i| (i != 1).then_some((1u64 << i) - 1)).collect();
            let mut expected = Distances::default();
            for b in 0..n {
                (0..b).for_each(|a| expected.add(distance(values[a], values[b]), 1));
            }
            let mut all = all_distances(&values);
            all.counts.truncate(expected.counts.len());
            assert_eq!(all, expected);
        }
    }
}
