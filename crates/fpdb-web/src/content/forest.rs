//! Sums of decision trees, which score the blocks.
//!
//! All sums are of integers, so every machine chooses the same blocks. Scores are logits: the
//! logarithm of how much likelier a block is content than not, in thousandths.

/// A logit of 1 in scores.
pub(super) const LOGIT: i64 = 1000;

/// The questions of a tree.
const DEPTH: usize = 6;

/// A tree that asks the same questions on each path: whether values are above thresholds. The
/// answers, as the binary digits of an index, select the tree's part of the score.
#[derive(Debug)]
pub(super) struct Tree {
    /// Indices of values, and thresholds.
    pub(super) questions: [(u8, i16); DEPTH],
    pub(super) parts: [i16; 1 << DEPTH],
}

/// The blocks that are scored at once, with the same instructions.
const LANES: usize = 32;

/// Returns the scores of blocks, given the number of blocks and the values of each.
pub(super) fn scores<const VALUES: usize>(
    forest: &[Tree],
    count: usize,
    values: impl Fn(usize) -> [i16; VALUES],
) -> Vec<i64> {
    let mut scores = Vec::with_capacity(count);
    let mut columns = [[0; LANES]; VALUES];
    for start in (0..count).step_by(LANES) {
        let lanes = LANES.min(count - start);
        for lane in 0..lanes {
            for (column, value) in columns.iter_mut().zip(values(start + lane)) {
                if let Some(place) = column.get_mut(lane) {
                    *place = value;
                }
            }
        }
        let sums = sums(forest, &columns);
        scores.extend(sums.iter().take(lanes).map(|sum| i64::from(*sum)));
    }
    scores
}

fn sums(forest: &[Tree], columns: &[[i16; LANES]]) -> [i32; LANES] {
    let mut sums = [0_i32; LANES];
    for tree in forest {
        let mut answers = [0_u8; LANES];
        for (digit, (value, threshold)) in (0..).zip(tree.questions) {
            let Some(column) = columns.get(usize::from(value)) else { continue };
            for (answers, value) in answers.iter_mut().zip(column) {
                *answers |= u8::from(*value > threshold) << digit;
            }
        }
        // The remainder spares a check of each index. A sum of so few numbers of 16 bits cannot
        // overflow, so it needs no check either.
        for (sum, answers) in sums.iter_mut().zip(answers) {
            let part = tree.parts.get(usize::from(answers) % (1 << DEPTH)).copied();
            *sum = sum.wrapping_add(part.map_or(0, i32::from));
        }
    }
    sums
}

/// The probability 1 in fixed point.
pub(super) const CERTAIN: u64 = 1 << 16;

/// The probabilities of the scores 0, 1/2, ..., 8.
const LOGISTIC: [u64; 17] = [
    32768, 40793, 47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374,
    65438, 65476, 65500, 65514,
];

/// Returns the probability that a block of this score is content.
pub(super) fn logistic(score: i64) -> u64 {
    let from_zero = score.unsigned_abs().min(8 * LOGIT.unsigned_abs() - 1);
    let step = LOGIT.unsigned_abs() / 2;
    let at = |index: u64| {
        let index = usize::try_from(index).unwrap_or_default();
        LOGISTIC.get(index).copied().unwrap_or(CERTAIN - 1)
    };
    let (whole, rest) = (from_zero / step, from_zero % step);
    let above = (at(whole) * (step - rest) + at(whole + 1) * rest) / step;
    if score < 0 { CERTAIN - above } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_rise_from_nearly_0_to_nearly_1() {
        let all: Vec<u64> = (-9000..9000).map(logistic).collect();
        assert!(all.is_sorted() && all[0] < CERTAIN / 2000);
        for (score, found) in (-8000..8000).zip(all.iter().skip(1000)) {
            let exact = CERTAIN as f64 / (1.0 + (-f64::from(score) / 1000.0).exp());
            assert!((*found as f64 - exact).abs() < CERTAIN as f64 / 200.0, "{score}: {found}");
        }
    }

    #[test]
    fn answers_select_the_part_of_a_tree() {
        let tree = Tree {
            questions: [(0, 5), (1, -1), (0, i16::MAX), (1, 1000), (1, 7), (0, 6)],
            parts: std::array::from_fn(|index| i16::try_from(index).unwrap()),
        };
        let values = |block: usize| [6, 8 - i16::try_from(block).unwrap()];
        let expected = |block| {
            if block == 0 {
                0b10011
            } else if block < 9 {
                0b00011
            } else {
                0b00001
            }
        };
        let expected: Vec<i64> = (0..2 * LANES + 1).map(expected).collect();
        assert_eq!(scores(&[tree], expected.len(), values), expected);
    }
}
