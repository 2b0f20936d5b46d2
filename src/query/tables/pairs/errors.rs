//! The error patterns that a staircase allows in the bits after a prefix.

use crate::index::tables::layout::Staircase;

/// Returns how many patterns of errors the staircase allows in the leading bits, by number of
/// errors: first for no bits, then for one bit more each time. A number that is too large for `f64`
/// is infinite.
pub(super) fn counts(stairs: &Staircase, bits: u32) -> Vec<Vec<f64>> {
    let most = (0..bits).map(|bit| stairs.most_with(bit)).max().unwrap_or(0) as usize;
    let mut counts = vec![0.0; most + 1];
    counts[0] = 1.0;
    let mut all = vec![counts.clone()];
    for bit in 0..bits {
        for errors in (1..=stairs.most_with(bit) as usize).rev() {
            counts[errors] += counts[errors - 1];
        }
        all.push(counts.clone());
    }
    all
}

/// Returns the patterns that the staircase allows in the `len` bits after `depth` bits that have
/// `errors` errors, as numbers of `len` bits. They ascend, so patterns with the same highest bit
/// follow each other.
pub(super) fn patterns(stairs: &Staircase, depth: u32, len: u32, errors: u32) -> Vec<usize> {
    let mut patterns = vec![0usize];
    for bit in depth..depth + len {
        let most = stairs.most_with(bit);
        let both = |pattern: usize| {
            let wrong = errors + pattern.count_ones() < most;
            [Some(pattern << 1), wrong.then_some(pattern << 1 | 1)].into_iter().flatten()
        };
        patterns = patterns.into_iter().flat_map(both).collect();
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tables::layout::Step;

    fn stairs() -> Staircase {
        Staircase::new(vec![Step { depth: 3, most: 0 }, Step { depth: 7, most: 1 }], 64, 3)
    }

    #[test]
    fn patterns_are_those_that_the_staircase_accepts() {
        let stairs = stairs();
        for depth in 0..12 {
            for len in 0..=12 - depth {
                for prefix in 0..1u64 << depth {
                    let prefix = if depth == 0 { 0 } else { prefix << (64 - depth) };
                    if !stairs.accepts(prefix) {
                        continue;
                    }
                    let word = |&pattern: &usize| {
                        prefix | if len == 0 { 0 } else { (pattern as u64) << (64 - depth - len) }
                    };
                    let all: Vec<usize> = (0..1 << len).collect();
                    let accepted = all.iter().filter(|pattern| stairs.accepts(word(pattern)));
                    let accepted: Vec<usize> = accepted.copied().collect();
                    assert_eq!(patterns(&stairs, depth, len, prefix.count_ones()), accepted);
                }
            }
        }
    }

    #[test]
    fn counts_are_those_of_the_patterns() {
        let stairs = stairs();
        for (bits, counts) in (0..).zip(counts(&stairs, 14)) {
            let patterns = patterns(&stairs, 0, bits, 0);
            for (errors, count) in (0..).zip(counts) {
                let with = patterns.iter().filter(|p| p.count_ones() == errors).count();
                assert_eq!(count, with as f64, "{errors} errors in {bits} bits");
            }
        }
    }
}
