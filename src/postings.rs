//! Postings: the ids of each fingerprint, in the order of table 0. There is one id group per block
//! of table 0, so the place of a fingerprint is also the place of its ids.
//!
//! Ids are read only for matches. storage-format.md, "Postings".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cmp::Ordering;
use std::ops::Range;

use crate::codec::bits::{BitReader, BitWriter};
use crate::codec::bytes::{Fields, PutFields};
use crate::codec::header::FileHeader;
use crate::error::{Error, Result};
use crate::fingerprint::DocId;
use crate::inspection::Inspection;
use crate::paged::{FileSummary, PagedFile, PagedWriter};
use crate::storage::Storage;

/// Bytes at the start of an id group: the width of counts, the width of ids, the lowest id.
const HEAD_LEN: usize = 1 + 1 + 8;

/// Returns the number of bits that hold every value up to `greatest`, inclusive.
fn width_of(greatest: u64) -> u32 {
    u64::BITS - greatest.leading_zeros()
}

/// Writes postings as a stream: the fingerprints in the order of table 0, each with its ascending
/// ids.
#[derive(Debug)]
pub(crate) struct PostingsBuilder {
    writer: PagedWriter,
    /// The offset of each id group.
    offsets: Vec<u8>,
    /// The number of ids of each fingerprint in the open id group.
    counts: Vec<u64>,
    /// The ids of the open id group.
    ids: Vec<u64>,
    /// The encoded bytes of an id group.
    encoded: Vec<u8>,
    bits: BitWriter,
    entries: u64,
}

impl PostingsBuilder {
    /// Creates the file.
    pub(crate) fn create(storage: &dyn Storage, name: &str, header: &FileHeader) -> Result<Self> {
        let writer = PagedWriter::create(storage, name, header)?;
        let (offsets, counts, ids) = (Vec::new(), Vec::new(), Vec::new());
        let (encoded, bits) = (Vec::new(), BitWriter::default());
        Ok(Self { writer, offsets, counts, ids, encoded, bits, entries: 0 })
    }

    /// Begins the ids of the next fingerprint. `new_block` says whether table 0 began a new block
    /// for it.
    #[inline]
    pub(crate) fn next_fingerprint(&mut self, new_block: bool) -> Result<()> {
        if new_block {
            self.end_group()?;
        }
        self.counts.push(0);
        Ok(())
    }

    /// Adds an id, greater than the previous one, to the current fingerprint.
    #[inline]
    pub(crate) fn push(&mut self, id: DocId) {
        if let Some(count) = self.counts.last_mut() {
            *count += 1;
            self.ids.push(id.0);
            self.entries += 1;
        }
    }

    /// Returns the number of entries so far.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Encodes and writes the open id group.
    fn end_group(&mut self) -> Result<()> {
        self.offsets.put_u64(self.writer.position());
        let base = self.ids.iter().copied().min().unwrap_or(0);
        let id_width = width_of(self.ids.iter().copied().max().unwrap_or(0) - base);
        let most = self.counts.iter().copied().max().unwrap_or(1);
        let count_width = width_of(most.saturating_sub(1));
        let encoded = &mut self.encoded;
        encoded.clear();
        encoded.put_u8(u8::try_from(count_width).unwrap_or(0));
        encoded.put_u8(u8::try_from(id_width).unwrap_or(0));
        encoded.put_u64(base);
        if count_width > 0 {
            self.counts.iter().for_each(|count| self.bits.put(count - 1, count_width));
        }
        self.ids.iter().for_each(|id| self.bits.put(id - base, id_width));
        self.bits.drain_to(encoded);
        self.counts.clear();
        self.ids.clear();
        self.writer.write(encoded)
    }

    /// Writes the last id group, the offsets and the footer. The file's bytes are durable
    /// afterwards.
    pub(crate) fn finish(mut self) -> Result<FileSummary> {
        if !self.counts.is_empty() {
            self.end_group()?;
        }
        let offsets_at = self.writer.position();
        self.offsets.put_u64(offsets_at);
        self.writer.write(&self.offsets)?;
        let mut meta = Vec::new();
        meta.put_u64(self.entries);
        meta.put_u64((self.offsets.len() / 8 - 1) as u64);
        meta.put_u64(offsets_at);
        self.writer.finish(&meta)
    }
}

/// An open file of postings.
#[derive(Debug)]
pub(crate) struct Postings {
    file: PagedFile,
    entries: u64,
    groups: usize,
    offsets_at: usize,
}

impl Postings {
    /// Opens the file; reads only its header and footer.
    pub(crate) fn open(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        len: u64,
    ) -> Result<Self> {
        let file = PagedFile::open(storage, name, header, len)?;
        let mut meta = file.meta();
        let entries = meta.u64("entry count")?;
        let groups = usize::try_from(meta.u64("number of id groups")?).unwrap_or(usize::MAX);
        let offsets_at = usize::try_from(meta.u64("offsets")?).unwrap_or(usize::MAX);
        meta.finish("postings footer")?;
        let ends = groups.checked_add(1).and_then(|n| n.checked_mul(8));
        file.expect_body_end(ends.and_then(|len| offsets_at.checked_add(len)))?;
        file.load_if_cold(offsets_at, ends.unwrap_or(0))?;
        Ok(Self { file, entries, groups, offsets_at })
    }

    /// Returns the number of entries: the ids of all fingerprints.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the number of id groups, which is the number of blocks of table 0.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// Returns the offsets at which an id group begins and ends.
    fn place(&self, block: usize) -> Result<Range<usize>> {
        let at = self.offsets_at.saturating_add(block.saturating_mul(8));
        let mut offsets = Fields::new(self.file.bytes(at, 16)?, at as u64);
        let start = usize::try_from(offsets.u64("offset of an id group")?).unwrap_or(usize::MAX);
        let end = usize::try_from(offsets.u64("end of an id group")?).unwrap_or(usize::MAX);
        if start > end {
            return Err(self.file.corruption(at, "an id group ends before it begins"));
        }
        Ok(start..end)
    }

    /// Returns the ids of a block of table 0 that has `fingerprints` fingerprints.
    pub(crate) fn id_group(&self, block: usize, fingerprints: usize) -> Result<IdGroup<'_>> {
        let place = self.place(block)?;
        IdGroup::open(self.file.bytes(place.start, place.len())?, fingerprints)
            .map_err(|e| e.at_path(self.file.path()).at_offset(place.start as u64))
    }

    /// Prefetches the ids of these blocks of table 0 if the file is cold.
    pub(crate) fn prefetch(&self, blocks: Range<usize>) -> Result<()> {
        if self.file.is_cold() && !blocks.is_empty() {
            let (start, end) = (self.place(blocks.start)?.start, self.place(blocks.end - 1)?.end);
            self.file.prefetch(start, end.saturating_sub(start));
        }
        Ok(())
    }

    /// Reads the entire file and checks its checksums. Returns whether it is sound.
    pub(crate) fn verify_file(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<bool> {
        self.file.verify(expected, inspection)
    }

    /// Checks every id group strictly. `fingerprints_in` returns the number of fingerprints in a
    /// block of table 0. Both files must be sound, so that damage is not reported twice.
    pub(crate) fn verify_groups(
        &self,
        fingerprints_in: impl Fn(usize) -> Result<usize>,
        inspection: &mut Inspection<'_>,
    ) {
        let found = inspection.found();
        let mut entries = 0u64;
        for block in 0..self.groups {
            let checked = fingerprints_in(block).and_then(|n| {
                let group = self.id_group(block, n)?;
                entries += group.total;
                for index in 0..n {
                    let ids: Vec<DocId> = group.ids(index).collect();
                    if ids.is_empty() || !ids.is_sorted_by(|a, b| a < b) {
                        let message = "the ids of a fingerprint do not ascend";
                        return Err(self.file.corruption(0, message));
                    }
                }
                Ok(())
            });
            if let Err(error) = checked {
                inspection.report(error);
            }
        }
        if entries != self.entries && inspection.found() == found {
            let message = "the id groups do not hold as many ids as the footer says";
            inspection.report(self.file.corruption(0, message));
        }
    }

    /// Returns all bytes of the file, for a copy.
    pub(crate) fn raw(&self) -> &[u8] {
        self.file.raw()
    }

    /// Returns the memory used in addition to the map, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.file.memory()
    }
}

/// Bits that are read at a time.
const BITS_PER_LOAD: u32 = 57;

/// The ids of the fingerprints of one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdGroup<'a> {
    bytes: &'a [u8],
    fingerprints: usize,
    count_width: u32,
    id_width: u32,
    base: u64,
    total: u64,
}

impl<'a> IdGroup<'a> {
    fn open(bytes: &'a [u8], fingerprints: usize) -> Result<Self> {
        let mut head = Fields::new(bytes, 0);
        let count_width = u32::from(head.u8("count width")?);
        let id_width = u32::from(head.u8("id width")?);
        let base = head.u64("lowest id")?;
        // The ids of a fingerprint differ. If ids have no bits, each fingerprint has exactly one.
        if count_width > 64 || id_width > 64 || (id_width == 0 && count_width > 0) {
            return Err(Error::corruption("an id group has widths that are not allowed"));
        }
        let mut group = Self { bytes, fingerprints, count_width, id_width, base, total: 0 };
        group.total = group.count_before(fingerprints);
        let bits = (fingerprints as u64)
            .saturating_mul(u64::from(count_width))
            .saturating_add(group.total.saturating_mul(u64::from(id_width)));
        if bits.div_ceil(8) != head.remaining() as u64 {
            return Err(Error::corruption("the length of an id group does not match its counts"));
        }
        Ok(group)
    }

    /// Returns the number of ids of the first `index` fingerprints.
    fn count_before(&self, index: usize) -> u64 {
        if self.count_width == 0 {
            return index as u64;
        }
        let width = self.count_width;
        // As many fields as one load provides. Their order does not matter for the sum.
        let per_load = (BITS_PER_LOAD / width).max(1);
        let mask = u64::MAX >> (64 - width);
        let mut counts = BitReader::new(self.bytes, HEAD_LEN * 8);
        let mut sum = index as u64;
        let mut left = index;
        while left > 0 {
            let fields = u32::try_from(left).map_or(per_load, |left| left.min(per_load));
            let mut word = counts.take(fields * width);
            for _ in 0..fields {
                sum = sum.saturating_add(word & mask);
                word = word.checked_shr(width).unwrap_or(0);
            }
            left -= fields as usize;
        }
        sum
    }

    /// Returns the number of ids of the fingerprint at place `index`.
    fn count_at(&self, index: usize) -> u64 {
        let mut counts = BitReader::new(self.bytes, HEAD_LEN * 8);
        counts.skip_fields(index, self.count_width);
        counts.take(self.count_width).saturating_add(1)
    }

    /// Returns whether the fingerprint at place `index` has this id. This is a binary search,
    /// because a fingerprint may have very many ids.
    pub(crate) fn contains(&self, index: usize, id: DocId) -> bool {
        let ids = self.ids(index);
        let (mut low, mut high) = (0, ids.left);
        while low < high {
            let middle = low + (high - low) / 2;
            match ids.get(middle).cmp(&id) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return true,
                Ordering::Greater => high = middle,
            }
        }
        false
    }

    /// Passes every id and the place of its fingerprint to `visit`, in order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize, DocId)) {
        let mut counts = BitReader::new(self.bytes, HEAD_LEN * 8);
        let counts_end = HEAD_LEN * 8 + self.fingerprints * self.count_width as usize;
        let mut ids = BitReader::new(self.bytes, counts_end);
        for index in 0..self.fingerprints {
            let more = if self.count_width == 0 { 0 } else { counts.take(self.count_width) };
            for _ in 0..=more {
                visit(index, DocId(self.base.wrapping_add(ids.take(self.id_width))));
            }
        }
    }

    /// Returns the ids of the fingerprint at place `index`, ascending. They are decoded lazily.
    pub(crate) fn ids(&self, index: usize) -> Ids<'a> {
        let before = self.count_before(index);
        let counts_end = HEAD_LEN * 8 + self.fingerprints * self.count_width as usize;
        let skipped = usize::try_from(before).unwrap_or(usize::MAX);
        let position = counts_end.saturating_add(skipped.saturating_mul(self.id_width as usize));
        Ids {
            bits: BitReader::new(self.bytes, position),
            left: self.count_at(index),
            id_width: self.id_width,
            base: self.base,
        }
    }
}

/// An iterator over the ids of one fingerprint, ascending.
#[derive(Debug, Clone)]
pub(crate) struct Ids<'a> {
    bits: BitReader<'a>,
    left: u64,
    id_width: u32,
    base: u64,
}

impl Ids<'_> {
    /// Returns the id at index `index` of those left.
    fn get(&self, index: u64) -> DocId {
        let skipped = usize::try_from(index).unwrap_or(usize::MAX);
        let mut bits = self.bits.clone();
        bits.skip_fields(skipped, self.id_width);
        DocId(self.base.wrapping_add(bits.take(self.id_width)))
    }
}

impl Iterator for Ids<'_> {
    type Item = DocId;

    fn next(&mut self) -> Option<DocId> {
        self.left = self.left.checked_sub(1)?;
        Some(DocId(self.base.wrapping_add(self.bits.take(self.id_width))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::header::FileKind;
    use crate::storage::Sim;

    const HEADER: FileHeader =
        FileHeader { kind: FileKind::Postings, bits: 64, part: 0, file_id: 1, database_id: 2 };

    /// The ids of each fingerprint of each block.
    type Blocks = Vec<Vec<Vec<u64>>>;

    fn round_trip(blocks: &Blocks) {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let mut builder = PostingsBuilder::create(&*sim, "p", &HEADER).unwrap();
        for (b, block) in blocks.iter().enumerate() {
            for (i, ids) in block.iter().enumerate() {
                builder.next_fingerprint(b > 0 && i == 0).unwrap();
                ids.iter().for_each(|&id| builder.push(DocId(id)));
            }
        }
        let summary = builder.finish().unwrap();
        let postings = Postings::open(&*sim, "p", &HEADER, summary.len).unwrap();
        let mut inspection = Inspection::new(None);
        assert!(postings.verify_file(summary, &mut inspection).unwrap());
        postings.verify_groups(|b| Ok(blocks[b].len()), &mut inspection);
        assert_eq!(inspection.found(), 0);
        assert_eq!(postings.entries(), blocks.iter().flatten().flatten().count() as u64);
        for (b, block) in blocks.iter().enumerate() {
            let group = postings.id_group(b, block.len()).unwrap();
            for (i, ids) in block.iter().enumerate() {
                assert_eq!(group.ids(i).map(|id| id.0).collect::<Vec<_>>(), *ids);
                for &id in ids.iter().take(20).chain(ids.last()) {
                    assert!(group.contains(i, DocId(id)));
                    let next = id.wrapping_add(1);
                    assert_eq!(group.contains(i, DocId(next)), ids.contains(&next));
                }
            }
            if block.iter().flatten().any(|id| *id != block[0][0]) {
                assert!(postings.id_group(b, block.len() + 9).is_err(), "another table's block");
            }
        }
    }

    #[test]
    fn several_ids_per_fingerprint_of_zero_bits_are_rejected() {
        let mut endless = vec![64, 0];
        endless.put_u64(5);
        endless.extend([0xff; 8]);
        assert!(IdGroup::open(&endless, 1).is_err());
        let one_each = [0, 0, 5, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(IdGroup::open(&one_each, 3).unwrap().ids(2).collect::<Vec<_>>(), [DocId(5)]);
    }

    #[test]
    fn ids_round_trip_in_id_groups_of_every_shape() {
        round_trip(&vec![]);
        round_trip(&vec![vec![vec![0]]]);
        round_trip(&vec![vec![vec![u64::MAX]], vec![vec![0, u64::MAX], vec![5]]]);
        round_trip(&vec![vec![vec![7], vec![3], vec![9]], vec![vec![1_000_000_007]; 3]]);
        round_trip(&vec![vec![vec![4], (10..5000).collect(), vec![2, 3]], vec![vec![1]]]);
    }
}
