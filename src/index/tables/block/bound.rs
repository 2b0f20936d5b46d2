//! The most blocks that a table can take, whatever its fingerprints are.
//!
//! Compaction and bulk load need to know this before they write, so that they do not fill the disk.
//! The proofs use that fingerprints which differ a lot are few: n different fingerprints of w bits
//! take little more than n (w - log2 n) bits.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::file::codec::huffman::MAX_LENGTH;

/// Returns the most blocks of `size` bytes that `count` different fingerprints of `bits` bits take.
///
/// `remaining` limits the remaining bits: the sum of the leading differences of all fingerprints.
/// [`most_remaining_bits`] always holds.
pub(crate) fn most_blocks(size: usize, bits: u32, count: u64, remaining: u64) -> u64 {
    let (size, bits, codeword) = (size as u64, u64::from(bits), u64::from(MAX_LENGTH));
    // A fingerprint takes its codeword and its remaining bits. A block ends when the next one does
    // not fit, so all others are filled except for less than one fingerprint.
    let room = (size - 2) * 8 - bits - (bits - 1 + codeword);
    ((remaining + count * codeword) / room + 1).min(count)
}

/// Returns the most that the leading differences of `count` different fingerprints of `bits` bits
/// add up to.
///
/// Each is the height of the fork in the binary trie at which a fingerprint leaves the one before
/// it. The trie has one fork per fingerprint but the first, and at most 2^d at depth d.
pub(crate) fn most_remaining_bits(bits: u32, count: u64) -> u64 {
    let mut forks = count.saturating_sub(1);
    let (mut sum, mut depth) = (0, 0);
    while forks > 0 && depth < bits {
        let at_depth = forks.min(1 << depth.min(62));
        sum += at_depth * u64::from(bits - 1 - depth);
        forks -= at_depth;
        depth += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::codec::huffman::{Code, Histogram};
    use crate::fingerprint::Word;
    use crate::index::tables::block::{BlockBuilder, MAX_SIZE, MIN_SIZE, leading_difference};

    fn blocks<F: Word>(fingerprints: &[F], size: usize, code: &Code) -> u64 {
        let mut builder = BlockBuilder::new(size, code, 0);
        let (mut rest, mut blocks, mut out) = (fingerprints, 0, Vec::new());
        while !rest.is_empty() {
            rest = &rest[builder.push_all(rest)..];
            builder.finish(&mut out);
            blocks += 1;
        }
        blocks
    }

    /// Fingerprints that are random, dense, in clusters, or as far from each other as possible.
    fn sets<F: Word>(count: u64) -> Vec<Vec<F>> {
        let mix = |i: u64| i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let wide = |high: u64, low: u64| {
            F::from_u128(u128::from(high) << (F::BITS - 64) | u128::from(low))
        };
        let log = u64::from(u64::BITS - count.leading_zeros());
        let mut sets: Vec<Vec<F>> = vec![
            (0..count).map(|i| wide(mix(i), mix(!i) >> 8)).collect(),
            (0..count).map(|i| wide(0, i)).collect(),
            (0..count).map(|i| wide(i.reverse_bits(), 0)).collect(),
            (0..count).map(|i| wide(i << (63 - log), 0)).collect(),
            (0..count).map(|i| wide(mix(i / 50), i % 50)).collect(),
            (0..count).map(|i| wide(mix(i / 3) >> (i % 60), mix(i))).collect(),
            (0..count).map(|i| wide(1 << (i % 64), i / 64)).collect(),
            (0..count).map(|i| wide(u64::MAX - (i << (i % 8)), mix(i) >> 40)).collect(),
        ];
        for set in &mut sets {
            set.sort_unstable();
            set.dedup();
        }
        sets
    }

    fn check<F: Word>() {
        let (mut tightest, mut loosest) = (0.0f64, 1.0f64);
        for count in [1, 2, 3, 7, 100, 3000, 40_000] {
            for set in sets::<F>(count) {
                let (n, mut own) = (set.len() as u64, Histogram::default());
                let differences =
                    || set.windows(2).map(|pair| leading_difference(pair[0], pair[1]));
                differences().for_each(|h| own.add(h));
                let remaining = most_remaining_bits(F::BITS, n);
                let sum: u64 = differences().map(u64::from).sum();
                assert!(sum <= remaining, "{sum} > {remaining}");
                // A code for other data gives the rare codewords to these fingerprints.
                let mut other = Histogram::default();
                (0..F::BITS).for_each(|h| (0..1u64 << (h % 12)).for_each(|_| other.add(h)));
                let codes = [own, other, Histogram::default()]
                    .map(|histogram| Code::from_histogram(&histogram.smoothed(F::BITS)));
                for size in [MIN_SIZE, 512, MAX_SIZE] {
                    for code in &codes {
                        let most = |remaining| most_blocks(size, F::BITS, n, remaining);
                        let found = blocks(&set, size, code);
                        assert!(found <= most(remaining), "{found} > {}", most(remaining));
                        assert!(found <= most(sum), "{found} > {}, exact sum", most(sum));
                        if count == 40_000 {
                            let share = found as f64 / most(remaining) as f64;
                            (tightest, loosest) = (tightest.max(share), loosest.min(share));
                        }
                    }
                }
            }
        }
        println!("blocks / bound: {loosest:.2} to {tightest:.2}");
        assert!(tightest > 0.9, "the bound is loose: {tightest}");
    }

    #[test]
    fn no_set_of_fingerprints_takes_more_blocks_than_the_bound() {
        check::<u64>();
        check::<u128>();
    }
}
