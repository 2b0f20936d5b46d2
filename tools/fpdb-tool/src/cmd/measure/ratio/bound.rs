//! What uniformly random fingerprints can and should take, by theory.

use std::f64::consts::{LN_2, PI};

/// Bits a fingerprint that no code of random sets can go below: log2(C(2^bits, n)) / n, for n far
/// below 2^bits. The product of 2^bits - i for i below n is by the first term of its logarithm's
/// series.
pub(super) fn entropy(bits: u32, n: u64) -> f64 {
    let n = n.max(1);
    let taken = (n - 1) as f64 / 2.0 / 2f64.powi(bits.cast_signed());
    f64::from(bits) - (ln_factorial(n) / n as f64 + taken) / LN_2
}

/// ln(n!): by Stirling's series where that is as good as exact.
fn ln_factorial(n: u64) -> f64 {
    if n < 32 {
        return (1..=n).map(|i| (i as f64).ln()).sum();
    }
    let n = n as f64;
    let series = 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3));
    n * (n.ln() - 1.0) + (2.0 * PI * n).ln() / 2.0 + series
}

/// Bits a fingerprint of the paper's code (Manku, Jain, Das Sarma 2007, section 3.2) on random
/// fingerprints, in blocks of so many bytes: in each the first fingerprint whole, then of each next
/// one the Huffman code of h, the position of the highest bit that differs, and the h bits below.
/// Without index and checksums, which the paper has none of on disk.
pub(super) fn paper(bits: u32, n: u64, block_size: usize) -> f64 {
    let (n, block) = (n.max(1) as f64, 8.0 * block_size as f64);
    let next = next_fingerprint(bits, n);
    // On average half a fingerprint's room is left at a block's end.
    let in_block = 1.0 + ((block - f64::from(bits)) / next - 0.5).max(0.0);
    (n / in_block).ceil() * block / n
}

/// The expected bits of a fingerprint behind the first.
///
/// Neighbours in order that share just d leading bits are the two halves of a prefix of d bits both
/// of which occur. Of the 2^d prefixes each half has about Poisson(n / 2^(d+1)) fingerprints.
fn next_fingerprint(bits: u32, n: f64) -> f64 {
    let pairs = |depth: u32| {
        let prefixes = 2f64.powi(depth.cast_signed());
        prefixes * (-n / prefixes / 2.0).exp_m1().powi(2)
    };
    let weights: Vec<f64> = (0..bits).map(pairs).collect();
    let total: f64 = weights.iter().sum();
    let below: f64 = (0..bits).rev().zip(&weights).map(|(h, weight)| f64::from(h) * weight).sum();
    (below + huffman(weights)) / total
}

/// The weighted length of a Huffman code: the sum of all weights that its construction joins.
fn huffman(mut weights: Vec<f64>) -> f64 {
    let mut cost = 0.0;
    weights.sort_by(|a, b| b.total_cmp(a));
    while let (Some(a), Some(b)) = (weights.pop(), weights.pop()) {
        if weights.is_empty() {
            return cost + a + b;
        }
        cost += a + b;
        let place = weights.partition_point(|&weight| weight > a + b);
        weights.insert(place, a + b);
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplied out.
    fn exact(bits: u32, n: u32) -> f64 {
        let all = 2f64.powi(bits.cast_signed());
        let terms = (0..n).map(f64::from).map(|i| (all - i).log2() - (i + 1.0).log2());
        terms.sum::<f64>() / f64::from(n)
    }

    #[test]
    fn the_entropy_bound_is_that_of_the_binomial() {
        for n in [1, 2, 3, 10, 31, 32, 33, 1000, 100_000] {
            for bits in [64, 128] {
                let (bound, exact) = (entropy(bits, u64::from(n)), exact(bits, n));
                assert!((bound - exact).abs() < 1e-9, "{n}: {bound} {exact}");
            }
        }
        // Where the fingerprints taken count.
        assert!((entropy(24, 5000) - exact(24, 5000)).abs() < 1e-6);
        for (n, bound) in [(20, 45.4427), (24, 41.4427), (26, 39.4427)] {
            assert!((entropy(64, 1 << n) - bound).abs() < 5e-5, "{}", entropy(64, 1 << n));
        }
    }

    #[test]
    fn a_huffman_code_is_as_long_as_worked_out_by_hand() {
        assert_eq!(huffman(vec![0.5, 0.125, 0.25, 0.125]), 1.75);
        assert_eq!(huffman(vec![1.0, 1.0, 1.0]), 5.0);
        assert_eq!(huffman(vec![1.0]), 0.0);
        assert_eq!(huffman(Vec::new()), 0.0);
    }

    #[test]
    fn the_papers_code_takes_three_bits_and_a_third_more_than_the_leading_bits_save() {
        for bits in [64, 128] {
            for log in [14u32, 20, 26, 33] {
                let next = next_fingerprint(bits, 2f64.powi(log.cast_signed()));
                let over = next - f64::from(bits - log);
                assert!((3.2..3.5).contains(&over), "{bits} {log} {over}");
            }
        }
        // The larger the block, the less its first fingerprint counts.
        let sizes = [128, 256, 1024, 4096].map(|block| paper(64, 1 << 24, block));
        assert!(sizes.is_sorted_by(|a, b| a > b) && sizes[3] > entropy(64, 1 << 24), "{sizes:?}");
        // A block is never less than whole.
        assert_eq!(paper(64, 1, 1024), 8192.0);
    }
}
