//! Our own recipes: the one-bit MinHash of a text's shingles.
//!
//! A shingle is a few neighbouring tokens. The fingerprint is a sketch of the *set* of a text's
//! shingles: of two texts whose sets have Jaccard similarity J, each bit differs with probability
//! (1 - J) / 2. So the distance grows with what was edited, where that of a SimHash grows with the
//! square root of it and is several times as large for the small edits that matter.
//!
//! A token's hash is the XXH3-64, seed 0, of its UTF-8; a shingle's is h1 for one token,
//! rotl(h1, 1) + h2 for two and rotl(rotl(h1, 1) + h2, 1) + h3 for three, modulo 2^64.
//! [`OneBit`] makes the fingerprint of these.

use std::collections::HashMap;
use std::sync::Arc;

use super::cut::{AnyLanguage, Cut};
use super::explain::{Explanation, Feature};
use super::hash::xxh3;
use super::minhash::OneBit;
use super::recipe::{Fingerprinted, Method, Width};

/// `pairs/1`: every two neighbouring tokens.
pub(super) fn pairs_1<F: Width>() -> Arc<dyn Method<F>> {
    Arc::new(Shingles { cut: AnyLanguage, lengths: Lengths::PAIRS, from_start: false, min: 4 })
}

/// `short/1`: of words each one and every two neighbours, of ideographs every two and three; and
/// the start of the text is a token, so that a text of one word has shingles too.
pub(super) fn short_1<F: Width>() -> Arc<dyn Method<F>> {
    let lengths = Lengths { words: &[1, 2], ideographs: &[2, 3] };
    Arc::new(Shingles { cut: AnyLanguage, lengths, from_start: true, min: 1 })
}

/// `pairs-zh/1`: every two neighbouring tokens, where jieba finds the words among Han characters.
#[cfg(feature = "zh")]
pub(super) fn pairs_zh_1<F: Width>() -> Arc<dyn Method<F>> {
    let (cut, lengths) = (super::cut::Chinese, Lengths::PAIRS);
    Arc::new(Shingles { cut, lengths, from_start: false, min: 4 })
}

/// How many tokens make a shingle, by the kind of the last of them; three at most.
#[derive(Clone, Copy)]
struct Lengths {
    words: &'static [usize],
    ideographs: &'static [usize],
}

impl Lengths {
    const PAIRS: Self = Self { words: &[2], ideographs: &[2] };
}

/// What all these recipes are.
struct Shingles<C> {
    cut: C,
    lengths: Lengths,
    from_start: bool,
    /// Below this number of distinct shingles a text says too little to be compared: pages that
    /// have but a title or an error message in common would be taken for each other.
    min: usize,
}

/// Makes shingles of tokens.
struct Shingler {
    lengths: Lengths,
    /// The hashes of the last two tokens.
    last: u64,
    last_but_one: u64,
    /// How many tokens there were.
    tokens: usize,
}

impl<C> Shingles<C> {
    fn shingler(&self) -> Shingler {
        let tokens = usize::from(self.from_start);
        Shingler { lengths: self.lengths, last: xxh3(b""), last_but_one: 0, tokens }
    }
}

impl Shingler {
    /// Calls `each` with the hash of every shingle that ends with this token, the next one, and
    /// the number of its tokens.
    #[inline]
    fn push(&mut self, token: &str, is_ideograph: bool, mut each: impl FnMut(u64, usize)) {
        let after = |earlier: u64, hash: u64| earlier.rotate_left(1).wrapping_add(hash);
        let hash = xxh3(token.as_bytes());
        self.tokens += 1;
        let Lengths { words, ideographs } = self.lengths;
        for &length in if is_ideograph { ideographs } else { words } {
            if length <= self.tokens {
                let shingle = match length {
                    1 => hash,
                    2 => after(self.last, hash),
                    _ => after(after(self.last_but_one, self.last), hash),
                };
                each(shingle, length);
            }
        }
        self.last_but_one = std::mem::replace(&mut self.last, hash);
    }
}

/// The distinct among the first hashes, as many as are asked for: a text needs so many.
struct AtLeast {
    min: usize,
    seen: Vec<u64>,
}

impl AtLeast {
    #[inline]
    fn note(&mut self, hash: u64) {
        if self.seen.len() < self.min && !self.seen.contains(&hash) {
            self.seen.push(hash);
        }
    }
}

impl<F: Width, C: Cut> Method<F> for Shingles<C> {
    fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        let mut shingler = self.shingler();
        let mut needed = AtLeast { min: self.min, seen: Vec::with_capacity(self.min) };
        let mut sketch = OneBit::new();
        let mut features = 0;
        self.cut.cut(text, |token, is_ideograph| {
            shingler.push(token, is_ideograph, |hash, _| {
                features += 1;
                needed.note(hash);
                sketch.push(hash);
            });
        });
        match needed.seen.len() {
            distinct if distinct < self.min => {
                Fingerprinted { fingerprint: None, features: distinct }
            }
            _ => Fingerprinted { fingerprint: sketch.finish(), features },
        }
    }

    fn explain(&self, text: &str) -> Explanation<F> {
        let mut shingler = self.shingler();
        let mut tokens = vec!["^".to_owned(); shingler.tokens];
        let mut sketch = OneBit::new();
        let mut features: Vec<Feature<F>> = Vec::new();
        let mut places = HashMap::new();
        self.cut.cut(text, |token, is_ideograph| {
            tokens.push(token.to_owned());
            shingler.push(token, is_ideograph, |hash, length| {
                let place = *places.entry(hash).or_insert(features.len());
                if place == features.len() {
                    let text = tokens[tokens.len() - length..].join(" ");
                    features.push(Feature { text, occurrences: 0, weight: 0.0, hash: F::from_u128(hash.into()) });
                    sketch.push(hash);
                }
                features[place].occurrences += 1;
            });
        });
        Explanation::of_one_bit(features, &mut sketch, self.min)
    }

    fn min_features(&self) -> usize {
        self.min
    }
}
