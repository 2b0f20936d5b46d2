//! jieba's table of word rarity, loaded once and checked.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use jieba_rs::{Jieba, KeywordExtract, KeywordExtractConfig, TfIdf};

use crate::dictionary::different_dictionary;
use crate::error::Result;

/// Returns the table of the inverse document frequencies of words.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) if it is not the one that the recipes were made
/// with.
pub(super) fn loaded() -> Result<&'static Rarity> {
    static LOADED: OnceLock<Option<Rarity>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| Rarity::load().filter(Rarity::is_known));
    loaded.as_ref().ok_or_else(different_dictionary)
}

/// What the table says of words that are not in it.
const NOT_FOUND: f64 = -1.0;

/// jieba-rs keeps its table private. This type reads it through the extraction of the keywords of
/// texts of one word.
pub(super) struct Rarity {
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

    /// Returns the rarity of each word that is in the table. The words have at least two
    /// characters.
    pub(super) fn of(&self, words: &[&str]) -> Vec<Option<f64>> {
        // With a dictionary of these words only, a text that is one of them is not cut.
        let mut jieba = Jieba::empty();
        for word in words {
            jieba.add_word(word, Some(1), None);
        }
        let of_word = |word: &&str| {
            let found = self.tfidf.extract_keywords(&jieba, word, 1, Vec::new()).pop()?;
            (found.keyword == *word && found.weight != NOT_FOUND).then_some(found.weight)
        };
        words.iter().map(of_word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarity_is_that_of_the_table_to_the_last_bit() {
        let rarity = loaded().unwrap();
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
