//! Explanations of fingerprints.

use crate::minhash::OneBit;
use crate::simhash::{Sums, Tie, fingerprinted, is_set};
use crate::width::{Bits, Operations, Width};

/// An explanation of the fingerprint that a [`Recipe`](crate::Recipe) gives a text.
///
/// # Examples
///
/// The word that weighs most, and the bit that is closest to having the other value:
///
/// ```
/// use fpdb_text::Recipe;
///
/// let why = Recipe::named("rust-simhash/1")?.explain("the cat and the dog on the sofa");
/// assert_eq!(why.features[0].text, "the");
/// let (bit, _) = (0..).zip(&why.bits).min_by(|a, b| a.1.margin.total_cmp(&b.1.margin)).unwrap();
/// assert!(bit < 64);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation<F: Width = u64> {
    /// The fingerprint, equal to the result of [`fingerprint`](crate::Recipe::fingerprint).
    pub fingerprint: Option<F>,
    /// The distinct features, in descending order of weight. Features of equal weight are in the
    /// order of the text.
    pub features: Vec<Feature<F::Hash>>,
    /// The bits, starting with the least significant; for a [`Sketch`](crate::Sketch) only those of
    /// plane 0. They are present even if the text has too few features for a fingerprint.
    pub bits: Vec<Bit>,
}

/// A feature of a text, such as a word.
///
/// # Examples
///
/// ```
/// use fpdb_text::{FeatureHash, Recipe};
///
/// let why = Recipe::<u64>::builder("mine/1").build()?.explain("Tick, tick");
/// let tick = &why.features[0];
/// assert_eq!((tick.text.as_str(), tick.occurrences), ("tick", 2));
/// assert_eq!(FeatureHash::Xxh3.hash("tick"), Some(tick.hash));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Feature<H = u64> {
    /// The text that is hashed.
    pub text: String,
    /// The number of times it occurs in the text.
    pub occurrences: usize,
    /// Its weight, in the recipe's own unit. For a one-bit MinHash: the number of bits it decides.
    pub weight: f64,
    /// The hash of the feature.
    pub hash: H,
}

/// One bit of a fingerprint.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
///
/// let why = Recipe::named("rust-simhash/1")?.explain("alone");
/// assert!(why.bits.iter().all(|bit| bit.margin == 1.0)); // one feature decides each bit
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Bit {
    /// Whether the bit is set in the fingerprint.
    pub set: bool,
    /// For a SimHash: the weight of the features whose hash has the bit set, minus the weight of
    /// the others. For a one-bit MinHash: the number of features that would have to be removed,
    /// starting with the one that decides the bit, before the bit changes; negative if the bit is
    /// not set.
    pub sum: f64,
    /// How far the bit is from changing, from 0 to 1: |sum| divided by the total weight, or by the
    /// number of features.
    pub margin: f64,
}

/// A distinct feature, with its weight in the unit in which it is summed.
pub(crate) struct Found<H> {
    pub(crate) text: String,
    pub(crate) occurrences: usize,
    pub(crate) weight: i64,
    pub(crate) hash: H,
}

impl<F: Bits> Explanation<F> {
    /// Sums the features in the given order, as the fingerprint does. Weights are in units of
    /// 2^-`fraction_bits`.
    pub(crate) fn of_sums(found: Vec<Found<F>>, fraction_bits: u32, tie: Tie, min: usize) -> Self {
        let unit = 1.0 / (1u64 << fraction_bits) as f64;
        let mut sums = Sums::new();
        for feature in &found {
            sums.add(feature.hash, feature.weight);
        }
        let fingerprint = fingerprinted(sums.fingerprint(tie), found.len(), min).fingerprint;
        let mut features: Vec<_> = found
            .into_iter()
            .map(|Found { text, occurrences, weight, hash }| Feature {
                text,
                occurrences,
                weight: weight as f64 * unit,
                hash,
            })
            .collect();
        let total: f64 = features.iter().map(|feature| feature.weight.abs()).sum();
        let bits = sums
            .as_slice()
            .iter()
            .map(|&sum| Bit::of(is_set(sum, tie), sum as f64 * unit, total))
            .collect();
        features.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        Self { fingerprint, features, bits }
    }
}

impl<H> From<Found<H>> for Feature<H> {
    /// Converts without a weight, which is set later.
    fn from(Found { text, occurrences, hash, .. }: Found<H>) -> Self {
        Self { text, occurrences, weight: 0.0, hash }
    }
}

impl<F: Width> Explanation<F> {
    /// Explains a one-bit MinHash by its distinct features. The weight of a feature is the number
    /// of bits it decides; the sum of a bit is the number of features that would have to be removed
    /// before it changes.
    pub(crate) fn of_one_bit(
        mut features: Vec<Feature<F::Hash>>,
        sketch: &mut OneBit<F>,
        min: usize,
    ) -> Self {
        let total = features.len();
        let winners = sketch.winners();
        for feature in &mut features {
            let hash = feature.hash.low64();
            let decided = winners.iter().filter(|winner| winner.hash == hash);
            feature.weight = decided.count() as f64;
        }
        let bits = winners.iter().map(|winner| {
            let agreeing = winner.agreeing as f64;
            let sum = if winner.set { agreeing } else { -agreeing };
            Bit { set: winner.set, sum, margin: agreeing / total as f64 }
        });
        let mut bits: Vec<_> = bits.collect();
        bits.resize(F::MINIMA as usize, Bit { set: false, sum: 0.0, margin: 0.0 }); // if there are no features
        features.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let fingerprint = sketch.finish().filter(|_| total >= min);
        Self { fingerprint, features, bits }
    }
}

impl Bit {
    fn of(set: bool, sum: f64, total: f64) -> Self {
        let margin = if total > 0.0 { (sum.abs() / total).min(1.0) } else { 0.0 };
        Self { set, sum, margin }
    }
}
