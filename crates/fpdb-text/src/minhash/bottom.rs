//! The bottom-k sketch: one hash function, the k smallest values.

use std::collections::BTreeSet;

use super::{key, mix};

/// The k smallest distinct values of a set of feature hashes under one hash function.
///
/// The k smallest values of the union of two sets are a uniform sample of the union, and the two
/// sketches determine them. The share of these values that is in both sketches estimates the sets'
/// Jaccard similarity J, with a standard error of at most sqrt(J (1 - J) / k): 0.044 for k = 128.
/// If the union has at most k elements, the estimate is exact.
///
/// The time is one mix per feature, and additionally proportional to log k for the few features
/// that are among the smallest so far. The memory grows with the number of values kept.
///
/// # Examples
///
/// ```
/// use fpdb_text::minhash::BottomK;
///
/// let mut a = BottomK::new(128);
/// let mut b = BottomK::new(128);
/// assert_eq!(a.jaccard(&b), 1.0); // both are empty
/// a.extend(0..9000);
/// b.extend(1000..10_000);
/// assert!((a.jaccard(&b) - 0.8).abs() < 0.15); // 8,000 of 10,000
/// assert_eq!(a.values().count(), 128);
///
/// let (mut small, mut other) = (BottomK::new(128), BottomK::new(128));
/// small.extend([1, 2, 3, 3]);
/// other.extend([2, 3]);
/// other.push(4);
/// assert_eq!(small.values().count(), 3);
/// assert_eq!(small.jaccard(&other), 0.5); // exactly
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BottomK {
    size: usize,
    values: BTreeSet<u64>,
    /// Values above this one are not among the smallest.
    bound: u64,
}

impl BottomK {
    /// Returns the sketch of the empty set, for up to `size` values (k). A size of 0 counts as 1.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { size: size.max(1), values: BTreeSet::new(), bound: u64::MAX }
    }

    /// Adds a feature's hash to the set.
    #[inline]
    pub fn push(&mut self, hash: u64) {
        let value = mix(hash ^ key(0));
        if value <= self.bound {
            self.keep(value);
        }
    }

    fn keep(&mut self, value: u64) {
        self.values.insert(value);
        if self.values.len() > self.size {
            self.values.pop_last();
        }
        if let Some(&greatest) = self.values.last()
            && self.values.len() == self.size
        {
            self.bound = greatest;
        }
    }

    /// Returns the values kept, in ascending order: k values, or fewer if the set is smaller.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.values.iter().copied()
    }

    /// Returns an estimate of the sets' Jaccard similarity. It is 1 for two empty sets.
    ///
    /// If the sketches have different sizes, the smaller size counts.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        let mut union = self.values.union(&other.values).take(self.size.min(other.size)).peekable();
        if union.peek().is_none() {
            return 1.0;
        }
        let (mut shared, mut all) = (0u32, 0u32);
        for value in union {
            all += 1;
            shared += u32::from(self.values.contains(value) && other.values.contains(value));
        }
        f64::from(shared) / f64::from(all)
    }
}

impl Extend<u64> for BottomK {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, hashes: I) {
        hashes.into_iter().for_each(|hash| self.push(hash));
    }
}

#[cfg(test)]
mod tests {
    use super::super::sets::{SIMILARITIES, check_estimates, pair, shared};
    use super::*;

    fn of(size: usize, hashes: &[u64]) -> BottomK {
        let mut sketch = BottomK::new(size);
        sketch.extend(hashes.iter().copied());
        sketch
    }

    #[test]
    fn estimates_of_large_sets_are_unbiased_with_the_documented_error() {
        for jaccard in SIMILARITIES {
            check_estimates(1000, jaccard, 1.8, |a, b| of(128, a).jaccard(&of(128, b)));
        }
    }

    #[test]
    fn estimates_of_small_sets_are_exact() {
        for size in [1, 5, 20, 64] {
            for jaccard in SIMILARITIES {
                let (shared, exact) = shared(size, jaccard);
                let (a, b) = pair(size, shared, 1);
                assert_eq!(of(128, &a).jaccard(&of(128, &b)), exact);
            }
        }
    }

    #[test]
    fn order_and_repetition_make_no_difference() {
        for size in [10, 500] {
            let (a, _) = pair(size, 0, 3);
            let twice: Vec<_> = a.iter().rev().chain(&a).copied().collect();
            assert_eq!(of(64, &a), of(64, &twice));
        }
    }

    #[test]
    fn smallest_values_are_kept() {
        let (a, _) = pair(300, 0, 4);
        let mut values: Vec<_> = a.iter().map(|&hash| mix(hash ^ key(0))).collect();
        values.sort_unstable();
        assert_eq!(of(40, &a).values().collect::<Vec<_>>(), values[..40]);
    }

    #[test]
    fn empty_set_has_no_similarity_to_others() {
        assert_eq!(BottomK::new(8).jaccard(&of(8, &[1])), 0.0);
    }
}
