//! One-bit MinHash: a fingerprint whose Hamming distance estimates the Jaccard similarity.
//!
//! Each bit of the fingerprint, or each minimum of a sketch, is a bin. In each round i = 0, 1, ...
//! every feature hash is mixed with the number of the round, which gives it a bin and a value. A
//! bin keeps the smallest value of the first round in which it received any, its minimum. The
//! rounds end when all bins are filled. From round `bins` on all features of a round go to a single
//! bin, in round bins + j to bin j, so the rounds do end. This is the "fast similarity sketching"
//! of Dahlgaard, Knudsen and Thorup (2017). A bin's winner is one feature drawn uniformly from the
//! set, and two sets have the same winner with probability exactly J, although texts of some
//! hundred features need little more than one mix per feature.
//!
//! The bit is the lowest bit of the minimum. A sketch has the lowest six bits. They have no
//! influence on the order of the values. Its parities are of the values of round 0.

use std::marker::PhantomData;

use super::distinct::distinct_values;
use super::{key, mix};
use crate::width::Width;

/// The largest number of minima. Narrower fingerprints leave the remaining bins unused.
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
/// Each bit is the lowest bit of a minimum. A [`Sketch`](crate::Sketch) has six bits of each of 128
/// minima. Two minima differ in these with probability 63/64 (1 - J), so 1 - 64/63 d / 128
/// estimates J if d of them differ. The standard error is at most sqrt((1 - J) (J + 1/63) / 128):
/// 0.027 for J = 0.9, 0.045 for J = 0.5. Its parities tell J [more
/// exactly](crate::Sketch::similarity).
///
/// The time is about one mix per feature and round. A set of n features needs about ln(bits) · bits
/// / n rounds, but at least one. The memory is 8 bytes per feature, and is reused for the next set.
/// A sketch takes up to 40 bytes per feature more while it is made, to find which are distinct.
///
/// # Examples
///
/// ```
/// use fpdb_text::minhash::{OneBit, one_bit};
///
/// let mut sketch = OneBit::<u128>::with_capacity(4);
/// assert_eq!(sketch.finish(), None); // the empty set has no fingerprint
/// for hash in [3, 1, 2, 3] {
///     sketch.push(hash);
/// }
/// assert_eq!(sketch.finish(), one_bit(&[1, 2, 3]));
/// assert_eq!(sketch.finish(), None); // it is empty again
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
    #[must_use]
    pub fn new() -> Self {
        Self { bins: [EMPTY; MAX_BINS], hashes: Vec::new(), width: PhantomData }
    }

    /// Returns a sketch of the empty set, with memory for a set of this number of features.
    #[must_use]
    pub fn with_capacity(features: usize) -> Self {
        Self { hashes: Vec::with_capacity(features), ..Self::new() }
    }

    /// Returns a sketch of the set of these hashes.
    pub(crate) fn of_hashes(hashes: Vec<u64>) -> Self {
        let mut sketch = Self::new();
        hashes.iter().for_each(|&hash| sketch.put(hash));
        Self { hashes, ..sketch }
    }

    /// Adds a feature's hash to the set.
    #[inline]
    pub fn push(&mut self, hash: u64) {
        self.put(hash);
        self.hashes.push(hash);
    }

    /// Puts the value of round 0 of a hash into its bin.
    #[inline]
    fn put(&mut self, hash: u64) {
        let value = mix(hash ^ key(0));
        let bin = &mut self.bins[Self::bin_of(value)];
        *bin = value.min(*bin);
    }

    /// Returns the fingerprint of the set of hashes added since the last call, and empties the set.
    ///
    /// Returns `None` if the set is empty.
    #[must_use]
    pub fn finish(&mut self) -> Option<F> {
        let fingerprint = self.fingerprint();
        self.hashes.clear();
        self.bins = [EMPTY; MAX_BINS];
        fingerprint
    }

    /// Returns the fingerprint of the set, and the hashes as they were added.
    pub(crate) fn finish_with_hashes(mut self) -> (Option<F>, Vec<u64>) {
        (self.fingerprint(), self.hashes)
    }

    fn fingerprint(&mut self) -> Option<F> {
        if self.hashes.is_empty() {
            return None;
        }
        self.fill_all_bins();
        Some(F::of_minima(&self.bins, || distinct_values(&self.hashes)))
    }

    /// Returns the bin of a mixed value: its leading bits. The remainder does not change the
    /// number, but shows the compiler that the bin exists.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most seven bits remain")]
    fn bin_of(value: u64) -> usize {
        (value >> (u64::BITS - F::MINIMA.ilog2())) as usize % MAX_BINS
    }

    fn bins(&self) -> &[u64] {
        &self.bins[..F::MINIMA as usize]
    }

    /// Runs the rounds after the first, until no bin is empty.
    fn fill_all_bins(&mut self) {
        for round in 1..u64::from(F::MINIMA) {
            if !self.bins().contains(&EMPTY) {
                return;
            }
            self.fill_empty_bins(round);
        }
        for bin in 0..F::MINIMA as usize {
            if self.bins[bin] == EMPTY {
                let key = key((F::MINIMA as usize + bin) as u64);
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
mod tests;
