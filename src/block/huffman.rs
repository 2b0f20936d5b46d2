//! Blocks in the paper's code.
//!
//! A block has the first fingerprint in full. For each further one it has the codeword of h, the
//! position of the highest bit in which the fingerprint differs from the previous one, and then the
//! bits below h (paper, section 3.2). As fingerprints ascend, the bit at h is 1, so it is not
//! written. storage-format.md, "Huffman block".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::codec::bits::{BitReader, BitWriter, UNPEEKED, peek};
use crate::codec::bytes::PutFields;
use crate::codec::huffman::{Code, Decoder};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Bytes of the count at the start of a block.
pub(super) const COUNT_LEN: usize = 2;

/// Returns the position of the highest bit in which two unequal fingerprints differ, counted from
/// the lowest bit.
#[inline]
pub(crate) fn leading_difference<F: Fingerprint>(a: F, b: F) -> u32 {
    debug_assert!(a != b);
    F::BITS - 1 - (a ^ b).leading_zeros()
}

/// Builds one block after another.
#[derive(Debug)]
pub(crate) struct Builder<F> {
    size: usize,
    code: Box<Code>,
    first: F,
    last: F,
    count: u16,
    bits: BitWriter,
}

impl<F: Fingerprint> Builder<F> {
    /// Creates a builder of blocks of `size` bytes. `code` must have a codeword for every leading
    /// difference to come.
    pub(crate) fn new(size: usize, code: Box<Code>) -> Self {
        Self { size, code, first: F::ZERO, last: F::ZERO, count: 0, bits: BitWriter::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the last fingerprint of the block, which becomes its key.
    pub(crate) fn last(&self) -> F {
        self.last
    }

    /// Adds a fingerprint greater than the last one. Returns false if the block has no room for it.
    #[must_use]
    #[inline]
    pub(crate) fn push(&mut self, fingerprint: F) -> bool {
        if self.count == 0 {
            self.first = fingerprint;
        } else {
            let h = leading_difference(self.last, fingerprint);
            let (word, length) = self.code.word(h);
            let room = (self.size - COUNT_LEN - F::BYTES) * 8;
            if self.count == u16::MAX || self.bits.len() + (length + h) as usize > room {
                return false;
            }
            self.bits.put_with_low_bits(word, length, fingerprint, h);
        }
        self.last = fingerprint;
        self.count += 1;
        true
    }

    /// Appends the block to `out`, padded with zeros to its size, and begins the next one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let end = out.len() + self.size;
        out.put_u16(self.count);
        out.put_fingerprint(self.first);
        self.bits.drain_to(out);
        out.resize(end, 0);
        self.count = 0;
    }
}

/// The encoded difference between a fingerprint and the next one.
struct Difference<F> {
    /// The highest bit that differs.
    h: u32,
    /// Length of the codeword plus `h`; not greater than `h` if there is no codeword here.
    len: u32,
    /// The bits below `h`.
    below: F,
}

/// Decodes the difference at bit `position`. This is total: any bytes decode to some difference.
#[inline(always)]
fn difference_at<F: Fingerprint>(bytes: &[u8], code: &Decoder, position: usize) -> Difference<F> {
    let peeked: F = peek(bytes, position);
    let (h, len) = code.decode(peeked.top64());
    // A table's code only has symbols below the width, so no shift here needs a check.
    let below = match len <= F::BITS - UNPEEKED {
        // Nearly always: one load contains the codeword and all bits below `h`.
        true => peeked.wrapping_shr(F::BITS.wrapping_sub(len)) & !F::MAX.wrapping_shl(h),
        false => below_at(bytes, position.wrapping_add(len.wrapping_sub(h) as usize), h),
    };
    Difference { h, len, below }
}

#[cold]
fn below_at<F: Fingerprint>(bytes: &[u8], position: usize, h: u32) -> F {
    BitReader::new(bytes, position).take_low_bits(h)
}

/// Decodes the fingerprint after `current` at bit `position`. Returns the position after it and the
/// fingerprint.
#[inline(always)]
pub(super) fn decode<F: Fingerprint>(
    bytes: &[u8],
    code: &Decoder,
    position: usize,
    current: F,
) -> (usize, F) {
    let Difference { h, len, below } = difference_at(bytes, code, position);
    let next = (current.wrapping_shr(h) | F::ONE).wrapping_shl(h) | below;
    (position.wrapping_add(len as usize), next)
}

/// Reads a block strictly, one fingerprint after another, without allocating.
#[derive(Debug)]
pub(crate) struct Reader<'a, F> {
    /// The block and any bytes after it.
    bytes: &'a [u8],
    code: &'a Decoder,
    position: usize,
    current: F,
    /// Fingerprints after `current`.
    left: u32,
    /// The block's length in bits.
    end: usize,
}

impl<'a, F: Fingerprint> Reader<'a, F> {
    /// Creates a reader at the first fingerprint of the block of `size` bytes at the start of
    /// `bytes`. `code` must be the table's.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], size: usize, code: &'a Decoder) -> Result<Self> {
        let count = bytes.first_chunk().map_or(0, |count| u16::from_le_bytes(*count));
        let first = bytes.get(COUNT_LEN..).and_then(F::read_le);
        let (Some(left), Some(current)) = (u32::from(count).checked_sub(1), first) else {
            return Err(Error::corruption("the block has no fingerprints"));
        };
        let position = (COUNT_LEN + F::BYTES) * 8;
        Ok(Self { bytes, code, position, current, left, end: size * 8 })
    }

    /// Returns the current fingerprint.
    #[inline]
    pub(crate) fn current(&self) -> F {
        self.current
    }

    /// Advances to the next fingerprint, which is greater. Returns false if there is none.
    ///
    /// Damaged bytes result in an error or in some ascending fingerprints, never in a panic and
    /// never in more steps than the count allows. [`check`] finds the damage that this method
    /// misses.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        let Difference { h, len, below } = difference_at(self.bytes, self.code, self.position);
        let above = self.current.wrapping_shr(h);
        if len <= h || above & F::ONE == F::ONE {
            return Err(Error::corruption("the block has an invalid codeword"));
        }
        self.position = self.position.wrapping_add(len as usize);
        self.current = (above | F::ONE).wrapping_shl(h) | below;
        self.left = self.left.wrapping_sub(1);
        if self.position > self.end {
            return Err(Error::corruption("the block ends in the middle of a fingerprint"));
        }
        Ok(true)
    }
}

/// Checks the block of `size` bytes at the start of `bytes` strictly: the fingerprints ascend, and
/// the bits after the last one are zero. Passes each fingerprint to `visit`.
pub(crate) fn check<F: Fingerprint>(
    bytes: &[u8],
    size: usize,
    code: &Code,
    mut visit: impl FnMut(F),
) -> Result<()> {
    let mut reader = Reader::<F>::new(bytes, size, code.decoder())?;
    loop {
        visit(reader.current());
        if !reader.advance()? {
            break;
        }
    }
    let mut padding = BitReader::new(bytes, reader.position);
    while padding.position() < reader.end {
        if padding.take(1) != 0 {
            return Err(Error::corruption("bits are set after the block's last fingerprint"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::huffman::Histogram;

    fn code_for<F: Fingerprint>(values: &[F]) -> Code {
        let mut histogram = Histogram::default();
        for pair in values.windows(2) {
            histogram.add(leading_difference(pair[0], pair[1]));
        }
        Code::from_histogram(&histogram)
    }

    fn build<F: Fingerprint>(values: &[F], size: usize) -> (Code, Vec<u8>, usize) {
        let code = code_for(values);
        let mut builder = Builder::new(size, Box::new(code.clone()));
        let taken = values.iter().take_while(|&&v| builder.push(v)).count();
        let mut out = Vec::new();
        builder.finish(&mut out);
        assert!(builder.is_empty());
        (code, out, taken)
    }

    fn read<F: Fingerprint>(block: &[u8], code: &Code) -> Result<Vec<F>> {
        let mut reader = Reader::new(block, block.len(), code.decoder())?;
        let mut values = vec![reader.current()];
        while reader.advance()? {
            values.push(reader.current());
        }
        Ok(values)
    }

    /// Returns ascending values whose neighbours have every leading difference.
    fn values<F: Fingerprint>() -> Vec<F> {
        let mut values = vec![F::ZERO];
        let mut x = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
        for i in 0..400u32 {
            x = x.wrapping_mul(0xda94_2042_e4dd_58b5_0000_0000_0000_0001 | 3).rotate_left(29);
            let near = values[values.len() - 1] ^ (F::ONE << (i % F::BITS));
            values.extend([F::from_u128(x), near]);
        }
        values.push(F::MAX);
        values.sort_unstable();
        values.dedup();
        values
    }

    fn round_trip<F: Fingerprint>() {
        let values = values::<F>();
        for size in [128, 256, 512, 1024, 2048, 4096] {
            let mut rest = &values[..];
            while !rest.is_empty() {
                let (code, block, taken) = build(rest, size);
                assert_eq!(block.len(), size);
                assert_eq!(read::<F>(&block, &code).unwrap(), rest[..taken]);
                check(&block, block.len(), &code, |_: F| ()).unwrap();
                rest = &rest[taken..];
            }
        }
    }

    #[test]
    fn blocks_of_every_size_round_trip_at_both_widths() {
        round_trip::<u64>();
        round_trip::<u128>();
    }

    #[test]
    fn small_block_matches_the_one_made_by_hand() {
        // 5, then 6 (h = 1, bit below: 0), then 13 (h = 3, bits below: 101). Codewords: 1 -> 0, 3
        // -> 1.
        let (_, block, taken) = build(&[5u64, 6, 13], 128);
        assert_eq!(taken, 3);
        assert_eq!(&block[..11], [3, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0b0011_0100]);
    }

    #[test]
    fn flipped_bits_never_panic_and_check_finds_those_that_change_an_answer() {
        let all = values::<u64>();
        let (code, good, taken) = build(&all, 256);
        for bit in 0..good.len() * 8 {
            let mut block = good.clone();
            block[bit / 8] ^= 1 << (bit % 8);
            let strict = check(&block, block.len(), &code, |_: u64| ());
            if read::<u64>(&block, &code).ok().as_deref() != Some(&all[..taken]) {
                // Only the page checksum can find a change that keeps the order.
                let in_order =
                    read::<u64>(&block, &code).is_ok_and(|v| v.is_sorted_by(|a, b| a < b));
                assert!(strict.is_err() || in_order, "bit {bit}");
            } else {
                assert!(strict.is_err(), "bit {bit} is padding but set");
            }
        }
        for len in 0..good.len() {
            let _ = read::<u64>(&good[..len], &code);
        }
    }

    #[test]
    fn block_without_fingerprints_is_damage() {
        assert!(Reader::<u64>::new(&[0; 128], 128, code_for(&[1u64, 2]).decoder()).is_err());
    }
}
