//! Building blocks.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::packed::{COUNT_LEN, MAX_SIZE, MIN_SIZE, leading_difference};
use super::remaining::{remaining_bits, remaining_len};
use crate::base::cpu;
use crate::file::codec::huffman::{Code, MAX_LENGTH, MAX_SYMBOLS};
use crate::fingerprint::Word;

/// Bytes after a block that codewords may write zeros to, because they are written a word at a
/// time.
const SLACK: usize = 8;

/// Builds one block after another. It counts bits while fingerprints are added, and encodes all of
/// them when the block is full. The count of a block cannot overflow, because a codeword has at
/// least one bit.
#[derive(Debug)]
pub(crate) struct BlockBuilder<F> {
    size: usize,
    /// Bits that codewords and remaining bits may take.
    room: u32,
    symbols: Box<[Symbol; MAX_SYMBOLS]>,
    /// How many of the lowest bits are zero in all fingerprints. They are not stored, and what
    /// follows is without them.
    zeros: u32,
    fingerprints: Vec<F>,
    /// The last fingerprint of the block or, if it is empty, of the one before.
    last: F,
    last_h: u32,
    /// Bits that codewords and remaining bits take, without those that the next fingerprint may
    /// save.
    used: u32,
}

/// How a leading difference is encoded.
#[derive(Debug, Clone, Copy, Default)]
struct Symbol {
    word: u16,
    length: u8,
    /// Bits of the codeword and of all bits below the leading difference.
    cost: u8,
}

impl<F: Word> BlockBuilder<F> {
    /// Creates a builder of blocks of `size` bytes, a power of two from `MIN_SIZE` to `MAX_SIZE`.
    /// The lowest `zeros` bits of all fingerprints must be zero. `code` must have a codeword for
    /// every leading difference to come, counted from the bit above these.
    pub(crate) fn new(size: usize, code: &Code, zeros: u32) -> Self {
        debug_assert!(size.is_power_of_two() && (MIN_SIZE..=MAX_SIZE).contains(&size));
        let mut symbols = Box::new([Symbol::default(); MAX_SYMBOLS]);
        for (h, symbol) in (0u8..).zip(symbols.iter_mut()) {
            let (word, length) = code.word(h.into());
            let word = u16::try_from(word).unwrap_or(0);
            let length = u8::try_from(length).unwrap_or(0);
            *symbol = Symbol { word, length, cost: h + length };
        }
        let room = (size - COUNT_LEN - F::BYTES) * 8;
        Self {
            size,
            room: u32::try_from(room).unwrap_or(0),
            symbols,
            zeros,
            fingerprints: Vec::new(),
            last: F::ZERO,
            last_h: 0,
            used: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    /// Returns the last fingerprint of the block, which becomes its key.
    pub(crate) fn last(&self) -> F {
        self.last.wrapping_shl(self.zeros)
    }

    /// Adds ascending fingerprints, all greater than the last one, up to the first for which the
    /// block has no room. Returns how many were added.
    #[must_use]
    pub(crate) fn push_all(&mut self, fingerprints: &[F]) -> usize {
        let (mut added, zeros) = (0, self.zeros);
        if self.is_empty()
            && let Some(&first) = fingerprints.first()
        {
            (self.last, self.last_h, self.used, added) = (first.wrapping_shr(zeros), 0, 0, 1);
        }
        let (mut last, mut last_h, mut used) = (self.last, self.last_h, self.used);
        for &fingerprint in fingerprints.get(added..).unwrap_or_default() {
            let fingerprint = fingerprint.wrapping_shr(zeros);
            let h = leading_difference(last, fingerprint);
            let Symbol { length, cost, .. } = symbol(&self.symbols, h);
            debug_assert!(length > 0, "no codeword for {h}");
            // A bit of the last fingerprint is left out if h is among its remaining bits.
            let more = u32::from(cost).wrapping_sub(u32::from(h < last_h));
            if used.wrapping_add(more) > self.room {
                break;
            }
            (last, last_h, used) = (fingerprint, h, used.wrapping_add(more));
            added += 1;
        }
        (self.last, self.last_h, self.used) = (last, last_h, used);
        let stored = fingerprints.get(..added).unwrap_or_default().iter();
        self.fingerprints.extend(stored.map(|fingerprint| fingerprint.wrapping_shr(zeros)));
        added
    }

    /// Appends the block to `out`, with zeros between codewords and remaining bits, and begins the
    /// next one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.size + SLACK, 0);
        cpu::with_native_instructions(
            #[inline(always)]
            || self.encode(out.get_mut(start..).unwrap_or_default()),
        );
        out.truncate(start + self.size);
        self.fingerprints.clear();
    }

    /// Encodes the fingerprints into `block`, where there are zeros.
    #[inline(always)]
    fn encode(&self, block: &mut [u8]) {
        let Some((&first, others)) = self.fingerprints.split_first() else { return };
        // What is written first may write zeros to the place of what follows.
        let mut remaining = RemainingBits { pending: F::ZERO, len: 0, end: self.size };
        let (mut last, mut last_h) = (first, 0);
        for &fingerprint in others {
            let h = leading_difference(last, fingerprint);
            remaining.put_below(block, last, last_h, h);
            (last, last_h) = (fingerprint, h);
        }
        // No leading difference follows, so no bit is left out.
        remaining.put_below(block, last, last_h, F::BITS - 1);

        let (count, rest) = block.split_at_mut(COUNT_LEN);
        self.fingerprints.len().to_le_bytes().iter().zip(count).for_each(|(&byte, to)| *to = byte);
        first.put_le(rest);
        let mut codewords = Codewords { pending: 0, len: 0, at: COUNT_LEN + F::BYTES };
        last = first;
        for &fingerprint in others {
            let h = leading_difference(last, fingerprint);
            codewords.put(block, symbol(&self.symbols, h));
            last = fingerprint;
        }
        codewords.write(block);
    }
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "a remainder")]
fn symbol(symbols: &[Symbol; MAX_SYMBOLS], h: u32) -> Symbol {
    symbols[h as usize % MAX_SYMBOLS]
}

/// Writes codewords from the start of a block towards its end, where there are zeros and remaining
/// bits.
struct Codewords {
    /// The last codewords in the low bits, after bits that do not matter.
    pending: u64,
    /// Number of bits that are not written yet, fewer than 64.
    len: u32,
    /// The byte in which these bits begin.
    at: usize,
}

impl Codewords {
    #[inline(always)]
    fn put(&mut self, block: &mut [u8], Symbol { word, length, .. }: Symbol) {
        if self.len.wrapping_add(MAX_LENGTH) >= u64::BITS {
            self.write(block);
        }
        self.pending = self.pending.wrapping_shl(length.into()) | u64::from(word);
        self.len = self.len.wrapping_add(length.into());
    }

    /// Writes the pending bits. Those after the last full byte stay pending.
    #[inline(always)]
    fn write(&mut self, block: &mut [u8]) {
        let word = self.pending.wrapping_shl((u64::BITS - 1).wrapping_sub(self.len)) << 1;
        let place = block.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut);
        if let Some(bytes) = place {
            *bytes = (u64::from_be_bytes(*bytes) | word).to_be_bytes();
        }
        self.at = self.at.wrapping_add(self.len as usize / 8);
        self.len %= 8;
    }
}

/// Writes remaining bits from the end of a block towards its beginning.
#[derive(Clone, Copy)]
struct RemainingBits<F> {
    /// The last bits, after zeros.
    pending: F,
    /// Number of these bits, fewer than 8 between calls.
    len: u32,
    /// The end of the byte in which these bits end.
    end: usize,
}

impl<F: Word> RemainingBits<F> {
    /// Writes the remaining bits of a fingerprint, given its leading difference and the next one.
    #[inline(always)]
    fn put_below(&mut self, block: &mut [u8], fingerprint: F, h: u32, next: u32) {
        let bits = remaining_bits(fingerprint, h, next);
        let len = remaining_len(h, next);
        *self = match len <= F::BITS - 8 {
            true => self.put(block, bits, len),
            false => self.put_long(block, bits, len),
        };
    }

    /// Writes the low `len` bits of `value` before what was written so far, and zeros before them.
    /// `value` must have no other bits set. `len` is at most the width minus 8.
    #[inline(always)]
    #[must_use]
    fn put(self, block: &mut [u8], value: F, len: u32) -> Self {
        let Self { pending, len: before, end } = self;
        let pending = pending | value.wrapping_shl(before);
        let place = block.get_mut(end.wrapping_sub(F::BYTES)..end);
        place.into_iter().for_each(|place| pending.put_be(place));
        let len = before.wrapping_add(len);
        let end = end.wrapping_sub(len as usize / 8);
        Self { pending: pending.wrapping_shr(len & !7), len: len % 8, end }
    }

    /// Writes more bits than fit after pending ones.
    #[cold]
    #[must_use]
    fn put_long(self, block: &mut [u8], value: F, len: u32) -> Self {
        let half = F::BITS / 2;
        let low = self.put(block, value & !F::MAX.wrapping_shl(half), half);
        low.put(block, value.wrapping_shr(half), len.wrapping_sub(half))
    }
}
