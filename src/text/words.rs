//! `words/1`: the words of a text, in any order.
//!
//! The text is normalised; its words are those of Unicode's UAX #29 that have a letter or a digit
//! in them. A word's hash is XXH3-64, seed 0, of its UTF-8; words of equal hash are one feature.
//! A feature that occurs n times weighs 1 + log2(n), as a whole number of 2^-16.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::explain::{Explanation, Found};
use super::hash::xxh3;
use super::normalise;
use super::recipe::{Fingerprinted, Method};
use super::simhash::{Sums, Tie, fingerprinted, fixed_point};

const FRACTION_BITS: u32 = 16;

pub(super) fn words_1() -> Arc<dyn Method<u64>> {
    Arc::new(Words)
}

struct Words;

impl Method<u64> for Words {
    fn fingerprint(&self, text: &str) -> Fingerprinted<u64> {
        let text = normalise(text);
        let mut hashes: Vec<u64> = text.unicode_words().map(|word| xxh3(word.as_bytes())).collect();
        hashes.sort_unstable();
        let mut sums = Sums::new();
        let mut count = 0;
        for equal in hashes.chunk_by(|a, b| a == b) {
            sums.add(equal[0], weight(equal.len()));
            count += 1;
        }
        fingerprinted(sums.fingerprint(Tie::Unset), count, 4)
    }

    fn explain(&self, text: &str) -> Explanation<u64> {
        let found = normalise(text)
            .unicode_words()
            .map(|word| Found {
                text: word.to_owned(),
                occurrences: 1,
                weight: 0i64,
                hash: xxh3(word.as_bytes()),
            })
            .collect();
        Explanation::of_sums(found, Tie::Unset, 4)
    }
}

fn weight(count: usize) -> i64 {
    fixed_point(1.0 + (count as f64).log2(), FRACTION_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_is_one_more_than_the_logarithm_of_the_count() {
        assert_eq!([1, 2, 3, 8].map(weight), [65_536, 131_072, 169_408, 262_144]);
    }

    /// Libraries may differ in the last bit of a logarithm. That must not reach the weight.
    #[test]
    fn no_weight_hangs_on_the_last_bit_of_a_logarithm() {
        for count in 1..1u32 << 20 {
            let exact = (1.0 + f64::from(count).log2()) * 65_536.0;
            assert!((exact.fract() - 0.5).abs() > 1e-8, "{count}");
        }
    }
}
