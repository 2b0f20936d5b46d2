//! Keywords by TF-IDF, exactly as jieba, cppjieba and jieba-rs find them.
//!
//! The text is cut into words with jieba's dictionary, and with its hidden Markov model where the
//! dictionary has no word. Words of one character and stop words do not count. The weight of each
//! other word grows with the number of its occurrences and with its rarity, the inverse document
//! frequency (IDF), which is in a table that comes with jieba. The words of the largest weight are
//! the keywords. [Programs](Program) differ in the details, and therefore in their fingerprints.
//!
//! Dictionary, model and table come with the crate jieba-rs, of which an exact version is required.
//! The first use in a process loads them. This takes a few tenths of a second and some tens of
//! megabytes, which stay allocated.

mod cppjieba;
mod latin;
mod programs;
mod rarity;
mod top;

use std::collections::BTreeMap;

use jieba_rs::Jieba;

use crate::error::Result;
pub(crate) use programs::{CPPJIEBA, JIEBA_ROUNDED, JIEBA_RS, LEVELS, STRING_HASH};
use rarity::Rarity;

/// How a program finds keywords, and weighs them.
pub(crate) struct Program {
    /// Loads the dictionary.
    dictionary: fn() -> Result<&'static Jieba>,
    /// Cuts a text into words, in their order.
    cut: for<'t> fn(&Jieba, &'t str) -> Vec<&'t str>,
    /// Whether the words are joined by vertical bars, and the result is cut again.
    cuts_twice: bool,
    /// Whether a word counts, as opposed to stop words and single characters.
    counts: fn(&str) -> bool,
    /// The rarity of a word that is not in the table.
    unknown: f64,
    /// The TF-IDF of a word, from its number of occurrences, its rarity, and the number of
    /// occurrences of all words that count. The programs round in different places.
    tf_idf: fn(f64, f64, f64) -> f64,
    /// Reduces a list in ascending order of words to this number of keywords, and puts them into
    /// the order in which their weights are summed.
    select: fn(&mut Vec<Keyword<'_>>, usize),
    /// The weight of a keyword in the fingerprint, from its TF-IDF, its rank, and the number of
    /// keywords.
    weight: fn(f64, usize, usize) -> f64,
}

/// A word, the rank of its first occurrence among those of other words, and its TF-IDF.
#[derive(Debug, Clone, Copy)]
struct Keyword<'t> {
    word: &'t str,
    place: usize,
    tf_idf: f64,
}

/// The largest number of keywords.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Top {
    Number(usize),
    /// One keyword per 120 bytes of the text, but at least 5 and at most 200.
    OnePer120Bytes,
}

/// Finds the keywords of texts.
pub(crate) struct Keywords {
    program: &'static Program,
    top: Top,
    jieba: &'static Jieba,
    rarity: &'static Rarity,
}

impl Keywords {
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if this build has a different dictionary.
    pub(crate) fn load(program: &'static Program, top: Top) -> Result<Self> {
        Ok(Self { program, top, jieba: (program.dictionary)()?, rarity: rarity::loaded()? })
    }

    /// Calls `visit` with each keyword and its weight, in the order in which the program sums them.
    pub(crate) fn each(&self, text: &str, mut visit: impl FnMut(&str, f64)) {
        let program = self.program;
        let top = match self.top {
            Top::Number(number) => number,
            Top::OnePer120Bytes => (text.len() / 120).clamp(5, 200),
        };
        let mut words = (program.cut)(self.jieba, text);
        let joined;
        if program.cuts_twice {
            joined = words.join("|");
            words = (program.cut)(self.jieba, &joined);
        }
        let mut keywords = self.weigh(&words);
        (program.select)(&mut keywords, top);
        for (rank, keyword) in keywords.iter().enumerate() {
            visit(keyword.word, (program.weight)(keyword.tf_idf, rank, keywords.len()));
        }
    }

    /// Returns the distinct words that count, in ascending order.
    fn weigh<'t>(&self, words: &[&'t str]) -> Vec<Keyword<'t>> {
        let program = self.program;
        let mut found = BTreeMap::<&str, (usize, f64)>::new();
        let mut total = 0.0;
        for word in words.iter().filter(|word| (program.counts)(word)) {
            let place = found.len();
            found.entry(word).or_insert((place, 0.0)).1 += 1.0;
            total += 1.0;
        }
        let distinct: Vec<_> = found.keys().copied().collect();
        let weigh = |((word, (place, count)), rarity): ((_, _), Option<f64>)| {
            let tf_idf = (program.tf_idf)(count, rarity.unwrap_or(program.unknown), total);
            Keyword { word, place, tf_idf }
        };
        found.into_iter().zip(self.rarity.of(&distinct)).map(weigh).collect()
    }
}

#[cfg(test)]
mod tests;
