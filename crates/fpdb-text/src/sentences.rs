//! Longest sentences: texts that share their longest sentences count as the same.
//!
//! A text's few longest sentences are the part that is least likely to occur elsewhere, and menus,
//! dates and counters around the text do not change them. The hash of these sentences is equal for
//! copies of a text in different surroundings, and unrelated for other texts. So it is compared for
//! equality, at distance 0. A change within one of the sentences gives a different value, and so
//! may removing a part of the text.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::explain::{Bit, Explanation, Feature};
use crate::hash::FeatureHash;
use crate::method::Method;
use crate::normalization::{NFKC_LOWER_CASE, normalized};
use crate::width::{Bits, Fingerprinted};

/// Separates the sentences when they are hashed. No sentence contains it.
const SEPARATOR: &str = "\n";

/// Returns the `n` longest sentences of a text, the longest first.
///
/// The text is brought to NFKC and lower case, which turns full-width punctuation into ASCII and an
/// ellipsis into full stops. A sentence ends at each of `。 ! ? ;`, at a line end, and at a full
/// stop that is not between two ASCII letters or digits, as it is in `4.2` or `example.com`. Only
/// letters and digits of a sentence are kept, and their number is its length. Sentences without any
/// are skipped, and equal sentences count once. Sentences of equal length are in ascending order of
/// their UTF-8 bytes. If there are fewer than `n` sentences, all are returned.
fn longest(text: &str, n: usize) -> Vec<String> {
    let mut longest = BTreeSet::new();
    for sentence in sentences(&normalized(text, NFKC_LOWER_CASE)) {
        let kept: String = sentence.chars().filter(|c| c.is_alphanumeric()).collect();
        if !kept.is_empty() {
            longest.insert((Reverse(kept.chars().count()), kept));
        }
        if longest.len() > n {
            longest.pop_last();
        }
    }
    longest.into_iter().map(|(_, sentence)| sentence).collect()
}

/// Returns the XXH3 hash of sentences, joined by line feeds, or `None` if there is none.
fn hash<F: Bits>(sentences: &[String]) -> Option<F> {
    let hash = FeatureHash::Xxh3.hasher::<F>().filter(|_| !sentences.is_empty())?;
    Some(hash(&sentences.join(SEPARATOR)))
}

/// The number of sentences of `sentences/1`.
const SENTENCES: usize = 3;

pub(crate) fn sentences_1<F: Bits>() -> Arc<dyn Method<F>> {
    Arc::new(Sentences)
}

struct Sentences;

impl<F: Bits> Method<F> for Sentences {
    fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        let sentences = longest(text, SENTENCES);
        Fingerprinted { fingerprint: hash(&sentences), features: sentences.len() }
    }

    /// Explains by the sentences, the longest first. A change in any of them may change any bit, so
    /// no bit has a margin.
    fn explain(&self, text: &str) -> Explanation<F> {
        let sentences = longest(text, SENTENCES);
        let fingerprint: Option<F> = hash(&sentences);
        let value = fingerprint.unwrap_or_default();
        let bit = |i| Bit { set: value.bit(i), sum: 0.0, margin: 0.0 };
        let features = sentences
            .into_iter()
            .map(|text| Feature {
                hash: hash(std::slice::from_ref(&text)).unwrap_or_default(),
                occurrences: 1,
                weight: text.chars().count() as f64,
                text,
            })
            .collect();
        Explanation { fingerprint, features, bits: (0..F::WIDTH).map(bit).collect() }
    }

    fn min_features(&self) -> usize {
        1
    }
}

/// Cuts a normalized text at the ends of sentences.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    let mut chars = text.char_indices().map(|(at, c)| (at, c, at + c.len_utf8())).peekable();
    let mut start = 0;
    std::iter::from_fn(move || {
        while let Some((at, c, end)) = chars.next() {
            let after = chars.peek().map_or(' ', |next| next.1);
            let ends = ends_sentence(before, c, after);
            before = c;
            if ends {
                return Some(&text[std::mem::replace(&mut start, end)..at]);
            }
        }
        (start < text.len()).then(|| &text[std::mem::replace(&mut start, text.len())..])
    })
}

fn ends_sentence(before: char, c: char, after: char) -> bool {
    match c {
        '。' | '!' | '?' | ';' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => true,
        '.' => !(before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<F: Bits>(text: &str, n: usize) -> Option<F> {
        hash(&longest(text, n))
    }

    #[test]
    fn sentences_end_at_latin_and_chinese_marks_and_at_line_ends() {
        let text = "aa。bbb！cccc？ddddd!eeeeee?f;gg；hhh…iiii. jjjjj\r\nk\u{2028}lll";
        assert_eq!(
            longest(text, 20),
            ["eeeeee", "ddddd", "jjjjj", "cccc", "iiii", "bbb", "hhh", "lll", "aa", "gg", "f", "k"]
        );
    }

    #[test]
    fn full_stop_within_a_number_or_a_domain_does_not_end_a_sentence() {
        assert_eq!(longest("see example.com or 4.3亿 now", 9), ["seeexamplecomor43亿now"]);
        assert_eq!(longest("今天.明天", 9), ["今天", "明天"]);
        assert_eq!(longest("Yes. No.", 9), ["yes", "no"]);
        assert_eq!(longest(".a..b.", 9), ["a", "b"]);
    }

    #[test]
    fn order_and_repetition_of_sentences_make_no_difference() {
        let first = value::<u64>("北京下雪了。上海下雨了。广州很热。", 3);
        assert_eq!(first, value::<u64>("广州很热！上海下雨了！北京下雪了！上海下雨了！", 3));
        assert_ne!(first, value::<u64>("北京下雪了。上海下雨了。", 3));
    }

    #[test]
    fn shorter_surroundings_make_no_difference() {
        let sentences = "市交通委员会昨日宣布地铁已经完工。乘客可以使用公交卡或者手机支付。票价不变，首班车六点。";
        let page = format!("首页 新闻 体育\n{sentences}\n阅读 1024 次\n相关阅读：天气");
        assert_eq!(value::<u64>(sentences, 3), value::<u64>(&page, 3));
        assert_eq!(value::<u128>(sentences, 3), value::<u128>(&page, 3));
        assert_ne!(value::<u64>(sentences, 3), value::<u64>(&page.replace("昨日", "今天"), 3));
    }

    #[test]
    fn ties_are_broken_by_the_bytes_and_not_by_the_position() {
        assert_eq!(longest("bb. aa. cc.", 2), ["aa", "bb"]);
        assert_eq!(longest("cc. bb. aa.", 2), ["aa", "bb"]);
    }

    #[test]
    fn text_without_letters_has_no_hash() {
        for text in ["", " \n ", "。！？", "…… --"] {
            assert_eq!((value::<u64>(text, 3), value::<u128>(text, 3)), (None, None), "{text:?}");
        }
        assert_eq!(value::<u64>("words", 0), None);
    }
}
