//! Which segments to merge: a pure function of their sizes, oldest first.

use std::ops::Range;

/// A segment is merged with the newer ones unless it is larger than so many times all of them
/// together. Greater: fewer segments, and each entry is rewritten more often. With 2 there are at
/// most about log3(entries / memtable) segments.
const GROWTH: u64 = 2;

/// All is merged once one entry in so many is a removed one.
const REMOVED_SHARE: u64 = 4;

/// What the policy knows of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    pub entries: u64,
    pub removed: u64,
}

/// The run of segments to merge next, or none. Runs are contiguous in age, since what is newer
/// must stay on top of what is older.
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

    #[test]
    fn many_equal_flushes_leave_few_segments_and_rewrite_little() {
        let mut segments: Vec<Weight> = Vec::new();
        let mut rewritten = 0;
        for _ in 0..10_000 {
            segments.push(Weight { entries: 1, removed: 0 });
            while let Some(run) = pick(&segments) {
                let entries = segments[run.clone()].iter().map(|w| w.entries).sum();
                rewritten += entries;
                segments.splice(run, [Weight { entries, removed: 0 }]);
            }
            assert!(segments.len() <= 9, "{segments:?}");
        }
        assert!(rewritten < 10_000 * 20, "{rewritten}");
    }

    #[test]
    fn many_removed_entries_are_a_reason_to_merge_all() {
        let big = Weight { entries: 1000, removed: 0 };
        assert_eq!(pick(&[big, Weight { entries: 0, removed: 10 }]), None);
        assert_eq!(pick(&[big, Weight { entries: 0, removed: 300 }]), Some(0..2));
        assert_eq!(pick(&[Weight { entries: 0, removed: 1 }]), Some(0..1));
    }
}
