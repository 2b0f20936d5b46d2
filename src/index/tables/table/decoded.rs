//! The fingerprints of a small table, decoded, in memory.
//!
//! In a small database, most of the time of a query would be decoding: it must decode half a block
//! before each fingerprint that it compares. So small tables are kept decoded, which takes little
//! memory because they are small.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use crate::file::storage::Reservation;
use crate::fingerprint::Word;

/// Most fingerprints of a table that is kept decoded: with their directory, they take 2.3 MB at 64
/// bits. Beyond that, reading memory takes longer than decoding a block.
const MAX_FINGERPRINTS: u64 = 1 << 18;

/// Fingerprints per slot of the directory, on average: half a cache line at 64 bits.
const MEAN: u64 = 4;

/// Most fingerprints that are compared without bisecting them first.
const FEW: usize = 32;

/// The fingerprints of a table in order, with a directory over their leading bits.
#[derive(Debug)]
pub(crate) struct Decoded<F> {
    fingerprints: Vec<F>,
    /// For each slot, the number of fingerprints in the slots before it; and their number.
    slots: Vec<u32>,
    /// The slot of a fingerprint is what remains of its leading 64 bits after a shift by this.
    shift: u32,
    /// For each block of the table, the number of fingerprints in the blocks before it; and their
    /// number.
    blocks: Vec<u32>,
    /// Held for its drop.
    _reserved: Reservation,
}

/// Returns the leading bits that select a slot.
fn slot_bits(count: u64) -> u32 {
    (count / MEAN).checked_ilog2().unwrap_or(0).max(1)
}

/// Returns the bytes that a table of `count` fingerprints in `blocks` blocks takes decoded; `None`
/// if it is too large.
pub(super) fn decoded_len<F: Word>(count: u64, blocks: usize) -> Option<u64> {
    let numbers = (1 << slot_bits(count)) + blocks as u64 + 2;
    (count <= MAX_FINGERPRINTS).then_some(count * F::BYTES as u64 + numbers * 4)
}

impl<F: Word> Decoded<F> {
    /// Takes the fingerprints of a table in order, at most [`MAX_FINGERPRINTS`], and the first of
    /// each block as an index into them.
    pub(super) fn new(fingerprints: Vec<F>, mut blocks: Vec<u32>, reserved: Reservation) -> Self {
        let count = u32::try_from(fingerprints.len()).unwrap_or(u32::MAX);
        blocks.push(count);
        let bits = slot_bits(count.into());
        let shift = u64::BITS - bits;
        let mut slots = Vec::with_capacity((1 << bits) + 1);
        for (index, fingerprint) in (0..).zip(&fingerprints) {
            while slots.len() as u64 <= fingerprint.top64() >> shift {
                slots.push(index);
            }
        }
        slots.resize((1 << bits) + 1, count);
        Self { fingerprints, slots, shift, blocks, _reserved: reserved }
    }

    /// Returns the number of fingerprints before the slot that is `after` slots after this
    /// fingerprint's slot.
    #[inline(always)]
    fn slot_start(&self, fingerprint: F, after: usize) -> usize {
        let slot = usize::try_from(fingerprint.top64() >> self.shift).unwrap_or(usize::MAX);
        self.slots.get(slot.wrapping_add(after)).map_or(0, |&start| start as usize)
    }

    /// Returns the places of the fingerprints from `low` to `high`, both inclusive, and of a few
    /// neighbours.
    #[inline(always)]
    fn near_range(&self, low: F, high: F) -> Range<usize> {
        let range = self.slot_start(low, 0)..self.slot_start(high, 1);
        if range.len() <= FEW { range } else { self.bisect(range, low, high) }
    }

    /// Returns the places in `range` of the fingerprints from `low` to `high`.
    #[inline(never)]
    fn bisect(&self, range: Range<usize>, low: F, high: F) -> Range<usize> {
        let fingerprints = self.fingerprints.get(range.clone()).unwrap_or_default();
        let start = fingerprints.partition_point(|&f| f < low);
        let rest = fingerprints.get(start..).unwrap_or_default();
        let len = rest.partition_point(|&f| f <= high);
        range.start + start..range.start + start + len
    }

    /// Passes the fingerprints from `low` to `high`, both inclusive, that are within `distance` of
    /// `query` to `found`, in order. Returns how many were compared, with a few neighbours.
    #[inline(always)]
    pub(crate) fn search(
        &self,
        (low, high): (F, F),
        query: F,
        distance: u32,
        mut found: impl FnMut(F),
    ) -> usize {
        let candidates = self.fingerprints.get(self.near_range(low, high)).unwrap_or_default();
        for &candidate in candidates {
            // The distance is tested first because it is rarely small enough.
            if candidate.distance(query) <= distance && (low..=high).contains(&candidate) {
                found(candidate);
            }
        }
        candidates.len()
    }

    /// Returns where a fingerprint is: its block, and its index in the block.
    pub(super) fn locate(&self, fingerprint: F) -> Option<(usize, usize)> {
        let range = self.slot_start(fingerprint, 0)..self.slot_start(fingerprint, 1);
        let slot = self.fingerprints.get(range.clone()).unwrap_or_default();
        let place = range.start + slot.binary_search(&fingerprint).ok()?;
        let block = self.blocks.partition_point(|&start| start as usize <= place).checked_sub(1)?;
        let start = self.blocks.get(block).map_or(0, |&start| start as usize);
        Some((block, place.saturating_sub(start)))
    }

    /// Returns the number of fingerprints in one block.
    pub(super) fn block_len(&self, block: usize) -> Option<usize> {
        match self.blocks.get(block..) {
            Some(&[start, end, ..]) => Some(end.saturating_sub(start) as usize),
            _ => None,
        }
    }
}
