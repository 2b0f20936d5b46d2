//! An encoded block, its sizes, and the search of one block.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::base::error::{Error, Result};
use crate::file::codec::huffman::Code;
use crate::fingerprint::Word;

/// Size of the smallest block in bytes. Sizes are powers of two, so that a block is within one
/// page.
pub(crate) const MIN_SIZE: usize = 128;
/// Size of the largest block in bytes. If each fingerprint takes a bit, their number fits in a
/// `u16`.
pub(crate) const MAX_SIZE: usize = 4096;
const _: () = assert!(MAX_SIZE * 8 <= u16::MAX as usize);

/// The number of the only block code, which files have so that a later version can add another.
pub(crate) const CODE: u8 = 0;

/// Bytes of the count at the start of a block.
pub(super) const COUNT_LEN: usize = 2;

/// Returns the position of the highest bit in which two unequal fingerprints differ, counted from
/// the lowest bit.
#[inline]
pub(crate) fn leading_difference<F: Word>(a: F, b: F) -> u32 {
    debug_assert!(a != b);
    F::BITS - 1 - (a ^ b).leading_zeros()
}

/// An encoded block in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    /// The block, and bytes after it, which mean nothing: the more there are, the more of the block
    /// is decoded with loads of entire words.
    pub bytes: &'a [u8],
    pub size: usize,
    pub code: &'a Code,
    /// How many of the lowest bits are zero in all fingerprints of the table. The block does not
    /// have them.
    pub zeros: u32,
}

impl Packed<'_> {
    /// Returns the number of fingerprints.
    pub(crate) fn len(&self) -> Result<usize> {
        let count = self.bytes.first_chunk();
        match count.map(|count| u16::from_le_bytes(*count)) {
            Some(count @ 1..) => Ok(count.into()),
            _ => Err(Error::corruption("the block has no fingerprints")),
        }
    }
}

/// A search of one block for the fingerprints from `low` to `high`, inclusive, that are near
/// `query`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a, F, T> {
    pub block: Packed<'a>,
    pub query: F,
    pub low: F,
    pub high: F,
    /// Is returned with each match.
    pub tag: T,
}
