//! The index of a table: which block may hold a fingerprint.
//!
//! Keys, the last fingerprint of each block, and over them a directory: for each value of their
//! leading bits a cell, which has the keys that begin with it, cut short, in one line of the
//! processor's caches. So a look-up waits for one line, however many blocks there are; where
//! fingerprints crowd behind one prefix it bisects the keys. (The paper, section 3.2, interpolates
//! over the keys: as few steps on even data, but more misses of the cache, one waiting for the other.)

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;
use std::ops::Range;

use crate::codec::bytes::PutFields;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::paged::Body;

/// Bytes of a cell.
const CELL: usize = 64;

/// Keys that a cell has room for.
const ROOM: usize = 15;

/// Most keys of a cell on average: few enough that on even data hardly any has more than there is
/// room for.
const USUAL: usize = 13;

/// Of a key's bits behind those of the cell so many are in it: what signed words compare.
const KEPT: u32 = 31;

/// In place of a key where there is none; no key in a cell is equal.
const NONE: u32 = !0 >> (32 - KEPT);

/// In place of the first key: only the keys themselves tell more.
const CROWDED: u32 = !0;

/// Where keys and directory lie in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Index<F> {
    blocks: usize,
    directory: usize,
    keys: usize,
    /// Leading bits that the directory tells apart.
    depth: u32,
    width: PhantomData<F>,
}

/// So many that a cell has its usual number of keys, or at least half of it.
fn depth_for(blocks: usize) -> u32 {
    blocks.div_ceil(USUAL).next_power_of_two().trailing_zeros()
}

/// The number of the cell: the `depth` leading bits.
#[inline(always)]
fn cell_of<F: Fingerprint>(fingerprint: F, depth: u32) -> usize {
    // In two shifts: one of all 64 bits cannot be.
    (fingerprint.top64() >> 1 >> (63 - depth)) as usize
}

/// What a cell keeps of a key: the bits behind the `depth` leading ones.
#[inline(always)]
fn kept<F: Fingerprint>(fingerprint: F, depth: u32) -> u32 {
    (fingerprint.top64() << depth >> (64 - KEPT)) as u32
}

/// Appends the directory of these keys, ascending and `blocks` of them.
pub(super) fn put_directory<F: Fingerprint>(
    blocks: usize,
    keys: impl Iterator<Item = F>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let depth = depth_for(blocks);
    if u32::try_from(blocks).is_err() {
        return Err(Error::invalid(format!("{blocks} blocks are too many for one table")));
    }
    let (mut keys, mut before) = (keys.peekable(), 0u32);
    for cell in 0..1 << depth {
        let (mut few, mut count, mut crowded) = ([NONE; ROOM], 0, false);
        while let Some(key) = keys.next_if(|&key| cell_of(key, depth) == cell) {
            let kept = kept(key, depth);
            match few.get_mut(count) {
                Some(place) if kept != NONE => *place = kept,
                _ => crowded = true,
            }
            count += 1;
        }
        out.put_u32(before);
        before += u32::try_from(count).unwrap_or(0);
        if crowded {
            few = [0; ROOM];
            let [mark, end, ..] = &mut few;
            (*mark, *end) = (CROWDED, before);
        }
        few.into_iter().for_each(|kept| out.put_u32(kept));
    }
    Ok(())
}

/// What a cell tells of a range in it: the first block whose key is at least the lowest value is not
/// before `first`, and the first whose key is at least the highest not behind `last`. Either may be one
/// behind all blocks.
struct Seen {
    first: usize,
    last: usize,
    /// They are the cell's ends, and may lie far apart.
    crowded: bool,
}

impl<F: Fingerprint> Index<F> {
    /// The index of so many blocks, its directory from `offset` on; `None` if that is beyond all
    /// files.
    pub(super) fn new(blocks: usize, offset: usize) -> Option<Self> {
        let depth = depth_for(u32::try_from(blocks).ok()? as usize);
        let keys = offset.checked_add(CELL << depth)?;
        keys.checked_add(blocks.checked_mul(F::BYTES)?)?;
        Some(Self { blocks, directory: offset, keys, depth, width: PhantomData })
    }

    /// Where it begins in the file.
    pub(super) fn start(&self) -> usize {
        self.directory
    }

    /// Where it ends in the file.
    pub(super) fn end(&self) -> usize {
        self.keys + self.blocks * F::BYTES
    }

    /// Bytes of directory and keys.
    pub(super) fn len(&self) -> usize {
        self.end() - self.directory
    }

    /// Number of blocks.
    pub(super) fn count(&self) -> usize {
        self.blocks
    }

    /// The key of a block.
    #[inline(always)]
    pub(super) fn key(&self, body: &Body<'_>, block: usize) -> Result<F> {
        let offset = self.keys.saturating_add(block.saturating_mul(F::BYTES));
        let bytes = body.bytes(offset, F::BYTES)?;
        F::read_le(bytes).ok_or_else(|| body.corruption(offset, "key cut short"))
    }

    /// Fetches the cell of `target` ahead.
    #[inline(always)]
    pub(super) fn prefetch(&self, body: &Body<'_>, target: F) {
        body.prefetch(self.directory + cell_of(target, self.depth) * CELL);
    }

    /// The first block whose key is at least `target`; the number of blocks if there is none.
    pub(super) fn first_at_least(&self, body: &Body<'_>, target: F) -> Result<usize> {
        let cell = cell_of(target, self.depth);
        let Seen { first, last, .. } = self.see(body, cell, target, target)?;
        self.bisect(body, first..last, target)
    }

    /// The blocks that hold what there is from `low` to `high`, and seldom others beside them.
    #[inline(always)]
    pub(super) fn blocks(&self, body: &Body<'_>, low: F, high: F) -> Result<Range<usize>> {
        let cell = cell_of(low, self.depth);
        if cell == cell_of(high, self.depth) {
            let Seen { first, last, crowded } = self.see(body, cell, low, high)?;
            if !crowded {
                return Ok(first..(last + 1).min(self.blocks));
            }
        }
        self.exactly(body, low, high)
    }

    /// The blocks that hold what there is from `low` to `high`, as the keys tell.
    #[inline(never)]
    fn exactly(&self, body: &Body<'_>, low: F, high: F) -> Result<Range<usize>> {
        let first = self.first_at_least(body, low)?;
        let last = self.first_at_least(body, high)?;
        Ok(first..(last + 1).min(self.blocks))
    }

    /// Reads the cell, in which are `low` and `high`.
    ///
    /// All its words are compared, however many count: a processor would often guess wrong where to
    /// stop.
    #[inline(always)]
    fn see(&self, body: &Body<'_>, cell: usize, low: F, high: F) -> Result<Seen> {
        let offset = self.directory + cell * CELL;
        let bytes: &[u8; CELL] = body.bytes(offset, CELL)?.first_chunk().unwrap_or(&[0; CELL]);
        let words = bytes.as_chunks().0;
        let [before, mark, end] =
            [0, 1, 2].map(|place| words.get(place).map_or(0, |&word| u32::from_le_bytes(word)));
        let [least, most, before_signed] =
            [kept(low, self.depth), kept(high, self.depth).min(NONE - 1), before]
                .map(u32::cast_signed);
        // The first word is no key: what it adds is taken off again.
        let mut less = -i32::from(before_signed < least);
        let mut not_above = -i32::from(before_signed <= most);
        for &word in words {
            let key = i32::from_le_bytes(word);
            less += i32::from(key < least);
            not_above += i32::from(key <= most);
        }
        let crowded = mark == CROWDED;
        let first = before as usize;
        let behind = |keys: i32| first.wrapping_add_signed(keys as isize);
        let (first, last) =
            if crowded { (first, end as usize) } else { (behind(less), behind(not_above)) };
        if first > last || last > self.blocks {
            return Err(body.corruption(offset, "the directory leads to blocks that are not there"));
        }
        Ok(Seen { first, last, crowded })
    }

    /// The first of these blocks whose key is at least `target`, or the one behind them.
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

    /// Whether the directory is that of the keys.
    pub(super) fn check(&self, body: &Body<'_>) -> Result<()> {
        let mut keys = Vec::with_capacity(self.blocks);
        for block in 0..self.blocks {
            keys.push(self.key(body, block)?);
        }
        let mut expected = Vec::with_capacity(self.keys - self.directory);
        put_directory(self.blocks, keys.into_iter(), &mut expected)?;
        if body.bytes(self.directory, expected.len())? != expected {
            return Err(body.corruption(self.directory, "the directory is not that of the keys"));
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

    /// A file with this directory and the keys only.
    fn written<F: Fingerprint>(mut bytes: Vec<u8>, keys: &[F]) -> (PagedFile, Index<F>) {
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
        writer.align(CELL).unwrap();
        let index = Index::new(keys.len(), CELL).unwrap();
        keys.iter().for_each(|&key| bytes.put_fingerprint(key));
        assert_eq!(bytes.len(), index.len());
        writer.write(&bytes).unwrap();
        let summary = writer.finish(&[]).unwrap();
        (PagedFile::open(&*sim, "i", &header, summary.len).unwrap(), index)
    }

    fn blocks_are_found<F: Fingerprint>(keys: &[F], crowded: usize) {
        let (file, index) = written(directory(keys), keys);
        let body = file.body();
        index.check(&body).unwrap();
        let of_range = |low: F, high: F| {
            let first = keys.partition_point(|&key| key < low);
            first..(keys.partition_point(|&key| key < high) + 1).min(keys.len())
        };
        let cells = 0..1usize << index.depth;
        let is_crowded = |cell: &usize| {
            let bytes = body.bytes(index.directory + cell * CELL, 8).unwrap();
            bytes[4..] == CROWDED.to_le_bytes()
        };
        assert_eq!(cells.filter(is_crowded).count(), crowded);
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
                // More only where keys agree in all that cells keep.
                let agrees = |&key: &F| {
                    (cell_of(key, index.depth) == cell_of(target, index.depth))
                        && (kept(key, index.depth) == kept(low, index.depth)
                            || kept(key, index.depth) == kept(high, index.depth))
                };
                let more = found.len() - needed.len();
                assert!(more <= keys.iter().filter(|key| agrees(key)).count());
            }
        }
    }

    #[test]
    fn even_crowded_and_equal_looking_keys_lead_to_their_blocks_at_both_widths() {
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let even = |count| {
            let mut keys: Vec<u64> = (0..count).map(spread).collect();
            keys.sort_unstable();
            keys
        };
        for count in [0, 1, 2, 13, 14, 200, 500] {
            blocks_are_found(&even(count), 0);
        }
        // As many as a cell has room for, one more, and two such cells.
        let run = |count: u64| (0..count).map(|i| 5 << 60 | i << 30);
        blocks_are_found(&run(15).collect::<Vec<u64>>(), 0);
        blocks_are_found(&run(16).collect::<Vec<u64>>(), 1);
        blocks_are_found(&run(13).chain(run(13).map(|key| key | 1 << 63)).collect::<Vec<u64>>(), 0);
        // The same in what cells keep, and all ones in it.
        blocks_are_found(&(7 << 40..(7 << 40) + 11).collect::<Vec<u64>>(), 0);
        blocks_are_found(&[1, u64::MAX - (1 << 33) - 1, u64::MAX - (1 << 33)], 0);
        blocks_are_found(&[1, u64::MAX - 5, u64::MAX], 1);
        let mut wide: Vec<u128> =
            even(200).iter().map(|&v| u128::from(v) << 64 | u128::from(spread(v))).collect();
        wide.extend((0..20).map(|i| u128::MAX - (i << 20)));
        wide.sort_unstable();
        blocks_are_found(&wide, 1);
    }

    #[test]
    fn the_example_of_the_format_is_what_is_written() {
        let bytes = crate::format_example::example("cell");
        let keys: [u64; 4] =
            [0x1000_0000_0000_0000, 0x2468_acf0_0000_00ff, 0x2468_acf1_ffff_ffff, !(2 << 32)];
        let written = directory(&keys);
        assert_eq!(written[..bytes.len()], bytes);
        assert_eq!(written[bytes.len()..], bytes[bytes.len() - 4..].repeat(10));
    }

    #[test]
    fn a_cell_that_leads_nowhere_is_damage() {
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
                let (file, index) = written(bytes, keys);
                let body = file.body();
                assert!(index.check(&body).is_err());
                // Behind all of the first cell's keys.
                assert!(index.first_at_least(&body, u64::MAX >> 3).is_err(), "{place} {word}");
                assert!(
                    index.blocks(&body, u64::MAX >> 4, u64::MAX >> 3).is_err(),
                    "{place} {word}"
                );
            }
        }
    }
}
