//! jieba's dictionary and its table of word rarity, loaded once and checked.
//!
//! The recipes freeze fingerprints, which another dictionary would change. So what was loaded is
//! tested with a few sentences and words.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use jieba_rs::{Jieba, KeywordExtract, KeywordExtractConfig, TfIdf};

use crate::error::{Error, Result};

/// Returns jieba with the dictionary that the recipes were made with.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) if this build has a different dictionary.
pub(crate) fn jieba() -> Result<&'static Jieba> {
    static LOADED: OnceLock<Option<Jieba>> = OnceLock::new();
    LOADED
        .get_or_init(|| Some(Jieba::new()).filter(cuts_as_known))
        .as_ref()
        .ok_or_else(different_dictionary)
}

/// Returns jieba with the additional words of cppjieba's dictionaries: one word, and the words of
/// the example of a user dictionary, which cppjieba loads by default. The frequencies are
/// cppjieba's.
pub(crate) fn cppjieba() -> Result<&'static Jieba> {
    static LOADED: OnceLock<Jieba> = OnceLock::new();
    jieba()?;
    Ok(LOADED.get_or_init(|| {
        let mut jieba = Jieba::new();
        for (word, frequency) in
            [("B超", 3), ("云计算", 3), ("韩玉鉴赏", 3), ("蓝翔", 3), ("区块链", 10)]
        {
            jieba.add_word(word, Some(frequency), Some("n"));
        }
        jieba
    }))
}

/// Returns the table of word rarity.
pub(crate) fn rarity() -> Result<&'static Rarity> {
    static LOADED: OnceLock<Option<Rarity>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| Rarity::load().filter(Rarity::is_known));
    loaded.as_ref().ok_or_else(different_dictionary)
}

fn different_dictionary() -> Error {
    Error::unsupported(
        "this build's jieba dictionary is not the one that the Chinese recipes were made with; \
         build with the exact version of jieba-rs that fpdb-text requires",
    )
}

/// A test text and its words: ambiguous and rare words, names that only the hidden Markov model
/// joins, numbers and mixed words.
const KNOWN: &str = "杭研/大厦/里/，/小明/硕士/毕业/于/中国科学院/计算所/，/后/在/日本京都大学/深造/。/\
    乒乓球/拍卖/完/了/，/王军/虎/买/了/3.5/块/的/T恤/和/C++/教程/，/研究/生命/的/起源";

fn cuts_as_known(jieba: &Jieba) -> bool {
    let text = KNOWN.replace('/', "");
    jieba.cut(&text, true).iter().map(|token| token.word).eq(KNOWN.split('/'))
}

/// The rarity that the table returns for words that are not in it.
const NOT_FOUND: f64 = -1.0;

/// jieba's table of inverse document frequencies.
///
/// jieba-rs keeps the table private. This type reads it through the extraction of keywords, with a
/// segmenter that knows only the words in question.
pub(crate) struct Rarity {
    tfidf: TfIdf,
}

impl Rarity {
    fn load() -> Option<Self> {
        let mut tfidf = TfIdf::default();
        *tfidf.config_mut() =
            KeywordExtractConfig::builder().set_stop_words(BTreeSet::new()).build();
        // A word that is not in the table gets the median of the table that was loaded last. This
        // last table has one entry, so its median is `NOT_FOUND`.
        tfidf.load_dict(&mut format!("- {NOT_FOUND}").as_bytes()).ok()?;
        Some(Self { tfidf })
    }

    fn is_known(&self) -> bool {
        self.of(&["日军", "清华大学", "杭研"]) == [Some(7.23754495598), Some(8.08059472162), None]
    }

    /// Returns the inverse document frequency of each word that is in the table.
    ///
    /// The words must come from a segmentation: they are distinct, have at least two characters,
    /// and Chinese words contain no punctuation.
    pub(crate) fn of(&self, words: &[&str]) -> Vec<Option<f64>> {
        let mut alone = Jieba::empty();
        for word in words {
            alone.add_word(word, Some(1), None);
        }
        let found = self.tfidf.extract_keywords(&alone, &words.join("\n"), usize::MAX, Vec::new());
        let by_word: std::collections::HashMap<_, _> = found
            .iter()
            .map(|found| (found.keyword.as_str(), found.weight * words.len() as f64))
            .collect();
        let idf = |word| by_word.get(word).copied().filter(|&idf| idf > 0.0);
        words.iter().map(|word| idf(word).map(exact)).collect()
    }
}

/// Restores a number of the table, which has at most twelve decimal places. Dividing by the number
/// of words and multiplying again may have changed its last bit.
fn exact(idf: f64) -> f64 {
    (idf * 1e12).round() / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn different_dictionary_is_detected() {
        let mut jieba = Jieba::new();
        assert!(cuts_as_known(&jieba));
        jieba.add_word("计算所后", Some(1000), None);
        jieba.add_word("生命的起源", Some(1000), None);
        assert!(!cuts_as_known(&jieba));
        assert!(!cuts_as_known(&Jieba::empty()));
        assert_eq!(different_dictionary().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn rarity_equals_the_table_to_the_last_bit() {
        let rarity = rarity().unwrap();
        let words = ["世界", "北京", "清华", "清华大学", "大学", "10", "CEO", "4.3", "手扶拖拉机"];
        let found = rarity.of(&words);
        assert_eq!(found[0], Some(4.36752940557));
        assert_eq!(found[1], Some(4.66740230872));
        assert_eq!(found[3], Some(8.08059472162));
        assert_eq!(found[5..8], [None, None, None]);
        assert_eq!(found[8], Some(10.0088573539));
        assert!(found[2].is_some() && found[4].is_some());
        assert_eq!(rarity.of(&["世界"]), [Some(4.36752940557)]);
        assert_eq!(rarity.of(&[]), []);
    }
}
