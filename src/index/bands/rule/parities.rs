//! Which sketches are similar enough by their parities and minima.
//!
//! From the number of parities that differ follows about how many features two texts do not share
//! (Odd sketches: Mitzenmacher, Pagh and Pham, WWW 2014), and from their sizes, at how many the
//! similarity is as asked for. So for each number of features that may differ there is a limit. The
//! minima are a second estimate, whose weight is the inverse of its variance.
//!
//! Only integers are used, so that every program and processor comes to the same verdict. There are
//! no logarithms or powers: (1 - 2/N)^k, the expected share of parities that differ, follows from
//! one multiplication per k. docs/design.md, "Search by similarity", derives the limits.

use fpdb_sketch::{Difference, Sampling};

use crate::fingerprint::{MINIMA, Sketch};

/// Limits for one way to sample. They are indexed by how many of the sampled features may differ.
type Limits = Vec<Limit>;

/// Two sets are similar enough if 64 `parities that differ` + `weight` · `minima that differ` is at
/// most `most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit {
    most: u32,
    weight: u32,
}

impl Limit {
    #[inline(always)]
    fn accepts(self, differ: u32, minima: u32) -> bool {
        64 * differ + self.weight * minima <= self.most
    }
}

/// The limits of a rule.
#[derive(Debug)]
pub(crate) struct ParityLimits {
    /// How many features may differ.
    most: MostThatDiffer,
    /// Of sets of the same level: level 0, 1, and above.
    same: [Limits; 3],
    /// Of sets of neighbouring levels, the higher of which is 1, or above.
    apart: [Limits; 2],
    /// For two sets of level 0, indexed by the number of features of both: how many may differ, and
    /// the limit. This repeats `most` and `same[0]`: nearly all sets are of level 0, and one lookup
    /// is faster.
    of_level_0: Vec<(u32, Limit)>,
}

/// Units of a similarity.
const SCALE: i128 = 10_000;
/// One as a power of 1 - 2/N.
const ONE: i128 = 1 << 62;
/// Bits after the point of what follows from these powers.
const FRACTION: u32 = 32;
/// Most features of two sets that are not sampled.
const UNSAMPLED: u64 = 4_096;

impl ParityLimits {
    /// Computes the limits for a similarity, in units of 1/10,000, and a margin, in hundredths of
    /// the standard error of the estimate.
    pub(crate) fn new(similarity: u16, margin: u16) -> Self {
        let similarity = similarity.min(10_000);
        let limits =
            |log_half, sampled| limits(log_half, sampled, similarity.into(), margin.into());
        let mut new = Self {
            most: MostThatDiffer::new(similarity.into()),
            same: [limits(9, 0), limits(9, 1), limits(9, 2)],
            apart: [limits(8, 1), limits(8, 2)],
            of_level_0: Vec::new(),
        };
        let of_level_0 = |features| {
            let (most, sampling) = (new.most.of(features), Sampling { level: 0, parities: 1024 });
            let limit = new.limit(sampling, features, most);
            Some((u32::try_from(most).unwrap_or(u32::MAX), limit?))
        };
        new.of_level_0 = (0..=UNSAMPLED).map_while(of_level_0).collect();
        new
    }

    /// Returns whether two sketches are similar enough, of whose minima so many differ.
    #[inline(always)]
    pub(crate) fn accept(&self, a: &Sketch, b: &Sketch, minima: u32) -> bool {
        match self.of_level_0(a, b) {
            Some((is_possible, differ, limit)) => is_possible && limit.accepts(differ, minima),
            None => self.accept_others(a, b, minima),
        }
    }

    /// Returns false if the sketches are not similar enough, however few of their minima differ.
    /// This reads only the parities.
    #[inline(always)]
    pub(crate) fn may_accept(&self, a: &Sketch, b: &Sketch) -> bool {
        let of_both = self.of_level_0(a, b);
        of_both.is_none_or(|(is_possible, differ, limit)| is_possible && limit.accepts(differ, 0))
    }

    /// Returns, for two sets of level 0, whether they can be similar enough, how many parities
    /// differ, and the limit. At least as many features differ as parities do, and as their sizes
    /// do.
    #[inline(always)]
    fn of_level_0(&self, a: &Sketch, b: &Sketch) -> Option<(bool, u32, Limit)> {
        let differ = a.difference_of_level_0(b)?;
        let &(most, limit) = self.of_level_0.get((a.features() + b.features()) as usize)?;
        let is_possible = differ <= most && a.features().abs_diff(b.features()) <= most;
        Some((is_possible, differ, limit))
    }

    /// Does what [`accept`](Self::accept) does, for sets that are not both of level 0.
    #[inline(always)]
    fn accept_others(&self, a: &Sketch, b: &Sketch, minima: u32) -> bool {
        let (few, many) = (a.features().min(b.features()), a.features().max(b.features()));
        let features = u64::from(few) + u64::from(many);
        // The sets are similar enough exactly if at most so many features are in only one of them.
        let most = self.most.of(features);
        if u64::from(many - few) > most {
            return false;
        }
        match a.difference(b) {
            Difference::Exact(differ) => u64::from(differ) <= most,
            Difference::Unknown => false,
            Difference::Parities(differ, sampling) => {
                (sampling.level > 0 || u64::from(differ) <= most)
                    && self
                        .limit(sampling, features, most)
                        .is_some_and(|limit| limit.accepts(differ, minima))
            }
        }
    }

    /// Returns the limit for two sets with so many features together, of which at most `most` may
    /// be in only one of them.
    #[inline(always)]
    fn limit(&self, sampling: Sampling, features: u64, most: u64) -> Option<Limit> {
        let Sampling { level, parities } = sampling;
        let above = usize::from(level > 1);
        let (limits, k) = match (level, parities) {
            // As many features are in only one set as are in both together, modulo two.
            (0, _) => (&self.same[0], most.saturating_sub((most ^ features) & 1)),
            (_, 512) => (&self.apart[above], most.div_ceil(1 << level)),
            _ => (&self.same[1 + above], most.div_ceil(1 << level)),
        };
        limits.get(usize::try_from(k).ok()?).copied()
    }

    /// Returns, for each number of minima that differ, the share of the pairs of sets of this size
    /// and similarity that are similar enough by their sketches. If no two sets of this size have
    /// exactly this similarity, it is for the next greater one.
    pub(super) fn accepted_shares(&self, similarity: f64, features: u32) -> Vec<f64> {
        let both = 2 * u64::from(features);
        let most = self.most.of(both);
        let similarity = similarity.clamp(0.0, 1.0);
        // As many features are in one set only as in the other only.
        let in_one = f64::from(features) * (1.0 - similarity) / (1.0 + similarity);
        let differ = 2.0 * (in_one + 1e-6).floor();
        let level = Sketch::of_parts([0; 6], features, [0; 16]).level();
        let Some(level) = level else {
            return vec![f64::from(u8::from(differ <= most as f64)); MINIMA as usize + 1];
        };
        let limit = self.limit(Sampling { level, parities: 1024 }, both, most);
        let limit = limit.unwrap_or(Limit { most: 0, weight: u32::MAX >> 8 });
        let below = share_below(differ, level);
        let accepted = |minima| {
            let parities = limit.most.checked_sub(limit.weight * minima).map(|most| most / 64);
            let most = if level == 0 { most } else { u64::MAX };
            parities.map_or(0.0, |parities| below(most.min(parities.into())))
        };
        (0..=MINIMA).map(accepted).collect()
    }
}

/// Returns the distribution of the number of parities that differ, if `differ` features are in only
/// one of two sets that are sampled at this level: the probability that it is at most a number.
fn share_below(differ: f64, level: u32) -> Box<dyn Fn(u64) -> f64> {
    if level == 0 {
        let sums: Vec<f64> = parities_flipped(differ)
            .into_iter()
            .scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            })
            .collect();
        let last = sums.len() - 1;
        return Box::new(move |most| sums[usize::try_from(most).map_or(last, |at| at.min(last))]);
    }
    // So many are sampled that it is about normally distributed.
    let (n, rate) = (1024.0f64, 0.5f64.powi(level.cast_signed()));
    let sampled = differ * rate;
    let (q2, q4) = ((1.0 - 2.0 / n).powf(sampled), (1.0 - 4.0 / n).powf(sampled));
    let expected = n / 2.0 * (1.0 - q2);
    let collisions = (n * n * (q4 - q2 * q2) + n * (1.0 - q4)) / 4.0;
    let error = (collisions.max(0.0) + (1.0 - rate) * sampled * q2 * q2).sqrt().max(1e-6);
    Box::new(move |most| super::normal::below((most as f64 + 0.5 - expected) / error))
}

/// Returns the distribution of the number of parities, of 1,024, that so many features flip an odd
/// number of times.
fn parities_flipped(features: f64) -> Vec<f64> {
    let mut shares = vec![0.0; 1025];
    shares[0] = 1.0;
    let mut flipped = 0.0;
    while flipped < features {
        let mut next = vec![0.0; 1025];
        for (at, &share) in shares.iter().enumerate().filter(|&(_, &share)| share > 0.0) {
            let back = at as f64 / 1024.0;
            if at > 0 {
                next[at - 1] += share * back;
            }
            if at < 1024 {
                next[at + 1] += share * (1.0 - back);
            }
        }
        (shares, flipped) = (next, flipped + 1.0);
    }
    shares
}

/// How many features may be in only one of two sets, if they are to have a similarity.
#[derive(Debug)]
struct MostThatDiffer {
    /// What is multiplied with, in units of 1/10,000.
    factor: u64,
    /// 2^64 over what is divided by, rounded up: a multiplication takes a fraction of a division's
    /// time.
    inverse: u64,
}

impl MostThatDiffer {
    /// Takes a similarity in units of 1/10,000, at most 1.
    fn new(similarity: u64) -> Self {
        Self { factor: 10_000 - similarity, inverse: u64::MAX / (10_000 + similarity) + 1 }
    }

    /// Returns the number for two sets of so many features together, at most 2^33. It is exact for
    /// these: what is divided is below 2^47, the inverse is rounded up by less than 2^15 over the
    /// divisor, and the product of both is below 2^64.
    #[inline(always)]
    fn of(&self, features: u64) -> u64 {
        let product = u128::from(features * self.factor) * u128::from(self.inverse);
        (product >> 64) as u64
    }
}

/// Computes the limits for N = 2 · 2^`log_half` parities and each number k of sampled features that
/// may differ, of sets that are sampled at a rate of 1 - `sampled` / 2 or less.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "all are small and positive"
)]
fn limits(log_half: u32, sampled: i128, similarity: i128, margin: i128) -> Limits {
    let parities: i128 = 2 << log_half;
    let count = MostThatDiffer::new(similarity as u64).of(UNSAMPLED) + 2;
    // The expected number of minima that differ, and its variance.
    let minima = ((126 * (SCALE - similarity)) << FRACTION) / SCALE;
    let all_minima = i128::from(MINIMA) << FRACTION;
    let minima_variance = minima * (all_minima - minima) / all_minima;
    // (1 - 2/N)^k and (1 - 4/N)^k.
    let (mut q2, mut q4) = (ONE, ONE);
    let limit = |k: u64| {
        let expected = (parities / 2 * (ONE - q2)) >> (62 - FRACTION);
        let square = (q2 * q2) >> 62;
        let collisions = (parities * parities * (q4 - square) + parities * (ONE - q4)) >> 2;
        let sampling = (sampled * i128::from(k) * square) >> 1;
        let variance = (collisions + sampling).max(0) >> (62 - FRACTION);
        let per_error =
            2 * i128::from(k) * (q2 >> (62 - FRACTION)) * minima_variance * SCALE * SCALE;
        let weighted =
            (64 * 126 * variance * (SCALE * SCALE - similarity * similarity)) << FRACTION;
        let weight = weighted.checked_div(per_error).map_or(0, |weight| weight.min(4096));
        let total = variance + ((weight * weight * minima_variance) >> 12);
        let error = (total << FRACTION).isqrt();
        let rounding = if sampled == 0 { 64 - 4 * weight } else { 32 - weight / 2 }.max(0);
        let sum = 64 * (expected + margin * error / 100) + weight * minima;
        let most = (sum >> FRACTION) + rounding;
        q2 -= q2 >> log_half;
        q4 -= q4 >> (log_half - 1);
        Limit { most: most as u32, weight: weight as u32 }
    };
    (0..count).map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program in Python computed these, with integers of any size.
    #[test]
    fn limits_are_frozen() {
        let limits = ParityLimits::new(8_000, 186);
        for (k, most, weight) in
            [(13, 972, 1), (44, 3091, 5), (111, 7271, 14), (222, 13130, 27), (444, 21705, 50)]
        {
            assert_eq!(limits.same[0][k], Limit { most, weight });
        }
        for (k, most, weight) in [(230, 15323, 74), (444, 22910, 81)] {
            assert_eq!(limits.same[2][k], Limit { most, weight });
        }
        let sizes =
            [&limits.same[..], &limits.apart].concat().iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes, [457; 5]);
    }

    #[test]
    fn as_many_features_may_differ_as_the_division_says() {
        let mut rng = fastrand::Rng::with_seed(12);
        let similarities = (0..=10_000).step_by(7).chain([6_384, 8_000, 9_999, 10_000]);
        for similarity in similarities {
            let most = MostThatDiffer::new(similarity);
            let random = (0..200).map(|_| rng.u64(..1 << 33) >> rng.u32(..33));
            for features in (0..300).chain(random).chain([(1 << 33) - 2, 1 << 33]) {
                let expected = features * (10_000 - similarity) / (10_000 + similarity);
                assert_eq!(most.of(features), expected, "{features} {similarity}");
            }
        }
    }

    #[test]
    fn every_stored_similarity_and_margin_has_limits() {
        for similarity in [0, 1, 5_000, 9_999, 10_000, u16::MAX] {
            for margin in [0, 400, u16::MAX] {
                let limits = ParityLimits::new(similarity, margin);
                let sketch = Sketch::new([5; 128], &[1, 2, 3]);
                assert!(limits.accept(&sketch, &sketch, 0), "{similarity} {margin}");
            }
        }
    }

    /// Sets of this size and similarity, as sketches, and the number of their minima that differ.
    fn pair(rng: &mut fastrand::Rng, size: usize, percent: usize) -> (Sketch, Sketch, u32) {
        let shared = (2 * size * percent).div_ceil(100 + percent);
        let values: Vec<u64> = (0..2 * size - shared).map(|_| rng.u64(..)).collect();
        let differing = 1.0 - shared as f64 / values.len() as f64;
        let minima = (0..MINIMA).filter(|_| rng.f64() < differing * 63.0 / 64.0).count();
        let sketch = |values: &[u64]| Sketch::new([0; 128], values);
        let minima = u32::try_from(minima).unwrap();
        (sketch(&values[..size]), sketch(&values[size - shared..]), minima)
    }

    #[test]
    fn limits_by_the_number_of_features_say_what_the_definition_says() {
        let (mut rng, mut accepted) = (fastrand::Rng::with_seed(13), 0);
        for (similarity, margin) in
            [(8_000, 186), (7_000, 191), (9_000, 0), (0, 400), (10_000, 400)]
        {
            let limits = ParityLimits::new(similarity, margin);
            for _ in 0..4_000 {
                let features = rng.u32(26..=2_048);
                let other = features.saturating_add_signed(rng.i32(-60..60)).clamp(26, 2_048);
                let a = Sketch::of_parts([0; 6], features, [0; 16]);
                let mut parities = [0; 16];
                for _ in 0..rng.u32(0..features / 3) {
                    parities[rng.usize(..16)] |= 1 << rng.u32(..64);
                }
                let b = Sketch::of_parts([0; 6], other, parities);
                let minima = rng.u32(0..=60);
                let expected = limits.accept_others(&a, &b, minima);
                assert_eq!(limits.accept(&a, &b, minima), expected, "{features} {other} {minima}");
                assert!(limits.may_accept(&a, &b) || !expected);
                assert_eq!(limits.may_accept(&a, &b), limits.accept_others(&a, &b, 0));
                accepted += u32::from(expected);
            }
        }
        assert!((2_000..18_000).contains(&accepted), "{accepted}");
    }

    /// All of the minima's distribution is averaged, as in a search.
    #[test]
    fn the_share_that_is_computed_is_accepted() {
        let mut rng = fastrand::Rng::with_seed(11);
        const PAIRS: usize = 400;
        for (similarity, margin) in [(7_000, 182), (8_000, 186), (9_000, 187)] {
            let limits = ParityLimits::new(similarity, margin);
            for size in [200, 1_000, 2_000, 3_000, 9_000] {
                for below in [0, 300, 500, 900] {
                    let similarity = similarity - below;
                    let (mut accepted, mut expected) = (0.0, 0.0);
                    let shares = limits
                        .accepted_shares(f64::from(similarity) / 1e4, u32::try_from(size).unwrap());
                    for _ in 0..PAIRS {
                        let (a, b, minima) = pair(&mut rng, size, usize::from(similarity / 100));
                        accepted += f64::from(u8::from(limits.accept(&a, &b, minima)));
                        assert_eq!(limits.accept(&a, &b, minima), limits.accept(&b, &a, minima));
                        expected += shares[minima as usize];
                    }
                    let error: f64 = (accepted - expected) / PAIRS as f64;
                    assert!(error.abs() < 0.08, "{similarity} {size}: {accepted} not {expected}");
                    assert!(below > 0 || accepted / PAIRS as f64 > 0.93, "{similarity} {size}");
                }
            }
        }
    }

    #[test]
    fn sets_of_other_sizes_are_never_similar_enough() {
        let limits = ParityLimits::new(8_000, 400);
        let values: Vec<u64> =
            (0..5_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let sketch = |size: usize| Sketch::new([0; 128], &values[..size]);
        for (few, many, accepted) in [(80, 100, true), (79, 100, false), (2_000, 5_000, false)] {
            assert_eq!(limits.accept(&sketch(few), &sketch(many), 20), accepted, "{few} {many}");
        }
    }
}
