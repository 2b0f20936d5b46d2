//! Documents: what one segment says about documents, sorted by key.
//!
//! The file is a B-tree that never changes. Its leaves have the keys, compressed, and the
//! documents; a filter says of most other keys that they are not in the file; and in a database
//! with names, a locator finds a document by its id. A lookup reads one leaf. storage-format.md,
//! "Documents".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bound;
mod builder;
mod column;
mod cursor;
mod encoder;
mod filter;
mod inner;
mod keys;
mod leaf;
mod leaf_builder;
mod leaves;
mod locator;
mod meta;
mod reader;
mod symbols;
mod train;
mod typed;
mod verify;

pub(crate) use bound::{MAX_FIXED_BYTES, most_record_bytes};
pub(crate) use builder::DocumentsBuilder;
pub(crate) use cursor::DocumentsCursor;
pub(crate) use filter::{KeyHash, KeyHasher};
pub(crate) use leaves::FoundInLeaf;
pub(crate) use symbols::SymbolTable;
pub(crate) use typed::Documents;

#[cfg(test)]
use crate::fingerprint::DocId;
use crate::fingerprint::Document;

/// A document whose fingerprint is still bytes. Code that does not look at fingerprints takes this
/// form, so that it is compiled once.
type EncodedDocument<'a> = Document<&'a [u8]>;

/// Most bytes of a key.
pub(crate) const MAX_KEY: usize = u16::MAX as usize;

/// The flags of a leaf: which parts it has.
mod flags {
    /// A bitmap of removed documents.
    pub(super) const REMOVED: u32 = 1;
    /// A bitmap of duplicates, and their originals.
    pub(super) const DUPLICATES: u32 = 2;
    pub(super) const STAMPS: u32 = 4;
    /// A bitmap of the documents with stamps. Without it, all have stamps or none has.
    pub(super) const SOME_STAMPS: u32 = 8;
    pub(super) const ALL: u32 = REMOVED | DUPLICATES | STAMPS | SOME_STAMPS;
}

#[cfg(test)]
mod tests;
