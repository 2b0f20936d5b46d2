//! The index of a table: which block may hold a fingerprint.
//!
//! The index is a directory over the block keys, which are the last fingerprints of the blocks. The
//! directory divides the range of all values into slots of equal width. A slot fills one cache line
//! and holds a part of each key in its range. So a lookup waits for one cache line, no matter how
//! many blocks there are. If a slot has too many keys, or too many that look the same, the
//! *overflow* after the directory holds these keys in full, and the lookup bisects them. (The
//! paper, section 3.2, interpolates over the keys. On even data that takes as few steps, but more
//! cache misses, each of which waits for the one before.)

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;
use std::ops::Range;

use super::directory::{
    Bytes, CROWDED, DirectoryBuilder, MAX_EQUAL, SLOT_LEN, place_of, slots_for,
};
use crate::base::cpu;
use crate::base::error::Result;
use crate::file::paged::Body;
use crate::fingerprint::Word;

/// Most blocks that a lookup of a single value returns.
pub(crate) const MAX_BLOCKS_OF_VALUE: usize = MAX_EQUAL + 1;

/// The places of the directory and the overflow in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Index<F> {
    blocks: usize,
    directory: usize,
    slots: u64,
    /// Number of keys in the overflow.
    overflow: usize,
    width: PhantomData<F>,
}

/// What a slot says about a range within it: the blocks that may hold values of the range are in
/// `first..=last`. Either may be the number of blocks.
struct SlotBounds {
    first: usize,
    last: usize,
    /// If the slot is crowded, these are the bounds of the entire slot and may be far apart. The
    /// keys from `first` on are in the overflow, beginning with this one.
    overflow: Option<usize>,
}

impl<F: Word> Index<F> {
    /// Returns the index of a table with this number of blocks, whose directory begins at `offset`
    /// and whose overflow has `overflow` keys; `None` if that does not fit into the address space.
    pub(super) fn new(blocks: usize, overflow: usize, offset: usize) -> Option<Self> {
        let slots = slots_for(u32::try_from(blocks).ok()?.into());
        let overflow_at = offset.checked_add(usize::try_from(slots).ok()? * SLOT_LEN)?;
        overflow_at.checked_add(overflow.checked_mul(F::BYTES)?)?;
        Some(Self { blocks, directory: offset, slots, overflow, width: PhantomData })
    }

    /// Returns the offset at which the index begins.
    pub(super) fn start(&self) -> usize {
        self.directory
    }

    /// Returns the offset at which the directory ends and the overflow begins.
    fn overflow_at(&self) -> usize {
        self.slot_at(usize::try_from(self.slots).unwrap_or(usize::MAX))
    }

    /// Returns the offset at which the index ends.
    pub(super) fn end(&self) -> usize {
        self.overflow_at() + self.overflow * F::BYTES
    }

    /// Returns the bytes of the directory and the overflow.
    pub(super) fn len(&self) -> usize {
        self.end() - self.directory
    }

    pub(super) fn count(&self) -> usize {
        self.blocks
    }

    /// Returns the offset of a slot.
    #[inline(always)]
    fn slot_at(&self, slot: usize) -> usize {
        self.directory.wrapping_add(slot.wrapping_mul(SLOT_LEN))
    }

    /// Prefetches the slot of `target`.
    #[inline(always)]
    pub(super) fn prefetch(&self, body: &Body<'_>, target: F) {
        body.prefetch(self.slot_at(place_of(target, self.slots).0));
    }

    /// Returns the blocks that hold the fingerprints from `low` to `high`, and rarely other blocks
    /// too. Because the slots do not store keys in full, up to [`MAX_EQUAL`] blocks at the start
    /// may hold only lower fingerprints, and as many at the end only higher ones.
    #[inline(always)]
    pub(super) fn blocks(&self, body: &Body<'_>, low: F, high: F) -> Result<Range<usize>> {
        let (slot, least) = place_of(low, self.slots);
        let (last_slot, most) = place_of(high, self.slots);
        if slot == last_slot {
            let SlotBounds { first, last, overflow } = self.read_slot(body, slot, least, most)?;
            if overflow.is_none() {
                return Ok(first..(last + 1).min(self.blocks));
            }
        }
        self.blocks_of_ends(body, low, high)
    }

    /// Does what [`blocks`](Self::blocks) does if the range is in several slots or a crowded one.
    #[inline(never)]
    fn blocks_of_ends(&self, body: &Body<'_>, low: F, high: F) -> Result<Range<usize>> {
        let (first, last) = self.first_at_least(body, low)?;
        let last = if low == high { last } else { self.first_at_least(body, high)?.1 };
        if first > last {
            return Err(body.corruption(self.directory, "the slots of the directory do not ascend"));
        }
        Ok(first..(last + 1).min(self.blocks))
    }

    /// Returns bounds of the first block whose key is at least `target`. They are equal unless the
    /// slot holds a key with the same part.
    fn first_at_least(&self, body: &Body<'_>, target: F) -> Result<(usize, usize)> {
        let (slot, part) = place_of(target, self.slots);
        let SlotBounds { first, last, overflow } = self.read_slot(body, slot, part, part)?;
        let Some(overflow) = overflow else { return Ok((first, last)) };
        if overflow.saturating_add(last - first) > self.overflow {
            let message = "the directory refers to keys that the overflow does not have";
            return Err(body.corruption(self.slot_at(slot), message));
        }
        let offset = self.overflow_at() + overflow * F::BYTES;
        let keys = body.bytes_of_pages(offset, (last - first) * F::BYTES)?;
        let mut block = first..last;
        while block.start < block.end {
            let middle = block.start + (block.end - block.start) / 2;
            let key = keys.get((middle - first) * F::BYTES..).and_then(F::read_le);
            if key < Some(target) {
                block.start = middle + 1;
            } else {
                block.end = middle;
            }
        }
        Ok((block.start, block.start))
    }

    /// Reads the slot that contains a range of values, given the parts of the lowest and the
    /// highest.
    ///
    /// Compares all parts of the slot, because the processor would often mispredict where to stop.
    #[inline(always)]
    fn read_slot(&self, body: &Body<'_>, slot: usize, least: i16, most: i16) -> Result<SlotBounds> {
        let offset = self.slot_at(slot);
        let bytes: &[u8; SLOT_LEN] =
            body.bytes(offset, SLOT_LEN)?.first_chunk().unwrap_or(&[0; SLOT_LEN]);
        let word = |place: usize| {
            bytes.as_chunks().0.get(place).map_or(0, |&word| u32::from_le_bytes(word))
        };
        // The first two words that are compared are not parts.
        let parts_below = |bound| (cpu::words_below(bytes, bound) >> 2).count_ones() as usize;
        let before = word(0) as usize;
        let crowded = word(1) & 0xffff == u32::from(CROWDED.cast_unsigned());
        let (first, last) = if crowded {
            (before, word(2) as usize)
        } else {
            // `most` is less than the mark of unused places.
            (before + parts_below(least), before + parts_below(most + 1))
        };
        if first > last || last > self.blocks {
            return Err(body.corruption(
                offset,
                "the directory refers to blocks that the table does not have",
            ));
        }
        Ok(SlotBounds { first, last, overflow: crowded.then_some(word(3) as usize) })
    }

    /// Checks that the index is the one that a builder made of the blocks' keys.
    pub(super) fn check(&self, body: &Body<'_>, builder: DirectoryBuilder<F, Bytes>) -> Result<()> {
        let Bytes { directory, overflow } = builder.finish()?;
        let expected = [directory, overflow].concat();
        if body.bytes(self.directory, self.len())? != expected {
            return Err(body.corruption(self.directory, "the directory does not match the blocks"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::codec::header::{FileHeader, FileKind};
    use crate::file::paged::{PagedFile, PagedWriter};
    use crate::file::storage::{Sim, Storage};

    fn builder<F: Word>(keys: &[F]) -> DirectoryBuilder<F, Bytes> {
        let mut builder = DirectoryBuilder::new(keys.len() as u64, Bytes::default()).unwrap();
        keys.iter().for_each(|&key| builder.push(key).unwrap());
        builder
    }

    /// Returns the bytes of an index, and the number of keys in its overflow.
    fn built<F: Word>(keys: &[F]) -> (Vec<u8>, usize) {
        let Bytes { directory, overflow } = builder(keys).finish().unwrap();
        let keys = overflow.len() / F::BYTES;
        ([directory, overflow].concat(), keys)
    }

    /// Writes a file that has only these bytes of an index.
    fn write_file<F: Word>(bytes: &[u8], blocks: usize) -> (PagedFile, Index<F>) {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let header = FileHeader {
            kind: FileKind::Table,
            bits: F::BITS,
            part: 0,
            file_id: 1,
            nonce: 8,
            database_id: 2,
        };
        let mut writer = PagedWriter::create(&*sim, "i", &header).unwrap();
        writer.align(SLOT_LEN).unwrap();
        let directory = Index::<F>::new(blocks, 0, SLOT_LEN).unwrap();
        let overflow = (bytes.len() - directory.len()) / F::BYTES;
        let index = Index::new(blocks, overflow, SLOT_LEN).unwrap();
        assert_eq!(bytes.len(), index.len());
        writer.write(bytes).unwrap();
        let summary = writer.finish(&[]).unwrap();
        (PagedFile::open(&*sim, "i", &header, summary.len).unwrap(), index)
    }

    fn crowded_slots(directory: &[u8], slots: u64) -> usize {
        let slots = directory.chunks(SLOT_LEN).take(usize::try_from(slots).unwrap());
        slots.filter(|slot| slot[4..6] == CROWDED.to_le_bytes()).count()
    }

    /// Checks lookups of every kind, and that `crowded` slots are crowded.
    fn check_lookups<F: Word>(keys: &[F], crowded: usize) {
        let (bytes, overflow) = built(keys);
        let (file, index) = write_file(&bytes, keys.len());
        assert_eq!(index.overflow, overflow);
        assert_eq!(crowded_slots(&bytes, index.slots), crowded);
        let body = file.body();
        index.check(&body, builder(keys)).unwrap();
        let of_range = |low: F, high: F| {
            let first = keys.partition_point(|&key| key < low);
            first..(keys.partition_point(|&key| key < high) + 1).min(keys.len())
        };
        let mut targets = vec![F::ZERO, F::MAX];
        for &key in keys {
            targets.extend([key, key.wrapping_sub(F::ONE), key.wrapping_add(F::ONE), !key]);
        }
        for target in targets {
            for depth in 0..=F::BITS {
                let mask = F::prefix_mask(depth);
                let (low, high) = (target & mask, target | !mask);
                let (found, needed) =
                    (index.blocks(&body, low, high).unwrap(), of_range(low, high));
                assert!(found.start <= needed.start && needed.end <= found.end);
                assert!(found.end <= keys.len());
                // There may be more blocks only if a key has the same part as an end of the range.
                let most: usize = [low, high]
                    .map(|end| {
                        let place = place_of(end, index.slots);
                        let same = keys.iter().filter(|&&key| place_of(key, index.slots) == place);
                        same.count().min(MAX_EQUAL)
                    })
                    .into_iter()
                    .sum();
                assert!(found.len() - needed.len() <= most);
            }
        }
    }

    fn spread(i: u64) -> u64 {
        i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn even(count: u64) -> Vec<u64> {
        let mut keys: Vec<u64> = (0..count).map(spread).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn blocks_are_found_for_even_crowded_and_similar_keys_at_both_widths() {
        for count in [0, 1, 2, 26, 27, 200, 500] {
            check_lookups(&even(count), 0);
        }
        // As many keys as fit into a slot, one more, and two such slots.
        let run = |count: u64| (0..count).map(|i| 5 << 60 | i << 50);
        check_lookups(&run(30).collect::<Vec<u64>>(), 0);
        check_lookups(&run(31).collect::<Vec<u64>>(), 1);
        check_lookups(&run(30).chain(run(30).map(|key| key ^ 1 << 63)).collect::<Vec<u64>>(), 0);
        check_lookups(&run(40).chain(run(40).map(|key| key ^ 1 << 63)).collect::<Vec<u64>>(), 2);
        // Keys with the same part, also with the greatest.
        check_lookups(&[7u64 << 40, (7 << 40) + 1], 0);
        check_lookups(&[7u64 << 40, (7 << 40) + 1, (7 << 40) + 2], 1);
        check_lookups(&[1, u64::MAX - (1 << 48), u64::MAX], 0);
        check_lookups(&[1, u64::MAX - (1 << 49) - 1, u64::MAX - (1 << 48), u64::MAX], 1);
        let mut wide: Vec<u128> =
            even(200).iter().map(|&v| u128::from(v) << 64 | u128::from(spread(v))).collect();
        wide.extend((0..20).map(|i| u128::MAX - (i << 20)));
        wide.sort_unstable();
        check_lookups(&wide, 1);
    }

    #[test]
    fn hardly_any_slot_is_crowded_on_uniform_fingerprints() {
        let mut fingerprints: Vec<u64> =
            (0..400_000).map(|i| spread(i) ^ spread(spread(i) >> 7)).collect();
        fingerprints.sort_unstable();
        // As many fingerprints as in a block of 128 and of 1024 bytes.
        for in_block in [20, 180] {
            let keys: Vec<u64> =
                fingerprints.chunks(in_block).filter_map(|block| block.last().copied()).collect();
            let (bytes, _) = built(&keys);
            let slots = slots_for(keys.len() as u64);
            let crowded = crowded_slots(&bytes, slots);
            assert!(crowded <= usize::try_from(slots).unwrap() / 200, "{crowded} of {slots}");
        }
    }

    #[test]
    fn directory_slot_is_written_as_in_the_format_example() {
        let bytes = crate::format_example::example("slot");
        let keys: [u64; 4] =
            [0x1000_0000_0000_0000, 0x2468_acf0_0000_00ff, 0x2468_acf1_ffff_ffff, !(2 << 32)];
        let (slot, overflow) = built(&keys);
        assert_eq!(overflow, 0);
        assert_eq!(slot[..bytes.len()], bytes);
        assert_eq!(slot[bytes.len()..], bytes[bytes.len() - 2..].repeat(25));
    }
}
