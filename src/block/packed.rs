//! What the code of a block and a block in a file are, apart from the codes themselves.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::codec::block_code::BlockCode;
use crate::codec::bytes::{Fields, PutFields};
use crate::codec::huffman::{Code, Histogram};
use crate::error::{Error, Result};

/// The code of one table's blocks.
#[derive(Debug, Clone)]
pub(crate) enum Coding {
    Huffman(Box<Code>),
    EliasFano,
}

impl Coding {
    /// For a table whose neighbours differ like this.
    pub(crate) fn new(code: BlockCode, histogram: &Histogram) -> Self {
        match code {
            BlockCode::Huffman => Self::Huffman(Box::new(Code::from_histogram(histogram))),
            BlockCode::EliasFano => Self::EliasFano,
        }
    }

    /// Appends it as a table's footer has it; `bits` is the fingerprints' width.
    pub(crate) fn put(&self, bits: u32, out: &mut Vec<u8>) {
        match self {
            Self::Huffman(code) => {
                out.put_u8(BlockCode::Huffman.number());
                out.extend_from_slice(code.lengths(bits));
            }
            Self::EliasFano => out.put_u8(BlockCode::EliasFano.number()),
        }
    }

    pub(crate) fn read(bits: u32, fields: &mut Fields<'_>) -> Result<Self> {
        let number = fields.u8("code of blocks")?;
        match BlockCode::from_number(number) {
            Some(BlockCode::Huffman) => {
                let lengths = fields.bytes(bits as usize, "code lengths")?;
                Ok(Self::Huffman(Box::new(Code::from_lengths(lengths)?)))
            }
            Some(BlockCode::EliasFano) => Ok(Self::EliasFano),
            None => Err(fields.corruption(format!("code of blocks {number}"))),
        }
    }

    /// Which of the codes it is.
    #[inline]
    pub(crate) fn kind(&self) -> BlockCode {
        match self {
            Self::Huffman(_) => BlockCode::Huffman,
            Self::EliasFano => BlockCode::EliasFano,
        }
    }
}

/// A block as it lies in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    /// The file's bytes.
    pub bytes: &'a [u8],
    /// Where the block begins.
    pub start: usize,
    pub size: usize,
    pub coding: &'a Coding,
}

impl Packed<'_> {
    /// Number of fingerprints.
    pub(crate) fn len(&self) -> Result<usize> {
        let count = self.bytes.get(self.start..).and_then(<[u8]>::first_chunk);
        match count.map(|count| u16::from_le_bytes(*count)) {
            Some(count @ 1..) => Ok(count.into()),
            _ => Err(Error::corruption("empty block")),
        }
    }
}

/// A block to look through for what lies from `low` to `high`, near to `query`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a, F, T> {
    pub block: Packed<'a>,
    pub query: F,
    pub low: F,
    pub high: F,
    /// Goes with what is found.
    pub tag: T,
}

/// One table's blocks are in one code, and all tables' in that which the database has.
#[cold]
pub(super) fn other_code() -> Error {
    Error::corruption("the table is in another code than the database")
}
