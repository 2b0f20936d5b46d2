//! A table: one permuted, sorted set of fingerprints on disk (the paper's table, not LevelDB's).
//!
//! The file holds fixed-size [blocks](super::block), then their [index](index), a directory over
//! the block keys (each block's last fingerprint); then, if requested, a [prefix filter](filter).
//! The offsets of all parts can be computed, so opening a table reads none of them.
//! storage-format.md, "Table".

mod builder;
mod cursor;
mod decoded;
mod directory;
mod filter;
mod filter_builder;
mod index;
mod profile;
mod reader;
mod verify;
mod view;

pub(crate) use builder::TableBuilder;
pub(crate) use cursor::Cursor;
pub(crate) use decoded::Decoded;
pub(crate) use directory::most_index_bytes;
pub(crate) use filter::{CHECKED_TOGETHER, FilterChecks, NEAR_TOGETHER};
pub(crate) use index::MAX_BLOCKS_OF_VALUE;
pub(crate) use profile::{Profile, Sample, zeros};
pub(crate) use reader::Table;
pub(crate) use view::{FilterView, Lookup, TableView};

/// How a table is written. Tables written with different options can be read together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableOptions {
    /// Bytes of a block.
    pub block_size: usize,
    /// Bits per fingerprint of the prefix filter; 0 for no filter.
    pub filter_bits: u32,
    /// Number of leading bits that the filter checks.
    pub filter_depth: u32,
}

#[cfg(test)]
mod tests;
