//! Bit strings, most significant bit first: the first bit written is the top bit of the first byte.
//!
//! storage-format.md, "Conventions". Reads past the end return zero bits, so a decoder need not
//! check every field.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::fingerprint::Fingerprint;

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

/// Returns the bits from `position` on, at the top of a word whose last [`UNPEEKED`] bits may be
/// missing.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "only the low three bits are used")]
pub(crate) fn peek<W: Fingerprint>(bytes: &[u8], position: usize) -> W {
    let byte = position / 8;
    // A single comparison: `byte` is an eighth of a number, so the sum is far from overflow.
    let word = bytes.get(byte..byte.wrapping_add(W::BYTES)).and_then(W::read_be);
    word.unwrap_or_else(|| load_tail(bytes, byte)).wrapping_shl(position as u32 % 8)
}

/// Loads the bytes from `byte` to the end, fewer than a word, as the top of a big-endian word.
#[cold]
fn load_tail<W: Fingerprint>(bytes: &[u8], byte: usize) -> W {
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
pub(crate) struct LowBitWriter<F> {
    bytes: Vec<u8>,
    pending: F,
    pending_len: u32,
}

impl<F: Fingerprint> LowBitWriter<F> {
    /// Empties the writer and starts at bit `bit % 8` of a byte, with zeros before that bit.
    pub(crate) fn start_at(&mut self, bit: usize) {
        self.bytes.clear();
        self.pending = F::ZERO;
        #[expect(clippy::cast_possible_truncation, reason = "below eight")]
        let before = (bit % 8) as u32;
        self.pending_len = before;
    }

    /// Appends the low `len` bits of `value`, which must have no other bits set. `len` is less than
    /// the width.
    #[inline]
    pub(crate) fn put(&mut self, value: F, len: u32) {
        debug_assert!(len < F::BITS && value >> len == F::ZERO);
        self.pending = self.pending | value.wrapping_shl(self.pending_len);
        let end = self.pending_len + len;
        if let Some(over) = end.checked_sub(F::BITS) {
            self.pending.write_le(&mut self.bytes);
            // The shift is by the full width only if `over` is 0; then its result is not used.
            let rest = value.wrapping_shr(F::BITS - self.pending_len);
            self.pending = if over == 0 { F::ZERO } else { rest };
            self.pending_len = over;
        } else {
            self.pending_len = end;
        }
    }

    /// Returns all bytes, the last one padded with zeros.
    pub(crate) fn finish(&mut self) -> &[u8] {
        let len = self.bytes.len() + self.pending_len.div_ceil(8) as usize;
        self.pending.write_le(&mut self.bytes);
        self.bytes.get(..len).unwrap_or(&self.bytes)
    }
}

/// Returns the `len` bits from `position` on, where `len` is at most the width minus [`UNPEEKED`].
/// Bits past the end are zero.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "only the low three bits are used")]
pub(crate) fn peek_low<F: Fingerprint>(bytes: &[u8], position: usize, len: u32) -> F {
    let word: F = low_word(bytes, position / 8);
    word.wrapping_shr(position as u32 % 8) & !F::MAX.wrapping_shl(len)
}

/// Returns the bytes from `byte` on as a little-endian word. Bytes past the end are zero.
#[inline(always)]
pub(crate) fn low_word<F: Fingerprint>(bytes: &[u8], byte: usize) -> F {
    let word = bytes.get(byte..byte.wrapping_add(F::BYTES)).and_then(F::read_le);
    word.unwrap_or_else(|| load_low_tail(bytes, byte))
}

/// Loads the bytes from `byte` to the end, fewer than a word, as the low bytes of a little-endian
/// word.
#[cold]
fn load_low_tail<F: Fingerprint>(bytes: &[u8], byte: usize) -> F {
    let mut word = [0u8; 16];
    for (to, from) in word.iter_mut().zip(bytes.iter().skip(byte)) {
        *to = *from;
    }
    F::read_le(&word).unwrap_or(F::ZERO)
}

/// Fields of equal length that are read side by side, called a batch. Eight fields of n bits take n
/// bytes, so the next batch begins at the same bit of its byte.
pub(crate) const BATCH: usize = 8;

/// Bytes from the start of a batch within which a word can be loaded at every `u8` offset.
pub(crate) const BATCH_REACH: usize = 256 + 15;

/// Returns for each field of a batch the byte and the bit at which it begins. Fields have `len`
/// bits (fewer than 128); bytes are counted from the one that contains bit `start`.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "both indices are remainders")]
pub(crate) fn batch_places(start: usize, len: u32) -> &'static [(u8, u8); BATCH] {
    &BATCH_PLACES[start % 8][len as usize % 128]
}

/// Indexed by the bit at which the batch begins in its byte, and by the length of a field.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
#[expect(clippy::cast_possible_truncation, reason = "at most 7 + 7 * 127 bits")]
static BATCH_PLACES: [[[(u8, u8); BATCH]; 128]; 8] = {
    let mut places = [[[(0, 0); BATCH]; 128]; 8];
    let mut number = 0;
    while number < 8 * 128 * BATCH {
        let (start, len, field) = (number / BATCH / 128, number / BATCH % 128, number % BATCH);
        let bit = start + len * field;
        places[start][len][field] = ((bit / 8) as u8, (bit % 8) as u8);
        number += 1;
    }
    places
};

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
        fn round_trip<F: Fingerprint>() {
            let mut writer = LowBitWriter::default();
            for start in 0..8 {
                for len in 0..=F::BITS - UNPEEKED {
                    let mask = !F::MAX.wrapping_shl(len);
                    let values: Vec<F> = (1u128..9)
                        .map(|i| {
                            F::from_u128(i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
                        })
                        .map(|value| value & mask)
                        .collect();
                    writer.start_at(start);
                    values.iter().for_each(|&value| writer.put(value, len));
                    let bytes = writer.finish();
                    assert_eq!(bytes.len(), (start + 8 * len as usize).div_ceil(8));
                    for (i, &value) in values.iter().enumerate() {
                        let position = start + i * len as usize;
                        assert_eq!(peek_low::<F>(bytes, position, len), value, "{start} {len} {i}");
                        let (byte, bit) = batch_places(start, len)[i];
                        assert_eq!(usize::from(byte) * 8 + usize::from(bit), position);
                        assert!(bit < 8);
                    }
                }
            }
        }
        round_trip::<u64>();
        round_trip::<u128>();
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
