//! A table of bands: a sorted table that leads from one band of a sketch to the leaves of documents
//! that have it.
//!
//! It has a row per original, ascending by band. A row has three parts: the *bucket*, the leading
//! bits of the band; the *rest*, the next 16 bits; and the *page* of the leaf. The buckets are in a
//! directory, the rests and the pages are columns. storage-format.md, "Bands", has the bytes, and
//! docs/design.md, "Sketches", says how a query searches them.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod builder;
mod numbers;
mod reader;
mod row;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use builder::{BandBuilder, most_body_bytes};
pub(crate) use numbers::{NumberSet, for_each_number};
pub(crate) use reader::{BandTable, BandView, MOST_AT_ONCE};
#[cfg(test)]
pub(crate) use row::{MAX_BUCKET_BITS, REST_BITS, bucket_bits};
pub(crate) use row::{Row, rows_of_leaf};

/// The most originals of a segment of sketches, and the most pages of its leaves: 32 bits number
/// them.
pub(crate) const MOST_ROWS: u64 = u32::MAX as u64;
