//! `jieba/1`: the keywords of a Chinese text, or of one that mixes Chinese and English.
//!
//! The text is normalised and cut by jieba with its own dictionary, and with its hidden Markov
//! model for words that the dictionary lacks. All keywords are taken, not the weightiest N: near
//! the N-th place a small edit would swap words in and out. A keyword is a word of at least two
//! characters, one of them a letter or a digit, and not one of jieba's (English) stop words. It
//! weighs its TF-IDF by jieba's own table, where a word that is not in the table has the median,
//! as a whole number of 2^-32. Its hash is XXH3-64, seed 0, of its UTF-8.
//!
//! Dictionary, model and table come with the crate jieba-rs and are part of the recipe; that is why
//! Cargo.toml pins it to the patch.

use std::sync::{Arc, LazyLock};

use jieba_rs::{Jieba, KeywordExtract, KeywordExtractConfig, TfIdf};

use crate::dictionary::jieba;
use crate::error::Result;
use crate::hash::xxh3;
use crate::method::Method;
use crate::normal::{NFKC_LOWER_CASE, normalised};
use crate::simhash::{Tie, fixed_point};
use crate::weighted::Weighted;

/// TF-IDF is divided by the number of keywords in the text, so the words of a long one weigh little.
const FRACTION_BITS: u32 = 32;

/// Loaded by the first text of the process.
static TFIDF: LazyLock<TfIdf> = LazyLock::new(|| {
    let mut tfidf = TfIdf::default();
    // Off by default, which would break unknown words, names above all, into characters, and
    // single characters are no keywords.
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
        TFIDF.extract_keywords(jieba, &normalised(text, NFKC_LOWER_CASE), usize::MAX, Vec::new())
    {
        if found.keyword.chars().any(char::is_alphanumeric) {
            visit(&found.keyword, fixed_point(found.weight, FRACTION_BITS));
        }
    }
}
