//! Bit strings, most significant bit first: the first bit written is the top bit of the first byte.
//!
//! storage-format.md, "Conventions". Reads past the end return zero bits, so a decoder need not
//! check every field.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::fingerprint::Word;

/// Reads bits from a slice, followed by endless zeros.
#[derive(Debug, Clone)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    /// Creates a reader at bit `position` of `bytes`.
    pub(crate) fn new(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    /// Returns the next bits, at least 57, at the top of the word.
    #[inline]
    fn peek(&self) -> u64 {
        peek(self.bytes, self.position)
    }

    /// Skips `len` bits.
    #[inline]
    pub(crate) fn skip(&mut self, len: u32) {
        // Unchecked because this is the hottest line. It is far from overflow, as callers stop at
        // the end of their bytes.
        self.position = self.position.wrapping_add(len as usize);
    }

    /// Reads the next `len` bits, at most 64.
    #[inline]
    pub(crate) fn take(&mut self, len: u32) -> u64 {
        if len <= PEEKED {
            let value = self.peek().checked_shr(64 - len).unwrap_or(0);
            self.skip(len);
            return value;
        }
        let high = self.take(len - 32);
        high << 32 | self.take(32)
    }
}

/// Bits that [`peek`] may lack at the end of its word, because it loads from a byte boundary.
pub(crate) const UNPEEKED: u32 = 7;

const PEEKED: u32 = 64 - UNPEEKED;

/// Bits of the first part of a number that is too wide to be read at once.
const HALF: u32 = 32;

/// Returns the bits from `position` on, at the top of a word whose last [`UNPEEKED`] bits may be
/// missing.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "only the low three bits are used")]
pub(crate) fn peek<W: Word>(bytes: &[u8], position: usize) -> W {
    let byte = position / 8;
    // A single comparison: `byte` is an eighth of a number, so the sum is far from overflow.
    let word = bytes.get(byte..byte.wrapping_add(W::BYTES)).and_then(W::read_be);
    word.unwrap_or_else(|| load_tail(bytes, byte)).wrapping_shl(position as u32 % 8)
}

/// Loads the bytes from `byte` to the end, fewer than a word, as the top of a big-endian word.
#[cold]
fn load_tail<W: Word>(bytes: &[u8], byte: usize) -> W {
    let mut word = [0u8; 16];
    for (to, from) in word.iter_mut().zip(bytes.iter().skip(byte)) {
        *to = *from;
    }
    W::read_be(&word).unwrap_or(W::ZERO)
}

// What follows is the same with the least significant bit first: the first bit written is the
// lowest bit of the first byte. Decoders that compute positions instead of reading bit after bit
// need no byte swaps this way.

/// Appends many short bit strings to a byte buffer, least significant bit first.
#[derive(Debug, Default)]
pub(crate) struct LowBitWriter {
    bytes: Vec<u8>,
    pending: u64,
    pending_len: u32,
}

impl LowBitWriter {
    /// Empties the writer and starts at bit `bit % 8` of a byte, with zeros before that bit.
    pub(crate) fn start_at(&mut self, bit: usize) {
        self.bytes.clear();
        self.pending = 0;
        #[expect(clippy::cast_possible_truncation, reason = "below eight")]
        let before = (bit % 8) as u32;
        self.pending_len = before;
    }

    /// Appends the low `len` bits of `value`, at most 64, which must have no other bits set.
    #[inline]
    pub(crate) fn put(&mut self, value: u64, len: u32) {
        if len > PEEKED {
            return self.put_long(value, len);
        }
        debug_assert!(value >> len == 0);
        self.pending |= value.wrapping_shl(self.pending_len);
        let end = self.pending_len + len;
        if let Some(over) = end.checked_sub(u64::BITS) {
            self.bytes.extend_from_slice(&self.pending.to_le_bytes());
            // The shift is by the full width only if `over` is 0; then its result is not used.
            let rest = value.wrapping_shr(u64::BITS - self.pending_len);
            self.pending = if over == 0 { 0 } else { rest };
            self.pending_len = over;
        } else {
            self.pending_len = end;
        }
    }

    /// Separate, so that [`put`](Self::put) can be inlined.
    #[cold]
    fn put_long(&mut self, value: u64, len: u32) {
        self.put(value & u64::MAX >> HALF, HALF);
        self.put(value >> HALF, len - HALF);
    }

    /// Returns all bytes, the last one padded with zeros.
    pub(crate) fn finish(&mut self) -> &[u8] {
        let len = self.bytes.len() + self.pending_len.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes());
        self.bytes.get(..len).unwrap_or(&self.bytes)
    }
}

/// Returns the `len` bits from `position` on, at most 64. Bits past the end are zero.
#[inline(always)]
pub(crate) fn peek_low(bytes: &[u8], position: usize, len: u32) -> u64 {
    if len <= PEEKED {
        return peek_few_low(bytes, position, len);
    }
    let low = peek_few_low(bytes, position, HALF);
    low | peek_few_low(bytes, position.saturating_add(HALF as usize), len - HALF) << HALF
}

/// Does the same for at most [`PEEKED`] bits.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "only the low three bits are used")]
fn peek_few_low(bytes: &[u8], position: usize, len: u32) -> u64 {
    let word = low_word(bytes, position / 8);
    word.wrapping_shr(position as u32 % 8) & !u64::MAX.wrapping_shl(len)
}

/// Returns the bytes from `byte` on as a little-endian word. Bytes past the end are zero.
#[inline(always)]
pub(crate) fn low_word(bytes: &[u8], byte: usize) -> u64 {
    let word = bytes.get(byte..byte.wrapping_add(8)).and_then(<[u8]>::first_chunk);
    word.map_or_else(|| load_low_tail(bytes, byte), |word| u64::from_le_bytes(*word))
}

/// Loads the bytes from `byte` to the end, fewer than a word, as the low bytes of a little-endian
/// word.
#[cold]
fn load_low_tail(bytes: &[u8], byte: usize) -> u64 {
    let mut word = [0u8; 8];
    for (to, from) in word.iter_mut().zip(bytes.iter().skip(byte)) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

/// Returns the position of the set bit that has `below` set bits below it. `word` must have more
/// than `below` set bits.
///
/// Counts bytes in parallel within one word (Vigna, *Broadword implementation of rank/select
/// queries*, 2008).
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "reduced to a byte")]
pub(crate) fn select(word: u64, below: usize) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    // Each byte holds the number of bits set in `word` up to and including that byte.
    let up_to = ((fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(EACH);
    let wanted = EACH.wrapping_mul(below as u64) | EACH << 7;
    // The top bit of a byte stays set if that number is at most `below`.
    let passed = (wanted.wrapping_sub(up_to) & EACH << 7).count_ones();
    let shift = passed % 8 * 8;
    let before = (up_to << 8).wrapping_shr(shift) as usize % 256;
    let byte = (word >> shift) as usize % 256;
    let within = SELECT_IN_BYTE.get(byte * 8 + below.wrapping_sub(before) % 8);
    shift as usize + usize::from(within.copied().unwrap_or(0))
}

/// For each byte and each n below 8: the position of the set bit with n set bits below it.
static SELECT_IN_BYTE: [u8; 2048] = select_in_bytes();

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
#[expect(clippy::cast_possible_truncation, reason = "below eight")]
const fn select_in_bytes() -> [u8; 2048] {
    let mut places = [0; 2048];
    let mut byte = 0usize;
    while byte < 256 {
        let (mut bit, mut below) = (0usize, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                places[byte * 8 + below] = bit as u8;
                below += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_is_read_at_every_offset() {
        let bytes = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128.to_be_bytes();
        for lead in 0..8u32 {
            for len in 0..=64u32 {
                let bits = u128::from_be_bytes(bytes) << lead;
                let expected = bits.checked_shr(128 - len).unwrap_or(0);
                let mut r = BitReader::new(&bytes, lead as usize);
                assert_eq!(u128::from(r.take(len)), expected, "{lead} {len}");
                assert_eq!(u128::from(r.take(1)), bits << len >> 127);
            }
        }
    }

    #[test]
    fn low_bits_of_every_width_round_trip_at_every_offset() {
        let mut writer = LowBitWriter::default();
        for start in 0..8 {
            for len in 0..=u64::BITS {
                let mask = u64::MAX.checked_shr(u64::BITS - len).unwrap_or(0);
                let values: Vec<u64> =
                    (1..9u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
                writer.start_at(start);
                values.iter().for_each(|&value| writer.put(value, len));
                let bytes = writer.finish();
                assert_eq!(bytes.len(), (start + 8 * len as usize).div_ceil(8));
                for (i, &value) in values.iter().enumerate() {
                    let position = start + i * len as usize;
                    assert_eq!(peek_low(bytes, position, len), value, "{start} {len} {i}");
                }
            }
        }
    }

    #[test]
    fn select_finds_every_set_bit() {
        let mut word = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..500 {
            for word in [word, word & word << 7 & word << 9, word | word << 5, u64::MAX, 1 << 63] {
                let ones = (0..64).filter(|bit| word >> bit & 1 == 1);
                for (below, place) in ones.enumerate() {
                    assert_eq!(select(word, below), place, "{word:x}");
                }
            }
            word = word.wrapping_mul(0xda94_2042_e4dd_58b5).rotate_left(23);
        }
    }

    #[test]
    fn bits_past_the_end_are_zero() {
        let mut r = BitReader::new(&[0xff], 4);
        assert_eq!(r.take(8), 0xf0);
        assert_eq!(r.take(64), 0);
    }
}
