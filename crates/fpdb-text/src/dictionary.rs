//! jieba's dictionary, loaded once and checked.
//!
//! The Chinese recipe freezes fingerprints, which another dictionary would change. So what was loaded is
//! tested with a few sentences.

use std::sync::OnceLock;

use jieba_rs::Jieba;

use crate::error::{Error, Result};

/// Returns jieba with the dictionary that the recipe was made with.
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

fn different_dictionary() -> Error {
    Error::unsupported(
        "this build's jieba dictionary is not the one that the Chinese recipe was made with; \
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
