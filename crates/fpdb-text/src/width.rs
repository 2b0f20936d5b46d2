//! The two widths of a fingerprint, 64 and 128 bits, and what has one.

use std::fmt::Debug;
use std::hash::Hash;

use sealed::Bits;

/// The type of a fingerprint: `u64` or `u128`.
///
/// This trait is sealed, because a recipe is frozen at the widths that it has.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Recipe, Width, distance};
///
/// fn bits_apart<F: Width>(recipe: &Recipe<F>, a: &str, b: &str) -> Option<u32> {
///     Some(distance(recipe.fingerprint(a).fingerprint?, recipe.fingerprint(b).fingerprint?))
/// }
///
/// let recipe = Recipe::named("words/1")?;
/// assert_eq!(bits_apart(&recipe, "four words are enough", "Enough are four words!"), Some(0));
/// assert_eq!(bits_apart(&recipe, "four words are enough", "too short"), None);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
pub trait Width: Bits + Copy + Ord + Hash + Default + Debug + Send + Sync + 'static {}

impl Width for u64 {}
impl Width for u128 {}

/// Returns the Hamming distance: the number of bits in which two fingerprints differ.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::distance(0b1011_u64, 0b0010), 2);
/// assert_eq!(fpdb_text::distance(0, u128::MAX), 128);
/// ```
#[must_use]
pub fn distance<F: Width>(a: F, b: F) -> u32 {
    (a ^ b).ones()
}

/// The result of applying a [`Recipe`](crate::Recipe) to a text.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
///
/// let found = Recipe::named("words/1")?.fingerprint("one two three");
/// assert_eq!((found.fingerprint, found.features), (None, 3));
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

pub(crate) use sealed::PerWidth;

mod sealed {
    use std::ops::{BitAnd, BitOr, BitXor};

    /// What this crate does with fingerprints. The names differ from the names in the engine's
    /// trait for fingerprints, so that generic code can use both traits without ambiguity.
    pub trait Bits:
        Sized + BitXor<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self>
    {
        /// The number of bits.
        const WIDTH: u32;

        /// Returns whether a bit is set. Bit 0 is the least significant.
        fn bit(self, index: u32) -> bool;

        /// Returns the value that has only this bit set.
        fn single(index: u32) -> Self;

        /// Returns the number of bits that are set.
        fn ones(self) -> u32;

        /// Returns the low 64 bits.
        fn low64(self) -> u64;

        /// Returns the value whose low 64 bits are these and whose other bits are 0.
        fn from_low64(bits: u64) -> Self;

        /// Returns the one of two values that is of this width.
        fn pick<P: PerWidth>(narrow: P::At<u64>, wide: P::At<u128>) -> P::At<Self>
        where
            Self: super::Width;
    }

    /// A kind of value that exists once per width, such as a hash function with that result.
    pub trait PerWidth {
        /// The type of the value at a width.
        type At<F: super::Width>;
    }

    impl Bits for u64 {
        const WIDTH: u32 = u64::BITS;

        #[inline]
        fn bit(self, index: u32) -> bool {
            self.wrapping_shr(index) & 1 == 1
        }

        #[inline]
        fn single(index: u32) -> Self {
            1u64.wrapping_shl(index)
        }

        #[inline]
        fn ones(self) -> u32 {
            self.count_ones()
        }

        #[inline]
        fn low64(self) -> u64 {
            self
        }

        #[inline]
        fn from_low64(bits: u64) -> Self {
            bits
        }

        fn pick<P: PerWidth>(narrow: P::At<u64>, _: P::At<u128>) -> P::At<Self> {
            narrow
        }
    }

    impl Bits for u128 {
        const WIDTH: u32 = u128::BITS;

        #[inline]
        fn bit(self, index: u32) -> bool {
            self.wrapping_shr(index) & 1 == 1
        }

        #[inline]
        fn single(index: u32) -> Self {
            1u128.wrapping_shl(index)
        }

        #[inline]
        fn ones(self) -> u32 {
            self.count_ones()
        }

        #[inline]
        #[expect(clippy::cast_possible_truncation, reason = "the caller wants the low half")]
        fn low64(self) -> u64 {
            self as u64
        }

        #[inline]
        fn from_low64(bits: u64) -> Self {
            bits.into()
        }

        fn pick<P: PerWidth>(_: P::At<u64>, wide: P::At<u128>) -> P::At<Self> {
            wide
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_numbered_from_the_least_significant() {
        assert!(0b100u64.bit(2) && !0b100u64.bit(1));
        assert!((1u128 << 127).bit(127));
        assert_eq!((u64::single(63), u128::single(64)), (1 << 63, 1 << 64));
    }

    #[test]
    fn low_half_is_cut_from_and_extended_to_128_bits() {
        assert_eq!((u128::MAX ^ 1).low64(), u64::MAX ^ 1);
        assert_eq!(u128::from_low64(u64::MAX), u128::from(u64::MAX));
        assert_eq!(7u64.low64(), 7);
    }
}
