//! The basic values: fingerprints of 64 or 128 bits, sketches, document ids, entries, matches.

mod document;
mod ids;
mod sketch;

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

pub(crate) use document::Record;
pub use document::{DocId, Document, Entry, Match};
pub use fpdb_sketch::Sketch;
pub use ids::Ids;

use crate::base::error::{Error, Result};

mod sealed {
    /// Only the types in this file implement this. With the feature `text`, recipes make all of
    /// them, so that a function that is generic over fingerprints can use a recipe.
    #[cfg(feature = "text")]
    pub trait Sealed: fpdb_text::Width {}
    #[cfg(not(feature = "text"))]
    pub trait Sealed {}

    impl Sealed for u64 {}
    impl Sealed for u128 {}
    impl Sealed for super::Sketch {}

    /// A kind of value that exists once per type of fingerprint.
    pub trait PerWidth {
        /// The type of the value for a type of fingerprint.
        type At<F: super::Fingerprint>;
    }
}

pub(crate) use sealed::PerWidth;

/// Bits of each minimum that a sketch has.
pub(crate) const BITS_PER_MINIMUM: u32 = Sketch::BITS_PER_MINIMUM;
/// Minima of a sketch.
pub(crate) const MINIMA: u32 = Sketch::MINIMA;
/// Minima of a sketch in a band, at most. Each band has its own.
pub(crate) const MINIMA_PER_BAND: u32 = 8;

/// What identifies a document's content: a fingerprint of 64 or 128 bits, `u64` or `u128`, or a
/// [`Sketch`]. Those of similar documents are at a small [distance].
///
/// The trait is sealed, because the storage format has only these three.
///
/// [distance]: Fingerprint::distance
///
/// # Examples
///
/// ```
/// use fpdb::Fingerprint;
/// assert_eq!(0b1011u64.distance(0b0010), 2);
/// assert_eq!(u64::parse("0xff")?, 255);
/// assert_eq!(255u64.to_hex(), "0x00000000000000ff");
/// # Ok::<(), fpdb::Error>(())
/// ```
pub trait Fingerprint:
    sealed::Sealed + Copy + Ord + Hash + Default + Debug + Send + Sync + 'static
{
    /// Width in bits: 64, 128, or 1,824 for a sketch.
    const BITS: u32;
    /// Width in bytes.
    const BYTES: usize;
    /// The fingerprint with no bit set.
    const ZERO: Self;
    /// The greatest distance of two fingerprints.
    const MAX_DISTANCE: u32;

    /// What tables hold: the fingerprint itself. Databases of sketches have no such tables.
    #[doc(hidden)]
    type Word: Word;

    /// Returns the distance: the number of bits in which two fingerprints differ, or of minima in
    /// which two sketches do.
    fn distance(self, other: Self) -> u32;
    /// Reads the first `BYTES` bytes as a little-endian value. Returns `None` if there are fewer.
    fn read_le(bytes: &[u8]) -> Option<Self>;
    /// Reads the first `BYTES` bytes as a big-endian value. Returns `None` if there are fewer.
    fn read_be(bytes: &[u8]) -> Option<Self>;
    /// Returns the fingerprint that is this number; `None` if it is too large, and for sketches.
    fn of_number(number: u128) -> Option<Self>;
    /// Appends the value in little-endian byte order.
    fn write_le(self, out: &mut Vec<u8>);
    /// Writes the value to the first `BYTES` bytes in little-endian byte order, if there are as
    /// many.
    fn put_le(self, to: &mut [u8]);
    /// Formats the fingerprint as `0x` and all hexadecimal digits of the width.
    fn to_hex(self) -> String;

    /// Parses hexadecimal digits, with or without `0x`, at most as many as the width has.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are no digits, too
    /// many digits, or other characters.
    fn parse(text: &str) -> Result<Self>;

    /// Returns the fingerprint as tables hold it; `None` for a sketch.
    #[doc(hidden)]
    fn word(self) -> Option<Self::Word>;
    /// Returns the fingerprint that a table holds as this word.
    #[doc(hidden)]
    fn of_word(word: Self::Word) -> Self;
    /// Returns the top 64 bits, for estimates of position.
    #[doc(hidden)]
    fn top64(self) -> u64;
    /// Returns all bits folded into 64, for hash tables.
    #[doc(hidden)]
    fn folded(self) -> u64;
    /// Returns the fingerprint with another bit, counted from the least significant.
    #[doc(hidden)]
    fn with_flipped(self, bit: u32) -> Self;
    /// Returns the sketch; `None` for a fingerprint.
    #[doc(hidden)]
    fn sketch(&self) -> Option<&Sketch>;
    /// Returns band `number` of a sketch: the first minima of its group of eight, at most eight,
    /// six bits each, in the most significant bits. 0 for a fingerprint.
    #[doc(hidden)]
    fn band(self, number: u32, minima: u32) -> u64;
    /// Returns the one of three values that is for this type.
    #[doc(hidden)]
    fn choose<P: PerWidth>(
        narrow: P::At<u64>,
        wide: P::At<u128>,
        sketch: P::At<Sketch>,
    ) -> P::At<Self>;
}

/// A fingerprint of 64 or 128 bits, with the operations of a number.
///
/// # Examples
///
/// ```
/// use fpdb::Word;
/// assert_eq!(<u64 as Word>::from_u128(7).rotate_left(64), 7);
/// ```
pub trait Word:
    Fingerprint<Word = Self>
    + BitXor<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The fingerprint with only the lowest bit set.
    const ONE: Self;
    /// The fingerprint with all bits set.
    const MAX: Self;

    /// Returns the number of bits that are set.
    fn count_ones(self) -> u32;
    /// Returns the number of unset bits above the highest set bit.
    fn leading_zeros(self) -> u32;
    /// Shifts left by `n` modulo the width, without a check for overflow.
    fn wrapping_shl(self, n: u32) -> Self;
    /// Shifts right by `n` modulo the width, without a check for overflow.
    fn wrapping_shr(self, n: u32) -> Self;
    /// Returns the sum modulo 2^width.
    fn wrapping_add(self, other: Self) -> Self;
    /// Returns the difference modulo 2^width.
    fn wrapping_sub(self, other: Self) -> Self;
    /// Rotates left by `n` bits.
    fn rotate_left(self, n: u32) -> Self;
    /// Returns the fingerprint, zero-extended to 128 bits.
    fn to_u128(self) -> u128;
    /// Returns the low bits of `value`, as many as the width.
    fn from_u128(value: u128) -> Self;
    /// Writes the value to the first `BYTES` bytes in big-endian byte order, if there are as many.
    fn put_be(self, to: &mut [u8]);

    /// Returns the value whose `depth` leading bits are set (`depth` is at most `BITS`).
    fn prefix_mask(depth: u32) -> Self {
        if depth == 0 { Self::ZERO } else { Self::MAX << (Self::BITS - depth) }
    }
}

macro_rules! fingerprint {
    ($type:ty, $top64:expr, $narrow:ident, $wide:ident => $chosen:ident) => {
        impl Fingerprint for $type {
            const BITS: u32 = <$type>::BITS;
            const BYTES: usize = size_of::<$type>();
            const ZERO: Self = 0;
            const MAX_DISTANCE: u32 = <$type>::BITS;
            type Word = Self;

            #[inline]
            fn distance(self, other: Self) -> u32 {
                (self ^ other).count_ones()
            }
            #[inline]
            fn read_le(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|chunk| <$type>::from_le_bytes(*chunk))
            }
            #[inline]
            fn read_be(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|chunk| <$type>::from_be_bytes(*chunk))
            }
            fn of_number(number: u128) -> Option<Self> {
                number.try_into().ok()
            }
            #[inline]
            fn write_le(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn put_le(self, to: &mut [u8]) {
                if let Some(to) = to.first_chunk_mut() {
                    *to = self.to_le_bytes();
                }
            }
            fn to_hex(self) -> String {
                format!("0x{self:0width$x}", width = Self::BYTES * 2)
            }
            fn parse(text: &str) -> Result<Self> {
                let digits = hex_digits::<Self>(text)?;
                <$type>::from_str_radix(digits, 16).map_err(|_| not_hex::<Self>(text))
            }
            #[inline(always)]
            fn word(self) -> Option<Self> {
                Some(self)
            }
            #[inline(always)]
            fn of_word(word: Self) -> Self {
                word
            }
            #[inline]
            fn top64(self) -> u64 {
                $top64(self)
            }
            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
            fn folded(self) -> u64 {
                if Self::BITS == 64 { self as u64 } else { $top64(self) ^ self as u64 }
            }
            fn with_flipped(self, bit: u32) -> Self {
                self ^ 1 << bit
            }
            #[inline(always)]
            fn sketch(&self) -> Option<&Sketch> {
                None
            }
            #[inline(always)]
            fn band(self, _: u32, _: u32) -> u64 {
                0
            }
            #[inline]
            fn choose<P: PerWidth>(
                $narrow: P::At<u64>,
                $wide: P::At<u128>,
                _: P::At<Sketch>,
            ) -> P::At<Self> {
                $chosen
            }
        }

        impl Word for $type {
            const ONE: Self = 1;
            const MAX: Self = <$type>::MAX;

            #[inline]
            fn count_ones(self) -> u32 {
                self.count_ones()
            }
            #[inline]
            fn leading_zeros(self) -> u32 {
                self.leading_zeros()
            }
            #[inline]
            fn wrapping_shl(self, n: u32) -> Self {
                self.wrapping_shl(n)
            }
            #[inline]
            fn wrapping_shr(self, n: u32) -> Self {
                self.wrapping_shr(n)
            }
            #[inline]
            fn wrapping_add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn rotate_left(self, n: u32) -> Self {
                self.rotate_left(n)
            }
            #[inline]
            fn to_u128(self) -> u128 {
                self.into()
            }
            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
            fn from_u128(value: u128) -> Self {
                value as $type
            }
            #[inline]
            fn put_be(self, to: &mut [u8]) {
                if let Some(to) = to.first_chunk_mut() {
                    *to = self.to_be_bytes();
                }
            }
        }
    };
}

fingerprint!(u64, |v: u64| v, narrow, _wide => narrow);
fingerprint!(u128, top_half, _narrow, wide => wide);

fn top_half(value: u128) -> u64 {
    (value >> 64) as u64
}

/// Returns the hexadecimal digits of a fingerprint.
fn hex_digits<F: Fingerprint>(text: &str) -> Result<&str> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    let well_formed = is_hex && (1..=F::BYTES * 2).contains(&digits.len());
    if well_formed { Ok(digits) } else { Err(not_hex::<F>(text)) }
}

fn not_hex<F: Fingerprint>(text: &str) -> Error {
    let kind = match F::BITS {
        64 | 128 => format!("{}-bit fingerprint", F::BITS),
        _ => "sketch".to_owned(),
    };
    let digits = F::BYTES * 2;
    Error::invalid(format!(
        "not a {kind}: {text:?} (expected up to {digits} hex digits, with or without 0x)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_parsed_with_or_without_prefix_and_formatted_in_full() {
        assert_eq!(u64::parse("08b73006b558c876").unwrap(), 0x08b7_3006_b558_c876);
        assert_eq!(u128::parse("0X1").unwrap().to_hex(), format!("0x{}1", "0".repeat(31)));
        for bad in ["", "0x", "xyz", "+1", "0x11223344556677889", "-1", "0x 1"] {
            assert!(u64::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn prefix_mask_covers_both_ends() {
        assert_eq!(u64::prefix_mask(0), 0);
        assert_eq!(u64::prefix_mask(1), 1 << 63);
        assert_eq!(u128::prefix_mask(128), u128::MAX);
    }

    #[test]
    fn little_endian_round_trip_at_both_widths() {
        let mut out = Vec::new();
        0x0102u64.write_le(&mut out);
        7u128.write_le(&mut out);
        assert_eq!(u64::read_le(&out), Some(0x0102));
        assert_eq!(u128::read_le(&out[8..]), Some(7));
        assert_eq!(u128::read_le(&out[9..]), None);
    }
}
