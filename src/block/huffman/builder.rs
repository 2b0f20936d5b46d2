//! Building blocks in the paper's code.

use super::{COUNT_LEN, leading_difference, remaining_len};
use crate::codec::bits::BitWriter;
use crate::codec::bytes::PutFields;
use crate::codec::huffman::Code;
use crate::fingerprint::Fingerprint;

/// Builds one block after another.
#[derive(Debug)]
pub(crate) struct Builder<F> {
    size: usize,
    code: Box<Code>,
    first: F,
    last: F,
    /// The leading difference of the last fingerprint. Its remaining bits are not yet written,
    /// because they depend on the next leading difference.
    last_h: u32,
    count: u16,
    codewords: BitWriter,
    remaining: RemainingBits<F>,
}

impl<F: Fingerprint> Builder<F> {
    /// Creates a builder of blocks of `size` bytes. `code` must have a codeword for every leading
    /// difference to come.
    pub(crate) fn new(size: usize, code: Box<Code>) -> Self {
        Self {
            size,
            code,
            first: F::ZERO,
            last: F::ZERO,
            last_h: 0,
            count: 0,
            codewords: BitWriter::default(),
            remaining: RemainingBits::default(),
        }
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
            self.last_h = 0;
        } else {
            let h = leading_difference(self.last, fingerprint);
            let (word, length) = self.code.word(h);
            let last_len = remaining_len(self.last_h, h);
            let room = (self.size - COUNT_LEN - F::BYTES) * 8;
            let used = self.codewords.len() + self.remaining.len();
            if self.count == u16::MAX || used + (length + last_len + h) as usize > room {
                return false;
            }
            self.codewords.put(word, length);
            self.end_last(h, last_len);
            self.last_h = h;
        }
        self.last = fingerprint;
        self.count += 1;
        true
    }

    /// Writes the remaining bits of the last fingerprint, `len` of them, before the leading
    /// difference `next`.
    #[inline]
    fn end_last(&mut self, next: u32, len: u32) {
        let bits = self.last & !F::MAX.wrapping_shl(self.last_h);
        // Leaves the bit at `next` out, which is 0, if it is among them.
        let above = bits & F::MAX.wrapping_shl(next);
        self.remaining.put(bits.wrapping_sub(above) | above.wrapping_shr(1), len);
    }

    /// Appends the block to `out`, with zeros between codewords and remaining bits, and begins the
    /// next one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16(self.count);
        out.put_fingerprint(self.first);
        self.codewords.drain_to(out);
        if self.count > 0 {
            self.end_last(F::BITS - 1, self.last_h);
        }
        out.resize(start + self.size, 0);
        self.remaining.drain_to(out);
        self.count = 0;
    }
}

/// Remaining bits, written from the end of a block towards its beginning.
#[derive(Debug, Default)]
struct RemainingBits<F> {
    /// Full words, the one nearest to the end of the block first.
    words: Vec<F>,
    pending: F,
    pending_len: u32,
}

impl<F: Fingerprint> RemainingBits<F> {
    /// Returns the number of bits written so far.
    #[inline]
    fn len(&self) -> usize {
        self.words.len() * F::BITS as usize + self.pending_len as usize
    }

    /// Writes the low `len` bits of `value` before what was written so far. `value` must have no
    /// other bits set; `len` is less than the width.
    #[inline]
    fn put(&mut self, value: F, len: u32) {
        self.pending = self.pending | value.wrapping_shl(self.pending_len);
        let end = self.pending_len + len;
        if let Some(over) = end.checked_sub(F::BITS) {
            self.words.push(self.pending);
            // The shift is by the full width only if `over` is 0; then its result is not used.
            let rest = value.wrapping_shr(F::BITS - self.pending_len);
            self.pending = if over == 0 { F::ZERO } else { rest };
            self.pending_len = over;
        } else {
            self.pending_len = end;
        }
    }

    /// Sets all bits at the end of `block`, where there are zeros, and empties the writer.
    fn drain_to(&mut self, block: &mut [u8]) {
        let mut places = block.rchunks_exact_mut(F::BYTES);
        for (word, place) in self.words.drain(..).zip(&mut places) {
            if let Some(bytes) = bytes_of(word).get(16 - F::BYTES..) {
                place.copy_from_slice(bytes);
            }
        }
        // The codewords may end in the byte in which the remaining bits begin.
        let bytes = bytes_of(self.pending);
        let bytes = bytes.iter().rev().take(self.pending_len.div_ceil(8) as usize);
        let place = places.next().unwrap_or_default();
        place.iter_mut().rev().zip(bytes).for_each(|(to, &byte)| *to |= byte);
        (self.pending, self.pending_len) = (F::ZERO, 0);
    }
}

/// Returns the bytes of a word, the lowest last, after zeros.
#[inline]
fn bytes_of<F: Fingerprint>(word: F) -> [u8; 16] {
    word.to_u128().to_be_bytes()
}
