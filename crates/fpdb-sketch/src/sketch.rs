//! The sketch of a set.

use std::fmt;

use crate::minima::{self, BITS_PER_MINIMUM, MINIMA, PLANES};
use crate::parities::{self, Difference, Parities, WORDS};

/// A sketch of a set: the low six bits of each of 128 minima, 1,024 parities, and the number of
/// elements, called features. It takes 228 bytes.
///
/// The bits of the minima are in six planes: bit i of plane p is bit p of minimum i. Each element
/// of the set has a value, a hash that looks random, and flips one of the parities. A set of more
/// than 2,048 elements is sampled, and of one of at most 25 the sketch has the values in place of
/// parities. `recipes.md` of `fpdb-text` defines all of it bit by bit.
///
/// The [distance](Self::distance) of two sketches is the number of minima that differ.
/// [`similarity`](Self::similarity) estimates how similar the sets are, from all that the sketches
/// have.
///
/// Sketches are ordered by their planes, then by the number of features, then by the parities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sketch {
    planes: [u128; PLANES],
    parities: Parities,
}

impl Sketch {
    /// Bytes of a sketch.
    pub const BYTES: usize = PLANES * 16 + 4 + WORDS * 8;
    /// Minima of a sketch.
    pub const MINIMA: u32 = 128;
    /// Bits of each minimum that a sketch has.
    pub const BITS_PER_MINIMUM: u32 = BITS_PER_MINIMUM;
    /// The sketch whose bits are all 0.
    pub const ZERO: Self = Self::of_parts([0; PLANES], 0, [0; WORDS]);

    /// Makes a sketch of the minima of a set and of the values of its elements, which must differ.
    #[must_use]
    pub fn new(minima: [u64; MINIMA], values: &[u64]) -> Self {
        Self { planes: minima::planes(&minima), parities: Parities::of_values(values) }
    }

    /// Makes a sketch of its parts, as the methods of these names return them.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_sketch::Sketch;
    ///
    /// let sketch = Sketch::new([9; 128], &[3, 1, 2]);
    /// let parts = (*sketch.planes(), sketch.features(), *sketch.parities());
    /// assert_eq!(Sketch::of_parts(parts.0, parts.1, parts.2), sketch);
    /// assert_eq!(parts.0, [u128::MAX, 0, 0, u128::MAX, 0, 0]); // 9 is 0b1001
    /// ```
    #[must_use]
    pub const fn of_parts(planes: [u128; 6], features: u32, parities: [u64; 16]) -> Self {
        Self { planes, parities: Parities { features, words: parities } }
    }

    /// Returns the planes. Plane 0 is the 128-bit fingerprint that the same recipe makes.
    #[inline]
    #[must_use]
    pub const fn planes(&self) -> &[u128; 6] {
        &self.planes
    }

    /// Returns the number of elements of the set.
    #[inline]
    #[must_use]
    pub const fn features(&self) -> u32 {
        self.parities.features
    }

    /// Returns the parities, or the values of a set of at most 25 elements: 40 bits each,
    /// ascending, in the bytes of the words in little-endian order.
    #[inline]
    #[must_use]
    pub const fn parities(&self) -> &[u64; 16] {
        &self.parities.words
    }

    /// Returns the bytes: the planes, the number of features, the parities, each little-endian.
    #[inline]
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let mut rest = bytes.as_mut_slice();
        let mut put = |part: &[u8]| {
            if let Some((to, others)) = std::mem::take(&mut rest).split_at_mut_checked(part.len()) {
                to.copy_from_slice(part);
                rest = others;
            }
        };
        self.planes.iter().for_each(|plane| put(&plane.to_le_bytes()));
        put(&self.features().to_le_bytes());
        self.parities().iter().for_each(|word| put(&word.to_le_bytes()));
        bytes
    }

    /// Returns the sketch with these bytes. All values of the bytes are allowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_sketch::Sketch;
    ///
    /// let sketch = Sketch::new([5; 128], &[3, 1, 2]);
    /// assert_eq!(Sketch::of_bytes(&sketch.to_bytes()), sketch);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn of_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (planes, rest) = bytes.split_at(PLANES * 16);
        let (features, parities) = rest.split_at(4);
        let mut sketch = Self::ZERO;
        sketch.planes.iter_mut().zip(planes.as_chunks().0).for_each(|(to, &bytes)| {
            *to = u128::from_le_bytes(bytes);
        });
        sketch.parities.features =
            features.first_chunk().map_or(0, |&bytes| u32::from_le_bytes(bytes));
        sketch.parities.words.iter_mut().zip(parities.as_chunks().0).for_each(|(to, &bytes)| {
            *to = u64::from_le_bytes(bytes);
        });
        sketch
    }

    /// Returns which minima differ: bit i is set if minimum i does.
    #[inline(always)]
    #[must_use]
    pub fn differing(&self, other: &Self) -> u128 {
        self.planes.iter().zip(&other.planes).fold(0, |differing, (a, b)| differing | (a ^ b))
    }

    /// Returns the number of minima that differ, 0 to 128.
    #[inline(always)]
    #[must_use]
    pub fn distance(&self, other: &Self) -> u32 {
        self.differing(other).count_ones()
    }

    /// Returns what the parities tell about the number of elements that only one of the sets has.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_sketch::{Difference, Sketch};
    ///
    /// let [a, b] = [&[1, 2, 3][..], &[2, 3, 4, 5]].map(|values| Sketch::new([1; 128], values));
    /// assert_eq!(a.difference(&b), Difference::Exact(3)); // 1, 4 and 5
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn difference(&self, other: &Self) -> Difference {
        Difference::between(&self.parities, &other.parities)
    }

    /// Returns how many parities differ, if both sets are of level 0: all of their elements were
    /// sampled, and there are too many to store their values. Then [`difference`](Self::difference)
    /// has the same number.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_sketch::{Difference, Sampling, Sketch};
    ///
    /// let [a, b] = [1, 3].map(|word| Sketch::of_parts([0; 6], 500, [word; 16]));
    /// assert_eq!(a.difference_of_level_0(&b), Some(16));
    /// let sampling = Sampling { level: 0, parities: 1024 };
    /// assert_eq!(a.difference(&b), Difference::Parities(16, sampling));
    /// assert_eq!(a.difference_of_level_0(&Sketch::ZERO), None);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn difference_of_level_0(&self, other: &Self) -> Option<u32> {
        parities::differing_of_level_0(&self.parities, &other.parities)
    }

    /// Returns the level of the parities: of 2^level features, one is sampled. `None` if there are
    /// so few features that the sketch has their values.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_sketch::Sketch;
    ///
    /// let level = |features| Sketch::of_parts([0; 6], features, [0; 16]).level();
    /// assert_eq!([25, 26, 2048, 2049, 4097].map(level), [None, Some(0), Some(0), Some(1), Some(2)]);
    /// ```
    #[inline]
    #[must_use]
    pub fn level(&self) -> Option<u32> {
        parities::level_of(self.features())
    }

    /// Returns band `number`, 0 to 15: the first `minima` of eight minima, six bits each, in the
    /// most significant bits. Two sets of similarity J have the same band with a probability of
    /// about J^`minima`.
    #[inline]
    #[must_use]
    pub fn band(&self, number: u32, minima: u32) -> u64 {
        minima::band(&self.planes, number, minima)
    }
}

/// Formats the bytes as one number in little-endian order, with all digits: the parities, the
/// number of features, the planes.
///
/// # Examples
///
/// ```
/// use fpdb_sketch::Sketch;
///
/// let digits = format!("{:x}", Sketch::of_parts([0xa, 0, 0, 0, 0, 0], 2, [0; 16]));
/// assert_eq!(digits.len(), 2 * Sketch::BYTES);
/// assert!(digits.trim_start_matches('0').starts_with("2000000"));
/// assert!(digits.ends_with('a'));
/// ```
impl fmt::LowerHex for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_bytes().iter().rev().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_that_differ_in_several_bits_count_once() {
        let mut minima = [0; 128];
        for (i, bits) in [(0, 0b1), (63, 0b11_1111), (64, 0b10_0000), (127, 0b100)] {
            minima[i] = bits;
        }
        minima[1] = 1 << 6; // beyond the bits that are kept
        let [a, b] = [[0; 128], minima].map(|minima| Sketch::new(minima, &[]));
        assert_eq!((a.distance(&b), b.distance(&a), b.distance(&b)), (4, 4, 0));
    }

    #[test]
    fn bytes_are_in_the_order_of_the_parts() {
        let sketch = Sketch::of_parts([1, 0, 0, 0, 0, 2], 3, std::array::from_fn(|i| i as u64));
        let bytes = sketch.to_bytes();
        assert_eq!((bytes[0], bytes[80], bytes[96], bytes[108], bytes[220]), (1, 2, 3, 1, 15));
        assert_eq!(Sketch::of_bytes(&bytes), sketch);
    }
}
