//! A row: where a fingerprint is in the order of a table.

use crate::fingerprint::Fingerprint;
use crate::layout::{KEY_BITS, Permutation};

/// Bits of the number of a block.
const BLOCK_BITS: u32 = 32;

/// A row as a number, in the order of the rows: from the top, the bits of the bucket and the key,
/// zeros, and the number of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row(pub(super) u128);

impl Row {
    pub(super) fn of(bucket: u32, bucket_bits: u8, key: u32, block: u32) -> Self {
        let leading = u128::from(bucket) << KEY_BITS | u128::from(key);
        let shift = u128::BITS - u32::from(bucket_bits + KEY_BITS);
        Self(leading << shift | u128::from(block))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a bucket has at most 27 bits")]
    pub(super) fn bucket(self, bucket_bits: u8) -> u32 {
        self.0.checked_shr(u128::BITS - u32::from(bucket_bits)).unwrap_or(0) as u32
    }

    #[expect(clippy::cast_possible_truncation, reason = "the bits of the key are wanted")]
    pub(super) fn key(self, bucket_bits: u8) -> u32 {
        (self.0 << bucket_bits >> (u128::BITS - u32::from(KEY_BITS))) as u32
    }

    #[expect(clippy::cast_possible_truncation, reason = "the bits of the block are wanted")]
    pub(super) fn block(self) -> u32 {
        self.0 as u32
    }
}

/// Makes the rows of the fingerprints of table 0.
#[derive(Debug)]
pub(crate) struct RowMaker<F> {
    order: Permutation<F>,
    bucket_bits: u8,
    /// The rows of a block.
    rows: Vec<u128>,
}

impl<F: Fingerprint> RowMaker<F> {
    /// Creates a maker for the rows of a table with this bit order.
    pub(crate) fn new(order: Permutation<F>, bucket_bits: u8) -> Self {
        Self { order, bucket_bits, rows: Vec::new() }
    }

    /// Returns the rows of the fingerprints of a block, each once, as numbers in the order of the
    /// rows.
    pub(crate) fn rows_of(&mut self, block: u32, fingerprints: &[F]) -> &[u128] {
        let shift = u128::BITS - F::BITS;
        let in_row = u128::MAX << (u128::BITS - u32::from(self.bucket_bits + KEY_BITS));
        debug_assert_eq!(in_row & u128::from(u32::MAX), 0, "at most 96 bits before the block");
        let row = |&fingerprint: &F| {
            let permuted = self.order.apply(fingerprint).to_u128() << shift;
            permuted & in_row | u128::from(block)
        };
        self.rows.clear();
        self.rows.extend(fingerprints.iter().map(row));
        self.rows.sort_unstable();
        self.rows.dedup();
        &self.rows
    }
}

const _: () = assert!(BLOCK_BITS + KEY_BITS as u32 + crate::layout::MAX_BUCKET_BITS as u32 <= 128);
