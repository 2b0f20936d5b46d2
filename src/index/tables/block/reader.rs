//! Decoding blocks, and searching them without decoding more than needed.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::Cell;

use super::packed::{COUNT_LEN, Job, Packed};
use super::remaining::Remaining;
use super::window::{self, Buffer, Window};
use crate::base::cpu;
use crate::base::error::{Error, Result};
use crate::file::codec::huffman::Decoder;
use crate::fingerprint::Word;

/// Bytes of a cache line.
const LINE: usize = 64;

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

impl<'a, F: Word> Block<'a, F> {
    /// Reads the start of the block.
    #[inline(always)]
    pub(super) fn open(block: &Packed<'a>) -> Result<Self> {
        let Packed { bytes, size, code, .. } = *block;
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
    pub(super) fn differences<'b>(&self, buffer: &'b mut Buffer) -> Window<'a, 'b> {
        let start = (COUNT_LEN + F::BYTES) * 8;
        Window::before(self.bytes, start, self.code, self.after, F::BITS - 1, buffer)
    }

    /// Visits the fingerprints in order, until `visit` returns false.
    #[inline(always)]
    pub(super) fn visit_while(&self, mut visit: impl FnMut(F) -> bool) -> Result<()> {
        let mut current = self.first;
        if !visit(current) {
            return Ok(());
        }
        let mut remaining = Remaining::new(self.bytes, self.size);
        let mut buffer = window::EMPTY;
        let mut window = self.differences(&mut buffer);
        loop {
            window.advance()?;
            if window.is_empty() {
                return Ok(());
            }
            let mut h = window.first();
            for next in window.nexts() {
                let below = remaining.read(h, next)?;
                // The bits above `h` stay, and the one at `h` becomes 1.
                current = (current.wrapping_shr(h) | F::ONE).wrapping_shl(h) | below;
                h = next;
                if !visit(current) {
                    return Ok(());
                }
            }
        }
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

impl Packed<'_> {
    /// Returns the place of a fingerprint in the block, if the block holds it.
    pub(crate) fn place<F: Word>(&self, fingerprint: F) -> Result<Option<usize>> {
        let shortened = fingerprint.wrapping_shr(self.zeros);
        let place = Block::open(self)?.place(shortened)?;
        Ok(place.filter(|_| shortened.wrapping_shl(self.zeros) == fingerprint))
    }
}

/// Appends the fingerprints of blocks to `out`, in order.
#[inline(always)]
pub(crate) fn decode_all<'a, F: Word>(
    blocks: impl Iterator<Item = Result<Packed<'a>>>,
    out: &mut Vec<F>,
) -> Result<()> {
    for block in blocks {
        let packed = block?;
        let block = Block::open(&packed)?;
        block.prefetch_next();
        let start = out.len();
        out.resize(start + block.after + 1, F::ZERO);
        let decoded = out.get_mut(start..).unwrap_or_default();
        let mut to = decoded.iter_mut();
        block.visit_while(|fingerprint| to.next().map(|to| *to = fingerprint).is_some())?;
        if packed.zeros > 0 {
            decoded.iter_mut().for_each(|f| *f = f.wrapping_shl(packed.zeros));
        }
    }
    Ok(())
}

/// Visits the fingerprints of blocks, in order.
#[inline(always)]
pub(crate) fn visit_all<'a, F: Word>(
    blocks: impl Iterator<Item = Result<Packed<'a>>>,
    mut visit: impl FnMut(F),
) -> Result<()> {
    for block in blocks {
        let packed = block?;
        let block = Block::<F>::open(&packed)?;
        block.prefetch_next();
        if packed.zeros > 0 {
            block.visit_while(|fingerprint| {
                visit(fingerprint.wrapping_shl(packed.zeros));
                true
            })?;
            continue;
        }
        block.visit_while(|fingerprint| {
            visit(fingerprint);
            true
        })?;
    }
    Ok(())
}

/// What searches of blocks decoded.
///
/// The counts are in memory that others can see, which keeps the compiler from keeping them in
/// registers: the loop that decodes needs all of these, and candidates are few.
#[derive(Debug, Default)]
pub(crate) struct Searched {
    pub blocks: Cell<u64>,
    /// Fingerprints from `low` to `high` of the jobs, which were compared.
    pub candidates: Cell<u64>,
}

/// Adds to a count.
#[inline(always)]
pub(crate) fn count(counter: &Cell<u64>, more: u64) {
    counter.set(counter.get().wrapping_add(more));
}

/// Searches the blocks that `next` returns, and passes the fingerprints within `distance` bits of
/// their query to `found`. Counts what it decodes.
#[inline(always)]
pub(crate) fn search<'a, F: Word, T: Copy>(
    mut next: impl FnMut() -> Result<Option<Job<'a, F, T>>>,
    distance: u32,
    searched: &Searched,
    mut found: impl FnMut(T, F),
) -> Result<()> {
    while let Some(Job { block, query, low, high, tag }) = next()? {
        count(&searched.blocks, 1);
        // Compares without the bits that the block does not have.
        let zeros = block.zeros;
        let unstored = !F::MAX.wrapping_shl(zeros);
        let Some(distance) = distance.checked_sub((query & unstored).count_ones()) else {
            continue;
        };
        let above_low = if low & unstored == F::ZERO { F::ZERO } else { F::ONE };
        let low = low.wrapping_shr(zeros).wrapping_add(above_low);
        let (query, high) = (query.wrapping_shr(zeros), high.wrapping_shr(zeros));
        Block::open(&block)?.visit_while(
            #[inline(always)]
            |fingerprint: F| {
                if fingerprint < low {
                    return true;
                }
                if fingerprint > high {
                    return false;
                }
                count(&searched.candidates, 1);
                if fingerprint.distance(query) <= distance {
                    found(tag, fingerprint.wrapping_shl(zeros));
                }
                true
            },
        )?;
    }
    Ok(())
}
