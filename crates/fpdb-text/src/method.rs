//! What every recipe can do.

use crate::explain::Explanation;
use crate::hash::xxh3_128;
use crate::jaccard::Shingles;
use crate::width::{Fingerprinted, Width};

/// The way from a text to its fingerprint that a recipe's name stands for. It never changes.
pub(crate) trait Method<F: Width>: Send + Sync {
    /// Returns the fingerprint of a text.
    fn fingerprint(&self, text: &str) -> Fingerprinted<F>;

    /// Returns the same fingerprint, and everything that it is made of.
    fn explain(&self, text: &str) -> Explanation<F>;

    /// Returns the distinct features of a text.
    fn features(&self, text: &str) -> Shingles {
        let features = self.explain(text).features;
        Shingles::of_hashes(features.iter().map(|it| xxh3_128(it.text.as_bytes())).collect())
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
