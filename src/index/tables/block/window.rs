//! Decoding the leading differences of a block, some at a time.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::base::error::{Error, Result};
use crate::file::codec::bits::{UNPEEKED, peek};
use crate::file::codec::huffman::{Decoder, MAX_LENGTH, MAX_RUN};

/// Runs of codewords in a window: as many as one loaded word contains in any case.
const RUNS: u32 = (64 - UNPEEKED) / MAX_LENGTH;

/// A power of two greater than the number of leading differences in a window.
const PLACES: usize = 32;

const _: () = assert!((RUNS as usize - 1) * MAX_RUN + 1 < PLACES);

/// Memory for the leading differences of a window. It is separate, so that the rest of the window
/// can stay in registers.
pub(super) type Buffer = [u8; PLACES + MAX_RUN];

/// A buffer for a new window.
pub(super) const EMPTY: Buffer = [0; PLACES + MAX_RUN];

/// Some leading differences of a block in a row, and the next one after them.
///
/// A window always has the same number of runs, so that filling it takes no branch that depends on
/// the codewords.
#[derive(Debug)]
pub(super) struct Window<'a, 'b> {
    bytes: &'a [u8],
    code: &'a Decoder,
    /// The bit offset of the first codeword after this window.
    position: usize,
    /// Number of leading differences that are in this window or after it.
    left: usize,
    /// Number of leading differences in this window.
    len: usize,
    /// Number of leading differences that the next window begins with: 0 or 1.
    carried: usize,
    /// What follows the last leading difference of the block.
    none: u8,
    buffer: &'b mut Buffer,
}

impl<'a, 'b> Window<'a, 'b> {
    /// Returns an empty window before the `count` leading differences whose codewords begin at bit
    /// `position`. `none` is returned as the next one after the last. It is never below another.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a leading difference is below 128")]
    pub(super) fn before(
        bytes: &'a [u8],
        position: usize,
        code: &'a Decoder,
        count: usize,
        none: u32,
        buffer: &'b mut Buffer,
    ) -> Self {
        Self { bytes, code, position, left: count, len: 0, carried: 0, none: none as u8, buffer }
    }

    /// Moves the window to the next leading differences; it is empty after the last.
    ///
    /// Damaged bytes result in an error or in some leading differences.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "places are remainders")]
    pub(super) fn advance(&mut self) -> Result<()> {
        self.left = self.left.wrapping_sub(self.len);
        self.buffer[0] = self.buffer[self.len % PLACES];
        let mut decoded = self.carried;
        let mut word: u64 = peek(self.bytes, self.position);
        for _ in 0..RUNS {
            let run = self.code.decode(word);
            let place = decoded % PLACES;
            self.buffer[place..place + MAX_RUN].copy_from_slice(&run.symbols());
            decoded += run.count() as usize;
            word = word.wrapping_shl(run.len());
            self.position = self.position.wrapping_add(run.len() as usize);
        }
        self.carried = 1;
        self.len = decoded.saturating_sub(1);
        if self.left <= decoded {
            self.len = self.left;
            self.buffer[self.left % PLACES] = self.none;
        }
        if self.len == 0 && self.left > 0 {
            return Err(Error::corruption("the block has an invalid codeword"));
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the first leading difference.
    #[inline(always)]
    pub(super) fn first(&self) -> u32 {
        self.buffer[0].into()
    }

    /// Returns the one after each leading difference.
    #[inline(always)]
    pub(super) fn nexts(&self) -> impl Iterator<Item = u32> {
        self.buffer.get(1..=self.len).unwrap_or_default().iter().map(|&next| next.into())
    }
}
