//! The hash that prefix filters use.

use crate::fingerprint::Word;

/// The rotations of each round. A round triples the number of hash bits that a bit of the prefix
/// changes. With these rotations, the leading bits of the hashes of neighbouring prefixes differ.
const ROUNDS: [(u32, u32); 3] = [(5, 24), (34, 35), (12, 50)];

/// Returns the hash of the `depth` leading bits (at most 64) of a fingerprint.
///
/// The hash is linear: hash(a ^ b) = hash(a) ^ hash(b). The prefixes of a query differ from each
/// other in a few flipped bits, whose hashes the plan knows. So the query hashes its own prefix,
/// and each probe costs only one xor. storage-format.md, "Prefix filter".
#[inline(always)]
pub(crate) fn prefix_hash<F: Word>(fingerprint: F, depth: u32) -> u64 {
    hash_of_prefix(fingerprint.top64() & u64::prefix_mask(depth))
}

/// Returns the hash of a prefix that zeros follow.
#[inline(always)]
pub(crate) fn hash_of_prefix(prefix: u64) -> u64 {
    ROUNDS.into_iter().fold(prefix, |x, (a, b)| x ^ x.rotate_left(a) ^ x.rotate_left(b))
}

/// Number of hashes in a group: as many as the processor computes with at a time.
pub(crate) const GROUP: usize = 8;

/// Hashes that are checked against a filter together.
pub(crate) type HashGroup = [u64; GROUP];

/// Returns the hashes in groups, the last of which is filled up with zeros.
pub(crate) fn in_groups(hashes: impl Iterator<Item = u64>) -> Vec<HashGroup> {
    let mut groups: Vec<HashGroup> = Vec::new();
    for (number, hash) in hashes.enumerate() {
        if number % GROUP == 0 {
            groups.push([0; GROUP]);
        }
        if let Some(group) = groups.last_mut() {
            group[number % GROUP] = hash;
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_of_flipped_bits_turns_the_hash_of_a_prefix_into_that_of_the_flipped_prefix() {
        for (a, b) in [(0, 1), (u64::MAX, 1 << 63), (0x0123_4567_89ab_cdef, 5 << 40)] {
            for depth in [1, 24, 32, 63, 64] {
                assert_eq!(
                    prefix_hash(a ^ b, depth),
                    prefix_hash(a, depth) ^ prefix_hash(b, depth)
                );
            }
        }
    }

    #[test]
    fn bits_after_the_prefix_do_not_matter() {
        assert_eq!(prefix_hash(u64::MAX, 32), prefix_hash(u64::MAX << 32, 32));
        assert_eq!(prefix_hash(u128::MAX, 64), prefix_hash(u128::MAX << 64, 64));
        assert_ne!(prefix_hash(1u128 << 64, 64), 0);
    }

    #[test]
    fn groups_hold_all_hashes_in_order() {
        for count in [0, 1, 7, 8, 9, 24] {
            let groups = in_groups(1..=count).concat();
            let filled = groups.len() as u64 - count;
            assert!(groups.iter().copied().eq((1..=count).chain((0..filled).map(|_| 0))));
            assert!(filled < 8);
        }
    }

    #[test]
    fn every_bit_of_a_prefix_changes_many_bits_of_the_hash() {
        for bit in 0..64 {
            assert_eq!(prefix_hash(1u64 << bit, 64).count_ones(), 27, "{bit}");
        }
    }
}
