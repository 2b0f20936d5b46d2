//! The parities of a set, from which follows how many elements two sets do not share.
//!
//! A small set has its values themselves. Of a larger one, each value of the sample flips one of
//! 1,024 bits, so the bits in which two sets differ are those that their symmetric difference flips
//! an odd number of times. Sets of up to 2,048 values are sampled completely. Beyond, each *level*
//! has twice as many values and half the rate, so that the bits do not saturate. The sample of one
//! level is a part of that of the level below. The bits are in two halves, so that neighbouring
//! levels can be compared: the first half at one level is the exclusive or of both halves at the
//! next.

/// The parities of a set, or its values if they are few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Parities {
    /// The number of values.
    pub(crate) features: u32,
    pub(crate) words: [u64; WORDS],
}

/// Words of the parities.
pub(crate) const WORDS: usize = 16;
/// Bits in each half of them.
const HALF: u64 = 512;
/// The largest set of level 0.
const LEVEL_0: u32 = 2_048;
/// The largest set whose values are stored themselves.
const LISTED: u32 = 25;
/// Bytes of a stored value.
const VALUE_BYTES: usize = 5;
/// The bits of a value that are stored.
const VALUE_MASK: u64 = (1 << 40) - 1;

/// The lowest of the nine bits of a value that choose the parity. The bits below are kept of a
/// minimum, and the highest bits choose the minimum, so neither is used here.
const PLACE_SHIFT: u32 = 8;
/// The lowest of the bits whose trailing zeros decide in which samples a value is.
const SAMPLE_SHIFT: u32 = 17;

/// Returns the level of a set with so many values.
const fn level(features: u32) -> u32 {
    u32::BITS - (features.saturating_sub(1) / LEVEL_0).leading_zeros()
}

/// Returns the same; `None` for a set whose values are stored.
pub(crate) fn level_of(features: u32) -> Option<u32> {
    (features > LISTED).then(|| level(features))
}

impl Parities {
    /// Makes the parities of values, which must differ.
    pub(crate) fn of_values(values: &[u64]) -> Self {
        let features = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let words = match level_of(features) {
            None => list(values),
            Some(level) => parities(values.iter().copied(), level),
        };
        Self { features, words }
    }

    /// Returns the parities at level 0, if the set has them or its values.
    fn of_level_0(&self) -> Option<[u64; WORDS]> {
        match self.features {
            0..=LISTED => Some(parities(self.listed(), 0)),
            more => (more <= LEVEL_0).then_some(self.words),
        }
    }

    /// Returns the stored values of a small set, ascending.
    fn listed(&self) -> impl Iterator<Item = u64> {
        let bytes: [[u8; 8]; WORDS] = self.words.map(u64::to_le_bytes);
        (0..self.features.min(LISTED) as usize).map(move |number| {
            let bytes = bytes.as_flattened().iter().skip(number * VALUE_BYTES).take(VALUE_BYTES);
            bytes.rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
        })
    }
}

fn list(values: &[u64]) -> [u64; WORDS] {
    let mut values: Vec<u64> = values.iter().map(|value| value & VALUE_MASK).collect();
    values.sort_unstable();
    let mut bytes = [0; WORDS * 8];
    for (to, value) in bytes.chunks_exact_mut(VALUE_BYTES).zip(values) {
        to.iter_mut().zip(value.to_le_bytes()).for_each(|(to, byte)| *to = byte);
    }
    let mut words = [0; WORDS];
    words
        .iter_mut()
        .zip(bytes.as_chunks().0)
        .for_each(|(to, &word)| *to = u64::from_le_bytes(word));
    words
}

fn parities(values: impl Iterator<Item = u64>, level: u32) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for value in values {
        let place = value >> PLACE_SHIFT & (HALF - 1);
        // A value whose bits are all zero is in all samples.
        let zeros = (value >> SAMPLE_SHIFT).trailing_zeros();
        // Without branches, which nothing could predict: half of the sample is in each half.
        let place = place + HALF * u64::from(zeros == level);
        flip(&mut words, place, zeros >= level);
    }
    words
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a place is less than 1,024")]
fn flip(words: &mut [u64; WORDS], place: u64, is_sampled: bool) {
    if let Some(word) = words.get_mut(place as usize / u64::BITS as usize) {
        *word ^= u64::from(is_sampled) << (place % u64::from(u64::BITS));
    }
}

/// How the parities of two sets are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Of 2^level values, one is sampled.
    pub level: u32,
    /// The number of parities that are compared: 1,024, or 512 if the levels of the two sets
    /// differ.
    pub parities: u32,
}

/// What the parities of two sketches tell about the number of values that only one of the sets has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// That number. Both sets are small, and their sketches have the values.
    Exact(u32),
    /// So many parities differ.
    Parities(u32, Sampling),
    /// Nothing: one set is more than twice as large as the other.
    Unknown,
}

impl Difference {
    #[inline(always)]
    pub(crate) fn between(a: &Parities, b: &Parities) -> Self {
        let (few, many) = if a.features <= b.features { (a, b) } else { (b, a) };
        if few.features <= LISTED {
            return Self::of_small(few, many);
        }
        let (lower, level) = (level(few.features), level(many.features));
        match level - lower {
            0 => {
                let differ = differing(&few.words, &many.words);
                Self::Parities(differ, Sampling { level, parities: 1024 })
            }
            1 => {
                let (first, second) = many.words.split_at(WORDS / 2);
                let joined = first.iter().zip(second).map(|(a, b)| a ^ b);
                let differ = few.words.iter().zip(joined).map(|(a, b)| (a ^ b).count_ones()).sum();
                Self::Parities(differ, Sampling { level, parities: 512 })
            }
            _ => Self::Unknown,
        }
    }

    /// Compares a small set with another one that has no fewer values.
    #[cold]
    fn of_small(few: &Parities, many: &Parities) -> Self {
        if many.features <= LISTED {
            let [few, many] = [few, many].map(|parities| parities.listed().collect::<Vec<_>>());
            return Self::Exact(only_in_one(&few, &many));
        }
        match few.of_level_0().zip(many.of_level_0()) {
            Some((a, b)) => {
                Self::Parities(differing(&a, &b), Sampling { level: 0, parities: 1024 })
            }
            None => Self::Unknown,
        }
    }
}

/// Returns how many parities differ, if both sets are of level 0 and their values are not stored.
#[inline(always)]
pub(crate) fn differing_of_level_0(a: &Parities, b: &Parities) -> Option<u32> {
    let is_of_level_0 = |set: &Parities| (LISTED + 1..=LEVEL_0).contains(&set.features);
    (is_of_level_0(a) && is_of_level_0(b)).then(|| differing(&a.words, &b.words))
}

/// Returns how many bits differ.
///
/// Takes words in pairs. For single words, compilers use vector instructions, which are slower here
/// than the processor's instruction that counts bits.
#[inline(always)]
fn differing(a: &[u64; WORDS], b: &[u64; WORDS]) -> u32 {
    let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
    pairs.map(|(&[a0, a1], &[b0, b1])| (wide(a0, a1) ^ wide(b0, b1)).count_ones()).sum()
}

#[inline(always)]
fn wide(low: u64, high: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// Returns how many values are in only one of two ascending lists.
fn only_in_one(mut a: &[u64], mut b: &[u64]) -> u32 {
    let mut only = 0u32;
    while let (Some((first, rest)), Some((other, others))) = (a.split_first(), b.split_first()) {
        only += u32::from(first != other);
        if first <= other {
            a = rest;
        }
        if other <= first {
            b = others;
        }
    }
    only + a.iter().chain(b).map(|_| 1).sum::<u32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(rng: &mut fastrand::Rng, count: usize) -> Vec<u64> {
        (0..count).map(|_| rng.u64(..)).collect()
    }

    fn sketch(values: &[u64]) -> Parities {
        Parities::of_values(values)
    }

    #[test]
    fn levels_begin_above_powers_of_two() {
        let sizes = [0, 1, 2_048, 2_049, 4_096, 4_097, 1 << 20, (1 << 20) + 1, u32::MAX];
        assert_eq!(sizes.map(level), [0, 0, 0, 1, 1, 2, 9, 10, 21]);
    }

    #[test]
    fn small_sets_are_compared_exactly() {
        let mut rng = fastrand::Rng::with_seed(1);
        for (shared, only_a, only_b) in
            [(0, 0, 0), (0, 25, 0), (25, 0, 0), (12, 13, 4), (1, 24, 24)]
        {
            let [common, mut a, mut b] =
                [shared, only_a, only_b].map(|n| random(&mut rng, n as usize));
            a.extend(&common);
            b.splice(0..0, common);
            let found = Difference::between(&sketch(&a), &sketch(&b));
            assert_eq!(found, Difference::Exact(only_a + only_b));
        }
    }

    /// A list has what is needed for the parities, so sets just below and above 25 values compare.
    #[test]
    fn a_small_set_and_a_larger_one_are_compared_by_parities() {
        let mut rng = fastrand::Rng::with_seed(2);
        let values = random(&mut rng, 30);
        for small in 20..=25 {
            let found = Difference::between(&sketch(&values[..small]), &sketch(&values));
            let expected = parities(values[small..].iter().copied(), 0);
            let differ = expected.iter().map(|word| word.count_ones()).sum();
            assert_eq!(found, Difference::Parities(differ, Sampling { level: 0, parities: 1024 }));
        }
    }

    /// Only the values that one set has flip parities that differ, at each pair of levels.
    #[test]
    fn parities_that_differ_are_those_of_the_symmetric_difference() {
        let mut rng = fastrand::Rng::with_seed(3);
        for size in [26, 2_000, 2_100, 4_090, 4_200, 40_000] {
            for extra in [0, 1, 50, size / 10] {
                let values = random(&mut rng, size + extra);
                let (a, b) = (sketch(&values[..size]), sketch(&values));
                let (lower, level) = (level(a.features), level(b.features));
                let mut expected = parities(values[size..].iter().copied(), level);
                if lower < level {
                    let (first, second) = expected.split_at_mut(WORDS / 2);
                    first.iter_mut().zip(&mut *second).for_each(|(a, b)| *a ^= std::mem::take(b));
                }
                let differ = expected.iter().map(|word| word.count_ones()).sum();
                let parities = if lower < level { 512 } else { 1024 };
                let sampling = Sampling { level, parities };
                assert_eq!(Difference::between(&a, &b), Difference::Parities(differ, sampling));
                assert_eq!(Difference::between(&b, &a), Difference::between(&a, &b));
            }
        }
    }

    #[test]
    fn sets_of_very_different_sizes_are_not_compared() {
        let mut rng = fastrand::Rng::with_seed(4);
        let values = random(&mut rng, 10_000);
        for (small, large) in [(20, 2_049), (2_048, 4_097), (4_000, 10_000)] {
            let found = Difference::between(&sketch(&values[..small]), &sketch(&values[..large]));
            assert_eq!(found, Difference::Unknown);
        }
    }
}
