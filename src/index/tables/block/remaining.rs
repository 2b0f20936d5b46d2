//! The remaining bits of a block: what they are, and reading them.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;

use crate::base::error::{Error, Result};
use crate::file::codec::bits::UNPEEKED;
use crate::fingerprint::Word;

/// Returns the number of remaining bits of a fingerprint, given its leading difference and the next
/// one. The bit at the next leading difference, if it is among them, is known to be 0 and is left
/// out.
#[inline(always)]
pub(super) fn remaining_len(h: u32, next: u32) -> u32 {
    h.wrapping_sub(u32::from(next < h))
}

/// Returns the remaining bits of a fingerprint, given its leading difference and the next one.
#[inline(always)]
pub(super) fn remaining_bits<F: Word>(fingerprint: F, h: u32, next: u32) -> F {
    let bits = fingerprint & !F::MAX.wrapping_shl(h);
    // Leaves the bit at `next` out, which is 0, if it is among them: halves what is above it.
    let above = bits & F::MAX.wrapping_shl(next);
    bits.wrapping_sub(above.wrapping_shr(1))
}

/// Reads remaining bits from the end of a block backwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remaining<'a, F> {
    bytes: &'a [u8],
    /// The position of the lowest unread bit, less the length of a word without its last byte: the
    /// next word begins with the byte at this position. The highest bit of the block is bit 0.
    position: usize,
    width: PhantomData<F>,
}

impl<'a, F: Word> Remaining<'a, F> {
    /// Creates a reader of the block of `size` bytes at the start of `bytes`.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], size: usize) -> Self {
        let lowest = (size * 8).wrapping_sub(1);
        Self { bytes, position: lowest.wrapping_sub((F::BYTES - 1) * 8), width: PhantomData }
    }

    /// Reads the remaining bits of the next fingerprint, whose leading difference is `h`, and
    /// returns all its bits below `h`. `next` is the leading difference after it.
    #[inline(always)]
    pub(super) fn read(&mut self, h: u32, next: u32) -> Result<F> {
        let word = match h <= F::BITS - UNPEEKED {
            true => self.peek()?,
            false => self.peek_long()?,
        };
        self.skip(remaining_len(h, next));
        // Makes room for the bit that is left out: doubles what is above it.
        let above_next = word & F::MAX.wrapping_shl(next);
        Ok(word.wrapping_add(above_next) & !F::MAX.wrapping_shl(h))
    }

    #[inline(always)]
    fn skip(&mut self, bits: u32) {
        self.position = self.position.wrapping_sub(bits as usize);
    }

    /// Returns the next bits. The [`UNPEEKED`] highest may be missing.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "only the low three bits are used")]
    fn peek(&self) -> Result<F> {
        // A single comparison, as in `peek` of `codec::bits`.
        let start = self.position / 8;
        match self.bytes.get(start..start.wrapping_add(F::BYTES)).and_then(F::read_be) {
            Some(word) => Ok(word.wrapping_shr(!self.position as u32 % 8)),
            None => Err(Error::corruption("the block's fingerprints do not fit into it")),
        }
    }

    /// Returns the next bits, none of them missing. Takes a copy, so that the caller's reader can
    /// stay in registers.
    #[cold]
    fn peek_long(mut self) -> Result<F> {
        let half = F::BITS / 2;
        let low = self.peek()? & !F::MAX.wrapping_shl(half);
        self.skip(half);
        Ok(self.peek()?.wrapping_shl(half) | low)
    }
}
