//! Sets of shingles in few bytes.

use super::Shingles;
use crate::minhash::mix;

/// The number of bits of a value that are kept, by the greatest number of shingles in a set. The
/// shorter the set, the more one wrong shingle changes the similarity. With 24 bits, one in 200
/// comparisons of 340 shingles at the threshold would be on the wrong side of it.
const WIDTHS: [(usize, u32); 2] = [(1 << 8, 40), (1 << 16, 32)];

/// Shingles of a text in an order that any [`Compact`] set has, too, so that both can be compared.
///
/// # Examples
///
/// ```
/// use fpdb_text::jaccard::{Mixed, Shingles};
///
/// let words = |text| Mixed::new(&Shingles::of_words(text, 1), 7);
/// let (a, b) = (words("the cat sat on the mat"), words("the cat sat on the sofa"));
/// assert_eq!(a.jaccard(&b), 4.0 / 6.0);
/// assert_eq!(a.compact().jaccard(&b), 4.0 / 6.0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mixed {
    values: Shingles,
}

impl Mixed {
    /// Mixes the hashes of shingles, because those of similar shingles may be similar. Only sets
    /// with the same seed can be compared. Nobody who does not know it can choose texts of which
    /// different shingles count as equal in a compact set.
    #[must_use]
    pub fn new(shingles: &Shingles, seed: u64) -> Self {
        let mixed = shingles.hashes().iter().map(|hash| mix(hash ^ seed));
        Self { values: Shingles::of_hashes(mixed.collect()) }
    }

    /// Returns the Jaccard similarity, as [`Shingles::jaccard`] does.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        self.values.jaccard(&other.values)
    }

    /// Returns the set in few bytes.
    #[must_use]
    pub fn compact(&self) -> Compact {
        let len = self.values.len();
        let cut = Cut::for_set(len);
        let mut values: Vec<u64> = cut.of(self).collect();
        values.dedup();
        Compact { bytes: encode(cut, &values) }
    }
}

/// A set of shingles in few bytes: about 25 bits for each of 500 shingles, 36 for each of 50.
///
/// Of each mixed hash, only the first bits are kept: 40 in a set of up to 256 shingles, and 32 in
/// larger sets. Of more than 65,536 shingles, a random part of about 32,768 to 65,536 is kept. So a
/// similarity is wrong by .003 in one of a million comparisons of 500 shingles, and sets of more
/// than 65,536 have a standard error of .002.
///
/// The values are stored as Elias and Fano do: the last bits of each as they are, and the
/// differences between the first bits in unary (Elias, *Efficient storage and
/// retrieval by content and address of static files*, Journal of the ACM 21, 1974).
///
/// # Examples
///
/// ```
/// use fpdb_text::jaccard::{Compact, Mixed, Shingles};
///
/// let words: Vec<String> = (0..500).map(|number| number.to_string()).collect();
/// let set = |words: &[String]| Mixed::new(&Shingles::of_words(&words.join(" "), 1), 7);
/// let compact = set(&words).compact();
/// assert_eq!(compact.as_bytes().len(), 1568);
/// let read = Compact::from_bytes(compact.as_bytes().to_vec()).expect("it is complete");
/// assert_eq!(read.jaccard(&set(&words[..400])), 0.8);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compact {
    /// How the values are cut, their number in groups of 7 bits, the last bits of all values, and
    /// the first ones.
    bytes: Vec<u8>,
}

impl Compact {
    /// Takes the bytes of a set. Returns `None` if they are none.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let parts = Parts::of(&bytes)?;
        let ones: u32 = parts.high.iter().map(|byte| byte.count_ones()).sum();
        (ones as usize == parts.len && parts.values().all(|value| parts.cut.has(value)))
            .then_some(Self { bytes })
    }

    /// Returns the bytes of the set.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the Jaccard similarity to a set that was mixed with the same seed, from 0 to 1. The
    /// time grows linearly with the number of shingles.
    #[must_use]
    pub fn jaccard(&self, other: &Mixed) -> f64 {
        let Some(parts) = Parts::of(&self.bytes) else { return 0.0 };
        let (mut a, mut b) = (parts.values(), distinct(parts.cut.of(other)));
        let (mut left, mut right) = (a.next(), b.next());
        let (mut shared, mut all) = (0_u64, 0_u64);
        while let (Some(x), Some(y)) = (left, right) {
            (shared, all) = (shared + u64::from(x == y), all + 1);
            if x <= y {
                left = a.next();
            }
            if y <= x {
                right = b.next();
            }
        }
        all += (left.iter().count() + a.count() + right.iter().count() + b.count()) as u64;
        if all == 0 { 1.0 } else { shared as f64 / all as f64 }
    }
}

/// Which values are kept, and how many of their bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    /// The number of first bits that must be 0.
    zeros: u32,
    /// The number of bits after these that are kept.
    width: u32,
}

impl Cut {
    /// Returns how a set of this size is cut.
    fn for_set(len: usize) -> Self {
        let (most, widest) = WIDTHS[WIDTHS.len() - 1];
        let width = WIDTHS.iter().find(|(most, _)| len <= *most).map_or(widest, |it| it.1);
        // Rounded up.
        let zeros = len.div_ceil(most).next_power_of_two().ilog2();
        Self { zeros, width }
    }

    /// Returns the values of a set, in ascending order.
    fn of(self, set: &Mixed) -> impl Iterator<Item = u64> {
        let kept = set.values.hashes().iter();
        let kept =
            kept.take_while(move |value| self.zeros == 0 || *value >> (64 - self.zeros) == 0);
        kept.map(move |value| value >> (64 - self.zeros - self.width))
    }

    fn has(self, value: u64) -> bool {
        value >> self.width == 0
    }
}

/// Leaves out values that are equal to the one before.
fn distinct(values: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    let mut last = None;
    values.filter(move |value| last.replace(*value) != Some(*value))
}

/// Returns the number of last bits of a value that are stored as they are.
fn low_bits(len: usize, width: u32) -> u32 {
    ((1_u64 << width) / len.max(1) as u64).max(1).ilog2()
}

#[expect(clippy::cast_possible_truncation, reason = "a group has 7 bits, and there are two widths")]
fn encode(cut: Cut, values: &[u64]) -> Vec<u8> {
    let place = WIDTHS.iter().position(|it| it.1 == cut.width).unwrap_or(0) as u32;
    let low = low_bits(values.len(), cut.width);
    let mut bytes = vec![(cut.zeros << 2 | place) as u8];
    let mut rest = values.len();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    let mut bits = Bits { bytes, free: 0 };
    for value in values {
        bits.push(value & ((1 << low) - 1), low);
    }
    bits.free = 0;
    let mut before = 0;
    for value in values {
        let high = value >> low;
        (before..high).for_each(|_| bits.push(0, 1));
        bits.push(1, 1);
        before = high;
    }
    bits.bytes
}

/// Bits, each byte from its lowest one on.
struct Bits {
    bytes: Vec<u8>,
    /// The free bits of the last byte.
    free: u32,
}

impl Bits {
    #[expect(clippy::cast_possible_truncation, reason = "at most 8 bits are left")]
    fn push(&mut self, mut value: u64, mut width: u32) {
        while width > 0 {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            let now = width.min(self.free);
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((value & ((1 << now) - 1)) as u8) << (8 - self.free);
            }
            (value, width, self.free) = (value >> now, width - now, self.free - now);
        }
    }
}

/// The parts of a compact set.
struct Parts<'a> {
    cut: Cut,
    len: usize,
    low_width: u32,
    low: &'a [u8],
    high: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (&first, mut rest) = bytes.split_first()?;
        let (zeros, width) = (u32::from(first >> 2), WIDTHS.get(usize::from(first & 3))?.1);
        let mut len = 0_usize;
        for shift in (0..21).step_by(7) {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            len |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        let low_width = low_bits(len, width);
        let (low, high) = rest.split_at_checked((len * low_width as usize).div_ceil(8))?;
        // Of a large set, chance may keep a few more than are expected.
        let is_possible = zeros + width <= 64 && len <= 2 * WIDTHS[WIDTHS.len() - 1].0;
        is_possible.then_some(Self { cut: Cut { zeros, width }, len, low_width, low, high })
    }

    /// Returns the values, in ascending order.
    fn values(&self) -> impl Iterator<Item = u64> {
        let ones = self.high.iter().zip(0_u64..).flat_map(|(&byte, at)| {
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| 8 * at + bit)
        });
        ones.zip(0..self.len).map(|(place, at)| {
            let low = bits_at(self.low, at * self.low_width as usize, self.low_width);
            (place - at as u64) << self.low_width | low
        })
    }
}

/// Returns `width` bits, at most 40, from a place on.
fn bits_at(bytes: &[u8], place: usize, width: u32) -> u64 {
    let mut word = [0; 8];
    let from = bytes.get(place / 8..).unwrap_or_default();
    let len = from.len().min(8);
    word[..len].copy_from_slice(&from[..len]);
    u64::from_le_bytes(word) >> (place % 8) & ((1 << width) - 1)
}

#[cfg(test)]
mod tests;
