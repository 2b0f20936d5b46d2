//! Counting bits, and bits that go together, 64 fingerprints at a time.

use fpdb::Fingerprint;

/// Bits of the widest fingerprint.
const MAX_BITS: usize = 128;

/// For each bit, the fingerprints of a block that have it: fingerprint i as bit i.
type Columns = [u64; MAX_BITS];

/// Turns up to 64 fingerprints into columns; rows that are not there are zero.
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

/// Swaps rows and columns of 64 times 64 bits: halves of halves change places, larger ones first.
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

/// How often each bit is set in fingerprints that come one by one.
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

    /// By bit, the least significant first.
    pub(super) fn finish(mut self) -> Vec<u64> {
        self.count();
        self.counts[..F::BYTES * 8].to_vec()
    }
}

/// What can be said of a pair of bits, from how often both are set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BitPair {
    pub(super) a: usize,
    pub(super) b: usize,
    /// Correlation: 1 for copies, -1 for opposites, 0 also for bits that never change.
    pub(super) phi: f64,
}

/// A sample of fingerprints, looked at by pairs of bits.
pub(super) struct Together {
    /// All pairs of bits, in order.
    pub(super) pairs: Vec<BitPair>,
    /// An upper bound of the entropy in bits: that of the tree of pairs that tells most (Chow and
    /// Liu 1968).
    pub(super) entropy: f64,
    /// So many fair coins would have the same ratio of mean and deviation of their distances:
    /// `mean² / variance`. All pairs of bits tell, so many weak correlations too.
    pub(super) effective_bits: f64,
}

impl Together {
    /// `None` if there are no two fingerprints.
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
        // Of two different fingerprints of the sample, not of one with itself.
        let others = n / (n - 1.0);
        let differ = |bit: usize| others * 2.0 * ones[bit] * (1.0 - ones[bit]);
        let mean: f64 = (0..bits).map(differ).sum();
        let mut variance: f64 = (0..bits).map(|bit| differ(bit) * (1.0 - differ(bit))).sum();
        for a in 0..bits {
            for b in a + 1..bits {
                let joint = Joint::new(both(a, b), ones[a], ones[b]);
                pairs.push(BitPair { a, b, phi: joint.phi(ones[a], ones[b]) });
                let told = joint.information(ones[a], ones[b]);
                (information[a][b], information[b][a]) = (told, told);
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

/// Shares of fingerprints by two of their bits.
struct Joint {
    both: f64,
    first: f64,
    second: f64,
    neither: f64,
}

impl Joint {
    /// From the shares that have both, and each.
    fn new(both: f64, a: f64, b: f64) -> Self {
        // Rounding must not make a share negative.
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

    /// What one bit tells of the other, in bits.
    fn information(&self, a: f64, b: f64) -> f64 {
        term(self.both, a * b)
            + term(self.first, a * (1.0 - b))
            + term(self.second, (1.0 - a) * b)
            + term(self.neither, (1.0 - a) * (1.0 - b))
    }

    /// The share of pairs of fingerprints that differ in both bits.
    fn both_differ(&self) -> f64 {
        2.0 * (self.both * self.neither + self.first * self.second)
    }
}

fn term(share: f64, against: f64) -> f64 {
    if share > 0.0 && against > 0.0 { share * (share / against).log2() } else { 0.0 }
}

/// The weight of the heaviest tree that joins all nodes (Prim).
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

/// How many bits are copies, or opposites, of a lower bit: what is lost by pairs whose correlation
/// is at least `from`, either way.
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
    fn columns_are_rows_turned() {
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
    fn counts_are_those_of_a_loop() {
        let values = values(1000);
        let mut counts = BitCounts::new();
        values.iter().for_each(|&value| counts.add(value));
        let expected: Vec<_> = (0..128)
            .map(|bit| values.iter().filter(|&value| (value >> bit) & 1 == 1).count() as u64)
            .collect();
        assert_eq!(counts.finish(), expected);
    }

    #[test]
    fn measures_count_the_bits_that_are_free() {
        let near = |value: f64, expected: f64| (value - expected).abs() < 1.5;
        let wide = values(20_000);
        let all = Together::of(&wide).unwrap();
        assert!(near(all.entropy, 128.0) && near(all.effective_bits, 128.0), "{}", all.entropy);

        let low = |value: &u128| u64::from_u128(*value);
        let copied: Vec<u64> = wide.iter().map(|v| low(v) >> 32 | low(v) >> 32 << 32).collect();
        let dead: Vec<u64> = wide.iter().map(|v| low(v) | u64::MAX << 32).collect();
        for half in [copied, dead] {
            let half = Together::of(&half).unwrap();
            assert!(near(half.entropy, 32.0), "{}", half.entropy);
            assert!(near(half.effective_bits, 32.0), "{}", half.effective_bits);
        }
    }

    #[test]
    fn correlation_is_that_of_the_textbook() {
        // Bits 0 and 1: 3 times both, once bit 0 alone, 4 times neither.
        let sample = [3u64, 3, 3, 1, 0, 0, 0, 0];
        let together = Together::of(&sample).unwrap();
        let pair = together.pairs[0];
        assert_eq!((pair.a, pair.b), (0, 1));
        assert!((pair.phi - 0.1875 / (0.25f64 * 0.234_375).sqrt()).abs() < 1e-12, "{}", pair.phi);
        assert_eq!(copies(&together.pairs, 0.7), 1);
        assert_eq!(copies(&together.pairs, 0.8), 0);
    }
}
