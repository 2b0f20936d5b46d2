//! The widths of a fingerprint: 64 bits, 128 bits, and a sketch.

use std::fmt::{Debug, LowerHex};
use std::hash::Hash;

pub(crate) use sealed::{Operations, PerWidth};

/// A sketch of a text: the low six bits of each of the 128 minima of a
/// [one-bit MinHash](crate::minhash::OneBit), instead of one bit; and 1,024 parities of the set of
/// features, from which follows how similar two texts are.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
///
/// let text = "Trains leave for the airport every ten minutes, until midnight.";
/// let edited = text.replace("ten", "five");
/// let recipe = Recipe::for_sketches("pairs/1")?;
/// let sketch = recipe.fingerprint(text).fingerprint.expect("enough words");
/// let other = recipe.fingerprint(&edited).fingerprint.expect("enough words");
///
/// let fingerprint = Recipe::bits128("pairs/1")?.fingerprint(text).fingerprint;
/// assert_eq!(Some(sketch.planes()[0]), fingerprint);
///
/// // Seven of the eleven pairs of words in either text are in both: J = .64.
/// let (similarity, error) = sketch.similarity(&other);
/// assert_eq!((similarity, error), (7.0 / 11.0, 0.0));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
pub use fpdb_sketch::Sketch;

/// The type of a fingerprint: `u64`, `u128` or [`Sketch`].
///
/// This trait is sealed, because a recipe is frozen at the widths that it has.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Recipe, Width, distance};
///
/// fn apart<F: Width>(recipe: &Recipe<F>, a: &str, b: &str) -> Option<u32> {
///     Some(distance(recipe.fingerprint(a).fingerprint?, recipe.fingerprint(b).fingerprint?))
/// }
///
/// let recipe = Recipe::for_sketches("pairs/1")?;
/// assert_eq!(apart(&recipe, "five words are enough here", "Five words are enough: HERE"), Some(0));
/// assert_eq!(apart(&recipe, "five words are enough here", "too short"), None);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
pub trait Width:
    sealed::Sealed + Copy + Ord + Hash + Default + Debug + Send + Sync + 'static
{
    /// The type of the hash of a feature. A [`Sketch`] is made of hashes of 128 bits.
    type Hash: Bits;
}

impl Width for u64 {
    type Hash = Self;
}

impl Width for u128 {
    type Hash = Self;
}

impl Width for Sketch {
    type Hash = u128;
}

/// The type of the hash of a feature, and of a [SimHash](crate::simhash): `u64` or `u128`.
///
/// # Examples
///
/// ```
/// use fpdb_text::simhash::{Tie, fold};
/// use fpdb_text::{Bits, FeatureHash};
///
/// fn of_words<F: Bits>(text: &str) -> Option<F> {
///     let hashes = text.split(' ').map(|word| FeatureHash::Md5Low.hash::<F>(word));
///     Some(fold(hashes.collect::<Option<Vec<_>>>()?.into_iter().map(|hash| (hash, 1)), Tie::Unset))
/// }
/// assert_eq!(of_words::<u64>("one two three"), of_words("three one two"));
/// assert_eq!(of_words::<u128>("one two three"), of_words("three one two"));
/// ```
pub trait Bits: Width<Hash = Self> + sealed::Operations + LowerHex {}

impl Bits for u64 {}
impl Bits for u128 {}

/// Returns the distance of two fingerprints: the number of bits in which they differ (the Hamming
/// distance), or for two [sketches](Sketch) the number of minima of which any bit differs.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Sketch, distance};
///
/// assert_eq!(distance(0b1011_u64, 0b0010), 2);
/// assert_eq!(distance(0, u128::MAX), 128);
/// let mut minima = [0; 128];
/// let a = Sketch::new(minima, &[]);
/// (minima[1], minima[127]) = (0b11_0000, 1);
/// assert_eq!(distance(a, Sketch::new(minima, &[])), 2);
/// ```
#[must_use]
pub fn distance<F: Width>(a: F, b: F) -> u32 {
    a.differences(b)
}

/// The result of applying a [`Recipe`](crate::Recipe) to a text.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
///
/// let found = Recipe::named("pairs/1")?.fingerprint("one two three");
/// assert_eq!((found.fingerprint, found.features), (None, 2));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
#[non_exhaustive]
pub struct Fingerprinted<F = u64> {
    /// The fingerprint. `None` if the text has fewer than
    /// [`min_features`](crate::Recipe::min_features) distinct features, which are too few to tell
    /// texts apart.
    pub fingerprint: Option<F>,
    /// The number of distinct features in the text. The `pairs` recipes stop looking for repeated
    /// features once the text has enough of them, and then count repeats too.
    pub features: usize,
}

mod sealed {
    use std::ops::{BitAnd, BitOr, BitXor};

    use super::{Sketch, Width};

    /// What this crate needs of every width. The names here and in [`Operations`] differ from the
    /// names in the engine's trait for fingerprints, so that generic code can use both traits
    /// without ambiguity.
    pub trait Sealed: Sized {
        /// What a recipe of another width lacks, for messages.
        const FORM: &'static str;

        /// The number of minima of a MinHash of this width.
        const MINIMA: u32;

        /// How many bits it keeps of each minimum.
        const KEPT: u32;

        /// Returns the fingerprint of a set: the low bits of these minima, and for a sketch what
        /// the values of all features tell, each distinct one once.
        fn of_minima(minima: &[u64; 128], values: impl FnOnce() -> Vec<u64>) -> Self;

        /// Returns the number of minima whose kept bits differ.
        fn differences(self, other: Self) -> u32;

        /// Returns the estimated similarity of two sets and its standard error, if the fingerprints
        /// tell more than the number of minima that differ.
        fn estimate(self, other: Self) -> Option<(f64, f64)>;

        /// Returns the one of three values that is of this width.
        fn pick<P: PerWidth>(
            bits64: P::At<u64>,
            bits128: P::At<u128>,
            sketch: P::At<Sketch>,
        ) -> P::At<Self>
        where
            Self: Width;
    }

    /// A kind of value that exists once per width, such as the method of a recipe.
    pub trait PerWidth {
        /// The type of the value at a width.
        type At<F: Width>;
    }

    /// What this crate does with bits.
    pub trait Operations:
        BitXor<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + Sized
    {
        /// The number of bits.
        const WIDTH: u32;

        /// Returns whether a bit is set. Bit 0 is the least significant.
        fn bit(self, index: u32) -> bool;

        /// Returns the value that has only this bit set.
        fn single(index: u32) -> Self;

        /// Returns the low 64 bits.
        fn low64(self) -> u64;
    }

    /// Implements everything for a width of one bit per minimum. `place` is its place in
    /// [`pick`](Sealed::pick).
    macro_rules! one_bit {
        ($word:ty, $form:literal, $place:tt) => {
            impl Sealed for $word {
                const FORM: &'static str = $form;
                const MINIMA: u32 = <$word>::BITS;
                const KEPT: u32 = 1;

                #[inline]
                fn of_minima(minima: &[u64; 128], _: impl FnOnce() -> Vec<u64>) -> Self {
                    let minima = minima.iter().take(Self::MINIMA as usize);
                    minima.rev().fold(0, |bits, minimum| bits << 1 | Self::from(minimum & 1 == 1))
                }

                #[inline]
                fn differences(self, other: Self) -> u32 {
                    (self ^ other).count_ones()
                }

                fn estimate(self, _: Self) -> Option<(f64, f64)> {
                    None
                }

                fn pick<P: PerWidth>(
                    bits64: P::At<u64>,
                    bits128: P::At<u128>,
                    sketch: P::At<Sketch>,
                ) -> P::At<Self> {
                    (bits64, bits128, sketch).$place
                }
            }

            impl Operations for $word {
                const WIDTH: u32 = <$word>::BITS;

                #[inline]
                fn bit(self, index: u32) -> bool {
                    self.wrapping_shr(index) & 1 == 1
                }

                #[inline]
                fn single(index: u32) -> Self {
                    Self::from(1u8).wrapping_shl(index)
                }

                #[inline]
                #[allow(clippy::cast_possible_truncation, reason = "the low half is wanted")]
                fn low64(self) -> u64 {
                    self as u64
                }
            }
        };
    }

    one_bit!(u64, "64-bit form", 0);
    one_bit!(u128, "128-bit form", 1);

    impl Sealed for Sketch {
        const FORM: &'static str = "form for sketches, which only one-bit MinHashes have";
        const MINIMA: u32 = u128::BITS;
        const KEPT: u32 = 6;

        fn of_minima(minima: &[u64; 128], values: impl FnOnce() -> Vec<u64>) -> Self {
            Self::new(*minima, &values())
        }

        #[inline]
        fn differences(self, other: Self) -> u32 {
            self.distance(&other)
        }

        fn estimate(self, other: Self) -> Option<(f64, f64)> {
            Some(self.similarity(&other))
        }

        fn pick<P: PerWidth>(_: P::At<u64>, _: P::At<u128>, sketch: P::At<Sketch>) -> P::At<Self> {
            sketch
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::{Operations, Sealed};
    use super::*;

    #[test]
    fn bits_are_numbered_from_the_least_significant() {
        assert!(0b100u64.bit(2) && !0b100u64.bit(1));
        assert!((1u128 << 127).bit(127));
        assert_eq!((u64::single(63), u128::single(64)), (1 << 63, 1 << 64));
    }

    #[test]
    fn low_half_is_cut_from_128_bits() {
        assert_eq!((u128::MAX ^ 1).low64(), u64::MAX ^ 1);
        assert_eq!(7u64.low64(), 7);
    }

    #[test]
    fn bit_i_is_the_lowest_bit_of_minimum_i() {
        let minima: [u64; 128] = std::array::from_fn(|i| (i as u64 % 7) << (i % 3));
        let values = || unreachable!("fingerprints need no values");
        let (narrow, wide) = (u64::of_minima(&minima, values), u128::of_minima(&minima, values));
        for (i, minimum) in minima.iter().enumerate() {
            assert_eq!(wide >> i & 1 == 1, minimum & 1 == 1, "bit {i}");
        }
        assert_eq!(u128::from(narrow), wide & u128::from(u64::MAX));
        assert_eq!(wide, Sketch::of_minima(&minima, Vec::new).planes()[0]);
    }
}
