//! Mixing hashes: one function of a family per sketch.

/// 2^64 divided by the golden ratio, odd: multiples of it are spread evenly.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of the 64-bit values, after which each bit depends on all (the finaliser of
/// SplitMix64, variant 13 of David Stafford's mixers).
#[inline]
pub(super) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// What a hash is combined with, before it is mixed, in the function of this number. The
/// numbers are mixed first, because hashes may be as regular as numbers are.
#[inline]
pub(super) const fn key(function: u64) -> u64 {
    mix(function.wrapping_add(1).wrapping_mul(GOLDEN))
}
