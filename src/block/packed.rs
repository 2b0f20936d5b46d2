//! A block in a file and the code that it is written in, independent of how each code works.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use crate::codec::block_code::BlockCode;
use crate::codec::bytes::{Fields, PutFields};
use crate::codec::huffman::{Code, Histogram};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// The code of one table's blocks, with the table's Huffman code if it has one.
#[derive(Debug, Clone)]
pub(crate) enum Coding {
    Huffman(Arc<Code>),
    EliasFano,
}

impl Coding {
    /// Creates the coding for a table whose leading differences are distributed like `histogram`.
    pub(crate) fn new(code: BlockCode, histogram: &Histogram) -> Self {
        match code {
            BlockCode::Huffman => Self::Huffman(Arc::new(Code::from_histogram(histogram))),
            BlockCode::EliasFano => Self::EliasFano,
        }
    }

    /// Appends the coding in the form of a table's footer; `bits` is the width of the fingerprints.
    pub(crate) fn put(&self, bits: u32, out: &mut Vec<u8>) {
        match self {
            Self::Huffman(code) => {
                out.put_u8(BlockCode::Huffman.number());
                out.extend_from_slice(code.lengths(bits));
            }
            Self::EliasFano => out.put_u8(BlockCode::EliasFano.number()),
        }
    }

    /// Reads the coding from a table's footer.
    pub(crate) fn read(bits: u32, fields: &mut Fields<'_>) -> Result<Self> {
        let number = fields.u8("block code")?;
        match BlockCode::from_number(number) {
            Some(BlockCode::Huffman) => {
                let lengths = fields.bytes(bits as usize, "code lengths")?;
                Ok(Self::Huffman(Arc::new(Code::from_lengths(lengths)?)))
            }
            Some(BlockCode::EliasFano) => Ok(Self::EliasFano),
            None => Err(fields.corruption(format!("{number} is not the number of a block code"))),
        }
    }

    /// Returns the block code.
    #[inline]
    pub(crate) fn kind(&self) -> BlockCode {
        match self {
            Self::Huffman(_) => BlockCode::Huffman,
            Self::EliasFano => BlockCode::EliasFano,
        }
    }
}

/// An encoded block in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    /// The block, and bytes after it, which mean nothing: the more there are, the more of the block
    /// is decoded with loads of entire words.
    pub bytes: &'a [u8],
    pub size: usize,
    pub coding: &'a Coding,
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

impl<F: Fingerprint, T: Copy> Job<'_, F, T> {
    /// Passes a fingerprint to `found` if it is present, near and in range. The distance is tested
    /// first because it is rarely small enough.
    #[inline(always)]
    pub(super) fn offer(
        &self,
        is_present: bool,
        fingerprint: F,
        distance: u32,
        mut found: impl FnMut(T, F),
    ) {
        let near = fingerprint.distance(self.query) <= distance;
        if near && is_present && (self.low..=self.high).contains(&fingerprint) {
            found(self.tag, fingerprint);
        }
    }
}

/// Returns the error for a block that is not in the code that is being decoded: all tables of a
/// database have the same block code.
#[cold]
pub(super) fn other_code() -> Error {
    Error::corruption("the table's block code is not the database's")
}
