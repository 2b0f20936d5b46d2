//! `jieba/1`: the keywords of a Chinese text, or of one that mixes Chinese and English.
//!
//! The text is normalized and cut by jieba with its own dictionary, and with its hidden Markov
//! model for words that are not in the dictionary. All keywords are features, not only the N of
//! largest weight: near the N-th place a small edit would swap words in and out. A keyword is a
//! word of at least two characters, one of them a letter or a digit, that is not one of jieba's
//! (English) stop words. Its weight is its TF-IDF by jieba's own table, rounded to a multiple of
//! 2^-32; a word that is not in the table gets the median. Its hash is the XXH3-64 with seed 0 of
//! its UTF-8 bytes.
//!
//! Dictionary, model and table come with the crate jieba-rs and are part of the recipe. So
//! Cargo.toml requires an exact version of it.

use std::sync::{Arc, LazyLock};

use jieba_rs::{Jieba, KeywordExtract, KeywordExtractConfig, TfIdf};

use crate::dictionary::jieba;
use crate::error::Result;
use crate::hash::xxh3;
use crate::method::Method;
use crate::normalization::{NFKC_LOWER_CASE, normalized};
use crate::simhash::{Tie, fixed_point};
use crate::weighted::Weighted;

/// The fraction bits of weights. TF-IDF is divided by the number of keywords in the text, so the
/// words of a long text have small weights.
const FRACTION_BITS: u32 = 32;

/// Loaded when the process fingerprints its first text.
static TFIDF: LazyLock<TfIdf> = LazyLock::new(|| {
    let mut tfidf = TfIdf::default();
    // Off by default. Without it unknown words, mostly names, would be cut into single characters,
    // which are not keywords.
    *tfidf.config_mut() = KeywordExtractConfig::builder().use_hmm(true).build();
    tfidf
});

pub(crate) fn jieba_1() -> Result<Arc<dyn Method<u64>>> {
    let jieba = jieba()?;
    Ok(Arc::new(Weighted {
        features: Box::new(|text: &str, visit: &mut dyn FnMut(&str, i64)| {
            keywords(jieba, text, visit);
        }),
        hash: |word| xxh3(word.as_bytes()),
        tie: Tie::Unset,
        fraction_bits: FRACTION_BITS,
        min_features: 4,
    }))
}

fn keywords(jieba: &Jieba, text: &str, visit: &mut dyn FnMut(&str, i64)) {
    for found in
        TFIDF.extract_keywords(jieba, &normalized(text, NFKC_LOWER_CASE), usize::MAX, Vec::new())
    {
        if found.keyword.chars().any(char::is_alphanumeric) {
            visit(&found.keyword, fixed_point(found.weight, FRACTION_BITS));
        }
    }
}
