//! A block: ascending fingerprints in a fixed number of bytes, the unit of decompression.
//!
//! All blocks of a table are in one of two codes: the paper's ([`huffman`]) or [`elias_fano`]. In
//! both, a search reads only what it needs, and the first two bytes are the number of fingerprints.
//! storage-format.md, "Block".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::codec::block_code::BlockCode;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

pub(crate) mod bound;
mod elias_fano;
pub(crate) mod huffman;
mod packed;

pub(crate) use packed::{Coding, Job, Packed};

/// Size of the smallest block in bytes. Sizes are powers of two, so that a block is within one
/// page.
pub(crate) const MIN_SIZE: usize = 128;
/// Size of the largest block in bytes. If each fingerprint takes a bit, their number fits in a
/// `u16`.
pub(crate) const MAX_SIZE: usize = 4096;
const _: () = assert!(MAX_SIZE * 8 <= u16::MAX as usize);

impl Coding {
    /// Checks strictly that the first `size` bytes of `bytes` are a block as a builder writes it:
    /// the fingerprints ascend, and unused bits are zero. Passes each fingerprint to `visit`.
    pub(crate) fn check<F: Fingerprint>(
        &self,
        bytes: &[u8],
        size: usize,
        visit: impl FnMut(F),
    ) -> Result<()> {
        match self {
            Self::Huffman(code) => huffman::check(bytes, size, self, code, visit),
            Self::EliasFano => elias_fano::check(bytes, size, visit),
        }
    }
}

/// Builds one block after another.
#[derive(Debug)]
pub(crate) enum BlockBuilder<F> {
    Huffman(huffman::Builder<F>),
    EliasFano(elias_fano::Builder<F>),
}

impl<F: Fingerprint> BlockBuilder<F> {
    /// Creates a builder of blocks of `size` bytes, a power of two from `MIN_SIZE` to `MAX_SIZE`.
    pub(crate) fn new(size: usize, coding: &Coding) -> Self {
        debug_assert!(size.is_power_of_two() && (MIN_SIZE..=MAX_SIZE).contains(&size));
        match coding {
            Coding::Huffman(code) => Self::Huffman(huffman::Builder::new(size, code)),
            Coding::EliasFano => Self::EliasFano(elias_fano::Builder::new(size)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Huffman(builder) => builder.is_empty(),
            Self::EliasFano(builder) => builder.is_empty(),
        }
    }

    /// Returns the last fingerprint of the block, which becomes its key.
    pub(crate) fn last(&self) -> F {
        match self {
            Self::Huffman(builder) => builder.last(),
            Self::EliasFano(builder) => builder.last(),
        }
    }

    /// Adds ascending fingerprints, all greater than the last one, up to the first for which the
    /// block has no room. Returns how many were added.
    #[must_use]
    pub(crate) fn push_all(&mut self, fingerprints: &[F]) -> usize {
        match self {
            Self::Huffman(builder) => builder.push_all(fingerprints),
            Self::EliasFano(builder) => builder.push_all(fingerprints),
        }
    }

    /// Appends the block to `out`, padded with zeros to its size, and begins the next one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Huffman(builder) => builder.finish(out),
            Self::EliasFano(builder) => builder.finish(out),
        }
    }
}

impl Packed<'_> {
    /// Returns how many fingerprints a search for the range from `low` to `high` compares.
    pub(crate) fn count_candidates<F: Fingerprint>(&self, low: F, high: F) -> Result<usize> {
        match self.coding {
            Coding::Huffman(_) => huffman::Block::open(self)?.count_candidates(high),
            Coding::EliasFano => elias_fano::Block::open(self)?.count_candidates(low, high),
        }
    }

    /// Returns the place of a fingerprint in the block, if the block holds it.
    pub(crate) fn place<F: Fingerprint>(&self, fingerprint: F) -> Result<Option<usize>> {
        match self.coding {
            Coding::Huffman(_) => huffman::Block::open(self)?.place(fingerprint),
            Coding::EliasFano => elias_fano::Block::open(self)?.place(fingerprint),
        }
    }
}

/// Appends the fingerprints of blocks of this code to `out`, in order.
#[inline(always)]
pub(crate) fn decode_all<'a, F: Fingerprint>(
    code: BlockCode,
    blocks: impl Iterator<Item = Result<Packed<'a>>>,
    out: &mut Vec<F>,
) -> Result<()> {
    match code {
        BlockCode::Huffman => huffman::decode_all(blocks, out),
        BlockCode::EliasFano => elias_fano::decode_all(blocks, out),
    }
}

/// Visits the fingerprints of blocks of this code, in no particular order.
#[inline(always)]
pub(crate) fn visit_all<'a, F: Fingerprint>(
    code: BlockCode,
    blocks: impl Iterator<Item = Result<Packed<'a>>>,
    visit: impl FnMut(F),
) -> Result<()> {
    match code {
        BlockCode::Huffman => huffman::visit_all(blocks, visit),
        BlockCode::EliasFano => elias_fano::visit_all(blocks, visit),
    }
}

/// Searches the blocks of this code that `next` returns, and passes the fingerprints within
/// `distance` bits of their query to `found`, in no particular order.
#[inline(always)]
pub(crate) fn search<'a, F: Fingerprint, T: Copy>(
    code: BlockCode,
    next: impl FnMut() -> Result<Option<Job<'a, F, T>>>,
    distance: u32,
    found: impl FnMut(T, F),
) -> Result<()> {
    match code {
        BlockCode::Huffman => huffman::search(next, distance, found),
        BlockCode::EliasFano => elias_fano::search(next, distance, found),
    }
}
