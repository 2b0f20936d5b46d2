//! Building a leaf.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::column::{Span, len_of};
use super::encoder::Encoder;
use super::keys::{BandBuilder, KeyWidths};
use super::{Document, EncodedDocument, flags};
use crate::file::codec::bytes::PutFields;
use crate::file::paged::PAGE;
use crate::fingerprint::Ids;

/// Bytes before the widths and the least numbers of the columns.
const HEADER: usize = 7;
/// Bytes of the width and the least number of a column.
const BASE: usize = 9;

/// Records of a leaf that is being filled.
#[derive(Debug)]
pub(super) struct LeafBuilder {
    ids: Ids,
    /// Bytes of a fingerprint.
    width: usize,
    pub(super) keys: BandBuilder,
    /// Without fingerprints.
    records: Vec<Option<Document<()>>>,
    /// The fingerprints of the live records.
    fingerprints: Vec<u8>,
    shape: Shape,
}

/// What determines how many bytes the columns take.
#[derive(Debug, Clone, Copy)]
struct Shape {
    live: usize,
    duplicates: usize,
    stamped: usize,
    ids: Span,
    originals: Span,
    stamps: Span,
}

impl Shape {
    const EMPTY: Self = Self {
        live: 0,
        duplicates: 0,
        stamped: 0,
        ids: Span::EMPTY,
        originals: Span::EMPTY,
        stamps: Span::EMPTY,
    };

    fn add<F>(&mut self, document: &Document<F>) {
        self.live += 1;
        self.ids.add(document.id.0);
        if let Some(original) = document.duplicate_of {
            self.duplicates += 1;
            self.originals.add(original.0);
        }
        if let Some(stamp) = document.stamp {
            self.stamped += 1;
            self.stamps.add(stamp);
        }
    }

    /// Returns the flags of a leaf with `count` records.
    fn flags(&self, count: usize) -> u32 {
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        flag(flags::REMOVED, self.live < count)
            | flag(flags::DUPLICATES, self.duplicates > 0)
            | flag(flags::STAMPS, self.stamped > 0)
            | flag(flags::SOME_STAMPS, (1..self.live).contains(&self.stamped))
    }

    /// Returns the bytes of a leaf with these keys.
    fn len(&self, keys: &KeyWidths, count: usize, (ids, width): (Ids, usize)) -> usize {
        let flags = self.flags(count);
        let with = |flag, len| if flags & flag != 0 { len } else { 0 };
        let bitmap = count.div_ceil(8);
        let named = if ids == Ids::Names { BASE + len_of(self.live, self.ids.width()) } else { 0 };
        let originals = BASE + bitmap + len_of(self.duplicates, self.originals.width());
        let stamps = BASE + len_of(self.stamped, self.stamps.width());
        HEADER
            + named
            + with(flags::REMOVED, bitmap)
            + with(flags::DUPLICATES, originals)
            + with(flags::STAMPS, stamps)
            + with(flags::SOME_STAMPS, bitmap)
            + self.live * width
            + keys.len()
    }
}

impl LeafBuilder {
    /// `width` is the number of bytes of a fingerprint.
    pub(super) fn new(ids: Ids, width: usize) -> Self {
        let (keys, records, fingerprints) = Default::default();
        Self { ids, width, keys, records, fingerprints, shape: Shape::EMPTY }
    }

    /// Adds a record with a greater key than those before. Returns false if it does not fit on the
    /// leaf's page; the first record always fits.
    pub(super) fn push(
        &mut self,
        key: &[u8],
        document: Option<EncodedDocument<'_>>,
        encoder: &mut Encoder,
    ) -> bool {
        let mut shape = self.shape;
        if let Some(document) = &document {
            shape.add(document);
        }
        let (count, kind) = (self.records.len() + 1, (self.ids, self.width));
        let fits = |keys: &KeyWidths| count == 1 || shape.len(keys, count, kind) <= PAGE;
        if !self.keys.push(key, encoder, fits) {
            return false;
        }
        self.shape = shape;
        self.records.push(document.map(|document| {
            self.fingerprints.extend_from_slice(document.fingerprint);
            document.with(())
        }));
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the ids of the live records.
    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.live().map(|document| document.id.0)
    }

    fn live(&self) -> impl Iterator<Item = &Document<()>> {
        self.records.iter().flatten()
    }

    /// Returns the bytes that the keys take.
    pub(super) fn keys_len(&self) -> usize {
        self.keys.widths().len()
    }

    /// Replaces `out` with the encoded leaf, padded with zeros to entire pages, and empties the
    /// leaf.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        out.clear();
        let (count, shape) = (self.records.len(), self.shape);
        let kind = (self.ids, self.width);
        let pages = shape.len(&self.keys.widths(), count, kind).div_ceil(PAGE);
        let flags = shape.flags(count);
        out.put_u16(u16::try_from(count).unwrap_or(u16::MAX));
        out.put_u16(u16::try_from(pages).unwrap_or(u16::MAX));
        let byte = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        let (shared, lengths) = self.keys.widths().widths();
        out.extend([byte(flags), byte(shared), byte(lengths)]);
        let has = |flag| flags & flag != 0;
        let bases = [
            (self.ids == Ids::Names, shape.ids),
            (has(flags::DUPLICATES), shape.originals),
            (has(flags::STAMPS), shape.stamps),
        ];
        for (_, span) in bases.iter().filter(|(is_there, _)| *is_there) {
            out.put_u8(byte(span.width()));
            out.put_u64(span.least);
        }
        self.put_bitmap(has(flags::REMOVED), Option::is_none, out);
        let is_duplicate = |document: &Document<()>| document.duplicate_of.is_some();
        self.put_bitmap(has(flags::DUPLICATES), |d| d.as_ref().is_some_and(is_duplicate), out);
        let has_stamp = |document: &Document<()>| document.stamp.is_some();
        self.put_bitmap(has(flags::SOME_STAMPS), |d| d.as_ref().is_some_and(has_stamp), out);
        self.keys.put_lengths(out);
        let columns: [(Span, Vec<u64>); 3] = [
            (shape.ids, self.ids().filter(|_| self.ids == Ids::Names).collect()),
            (shape.originals, self.live().filter_map(|d| Some(d.duplicate_of?.0)).collect()),
            (shape.stamps, self.live().filter_map(|d| d.stamp).collect()),
        ];
        columns.iter().for_each(|(span, numbers)| span.put(numbers, out));
        out.extend_from_slice(&self.fingerprints);
        self.keys.put_suffixes(out);
        out.resize(pages * PAGE, 0);
        self.keys.clear();
        self.records.clear();
        self.fingerprints.clear();
        self.shape = Shape::EMPTY;
    }

    /// Appends a bitmap of the records with a property, if it is there.
    fn put_bitmap(
        &self,
        is_there: bool,
        has: impl Fn(&Option<Document<()>>) -> bool,
        out: &mut Vec<u8>,
    ) {
        if !is_there {
            return;
        }
        for records in self.records.chunks(8) {
            let bit = |place, record| u8::from(has(record)) << place;
            out.push(records.iter().enumerate().fold(0, |byte, (i, record)| byte | bit(i, record)));
        }
    }
}
