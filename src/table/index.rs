//! The index of a table: which block may hold a fingerprint.
//!
//! The index is the block keys, which are the last fingerprints of the blocks, and a directory over
//! them. The directory has a slot for each value of the leading bits. A slot fills one cache line
//! and holds part of each key that begins with its value. So a lookup waits for one cache line, no
//! matter how many blocks there are. If too many keys share a slot, the lookup bisects the keys.
//! (The paper, section 3.2, interpolates over the keys. On even data that takes as few steps, but
//! more cache misses, each of which waits for the one before.)

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;
use std::ops::Range;

use crate::codec::bytes::PutFields;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::paged::Body;

/// Bytes of a directory slot: one cache line.
const SLOT_LEN: usize = 64;

/// Number of keys that fit into a slot.
const SLOT_KEYS: usize = 15;

/// Greatest average number of keys per slot: few enough that on even data hardly any slot has more
/// keys than fit.
const MAX_MEAN_KEYS: usize = 13;

/// Key bits stored per directory slot, taken after the bits that select the slot: as many as a
/// comparison of signed words takes.
const KEY_BITS: u32 = 31;

/// Marks an unused place in a slot. No stored key is equal to it.
const NONE: u32 = !0 >> (32 - KEY_BITS);

/// Takes the place of the first key in a crowded slot, for which the lookup must read the keys.
const CROWDED: u32 = !0;

/// The places of the directory and the keys in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Index<F> {
    blocks: usize,
    directory: usize,
    keys: usize,
    /// Number of leading bits that select a slot.
    depth: u32,
    width: PhantomData<F>,
}

/// Returns the number of leading bits that select a slot: the smallest one with at most
/// [`MAX_MEAN_KEYS`] keys per slot on average.
fn depth_for(blocks: usize) -> u32 {
    blocks.div_ceil(MAX_MEAN_KEYS).next_power_of_two().trailing_zeros()
}

/// Returns the index of a fingerprint's slot: its `depth` leading bits.
#[inline(always)]
fn slot_of<F: Fingerprint>(fingerprint: F, depth: u32) -> usize {
    // Two shifts, because a single shift by all 64 bits is not allowed.
    (fingerprint.top64() >> 1 >> (63 - depth)) as usize
}

/// Returns the part of a key that a slot stores: the bits after the `depth` leading ones.
#[inline(always)]
fn key_part<F: Fingerprint>(fingerprint: F, depth: u32) -> u32 {
    (fingerprint.top64() << depth >> (64 - KEY_BITS)) as u32
}

/// Appends the directory of `blocks` ascending keys.
pub(super) fn put_directory<F: Fingerprint>(
    blocks: usize,
    keys: impl Iterator<Item = F>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let depth = depth_for(blocks);
    if u32::try_from(blocks).is_err() {
        return Err(Error::invalid(format!(
            "a table can have at most 2^32 - 1 blocks, not {blocks}: choose a larger block size"
        )));
    }
    let (mut keys, mut before) = (keys.peekable(), 0u32);
    for slot in 0..1 << depth {
        let (mut parts, mut count, mut crowded) = ([NONE; SLOT_KEYS], 0, false);
        while let Some(key) = keys.next_if(|&key| slot_of(key, depth) == slot) {
            let part = key_part(key, depth);
            match parts.get_mut(count) {
                Some(place) if part != NONE => *place = part,
                _ => crowded = true,
            }
            count += 1;
        }
        out.put_u32(before);
        before += u32::try_from(count).unwrap_or(0);
        if crowded {
            parts = [0; SLOT_KEYS];
            let [mark, end, ..] = &mut parts;
            (*mark, *end) = (CROWDED, before);
        }
        parts.into_iter().for_each(|part| out.put_u32(part));
    }
    Ok(())
}

/// What a slot says about a range within it: the first block whose key is at least the lowest value
/// is not before `first`, and the first block whose key is at least the highest value is not after
/// `last`. Either may be the number of blocks.
struct SlotBounds {
    first: usize,
    last: usize,
    /// The slot is crowded, so these are the bounds of the entire slot and may be far apart.
    crowded: bool,
}

impl<F: Fingerprint> Index<F> {
    /// Returns the index of a table with this number of blocks, whose directory begins at `offset`;
    /// `None` if that does not fit into the address space.
    pub(super) fn new(blocks: usize, offset: usize) -> Option<Self> {
        let depth = depth_for(u32::try_from(blocks).ok()? as usize);
        let keys = offset.checked_add(SLOT_LEN << depth)?;
        keys.checked_add(blocks.checked_mul(F::BYTES)?)?;
        Some(Self { blocks, directory: offset, keys, depth, width: PhantomData })
    }

    /// Returns the offset at which the index begins.
    pub(super) fn start(&self) -> usize {
        self.directory
    }

    /// Returns the offset at which the index ends.
    pub(super) fn end(&self) -> usize {
        self.keys + self.blocks * F::BYTES
    }

    /// Returns the bytes of the directory and the keys.
    pub(super) fn len(&self) -> usize {
        self.end() - self.directory
    }

    /// Returns the number of blocks.
    pub(super) fn count(&self) -> usize {
        self.blocks
    }

    /// Returns the key of a block.
    #[inline(always)]
    pub(super) fn key(&self, body: &Body<'_>, block: usize) -> Result<F> {
        let offset = self.keys.saturating_add(block.saturating_mul(F::BYTES));
        let bytes = body.bytes(offset, F::BYTES)?;
        F::read_le(bytes).ok_or_else(|| body.corruption(offset, "the key is cut short"))
    }

    /// Prefetches the slot of `target`.
    #[inline(always)]
    pub(super) fn prefetch(&self, body: &Body<'_>, target: F) {
        body.prefetch(self.directory + slot_of(target, self.depth) * SLOT_LEN);
    }

    /// Returns the first block whose key is at least `target`; the number of blocks if there is
    /// none.
    pub(super) fn first_at_least(&self, body: &Body<'_>, target: F) -> Result<usize> {
        let slot = slot_of(target, self.depth);
        let SlotBounds { first, last, .. } = self.read_slot(body, slot, target, target)?;
        self.bisect(body, first..last, target)
    }

    /// Returns the blocks that hold the fingerprints from `low` to `high`, and rarely other blocks
    /// too.
    #[inline(always)]
    pub(super) fn blocks(&self, body: &Body<'_>, low: F, high: F) -> Result<Range<usize>> {
        let slot = slot_of(low, self.depth);
        if slot == slot_of(high, self.depth) {
            let SlotBounds { first, last, crowded } = self.read_slot(body, slot, low, high)?;
            if !crowded {
                return Ok(first..(last + 1).min(self.blocks));
            }
        }
        self.blocks_by_keys(body, low, high)
    }

    /// Returns the blocks that hold the fingerprints from `low` to `high`, found by reading keys.
    #[inline(never)]
    fn blocks_by_keys(&self, body: &Body<'_>, low: F, high: F) -> Result<Range<usize>> {
        let first = self.first_at_least(body, low)?;
        let last = self.first_at_least(body, high)?;
        Ok(first..(last + 1).min(self.blocks))
    }

    /// Reads the slot that contains both `low` and `high`.
    ///
    /// Compares all words of the slot, even those that hold no key, because the processor would
    /// often mispredict where to stop.
    #[inline(always)]
    fn read_slot(&self, body: &Body<'_>, slot: usize, low: F, high: F) -> Result<SlotBounds> {
        let offset = self.directory + slot * SLOT_LEN;
        let bytes: &[u8; SLOT_LEN] =
            body.bytes(offset, SLOT_LEN)?.first_chunk().unwrap_or(&[0; SLOT_LEN]);
        let words = bytes.as_chunks().0;
        let [before, mark, end] =
            [0, 1, 2].map(|place| words.get(place).map_or(0, |&word| u32::from_le_bytes(word)));
        let [least, most, before_signed] =
            [key_part(low, self.depth), key_part(high, self.depth).min(NONE - 1), before]
                .map(u32::cast_signed);
        // The first word is not a key, so what the loop adds for it is subtracted here.
        let mut less = -i32::from(before_signed < least);
        let mut not_above = -i32::from(before_signed <= most);
        for &word in words {
            let key = i32::from_le_bytes(word);
            less += i32::from(key < least);
            not_above += i32::from(key <= most);
        }
        let crowded = mark == CROWDED;
        let first = before as usize;
        let after = |keys: i32| first.wrapping_add_signed(keys as isize);
        let (first, last) =
            if crowded { (first, end as usize) } else { (after(less), after(not_above)) };
        if first > last || last > self.blocks {
            return Err(body.corruption(
                offset,
                "the directory refers to blocks that the table does not have",
            ));
        }
        Ok(SlotBounds { first, last, crowded })
    }

    /// Returns the first of these blocks whose key is at least `target`, or the block after them.
    fn bisect(&self, body: &Body<'_>, blocks: Range<usize>, target: F) -> Result<usize> {
        let Range { start: mut first, end: mut last } = blocks;
        while first < last {
            let middle = first + (last - first) / 2;
            if self.key(body, middle)? < target {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        Ok(first)
    }

    /// Checks that the directory matches the keys.
    pub(super) fn check(&self, body: &Body<'_>) -> Result<()> {
        let mut keys = Vec::with_capacity(self.blocks);
        for block in 0..self.blocks {
            keys.push(self.key(body, block)?);
        }
        let mut expected = Vec::with_capacity(self.keys - self.directory);
        put_directory(self.blocks, keys.into_iter(), &mut expected)?;
        if body.bytes(self.directory, expected.len())? != expected {
            return Err(body.corruption(self.directory, "the directory does not match the keys"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::header::{FileHeader, FileKind};
    use crate::paged::{PagedFile, PagedWriter};
    use crate::storage::{Sim, Storage};

    fn directory<F: Fingerprint>(keys: &[F]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_directory(keys.len(), keys.iter().copied(), &mut bytes).unwrap();
        bytes
    }

    /// Writes a file that has only this directory and the keys.
    fn write_file<F: Fingerprint>(mut bytes: Vec<u8>, keys: &[F]) -> (PagedFile, Index<F>) {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let header = FileHeader {
            kind: FileKind::Table,
            bits: F::BITS,
            part: 0,
            file_id: 1,
            database_id: 2,
        };
        let mut writer = PagedWriter::create(&*sim, "i", &header).unwrap();
        writer.align(SLOT_LEN).unwrap();
        let index = Index::new(keys.len(), SLOT_LEN).unwrap();
        keys.iter().for_each(|&key| bytes.put_fingerprint(key));
        assert_eq!(bytes.len(), index.len());
        writer.write(&bytes).unwrap();
        let summary = writer.finish(&[]).unwrap();
        (PagedFile::open(&*sim, "i", &header, summary.len).unwrap(), index)
    }

    /// Checks lookups of every kind, and that `crowded` slots are crowded.
    fn check_lookups<F: Fingerprint>(keys: &[F], crowded: usize) {
        let (file, index) = write_file(directory(keys), keys);
        let body = file.body();
        index.check(&body).unwrap();
        let of_range = |low: F, high: F| {
            let first = keys.partition_point(|&key| key < low);
            first..(keys.partition_point(|&key| key < high) + 1).min(keys.len())
        };
        let slots = 0..1usize << index.depth;
        let is_crowded = |slot: &usize| {
            let bytes = body.bytes(index.directory + slot * SLOT_LEN, 8).unwrap();
            bytes[4..] == CROWDED.to_le_bytes()
        };
        assert_eq!(slots.filter(is_crowded).count(), crowded);
        let mut targets = vec![F::ZERO, F::MAX];
        for &key in keys {
            targets.extend([key, key.wrapping_sub(F::ONE), key.wrapping_add(F::ONE), !key]);
        }
        for target in targets {
            let first = keys.partition_point(|&key| key < target);
            assert_eq!(index.first_at_least(&body, target).unwrap(), first);
            for depth in 0..=F::BITS {
                let mask = F::prefix_mask(depth);
                let (low, high) = (target & mask, target | !mask);
                let (found, needed) =
                    (index.blocks(&body, low, high).unwrap(), of_range(low, high));
                assert!(found.start <= needed.start && needed.end <= found.end);
                assert!(found.end <= keys.len());
                // There may be more blocks only if keys agree in all bits that slots store.
                let agrees = |&key: &F| {
                    (slot_of(key, index.depth) == slot_of(target, index.depth))
                        && (key_part(key, index.depth) == key_part(low, index.depth)
                            || key_part(key, index.depth) == key_part(high, index.depth))
                };
                let more = found.len() - needed.len();
                assert!(more <= keys.iter().filter(|key| agrees(key)).count());
            }
        }
    }

    #[test]
    fn blocks_are_found_for_even_crowded_and_similar_keys_at_both_widths() {
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let even = |count| {
            let mut keys: Vec<u64> = (0..count).map(spread).collect();
            keys.sort_unstable();
            keys
        };
        for count in [0, 1, 2, 13, 14, 200, 500] {
            check_lookups(&even(count), 0);
        }
        // As many keys as fit into a slot, one more, and two such slots.
        let run = |count: u64| (0..count).map(|i| 5 << 60 | i << 30);
        check_lookups(&run(15).collect::<Vec<u64>>(), 0);
        check_lookups(&run(16).collect::<Vec<u64>>(), 1);
        check_lookups(&run(13).chain(run(13).map(|key| key | 1 << 63)).collect::<Vec<u64>>(), 0);
        // Keys that are equal in the bits that slots store, and keys whose stored bits are all
        // ones.
        check_lookups(&(7 << 40..(7 << 40) + 11).collect::<Vec<u64>>(), 0);
        check_lookups(&[1, u64::MAX - (1 << 33) - 1, u64::MAX - (1 << 33)], 0);
        check_lookups(&[1, u64::MAX - 5, u64::MAX], 1);
        let mut wide: Vec<u128> =
            even(200).iter().map(|&v| u128::from(v) << 64 | u128::from(spread(v))).collect();
        wide.extend((0..20).map(|i| u128::MAX - (i << 20)));
        wide.sort_unstable();
        check_lookups(&wide, 1);
    }

    #[test]
    fn directory_slot_is_written_as_in_the_format_example() {
        let bytes = crate::format_example::example("cell");
        let keys: [u64; 4] =
            [0x1000_0000_0000_0000, 0x2468_acf0_0000_00ff, 0x2468_acf1_ffff_ffff, !(2 << 32)];
        let slot = directory(&keys);
        assert_eq!(slot[..bytes.len()], bytes);
        assert_eq!(slot[bytes.len()..], bytes[bytes.len() - 4..].repeat(10));
    }

    #[test]
    fn slot_that_refers_to_missing_blocks_is_damage() {
        let even: Vec<u64> = (0..56).map(|i| i << 58).collect();
        let crowd: Vec<u64> = (0..40).map(|i| i << 30).collect();
        for (keys, place, words) in [
            (&even, 0, &[49u32, 57, u32::MAX][..]),
            (&crowd, 0, &[41]),
            (&crowd, 2, &[41, u32::MAX]),
        ] {
            for word in words {
                let mut bytes = directory(keys);
                bytes[4 * place..][..4].copy_from_slice(&word.to_le_bytes());
                let (file, index) = write_file(bytes, keys);
                let body = file.body();
                assert!(index.check(&body).is_err());
                // After all keys of the first slot.
                assert!(index.first_at_least(&body, u64::MAX >> 3).is_err(), "{place} {word}");
                assert!(
                    index.blocks(&body, u64::MAX >> 4, u64::MAX >> 3).is_err(),
                    "{place} {word}"
                );
            }
        }
    }
}
