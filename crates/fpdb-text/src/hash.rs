//! Hash functions for features, and the choice of one.
//!
//! Each function's published definition fixes its values. So fingerprints made from them are the
//! same on every machine and in every version of this crate.

use md5::{Digest, Md5};
use twox_hash::{XxHash3_64, XxHash3_128};

use crate::jenkins::jenkins64;
use crate::width::{Bits, PerWidth, Width};

/// The hash function of a recipe's features.
///
/// # Examples
///
/// ```
/// use fpdb_text::FeatureHash;
/// assert_eq!(FeatureHash::Fnv1.hash("a"), Some(0xaf63_bd4c_8601_b7be_u64));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeatureHash {
    // The numbers are part of recipe names: see `Builder::definition`.
    /// XXH3 with seed 0, 64 or 128 bits: fast and well mixed. Use it for anything new.
    Xxh3 = 1,
    /// FNV-1 (multiply, then xor), 64 bits. This is Go's `fnv.New64`.
    Fnv1 = 2,
    /// FNV-1a (xor, then multiply), 64 bits. This is Go's `fnv.New64a`.
    Fnv1a = 3,
    /// FNV-1a of the UTF-8 bytes and a byte 0xff, 64 bits: what Rust's `Hash for str` passes to a
    /// hasher.
    Fnv1aOfRustStr = 4,
    /// Bob Jenkins' lookup3 with seeds 0, 64 bits: `c` in the high half, `b` in the low half, as in
    /// yanyiwu's `simhash`.
    Jenkins64 = 5,
    /// The `string_hash` of many Python programs (the one with 1000003), 64 or 128 bits.
    StringHash = 6,
    /// The MD5 digest as a big-endian number: the last 8 bytes (PyPI `simhash`), or all 16.
    Md5Low = 7,
    /// The first 8 bytes of the MD5 digest as a big-endian number (seomoz).
    Md5High = 8,
}

/// A function that hashes features to a width.
pub(crate) type Hasher<F> = fn(&str) -> F;

impl FeatureHash {
    /// Returns the hash of a feature, as recipes with this function compute it. Returns `None` if
    /// the function does not have this width.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::FeatureHash;
    ///
    /// let digest = FeatureHash::Md5Low.hash("abc");
    /// assert_eq!(digest, Some(0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72_u128));
    /// assert_eq!(FeatureHash::Fnv1a.hash::<u128>("abc"), None);
    /// ```
    #[must_use]
    pub fn hash<F: Bits>(self, feature: &str) -> Option<F> {
        self.hasher().map(|hash| hash(feature))
    }

    /// Returns the function that hashes features to a width, if there is one for it.
    pub(crate) fn hasher<F: Bits>(self) -> Option<Hasher<F>> {
        struct OfHash;
        impl PerWidth for OfHash {
            type At<F: Width> = Option<Hasher<F>>;
        }
        F::pick::<OfHash>(self.hasher64(), self.hasher128(), None)
    }

    #[expect(clippy::cast_possible_truncation, reason = "one half of a digest is wanted")]
    fn hasher64(self) -> Option<Hasher<u64>> {
        Some(match self {
            Self::Xxh3 => |text| xxh3(text.as_bytes()),
            Self::Fnv1 => |text| fnv1(text.as_bytes()),
            Self::Fnv1a => |text| fnv1a(text.as_bytes()),
            Self::Fnv1aOfRustStr => fnv1a_of_rust_str,
            Self::Jenkins64 => |text| jenkins64(text.as_bytes()),
            Self::StringHash => string_hash64,
            Self::Md5Low => |text| md5(text.as_bytes()) as u64,
            Self::Md5High => |text| (md5(text.as_bytes()) >> 64) as u64,
        })
    }

    fn hasher128(self) -> Option<Hasher<u128>> {
        match self {
            Self::Xxh3 => Some(|text| xxh3_128(text.as_bytes())),
            Self::StringHash => Some(string_hash),
            Self::Md5Low => Some(|text| md5(text.as_bytes())),
            _ => None,
        }
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

fn fnv1(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_OFFSET, |hash, &b| hash.wrapping_mul(FNV_PRIME) ^ u64::from(b))
}

fn fnv1a(bytes: &[u8]) -> u64 {
    fnv1a_from(FNV_OFFSET, bytes)
}

fn fnv1a_from(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(FNV_PRIME))
}

fn fnv1a_of_rust_str(text: &str) -> u64 {
    fnv1a_from(fnv1a(text.as_bytes()), &[0xff])
}

/// Returns the `string_hash` of many Python programs, at 128 bits.
///
/// It runs over the code points, starts from the first one shifted left by 7, and xors the number
/// of code points at the end. At a smaller width the value is the low bits of this one.
fn string_hash(text: &str) -> u128 {
    // Those programs then replace -1 by -2. That never happens, because Python's integers have no
    // width at which all bits set would mean -1.
    let first = text.chars().next().map_or(0, |c| u128::from(u32::from(c)) << 7);
    let (hash, length) = text.chars().fold((first, 0), |(hash, length), c| {
        (hash.wrapping_mul(1_000_003) ^ u128::from(u32::from(c)), length + 1)
    });
    hash ^ length
}

/// Returns the low 64 bits of [`string_hash`], computed with 64-bit arithmetic.
fn string_hash64(text: &str) -> u64 {
    let first = text.chars().next().map_or(0, |c| u64::from(u32::from(c)) << 7);
    let (hash, length) = text.chars().fold((first, 0), |(hash, length), c| {
        (hash.wrapping_mul(1_000_003) ^ u64::from(u32::from(c)), length + 1)
    });
    hash ^ length
}

fn md5(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Md5::digest(bytes).into())
}

pub(crate) fn xxh3(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

pub(crate) fn xxh3_with_seed(bytes: &[u8], seed: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

pub(crate) fn xxh3_128(bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_has_the_values_of_its_reference_suite() {
        for (text, one, one_a) in [
            ("", 0xcbf2_9ce4_8422_2325, 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_bd4c_8601_b7be, 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x340d_8765_a4dd_a9c2, 0x8594_4171_f739_67e8),
        ] {
            assert_eq!((fnv1(text.as_bytes()), fnv1a(text.as_bytes())), (one, one_a), "{text:?}");
        }
    }

    #[test]
    fn string_hash_at_64_bits_is_the_low_half() {
        for (text, expected) in [
            ("", 0),
            ("a", 0x2_e40d_b1e0),
            ("string", 0x424b_ee1b_a0fc_22b0_80c5_0259_a40c_c845_u128),
            ("清华大学", 0x2d_80e9_298d_9555_57e6_3990_cece),
        ] {
            assert_eq!(string_hash(text), expected, "{text}");
            assert_eq!(u128::from(string_hash64(text)), expected & u128::from(u64::MAX), "{text}");
        }
    }

    /// The values are from RFC 1321.
    #[test]
    fn md5_is_read_as_a_big_endian_number() {
        assert_eq!(md5(b""), 0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e);
        assert_eq!(md5(b"abc"), 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72);
    }
}
