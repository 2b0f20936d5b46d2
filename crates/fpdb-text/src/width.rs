//! The widths of a fingerprint: 64 bits, 128 bits, and a sketch of six times as many.

use std::fmt::{Debug, LowerHex};
use std::hash::Hash;

pub(crate) use sealed::{Operations, PerWidth};

/// A fingerprint that keeps the low six bits of each of the 128 minima of a
/// [one-bit MinHash](crate::minhash::OneBit), instead of one bit.
///
/// The bits are in six planes: bit i of plane p is bit p of minimum i. So plane 0 is the fingerprint
/// of 128 bits, and the whole sketch takes 96 bytes. The [`guide`](crate::guide) defines it bit by
/// bit.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Recipe, distance};
///
/// let text = "Trains leave for the airport every ten minutes, until midnight.";
/// let edited = text.replace("ten", "five");
/// let recipe = Recipe::for_sketches("pairs/1")?;
/// let sketch = recipe.fingerprint(text).fingerprint.expect("enough words");
/// let other = recipe.fingerprint(&edited).fingerprint.expect("enough words");
///
/// assert_eq!(Some(sketch[0]), Recipe::bits128("pairs/1")?.fingerprint(text).fingerprint);
///
/// // Seven of the eleven pairs of words in either text are in both: J = .64.
/// let minima_that_differ = distance(sketch, other);
/// let (similarity, error) = recipe.similarity(minima_that_differ).expect("a MinHash");
/// assert!((similarity - 0.64).abs() < 3.0 * error);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
pub type Sketch = [u128; 6];

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
/// use fpdb_text::distance;
///
/// assert_eq!(distance(0b1011_u64, 0b0010), 2);
/// assert_eq!(distance(0, u128::MAX), 128);
/// assert_eq!(distance([0; 6], [0b01, 0b11, 0, 0, 0, 0b10]), 2);
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

        /// Returns the fingerprint that keeps the low bits of these minima.
        fn of_minima(minima: &[u64]) -> Self;

        /// Returns the number of minima whose kept bits differ.
        fn differences(self, other: Self) -> u32;

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
                fn of_minima(minima: &[u64]) -> Self {
                    let [bits] = planes(minima);
                    Self::from_le_bytes(bits)
                }

                #[inline]
                fn differences(self, other: Self) -> u32 {
                    (self ^ other).count_ones()
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

        #[inline]
        fn of_minima(minima: &[u64]) -> Self {
            planes(minima).map(u128::from_le_bytes)
        }

        #[inline]
        fn differences(self, other: Self) -> u32 {
            let planes = self.into_iter().zip(other);
            planes.fold(0, |differ, (a, b)| differ | (a ^ b)).count_ones()
        }

        fn pick<P: PerWidth>(_: P::At<u64>, _: P::At<u128>, sketch: P::At<Sketch>) -> P::At<Self> {
            sketch
        }
    }

    /// Returns the low bits of minima in planes, each in little-endian byte order: bit i of plane p is
    /// bit p of minimum i.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits of a minimum are wanted")]
    fn planes<const BYTES: usize, const PLANES: usize>(minima: &[u64]) -> [[u8; BYTES]; PLANES] {
        let mut planes = [[0; BYTES]; PLANES];
        let groups = minima.as_chunks::<8>().0;
        for (at, group) in groups.iter().enumerate().take(BYTES) {
            let low_bytes = u64::from_le_bytes(group.map(|minimum| minimum as u8));
            for (bit, plane) in (0..).zip(&mut planes) {
                plane[at] = bit_of_bytes(low_bytes, bit);
            }
        }
        planes
    }

    /// Returns the byte whose bit i is this bit of byte i.
    #[inline]
    fn bit_of_bytes(bytes: u64, bit: u32) -> u8 {
        // Bit 56 + i of the product is bit 8 i of the factor. No two terms of the product have the same
        // place, so nothing is carried.
        let lowest_of_each = bytes >> bit & 0x0101_0101_0101_0101;
        (lowest_of_each.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
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

    /// Each minimum has one bit set, and its neighbours have others.
    #[test]
    fn bit_i_of_plane_p_is_bit_p_of_minimum_i() {
        let minima: [u64; 128] = std::array::from_fn(|i| 1 << (i * 7 % 64));
        let sketch = Sketch::of_minima(&minima);
        for (i, minimum) in minima.iter().enumerate() {
            for (p, plane) in sketch.iter().enumerate() {
                assert_eq!(plane >> i & 1 == 1, minimum >> p & 1 == 1, "bit {i} of plane {p}");
            }
        }
        assert_eq!(u128::of_minima(&minima), sketch[0]);
        assert_eq!(u128::from(u64::of_minima(&minima[..64])), sketch[0] & u128::from(u64::MAX));
    }

    #[test]
    fn minima_that_differ_in_several_bits_count_once() {
        let mut minima = [0; 128];
        for (i, bits) in [(0, 0b1), (63, 0b11_1111), (64, 0b10_0000), (127, 0b100)] {
            minima[i] = bits;
        }
        minima[1] = 1 << 6; // beyond the bits that are kept
        let [a, b] = [[0; 128], minima].map(|minima| Sketch::of_minima(&minima));
        assert_eq!((distance(a, b), distance(b, a), distance(b, b)), (4, 4, 0));
    }
}
