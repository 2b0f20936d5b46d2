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
///
/// # Examples
///
/// ```
/// let keywords = fpdb_text::keywords::cppjieba("你好世界", 3)?;
/// assert_eq!((keywords[1].word.as_str(), keywords[1].weight), ("世界", 4.36752940557));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Keyword {
    /// The word, as it is written in the text.
    pub word: String,
    /// Its weight. A larger weight means that the word says more about the text.
    pub weight: f64,
}

/// The rarity in cppjieba of a word that is not in the table: the table's mean.
pub(super) const CPPJIEBA_UNKNOWN: f64 = 11.739_204_307_083_542;

/// The rarity in jieba of a word that is not in the table: the table's median.
const JIEBA_UNKNOWN: f64 = 11.9547675029;

/// Returns up to `top` keywords, as the `KeywordExtractor` of cppjieba 5.3 finds them with its
/// dictionaries and its Chinese and English stop words.
///
/// (Later versions of cppjieba also join letters to the digits before them, as in `5G`.) The
/// keywords are in descending order of weight. Words of equal weight are chosen and ordered as by
/// cppjieba when it is built with libstdc++. The weight of a word is its number of occurrences
/// times its rarity.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) if this build has a different jieba dictionary.
///
/// # Examples
///
/// ```
/// let text = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。";
/// let keywords = fpdb_text::keywords::cppjieba(text, 5)?;
/// let words: Vec<_> = keywords.iter().map(|keyword| keyword.word.as_str()).collect();
/// assert_eq!(words, ["蓝翔", "CEO", "升职", "加薪", "手扶拖拉机"]);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
pub fn cppjieba(text: &str, top: usize) -> Result<Vec<Keyword>> {
    Ok(Cppjieba::load()?.keywords(text, top))
}

/// Returns up to `top` keywords, as the `extract_tags` of Python's jieba 0.42 finds them.
///
/// They are in descending order of weight, and words of equal weight are in the order of the text.
/// The lower case of a word is compared with `stop_words`, and stop words are skipped;
/// [`STOP_WORDS`] is jieba's default list. The weight of a word is its share of all words that are
/// not skipped, times its rarity.
///
/// # Errors
///
/// The same as for [`cppjieba`](cppjieba()).
///
/// # Examples
///
/// ```
/// use fpdb_text::keywords::{STOP_WORDS, jieba_tags};
///
/// let keywords = jieba_tags("The 清华大学 of 北京 and 上海", 2, &STOP_WORDS)?;
/// assert_eq!((keywords[0].word.as_str(), keywords[0].weight), ("清华大学", 8.08059472162 / 3.0));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
pub fn jieba_tags(text: &str, top: usize, stop_words: &[impl AsRef<str>]) -> Result<Vec<Keyword>> {
    Ok(Tags::load(stop_words)?.keywords(text, top))
}

/// The default stop words of Python's jieba.
///
/// # Examples
///
/// ```
/// assert!(fpdb_text::keywords::STOP_WORDS.contains(&"the"));
/// ```
pub const STOP_WORDS: [&str; 31] = [
    "the", "of", "is", "and", "to", "in", "that", "we", "for", "an", "are", "by", "be", "as", "on",
    "with", "can", "if", "from", "which", "you", "it", "this", "then", "at", "have", "all", "not",
    "one", "has", "or",
];

static CPPJIEBA_STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    include_str!("stop_words.txt").lines().filter(|line| !line.starts_with('#')).collect()
});

/// cppjieba's `KeywordExtractor`.
pub(super) struct Cppjieba {
    jieba: &'static Jieba,
    rarity: &'static Rarity,
}

impl Cppjieba {
    pub(super) fn load() -> Result<Self> {
        Ok(Self { jieba: dictionary::cppjieba()?, rarity: dictionary::rarity()? })
    }

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

/// Python jieba's `extract_tags`.
pub(super) struct Tags {
    jieba: &'static Jieba,
    rarity: &'static Rarity,
    stop_words: HashSet<String>,
}

impl Tags {
    pub(super) fn load(stop_words: &[impl AsRef<str>]) -> Result<Self> {
        let stop_words = stop_words.iter().map(|word| word.as_ref().to_owned()).collect();
        Ok(Self { jieba: dictionary::jieba()?, rarity: dictionary::rarity()?, stop_words })
    }

    /// Returns the words of a text in order, as Python's jieba cuts it.
    pub(super) fn cut<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.jieba.cut(text, true).into_iter().flat_map(|token| Latin::new(token.word))
    }

    pub(super) fn keywords(&self, text: &str, top: usize) -> Vec<Keyword> {
        let mut words = Vec::new();
        let mut counts = Vec::new();
        let mut places = HashMap::new();
        for word in self.cut(text) {
            if word.trim().chars().nth(1).is_none()
                || self.stop_words.contains(&word.to_lowercase())
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
