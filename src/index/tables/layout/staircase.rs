//! Staircases: how many wrong bits a table allows in its leading bits.

use crate::fingerprint::Word;

/// A bound: at most `most` wrong bits among the `depth` leading bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    /// Number of leading bits, in the table's bit order; at least one.
    pub(crate) depth: u8,
    /// Wrong bits allowed among them.
    pub(crate) most: u8,
}

/// The error patterns that a table accepts: those that exceed no step.
///
/// Invariant: depths and bounds both rise strictly, and the last step covers the entire word. A
/// pattern that has only some of the errors of an accepted pattern is accepted too, so what is
/// complete for a weight is complete for every lower weight.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Staircase {
    steps: Box<[Step]>,
}

impl Staircase {
    /// Makes a staircase of `steps`, whose depths do not fall, from 1 to `bits`. Patterns of more
    /// than `distance` errors are never accepted.
    pub(crate) fn new(mut steps: Vec<Step>, bits: u8, distance: u8) -> Self {
        steps.push(Step { depth: bits, most: distance });
        // A step forbids nothing if one that is as deep or deeper allows no more.
        let mut kept: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps.into_iter().rev() {
            match kept.last() {
                Some(deeper) if step.most >= deeper.most => continue,
                Some(same) if step.depth == same.depth => _ = kept.pop(),
                _ => {}
            }
            kept.push(step);
        }
        kept.reverse();
        Self { steps: kept.into() }
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the steps, cut off at this depth.
    pub(crate) fn down_to(&self, depth: u8) -> Vec<Step> {
        let above = self.steps.partition_point(|step| step.depth < depth);
        let mut steps = self.steps[..self.steps.len().min(above + 1)].to_vec();
        if let Some(last) = steps.last_mut() {
            last.depth = last.depth.min(depth);
        }
        steps
    }

    /// Returns how many of the bits up to and including this one may be wrong if it is wrong
    /// itself.
    pub(crate) fn most_with(&self, bit: u32) -> u32 {
        let step = self.steps.iter().find(|step| bit < u32::from(step.depth));
        step.map_or(0, |step| step.most.into())
    }

    /// Returns whether the table's lookups find an entry with this error. `error` is in the table's
    /// bit order.
    #[inline]
    pub(crate) fn accepts<F: Word>(&self, error: F) -> bool {
        self.steps.iter().all(|step| {
            (error >> (F::BITS - u32::from(step.depth))).count_ones() <= u32::from(step.most)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(depth: u8, most: u8) -> Step {
        Step { depth, most }
    }

    #[test]
    fn steps_that_forbid_nothing_are_dropped() {
        let stairs = Staircase::new(vec![step(10, 1), step(20, 1), step(30, 3)], 64, 3);
        assert_eq!(stairs.steps(), [step(20, 1), step(64, 3)]);
        let ball = Staircase::new(vec![step(64, 3)], 64, 3);
        assert_eq!(ball.steps(), [step(64, 3)]);
        let twice = Staircase::new(vec![step(20, 0), step(20, 1), step(20, 0)], 64, 3);
        assert_eq!(twice.steps(), [step(20, 0), step(64, 3)]);
    }

    #[test]
    fn cut_off_staircase_bounds_the_leading_bits() {
        let stairs = Staircase::new(vec![step(10, 0), step(20, 1)], 64, 3);
        assert_eq!(stairs.down_to(10), [step(10, 0)]);
        assert_eq!(stairs.down_to(15), [step(10, 0), step(15, 1)]);
        assert_eq!(stairs.down_to(64), stairs.steps());
    }

    #[test]
    fn each_bit_is_bounded_by_the_first_step_that_covers_it() {
        let stairs = Staircase::new(vec![step(8, 0), step(16, 1)], 64, 3);
        let bounds = [0, 7, 8, 15, 16, 63, 64].map(|bit| stairs.most_with(bit));
        assert_eq!(bounds, [0, 0, 1, 1, 3, 3, 0]);
    }

    #[test]
    fn patterns_are_accepted_up_to_each_step_and_not_beyond() {
        let stairs = Staircase::new(vec![step(8, 0), step(16, 1)], 64, 2);
        assert!(stairs.accepts(0u64));
        assert!(!stairs.accepts(1u64 << 56));
        assert!(stairs.accepts(1u64 << 55));
        assert!(!stairs.accepts(3u64 << 54));
        assert!(stairs.accepts((1u64 << 55) | 1));
        assert!(!stairs.accepts(7u64));
        let whole = Staircase::new(Vec::new(), 128, 1);
        assert!(whole.accepts(1u128 << 127) && !whole.accepts(3u128));
    }
}
