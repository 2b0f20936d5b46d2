//! A table: one permuted, sorted set of fingerprints on disk (the paper's table, not LevelDB's).
//!
//! The file holds fixed-size [blocks](crate::block), then their [index](index): a directory over
//! keys (each block's last fingerprint), and these; then, if asked for, a [prefix filter](filter).
//! All lie at computed offsets, so opening reads none. storage-format.md, "Table".

mod builder;
mod cursor;
mod filter;
mod index;
mod lens;
mod reader;

pub(crate) use builder::{Profile, TableBuilder};
pub(crate) use cursor::Cursor;
pub(crate) use filter::Question;
pub(crate) use lens::{Lens, Target};
pub(crate) use reader::Table;

use crate::codec::block_code::BlockCode;

/// How to write a table; any mix of tables can be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableOptions {
    /// Bytes of a block.
    pub block_size: usize,
    /// How its fingerprints are written.
    pub code: BlockCode,
    /// Bits a fingerprint of the prefix filter; 0 for none.
    pub filter_bits: u32,
    /// Leading bits that the filter knows of.
    pub filter_depth: u32,
}

#[cfg(test)]
mod tests;
