//! Finding the keywords of a text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use jieba_rs::Jieba;

use super::cppjieba::cut;
use super::latin::Latin;
use super::top::keep_first;
use crate::dictionary::{self, Rarity};
use crate::error::Result;

/// A keyword and its weight, in the unit of the program that is followed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Keyword {
    /// The word, as it is written in the text.
    pub(super) word: String,
    /// Its weight. A larger weight means that the word says more about the text.
    pub(super) weight: f64,
}

/// The rarity in cppjieba of a word that is not in the table: the table's mean.
pub(super) const CPPJIEBA_UNKNOWN: f64 = 11.739_204_307_083_542;

/// The rarity in jieba of a word that is not in the table: the table's median.
const JIEBA_UNKNOWN: f64 = 11.9547675029;

/// The default stop words of Python's jieba.
const STOP_WORDS: [&str; 31] = [
    "the", "of", "is", "and", "to", "in", "that", "we", "for", "an", "are", "by", "be", "as", "on",
    "with", "can", "if", "from", "which", "you", "it", "this", "then", "at", "have", "all", "not",
    "one", "has", "or",
];

static CPPJIEBA_STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    include_str!("stop_words.txt").lines().filter(|line| !line.starts_with('#')).collect()
});

/// The `KeywordExtractor` of cppjieba 5.3, with its dictionaries and its Chinese and English stop
/// words. (Later versions of cppjieba also join letters to the digits before them, as in `5G`.)
pub(super) struct Cppjieba {
    jieba: &'static Jieba,
    rarity: &'static Rarity,
}

impl Cppjieba {
    pub(super) fn load() -> Result<Self> {
        Ok(Self { jieba: dictionary::cppjieba()?, rarity: dictionary::rarity()? })
    }

    /// Returns up to `top` keywords, in descending order of weight. Words of equal weight are chosen
    /// and ordered as by cppjieba when it is built with libstdc++. The weight of a word is its number
    /// of occurrences times its rarity.
    pub(super) fn keywords(&self, text: &str, top: usize) -> Vec<Keyword> {
        let mut counts = BTreeMap::<_, f64>::new();
        for word in cut(self.jieba, text) {
            if word.chars().nth(1).is_some() && !CPPJIEBA_STOP_WORDS.contains(word) {
                *counts.entry(word).or_default() += 1.0;
            }
        }
        let words: Vec<_> = counts.keys().copied().collect();
        let rarity = self.rarity.of(&words);
        let weigh = |(count, idf): (_, Option<f64>)| count * idf.unwrap_or(CPPJIEBA_UNKNOWN);
        let weights = counts.into_values().zip(rarity).map(weigh);
        let mut keywords: Vec<_> = words.into_iter().zip(weights).collect();
        keep_first(&mut keywords, top, |a, b| a.1 > b.1);
        named(keywords)
    }
}

/// The `extract_tags` of Python's jieba 0.42.
pub(super) struct Tags {
    jieba: &'static Jieba,
    rarity: &'static Rarity,
}

impl Tags {
    pub(super) fn load() -> Result<Self> {
        Ok(Self { jieba: dictionary::jieba()?, rarity: dictionary::rarity()? })
    }

    /// Returns the words of a text in order, as Python's jieba cuts it.
    pub(super) fn cut<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.jieba.cut(text, true).into_iter().flat_map(|token| Latin::new(token.word))
    }

    /// Returns up to `top` keywords, in descending order of weight, and those of equal weight in the
    /// order of the text. The weight of a word is its share of all words that are not skipped, times
    /// its rarity.
    pub(super) fn keywords(&self, text: &str, top: usize) -> Vec<Keyword> {
        let mut words = Vec::new();
        let mut counts = Vec::new();
        let mut places = HashMap::new();
        for word in self.cut(text) {
            if word.trim().chars().nth(1).is_none()
                || STOP_WORDS.contains(&word.to_lowercase().as_str())
            {
                continue;
            }
            let place = *places.entry(word).or_insert(words.len());
            if place == words.len() {
                words.push(word);
                counts.push(0.0);
            }
            counts[place] += 1.0;
        }
        let total: f64 = counts.iter().sum();
        let rarity = self.rarity.of(&words);
        let weigh = |(count, idf): (_, Option<f64>)| count * (idf.unwrap_or(JIEBA_UNKNOWN) / total);
        let weights = counts.into_iter().zip(rarity).map(weigh);
        let mut keywords: Vec<_> = words.into_iter().zip(weights).collect();
        keywords.sort_by(|a, b| b.1.total_cmp(&a.1));
        keywords.truncate(top);
        named(keywords)
    }
}

fn named(keywords: Vec<(&str, f64)>) -> Vec<Keyword> {
    keywords.into_iter().map(|(word, weight)| Keyword { word: word.to_owned(), weight }).collect()
}
