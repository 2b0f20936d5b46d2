//! Blocks in the paper's code.
//!
//! A block has the first fingerprint in full. Each further one has a leading difference h, the
//! position of the highest bit in which it differs from the previous one, and *remaining bits*,
//! those below h (paper, section 3.2). As fingerprints ascend, the bit at h is 1 in the fingerprint
//! and 0 in the previous one, so neither is stored.
//!
//! The paper alternates codewords and remaining bits. Here the codewords of all leading differences
//! come first, and the remaining bits fill the block from its end. So the start of a codeword does
//! not depend on the remaining bits before it, and several codewords are decoded at once.
//! storage-format.md, "Huffman block".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod builder;
mod check;
mod remaining;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use builder::Builder;
pub(super) use check::check;

use remaining::Remaining;
use window::Window;

use super::packed::{Coding, Job, Packed, other_code};
use crate::codec::huffman::Decoder;
use crate::cpu;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Bytes of the count at the start of a block.
const COUNT_LEN: usize = 2;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Returns the position of the highest bit in which two unequal fingerprints differ, counted from
/// the lowest bit.
#[inline]
pub(crate) fn leading_difference<F: Fingerprint>(a: F, b: F) -> u32 {
    debug_assert!(a != b);
    F::BITS - 1 - (a ^ b).leading_zeros()
}

/// An opened block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a, F> {
    /// The block, and bytes after it.
    bytes: &'a [u8],
    size: usize,
    code: &'a Decoder,
    first: F,
    /// Number of fingerprints after the first.
    after: usize,
}

impl<'a, F: Fingerprint> Block<'a, F> {
    /// Reads the start of the block.
    #[inline(always)]
    pub(super) fn open(block: &Packed<'a>) -> Result<Self> {
        let Packed { bytes, size, coding } = *block;
        let Coding::Huffman(code) = coding else { return Err(other_code()) };
        let count = bytes.first_chunk().map_or(0, |count| u16::from_le_bytes(*count));
        let first = bytes.get(COUNT_LEN..).and_then(F::read_le);
        let (1.., Some(first), true) = (count, first, size <= bytes.len()) else {
            return Err(Error::corruption("the block has no fingerprints"));
        };
        Ok(Self { bytes, size, code: code.decoder(), first, after: usize::from(count) - 1 })
    }

    /// Prefetches the block after this one, from whose middle on bytes are read backwards, which
    /// processors do not expect.
    #[inline(always)]
    fn prefetch_next(&self) {
        for line in (self.size..2 * self.size).step_by(LINE) {
            cpu::prefetch(self.bytes, line);
        }
    }

    /// Returns an empty window before the leading differences.
    #[inline(always)]
    fn differences(&self) -> Window<'a> {
        let start = (COUNT_LEN + F::BYTES) * 8;
        Window::before(self.bytes, start, self.code, self.after, F::BITS - 1)
    }

    /// Visits the fingerprints in order, until `visit` returns false.
    #[inline(always)]
    fn visit_while(&self, mut visit: impl FnMut(F) -> bool) -> Result<()> {
        let mut current = self.first;
        if !visit(current) {
            return Ok(());
        }
        let mut remaining = Remaining::new(self.bytes, self.size);
        let mut window = self.differences();
        loop {
            window.advance()?;
            if window.is_empty() {
                return Ok(());
            }
            let mut h = window.first();
            for next in window.nexts() {
                let below = remaining.read(h, next)?;
                current = current & F::MAX.wrapping_shl(h) | F::ONE.wrapping_shl(h) | below;
                h = next;
                if !visit(current) {
                    return Ok(());
                }
            }
        }
    }

    /// Returns how many fingerprints a search up to `high` decodes.
    pub(super) fn count_candidates(&self, high: F) -> Result<usize> {
        let mut count = 0;
        self.visit_while(|fingerprint| {
            count += 1;
            fingerprint <= high
        })?;
        Ok(count)
    }

    /// Returns the place of a fingerprint in the block, if the block holds it.
    pub(super) fn place(&self, fingerprint: F) -> Result<Option<usize>> {
        let (mut place, mut last) = (0, self.first);
        self.visit_while(|next| {
            last = next;
            place += usize::from(next < fingerprint);
            next < fingerprint
        })?;
        Ok((last == fingerprint).then_some(place))
    }
}

/// Does what [`decode_all`](super::decode_all) does.
#[inline(always)]
pub(super) fn decode_all<'a, F: Fingerprint>(
    blocks: impl Iterator<Item = Result<Packed<'a>>>,
    out: &mut Vec<F>,
) -> Result<()> {
    for block in blocks {
        let block = Block::open(&block?)?;
        block.prefetch_next();
        let start = out.len();
        out.resize(start + block.after + 1, F::ZERO);
        let mut to = out.get_mut(start..).unwrap_or_default().iter_mut();
        block.visit_while(|fingerprint| to.next().map(|to| *to = fingerprint).is_some())?;
    }
    Ok(())
}

/// Does what [`visit_all`](super::visit_all) does.
#[inline(always)]
pub(super) fn visit_all<'a, F: Fingerprint>(
    blocks: impl Iterator<Item = Result<Packed<'a>>>,
    mut visit: impl FnMut(F),
) -> Result<()> {
    for block in blocks {
        let block = Block::open(&block?)?;
        block.prefetch_next();
        block.visit_while(|fingerprint| {
            visit(fingerprint);
            true
        })?;
    }
    Ok(())
}

/// Does what [`search`](super::search) does.
#[inline(always)]
pub(super) fn search<'a, F: Fingerprint, T: Copy>(
    mut next: impl FnMut() -> Result<Option<Job<'a, F, T>>>,
    distance: u32,
    mut found: impl FnMut(T, F),
) -> Result<()> {
    while let Some(Job { block, query, low, high, tag }) = next()? {
        Block::open(&block)?.visit_while(
            #[inline(always)]
            |fingerprint: F| {
                if fingerprint < low {
                    return true;
                }
                if fingerprint <= high && fingerprint.distance(query) <= distance {
                    found(tag, fingerprint);
                }
                fingerprint <= high
            },
        )?;
    }
    Ok(())
}
