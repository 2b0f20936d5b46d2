//! The choice of a hash function for features.

use super::hash;
use crate::fingerprint::Fingerprint;

/// The hash function of a recipe's features.
///
/// # Examples
///
/// ```
/// use fpdb::text::FeatureHash;
/// assert_ne!(FeatureHash::Md5Low, FeatureHash::Md5High);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeatureHash {
    // The numbers go into the names of recipes, see builder.rs.
    /// [XXH3](hash::xxh3), 64 or 128 bits: fast and well mixed, the choice for anything new.
    Xxh3 = 1,
    /// [FNV-1](hash::fnv1), 64 bits.
    Fnv1 = 2,
    /// [FNV-1a](hash::fnv1a), 64 bits.
    Fnv1a = 3,
    /// [FNV-1a](hash::fnv1a_of_rust_str) of the UTF-8 and a byte 0xff, 64 bits.
    Fnv1aOfRustStr = 4,
    /// [Jenkins' lookup3](hash::jenkins64), 64 bits.
    Jenkins64 = 5,
    /// [`string_hash`](hash::string_hash), 64 or 128 bits.
    StringHash = 6,
    /// [MD5](hash::md5): the last 8 bytes, or all 16.
    Md5Low = 7,
    /// [MD5](hash::md5): the first 8 bytes.
    Md5High = 8,
    /// [BLAKE2b](hash::blake2b) of 8 bytes.
    Blake2b = 9,
}

/// A width that features can be hashed to.
pub trait Hashed: Fingerprint {
    /// The function that makes this width of a feature, if there is one.
    #[doc(hidden)]
    fn hasher(hash: FeatureHash) -> Option<fn(&str) -> Self>;
}

impl Hashed for u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the named half of a digest")]
    fn hasher(hash: FeatureHash) -> Option<fn(&str) -> Self> {
        Some(match hash {
            FeatureHash::Xxh3 => |text| hash::xxh3(text.as_bytes()),
            FeatureHash::Fnv1 => |text| hash::fnv1(text.as_bytes()),
            FeatureHash::Fnv1a => |text| hash::fnv1a(text.as_bytes()),
            FeatureHash::Fnv1aOfRustStr => hash::fnv1a_of_rust_str,
            FeatureHash::Jenkins64 => |text| hash::jenkins64(text.as_bytes()),
            FeatureHash::StringHash => hash::string_hash64,
            FeatureHash::Md5Low => |text| hash::md5(text.as_bytes()) as u64,
            FeatureHash::Md5High => |text| (hash::md5(text.as_bytes()) >> 64) as u64,
            FeatureHash::Blake2b => |text| hash::blake2b(text.as_bytes()),
        })
    }
}

impl Hashed for u128 {
    fn hasher(hash: FeatureHash) -> Option<fn(&str) -> Self> {
        match hash {
            FeatureHash::Xxh3 => Some(|text| hash::xxh3_128(text.as_bytes())),
            FeatureHash::StringHash => Some(hash::string_hash),
            FeatureHash::Md5Low => Some(|text| hash::md5(text.as_bytes())),
            _ => None,
        }
    }
}

/// The half of a hash, or all of it, that a MinHash goes by.
#[expect(clippy::cast_possible_truncation, reason = "the low half")]
pub(super) fn low_bits<F: Fingerprint>(hash: F) -> u64 {
    hash.to_u128() as u64
}
