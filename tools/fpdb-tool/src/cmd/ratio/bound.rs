//! How few bits a sorted set of fingerprints can take, and how many the paper's code takes.
//!
//! Both follow from one property of the set: at which bit each fingerprint first differs from the
//! one before it. Among the distinct prefixes of d bits, those with fingerprints in both halves are
//! as many as the neighbours that share d leading bits and no more. Near neighbours make these
//! counts large at great depths; they describe clusters.

use std::f64::consts::{LN_2, PI};

use fpdb::Word;

/// The neighbours of a sorted set, counted by the number of leading bits that they share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Branches {
    /// The count of neighbours that share d leading bits and differ in the next, by d. There are as
    /// many counts as bits in a fingerprint.
    counts: Vec<u64>,
    /// How often neighbours share more bits than the neighbours before.
    deeper: u64,
    fingerprints: u64,
    last: u128,
    /// The number of bits that the last neighbours share.
    last_shared: Option<u32>,
}

impl Branches {
    pub(super) fn new(bits: u32) -> Self {
        let counts = vec![0; bits as usize];
        Self { counts, deeper: 0, fingerprints: 0, last: 0, last_shared: None }
    }

    /// Adds a fingerprint, and returns true. They come in ascending order; one that is equal to the
    /// last is ignored, and false returned.
    pub(super) fn add<F: Word>(&mut self, fingerprint: F) -> bool {
        let value = fingerprint.to_u128();
        let differing = value ^ self.last;
        if self.fingerprints > 0 {
            let shared = differing.leading_zeros() - (u128::BITS - F::BITS);
            let Some(count) = self.counts.get_mut(shared as usize) else { return false };
            *count += 1;
            self.deeper += u64::from(self.last_shared.is_some_and(|last| shared > last));
            self.last_shared = Some(shared);
        }
        self.fingerprints += 1;
        self.last = value;
        true
    }

    /// The number of distinct fingerprints.
    pub(super) fn fingerprints(&self) -> u64 {
        self.fingerprints
    }

    pub(super) fn bits(&self) -> u32 {
        u32::try_from(self.counts.len()).unwrap_or(0)
    }

    /// Returns the entropy bound of this set in bits per fingerprint: log2 of the number of sets
    /// whose neighbours first differ at each bit equally often, divided by the number of
    /// fingerprints. No code that treats these sets as equally likely takes less on average.
    ///
    /// Of the N distinct prefixes of d bits, c have fingerprints in both halves: one of C(N, c)
    /// choices. The others have them in one of two halves each, so 2^(N - c) choices.
    pub(super) fn entropy(&self) -> f64 {
        let mut prefixes = 1;
        let mut total = 0.0;
        for &branching in &self.counts {
            total += log2_choices(prefixes, branching) + (prefixes - branching) as f64;
            prefixes += branching;
        }
        total / self.fingerprints.max(1) as f64
    }

    /// Returns the entropy bound of uniformly random sets of this size in bits per fingerprint:
    /// log2(C(2^bits, n)) / n.
    pub(super) fn uniform_entropy(&self) -> f64 {
        uniform_entropy(self.bits(), self.fingerprints)
    }

    /// Returns the bits per fingerprint that the paper's code (Manku, Jain, Das Sarma 2007, section
    /// 3.2) takes for this set in blocks of `block_size` bytes. A block holds its first fingerprint
    /// in full; for each of the others, it holds the Huffman code of h, the position of the highest
    /// bit in which the fingerprint differs from the one before, and the h bits below. The paper
    /// has neither an index nor checksums on disk.
    pub(super) fn paper(&self, block_size: usize) -> f64 {
        let (n, block) = (self.fingerprints.max(1) as f64, 8.0 * block_size as f64);
        let Some(next) = self.paper_next() else { return block };
        // On average, half a fingerprint's space is left at the end of a block.
        let in_block = 1.0 + ((block - f64::from(self.bits())) / next - 0.5).max(0.0);
        (n / in_block).ceil() * block / n
    }

    /// Returns the mean bits of a fingerprint after the first of a block in fpdb's Huffman blocks,
    /// if there are any. They leave a bit out where h is less than the h before.
    pub(super) fn payload(&self) -> Option<f64> {
        let neighbours: u64 = self.counts.iter().sum();
        self.paper_next().map(|bits| bits - self.deeper as f64 / neighbours as f64)
    }

    /// Returns the mean bits of a fingerprint after the first of a block, if there are any.
    fn paper_next(&self) -> Option<f64> {
        let neighbours: u64 = self.counts.iter().sum();
        let below = (0..self.bits()).rev().zip(&self.counts);
        let below: f64 = below.map(|(h, &count)| f64::from(h) * count as f64).sum();
        let codes = huffman(self.counts.iter().map(|&count| count as f64).collect());
        (neighbours > 0).then(|| (below + codes) / neighbours as f64)
    }
}

/// How few bits the ids of a sorted set of entries can take, if they are numbered in any order.
#[derive(Debug, Default)]
pub(super) struct IdBound {
    entries: u64,
    /// The ids of the current fingerprint.
    in_list: u64,
    /// The logarithm of the number of orders in which the ids of each fingerprint could be.
    ln_orders: f64,
}

impl IdBound {
    /// Adds an entry, with whether it has another fingerprint than the one before.
    pub(super) fn add(&mut self, is_new: bool) {
        self.entries += 1;
        self.in_list = if is_new { 1 } else { self.in_list + 1 };
        self.ln_orders += (self.in_list as f64).ln();
    }

    /// Returns log2 of the number of ways to distribute n ids among the fingerprints. If these are
    /// all different, that is log2(n!), about n × log2(n / e).
    pub(super) fn bits(&self) -> f64 {
        (ln_factorial(self.entries) - self.ln_orders) / LN_2
    }
}

/// Returns log2(C(2^bits, n)) / n, for n far below 2^bits. The product of 2^bits - i for i below n
/// is taken from the first term of its logarithm's series.
fn uniform_entropy(bits: u32, n: u64) -> f64 {
    let n = n.max(1);
    let taken = (n - 1) as f64 / 2.0 / 2f64.powi(bits.cast_signed());
    f64::from(bits) - (ln_factorial(n) / n as f64 + taken) / LN_2
}

/// Returns log2(C(n, k)).
fn log2_choices(n: u64, k: u64) -> f64 {
    (ln_factorial(n) - ln_factorial(k) - ln_factorial(n.saturating_sub(k))) / LN_2
}

/// Returns ln(n!), by Stirling's series where that is as good as exact.
fn ln_factorial(n: u64) -> f64 {
    if n < 32 {
        return (1..=n).map(|i| (i as f64).ln()).sum();
    }
    let n = n as f64;
    let series = 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3));
    n * (n.ln() - 1.0) + (2.0 * PI * n).ln() / 2.0 + series
}

/// Returns the weighted length of a Huffman code: the sum of all weights that its construction
/// joins. Values with weight 0 have no code.
fn huffman(mut weights: Vec<f64>) -> f64 {
    let mut cost = 0.0;
    weights.retain(|&weight| weight > 0.0);
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
    use std::collections::HashMap;

    use super::*;
    use crate::cmd::ratio::generate::Random;

    fn of(mut fingerprints: Vec<u64>) -> Branches {
        fingerprints.sort_unstable();
        let mut branches = Branches::new(64);
        for fingerprint in fingerprints {
            branches.add(fingerprint);
        }
        branches
    }

    fn random(n: usize) -> Vec<u64> {
        let mut random = Random::new(7);
        (0..n).map(|_| random.fingerprint::<u64>()).collect()
    }

    /// What uniformly random fingerprints are expected to have. Of the 2^d prefixes, each half has
    /// about Poisson(n / 2^(d+1)) fingerprints.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded counts are whole, from 0 to n"
    )]
    fn expected(bits: u32, n: f64) -> Branches {
        let branching = |depth: u32| {
            let prefixes = 2f64.powi(depth.cast_signed());
            (prefixes * (-n / prefixes / 2.0).exp_m1().powi(2)).round() as u64
        };
        let counts: Vec<u64> = (0..bits).map(branching).collect();
        let fingerprints = counts.iter().sum::<u64>() + 1;
        Branches { counts, deeper: 0, fingerprints, last: 0, last_shared: None }
    }

    /// Multiplied out.
    fn exact(bits: u32, n: u32) -> f64 {
        let all = 2f64.powi(bits.cast_signed());
        let terms = (0..n).map(f64::from).map(|i| (all - i).log2() - (i + 1.0).log2());
        terms.sum::<f64>() / f64::from(n)
    }

    /// All sets of numbers of four bits, grouped by where their neighbours first differ.
    #[test]
    fn entropy_counts_the_sets_that_branch_the_same_way() {
        let sets = (1u32..1 << 16).map(|set| {
            let mut branches = Branches::new(4);
            let members = (0u64..16).filter(|&value| set >> value & 1 == 1);
            // The numbers are placed in the leading bits of a fingerprint.
            let mut whole = Branches::new(64);
            members.for_each(|value| assert!(whole.add(value << 60)));
            branches.counts.copy_from_slice(&whole.counts[..4]);
            branches.fingerprints = whole.fingerprints;
            branches
        });
        let mut groups: HashMap<Vec<u64>, (u32, Branches)> = HashMap::new();
        for branches in sets {
            groups.entry(branches.counts.clone()).or_insert((0, branches)).0 += 1;
        }
        assert_eq!(groups.len(), 86);
        for (sets, branches) in groups.into_values() {
            let bits = branches.entropy() * branches.fingerprints as f64;
            assert!((bits - f64::from(sets).log2()).abs() < 1e-9, "{sets}: {branches:?}");
        }
    }

    #[test]
    fn entropy_of_random_data_is_that_of_all_sets_and_of_clusters_less() {
        for n in [1000, 30_000] {
            let uniform = of(random(n));
            let below = uniform.uniform_entropy() - uniform.entropy();
            assert!((0.0..200.0 / n as f64).contains(&below), "{n}: {below}");
        }
        let clusters = random(1000).into_iter().flat_map(|centre| (0..16).map(move |i| centre ^ i));
        let clusters = of(clusters.collect());
        assert!(clusters.entropy() < clusters.uniform_entropy() / 8.0, "{}", clusters.entropy());
    }

    #[test]
    fn uniform_entropy_is_that_of_the_binomial() {
        for n in [1, 2, 3, 10, 31, 32, 33, 1000, 100_000] {
            for bits in [64, 128] {
                let (bound, exact) = (uniform_entropy(bits, u64::from(n)), exact(bits, n));
                assert!((bound - exact).abs() < 1e-9, "{n}: {bound} {exact}");
            }
        }
        // So many of the possible fingerprints are taken that it makes a difference.
        assert!((uniform_entropy(24, 5000) - exact(24, 5000)).abs() < 1e-6);
        for (n, bound) in [(20, 45.4427), (24, 41.4427), (26, 39.4427)] {
            let found = uniform_entropy(64, 1 << n);
            assert!((found - bound).abs() < 5e-5, "{found}");
        }
    }

    #[test]
    fn equal_fingerprints_count_once() {
        assert_eq!(of(vec![3, 3, 9, 9, 9]), of(vec![3, 9]));
        assert_eq!(of(vec![]).entropy(), 64.0);
    }

    #[test]
    fn bound_of_ids_counts_the_ways_to_distribute_them() {
        let bits = |lists: &[usize]| {
            let mut bound = IdBound::default();
            for &len in lists {
                (0..len).for_each(|i| bound.add(i == 0));
            }
            bound.bits()
        };
        assert!((bits(&[1, 1, 1, 1]) - 24f64.log2()).abs() < 1e-9);
        // Four ids, of which two belong to one fingerprint: 12 ways.
        assert!((bits(&[1, 2, 1]) - 12f64.log2()).abs() < 1e-9);
        assert!(bits(&[5]).abs() < 1e-9 && bits(&[]) == 0.0);
        let n = 1 << 20;
        let per_id = bits(&vec![1; n]) / n as f64;
        assert!((per_id - (n as f64 / std::f64::consts::E).log2()).abs() < 1e-4, "{per_id}");
    }

    #[test]
    fn huffman_code_has_the_length_computed_by_hand() {
        assert_eq!(huffman(vec![0.5, 0.125, 0.0, 0.25, 0.125]), 1.75);
        assert_eq!(huffman(vec![1.0, 1.0, 1.0]), 5.0);
        assert_eq!(huffman(vec![1.0]), 0.0);
        assert_eq!(huffman(Vec::new()), 0.0);
    }

    #[test]
    fn paper_code_takes_three_bits_and_a_third_more_than_the_leading_bits_save() {
        for bits in [64, 128] {
            for log in [14u32, 20, 26, 33] {
                let next = expected(bits, 2f64.powi(log.cast_signed())).paper_next().unwrap();
                let over = next - f64::from(bits - log);
                assert!((3.2..3.5).contains(&over), "{bits} {log} {over}");
            }
        }
        // The larger the block, the less its first fingerprint counts.
        let branches = expected(64, f64::from(1 << 24));
        let sizes = [128, 256, 1024, 4096].map(|block| branches.paper(block));
        assert!(sizes.is_sorted_by(|a, b| a > b) && sizes[3] > branches.entropy(), "{sizes:?}");
    }

    #[test]
    fn paper_code_never_takes_less_than_a_block() {
        assert_eq!(of(vec![1]).paper(1024), 8192.0);
        assert_eq!(of(vec![1, 2]).paper(1024), 4096.0);
    }
}
