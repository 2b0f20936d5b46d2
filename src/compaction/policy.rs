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

/// Everything is merged once one entry in this many has been removed.
const REMOVED_SHARE: u64 = 4;

/// What the policy knows about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    pub entries: u64,
    pub removed: u64,
}

/// Returns the run of segments to merge next, if any. Runs are contiguous in age, because newer
/// entries and tombstones must stay newer than what they replace.
pub(crate) fn pick(segments: &[Weight]) -> Option<Range<usize>> {
    let entries: u64 = segments.iter().map(|w| w.entries).sum();
    let removed: u64 = segments.iter().map(|w| w.removed).sum();
    if removed > 0 && removed >= entries.div_ceil(REMOVED_SHARE) {
        return Some(0..segments.len());
    }
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
    (segments.len() - start >= 2).then_some(start..segments.len())
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
mod tests {
    use super::*;

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
    fn many_removed_entries_cause_a_merge_of_everything() {
        let big = Weight { entries: 1000, removed: 0 };
        assert_eq!(pick(&[big, Weight { entries: 0, removed: 10 }]), None);
        assert_eq!(pick(&[big, Weight { entries: 0, removed: 300 }]), Some(0..2));
        assert_eq!(pick(&[Weight { entries: 0, removed: 1 }]), Some(0..1));
    }
}
