//! The tokens of a text in any language, in one pass.
//!
//! The text is brought to NFKC and lower case, character by character. In scripts that are written
//! without spaces between words (Han, kana, Thai and some more), each letter or digit is a token. A
//! run of other letters and digits is a token. These characters are ignored, as if they were not in
//! the text:
//!
//! - marks that remain after NFKC, such as the points of Arabic and Hebrew, but not the vowel signs
//!   of Indic and similar scripts, which are always written and count as letters;
//! - format characters, such as zero-width spaces, soft hyphens and joiners;
//! - variation selectors;
//! - the fillers of Hangul.
//!
//! Every other character ends a token.
//!
//! So the kind of white space, the kind of punctuation between two words, lines of underscores,
//! full-width forms and invisible characters do not change any token. Between Han characters,
//! spaces and line breaks do not either. Upper case does not (ß equals SS), except for a few
//! letters that it decomposes, such as ẖ and Greek ΐ and ᾳ, and for old forms of Cyrillic letters.
//!
//! The time grows with the length of the text. The memory is a few bytes per character of the
//! longest run of characters that NFKC may change.

use std::iter;
use std::ops::Range;

use unicode_normalization::char::{
    canonical_combining_class, decompose_compatible, is_combining_mark,
};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Receives the parts of a text in order.
pub(crate) trait Sink {
    /// Says which bytes of the text the next part is from. Parts that NFKC changes together have
    /// the same bytes.
    fn place(&mut self, _bytes: Range<usize>) {}

    /// The next letter or digit of a word, in lower case.
    fn letter(&mut self, c: char);

    /// A character that is a token on its own.
    fn ideograph(&mut self, c: char);

    /// White space, which ends the current word, if there is one.
    fn space(&mut self);

    /// Anything else that is not part of a token, such as punctuation.
    fn stop(&mut self);

    /// ASCII characters, which begin at the byte `at` of the text. They may be the beginning of a
    /// token that goes on after them, and its end.
    fn ascii(&mut self, text: &str, at: usize) {
        for (i, byte) in text.bytes().enumerate() {
            self.place(at + i..at + i + 1);
            pass_ascii(byte, self);
        }
    }
}

/// A character that is ignored.
const IGNORED: char = '\u{ad}';

/// Passes the parts of a text to a sink. The caller handles the end of the text.
pub(crate) fn scan(text: &str, sink: &mut impl Sink) {
    // A character waits until the next one is seen, because the next may combine with it.
    let (mut waiting, mut waiting_at) = (IGNORED, 0);
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        if byte.is_ascii() {
            sink.place(waiting_at..at);
            pass(waiting, sink);
            let last = at + ascii_length(&text.as_bytes()[at..]) - 1;
            sink.ascii(&text[at..last], at);
            (waiting, waiting_at) = (char::from(text.as_bytes()[last]), last);
            at = last + 1;
            continue;
        }
        let Some(c) = text[at..].chars().next() else { break };
        if let Some(plain) = plain(c) {
            sink.place(waiting_at..at);
            pass(waiting, sink);
            (waiting, waiting_at) = (plain, at);
            at += c.len_utf8();
            continue;
        }
        if begins_anew(c) {
            sink.place(waiting_at..at);
            pass(waiting, sink);
            waiting = IGNORED;
        }
        let rest = &text[at + c.len_utf8()..];
        let ends = |c| plain(c).is_some() || begins_anew(c);
        let length = c.len_utf8() + rest.find(ends).unwrap_or(rest.len());
        // Starts at the waiting character, unless that has been passed.
        let from = if waiting == IGNORED { at } else { waiting_at };
        sink.place(from..at + length);
        text[from..at + length].nfkc().for_each(|c| pass(c, sink));
        waiting = IGNORED;
        at += length;
    }
    sink.place(waiting_at..at);
    pass(waiting, sink);
}

/// Returns the NFKC form of a character, if it neither decomposes nor combines with the one before
/// it.
///
/// A text can be cut before such a character, and the parts brought to NFKC separately.
#[inline]
fn plain(c: char) -> Option<char> {
    match c {
        '\0'..='\u{7f}' => Some(c),
        // The most frequent characters, so that few need a lookup: letters of Europe, Han, kana,
        // Hangul and their punctuation.
        '\u{c0}'..='\u{131}' | '\u{400}'..='\u{482}' | '\u{48a}'..='\u{52f}' => Some(c),
        '\u{2012}'..='\u{2016}' | '\u{2018}'..='\u{2023}' => Some(c),
        '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fe}' => Some(c),
        '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => Some(c),
        '\u{a0}' | '\u{3000}' => Some(' '),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        _ => {
            let stays = is_nfkc_quick(iter::once(c)) == IsNormalized::Yes;
            (stays && canonical_combining_class(c) == 0).then_some(c)
        }
    }
}

/// Returns whether the NFKC form of a character begins with one that does not combine with the one
/// before it.
fn begins_anew(c: char) -> bool {
    let mut first = None;
    if canonical_combining_class(c) == 0 {
        decompose_compatible(c, |c| first = first.or(Some(c)));
    }
    first.is_some_and(|first| plain(first).is_some())
}

/// Returns the number of ASCII characters before the first other one.
fn ascii_length(bytes: &[u8]) -> usize {
    // The compiler checks all bytes of a block at once.
    let blocks = bytes.chunks_exact(16).take_while(|block| block.is_ascii()).count() * 16;
    blocks + bytes[blocks..].iter().take_while(|byte| byte.is_ascii()).count()
}

/// Passes an ASCII character to the sink.
#[inline]
fn pass_ascii(byte: u8, sink: &mut (impl Sink + ?Sized)) {
    if byte.is_ascii_alphanumeric() {
        sink.letter(char::from(byte.to_ascii_lowercase()));
    } else if matches!(byte, b' ' | b'\t'..=b'\r') {
        sink.space();
    } else {
        sink.stop();
    }
}

/// Passes a character in NFKC to the sink.
#[inline]
fn pass(c: char, sink: &mut impl Sink) {
    match c {
        '\0'..='\u{7f}' => pass_ascii(c as u8, sink),
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => sink.ideograph(c),
        // Common punctuation.
        '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3020}' => {
            sink.stop();
        }
        // Lower-case letters of German, French, Spanish and others, then Cyrillic in both cases.
        'à'..='ö' | 'ø'..='þ' | 'а'..='я' => sink.letter(c),
        'А'..='Я' => sink.letter(char::from_u32(u32::from(c) + 0x20).unwrap_or(c)),
        _ => pass_by_lookup(c, sink),
    }
}

/// Does the same for any character, more slowly.
fn pass_by_lookup(c: char, sink: &mut impl Sink) {
    match c {
        _ if is_optional(c) => {}
        _ if c.is_alphanumeric() && is_ideograph(c) => sink.ideograph(c),
        // Letters whose upper case has a different lower case.
        'ß' | 'ẞ' => "ss".chars().for_each(|c| sink.letter(c)),
        'ς' => sink.letter('σ'),
        'ı' => sink.letter('i'),
        _ => c.to_lowercase().for_each(|c| match c {
            _ if c.is_alphanumeric() => sink.letter(c),
            _ if is_ignored(c) => {}
            _ if c.is_whitespace() => sink.space(),
            _ => sink.stop(),
        }),
    }
}

/// Returns whether a character is ignored although Unicode lists it as alphabetic: points of
/// Arabic, Hebrew and Syriac, which are optional in texts, and Hangul's fillers, which are
/// invisible.
fn is_optional(c: char) -> bool {
    match c {
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{74a}' | '\u{890}'..='\u{8ff}' | '\u{fb1e}' => {
            is_combining_mark(c)
        }
        '\u{115f}' | '\u{1160}' => true,
        _ => false,
    }
}

/// Returns whether a character belongs to a script without spaces between words that has few
/// letters, unlike Han, so that a single letter says little.
#[inline]
pub(crate) fn is_one_of_few(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{fff}'         // Thai, Lao, Tibetan
        | '\u{1000}'..='\u{109f}'     // Myanmar
        | '\u{1780}'..='\u{17ff}') // Khmer
}

/// Returns whether a letter belongs to a script without spaces between words.
fn is_ideograph(c: char) -> bool {
    is_one_of_few(c)
        || matches!(c,
        '\u{3005}'..='\u{3007}'     // Han: iteration mark, closing mark, zero
        | '\u{3021}'..='\u{303c}'     // Han: numerals and marks
        | '\u{3040}'..='\u{312f}'     // kana, bopomofo
        | '\u{31a0}'..='\u{31ff}'     // bopomofo, kana
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{a4cf}'     // Han, Yi
        | '\u{f900}'..='\u{faff}'
        | '\u{1b000}'..='\u{1b16f}'   // kana
        | '\u{20000}'..='\u{3fffd}')
}

/// Returns whether a character that is not alphabetic is ignored: marks (Unicode's M) and format
/// characters (Cf).
fn is_ignored(c: char) -> bool {
    is_combining_mark(c)
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the parts of a text, with `|` for spaces and `.` for stops.
    #[derive(Default)]
    struct Written(String);

    impl Sink for Written {
        fn letter(&mut self, c: char) {
            self.0.push(c);
        }
        fn ideograph(&mut self, c: char) {
            self.0.extend(['[', c, ']']);
        }
        fn space(&mut self) {
            self.0.push('|');
        }
        fn stop(&mut self) {
            self.0.push('.');
        }
    }

    fn scanned(text: &str) -> String {
        let mut sink = Written::default();
        scan(text, &mut sink);
        sink.0
    }

    /// Follows the definition: brings the entire text to NFKC first.
    fn defined(text: &str) -> String {
        let mut sink = Written::default();
        text.nfkc().for_each(|c| pass(c, &mut sink));
        sink.0
    }

    #[test]
    fn words_and_ideographs_are_found() {
        assert_eq!(scanned("Don't PANIC, 42x!"), "don.t|panic.|42x.");
        assert_eq!(scanned("2021年 我爱Rust。"), "2021[年]|[我][爱]rust.");
        assert_eq!(scanned("ａＢ１　ﬁn"), "ab1|fin");
        assert_eq!(scanned("___---"), "......");
        assert_eq!(scanned("ไทย 日本の"), "[ไ][ท][ย]|[日][本][の]");
        assert_eq!(scanned("हिन्दी"), "हिनदी");
    }

    #[test]
    fn invisible_characters_are_ignored() {
        for invisible in "\u{200b}\u{200c}\u{200d}\u{ad}\u{feff}\u{2060}\u{fe0f}\u{202e}".chars() {
            assert_eq!(scanned(&format!("zero{invisible}width")), "zerowidth", "{invisible:?}");
            assert_eq!(scanned(&format!("零{invisible}宽")), "[零][宽]", "{invisible:?}");
        }
    }

    #[test]
    fn composed_and_decomposed_letters_are_equal() {
        assert_eq!(scanned("cafe\u{301}s"), "cafés");
        assert_eq!(scanned("cafés"), "cafés");
        assert_eq!(scanned("か\u{3099}"), "[が]");
        assert_eq!(scanned("\u{1112}\u{1161}\u{11ab}글"), "한글");
        assert_eq!(scanned("\u{ac00}\u{11a8}"), "각");
        assert_eq!(scanned("İstanbul"), "istanbul");
    }

    #[test]
    fn points_of_arabic_and_hebrew_are_ignored_and_vowel_signs_are_not() {
        assert_eq!(scanned("كِتَابٌ"), "كتاب");
        assert_eq!(scanned("שָׁלוֹם"), "שלום");
        assert_eq!(scanned("\u{fb2a}ל"), scanned("של"));
        assert_eq!(scanned("ܫܠܳܡܳܐ"), "ܫܠܡܐ");
        assert_ne!(scanned("कि"), scanned("की"));
        assert_eq!(scanned("ดี"), "[ด][ี]");
        assert_eq!(scanned("ভাষা"), "ভাষা");
    }

    #[test]
    fn fillers_of_hangul_are_ignored() {
        for filler in "\u{115f}\u{1160}\u{3164}\u{ffa0}".chars() {
            assert_eq!(scanned(&format!("한{filler}글")), "한글", "{filler:?}");
        }
    }

    #[test]
    fn upper_case_makes_no_difference() {
        for text in ["Straße", "οδος", "ılık iyi", "ǆ ﬃ œuvre", "թեւ", "Ꭰꭰ", "ⓐ ⅳ", "дом"]
        {
            assert_eq!(scanned(&text.to_uppercase()), scanned(text), "{text}");
        }
        let differs = |c: &char| {
            let greek_with_breathings = '\u{1f00}'..='\u{1fff}';
            !greek_with_breathings.contains(c)
                && scanned(&c.to_uppercase().to_string()) != scanned(&c.to_string())
        };
        let differ: String = ('\0'..=char::MAX).filter(differs).collect();
        assert_eq!(differ, "ǰ\u{345}ΐΰᲀᲁᲂᲃᲄᲅᲆᲇᲈẖẗẘẙ");
    }

    #[test]
    fn plain_characters_neither_change_nor_combine() {
        for c in '\0'..=char::MAX {
            let looked_up = is_nfkc_quick(iter::once(c)) == IsNormalized::Yes
                && canonical_combining_class(c) == 0;
            match plain(c) {
                Some(form) => {
                    assert!(c.nfkc().eq([form]), "{c:?}");
                    // Full-width forms change, but their forms do not combine with the character
                    // before.
                    assert!(looked_up || form.is_ascii(), "{c:?}");
                }
                None => assert!(!looked_up, "{c:?}"),
            }
        }
    }

    #[test]
    fn shortcuts_for_common_characters_agree_with_the_tables() {
        for c in '\u{80}'..=char::MAX {
            let (mut quick, mut slow) = (Written::default(), Written::default());
            pass(c, &mut quick);
            pass_by_lookup(c, &mut slow);
            assert_eq!(quick.0, slow.0, "{c:?}");
        }
    }

    #[test]
    fn scanning_in_parts_equals_scanning_at_once() {
        const NASTY: &[char] = &[
            'a', 'E', 'z', '7', ' ', '\n', '_', '.', '\u{301}', '\u{323}', '\u{3099}', '\u{200b}',
            '\u{ad}', 'é', 'ß', 'İ', 'ﬁ', '①', '½', 'Å', '가', '\u{1100}', '\u{1161}', '\u{11a8}',
            '中', '、', '。', '　', 'Ａ', '～', 'か', 'ガ', 'ｶ', 'ﾞ', 'ก', 'ำ', 'ि', '्', '…', '豈',
            '𠀀', '😀', '\u{fe0f}', 'ﷺ', 'ſ', 'ς', 'Σ', '\u{345}', '\u{f71}', '\u{f73}',
        ];
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push(NASTY[(state >> 33) as usize % NASTY.len()]);
            }
            assert_eq!(scanned(&text), defined(&text), "{text:?}");
        }
    }
}
