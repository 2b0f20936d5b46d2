//! The basic values: fingerprints of 64 or 128 bits, document ids, entries, matches.

use std::fmt::{self, Debug, Display};
use std::hash::Hash;
use std::num::ParseIntError;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};
use std::str::FromStr;

use crate::error::{Error, Result};

mod sealed {
    /// Only the two widths implement this. With the feature `text`, recipes have both widths, so that
    /// a function that is generic over fingerprints can use a recipe.
    #[cfg(feature = "text")]
    pub trait Sealed: fpdb_text::Width {}
    #[cfg(not(feature = "text"))]
    pub trait Sealed {}

    impl Sealed for u64 {}
    impl Sealed for u128 {}

    /// A kind of value that exists once per width.
    pub trait PerWidth {
        /// The type of the value at a width.
        type At<F: super::Fingerprint>;
    }
}

pub(crate) use sealed::PerWidth;

/// A fingerprint: `u64` or `u128`. Similar documents have fingerprints at a small [distance].
///
/// The trait is sealed, because the storage format has only these two widths.
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
    sealed::Sealed
    + Copy
    + Ord
    + Hash
    + Default
    + Debug
    + Send
    + Sync
    + 'static
    + BitXor<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Width in bits.
    const BITS: u32;
    /// Width in bytes.
    const BYTES: usize;
    /// The fingerprint with no bit set.
    const ZERO: Self;
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
    /// Returns the top 64 bits, for estimates of position.
    fn top64(self) -> u64;
    /// Reads the first `BYTES` bytes as a little-endian value. Returns `None` if there are fewer.
    fn read_le(bytes: &[u8]) -> Option<Self>;
    /// Reads the first `BYTES` bytes as a big-endian value. Returns `None` if there are fewer.
    fn read_be(bytes: &[u8]) -> Option<Self>;
    /// Appends the value in little-endian byte order.
    fn write_le(self, out: &mut Vec<u8>);
    /// Writes the value to the first `BYTES` bytes in little-endian byte order, if there are as
    /// many.
    fn put_le(self, to: &mut [u8]);
    /// Writes the value to the first `BYTES` bytes in big-endian byte order, if there are as many.
    fn put_be(self, to: &mut [u8]);
    /// Returns the one of two values that is for this width.
    #[doc(hidden)]
    fn choose<P: PerWidth>(narrow: P::At<u64>, wide: P::At<u128>) -> P::At<Self>;

    /// Returns the Hamming distance: the number of bits in which two fingerprints differ.
    fn distance(self, other: Self) -> u32 {
        (self ^ other).count_ones()
    }

    /// Returns the value whose `depth` leading bits are set (`depth` is at most `BITS`).
    fn prefix_mask(depth: u32) -> Self {
        if depth == 0 { Self::ZERO } else { Self::MAX << (Self::BITS - depth) }
    }

    /// Formats the fingerprint as `0x` and all hexadecimal digits of the width.
    fn to_hex(self) -> String {
        format!("0x{:0width$x}", self.to_u128(), width = Self::BYTES * 2)
    }

    /// Parses hexadecimal digits, with or without `0x`, at most as many as the width has.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are no digits, too
    /// many digits, or other characters.
    fn parse(text: &str) -> Result<Self> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let well_formed = !digits.is_empty()
            && digits.len() <= Self::BYTES * 2
            && digits.bytes().all(|b| b.is_ascii_hexdigit());
        match u128::from_str_radix(digits, 16) {
            Ok(value) if well_formed => Ok(Self::from_u128(value)),
            _ => Err(Error::invalid(format!(
                "not a {}-bit fingerprint: {text:?} (expected up to {} hex digits, with or without 0x)",
                Self::BITS,
                Self::BYTES * 2
            ))),
        }
    }
}

macro_rules! fingerprint {
    ($type:ty, $top64:expr, $narrow:ident, $wide:ident => $chosen:ident) => {
        impl Fingerprint for $type {
            const BITS: u32 = <$type>::BITS;
            const BYTES: usize = size_of::<$type>();
            const ZERO: Self = 0;
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
            fn top64(self) -> u64 {
                $top64(self)
            }
            #[inline]
            fn read_le(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|chunk| <$type>::from_le_bytes(*chunk))
            }
            #[inline]
            fn read_be(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|chunk| <$type>::from_be_bytes(*chunk))
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
            #[inline]
            fn put_be(self, to: &mut [u8]) {
                if let Some(to) = to.first_chunk_mut() {
                    *to = self.to_be_bytes();
                }
            }
            #[inline]
            fn choose<P: PerWidth>($narrow: P::At<u64>, $wide: P::At<u128>) -> P::At<Self> {
                $chosen
            }
        }
    };
}

fingerprint!(u64, |v: u64| v, narrow, _wide => narrow);
fingerprint!(u128, top_half, _narrow, wide => wide);

fn top_half(value: u128) -> u64 {
    (value >> 64) as u64
}

/// The id of a document. In a database with user ids the caller chooses it. In a database with
/// names the database assigns ids, without gaps, in commit order.
///
/// # Examples
///
/// ```
/// use fpdb::DocId;
///
/// let id = DocId::from(7);
/// assert_eq!((u64::from(id), id.to_string()), (7, "7".to_owned()));
/// assert_eq!("7".parse(), Ok(id));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DocId(pub u64);

impl Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

impl From<u64> for DocId {
    fn from(id: u64) -> Self {
        Self(id)
    }
}

impl From<DocId> for u64 {
    fn from(DocId(id): DocId) -> Self {
        id
    }
}

/// Parses the decimal number that an id is displayed as.
impl FromStr for DocId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> std::result::Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

/// A fingerprint and the document that has it. Ordered by fingerprint, then id.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Entry};
///
/// let db = Db::options().in_memory()?;
/// let report = db.bulk_load([Ok(Entry { fingerprint: 0x00ff, id: DocId(1) })])?;
/// assert_eq!(report.inserted, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Entry<F = u64> {
    /// The document's fingerprint.
    pub fingerprint: F,
    /// The document.
    pub id: DocId,
}

/// An entry within the distance of a query. Ordered by distance, then fingerprint, then id.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Match};
///
/// let db = Db::options().in_memory()?;
/// db.insert(0b0111, 1)?;
/// let matches = db.query(0b0100, 3)?;
/// assert_eq!(matches, [Match { distance: 2, fingerprint: 0b0111, id: DocId(1) }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Match<F = u64> {
    /// Number of bits in which the entry's fingerprint differs from the query's.
    pub distance: u32,
    /// The entry's fingerprint.
    pub fingerprint: F,
    /// The entry's document.
    pub id: DocId,
}

/// What a database knows about a document.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Ids, Stamped};
///
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// db.insert(0x00ff, Stamped::new("https://a.example/", 2026))?;
/// let found = db.get("https://a.example/")?.expect("it was just inserted");
/// assert_eq!((found.fingerprint, found.id, found.stamp), (0x00ff, DocId(0), Some(2026)));
/// assert_eq!(found.duplicate_of, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Document<F = u64> {
    /// Its fingerprint.
    pub fingerprint: F,
    /// Its id.
    pub id: DocId,
    /// The stamp that the caller gave last, for instance the time of the last visit.
    pub stamp: Option<u64>,
    /// The document that this one was a duplicate of when it was last written. `None` for an
    /// original. Queries find originals only.
    pub duplicate_of: Option<DocId>,
}

impl<F> Document<F> {
    /// Makes an original without a stamp, for
    /// [`Source::documents`](crate::Source::documents).
    ///
    /// ```
    /// use fpdb::{DocId, Document};
    /// let mut document = Document::new(0x00ffu64, DocId(7));
    /// document.stamp = Some(2026);
    /// assert_eq!((document.fingerprint, document.duplicate_of), (0x00ff, None));
    /// ```
    #[must_use]
    pub fn new(fingerprint: F, id: DocId) -> Self {
        Self { fingerprint, id, stamp: None, duplicate_of: None }
    }
}

impl<F> Match<F> {
    /// Returns the entry that was found.
    pub(crate) fn entry(&self) -> Entry<F>
    where
        F: Copy,
    {
        Entry { fingerprint: self.fingerprint, id: self.id }
    }
}

/// A key and the document that it has, or `None` if it was removed.
pub(crate) type Record<'a, F> = (&'a [u8], Option<Document<F>>);

impl<F> Document<F> {
    /// Returns the entry that the document has in the tables, if it is an original.
    pub(crate) fn entry(self) -> Option<Entry<F>> {
        let Self { fingerprint, id, .. } = self;
        self.duplicate_of.is_none().then_some(Entry { fingerprint, id })
    }
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
