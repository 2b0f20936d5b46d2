//! A block: ascending fingerprints in a fixed number of bytes, the unit of decompression.
//!
//! A block has the first fingerprint in full. Each further one has a leading difference h, the
//! position of the highest bit in which it differs from the previous one, and *remaining bits*,
//! those below h (paper, section 3.2). As fingerprints ascend, the bit at h is 1 in the fingerprint
//! and 0 in the previous one, so neither is stored.
//!
//! The paper alternates codewords and remaining bits. Here the codewords of all leading differences
//! come first, and the remaining bits fill the block from its end. So the start of a codeword does
//! not depend on the remaining bits before it, and several codewords are decoded at once.
//! storage-format.md, "Block".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod bound;
mod builder;
mod check;
mod packed;
mod reader;
mod remaining;
mod stored;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use builder::BlockBuilder;
pub(crate) use check::check;
pub(crate) use packed::{CODE, Job, MAX_SIZE, MIN_SIZE, Packed, leading_difference};
pub(crate) use reader::{Searched, count, decode_all, search, visit_all};
pub(crate) use stored::{Stored, stored};
