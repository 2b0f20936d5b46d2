//! What every recipe can do.

use crate::hash::xxh3_128;
use crate::jaccard::Shingles;
use crate::width::{Fingerprinted, Width};

/// The way from a text to its fingerprint that a recipe's name stands for. It never changes.
pub(crate) trait Method<F: Width>: Send + Sync {
    /// Returns the fingerprint of a text.
    fn fingerprint(&self, text: &str) -> Fingerprinted<F>;

    /// Returns the distinct features of a text.
    fn features(&self, text: &str) -> Shingles;

    /// Returns both. A text without a fingerprint may come without its features.
    fn fingerprint_with_features(&self, text: &str) -> (Fingerprinted<F>, Shingles) {
        (self.fingerprint(text), self.features(text))
    }

    /// Returns the distinct runs of `n` words of a text.
    fn runs(&self, text: &str, n: usize) -> Shingles {
        Shingles::of_words(text, n)
    }

    /// Returns a hash of what the text says: of all its words in their order, or of the text itself
    /// if it has none. `None` for a text of white space.
    fn text_hash(&self, text: &str) -> Option<u128> {
        let text = text.trim();
        (!text.is_empty()).then(|| xxh3_128(text.as_bytes()))
    }

    /// Returns the number of distinct features below which a text has no fingerprint.
    fn min_features(&self) -> usize {
        0
    }

    /// Returns whether the fingerprint is a one-bit MinHash of the distinct features, so that a
    /// distance tells their similarity.
    fn is_min_hash(&self) -> bool {
        false
    }
}
