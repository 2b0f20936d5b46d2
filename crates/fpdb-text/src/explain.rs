//! Why a text has the fingerprint that it has.

use crate::minhash::OneBit;
use crate::simhash::{Sums, Tie, Weight, fingerprinted, is_set};
use crate::width::Width;

/// How a [`Recipe`](crate::Recipe) comes to the fingerprint of a text.
///
/// # Examples
///
/// The words without which a fingerprint would look most different, and its least certain bit:
///
/// ```
/// use fpdb_text::Recipe;
///
/// let why = Recipe::named("words/1")?.explain("The cat sat on the mat, and the dog on the sofa");
/// assert_eq!(why.features[0].text, "the");
/// let (bit, _) = (0..).zip(&why.bits).min_by(|a, b| a.1.margin.total_cmp(&b.1.margin)).unwrap();
/// assert!(bit < 64);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation<F = u64> {
    /// The fingerprint, just as [`fingerprint`](crate::Recipe::fingerprint) gives it.
    pub fingerprint: Option<F>,
    /// The distinct features, the weightiest first, and those of equal weight as the text has them.
    pub features: Vec<Feature<F>>,
    /// The bits, the least significant first. They are here even if the text has too few features
    /// for a fingerprint.
    pub bits: Vec<Bit>,
}

/// A feature of a text, such as a word.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Recipe, hash};
///
/// let why = Recipe::named("words/1")?.explain("Tick, tick");
/// let tick = &why.features[0];
/// assert_eq!((tick.text.as_str(), tick.occurrences), ("tick", 2));
/// assert_eq!(tick.hash, hash::xxh3(b"tick"));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Feature<F = u64> {
    /// The feature, as it is hashed.
    pub text: String,
    /// How often the text has it.
    pub occurrences: usize,
    /// What it weighs, in the recipe's own unit. Of a one-bit MinHash: how many bits it decides.
    pub weight: f64,
    /// Its hash.
    pub hash: F,
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
    /// Whether it is set in the fingerprint.
    pub set: bool,
    /// Of a SimHash: the weight of the features that have it set, less that of the others. Of a
    /// one-bit MinHash: how many features would have to go before the bit is another, the one
    /// that decides it first; negative if it is not set.
    pub sum: f64,
    /// How far it is from being the other value, from 0 to 1: |sum| as a share of all weight, or
    /// of all features.
    pub margin: f64,
}

/// A distinct feature, with its weight as it is summed.
pub(crate) struct Found<F, W> {
    pub(crate) text: String,
    pub(crate) occurrences: usize,
    pub(crate) weight: W,
    pub(crate) hash: F,
}

impl<F: Width> Explanation<F> {
    /// Sums up the features, in the order given, as the fingerprint does. Weights are told as whole
    /// numbers of 2^-`fraction_bits`.
    pub(crate) fn of_sums<W: Weight>(
        found: Vec<Found<F, W>>,
        fraction_bits: u32,
        tie: Tie,
        min: usize,
    ) -> Self {
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
                weight: weight.to_f64() * unit,
                hash,
            })
            .collect();
        let total: f64 = features.iter().map(|feature| feature.weight.abs()).sum();
        let bits = sums
            .as_slice()
            .iter()
            .map(|&sum| Bit::of(is_set(sum, tie), sum.to_f64() * unit, total))
            .collect();
        features.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        Self { fingerprint, features, bits }
    }
}

impl<F, W> From<Found<F, W>> for Feature<F> {
    /// Of no weight yet.
    fn from(Found { text, occurrences, hash, .. }: Found<F, W>) -> Self {
        Self { text, occurrences, weight: 0.0, hash }
    }
}

impl<F: Width> Explanation<F> {
    /// Of a one-bit MinHash, from its distinct features. A feature weighs as many bits as it
    /// decides; a bit's sum is the number of features that would have to go before it changes.
    pub(crate) fn of_one_bit(
        mut features: Vec<Feature<F>>,
        sketch: &mut OneBit<F>,
        min: usize,
    ) -> Self {
        let total = features.len();
        let standings = sketch.standings();
        for feature in &mut features {
            let hash = feature.hash.low64();
            let decided = standings.iter().filter(|standing| standing.winner == hash);
            feature.weight = decided.count() as f64;
        }
        let bits = standings.iter().map(|standing| {
            let agreeing = standing.agreeing as f64;
            let sum = if standing.set { agreeing } else { -agreeing };
            Bit { set: standing.set, sum, margin: agreeing / total as f64 }
        });
        let mut bits: Vec<_> = bits.collect();
        bits.resize(F::WIDTH as usize, Bit { set: false, sum: 0.0, margin: 0.0 }); // of no features
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
