//! The longest sentences of a text, which together are one feature.
//!
//! A text's few longest sentences are the part that is least likely to occur elsewhere, and menus,
//! dates and counters around the text do not change them. So their hash is equal for copies of a
//! text in different surroundings, and unrelated for other texts: it is compared for equality, at
//! distance 0. A change within one of the sentences gives a different value, and so may removing a
//! part of the text. Articles on duplicates
//! describe this as Baidu's method.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Returns the `n` longest sentences of a normalized text, joined by line feeds, the longest first.
///
/// A sentence ends at each of `。 ! ? ;`, at a line end, and at a full stop that is not between two
/// ASCII letters or digits, as it is in `4.2` or `example.com`. (NFKC turns full-width punctuation
/// into ASCII, and an ellipsis into full stops.) Only letters and digits of a sentence are kept,
/// and their number is its length. Sentences without any are skipped, and equal sentences count
/// once. Sentences of equal length are in ascending order of their UTF-8 bytes. If there are fewer
/// than `n` sentences, all are returned.
pub(crate) fn longest(text: &str, n: usize) -> String {
    let mut longest = BTreeSet::new();
    for sentence in sentences(text) {
        let kept: String = sentence.chars().filter(|c| c.is_alphanumeric()).collect();
        if !kept.is_empty() {
            longest.insert((Reverse(kept.chars().count()), kept));
        }
        if longest.len() > n {
            longest.pop_last();
        }
    }
    let longest: Vec<_> = longest.into_iter().map(|(_, sentence)| sentence).collect();
    longest.join("\n")
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
    use crate::normalization::{NFKC_LOWER_CASE, normalized};

    fn longest(text: &str, n: usize) -> String {
        super::longest(&normalized(text, NFKC_LOWER_CASE), n)
    }

    #[test]
    fn sentences_end_at_latin_and_chinese_marks_and_at_line_ends() {
        let text = "aa。bbb！cccc？ddddd!eeeeee?f;gg；hhh…iiii. jjjjj\r\nk\u{2028}lll";
        let expected = "eeeeee ddddd jjjjj cccc iiii bbb hhh lll aa gg f k";
        assert_eq!(longest(text, 20), expected.replace(' ', "\n"));
    }

    #[test]
    fn full_stop_within_a_number_or_a_domain_does_not_end_a_sentence() {
        assert_eq!(longest("see example.com or 4.3亿 now", 9), "seeexamplecomor43亿now");
        assert_eq!(longest("今天.明天", 9), "今天\n明天");
        assert_eq!(longest("Yes. No.", 9), "yes\nno");
        assert_eq!(longest(".a..b.", 9), "a\nb");
    }

    #[test]
    fn ties_are_broken_by_the_bytes_and_not_by_the_position() {
        assert_eq!(longest("bb. aa. cc.", 2), "aa\nbb");
        assert_eq!(longest("cc. bb. aa. cc.", 2), "aa\nbb");
    }

    #[test]
    fn text_without_letters_has_no_sentence() {
        for text in ["", " \n ", "。！？", "…… --"] {
            assert_eq!(longest(text, 3), "", "{text:?}");
        }
    }
}
