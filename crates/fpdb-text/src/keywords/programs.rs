//! The programs whose keywords recipes have.

use std::collections::HashSet;
use std::sync::LazyLock;

use jieba_rs::{DEFAULT_STOP_WORDS, Jieba};

use super::latin::Latin;
use super::top::keep_first;
use super::{Keyword, Program, cppjieba};
use crate::dictionary;
use crate::simhash::fixed_point;

/// The `KeywordExtractor` of cppjieba 5.3, with its dictionaries and its Chinese and English stop
/// words. (Later versions of cppjieba also join letters to the digits before them, as in `5G`.)
///
/// Words of equal weight are chosen and ordered as by cppjieba when it is built with libstdc++.
pub(crate) const CPPJIEBA: Program = Program {
    dictionary: dictionary::cppjieba,
    cut: cppjieba::cut,
    cuts_twice: false,
    counts: |word| has_two_characters(word) && !CPPJIEBA_STOP_WORDS.contains(word),
    unknown: 11.739_204_307_083_542, // the mean of the table
    tf_idf: |count, rarity, _| count * rarity,
    select: |keywords, top| keep_first(keywords, top, |a, b| a.tf_idf > b.tf_idf),
    weight: |tf_idf, _, _| tf_idf,
};

/// The `extract_tags` of Python's jieba 0.42. Keywords of equal weight are in the order of the
/// text.
pub(crate) const JIEBA: Program = Program {
    dictionary: dictionary::jieba,
    cut: |jieba, text| cut_by_jieba_rs(jieba, text).into_iter().flat_map(Latin::new).collect(),
    cuts_twice: false,
    counts: |word| has_two_characters(word.trim()) && !is_stop_word_of_jieba(word),
    unknown: 11.9547675029, // the median of the table
    tf_idf: |count, rarity, total| count * (rarity / total),
    select: |keywords, top| {
        keywords.sort_by(|a, b| b.tf_idf.total_cmp(&a.tf_idf).then(a.place.cmp(&b.place)));
        keywords.truncate(top);
    },
    weight: |tf_idf, _, _| tf_idf,
};

/// As [`JIEBA`], with weights of which no sum depends on the order: multiples of 2^-32, as whole
/// numbers.
///
/// The sums are far below 2^53, so they are exact.
pub(crate) const JIEBA_ROUNDED: Program =
    Program { weight: |tf_idf, _, _| fixed_point(tf_idf, 32) as f64, ..JIEBA };

/// The TF-IDF of jieba-rs 0.11, with its hidden Markov model, for keywords that have a letter or a
/// digit.
pub(crate) const JIEBA_RS: Program = Program {
    cut: cut_by_jieba_rs,
    counts: |word| has_two_characters(word) && !is_stop_word_of_jieba(word),
    tf_idf: |count, rarity, total| count * rarity / total,
    select: |keywords, top| {
        keywords.retain(has_letter_or_digit);
        (JIEBA.select)(keywords, top);
    },
    ..JIEBA_ROUNDED
};

/// The Python programs with the constant 1000003. The weight is twenty times the TF-IDF, without
/// the fraction.
pub(crate) const STRING_HASH: Program =
    Program { cuts_twice: true, weight: |tf_idf, _, _| (tf_idf * 20.0).trunc(), ..JIEBA };

/// Levels instead of weights: the first fifth of the keywords weighs 5, the next 4, and so on.
/// Keywords have a letter or a digit, and those of equal weight are in ascending order.
pub(crate) const LEVELS: Program = Program {
    select: |keywords, top| {
        keywords.retain(has_letter_or_digit);
        keywords.sort_by(|a, b| b.tf_idf.total_cmp(&a.tf_idf).then(a.word.cmp(b.word)));
        keywords.truncate(top);
    },
    weight: |_, rank, count| (5 - 5 * rank / count) as f64,
    ..JIEBA
};

static CPPJIEBA_STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    include_str!("stop_words.txt").lines().filter(|line| !line.starts_with('#')).collect()
});

/// Python's jieba and jieba-rs have the same 31 English words.
fn is_stop_word_of_jieba(word: &str) -> bool {
    DEFAULT_STOP_WORDS.contains(&word.to_lowercase())
}

fn cut_by_jieba_rs<'t>(jieba: &Jieba, text: &'t str) -> Vec<&'t str> {
    jieba.cut(text, true).into_iter().map(|token| token.word).collect()
}

fn has_two_characters(word: &str) -> bool {
    word.chars().nth(1).is_some()
}

fn has_letter_or_digit(keyword: &Keyword<'_>) -> bool {
    keyword.word.chars().any(char::is_alphanumeric)
}
