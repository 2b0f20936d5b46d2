//! Comparing sets regardless of their order.

use crate::fingerprint::Word;

/// Returns a hash of a fingerprint. Sums of these hashes compare sets regardless of their order.
pub(crate) fn set_hash<F: Word>(fingerprint: F) -> u64 {
    let mut bytes = Vec::with_capacity(F::BYTES);
    fingerprint.write_le(&mut bytes);
    let low = u64::from(crc32fast::hash(&bytes));
    (low << 32 | low).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ fingerprint.top64().rotate_left(17)
}
