//! A recipe that is built from parts. Nearly every published SimHash is such a pipeline; they
//! differ in the choice of parts.

use std::borrow::Cow;

use crate::hash::xxh3;
use crate::jaccard::Shingles;
#[cfg(feature = "zh")]
use crate::keywords::Keywords;
use crate::method::Method;
use crate::minhash::OneBit;
use crate::normalization::{Normalization, normalized};
use crate::segment::{Segment, Short, character_grams, word_grams};
use crate::sentences::longest;
#[cfg(feature = "zh")]
use crate::simhash::fold_f64;
use crate::simhash::{Sums, Tie, fingerprinted, fixed_point};
use crate::width::{Bits, Fingerprinted, Operations, Width};

/// A SimHash in steps: normalize the text, find its features, and count and sum their hashes.
pub(crate) struct Pipeline<F> {
    pub(crate) normalization: Cow<'static, [Normalization]>,
    pub(crate) features: Features,
    pub(crate) counting: Counting,
    pub(crate) hash: fn(&str) -> F,
    pub(crate) tie: Tie,
    pub(crate) min_features: usize,
}

/// What the features of a text are.
pub(crate) enum Features {
    /// Runs of neighbouring segments.
    Grams {
        segment: Segment,
        grams: Grams,
        /// Whether to lower-case each feature on its own. This differs from lower-casing the text:
        /// a capital sigma at the end of a feature becomes a final sigma, and a feature may become
        /// longer.
        lower_case: bool,
    },
    /// One feature: this number of its longest sentences.
    LongestSentences(usize),
    /// Keywords, each with a weight of its own.
    #[cfg(feature = "zh")]
    Keywords(Keywords),
}

/// The one-bit MinHash of the set of a pipeline's features. It does not use `counting` and `tie`.
pub(crate) struct MinHash<H>(pub(crate) Pipeline<H>);

/// How segments are combined into features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Grams {
    /// Each run of `n` neighbouring segments, joined by spaces.
    Words { n: usize, short: Short },
    /// Each run of `n` neighbouring characters of the segments, joined without a separator, if
    /// there are at least `from` characters.
    Characters { n: usize, from: usize, short: Short },
}

impl Grams {
    /// The segments themselves.
    pub(crate) const SINGLE: Self = Self::Words { n: 1, short: Short::Nothing };
    /// Each character.
    pub(crate) const CHARACTERS: Self = Self::Characters { n: 1, from: 1, short: Short::Nothing };
}

/// The weight of a feature that occurs n times.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Counting, Recipe};
///
/// let repeats_count = |counting| {
///     let builder = Recipe::<u64>::builder("mine/1").counting(counting);
///     let recipe = builder.min_features(0).build().unwrap();
///     recipe.fingerprint("tick tick tock") != recipe.fingerprint("tick tock")
/// };
/// assert!(repeats_count(Counting::Each) && repeats_count(Counting::Damped));
/// assert!(!repeats_count(Counting::Set));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counting {
    // The numbers are part of recipe names: see `Builder::definition`.
    /// n: each occurrence counts.
    Each = 1,
    /// 1: the features are a set.
    Set = 2,
    /// 1 + log2(n), as a whole number of 2^-16.
    Damped = 3,
}

/// The fraction bits of damped weights.
const FRACTION_BITS: u32 = 16;

impl Counting {
    fn weight(self, occurrences: usize) -> i64 {
        match self {
            Self::Each => i64::try_from(occurrences).unwrap_or(i64::MAX),
            Self::Set => 1,
            Self::Damped => fixed_point(1.0 + (occurrences as f64).log2(), FRACTION_BITS),
        }
    }

    /// Adds features, counted by their hashes, and returns the number of distinct ones.
    fn add<F: Bits>(self, mut hashes: Vec<F>, sums: &mut Sums<F>) -> usize {
        if self == Self::Each {
            sums.add_all(&hashes, 1);
        }
        hashes.sort_unstable();
        let mut distinct = 0;
        // Most features occur once. They are moved to the front, to be added together.
        let mut single = 0;
        let mut at = 0;
        while at < hashes.len() {
            let hash = hashes[at];
            let occurrences = hashes[at..].iter().take_while(|&&other| other == hash).count();
            at += occurrences;
            distinct += 1;
            if occurrences == 1 || self == Self::Set {
                hashes[single] = hash;
                single += 1;
            } else if self == Self::Damped {
                sums.add(hash, self.weight(occurrences));
            }
        }
        if self != Self::Each {
            sums.add_all(&hashes[..single], self.weight(1));
        }
        distinct
    }
}

impl<F> Pipeline<F> {
    fn features(&self, text: &str) -> Shingles {
        let mut hashes = Vec::new();
        self.each_feature(text, |feature| hashes.push(xxh3(feature.as_bytes())));
        Shingles::of_hashes(hashes)
    }

    /// Calls `visit` with each feature.
    fn each_feature(&self, text: &str, mut visit: impl FnMut(&str)) {
        let text = &*normalized(text, &self.normalization);
        match &self.features {
            Features::Grams { segment, grams, lower_case: false } => {
                grams.each(*segment, text, visit);
            }
            Features::Grams { segment, grams, lower_case: true } => {
                let mut buffer = String::new();
                grams.each(*segment, text, |gram| visit(lower_case(gram, &mut buffer)));
            }
            Features::LongestSentences(n) => {
                Some(longest(text, *n)).filter(|it| !it.is_empty()).iter().for_each(|it| visit(it));
            }
            #[cfg(feature = "zh")]
            Features::Keywords(keywords) => keywords.each(text, |word, _| visit(word)),
        }
    }
}

impl Grams {
    /// Calls `visit` with each of these runs of segments, in the order of the text.
    fn each(self, segment: Segment, text: &str, mut visit: impl FnMut(&str)) {
        match self {
            Self::Words { n: 1, .. } => segment.each(text, visit),
            Self::Words { n, short } => {
                let (joined, ends) = joined(segment, text, " ");
                word_grams(&joined, &ends, n, short, visit);
            }
            Self::Characters { n, from, short } if segment == Segment::Whole => {
                character_grams(text, (n, from), short, visit);
            }
            Self::Characters { n, from, short } => {
                let (joined, _) = joined(segment, text, "");
                character_grams(&joined, (n, from), short, &mut visit);
            }
        }
    }
}

/// Returns the segments, each followed by the separator, and where each of them ends.
fn joined(segment: Segment, text: &str, separator: &str) -> (String, Vec<usize>) {
    let (mut joined, mut ends) = (String::with_capacity(text.len()), Vec::new());
    segment.each(text, |segment| {
        joined.push_str(segment);
        ends.push(joined.len());
        joined.push_str(separator);
    });
    (joined, ends)
}

fn lower_case<'b>(feature: &str, buffer: &'b mut String) -> &'b str {
    buffer.clear();
    if feature.is_ascii() {
        buffer.push_str(feature);
        buffer.make_ascii_lowercase();
    } else if feature.contains('Σ') {
        // The lower case of a capital sigma depends on its neighbours.
        buffer.push_str(&feature.to_lowercase());
    } else {
        buffer.extend(feature.chars().flat_map(char::to_lowercase));
    }
    buffer
}

impl<H: Bits> Pipeline<H> {
    fn hashes(&self, text: &str) -> Vec<H> {
        let mut hashes = Vec::new();
        self.each_feature(text, |feature| hashes.push((self.hash)(feature)));
        hashes
    }
}

#[cfg(feature = "zh")]
impl<F: Bits> Pipeline<F> {
    /// Returns the fingerprint of keywords, which have weights of their own.
    fn of_keywords(&self, keywords: &Keywords, text: &str) -> Fingerprinted<F> {
        let mut features = Vec::new();
        keywords.each(&normalized(text, &self.normalization), |word, weight| {
            let weight = if self.counting == Counting::Set { 1.0 } else { weight };
            features.push(((self.hash)(word), weight));
        });
        let distinct = features.len();
        fingerprinted(fold_f64(features, self.tie), distinct, self.min_features)
    }
}

impl<F: Bits> Method<F> for Pipeline<F> {
    fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        #[cfg(feature = "zh")]
        if let Features::Keywords(keywords) = &self.features {
            return self.of_keywords(keywords, text);
        }
        let mut sums = Sums::new();
        let distinct = self.counting.add(self.hashes(text), &mut sums);
        fingerprinted(sums.fingerprint(self.tie), distinct, self.min_features)
    }

    fn features(&self, text: &str) -> Shingles {
        self.features(text)
    }

    fn min_features(&self) -> usize {
        self.min_features
    }
}

impl<F: Width> Method<F> for MinHash<F::Hash> {
    fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        let mut hashes = self.0.hashes(text);
        hashes.sort_unstable();
        hashes.dedup();
        let mut sketch = OneBit::with_capacity(hashes.len());
        hashes.iter().for_each(|&hash| sketch.push(hash.low64()));
        let features = hashes.len();
        let fingerprint = sketch.finish().filter(|_| features >= self.0.min_features);
        Fingerprinted { fingerprint, features }
    }

    fn features(&self, text: &str) -> Shingles {
        self.0.features(text)
    }

    fn min_features(&self) -> usize {
        self.0.min_features
    }

    fn is_min_hash(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_follows_the_number_of_occurrences() {
        let weights = |counting: Counting| [1, 2, 3, 8].map(|n| counting.weight(n));
        assert_eq!(weights(Counting::Each), [1, 2, 3, 8]);
        assert_eq!(weights(Counting::Set), [1, 1, 1, 1]);
        assert_eq!(weights(Counting::Damped), [65_536, 131_072, 169_408, 262_144]);
    }

    /// Libraries may differ in the last bit of a logarithm. That must not change a weight.
    #[test]
    fn no_weight_depends_on_the_last_bit_of_a_logarithm() {
        for count in 1..1u32 << 20 {
            let exact = (1.0 + f64::from(count).log2()) * 65_536.0;
            assert!((exact.fract() - 0.5).abs() > 1e-8, "{count}");
        }
    }

    #[test]
    fn equal_hashes_are_counted_wherever_they_occur() {
        let hashes = [3u64, 1, 3, 7, 1, 3, 9];
        for (counting, weights) in [
            (Counting::Each, [(1, 2), (3, 3), (7, 1), (9, 1)]),
            (Counting::Set, [(1, 1), (3, 1), (7, 1), (9, 1)]),
            (Counting::Damped, [(1, 131_072), (3, 169_408), (7, 65_536), (9, 65_536)]),
        ] {
            let (mut expected, mut sums) = (Sums::<u64>::new(), Sums::new());
            for (hash, weight) in weights {
                expected.add(hash, weight);
            }
            assert_eq!(counting.add(hashes.to_vec(), &mut sums), 4);
            assert_eq!(sums.as_slice(), expected.as_slice(), "{counting:?}");
        }
    }

    #[test]
    fn lower_case_of_a_feature_is_that_of_str() {
        let mut buffer = String::new();
        for feature in ["Abc", "ΑΣ ", "ΑΣΑ", "İST", "中Ａ"] {
            assert_eq!(lower_case(feature, &mut buffer), feature.to_lowercase());
        }
    }
}
