//! The `pairs` and `fives` recipes: the one-bit MinHash of a text's runs of two, or of five,
//! neighbouring tokens.
//!
//! The fingerprint is a sketch of the *set* of a text's pairs. If the sets of two texts have
//! Jaccard similarity J, each bit differs with probability (1 - J) / 2. So the distance is
//! proportional to the size of an edit. The distance of a SimHash is proportional to its square
//! root, and is several times as large for the small edits that matter. A pair that occurs twice
//! counts once.
//!
//! Pairs work better than single tokens, whose sets are similar for texts about the same subject.
//! They also work better than triples, because one edit changes more triples than pairs. Runs of
//! five are what most MinHash programs compare, and what people mean who ask for a similarity of
//! 0.8: texts that have less in common are called different.
//!
//! Thai, Lao, Burmese, Khmer and Tibetan are written without spaces between words. Each of their
//! letters is a token, and there are so few that unrelated texts share many pairs of them. So a run
//! that ends with such a letter has three times as many tokens: a word counts as three letters.
//!
//! The hash of a token is the XXH3-64 with seed 0 of its UTF-8 bytes. The hash of a pair is
//! rotl(h1, 1) + h2 modulo 2^64. A longer run continues so: the hash of five tokens is
//! rotl(rotl(rotl(rotl(h1, 1) + h2, 1) + h3, 1) + h4, 1) + h5. [`OneBit`] makes the fingerprint
//! from these hashes.

use std::sync::Arc;

use crate::cut::{AnyLanguage, Cut};
#[cfg(feature = "zh")]
use crate::error::Result;
use crate::hash::{xxh3, xxh3_128};
use crate::jaccard::Shingles;
use crate::method::Method;
use crate::minhash::OneBit;
use crate::tokens;
use crate::width::{Fingerprinted, Width};

/// The smallest number of distinct runs that makes a text comparable. With fewer, pages that have
/// only a title or an error message in common would count as duplicates.
const MIN_RUNS: usize = 4;

/// `pairs/1`: for texts of any language.
pub(crate) fn pairs<F: Width>() -> Arc<dyn Method<F>> {
    Arc::new(Runs::<_, 2, 6> { cut: AnyLanguage, from_start: false, min: MIN_RUNS })
}

/// `fives/1`: as `pairs/1`, with runs of five tokens.
pub(crate) fn fives<F: Width>() -> Arc<dyn Method<F>> {
    Arc::new(Runs::<_, 5, 15> { cut: AnyLanguage, from_start: false, min: MIN_RUNS })
}

/// `pairs-zh/1`: for Chinese texts, in which jieba finds the words.
#[cfg(feature = "zh")]
pub(crate) fn pairs_zh<F: Width>() -> Result<Arc<dyn Method<F>>> {
    let cut = crate::cut::Chinese { jieba: crate::dictionary::jieba()? };
    Ok(Arc::new(Runs::<_, 2, 6> { cut, from_start: false, min: MIN_RUNS }))
}

/// `pairs-short/1`: for short texts of any language. Every text with a token has a fingerprint,
/// because the start of the text makes a run with the first token.
pub(crate) fn pairs_short<F: Width>() -> Arc<dyn Method<F>> {
    Arc::new(Runs::<_, 2, 6> { cut: AnyLanguage, from_start: true, min: 1 })
}

/// The method of all these recipes: runs of `N` tokens, or of `L` if the last token is a letter of
/// a script without spaces and with few letters.
struct Runs<C, const N: usize, const L: usize> {
    cut: C,
    /// Whether the text begins with as many empty tokens as complete any run of its first token.
    from_start: bool,
    /// The number of distinct runs below which a text has no fingerprint.
    min: usize,
}

/// The hashes of the last `L` tokens.
struct Window<const N: usize, const L: usize> {
    hashes: [u64; L],
    /// How many tokens are known, up to `L`.
    known: usize,
}

impl<const N: usize, const L: usize> Window<N, L> {
    /// Adds the next token and returns the hash of the run that it completes.
    #[inline]
    fn push(&mut self, token: &str) -> Option<u64> {
        self.hashes.rotate_left(1);
        self.hashes[L - 1] = xxh3(token.as_bytes());
        self.known = L.min(self.known + 1);
        match Self::length(token) {
            length if self.known < length => None,
            length if length == N => Some(hash_of_run(&self.hashes[L - N..])),
            _ => Some(hash_of_run(&self.hashes)),
        }
    }

    /// The number of tokens of a run that ends with this one.
    #[inline]
    fn length(token: &str) -> usize {
        if is_one_of_few(token) { L } else { N }
    }
}

/// Returns whether a token is a letter of a script without spaces and with few letters.
#[inline]
fn is_one_of_few(token: &str) -> bool {
    // Each of these letters takes three bytes, and begins with one of these two.
    let maybe = matches!(token.as_bytes().first(), Some(0xe0 | 0xe1));
    maybe && token.chars().next().is_some_and(tokens::is_one_of_few)
}

/// The hash of a run, from those of its tokens.
#[inline]
fn hash_of_run(tokens: &[u64]) -> u64 {
    tokens.iter().fold(0u64, |run, &hash| run.rotate_left(1).wrapping_add(hash))
}

impl<C, const N: usize, const L: usize> Runs<C, N, L> {
    fn window(&self) -> Window<N, L> {
        let known = if self.from_start { L - 1 } else { 0 };
        Window { hashes: [xxh3(b""); L], known }
    }
}

// What does not depend on the width of fingerprints is compiled only once.

impl<C: Cut, const N: usize, const L: usize> Runs<C, N, L> {
    /// Returns the hash of each run, in the order of the text.
    fn hashes(&self, text: &str) -> Vec<u64> {
        let mut window = self.window();
        // In most languages, a word with its space has at least six bytes. An ideograph has three.
        let mut hashes = Vec::with_capacity(text.len() / 6);
        self.cut.cut(text, |token| hashes.extend(window.push(token)));
        hashes
    }
}

/// Returns the number of distinct hashes, or `most` if there are more.
fn distinct_up_to(most: usize, hashes: &[u64]) -> usize {
    let mut seen = Vec::with_capacity(most);
    for hash in hashes {
        if seen.len() == most {
            break;
        }
        if !seen.contains(hash) {
            seen.push(*hash);
        }
    }
    seen.len()
}

/// Returns the distinct runs of `n` tokens.
fn runs(cut: &impl Cut, text: &str, n: usize) -> Shingles {
    let (mut tokens, mut runs) = (Vec::with_capacity(text.len() / 4), Vec::new());
    cut.cut(text, |token| {
        tokens.push(xxh3(token.as_bytes()));
        // As in fingerprints, a word is three letters of some scripts.
        let length = if is_one_of_few(token) { n.saturating_mul(3) } else { n };
        let start = tokens.len().checked_sub(length);
        runs.extend(start.map(|start| hash_of_run(&tokens[start..])));
    });
    Shingles::of_hashes(runs)
}

/// Returns a hash of all tokens, or of the text if it has none.
fn text_hash(cut: &impl Cut, text: &str) -> Option<u128> {
    let mut words = String::with_capacity(text.len());
    cut.cut(text, |token| {
        words.push_str(token);
        words.push(' ');
    });
    let text = if words.is_empty() { text.trim() } else { &words };
    (!text.is_empty()).then(|| xxh3_128(text.as_bytes()))
}

impl<C: Cut, const N: usize, const L: usize> Runs<C, N, L> {
    /// Returns the set of a text's runs, and how many there are; `None` with the number of distinct
    /// ones if these are too few.
    fn sketch<F: Width>(&self, text: &str) -> (Option<OneBit<F>>, usize) {
        let hashes = self.hashes(text);
        match distinct_up_to(self.min, &hashes) {
            distinct if distinct < self.min => (None, distinct),
            _ => {
                let features = hashes.len();
                (Some(OneBit::of_hashes(hashes)), features)
            }
        }
    }
}

impl<F: Width, C: Cut, const N: usize, const L: usize> Method<F> for Runs<C, N, L> {
    fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        let (sketch, features) = self.sketch(text);
        Fingerprinted { fingerprint: sketch.and_then(|mut it| it.finish()), features }
    }

    fn fingerprint_with_features(&self, text: &str) -> (Fingerprinted<F>, Shingles) {
        let (sketch, features) = self.sketch(text);
        let (fingerprint, hashes) =
            sketch.map_or_else(Default::default, OneBit::finish_with_hashes);
        (Fingerprinted { fingerprint, features }, Shingles::of_hashes(hashes))
    }

    fn features(&self, text: &str) -> Shingles {
        Shingles::of_hashes(self.hashes(text))
    }

    fn runs(&self, text: &str, n: usize) -> Shingles {
        runs(&self.cut, text, n)
    }

    fn text_hash(&self, text: &str) -> Option<u128> {
        text_hash(&self.cut, text)
    }

    fn min_features(&self) -> usize {
        self.min
    }

    fn is_min_hash(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
