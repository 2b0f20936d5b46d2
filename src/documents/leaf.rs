//! Reading a leaf: some records in key order, on one page unless a single record takes more.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::column::{Column, len_of};
use super::keys::{Damage, Keys, MAX_WIDTH};
use super::{Document, EncodedDocument, flags};
use crate::file::codec::bits::low_word;
use crate::file::paged::PAGE;
use crate::fingerprint::Ids;
use crate::fingerprint::{DocId, Fingerprint};

/// Most records in a leaf: each takes at least a byte.
const MAX_RECORDS: usize = PAGE;
/// Most pages of a leaf or an inner node: enough for one key of the greatest length, each byte of
/// which takes two.
const MAX_PAGES: usize = 33;

pub(super) const CUT_SHORT: Damage = "a leaf or inner node is cut short";
const BAD_HEADER: Damage = "a leaf has a value that is not allowed";
const BAD_BITMAP: Damage = "the bitmaps of a leaf are contradictory";

/// Takes parts off the front of the bytes of a leaf or an inner node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a>(pub(super) &'a [u8]);

impl<'a> Parts<'a> {
    /// Takes the next bytes.
    #[inline(always)]
    pub(super) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Damage> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(bytes)
    }

    #[inline(always)]
    pub(super) fn u8(&mut self) -> Result<u32, Damage> {
        Ok(self.bytes(1)?.first().copied().unwrap_or(0).into())
    }

    #[inline(always)]
    pub(super) fn u16(&mut self) -> Result<usize, Damage> {
        let bytes = self.bytes(2)?.first_chunk().copied();
        Ok(u16::from_le_bytes(bytes.unwrap_or_default()).into())
    }

    #[inline(always)]
    pub(super) fn u64(&mut self) -> Result<u64, Damage> {
        let bytes = self.bytes(8)?.first_chunk().copied();
        Ok(u64::from_le_bytes(bytes.unwrap_or_default()))
    }

    /// Takes a column. It also gets the bytes that follow.
    #[inline(always)]
    pub(super) fn column(
        &mut self,
        count: usize,
        width: u32,
        base: u64,
    ) -> Result<Column<'a>, Damage> {
        let column = Column::new(self.0, width, base);
        self.bytes(len_of(count, width))?;
        Ok(column)
    }
}

/// Which records of a leaf have a property.
#[derive(Debug, Clone, Copy)]
struct Bitmap<'a>(&'a [u8]);

impl Bitmap<'_> {
    fn contains(self, index: usize) -> bool {
        self.0.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// Returns how many of the first `end` records have the property.
    fn count_before(self, end: usize) -> usize {
        let words = end / 64;
        let full: usize =
            (0..words).map(|word| low_word(self.0, word * 8).count_ones() as usize).sum();
        let rest = low_word(self.0, words * 8) & !(u64::MAX << (end % 64));
        full + rest.count_ones() as usize
    }
}

/// Returns which record is the one with `rank` records before it that `count_before` counts.
fn record_of_rank(count: usize, rank: usize, count_before: impl Fn(usize) -> usize) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if count_before(middle + 1) > rank { high = middle } else { low = middle + 1 }
    }
    low
}

/// The records of a leaf.
#[derive(Debug)]
pub(super) struct Leaf<'a> {
    pub(super) keys: Keys<'a>,
    pub(super) pages: usize,
    /// Bytes of the column of lengths.
    lengths_len: usize,
    live: usize,
    removed: Option<Bitmap<'a>>,
    duplicates: Option<Bitmap<'a>>,
    /// `None` if all live records have a stamp, or none has one.
    stamped: Option<Bitmap<'a>>,
    /// In a database with names.
    ids: Option<Column<'a>>,
    originals: Column<'a>,
    stamps: Option<Column<'a>>,
    fingerprints: &'a [u8],
    /// Bytes of a fingerprint.
    width: usize,
}

/// Returns the number of pages of the leaf or inner node that begins with these bytes.
#[inline]
pub(super) fn pages_of(bytes: &[u8]) -> Result<usize, Damage> {
    let mut parts = Parts(bytes);
    parts.u16()?;
    let pages = parts.u16()?;
    if (1..=MAX_PAGES).contains(&pages) { Ok(pages) } else { Err(BAD_HEADER) }
}

impl<'a> Leaf<'a> {
    /// Reads a leaf of fingerprints of `width` bytes. It must have all of these bytes.
    #[inline]
    pub(super) fn read(bytes: &'a [u8], ids: Ids, width: usize) -> Result<Self, Damage> {
        let mut parts = Parts(bytes);
        let (count, pages) = (parts.u16()?, parts.u16()?);
        let flags = parts.u8()?;
        let widths = (parts.u8()?, parts.u8()?);
        if widths.0 > MAX_WIDTH
            || widths.1 > MAX_WIDTH
            || !(1..=MAX_RECORDS).contains(&count)
            || pages * PAGE != bytes.len()
            || (pages > 1 && count > 1)
            || flags & !flags::ALL != 0
        {
            return Err(BAD_HEADER);
        }
        let (id_width, least_id) = parts.base(ids == Ids::Names)?;
        let (original_width, least_original) = parts.base(flags & flags::DUPLICATES != 0)?;
        let (stamp_width, least_stamp) = parts.base(flags & flags::STAMPS != 0)?;

        let bitmap = |parts: &mut Parts<'a>, flag| parts.bitmap(flags & flag != 0, count);
        let removed = bitmap(&mut parts, flags::REMOVED)?;
        let duplicates = bitmap(&mut parts, flags::DUPLICATES)?;
        let stamped = bitmap(&mut parts, flags::SOME_STAMPS)?;
        let in_bitmap =
            |bitmap: Option<Bitmap<'_>>| bitmap.map_or(0, |bitmap| bitmap.count_before(count));
        let live = count - in_bitmap(removed);
        let overlap = |bitmap: Option<Bitmap<'_>>| {
            let pairs = bitmap.zip(removed).into_iter();
            pairs.flat_map(|(a, b)| a.0.iter().zip(b.0)).any(|(a, b)| a & b != 0)
        };
        if overlap(duplicates) || overlap(stamped) {
            return Err(BAD_BITMAP);
        }
        let stamps = match (flags & flags::STAMPS != 0, stamped) {
            (true, Some(_)) => in_bitmap(stamped),
            (true, None) => live,
            (false, None) => 0,
            (false, Some(_)) => return Err(BAD_BITMAP),
        };

        let lengths = parts.0;
        let lengths_len = parts.bytes(len_of(count, widths.0 + widths.1))?.len();
        let id_column = parts.column(live, id_width, least_id)?;
        let originals = parts.column(in_bitmap(duplicates), original_width, least_original)?;
        let stamp_column = parts.column(stamps, stamp_width, least_stamp)?;
        let fingerprints = parts.bytes(live * width)?;
        Ok(Self {
            keys: Keys::new(count, widths, lengths, parts.0),
            pages,
            lengths_len,
            live,
            removed,
            duplicates,
            stamped,
            ids: (ids == Ids::Names).then_some(id_column),
            originals,
            stamps: (flags & flags::STAMPS != 0).then_some(stamp_column),
            fingerprints,
            width,
        })
    }

    /// Returns the bytes that the keys take, given the bytes of their suffixes.
    pub(super) fn keys_len(&self, suffixes: usize) -> usize {
        self.lengths_len + suffixes
    }

    /// Returns what the record at this place says. `key` is its key.
    #[inline]
    pub(super) fn document(
        &self,
        index: usize,
        key: &[u8],
    ) -> Result<Option<EncodedDocument<'a>>, Damage> {
        let rank = match self.removed {
            Some(removed) if removed.contains(index) => return Ok(None),
            Some(removed) => index - removed.count_before(index),
            None => index,
        };
        let (at, width) = (rank * self.width, self.width);
        let fingerprint = self.fingerprints.get(at..at + width);
        let id = match self.ids {
            Some(ids) => ids.get(rank),
            None => key.try_into().map(u64::from_be_bytes).map_err(|_| "a key is not an id")?,
        };
        let original = match self.duplicates {
            Some(duplicates) if duplicates.contains(index) => {
                Some(DocId(self.originals.get(duplicates.count_before(index))))
            }
            _ => None,
        };
        let stamp = self.stamps.and_then(|stamps| match self.stamped {
            Some(stamped) if !stamped.contains(index) => None,
            Some(stamped) => Some(stamps.get(stamped.count_before(index))),
            None => Some(stamps.get(rank)),
        });
        Ok(Some(Document {
            fingerprint: fingerprint.ok_or(CUT_SHORT)?,
            id: DocId(id),
            stamp,
            duplicate_of: original,
        }))
    }

    /// Passes the place and the fingerprint of each original to `visit`, in order.
    #[inline(always)]
    pub(super) fn for_each_original<F: Fingerprint>(&self, mut visit: impl FnMut(usize, F)) {
        let fingerprints = self.fingerprints.chunks_exact(F::BYTES).filter_map(F::read_le);
        match (self.removed, self.duplicates) {
            (None, None) => (0..).zip(fingerprints).for_each(|(index, f)| visit(index, f)),
            (removed, duplicates) => {
                let is_in = |bitmap: Option<Bitmap<'_>>, index| {
                    bitmap.is_some_and(|bitmap| bitmap.contains(index))
                };
                let live = (0..self.keys.count()).filter(|&index| !is_in(removed, index));
                let live = live.zip(fingerprints);
                live.filter(|&(index, _)| !is_in(duplicates, index))
                    .for_each(|(index, f)| visit(index, f));
            }
        }
    }

    /// Returns the place of the live record with this id.
    pub(super) fn find_id(&self, id: DocId) -> Option<usize> {
        let ids = self.ids?;
        let rank = (0..self.live).find(|&rank| ids.get(rank) == id.0)?;
        let removed = |end| self.removed.map_or(0, |removed| removed.count_before(end));
        Some(record_of_rank(self.keys.count(), rank, |end| end - removed(end)))
    }
}

impl<'a> Parts<'a> {
    /// Takes the width and the least number of a column, if it is there.
    #[inline(always)]
    fn base(&mut self, is_there: bool) -> Result<(u32, u64), Damage> {
        if !is_there {
            return Ok((0, 0));
        }
        let (width, least) = (self.u8()?, self.u64()?);
        if width > u64::BITS { Err(BAD_HEADER) } else { Ok((width, least)) }
    }

    /// Takes a bitmap of `count` bits, if it is there. It must not be empty.
    #[inline(always)]
    fn bitmap(&mut self, is_there: bool, count: usize) -> Result<Option<Bitmap<'a>>, Damage> {
        if !is_there {
            return Ok(None);
        }
        let bitmap = Bitmap(self.bytes(count.div_ceil(8))?);
        let set: usize = bitmap.0.iter().map(|byte| byte.count_ones() as usize).sum();
        let is_sound = set > 0 && bitmap.count_before(count) == set;
        is_sound.then_some(Some(bitmap)).ok_or(BAD_BITMAP)
    }
}
