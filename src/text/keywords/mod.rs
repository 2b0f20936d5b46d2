//! Keywords of Chinese texts, by TF-IDF, as jieba and cppjieba find them.
//!
//! A text is cut into words with jieba's dictionary, and with its hidden Markov model where the
//! dictionary has no word. Words of one character and stop words are passed over; the others
//! weigh their number in the text times their rarity (the inverse document frequency), by a table
//! that comes with jieba; the weightiest are the keywords. Programs differ in the details, and
//! so in the fingerprints that they make of keywords.
//!
//! Dictionary, model and table come with the crate jieba-rs, whose version is pinned. The first use
//! in a process loads them, which takes some tenths of a second and some tens of megabytes, to
//! stay. What was loaded is tried on a few sentences and words, and refused if it does not do with
//! them what it did when the recipes were made.

mod cppjieba;
mod dictionary;
mod recipes;
mod top;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use jieba_rs::Jieba;

use crate::error::Result;
use dictionary::Rarity;

pub(super) use dictionary::jieba;
pub(super) use recipes::{go_jieba_fnv1a, gosimhash, levels, string_hash, yanyiwu_adaptive};
pub use recipes::{string_hash_without, yanyiwu};
pub(super) use recipes::{yanyiwu_5, yanyiwu_20, yanyiwu_50};

/// A keyword and its weight, in the unit of the program that finds it so.
///
/// # Examples
///
/// ```
/// let keywords = fpdb::text::keywords::cppjieba("你好世界", 3)?;
/// assert_eq!((keywords[1].word.as_str(), keywords[1].weight), ("世界", 4.36752940557));
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Keyword {
    /// The word, as the text has it.
    pub word: String,
    /// What it weighs; more is more telling.
    pub weight: f64,
}

/// What a word weighs in cppjieba that is not in the table: the table's mean.
const CPPJIEBA_UNKNOWN: f64 = 11.739_204_307_083_542;

/// What a word weighs in jieba that is not in the table: the table's median.
const JIEBA_UNKNOWN: f64 = 11.9547675029;

/// Up to `top` keywords as the `KeywordExtractor` of cppjieba 5.3 finds them, with its dictionaries
/// and its Chinese and English stop words (later versions also join letters to digits before them,
/// as in `5G`); the weightiest first, and of equal weight those, and in that order, that it takes
/// when built with libstdc++. A word's weight is its number in the text times its rarity.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) if this build's jieba dictionary is another one.
///
/// # Examples
///
/// ```
/// let text = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。";
/// let keywords = fpdb::text::keywords::cppjieba(text, 5)?;
/// let words: Vec<_> = keywords.iter().map(|keyword| keyword.word.as_str()).collect();
/// assert_eq!(words, ["蓝翔", "CEO", "升职", "加薪", "手扶拖拉机"]);
/// # Ok::<(), fpdb::Error>(())
/// ```
pub fn cppjieba(text: &str, top: usize) -> Result<Vec<Keyword>> {
    Ok(Cppjieba::load()?.keywords(text, top))
}

/// Up to `top` keywords as the `extract_tags` of Python's jieba 0.42 finds them, the weightiest
/// first, and of equal weight those that come first in the text. `stop_words` are passed over,
/// compared in lower case; [`STOP_WORDS`] is what jieba has by itself. A word's weight is its
/// share of all words that are not passed over, times its rarity.
///
/// # Errors
///
/// As [`cppjieba`](cppjieba()).
///
/// # Examples
///
/// ```
/// use fpdb::text::keywords::{STOP_WORDS, jieba_tags};
///
/// let keywords = jieba_tags("The 清华大学 of 北京 and 上海", 2, &STOP_WORDS)?;
/// assert_eq!((keywords[0].word.as_str(), keywords[0].weight), ("清华大学", 8.08059472162 / 3.0));
/// # Ok::<(), fpdb::Error>(())
/// ```
pub fn jieba_tags(text: &str, top: usize, stop_words: &[impl AsRef<str>]) -> Result<Vec<Keyword>> {
    Ok(Tags::load(stop_words)?.keywords(text, top))
}

/// The stop words that Python's jieba has unless it is given others.
///
/// # Examples
///
/// ```
/// assert!(fpdb::text::keywords::STOP_WORDS.contains(&"the"));
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
struct Cppjieba {
    jieba: &'static Jieba,
    rarity: &'static Rarity,
}

impl Cppjieba {
    fn load() -> Result<Self> {
        Ok(Self { jieba: dictionary::cppjieba()?, rarity: dictionary::rarity()? })
    }

    fn keywords(&self, text: &str, top: usize) -> Vec<Keyword> {
        let mut counts = BTreeMap::<_, f64>::new();
        for word in cppjieba::cut(self.jieba, text) {
            if word.chars().nth(1).is_some() && !CPPJIEBA_STOP_WORDS.contains(word) {
                *counts.entry(word).or_default() += 1.0;
            }
        }
        let words: Vec<_> = counts.keys().copied().collect();
        let rarity = self.rarity.of(&words);
        let weigh = |(count, idf): (_, Option<f64>)| count * idf.unwrap_or(CPPJIEBA_UNKNOWN);
        let weights = counts.into_values().zip(rarity).map(weigh);
        let mut keywords: Vec<_> = words.into_iter().zip(weights).collect();
        top::keep_first(&mut keywords, top, |a, b| a.1 > b.1);
        named(keywords)
    }
}

/// Python jieba's `extract_tags`.
struct Tags {
    jieba: &'static Jieba,
    rarity: &'static Rarity,
    stop_words: HashSet<String>,
}

impl Tags {
    fn load(stop_words: &[impl AsRef<str>]) -> Result<Self> {
        let stop_words = stop_words.iter().map(|word| word.as_ref().to_owned()).collect();
        Ok(Self { jieba: dictionary::jieba()?, rarity: dictionary::rarity()?, stop_words })
    }

    /// The words of a text, in order, as Python's jieba cuts it.
    fn cut<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.jieba.cut(text, true).into_iter().flat_map(|token| Latin { rest: token.word })
    }

    fn keywords(&self, text: &str, top: usize) -> Vec<Keyword> {
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

/// The words of which a token of jieba-rs consists. It joins letters and digits across single
/// dots, hyphens and underscores, as in `example.org`; Python's jieba nothing but a number to what
/// stands before its point.
struct Latin<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Latin<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.rest.as_bytes();
        let joined = self.rest.is_ascii() && self.rest.contains(['.', '-', '_']);
        let length = if joined { leading_word(bytes) } else { bytes.len() };
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// The length of the letters and digits that come first, with a point and digits, and then a sign
/// of percent, if those follow; or else of what comes before the first letter or digit.
fn leading_word(bytes: &[u8]) -> usize {
    let run = |from: usize, belongs: fn(&u8) -> bool| {
        bytes[from..].iter().take_while(|byte| belongs(byte)).count()
    };
    let mut end = run(0, u8::is_ascii_alphanumeric);
    if end == 0 {
        return run(0, |byte| !byte.is_ascii_alphanumeric());
    }
    if bytes.get(end) == Some(&b'.') {
        let digits = run(end + 1, u8::is_ascii_digit);
        end += if digits > 0 { 1 + digits } else { 0 };
    }
    end + usize::from(bytes.get(end) == Some(&b'%'))
}

fn named(keywords: Vec<(&str, f64)>) -> Vec<Keyword> {
    keywords.into_iter().map(|(word, weight)| Keyword { word: word.to_owned(), weight }).collect()
}

#[cfg(test)]
mod tests;
