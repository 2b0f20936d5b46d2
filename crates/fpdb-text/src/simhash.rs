//! The SimHash itself: sums of hashed, weighted features, one sum per bit.
//!
//! To extract features yourself, hash them with [`FeatureHash::hash`](crate::FeatureHash::hash) and
//! [`fold`](fold()) the hashes. Use weights that are integers if you can: then the sums, and
//! therefore the fingerprints, depend neither on the order of the features nor on rounding.
//! [`fold_f64`] is for other weights, such as TF-IDF.

use std::marker::PhantomData;

use crate::width::{Bits, Fingerprinted};

/// The value of a bit whose sum is 0, which is also the value of all bits if there are no features.
///
/// # Examples
///
/// ```
/// use fpdb_text::simhash::{Tie, fold};
///
/// let even = [(0b01u64, 1), (0b11, 1)]; // bit 1 is in one of two
/// assert_eq!(fold(even, Tie::Unset), 0b01);
/// assert_eq!(fold([(0b01u64, 1), (!0, 1)], Tie::Set), !0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tie {
    // The numbers are part of recipe names: see `Builder::definition`.
    /// Not set: a bit is set if its sum is above 0. This is the rule of most programs, and of this
    /// crate's own recipes.
    Unset = 1,
    /// Set: a bit is set if its sum is 0 or more.
    Set = 2,
}

/// Returns the fingerprint of features that are given as hashes with weights.
///
/// Bit i is set if the features whose hash has bit i set weigh more than the others. `tie` decides
/// if they weigh the same. The time is proportional to the number of features times the width.
///
/// # Panics
///
/// Panics if a sum of weights overflows, in a build that checks for overflow.
///
/// # Examples
///
/// Hashes alone, each of weight 1, as seomoz's `simhash-cpp` folds them:
///
/// ```
/// use fpdb_text::simhash::{Tie, fold};
///
/// let hashes = [0xdead_beef_u64, 0xdead_0000, 0x0000_beef];
/// assert_eq!(fold(hashes.map(|hash| (hash, 1)), Tie::Unset), 0xdead_beef);
/// ```
///
/// A list of features, as PyPI `simhash` accepts it. Its hash is the low half of MD5:
///
/// ```
/// use fpdb_text::FeatureHash;
/// use fpdb_text::simhash::{Tie, fold};
///
/// let hash = |feature| FeatureHash::Md5Low.hash::<u64>(feature).unwrap();
/// let features = ["aaa", "bbb"].map(|feature| (hash(feature), 1));
/// assert_eq!(fold(features, Tie::Unset), 57_087_923_692_560_392);
/// ```
///
/// Words with their counts at 128 bits, as in the Wayback Machine's `wayback-discover-diff`:
///
/// ```
/// use fpdb_text::FeatureHash;
/// use fpdb_text::simhash::{Tie, fold};
///
/// let counted = [("two", 2), ("three", 3), ("one", 1)];
/// let hash = |word| FeatureHash::Md5Low.hash::<u128>(word).unwrap();
/// let features = counted.map(|(word, count)| (hash(word), count));
/// assert_eq!(fold(features, Tie::Unset), 66_237_222_457_941_138_286_276_456_718_971_054_176);
/// ```
pub fn fold<F: Bits>(features: impl IntoIterator<Item = (F, i64)>, tie: Tie) -> F {
    let mut sums = Sums::new();
    for (hash, weight) in features {
        sums.add(hash, weight);
    }
    sums.fingerprint(tie)
}

/// Returns the fingerprint of features whose weights need not be whole numbers, such as those of
/// keywords.
///
/// As [`fold`](fold()), but the sums are rounded. So the order of the features may decide a bit of
/// which the sum is near 0: add them in the same order as the program whose fingerprints you
/// compare with.
///
/// # Examples
///
/// Keywords with their TF-IDF, as in yanyiwu's `simhash`, of the text 你好世界 (hello, world):
///
/// ```
/// use fpdb_text::FeatureHash;
/// use fpdb_text::simhash::{Tie, fold_f64};
///
/// let keywords = [("你好", 7.95787827685), ("世界", 4.36752940557)];
/// let hash = |word| FeatureHash::Jenkins64.hash::<u64>(word).unwrap();
/// let features = keywords.map(|(word, weight)| (hash(word), weight));
/// assert_eq!(fold_f64(features, Tie::Unset), 17_676_873_585_679_812_141);
/// ```
pub fn fold_f64<F: Bits>(features: impl IntoIterator<Item = (F, f64)>, tie: Tie) -> F {
    let mut sums = [0.0; 128];
    for (hash, weight) in features {
        for (bit, sum) in (0..F::WIDTH).zip(&mut sums) {
            *sum += if hash.bit(bit) { weight } else { -weight };
        }
    }
    of_sums(&sums[..F::WIDTH as usize], tie)
}

/// The sums that decide the bits of a fingerprint, one sum per bit.
///
/// # Examples
///
/// ```
/// use fpdb_text::FeatureHash;
/// use fpdb_text::simhash::{Sums, Tie};
///
/// let mut sums = Sums::<u64>::new();
/// assert_eq!(sums.fingerprint(Tie::Set), !0);
/// sums.add(FeatureHash::Fnv1.hash("test string").unwrap(), 1);
/// sums.add(FeatureHash::Fnv1.hash("test thing").unwrap(), 1);
/// assert_eq!(sums.as_slice()[..8], [0, -2, 0, 0, -2, -2, -2, 0]);
/// assert_eq!(sums.fingerprint(Tie::Unset) & 0xff, 0);
/// ```
#[derive(Debug, Clone)]
pub struct Sums<F> {
    /// Sums beyond the width stay 0.
    sums: [i64; 128],
    width: PhantomData<F>,
}

impl<F: Bits> Sums<F> {
    /// Returns the sums of no features.
    #[must_use]
    pub fn new() -> Self {
        Self { sums: [0; 128], width: PhantomData }
    }

    /// Adds a feature: adds its weight to the sums of the bits that its hash has set, and subtracts
    /// it from the others.
    ///
    /// # Panics
    ///
    /// The same as for [`fold`](fold()).
    pub fn add(&mut self, hash: F, weight: i64) {
        for (bit, sum) in (0..F::WIDTH).zip(&mut self.sums) {
            *sum += if hash.bit(bit) { weight } else { -weight };
        }
    }

    /// Returns the sums of all bits of the width, starting with the least significant bit.
    #[must_use]
    pub fn as_slice(&self) -> &[i64] {
        &self.sums[..F::WIDTH as usize]
    }

    /// Returns the fingerprint.
    #[must_use]
    pub fn fingerprint(&self, tie: Tie) -> F {
        of_sums(self.as_slice(), tie)
    }
}

impl<F: Bits> Default for Sums<F> {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the fingerprint of the sums of all bits, starting with the least significant bit.
fn of_sums<F: Bits, W: PartialOrd + Default>(sums: &[W], tie: Tie) -> F {
    let zero = W::default();
    let is_set = |sum: &W| if tie == Tie::Set { *sum >= zero } else { *sum > zero };
    let bits = (0..).zip(sums).filter(|(_, sum)| is_set(sum));
    bits.fold(F::default(), |fingerprint, (bit, _)| fingerprint | F::single(bit))
}

/// Counts how many hashes have each bit set.
///
/// The counters are stored across words: bit i of `planes[n]` is bit n of counter i. Full adders
/// add three words of the same significance at a time: a plane, a waiting word, and the new word.
/// The carry goes to the next plane. So a hash costs about one full adder, which is five operations
/// for all counters of a width.
struct Counters<F> {
    planes: [F; PLANES],
    /// `waiting[n]` holds a word of the significance of `planes[n]` if bit n of `added` is set.
    waiting: [F; PLANES],
    added: u32,
}

const PLANES: usize = u32::BITS as usize;

impl<F: Bits> Counters<F> {
    /// Counts fewer than 2^32 hashes.
    fn of(hashes: &[F]) -> Self {
        let mut counters =
            Self { planes: [F::default(); PLANES], waiting: [F::default(); PLANES], added: 0 };
        for &hash in hashes {
            counters.add(hash);
        }
        counters
    }

    fn add(&mut self, hash: F) {
        let mut carry = hash;
        let full = self.added.trailing_ones() as usize;
        for (plane, &waiting) in self.planes.iter_mut().zip(&self.waiting).take(full) {
            let either = *plane ^ waiting;
            let next = (*plane & waiting) | (either & carry);
            *plane = either ^ carry;
            carry = next;
        }
        self.waiting[full] = carry;
        self.added += 1;
    }

    /// Returns the number of hashes that have the bit set, minus the number of the others.
    fn sum(&self, bit: u32) -> i64 {
        let one = |word: F| i64::from(word.bit(bit));
        let planes = (u32::BITS - self.added.leading_zeros()) as usize;
        let set: i64 = (0..planes)
            .map(|n| {
                let waiting = if self.added >> n & 1 == 1 { one(self.waiting[n]) } else { 0 };
                (one(self.planes[n]) + waiting) << n
            })
            .sum();
        2 * set - i64::from(self.added)
    }
}

impl<F: Bits> Sums<F> {
    /// Adds hashes of equal weight, in a fraction of the time that adding them one by one takes.
    pub(crate) fn add_all(&mut self, hashes: &[F], weight: i64) {
        for some in hashes.chunks(u32::MAX as usize) {
            let counters = Counters::of(some);
            for (bit, sum) in (0..F::WIDTH).zip(&mut self.sums) {
                *sum += weight * counters.sum(bit);
            }
        }
    }
}

/// Returns the result for a text: no fingerprint if it has fewer than `min` distinct features.
pub(crate) fn fingerprinted<F>(fingerprint: F, features: usize, min: usize) -> Fingerprinted<F> {
    Fingerprinted { fingerprint: (features >= min).then_some(fingerprint), features }
}

/// Returns a weight in units of 2^-`fraction_bits`, rounded.
#[expect(clippy::cast_possible_truncation, reason = "weights and fractions are far below 2^31")]
pub(crate) fn fixed_point(weight: f64, fraction_bits: u32) -> i64 {
    (weight * (1u64 << fraction_bits) as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_set_if_more_weight_is_for_it_than_against_it() {
        let features = [(0b0011u64, 3), (0b0101, 2), (0b1001, 1), (0b0000, 1)];
        // Bit 0: 6 against 1; bit 1: 3 against 4; bit 2: 2 against 5; bit 3: 1 against 6.
        assert_eq!(fold(features, Tie::Unset), 0b0001);
        let even = [(0b10u64, 2), (0b10, 2), (0b01, 1), (0b01, 3)];
        assert_eq!(fold(even, Tie::Unset), 0);
        assert_eq!(fold(even, Tie::Set), 0b11);
        assert_eq!(fold([(1u128 << 127, 2), (0, 1)], Tie::Unset), 1 << 127);
    }

    #[test]
    fn weights_that_are_not_whole_are_summed_in_the_given_order() {
        let [large, against, small] = [(1u64, 1e16), (0, 1e16), (1, 0.75)];
        assert_eq!(fold_f64([large, against, small], Tie::Unset), 1);
        assert_eq!(fold_f64([large, small, against], Tie::Unset), 0); // small is rounded off
        assert_eq!(fold_f64([(1u128 << 127, 0.5)], Tie::Unset), 1 << 127);
        assert_eq!(fold_f64::<u128>([], Tie::Set), !0);
    }

    #[test]
    fn counters_agree_with_plain_sums() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ state >> 29
        };
        // High bits are set in few hashes, low bits in many.
        let hashes: Vec<u64> = (0..1100).map(|_| next() & next() | next() >> 40).collect();
        for count in (0..70).chain([127, 128, 255, 256, 1000, 1023, 1024, 1100]) {
            assert_same_sums(&hashes[..count]);
            let wide: Vec<_> = hashes[..count].iter().map(|&h| u128::from(h) << 64 | 5).collect();
            assert_same_sums(&wide);
        }
    }

    fn assert_same_sums<F: Bits>(hashes: &[F]) {
        let (mut plain, mut counted) = (Sums::new(), Sums::new());
        for &hash in hashes {
            plain.add(hash, 3);
        }
        counted.add_all(hashes, 3);
        assert_eq!(counted.as_slice(), plain.as_slice(), "{}", hashes.len());
    }

    #[test]
    fn weights_are_rounded_to_the_nearest_unit() {
        assert_eq!(fixed_point(1.0, 16), 65_536);
        assert_eq!(fixed_point(2.5849625, 16), 169_408); // 169 408.1
        assert_eq!(fixed_point(0.75, 1), 2);
    }
}
