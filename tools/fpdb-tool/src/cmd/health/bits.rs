//! Counts of bits and correlations between them, 64 fingerprints at a time.

use fpdb::Fingerprint;

/// The width of the widest fingerprint in bits.
const MAX_BITS: usize = 128;

/// For each bit, the fingerprints of a block in which it is set: bit i is that of fingerprint i.
type Columns = [u64; MAX_BITS];

/// Transposes up to 64 fingerprints into columns. Missing rows are zero.
fn columns<F: Fingerprint>(block: &[F]) -> Columns {
    let mut columns = [0; MAX_BITS];
    for (word, columns) in (0u32..).zip(columns.as_chunks_mut::<64>().0).take(F::BYTES / 8) {
        for (row, value) in columns.iter_mut().zip(block) {
            *row = u64::from_u128(value.to_u128() >> (64 * word));
        }
        transpose(columns);
    }
    columns
}

/// Transposes a matrix of 64 by 64 bits by swapping its off-diagonal quarters, then those of the
/// quarters, and so on.
fn transpose(rows: &mut [u64; 64]) {
    let mut size = 32;
    let mut low = u64::MAX >> 32;
    while size > 0 {
        for row in (0..64).filter(|row| row & size == 0) {
            let swap = ((rows[row] >> size) ^ rows[row + size]) & low;
            rows[row] ^= swap << size;
            rows[row + size] ^= swap;
        }
        size /= 2;
        low ^= low << size;
    }
}

/// Counts how often each bit is set in a stream of fingerprints.
pub(super) struct BitCounts<F> {
    block: Vec<F>,
    counts: [u64; MAX_BITS],
}

impl<F: Fingerprint> BitCounts<F> {
    pub(super) fn new() -> Self {
        Self { block: Vec::with_capacity(64), counts: [0; MAX_BITS] }
    }

    pub(super) fn add(&mut self, fingerprint: F) {
        self.block.push(fingerprint);
        if self.block.len() == 64 {
            self.count();
        }
    }

    fn count(&mut self) {
        for (count, column) in self.counts.iter_mut().zip(columns(&self.block)) {
            *count += u64::from(column.count_ones());
        }
        self.block.clear();
    }

    /// Returns the counts by bit, the least significant first.
    pub(super) fn finish(mut self) -> Vec<u64> {
        self.count();
        self.counts[..F::BYTES * 8].to_vec()
    }
}

/// A pair of bits and their correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BitPair {
    pub(super) a: usize,
    pub(super) b: usize,
    /// The phi coefficient: 1 for copies, -1 for opposites, and 0 for unrelated bits and for bits
    /// that never change.
    pub(super) phi: f64,
}

/// The relations between pairs of bits in a sample of fingerprints.
pub(super) struct PairStatistics {
    /// All pairs of bits, in order.
    pub(super) pairs: Vec<BitPair>,
    /// An upper bound of the entropy in bits, from the tree of pairs with the most mutual information
    /// (Chow and Liu 1968).
    pub(super) entropy: f64,
    /// The number of fair coins whose distances have the same ratio of mean to standard deviation:
    /// `mean² / variance`. It depends on all pairs of bits, so many weak correlations lower it too.
    pub(super) effective_bits: f64,
}

impl PairStatistics {
    /// Returns `None` for fewer than two fingerprints.
    pub(super) fn of<F: Fingerprint>(sample: &[F]) -> Option<Self> {
        if sample.len() < 2 {
            return None;
        }
        let bits = F::BYTES * 8;
        let blocks: Vec<Columns> = sample.chunks(64).map(columns).collect();
        let n = sample.len() as f64;
        let both = |a: usize, b: usize| {
            let both = blocks.iter().map(|block| u64::from((block[a] & block[b]).count_ones()));
            both.sum::<u64>() as f64 / n
        };
        let ones: Vec<f64> = (0..bits).map(|bit| both(bit, bit)).collect();
        let mut pairs = Vec::with_capacity(bits * (bits - 1) / 2);
        let mut information = vec![vec![0.0; bits]; bits];
        // The two fingerprints of a pair are different members of the sample.
        let others = n / (n - 1.0);
        let differ = |bit: usize| others * 2.0 * ones[bit] * (1.0 - ones[bit]);
        let mean: f64 = (0..bits).map(differ).sum();
        let mut variance: f64 = (0..bits).map(|bit| differ(bit) * (1.0 - differ(bit))).sum();
        for a in 0..bits {
            for b in a + 1..bits {
                let joint = Joint::new(both(a, b), ones[a], ones[b]);
                pairs.push(BitPair { a, b, phi: joint.phi(ones[a], ones[b]) });
                let mutual = joint.information(ones[a], ones[b]);
                (information[a][b], information[b][a]) = (mutual, mutual);
                variance += 2.0 * (others * joint.both_differ() - differ(a) * differ(b));
            }
        }
        let single: f64 = ones.iter().map(|&p| term(p, 1.0) + term(1.0 - p, 1.0)).sum();
        Some(Self {
            pairs,
            entropy: (-single - largest_tree(&information)).max(0.0),
            effective_bits: if variance > 0.0 { mean * mean / variance } else { 0.0 },
        })
    }
}

/// The shares of fingerprints by the values of two bits.
struct Joint {
    both: f64,
    first: f64,
    second: f64,
    neither: f64,
}

impl Joint {
    /// Returns the shares for two bits, given how often both and each are set.
    fn new(both: f64, a: f64, b: f64) -> Self {
        // Rounding could make a share negative.
        let share = |value: f64| value.max(0.0);
        Self {
            both,
            first: share(a - both),
            second: share(b - both),
            neither: share(1.0 - a - b + both),
        }
    }

    fn phi(&self, a: f64, b: f64) -> f64 {
        let deviations = (a * (1.0 - a) * b * (1.0 - b)).sqrt();
        if deviations > 0.0 { (self.both - a * b) / deviations } else { 0.0 }
    }

    /// Returns the mutual information in bits.
    fn information(&self, a: f64, b: f64) -> f64 {
        term(self.both, a * b)
            + term(self.first, a * (1.0 - b))
            + term(self.second, (1.0 - a) * b)
            + term(self.neither, (1.0 - a) * (1.0 - b))
    }

    /// Returns the share of pairs of fingerprints that differ in both bits.
    fn both_differ(&self) -> f64 {
        2.0 * (self.both * self.neither + self.first * self.second)
    }
}

fn term(share: f64, against: f64) -> f64 {
    if share > 0.0 && against > 0.0 { share * (share / against).log2() } else { 0.0 }
}

/// Returns the weight of the maximum spanning tree (Prim).
fn largest_tree(weights: &[Vec<f64>]) -> f64 {
    let mut best = weights.first().cloned().unwrap_or_default();
    let mut outside: Vec<usize> = (1..weights.len()).collect();
    let mut total = 0.0;
    while let Some(at) =
        (0..outside.len()).max_by(|&i, &j| best[outside[i]].total_cmp(&best[outside[j]]))
    {
        let node = outside.swap_remove(at);
        total += best[node];
        for (best, weight) in best.iter_mut().zip(&weights[node]) {
            *best = best.max(*weight);
        }
    }
    total
}

/// Returns the number of bits that are copies or opposites of a lower bit: those whose correlation
/// with it is at least `from` or at most `-from`.
pub(super) fn copies(pairs: &[BitPair], from: f64) -> usize {
    let mut copied = [false; MAX_BITS];
    pairs.iter().filter(|pair| pair.phi.abs() >= from).for_each(|pair| copied[pair.b] = true);
    copied.iter().filter(|&&copied| copied).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn values(n: usize) -> Vec<u128> {
        let mut state = 1;
        let mut half = || u128::from(random(&mut state));
        (0..n).map(|_| half() << 64 | half()).collect()
    }

    #[test]
    fn columns_are_the_transposed_rows() {
        let values = values(61);
        let columns = columns(&values);
        for (bit, column) in columns.iter().enumerate() {
            for (i, value) in values.iter().enumerate() {
                assert_eq!((column >> i) & 1 == 1, (value >> bit) & 1 == 1, "{bit} {i}");
            }
            assert_eq!(column >> 61, 0);
        }
    }

    #[test]
    fn counts_agree_with_a_simple_loop() {
        let values = values(1000);
        let mut counts = BitCounts::new();
        values.iter().for_each(|&value| counts.add(value));
        let expected: Vec<_> = (0..128)
            .map(|bit| values.iter().filter(|&value| (value >> bit) & 1 == 1).count() as u64)
            .collect();
        assert_eq!(counts.finish(), expected);
    }

    #[test]
    fn entropy_and_effective_bits_count_the_independent_bits() {
        let near = |value: f64, expected: f64| (value - expected).abs() < 1.5;
        let wide = values(20_000);
        let all = PairStatistics::of(&wide).unwrap();
        assert!(near(all.entropy, 128.0) && near(all.effective_bits, 128.0), "{}", all.entropy);

        let low = |value: &u128| u64::from_u128(*value);
        let copied: Vec<u64> = wide.iter().map(|v| low(v) >> 32 | low(v) >> 32 << 32).collect();
        let dead: Vec<u64> = wide.iter().map(|v| low(v) | u64::MAX << 32).collect();
        for half in [copied, dead] {
            let half = PairStatistics::of(&half).unwrap();
            assert!(near(half.entropy, 32.0), "{}", half.entropy);
            assert!(near(half.effective_bits, 32.0), "{}", half.effective_bits);
        }
    }

    #[test]
    fn correlation_is_the_phi_coefficient() {
        // Both bits are set 3 times, bit 0 alone once, and neither 4 times.
        let sample = [3u64, 3, 3, 1, 0, 0, 0, 0];
        let statistics = PairStatistics::of(&sample).unwrap();
        let pair = statistics.pairs[0];
        assert_eq!((pair.a, pair.b), (0, 1));
        assert!((pair.phi - 0.1875 / (0.25f64 * 0.234_375).sqrt()).abs() < 1e-12, "{}", pair.phi);
        assert_eq!(copies(&statistics.pairs, 0.7), 1);
        assert_eq!(copies(&statistics.pairs, 0.8), 0);
    }
}
