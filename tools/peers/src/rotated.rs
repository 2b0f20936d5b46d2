//! The paper's simplest tables as people keep them in a key-value store: k + 1 sorted copies of the
//! fingerprints, each rotated so that another block leads. Whichever k bits differ, one of the k +
//! 1 blocks has no difference, so a range scan of the leading block in each copy finds every match.
//! At k = 3 these are 4 tables with prefixes of 16 bits.

use anyhow::Result;

/// A rotated fingerprint and a position, big-endian.
pub type Key = [u8; 12];

/// Returns the first bit and the width of each table's leading block.
fn blocks(k: u32) -> impl ExactSizeIterator<Item = (u32, u32)> {
    let start = move |block: u32| 64 * block / (k + 1);
    (0..k as usize + 1).map(move |b| (start(b as u32), start(b as u32 + 1) - start(b as u32)))
}

fn key(rotated: u64, position: u32) -> Key {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&rotated.to_be_bytes());
    key[8..].copy_from_slice(&position.to_be_bytes());
    key
}

fn parts(key: &Key) -> (u64, u32) {
    let (rotated, position) = key.split_at(8);
    let reason = "a key has 12 bytes";
    (
        u64::from_be_bytes(rotated.try_into().expect(reason)),
        u32::from_be_bytes(position.try_into().expect(reason)),
    )
}

/// Returns the sorted keys of each table, one table after another.
pub fn sorted(fingerprints: &[u64], k: u32) -> impl Iterator<Item = Vec<Key>> {
    blocks(k).map(move |(start, _)| {
        let keys = (0..).zip(fingerprints).map(|(i, f)| key(f.rotate_left(start), i));
        let mut keys: Vec<Key> = keys.collect();
        keys.sort_unstable();
        keys
    })
}

/// Pushes the positions of all fingerprints within k. `range` visits the keys of a table from a
/// first to a last one, inclusive.
pub fn query(
    fingerprint: u64,
    k: u32,
    found: &mut Vec<u32>,
    range: impl Fn(usize, &Key, &Key, &mut dyn FnMut(&Key)) -> Result<()>,
) -> Result<()> {
    for (table, (start, width)) in blocks(k).enumerate() {
        let query = fingerprint.rotate_left(start);
        // If the block has all 64 bits, no other bits are left.
        let others = u64::MAX.checked_shr(width).unwrap_or(0);
        let (first, last) = (key(query & !others, 0), key(query | others, u32::MAX));
        range(table, &first, &last, &mut |key| {
            let (rotated, position) = parts(key);
            if (rotated ^ query).count_ones() <= k {
                found.push(position);
            }
        })?;
    }
    found.sort_unstable();
    found.dedup();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Data, Source};
    use crate::scan::scan;

    #[test]
    fn every_match_is_found_at_every_distance() {
        for k in [0, 1, 3, 6, 10] {
            let set = Source::new(Data::Clustered).unwrap().take(500);
            let tables: Vec<Vec<Key>> = sorted(&set.fingerprints, k).collect();
            for fingerprint in set.queries(100, k) {
                let (mut found, mut expected) = (Vec::new(), Vec::new());
                query(fingerprint, k, &mut found, |table, first, last, visit| {
                    tables[table].iter().filter(|key| (first..=last).contains(key)).for_each(visit);
                    Ok(())
                })
                .unwrap();
                scan(&set.fingerprints, fingerprint, k, &mut expected);
                assert_eq!(found, expected, "k = {k}");
            }
        }
    }
}
