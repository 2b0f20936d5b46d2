//! Hash functions for features.
//!
//! Each function's published definition fixes its values. So fingerprints made from them are the
//! same on every machine and in every version of this crate.

use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U8;
use md5::Md5;
use twox_hash::{XxHash3_64, XxHash3_128};

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Returns the 64-bit FNV-1 hash: multiply, then xor. This is Go's `fnv.New64`.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::hash::fnv1(b""), 0xcbf2_9ce4_8422_2325);
/// assert_ne!(fpdb_text::hash::fnv1(b"ab"), fpdb_text::hash::fnv1a(b"ab"));
/// ```
#[must_use]
pub fn fnv1(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_OFFSET, |hash, &b| hash.wrapping_mul(FNV_PRIME) ^ u64::from(b))
}

/// Returns the 64-bit FNV-1a hash: xor, then multiply. This is Go's `fnv.New64a`.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::hash::fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
/// ```
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    fnv1a_from(FNV_OFFSET, bytes)
}

fn fnv1a_from(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(FNV_PRIME))
}

/// Returns the 64-bit FNV-1a hash of a string as Rust's `Hash for str` passes it to a hasher: its
/// UTF-8 bytes, then a byte 0xff.
///
/// # Examples
///
/// ```
/// use fpdb_text::hash::{fnv1a, fnv1a_of_rust_str};
/// assert_eq!(fnv1a_of_rust_str("cat"), fnv1a(b"cat\xff"));
/// ```
#[must_use]
pub fn fnv1a_of_rust_str(text: &str) -> u64 {
    fnv1a_from(fnv1a(text.as_bytes()), &[0xff])
}

/// Returns `(c, b)` of Bob Jenkins' `hashlittle2` from lookup3, for its two seeds. The first is
/// mixed better.
///
/// # Examples
///
/// ```
/// let (c, b) = fpdb_text::hash::lookup3(b"Four score and seven years ago", 0, 0);
/// assert_eq!((c, b), (0x1777_0551, 0xce72_26e6));
/// ```
#[must_use]
pub fn lookup3(bytes: &[u8], seed_c: u32, seed_b: u32) -> (u32, u32) {
    // The length counts modulo 2^32, as in C.
    #[expect(clippy::cast_possible_truncation, reason = "the length counts modulo 2^32")]
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed_c);
    let mut state = [start, start, start.wrapping_add(seed_b)];
    // The last 1 to 12 bytes are mixed differently. An empty input is not mixed at all.
    let mut rest = bytes;
    while let Some((block, after)) = rest.split_first_chunk::<12>()
        && !after.is_empty()
    {
        add_words(&mut state, block);
        mix(&mut state);
        rest = after;
    }
    if !rest.is_empty() {
        let mut block = [0; 12];
        block[..rest.len()].copy_from_slice(rest);
        add_words(&mut state, &block);
        finish(&mut state);
    }
    (state[2], state[1])
}

fn add_words(state: &mut [u32; 3], block: &[u8; 12]) {
    for (word, bytes) in state.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = word.wrapping_add(u32::from_le_bytes(*bytes));
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &mut u32, z: &mut u32, bits| {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(bits);
        *z = z.wrapping_add(*y);
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
}

fn finish([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &u32, bits| *x = (*x ^ *y).wrapping_sub(y.rotate_left(bits));
    step(c, b, 14);
    step(a, c, 11);
    step(b, a, 25);
    step(c, b, 16);
    step(a, c, 4);
    step(b, a, 14);
    step(c, b, 24);
}

/// Returns the 64-bit value that yanyiwu's `simhash` makes from lookup3 with seeds 0: `c` in the
/// high half, `b` in the low half.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::hash::jenkins64("你好".as_bytes()), 17_676_873_585_679_812_141);
/// ```
#[must_use]
pub fn jenkins64(bytes: &[u8]) -> u64 {
    let (c, b) = lookup3(bytes, 0, 0);
    u64::from(c) << 32 | u64::from(b)
}

/// Returns the 128-bit `string_hash` of many Python SimHash programs (the one with 1000003).
///
/// It runs over the code points, starts from the first one shifted left by 7, and xors the number
/// of code points at the end. At a smaller width the value is the low bits of this one.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::hash::string_hash("去重"), 0x2613_9160_a834_97be);
/// assert_eq!(fpdb_text::hash::string_hash(""), 0);
/// ```
#[must_use]
pub fn string_hash(text: &str) -> u128 {
    // Those programs then replace -1 by -2. That never happens, because Python's integers have no
    // width at which all bits set would mean -1.
    let first = text.chars().next().map_or(0, |c| u128::from(u32::from(c)) << 7);
    let (hash, length) = text.chars().fold((first, 0), |(hash, length), c| {
        (hash.wrapping_mul(1_000_003) ^ u128::from(u32::from(c)), length + 1)
    });
    hash ^ length
}

/// Returns the low 64 bits of [`string_hash`], computed with 64-bit arithmetic.
pub(crate) fn string_hash64(text: &str) -> u64 {
    let first = text.chars().next().map_or(0, |c| u64::from(u32::from(c)) << 7);
    let (hash, length) = text.chars().fold((first, 0), |(hash, length), c| {
        (hash.wrapping_mul(1_000_003) ^ u64::from(u32::from(c)), length + 1)
    });
    hash ^ length
}

/// Returns the MD5 digest as a big-endian number.
///
/// Its low 64 bits are the last 8 bytes of the digest (PyPI `simhash`), its high 64 bits the first
/// 8 (seomoz).
///
/// # Examples
///
/// ```
/// let digest = fpdb_text::hash::md5(b"abc");
/// assert_eq!(digest, 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72);
/// ```
#[must_use]
pub fn md5(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Md5::digest(bytes).into())
}

/// Returns the 64-bit XXH3 hash with seed 0.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::hash::xxh3(b""), 0x2d06_8005_38d3_94c2);
/// ```
#[must_use]
pub fn xxh3(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Returns the 128-bit XXH3 hash with seed 0.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::hash::xxh3_128(b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
/// ```
#[must_use]
pub fn xxh3_128(bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot(bytes)
}

/// Returns the BLAKE2b digest of 8 bytes as a big-endian number. It is not a part of a longer
/// digest.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::hash::blake2b(b"abc"), 0xd8bb_14d8_33d5_9559);
/// ```
#[must_use]
pub fn blake2b(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(Blake2b::<U8>::digest(bytes).into())
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

    /// From the self-test in lookup3.c.
    #[test]
    fn lookup3_has_the_values_of_its_self_test() {
        assert_eq!(lookup3(b"", 0, 0), (0xdead_beef, 0xdead_beef));
        let speech = b"Four score and seven years ago";
        assert_eq!(lookup3(speech, 0, 0), (0x1777_0551, 0xce72_26e6));
        assert_eq!(lookup3(speech, 0, 1), (0xe360_7cae, 0xbd37_1de4));
    }

    /// Lengths around the block size of 12 bytes, since the last block is mixed differently.
    #[test]
    fn lookup3_depends_on_every_byte_at_every_length() {
        let bytes: Vec<u8> = (1..=40).collect();
        let mut seen = std::collections::BTreeSet::new();
        for length in 0..=40 {
            assert!(seen.insert(lookup3(&bytes[..length], 0, 0)));
            for at in 0..length {
                let mut other = bytes[..length].to_vec();
                other[at] ^= 1;
                assert!(seen.insert(lookup3(&other, 0, 0)), "byte {at} of {length}");
            }
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

    /// The MD5 values are from RFC 1321, the BLAKE2b value from Python's hashlib.
    #[test]
    fn digests_are_read_as_big_endian_numbers() {
        assert_eq!(md5(b""), 0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e);
        assert_eq!(md5(b"abc"), 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72);
        assert_eq!(blake2b(b"abc"), 0xd8bb_14d8_33d5_9559);
    }
}
