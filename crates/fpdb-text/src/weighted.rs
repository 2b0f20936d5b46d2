//! SimHashes of features that have their own weights, such as keywords.

use crate::explain::{Explanation, Found};
use crate::method::Method;
use crate::simhash::{Sums, Tie, Weight, fingerprinted};
use crate::width::{Bits, Fingerprinted};

/// Visits the features of a text, each once, in the order in which they are summed.
pub(crate) trait Extract<W>: Send + Sync {
    fn extract(&self, text: &str, visit: &mut dyn FnMut(&str, W));
}

impl<W, E: Fn(&str, &mut dyn FnMut(&str, W)) + Send + Sync> Extract<W> for E {
    fn extract(&self, text: &str, visit: &mut dyn FnMut(&str, W)) {
        self(text, visit);
    }
}

/// The SimHash of extracted features. Weights are `i64`, or `f64` if the program that is followed
/// sums those.
pub(crate) struct Weighted<F, W> {
    pub(crate) features: Box<dyn Extract<W>>,
    pub(crate) hash: fn(&str) -> F,
    pub(crate) tie: Tie,
    /// Integer weights are in units of 2^-`fraction_bits`.
    pub(crate) fraction_bits: u32,
    pub(crate) min_features: usize,
}

impl<F: Bits, W: Weight> Method<F> for Weighted<F, W> {
    fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        let mut sums = Sums::new();
        let mut count = 0;
        self.features.extract(text, &mut |feature, weight| {
            sums.add((self.hash)(feature), weight);
            count += 1;
        });
        fingerprinted(sums.fingerprint(self.tie), count, self.min_features)
    }

    fn explain(&self, text: &str) -> Explanation<F> {
        let mut found = Vec::new();
        self.features.extract(text, &mut |feature, weight| {
            let hash = (self.hash)(feature);
            found.push(Found { text: feature.to_owned(), occurrences: 1, weight, hash });
        });
        Explanation::of_sums(found, self.fraction_bits, self.tie, self.min_features)
    }

    fn min_features(&self) -> usize {
        self.min_features
    }
}
