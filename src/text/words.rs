//! `words/1`: the words of a text, in any order.
//!
//! The text is normalised; its words are those of Unicode's UAX #29 that have a letter or a digit
//! in them. A word's hash is XXH3-64, seed 0, of its UTF-8; words of equal hash are one feature.
//! A feature that occurs n times weighs 1 + log2(n), as a whole number of 2^-16.

use twox_hash::XxHash3_64;
use unicode_segmentation::UnicodeSegmentation;

use super::normalise;
use super::simhash::{Simhash, fixed_point};

const FRACTION_BITS: u32 = 16;

pub(super) fn simhash(text: &str) -> Simhash {
    let text = normalise(text);
    let mut hashes: Vec<u64> =
        text.unicode_words().map(|word| XxHash3_64::oneshot(word.as_bytes())).collect();
    hashes.sort_unstable();
    Simhash::of(hashes.chunk_by(|a, b| a == b).map(|equal| (equal[0], weight(equal.len()))))
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
