//! What each bit tells: how often it is set, and whether another bit tells the same.

use fpdb::Fingerprint;

/// The share of the fingerprints from which a bit counts as constant, and as a copy of another one.
const NEARLY_ALL: f64 = 0.99;
/// The shares below and above which a bit is biased.
const BIASED: std::ops::RangeInclusive<f64> = 0.25..=0.75;

/// What was found about the bits of a sample. Bit 0 is the least significant.
pub(super) struct Bits {
    /// The share of the fingerprints in which each bit is set.
    pub(super) ones: Vec<f64>,
    /// Bits with the same value in nearly all fingerprints.
    pub(super) constant: Vec<usize>,
    /// Other bits that are equal to a lower bit in nearly all fingerprints, or opposite to it.
    pub(super) copied: Vec<usize>,
    /// Bits set in less than a quarter or more than three quarters of the fingerprints, without the
    /// constant ones.
    pub(super) biased: Vec<usize>,
}

impl Bits {
    pub(super) fn of<F: Fingerprint>(sample: &[F]) -> Self {
        let columns: Vec<Vec<u64>> = (0..F::BITS).map(|bit| column(sample, bit)).collect();
        let n = sample.len().max(1) as f64;
        let ones: Vec<f64> = columns.iter().map(|column| f64::from(count(column)) / n).collect();
        let is_constant = |bit: usize| (1.0 - ones[bit]).max(ones[bit]) >= NEARLY_ALL;
        let (constant, others): (Vec<_>, Vec<_>) = (0..ones.len()).partition(|&b| is_constant(b));
        let is_copy = |&bit: &usize| {
            let lower = others.iter().take_while(|&&other| other < bit);
            lower.into_iter().any(|&other| {
                let pairs = columns[bit].iter().zip(&columns[other]);
                let differ = f64::from(pairs.map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()) / n;
                (1.0 - differ).max(differ) >= NEARLY_ALL
            })
        };
        let copied = others.iter().copied().filter(is_copy).collect();
        let biased = others.iter().copied().filter(|&bit| !BIASED.contains(&ones[bit])).collect();
        Self { ones, constant, copied, biased }
    }
}

/// Returns the values of one bit in all fingerprints, 64 to a word.
fn column<F: Fingerprint>(sample: &[F], bit: u32) -> Vec<u64> {
    let is_set = |fingerprint: F| u64::from((fingerprint >> bit) & F::ONE == F::ONE);
    let word = |block: &[F]| block.iter().fold(0, |word, &value| word << 1 | is_set(value));
    sample.chunks(64).map(word).collect()
}

fn count(column: &[u64]) -> u32 {
    column.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_judged_by_99_in_100_fingerprints() {
        // Bit 0 changes each time, bit 1 with it but for `odd` times, bit 2 is set `odd` times, and
        // bit 3 is the opposite of bit 0.
        let sample = |odd: u64| -> Vec<u64> {
            let value = |i: u64| (i & 1) | ((i & 1) ^ u64::from(i < odd)) << 1;
            (0..1000).map(|i| value(i) | u64::from(i < odd) << 2 | (!i & 1) << 3).collect()
        };
        let near = Bits::of(&sample(10));
        assert_eq!((&near.constant[..2], near.copied), (&[2, 4][..], vec![1, 3]));
        let far = Bits::of(&sample(11));
        assert_eq!((far.constant[0], far.copied, far.biased), (4, vec![3], vec![2]));
        assert_eq!((far.ones[0], far.ones[2]), (0.5, 0.011));
    }
}
