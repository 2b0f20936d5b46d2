//! Ascending keys of one leaf or inner node: each is stored as the number of bytes that it shares
//! with the one before, and its other bytes, encoded with the symbol table.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cmp::Ordering;

use super::column::{Column, len_of, width_of};
use super::encoder::Encoder;
use super::symbols::SymbolTable;
use crate::file::codec::bits::LowBitWriter;

/// What is wrong with bytes that should be keys, or a part of them.
pub(super) type Damage = &'static str;

const BAD_SUFFIX: Damage = "a key is not encoded correctly";
const NOT_ASCENDING: Damage = "keys do not ascend, or share more than they say";

/// Widest length of a key in bits: a key has fewer than 2^16 bytes, and each may take two.
pub(super) const MAX_WIDTH: u32 = 17;

/// Returns the number of leading bytes that two strings have in common.
pub(super) fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The keys of one leaf or inner node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys<'a> {
    count: usize,
    /// For each key the shared length, followed by the length of its encoded suffix in the low
    /// bits.
    lengths: Column<'a>,
    /// Bits of the length of a suffix.
    suffix_width: u32,
    /// The encoded suffixes, and what follows them.
    suffixes: &'a [u8],
}

impl<'a> Keys<'a> {
    /// Makes the keys of these parts. The lengths have these widths, at most [`MAX_WIDTH`] each.
    pub(super) fn new(
        count: usize,
        (shared_width, suffix_width): (u32, u32),
        lengths: &'a [u8],
        suffixes: &'a [u8],
    ) -> Self {
        let lengths = Column::new(lengths, shared_width + suffix_width, 0);
        Self { count, lengths, suffix_width, suffixes }
    }

    /// Returns the number of keys.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns how many keys are less than `key`, and whether the one after them is equal to it.
    ///
    /// Most keys are passed over by their shared length alone. Let `matched` be the bytes that
    /// `key` has in common with a key that is less. A next key that shares more than that is less
    /// too; one that shares less is greater.
    #[inline]
    pub(super) fn search(
        &self,
        key: &[u8],
        symbols: &SymbolTable,
    ) -> Result<(usize, bool), Damage> {
        let (mut matched, mut at) = (0, 0);
        for index in 0..self.count {
            let (shared, len) = self.lens(index);
            let start = at;
            at += len;
            match shared.cmp(&matched) {
                Ordering::Greater => continue,
                Ordering::Less => return Ok((index, false)),
                Ordering::Equal => {}
            }
            let codes = self.suffixes.get(start..at).ok_or(BAD_SUFFIX)?;
            let rest = key.get(matched..).unwrap_or_default();
            let (common, order) = symbols.compare(codes, rest).ok_or(BAD_SUFFIX)?;
            matched += common;
            if order != Ordering::Less {
                return Ok((index, order == Ordering::Equal));
            }
        }
        Ok((self.count, false))
    }

    /// Returns the shared length of a key, and the length of its encoded suffix.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "they have at most MAX_WIDTH bits")]
    fn lens(&self, index: usize) -> (usize, usize) {
        let both = self.lengths.get(index);
        ((both >> self.suffix_width) as usize, (both & !(u64::MAX << self.suffix_width)) as usize)
    }

    /// Returns the key at this place.
    pub(super) fn get(&self, index: usize, symbols: &SymbolTable) -> Result<Vec<u8>, Damage> {
        // The keys that some bytes of the wanted one are stored with. Each shares more than those
        // before.
        let mut parts: Vec<(usize, &[u8])> = Vec::new();
        let mut at = 0;
        for index in 0..self.count.min(index.saturating_add(1)) {
            let (shared, len) = self.lens(index);
            let codes = self.suffixes.get(at..at + len).ok_or(BAD_SUFFIX)?;
            at += len;
            while parts.last().is_some_and(|(before, _)| *before >= shared) {
                parts.pop();
            }
            parts.push((shared, codes));
        }
        let mut key = Vec::new();
        for (shared, codes) in parts {
            if shared > key.len() {
                return Err(NOT_ASCENDING);
            }
            key.truncate(shared);
            symbols.decode(codes, &mut key).ok_or(BAD_SUFFIX)?;
        }
        Ok(key)
    }

    /// Passes all keys to `visit`, in order. Fails unless they ascend and share exactly the bytes
    /// that they say. `key` is empty memory. Returns the bytes that the suffixes take.
    pub(super) fn for_each(
        &self,
        symbols: &SymbolTable,
        key: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<usize, Damage> {
        key.clear();
        let mut at = 0;
        for index in 0..self.count {
            let (shared, len) = self.lens(index);
            let codes = self.suffixes.get(at..at + len).ok_or(BAD_SUFFIX)?;
            at += len;
            if shared > key.len() {
                return Err(NOT_ASCENDING);
            }
            let before = key.get(shared).copied();
            key.truncate(shared);
            symbols.decode(codes, key).ok_or(BAD_SUFFIX)?;
            let now = key.get(shared).copied();
            // The first byte that is not shared is the greater one.
            if now.is_none() || before >= now {
                return Err(NOT_ASCENDING);
            }
            visit(key);
        }
        Ok(at)
    }
}

/// Keys that are being collected for a leaf or an inner node.
#[derive(Debug, Default)]
pub(super) struct BandBuilder {
    /// Shared lengths, and lengths of suffixes.
    lengths: Vec<(u64, u64)>,
    suffixes: Vec<u8>,
    last: Vec<u8>,
    widths: KeyWidths,
}

/// What determines how many bytes keys take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyWidths {
    count: usize,
    shared: u64,
    length: u64,
    suffixes: usize,
}

impl KeyWidths {
    /// Returns the widths of shared lengths and of the lengths of suffixes.
    pub(super) fn widths(&self) -> (u32, u32) {
        (width_of(self.shared), width_of(self.length))
    }

    /// Returns the bytes of lengths and suffixes.
    pub(super) fn len(&self) -> usize {
        let (shared, suffix) = self.widths();
        len_of(self.count, shared + suffix) + self.suffixes
    }
}

impl BandBuilder {
    pub(super) fn widths(&self) -> KeyWidths {
        self.widths
    }

    /// Adds a key, which must be greater than those before, if `fits` accepts what it makes of the
    /// widths. Returns whether it did.
    pub(super) fn push(
        &mut self,
        key: &[u8],
        encoder: &mut Encoder,
        fits: impl FnOnce(&KeyWidths) -> bool,
    ) -> bool {
        let shared = common_len(&self.last, key);
        let before = self.suffixes.len();
        encoder.encode(key.get(shared..).unwrap_or_default(), &mut self.suffixes);
        let (shared, length) = (shared as u64, (self.suffixes.len() - before) as u64);
        let widths = KeyWidths {
            count: self.widths.count + 1,
            shared: self.widths.shared.max(shared),
            length: self.widths.length.max(length),
            suffixes: self.suffixes.len(),
        };
        if !fits(&widths) {
            self.suffixes.truncate(before);
            return false;
        }
        self.widths = widths;
        self.lengths.push((shared, length));
        self.last.clear();
        self.last.extend_from_slice(key);
        true
    }

    /// Appends the column of lengths.
    pub(super) fn put_lengths(&self, out: &mut Vec<u8>) {
        let ((shared_width, suffix_width), mut bits) =
            (self.widths.widths(), LowBitWriter::default());
        for &(shared, length) in &self.lengths {
            bits.put(shared << suffix_width | length, shared_width + suffix_width);
        }
        out.extend_from_slice(bits.finish());
    }

    /// Appends the suffixes.
    pub(super) fn put_suffixes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.suffixes);
    }

    pub(super) fn clear(&mut self) {
        self.lengths.clear();
        self.suffixes.clear();
        self.last.clear();
        self.widths = KeyWidths::default();
    }
}
