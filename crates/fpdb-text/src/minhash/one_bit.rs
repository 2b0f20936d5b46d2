//! One-bit MinHash: a fingerprint whose Hamming distance estimates the Jaccard similarity.
//!
//! Each bit of the fingerprint is a bin. In each round i = 0, 1, ... every feature hash is mixed
//! with the number of the round, which gives it a bin and a value. A bin keeps the smallest value
//! of the first round in which it received any. The rounds end when all bins are filled. From round
//! `bits` on all features of a round go to a single bin, in round bits + j to bin j, so the rounds
//! do end. This is the "fast similarity sketching" of Dahlgaard, Knudsen and Thorup (2017). A bin's
//! winner is one feature drawn uniformly from the set, and two sets have the same winner with
//! probability exactly J, although texts of some hundred features need little more than one mix per
//! feature.
//!
//! The bit is the lowest bit of the winner's value, which has no influence on the order.

use std::collections::HashSet;
use std::marker::PhantomData;

use super::{key, mix};
use crate::width::Width;

/// The number of bits of the widest fingerprint. Narrower fingerprints leave the remaining bins
/// unused.
const MAX_BINS: usize = 128;

/// Marks a bin that has received no value. A value equals this mark with a probability of 2^-64,
/// and is then ignored.
const EMPTY: u64 = u64::MAX;

/// Computes one-bit MinHash fingerprints of sets of feature hashes, one set after the other.
///
/// For sets of Jaccard similarity J the bits of their fingerprints are equal with probability
/// (1 + J) / 2. So the expected distance is bits · (1 - J) / 2, and 1 - 2 d / bits estimates J
/// from a distance d. The estimate's standard error is at most sqrt((1 - J²) / bits): at 64 bits
/// 0.054 for J = 0.9 and 0.125 for J near 0, at 128 bits 0.039 and 0.088.
///
/// The time is about one mix per feature and round. A set of n features needs about ln(bits) · bits
/// / n rounds, but at least one. The memory is 8 bytes per feature, and is reused for the next set.
///
/// # Examples
///
/// ```
/// use fpdb_text::minhash::OneBit;
///
/// let mut sketch = OneBit::<u128>::new();
/// assert_eq!(sketch.finish(), None); // the empty set has no fingerprint
/// for hash in [3, 1, 2, 3] {
///     sketch.push(hash);
/// }
/// let fingerprint = sketch.finish();
/// for hash in [1, 2, 3] {
///     sketch.push(hash);
/// }
/// assert_eq!(sketch.finish(), fingerprint);
/// ```
#[derive(Debug, Clone)]
pub struct OneBit<F = u64> {
    /// The smallest value that each bin received in round 0.
    bins: [u64; MAX_BINS],
    /// The hashes of the set, for the rounds after the first.
    hashes: Vec<u64>,
    width: PhantomData<F>,
}

impl<F: Width> OneBit<F> {
    /// Returns a sketch of the empty set.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(fpdb_text::minhash::OneBit::<u64>::new().finish(), None);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self { bins: [EMPTY; MAX_BINS], hashes: Vec::new(), width: PhantomData }
    }

    /// Returns a sketch of the empty set, with memory for a set of this number of features.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut sketch = fpdb_text::minhash::OneBit::<u64>::with_capacity(1000);
    /// assert_eq!(sketch.finish(), None);
    /// ```
    #[must_use]
    pub fn with_capacity(features: usize) -> Self {
        Self { hashes: Vec::with_capacity(features), ..Self::new() }
    }

    /// Adds a feature's hash to the set.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::minhash::{OneBit, one_bit};
    ///
    /// let mut sketch = OneBit::<u64>::new();
    /// sketch.push(17);
    /// assert_eq!(sketch.finish(), one_bit(&[17]));
    /// ```
    #[inline]
    pub fn push(&mut self, hash: u64) {
        let value = mix(hash ^ key(0));
        let bin = &mut self.bins[Self::bin_of(value)];
        *bin = value.min(*bin);
        self.hashes.push(hash);
    }

    /// Returns the fingerprint of the set of hashes added since the last call, and empties the set.
    ///
    /// Returns `None` if the set is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::minhash::OneBit;
    ///
    /// let mut sketch = OneBit::<u64>::new();
    /// sketch.push(0);
    /// assert!(sketch.finish().is_some());
    /// assert!(sketch.finish().is_none());
    /// ```
    #[must_use]
    pub fn finish(&mut self) -> Option<F> {
        if self.hashes.is_empty() {
            return None;
        }
        self.fill_all_bins();
        let fingerprint = (0..).zip(self.bins()).fold(F::default(), |bits, (bit, &value)| {
            if value & 1 == 1 { bits | F::single(bit) } else { bits }
        });
        self.hashes.clear();
        self.bins = [EMPTY; MAX_BINS];
        Some(fingerprint)
    }

    /// Returns what decides each bit of the fingerprint of the current set, starting with bit 0.
    /// The result is empty if the set is empty. The set does not change.
    ///
    /// This takes several hundred times as long as [`finish`](Self::finish). It is for
    /// explanations.
    pub(crate) fn winners(&self) -> Vec<Winner> {
        let mut hashes = self.hashes.clone();
        hashes.sort_unstable();
        hashes.dedup();
        if hashes.is_empty() {
            return Vec::new();
        }
        (0..F::WIDTH as usize).map(|bin| Self::winner(bin, &hashes)).collect()
    }

    /// Returns what decides the bit of a bin, for a set of distinct hashes.
    fn winner(bin: usize, hashes: &[u64]) -> Winner {
        let mut found: Option<Winner> = None;
        let mut removed = HashSet::new();
        for round in 0..2 * F::WIDTH as usize {
            let mut arrivals: Vec<(u64, u64)> = hashes
                .iter()
                .map(|&hash| (mix(hash ^ key(round as u64)), hash))
                .filter(|&(value, _)| match round.checked_sub(F::WIDTH as usize) {
                    None => Self::bin_of(value) == bin,
                    Some(forced) => forced == bin,
                })
                .collect();
            arrivals.sort_unstable();
            for (value, hash) in arrivals {
                let set = value & 1 == 1;
                let winner = found.get_or_insert(Winner { hash, set, agreeing: 0 });
                if winner.set != set && !removed.contains(&hash) {
                    return *winner;
                }
                winner.agreeing += usize::from(removed.insert(hash));
            }
        }
        // Every hash reaches the bin in the bin's forced round at the latest.
        found.unwrap_or(Winner { hash: 0, set: false, agreeing: 0 })
    }

    /// Returns the bin of a mixed value: its leading bits. The remainder does not change the
    /// number, but shows the compiler that the bin exists.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most seven bits remain")]
    fn bin_of(value: u64) -> usize {
        (value >> (u64::BITS - F::WIDTH.ilog2())) as usize % MAX_BINS
    }

    fn bins(&self) -> &[u64] {
        &self.bins[..F::WIDTH as usize]
    }

    /// Runs the rounds after the first, until no bin is empty.
    fn fill_all_bins(&mut self) {
        for round in 1..u64::from(F::WIDTH) {
            if !self.bins().contains(&EMPTY) {
                return;
            }
            self.fill_empty_bins(round);
        }
        for bin in 0..F::WIDTH as usize {
            if self.bins[bin] == EMPTY {
                let key = key((F::WIDTH as usize + bin) as u64);
                let smallest = self.hashes.iter().map(|hash| mix(hash ^ key)).min();
                self.bins[bin] = smallest.unwrap_or(EMPTY);
            }
        }
    }

    /// Runs one round. It does not change bins that were filled before.
    fn fill_empty_bins(&mut self, round: u64) {
        // All ones for a filled bin: no value is smaller after an OR with it.
        let filled = self.bins.map(|value| if value == EMPTY { 0 } else { u64::MAX });
        let key = key(round);
        for hash in &self.hashes {
            let value = mix(hash ^ key);
            let bin = Self::bin_of(value);
            self.bins[bin] = self.bins[bin].min(value | filled[bin]);
        }
    }
}

impl<F: Width> Default for OneBit<F> {
    fn default() -> Self {
        Self::new()
    }
}

/// What decides a bit of a one-bit MinHash fingerprint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Winner {
    /// The hash that decides the bit.
    pub(crate) hash: u64,
    /// Whether the bit is set.
    pub(crate) set: bool,
    /// The number of hashes that would have to be removed, starting with the winner, before the bit
    /// changes.
    pub(crate) agreeing: usize,
}

/// Returns the one-bit MinHash fingerprint of a set of feature hashes, or `None` for the empty set.
///
/// For many sets, use a [`OneBit`], which does not allocate for each set.
///
/// # Examples
///
/// ```
/// use fpdb_text::minhash::one_bit;
///
/// let a = one_bit::<u64>(&[1, 2, 3]);
/// assert_eq!(a, one_bit(&[3, 2, 1, 1]));
/// assert_ne!(a, one_bit(&[4, 5, 6]));
/// assert_eq!(one_bit::<u128>(&[]), None);
/// ```
#[must_use]
pub fn one_bit<F: Width>(hashes: &[u64]) -> Option<F> {
    let mut sketch = OneBit::new();
    hashes.iter().for_each(|&hash| sketch.push(hash));
    sketch.finish()
}

#[cfg(test)]
mod tests {
    use super::super::sets::{SIMILARITIES, pair, shared};
    use super::*;

    fn distance<F: Width>(a: &[u64], b: &[u64]) -> u32 {
        crate::distance(one_bit::<F>(a).unwrap(), one_bit(b).unwrap())
    }

    /// Compares the mean distance of `pairs` pairs with the rule, within 5 standard errors. The
    /// standard error assumes independent bits, although the bits of one fingerprint are not quite
    /// independent.
    fn assert_rule<F: Width>(size: u64, jaccard: f64, pairs: u64) {
        let (shared, exact) = shared(size, jaccard);
        let total: u32 = (0..pairs)
            .map(|seed| {
                let (a, b) = pair(size, shared, seed);
                distance::<F>(&a, &b)
            })
            .sum();
        let (bits, differ) = (f64::from(F::WIDTH), (1.0 - exact) / 2.0);
        let mean = f64::from(total) / pairs as f64;
        let error = (bits * differ * (1.0 - differ) / pairs as f64).sqrt();
        assert!(
            (mean - bits * differ).abs() <= 5.0 * error,
            "{} bits, size {size}, J = {exact}: {mean} for {}",
            F::WIDTH,
            bits * differ
        );
    }

    #[test]
    fn mean_distance_is_half_of_the_dissimilarity() {
        for jaccard in SIMILARITIES {
            for (size, pairs) in [(1, 400), (5, 400), (20, 400), (100, 400), (1000, 100)] {
                assert_rule::<u64>(size, jaccard, pairs);
                assert_rule::<u128>(size, jaccard, pairs / 2);
            }
        }
    }

    /// One set is a subset of the other, so J is the quotient of their sizes.
    #[test]
    fn rule_holds_for_sets_of_different_sizes() {
        let total: u32 = (0..400)
            .map(|seed| {
                let (a, _) = pair(60, 0, seed);
                distance::<u64>(&a, &a[..12])
            })
            .sum();
        let mean = f64::from(total) / 400.0;
        assert!((mean - 64.0 * 0.4).abs() < 5.0 * (64.0 * 0.24 / 400.0f64).sqrt(), "{mean}");
    }

    #[test]
    fn every_bit_is_set_in_half_of_the_fingerprints() {
        for size in [1, 5, 300] {
            let mut set = [0u32; 128];
            for seed in 0..1000 {
                let bits = one_bit::<u128>(&pair(size, 0, seed).0).unwrap();
                set.iter_mut().enumerate().for_each(|(i, n)| *n += u32::from(bits >> i & 1 == 1));
            }
            for (bit, &n) in set.iter().enumerate() {
                assert!((420..=580).contains(&n), "size {size}: bit {bit} is set {n} times");
            }
        }
    }

    /// Unrelated sets must not be closer together when they are small. The distances of the 64-bit
    /// fingerprints of sets of one to five features have the distribution of coin tosses.
    #[test]
    fn unrelated_small_sets_are_as_far_apart_as_large_ones() {
        for size in [1, 2, 3, 5] {
            let mut squares = 0.0;
            for seed in 0..1000 {
                let (a, b) = pair(size, 0, seed);
                let d = distance::<u64>(&a, &b);
                assert!((10..=54).contains(&d), "size {size}, seed {seed}: {d}");
                squares += (f64::from(d) - 32.0).powi(2);
            }
            // The variance is 16, its standard error 0.7.
            assert!((12.5..=19.5).contains(&(squares / 1000.0)), "size {size}: {squares}");
        }
    }

    #[test]
    fn order_and_repetition_of_hashes_make_no_difference() {
        for size in [1, 7, 500] {
            let (a, _) = pair(size, 0, 1);
            let mut other: Vec<_> = a.iter().rev().chain(&a).copied().collect();
            let middle = other.len() / 3;
            other.rotate_left(middle);
            assert_eq!(one_bit::<u64>(&a), one_bit(&other));
            assert_eq!(one_bit::<u128>(&a), one_bit(&other));
        }
    }

    #[test]
    fn regular_hashes_are_as_good_as_random_ones() {
        let total: u32 = (0..200u64)
            .map(|i| {
                let a: Vec<_> = (i * 1000..i * 1000 + 90).collect();
                let b: Vec<_> = (i * 1000 + 30..i * 1000 + 120).collect();
                distance::<u64>(&a, &b)
            })
            .sum();
        let mean = f64::from(total) / 200.0;
        assert!((mean - 16.0).abs() < 5.0 * (12.0f64 / 200.0).sqrt(), "{mean}");
    }

    #[test]
    fn finish_empties_the_set() {
        let (a, b) = pair(30, 0, 9);
        let mut sketch = OneBit::<u64>::new();
        for set in [&a, &b, &a] {
            set.iter().for_each(|&hash| sketch.push(hash));
            assert_eq!(sketch.finish(), one_bit(set));
        }
        assert_eq!(sketch.finish(), None);
    }

    #[test]
    fn bits_of_two_sets_agree_where_their_winners_do() {
        let (a, b) = pair(40, 30, 5);
        let sketch = |set: &[u64]| {
            let mut sketch = OneBit::<u64>::new();
            set.iter().for_each(|&hash| sketch.push(hash));
            let winners: Vec<_> = sketch.winners().iter().map(|bit| bit.hash).collect();
            (winners, sketch.finish().unwrap())
        };
        let ((won_a, bits_a), (won_b, bits_b)) = (sketch(&a), sketch(&b));
        assert_eq!((won_a.len(), won_b.len()), (64, 64));
        let agree: Vec<_> = (0..64).filter(|&i| won_a[i] == won_b[i]).collect();
        assert!((24..=52).contains(&agree.len()), "{agree:?}"); // 38.4 expected
        assert!(agree.iter().all(|&i| (bits_a ^ bits_b) >> i & 1 == 0));
    }

    #[test]
    fn a_bit_changes_exactly_when_all_agreeing_hashes_are_removed() {
        for size in [1, 2, 5, 40, 200] {
            let (set, _) = pair(size, 0, size);
            let mut sketch = OneBit::<u64>::new();
            set.iter().for_each(|&hash| sketch.push(hash));
            for (bit, first) in sketch.winners().into_iter().enumerate() {
                let mut left = set.clone();
                for removed in 1..=first.agreeing {
                    let winner = winner_of(bit, &left);
                    left.retain(|&hash| hash != winner);
                    let now = one_bit::<u64>(&left).map(|f| f >> bit & 1 == 1);
                    let changed = now.is_some_and(|set| set != first.set);
                    assert_eq!(changed, removed == first.agreeing && !left.is_empty(), "{bit}");
                }
            }
        }
    }

    fn winner_of(bit: usize, set: &[u64]) -> u64 {
        let mut sketch = OneBit::<u64>::new();
        set.iter().for_each(|&hash| sketch.push(hash));
        sketch.winners()[bit].hash
    }

    /// These values are in users' databases.
    #[test]
    fn fingerprints_are_frozen() {
        let numbers: Vec<u64> = (1..=100).collect();
        let all = [&numbers[6..7], &numbers]
            .map(|set| (one_bit::<u64>(set).unwrap(), one_bit::<u128>(set).unwrap()));
        let frozen = [
            (0x7df6_11b4_1013_0d1b, 0x7dda_bf6d_6daa_a210_9342_4b0d_00db_a95f),
            (0xbe5b_0f90_7945_99bb, 0xeebc_b3db_585d_a508_1761_b233_e3c1_47e7),
        ];
        assert_eq!(all, frozen);
    }
}
