//! jieba's dictionary, loaded once and checked.
//!
//! The Chinese recipes freeze fingerprints, which another dictionary would change. So what was
//! loaded is tested with a few sentences.

use std::sync::OnceLock;

use jieba_rs::Jieba;

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
///
/// # Errors
///
/// The same as for [`jieba`].
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

pub(crate) fn different_dictionary() -> Error {
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
}
