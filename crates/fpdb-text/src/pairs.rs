//! The `pairs` recipes: the one-bit MinHash of a text's pairs of neighbouring tokens.
//!
//! The fingerprint is a sketch of the *set* of a text's pairs. If the sets of two texts have
//! Jaccard similarity J, each bit differs with probability (1 - J) / 2. So the distance is
//! proportional to the size of an edit. The distance of a SimHash is proportional to its square
//! root, and is several times as large for the small edits that matter. A pair that occurs twice
//! counts once.
//!
//! Pairs work better than single tokens, whose sets are similar for texts about the same subject.
//! They also work better than triples, because one edit changes more triples than pairs.
//!
//! The hash of a token is the XXH3-64 with seed 0 of its UTF-8 bytes. The hash of a pair is
//! rotl(h1, 1) + h2 modulo 2^64. [`OneBit`] makes the fingerprint from these hashes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cut::{AnyLanguage, Cut};
#[cfg(feature = "zh")]
use crate::error::Result;
use crate::explain::{Explanation, Feature};
use crate::fingerprinted::Fingerprinted;
use crate::hash::xxh3;
use crate::jaccard::Shingles;
use crate::method::Method;
use crate::minhash::OneBit;
use crate::width::Width;

/// The smallest number of distinct pairs that makes a text comparable. With fewer, pages that have
/// only a title or an error message in common would count as duplicates.
const MIN_PAIRS: usize = 4;

/// `pairs/1`: for texts of any language.
pub(crate) fn pairs_1<F: Width>() -> Arc<dyn Method<F>> {
    Arc::new(Pairs { cut: AnyLanguage, from_start: false, min: MIN_PAIRS })
}

/// `pairs-zh/1`: for Chinese texts, in which jieba finds the words.
#[cfg(feature = "zh")]
pub(crate) fn pairs_zh_1<F: Width>() -> Result<Arc<dyn Method<F>>> {
    let cut = crate::cut::Chinese { jieba: crate::dictionary::jieba()? };
    Ok(Arc::new(Pairs { cut, from_start: false, min: MIN_PAIRS }))
}

/// `pairs-short/1`: for short texts of any language. Every text with a token has a fingerprint,
/// because the start of the text makes a pair with the first token.
pub(crate) fn pairs_short_1<F: Width>() -> Arc<dyn Method<F>> {
    Arc::new(Pairs { cut: AnyLanguage, from_start: true, min: 1 })
}

/// The method of all these recipes.
struct Pairs<C> {
    cut: C,
    /// Whether the start of the text counts as a token, an empty one.
    from_start: bool,
    /// The number of distinct pairs below which a text has no fingerprint.
    min: usize,
}

/// Combines neighbouring tokens into pairs.
struct Pairing {
    last: Option<u64>,
}

impl Pairing {
    /// Adds the next token and returns the hash of the pair that it completes.
    #[inline]
    fn push(&mut self, token: &str) -> Option<u64> {
        let hash = xxh3(token.as_bytes());
        let last = self.last.replace(hash)?;
        Some(last.rotate_left(1).wrapping_add(hash))
    }
}

impl<C> Pairs<C> {
    fn pairing(&self) -> Pairing {
        Pairing { last: self.from_start.then(|| xxh3(b"")) }
    }
}

/// The first distinct hashes of a text, up to the number that it needs.
struct Needed {
    min: usize,
    seen: Vec<u64>,
}

impl Needed {
    #[inline]
    fn note(&mut self, hash: u64) {
        if self.seen.len() < self.min && !self.seen.contains(&hash) {
            self.seen.push(hash);
        }
    }
}

impl<F: Width, C: Cut> Method<F> for Pairs<C> {
    fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        let mut pairing = self.pairing();
        let mut needed = Needed { min: self.min, seen: Vec::with_capacity(self.min) };
        // An ideograph has three bytes; most words, with their space, have more.
        let mut sketch = OneBit::with_capacity(text.len() / 3);
        let mut features = 0;
        self.cut.cut(text, |token| {
            if let Some(pair) = pairing.push(token) {
                features += 1;
                needed.note(pair);
                sketch.push(pair);
            }
        });
        match needed.seen.len() {
            distinct if distinct < self.min => {
                Fingerprinted { fingerprint: None, features: distinct }
            }
            _ => Fingerprinted { fingerprint: sketch.finish(), features },
        }
    }

    fn explain(&self, text: &str) -> Explanation<F> {
        let mut pairing = self.pairing();
        let mut sketch = OneBit::new();
        let mut features: Vec<Feature<F>> = Vec::new();
        let mut places = HashMap::new();
        let mut last = "^".to_owned();
        self.cut.cut(text, |token| {
            if let Some(pair) = pairing.push(token) {
                let place = *places.entry(pair).or_insert(features.len());
                if place == features.len() {
                    let (text, hash) = (format!("{last} {token}"), F::from_low64(pair));
                    features.push(Feature { text, occurrences: 0, weight: 0.0, hash });
                    sketch.push(pair);
                }
                features[place].occurrences += 1;
            }
            token.clone_into(&mut last);
        });
        Explanation::of_one_bit(features, &mut sketch, self.min)
    }

    fn features(&self, text: &str) -> Shingles {
        let mut pairing = self.pairing();
        let mut hashes = Vec::with_capacity(text.len() / 4);
        self.cut.cut(text, |token| hashes.extend(pairing.push(token).map(u128::from)));
        Shingles::of_hashes(hashes)
    }

    fn min_features(&self) -> usize {
        self.min
    }
}

#[cfg(test)]
mod tests;
