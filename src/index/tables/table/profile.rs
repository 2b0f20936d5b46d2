//! What a writer knows about a table before it writes it.

use crate::file::codec::huffman::Histogram;
use crate::fingerprint::Word;
use crate::index::tables::block::leading_difference;

/// The size of a table and the distribution of its leading differences, exact or estimated. A table
/// is written in one pass, so both must be known before: the first determines the size of the
/// prefix filter, the second the Huffman code. Neither needs to be exact.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(super) fingerprints: u64,
    pub(super) histogram: Histogram,
    /// How many of the lowest bits are zero in all fingerprints, which do not store them. This must
    /// not be an estimate.
    pub(super) zeros: u32,
}

impl Profile {
    /// Creates the exact profile of ascending fingerprints.
    pub(crate) fn of<F: Word>(fingerprints: &[F]) -> Self {
        let mut histogram = Histogram::default();
        for pair in fingerprints.windows(2) {
            histogram.add(leading_difference(pair[0], pair[1]));
        }
        let used = fingerprints.iter().fold(F::ZERO, |used, &fingerprint| used | fingerprint);
        Self { fingerprints: fingerprints.len() as u64, histogram, zeros: zeros(used) }
    }

    /// Estimates the profile of a table that is made from `records` records. Every leading
    /// difference gets a codeword, because the table may have some that the sample has not. `zeros`
    /// is how many of the lowest bits are zero in all fingerprints.
    pub(crate) fn estimate<F: Word>(sample: &Sample, records: u64, zeros: u32) -> Self {
        let Sample { histogram, records: sampled, fingerprints } = sample;
        let estimate = u128::from(records) * u128::from(*fingerprints);
        let estimate = estimate.div_ceil(u128::from(*sampled).max(1)).min(records.into());
        Self {
            fingerprints: u64::try_from(estimate).unwrap_or(records),
            histogram: histogram.smoothed(F::BITS),
            zeros,
        }
    }
}

/// Returns how many of the lowest bits are zero, of the bits that any fingerprint has.
pub(crate) fn zeros<F: Word>(used: F) -> u32 {
    let lowest = used & used.wrapping_sub(F::ONE) ^ used;
    (F::BITS - 1).saturating_sub(lowest.leading_zeros())
}

/// Part of the records from which a table is made, and what was learned from them.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    histogram: Histogram,
    records: u64,
    /// Distinct fingerprints in the records.
    fingerprints: u64,
}

impl Sample {
    /// Adds the fingerprints of neighbouring records, ascending. Equal ones count once.
    #[inline]
    pub(crate) fn add<F: Word>(&mut self, neighbours: impl IntoIterator<Item = F>) {
        let mut neighbours = neighbours.into_iter();
        let Some(mut last) = neighbours.next() else { return };
        let (mut records, mut fingerprints) = (1, 1);
        for fingerprint in neighbours {
            records += 1;
            if fingerprint != last {
                self.histogram.add(leading_difference(last, fingerprint));
                fingerprints += 1;
                last = fingerprint;
            }
        }
        self.records += records;
        self.fingerprints += fingerprints;
    }

    /// Counts records that do not become fingerprints of their own: each repeats another one, or is
    /// left out.
    pub(crate) fn add_dropped(&mut self, records: u64) {
        self.records += records;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::codec::huffman::Code;
    use crate::index::tables::block::{self, BlockBuilder};

    /// Returns the mean length of the codewords of these neighbours in bits.
    fn mean_length(neighbours: &[u64], histogram: &Histogram) -> f64 {
        let code = Code::from_histogram(histogram);
        let length = |pair: &[u64]| f64::from(code.word(leading_difference(pair[0], pair[1])).1);
        let lengths: Vec<f64> = neighbours.windows(2).map(length).collect();
        lengths.iter().sum::<f64>() / f64::from(u32::try_from(lengths.len()).unwrap())
    }

    #[test]
    fn code_of_a_sample_takes_hardly_more_than_the_best_code() {
        let mut rng = fastrand::Rng::with_seed(3);
        let uniform: Vec<u64> = (0..1 << 20).map(|_| rng.u64(..)).collect();
        let mut clustered = Vec::new();
        while clustered.len() < 1 << 20 {
            let centre = rng.u64(..);
            for _ in 0..1 << (rng.u64(..) % 12) {
                let errors = rng.u64(..) % 9;
                let flip = |value, _| value ^ 1 << (rng.u64(..) % 64);
                clustered.push((0..errors).fold(centre, flip));
            }
        }
        for (name, mut all) in [("uniform", uniform), ("clustered", clustered)] {
            all.sort_unstable();
            all.dedup();
            let mut sample = Sample::default();
            all.chunks(512).step_by(16).for_each(|piece| sample.add(piece.iter().copied()));
            let best = mean_length(&all, &Profile::of(&all).histogram);
            let estimated = Profile::estimate::<u64>(&sample, all.len() as u64, 0);
            let cost = mean_length(&all, &estimated.histogram) - best;
            assert!(cost < 0.05, "{name}: {best} bits, {cost} more with the code of a sample");
            assert_eq!(estimated.fingerprints, all.len() as u64);
        }
    }

    #[test]
    fn repeated_and_dropped_records_reduce_the_estimated_number_of_fingerprints() {
        let mut sample = Sample::default();
        sample.add([3u64, 3, 5, 5]);
        sample.add([9u64, 12]);
        assert_eq!(Profile::estimate::<u64>(&sample, 600, 0).fingerprints, 400);
        sample.add_dropped(2);
        assert_eq!(Profile::estimate::<u64>(&sample, 600, 0).fingerprints, 300);
        assert_eq!(Profile::estimate::<u64>(&Sample::default(), 0, 0).fingerprints, 0);
    }

    #[test]
    fn estimated_code_encodes_differences_that_the_sample_does_not_have() {
        let mut sample = Sample::default();
        sample.add([1u64, 2, 3]);
        let profile = Profile::estimate::<u64>(&sample, 100, 0);
        let code = Code::from_histogram(&profile.histogram);
        let mut block = BlockBuilder::new(128, &code, 0);
        let fingerprints = [0u64, 1, 1 << 20, 1 << 40, 1 << 63];
        assert_eq!(block.push_all(&fingerprints), fingerprints.len());
        let mut bytes = Vec::new();
        block.finish(&mut bytes);
        let mut read = Vec::new();
        let block = block::Packed { bytes: &bytes, size: 128, code: &code, zeros: 0 };
        block::check(&block, |fingerprint: u64| read.push(fingerprint)).unwrap();
        assert_eq!(read, fingerprints);
    }
}
