//! The nodes of the graph of near fingerprints.

use crate::base::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint};

/// Fingerprints that are near others or that several entries have. They are numbered in the order
/// of their lowest ids, and of the fingerprints among equal ids.
pub(super) struct Nodes<F> {
    /// Each fingerprint with its lowest id, sorted.
    entries: Vec<Entry<F>>,
    /// The position in `entries` of each node.
    positions: Vec<u32>,
    /// The number of the node at each position.
    numbers: Vec<u32>,
    /// Where the entries with each value of the leading bits begin, and the end.
    directory: Vec<u32>,
    /// The fingerprints that several entries have, sorted.
    groups: Vec<F>,
}

/// Entries per value of the leading bits, about, in the directory.
const PER_VALUE: usize = 4;

impl<F: Fingerprint> Nodes<F> {
    /// Bytes of memory per node, at most. The last 8 are for the directory, and for the first node
    /// of the node's cluster.
    pub(super) const BYTES: usize =
        size_of::<Entry<F>>() + size_of::<(DocId, u32)>() + 2 * size_of::<u32>() + 8;

    /// Numbers fingerprints, which are sorted. Groups, also sorted, are among them.
    pub(super) fn new(entries: Vec<Entry<F>>, groups: Vec<F>) -> Result<Self> {
        let Ok(count) = u32::try_from(entries.len()) else {
            return Err(Error::invalid(format!(
                "{} fingerprints are near others: clusters can be made of at most {}",
                entries.len(),
                u32::MAX
            )));
        };
        let mut order: Vec<(DocId, u32)> = entries.iter().map(|e| e.id).zip(0..count).collect();
        order.sort_unstable();
        let positions: Vec<u32> = order.into_iter().map(|(_, position)| position).collect();
        let mut numbers = vec![0; entries.len()];
        for (number, &position) in (0..count).zip(&positions) {
            numbers[position as usize] = number;
        }
        let directory = directory(&entries);
        Ok(Self { entries, positions, numbers, directory, groups })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns a fingerprint with its lowest id.
    pub(super) fn entry(&self, node: u32) -> Entry<F> {
        self.entries[self.positions[node as usize] as usize]
    }

    pub(super) fn number(&self, fingerprint: F) -> u32 {
        let value = leading(fingerprint, self.directory.len() - 1);
        let start = self.directory[value] as usize;
        let entries = &self.entries[start..self.directory[value + 1] as usize];
        self.numbers[start + entries.partition_point(|entry| entry.fingerprint < fingerprint)]
    }

    /// Returns whether several entries have this fingerprint.
    pub(super) fn is_group(&self, fingerprint: F) -> bool {
        self.groups.binary_search(&fingerprint).is_ok()
    }
}

/// Returns the leading bits of a fingerprint, as a number below `values`, a power of two.
fn leading<F: Fingerprint>(fingerprint: F, values: usize) -> usize {
    let bits = values.trailing_zeros();
    let top = fingerprint.top64().checked_shr(u64::BITS - bits).unwrap_or(0);
    usize::try_from(top).unwrap_or(0)
}

fn directory<F: Fingerprint>(entries: &[Entry<F>]) -> Vec<u32> {
    let values = (entries.len() / PER_VALUE).max(1).next_power_of_two();
    let mut starts = vec![0u32; values + 1];
    entries.iter().for_each(|entry| starts[leading(entry.fingerprint, values) + 1] += 1);
    for value in 0..values {
        starts[value + 1] += starts[value];
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_numbered_by_their_lowest_ids_and_found_by_value() {
        for count in [1u64, 2, 3, 7, 8, 100, 5000] {
            // Most share their leading bits.
            let fingerprint = |i: u64| if i.is_multiple_of(9) { i << 50 } else { i * i };
            let mut entries: Vec<Entry<u64>> = (0..count)
                .map(|i| Entry { fingerprint: fingerprint(i), id: DocId(i * 7919 % 5003 / 2) })
                .collect();
            entries.sort_unstable();
            entries.dedup_by_key(|entry| entry.fingerprint);
            let mut by_id = entries.clone();
            by_id.sort_unstable_by_key(|entry| (entry.id, entry.fingerprint));
            let nodes = Nodes::new(entries, Vec::new()).unwrap();
            assert_eq!(nodes.len(), by_id.len());
            for (number, entry) in (0..).zip(by_id) {
                assert_eq!(nodes.entry(number), entry);
                assert_eq!(nodes.number(entry.fingerprint), number);
            }
        }
    }
}
