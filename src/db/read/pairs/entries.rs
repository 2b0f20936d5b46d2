//! The entries that have the fingerprints of some pairs.

use crate::base::error::Result;
use crate::db::read::reader::Reader;
use crate::fingerprint::{Entry, Fingerprint};

/// Finds the entries with a fingerprint. Pairs share most of their fingerprints, because near ones
/// are found together, so each is looked up in the tables once.
pub(super) struct EntriesOfPairs<F> {
    numbers: Numbers<F>,
    /// Sorted by fingerprint.
    entries: Vec<Entry<F>>,
    /// Where the entries of each fingerprint begin, by the fingerprint's number, and how many there
    /// are.
    ranges: Vec<(usize, usize)>,
}

impl<F: Fingerprint> EntriesOfPairs<F> {
    /// Reads the entries with the fingerprints of these pairs, at most `limit` each.
    pub(super) fn read(reader: &Reader<F>, pairs: &[(F, F, u32)], limit: usize) -> Result<Self> {
        let mut numbers = Numbers::new(2 * pairs.len());
        pairs.iter().flat_map(|&(a, b, _)| [a, b]).for_each(|f| numbers.add(f));
        let mut sorted = numbers.fingerprints.clone();
        sorted.sort_unstable();
        let mut entries = Vec::with_capacity(sorted.len());
        reader.read(|view| view.ids_of_each(&sorted, limit, &mut entries))?;
        let mut ranges = vec![(0, 0); sorted.len()];
        let mut start = 0;
        for group in entries.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
            if let Some(number) = numbers.of(group[0].fingerprint) {
                ranges[number] = (start, group.len());
            }
            start += group.len();
        }
        Ok(Self { numbers, entries, ranges })
    }

    /// Returns the entries with a fingerprint of the pairs, by id.
    pub(super) fn of(&self, fingerprint: F) -> &[Entry<F>] {
        let Some(number) = self.numbers.of(fingerprint) else { return &[] };
        let (start, len) = self.ranges[number];
        &self.entries[start..start + len]
    }
}

/// Numbers fingerprints in the order in which they are added: a hash table with open addressing.
struct Numbers<F> {
    fingerprints: Vec<F>,
    /// The number of a fingerprint plus 1, or 0. At most half of them are used.
    slots: Vec<u32>,
    /// 64 less the logarithm of their number.
    shift: u32,
}

impl<F: Fingerprint> Numbers<F> {
    /// Makes a table for at most `most` fingerprints, which are fewer than 2^31.
    fn new(most: usize) -> Self {
        let bits = (2 * most).max(2).next_power_of_two().ilog2();
        Self { fingerprints: Vec::new(), slots: vec![0; 1 << bits], shift: 64 - bits }
    }

    /// Returns the slot of a fingerprint, or the free one where it belongs.
    #[expect(clippy::cast_possible_truncation, reason = "a number of a slot")]
    fn slot(&self, fingerprint: F) -> usize {
        let folded = fingerprint.folded();
        // Multiplicative hashing: the golden ratio (Knuth, volume 3, section 6.4).
        let mut slot = (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.slots[slot] != 0
            && self.fingerprints[self.slots[slot] as usize - 1] != fingerprint
        {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^31")]
    fn add(&mut self, fingerprint: F) {
        let slot = self.slot(fingerprint);
        if self.slots[slot] == 0 {
            self.fingerprints.push(fingerprint);
            self.slots[slot] = self.fingerprints.len() as u32;
        }
    }

    fn of(&self, fingerprint: F) -> Option<usize> {
        (self.slots[self.slot(fingerprint)] as usize).checked_sub(1)
    }
}
