//! Tables of columns (`crate::columns`): how many bits their buckets and keys have, and which of
//! their rows are candidates.

use super::staircase::{Staircase, Step};

/// Bits of the key of a row.
pub(crate) const KEY_BITS: u8 = 32;

/// A bucket has 2^3 to 2^4 rows on average, which fill a cache line.
const ROWS_PER_BUCKET_BITS: u32 = 3;
/// Most bits of a bucket: with these, a directory takes 512 MiB.
pub(crate) const MAX_BUCKET_BITS: u8 = 27;

/// Most bytes of the number of a block.
pub(crate) const MAX_BLOCK_BYTES: u8 = 4;

/// Share of the rows in the visited buckets that are expected to be candidates.
pub(super) const CANDIDATES: f64 = 0.0005;

/// Bytes of a page.
const PAGE: f64 = 4096.0;

/// Returns whether lookups for wide distances and for similarity are in tables of columns.
pub(super) fn columns_pay(bits: u32) -> bool {
    bits > 64
}

/// Returns the bits of a bucket in a table of this many fingerprints.
pub(crate) fn bucket_bits(fingerprints: u64) -> u8 {
    let log = fingerprints.checked_ilog2().unwrap_or(0);
    u8::try_from(log.saturating_sub(ROWS_PER_BUCKET_BITS))
        .map_or(MAX_BUCKET_BITS, |bits| bits.min(MAX_BUCKET_BITS))
}

/// Returns the bytes of the number of a block, if there are this many: 1 to 4.
pub(crate) fn block_bytes(blocks: u64) -> u8 {
    let bits = u64::BITS - blocks.saturating_sub(1).leading_zeros();
    u8::try_from(bits.div_ceil(8)).map_or(MAX_BLOCK_BYTES, |bytes| bytes.clamp(1, MAX_BLOCK_BYTES))
}

/// Returns the bytes of a table of this many fingerprints, of which a block of table 0 has so many.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0")]
pub(super) fn bytes(fingerprints: u64, in_block: f64) -> f64 {
    let blocks = (fingerprints as f64 / in_block).ceil() as u64;
    let directory = 4.0 * f64::from(1u32 << bucket_bits(fingerprints));
    let row = 4.0 + f64::from(block_bytes(blocks));
    (row * fingerprints as f64 + directory) * (1.0 + 4.0 / PAGE)
}

/// Which rows of the visited buckets are candidates: those of which at most `most` of the bits of
/// the bucket and of `mask`, in the key, differ from the query's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowTest {
    pub(crate) mask: u32,
    pub(crate) most: u32,
}

impl RowTest {
    /// Returns the strictest test that a single step of the staircase gives, for buckets of this many
    /// bits. Every error that the staircase accepts meets it.
    pub(crate) fn new(stairs: &Staircase, bucket_bits: u8) -> Self {
        let end = bucket_bits + KEY_BITS;
        let test = |step: &Step| {
            let bits = step.depth.min(end) - bucket_bits;
            let mask = u32::MAX.checked_shl(u32::from(KEY_BITS - bits)).unwrap_or(0);
            Self { mask, most: step.most.into() }
        };
        let beyond = stairs.steps().iter().filter(|step| step.depth > bucket_bits);
        // Steps that reach beyond the key allow more, the further they reach.
        let within = beyond.clone().filter(|step| step.depth <= end);
        let next = beyond.filter(|step| step.depth > end).take(1);
        let tests = within.chain(next).map(test);
        let strictest = tests.min_by(|a, b| a.share().total_cmp(&b.share()));
        strictest.unwrap_or(Self { mask: 0, most: KEY_BITS.into() })
    }

    /// Returns the share of unrelated keys that meet the test, if all bits of the bucket are equal.
    pub(super) fn share(self) -> f64 {
        share_within(self.mask.count_ones(), self.most)
    }
}

/// Returns the probability that at most `most` of `bits` bits of unrelated fingerprints differ.
pub(super) fn share_within(bits: u32, most: u32) -> f64 {
    let mut choose = 1.0;
    let mut sum = 0.0;
    for errors in 0..=most.min(bits) {
        sum += choose;
        choose *= f64::from(bits - errors) / f64::from(errors + 1);
    }
    sum / 2f64.powi(bits.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stairs(steps: &[(u8, u8)], most: u8) -> Staircase {
        let steps = steps.iter().map(|&(depth, most)| Step { depth, most }).collect();
        Staircase::new(steps, 128, most)
    }

    #[test]
    fn strictest_step_decides_which_rows_are_candidates() {
        let rule = stairs(&[(19, 1), (53, 9)], 20);
        assert_eq!(RowTest::new(&rule, 21), RowTest { mask: u32::MAX, most: 9 });
        assert_eq!(RowTest::new(&rule, 24), RowTest { mask: !7, most: 9 });
        assert_eq!(RowTest::new(&rule, 26), RowTest { mask: !31, most: 9 });
        // Far fewer fingerprints than were expected.
        assert_eq!(RowTest::new(&rule, 13).most, 9);
        let ring = stairs(&[(22, 2), (44, 5), (66, 8)], 16);
        assert_eq!(RowTest::new(&ring, 21), RowTest { mask: u32::MAX, most: 8 });
        let ball = stairs(&[], 40);
        assert_eq!(RowTest::new(&ball, 4), RowTest { mask: u32::MAX, most: 40 });
    }

    #[test]
    fn share_of_unrelated_keys_is_that_of_the_binomial_distribution() {
        assert!((share_within(32, 8) - 0.0035).abs() < 1e-4);
        assert!((share_within(10, 10) - 1.0).abs() < 1e-12);
        assert_eq!(share_within(0, 3), 1.0);
    }

    #[test]
    fn number_of_the_last_block_fits() {
        let bytes = [0, 1, 256, 257, 1 << 16, (1 << 16) + 1, 1 << 24, (1 << 24) + 1, 1 << 32];
        assert_eq!(bytes.map(block_bytes), [1, 1, 1, 2, 2, 3, 3, 4, 4]);
    }

    #[test]
    fn buckets_have_about_a_cache_line_of_keys() {
        let bits = [0, 1, 7, 8, 1 << 20, (1 << 21) - 1, 1 << 40].map(bucket_bits);
        assert_eq!(bits, [0, 0, 0, 0, 17, 17, MAX_BUCKET_BITS]);
    }
}
