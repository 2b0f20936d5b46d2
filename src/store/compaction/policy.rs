//! Chooses which segments to merge: a pure function of their sizes, oldest first.

use std::ops::Range;

/// A segment is merged with all newer ones unless it is larger than this many times their total. A
/// larger factor means fewer segments, and that each entry is rewritten more often.
///
/// With 2, each segment is after a merge more than two thirds of itself and all newer ones
/// together. So there are at most 1 + log3(entries / memtable) segments, and one more while one is
/// being written. A merge moves an entry into a segment at least 1.5 times as large, unless the
/// entry is newer than what it joins. So each byte is written at most about log1.5(entries /
/// memtable) times; in the simulation below, less than half as often.
const GROWTH: u64 = 2;

/// Everything is merged once one entry in this many has been removed, or one document in this many
/// replaced. So a crawl that visits all its pages again writes each about this many times more, and
/// at most one part in this many of the database is out of date, beside what is written during a
/// merge.
const REMOVED_SHARE: u64 = 8;

/// What the policy knows about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    pub entries: u64,
    pub removed: u64,
}

/// Returns the run of segments to merge next, if any. Runs are contiguous in age, because newer
/// entries and tombstones must stay newer than what they replace.
///
/// `fit` returns whether the merge of a run is a single segment, and must hold for every part of a
/// run for which it holds. Only a run of all segments, of which much was removed, need not fit: its
/// merge is as many segments as are needed.
pub(crate) fn pick(
    segments: &[Weight],
    fit: impl Fn(Range<usize>) -> bool,
) -> Option<Range<usize>> {
    let entries: u64 = segments.iter().map(|w| w.entries).sum();
    let removed: u64 = segments.iter().map(|w| w.removed).sum();
    if removed > 0 && removed >= entries.div_ceil(REMOVED_SHARE) {
        return Some(0..segments.len());
    }
    let run = grown(segments)..segments.len();
    match run.len() {
        0 | 1 => None,
        _ if fit(run.clone()) => Some(run),
        _ => pick_smaller(segments, fit),
    }
}

/// Returns the run to merge if what [`pick`] chose is too large for the disk or for one segment:
/// one that `fits`, if any. `fits` must hold for every part of a run for which it holds.
///
/// This is what the policy would choose if the oldest segments did not exist, or else the newest
/// ones. So a merge still moves an entry into a segment at least 1.5 times as large.
pub(crate) fn pick_smaller(
    segments: &[Weight],
    fits: impl Fn(Range<usize>) -> bool,
) -> Option<Range<usize>> {
    let runs_until = |end: usize| {
        let start = segments.get(..end).map_or(end, grown);
        (start..end.saturating_sub(1)).map(move |start| start..end)
    };
    (0..=segments.len()).rev().find_map(|end| runs_until(end).find(|run| fits(run.clone())))
}

/// Returns where the run of the newest segments begins that have grown enough to be merged.
fn grown(segments: &[Weight]) -> usize {
    let mut newer = 0u64;
    let mut start = segments.len();
    for weight in segments.iter().rev() {
        let size = weight.entries + weight.removed;
        if start < segments.len() && size > newer.saturating_mul(GROWTH) {
            break;
        }
        newer += size;
        start -= 1;
    }
    start
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
mod tests {
    use super::*;

    fn pick(segments: &[Weight]) -> Option<Range<usize>> {
        super::pick(segments, |_| true)
    }

    fn weights(entries: &[u64]) -> Vec<Weight> {
        entries.iter().map(|&entries| Weight { entries, removed: 0 }).collect()
    }

    #[test]
    fn a_segment_much_larger_than_all_newer_ones_is_left_alone() {
        assert_eq!(pick(&weights(&[])), None);
        assert_eq!(pick(&weights(&[100])), None);
        assert_eq!(pick(&weights(&[100, 10, 1])), None);
        assert_eq!(pick(&weights(&[100, 10, 1, 1])), Some(2..4));
        assert_eq!(pick(&weights(&[100, 10, 4, 1, 1])), Some(1..5));
        assert_eq!(pick(&weights(&[10, 10])), Some(0..2));
        assert_eq!(pick(&weights(&[1, 100])), Some(0..2));
    }

    /// Adds flushes of one entry each to a resident segment. Returns the largest number of segments
    /// after a merge, and how often an entry was written on average.
    fn simulate(resident: u64, flushes: u64) -> (usize, f64) {
        let mut segments = weights(&[resident]);
        segments.retain(|weight| weight.entries > 0);
        let (mut written, mut most) = (0, 0);
        for _ in 0..flushes {
            segments.push(Weight { entries: 1, removed: 0 });
            written += 1;
            while let Some(run) = pick(&segments) {
                let entries = segments[run.clone()].iter().map(|w| w.entries).sum();
                written += entries;
                segments.splice(run, [Weight { entries, removed: 0 }]);
            }
            most = most.max(segments.len());
        }
        (most, written as f64 / flushes as f64)
    }

    #[test]
    fn many_equal_flushes_leave_few_segments_and_rewrite_little() {
        for flushes in [10u64, 100, 1000, 10_000] {
            let (most, written) = simulate(0, flushes);
            let memtables = flushes as f64;
            assert!(most as f64 <= 1.0 + memtables.ln() / 3f64.ln(), "{flushes}: {most}");
            let bound = 1.0 + memtables.ln() / 1.5f64.ln() / 2.0;
            assert!(written <= bound, "{flushes}: {written} > {bound}");
        }
    }

    /// 20 million documents into a database of 2^26, seven in ten new, in memtables of 2^17.
    #[test]
    fn a_crawl_into_a_large_database_leaves_its_large_segment_alone() {
        let (most, written) = simulate(512, 107);
        assert!(most <= 6, "{most} segments");
        assert!(written < 6.0, "each entry was written {written} times");
    }

    #[test]
    fn smaller_run_is_the_longest_of_the_newest_that_fit() {
        let fits = |weights: &[Weight], most: u64| {
            let weights = weights.to_vec();
            move |run: Range<usize>| weights[run].iter().map(|w| w.entries).sum::<u64>() <= most
        };
        let equal = weights(&[10; 8]);
        assert_eq!(pick(&equal), Some(0..8));
        assert_eq!(pick_smaller(&equal, fits(&equal, 80)), Some(0..8));
        assert_eq!(pick_smaller(&equal, fits(&equal, 49)), Some(4..8));
        assert_eq!(pick_smaller(&equal, fits(&equal, 20)), Some(6..8));
        assert_eq!(pick_smaller(&equal, fits(&equal, 19)), None);
        // The newest are too large, but older ones fit.
        let loaded = weights(&[10, 10, 100, 100]);
        assert_eq!(pick_smaller(&loaded, fits(&loaded, 50)), Some(0..2));
        // A segment much larger than all newer ones is left alone.
        let uneven = weights(&[1000, 10, 4, 1, 1]);
        assert_eq!(pick_smaller(&uneven, fits(&uneven, 2000)), Some(1..5));
    }

    /// What fits is merged, and never again with less than it needs to grow by half.
    #[test]
    fn smaller_runs_end_and_rewrite_little() {
        let (mut segments, mut written) = (Vec::new(), 0);
        for _ in 0..1000 {
            segments.push(Weight { entries: 1, removed: 0 });
            while let Some(run) = pick_smaller(&segments, |run: Range<usize>| {
                segments[run].iter().map(|w| w.entries).sum::<u64>() <= 100
            }) {
                let entries = segments[run.clone()].iter().map(|w| w.entries).sum();
                written += entries;
                segments.splice(run, [Weight { entries, removed: 0 }]);
            }
        }
        assert!(segments.len() <= 25, "{} segments", segments.len());
        assert!(written <= 8000, "{written} entries written");
    }

    #[test]
    fn segments_that_do_not_fit_into_one_are_left_alone() {
        let pick_within = |segments: &[Weight], most: u64| {
            super::pick(segments, |run: Range<usize>| {
                segments[run].iter().map(|w| w.entries).sum::<u64>() <= most
            })
        };
        assert_eq!(pick_within(&weights(&[60, 60]), 100), None);
        assert_eq!(pick_within(&weights(&[60, 40]), 100), Some(0..2));
        assert_eq!(pick_within(&weights(&[50, 40, 30]), 100), Some(1..3));
        assert_eq!(pick_within(&weights(&[30, 30, 90]), 100), Some(0..2));
        let removed = Weight { entries: 40, removed: 20 };
        assert_eq!(pick_within(&[weights(&[100])[0], removed], 100), Some(0..2));
    }

    /// No segment outgrows the limit, and few are left that could not grow.
    #[test]
    fn growth_within_a_limit_leaves_large_segments_and_rewrites_little() {
        const MOST: u64 = 100;
        let (mut segments, mut written) = (Vec::new(), 0);
        for _ in 0..3000 {
            segments.push(Weight { entries: 1, removed: 0 });
            while let Some(run) = super::pick(&segments, |run: Range<usize>| {
                segments[run].iter().map(|w: &Weight| w.entries).sum::<u64>() <= MOST
            }) {
                let entries = segments[run.clone()].iter().map(|w| w.entries).sum();
                written += entries;
                segments.splice(run, [Weight { entries, removed: 0 }]);
            }
        }
        assert!(segments.iter().all(|w| w.entries <= MOST));
        assert!(segments.len() <= 70, "{} segments", segments.len());
        assert!(written <= 24_000, "{written} entries written");
    }

    #[test]
    fn many_removed_entries_cause_a_merge_of_everything() {
        let big = Weight { entries: 1000, removed: 0 };
        assert_eq!(pick(&[big, Weight { entries: 0, removed: 10 }]), None);
        assert_eq!(pick(&[big, Weight { entries: 0, removed: 124 }]), None);
        assert_eq!(pick(&[big, Weight { entries: 0, removed: 125 }]), Some(0..2));
        assert_eq!(pick(&[Weight { entries: 0, removed: 1 }]), Some(0..1));
    }
}
