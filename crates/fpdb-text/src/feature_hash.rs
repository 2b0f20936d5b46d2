//! The choice of the hash function for features.

use crate::hash;
use crate::width::{PerWidth, Width};

/// The hash function of a recipe's features.
///
/// # Examples
///
/// ```
/// use fpdb_text::FeatureHash;
/// assert_ne!(FeatureHash::Md5Low, FeatureHash::Md5High);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeatureHash {
    // The numbers are part of recipe names: see `Builder::definition`.
    /// [XXH3](hash::xxh3), 64 or 128 bits: fast and well mixed. Use it for anything new.
    Xxh3 = 1,
    /// [FNV-1](hash::fnv1), 64 bits.
    Fnv1 = 2,
    /// [FNV-1a](hash::fnv1a), 64 bits.
    Fnv1a = 3,
    /// [FNV-1a](hash::fnv1a_of_rust_str) of the UTF-8 bytes and a byte 0xff, 64 bits.
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

/// A function that hashes features to a width.
pub(crate) type Hasher<F> = fn(&str) -> F;

impl FeatureHash {
    /// Returns the function that hashes features to a width, if there is one for it.
    pub(crate) fn hasher<F: Width>(self) -> Option<Hasher<F>> {
        struct OfHash;
        impl PerWidth for OfHash {
            type At<F: Width> = Option<Hasher<F>>;
        }
        F::pick::<OfHash>(self.hasher64(), self.hasher128())
    }

    #[expect(clippy::cast_possible_truncation, reason = "one half of a digest is wanted")]
    fn hasher64(self) -> Option<Hasher<u64>> {
        Some(match self {
            Self::Xxh3 => |text| hash::xxh3(text.as_bytes()),
            Self::Fnv1 => |text| hash::fnv1(text.as_bytes()),
            Self::Fnv1a => |text| hash::fnv1a(text.as_bytes()),
            Self::Fnv1aOfRustStr => hash::fnv1a_of_rust_str,
            Self::Jenkins64 => |text| hash::jenkins64(text.as_bytes()),
            Self::StringHash => hash::string_hash64,
            Self::Md5Low => |text| hash::md5(text.as_bytes()) as u64,
            Self::Md5High => |text| (hash::md5(text.as_bytes()) >> 64) as u64,
            Self::Blake2b => |text| hash::blake2b(text.as_bytes()),
        })
    }

    fn hasher128(self) -> Option<Hasher<u128>> {
        match self {
            Self::Xxh3 => Some(|text| hash::xxh3_128(text.as_bytes())),
            Self::StringHash => Some(hash::string_hash),
            Self::Md5Low => Some(|text| hash::md5(text.as_bytes())),
            _ => None,
        }
    }
}
