//! The distinct values of a set, each once, as parities need them: a value that came twice would
//! flip its parity back.

use super::{key, mix};

/// Marks a free place. A value equals this mark with a probability of 2^-64, and is then ignored.
const FREE: u64 = u64::MAX;

/// Returns the values of the distinct hashes, in any order.
///
/// They are found with a hash table of two to four places per hash, because sorting would take
/// several times as long. The values look random, so they need no further hash.
pub(super) fn distinct_values(hashes: &[u64]) -> Vec<u64> {
    let bits = (2 * hashes.len().max(1)).next_power_of_two().ilog2();
    let mut table = vec![FREE; 1 << bits];
    let mask = table.len() - 1;
    let mut values = Vec::with_capacity(hashes.len());
    for hash in hashes {
        let value = mix(hash ^ key(0));
        let mut place = home(value, bits);
        while table[place] != FREE && table[place] != value {
            place = (place + 1) & mask;
        }
        if table[place] == FREE {
            table[place] = value;
            values.push(value);
        }
    }
    values
}

/// Returns the first place for a value: its leading bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "only as many bits as the table needs remain")]
fn home(value: u64, bits: u32) -> usize {
    (value >> (u64::BITS - bits)) as usize
}

#[cfg(test)]
mod tests {
    use super::super::sets::pair;
    use super::*;

    #[test]
    fn each_distinct_value_is_returned_once() {
        for size in [0, 1, 2, 3, 64, 1000] {
            let (set, _) = pair(size, 0, size);
            let repeated: Vec<u64> =
                set.iter().chain(&set).chain(set.iter().rev()).copied().collect();
            let mut expected: Vec<u64> = set.iter().map(|hash| mix(hash ^ key(0))).collect();
            expected.sort_unstable();
            for hashes in [&set, &repeated] {
                let mut values = distinct_values(hashes);
                values.sort_unstable();
                assert_eq!(values, expected);
            }
        }
    }
}
