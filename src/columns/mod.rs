//! A table of columns: a table that only leads to the blocks of table 0.
//!
//! It has a row per fingerprint, in the order of a table of the layout. A row has three parts: the
//! *bucket*, the leading bits; the *key*, the next 32 bits; and the number of the *block* of table
//! 0 that has the fingerprint. The buckets are in a directory, the keys and the blocks are columns.
//! Rows of one block that agree in bucket and key are one row. storage-format.md, "Columns", has the
//! bytes, and docs/design.md, "Columns", says how a query searches them.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod builder;
mod reader;
mod row;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use builder::{ColumnsBuilder, most_body_bytes};
pub(crate) use reader::{Columns, ColumnsView};
pub(crate) use row::RowMaker;
