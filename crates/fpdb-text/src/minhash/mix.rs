//! Mixing hashes: a family of hash functions.

/// 2^64 divided by the golden ratio, rounded to an odd number. Its multiples are spread evenly.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Permutes the 64-bit values so that each bit of the result depends on all bits of the value. This
/// is the finalizer of SplitMix64, variant 13 of David Stafford's mixers.
#[inline]
pub(super) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Returns the value with which the function of this number combines a hash before mixing. The
/// numbers are mixed too, because hashes may be as regular as numbers.
#[inline]
pub(super) const fn key(function: u64) -> u64 {
    mix(function.wrapping_add(1).wrapping_mul(GOLDEN))
}
