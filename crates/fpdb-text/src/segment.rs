//! Cutting a text into segments, and segments into n-grams: slices of the text, without copying.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

/// How a text is cut into segments.
///
/// # Examples
///
/// ```
/// use fpdb_text::{Recipe, Segment};
///
/// let recipe = Recipe::<u64>::builder("mine/1").segment(Segment::Whitespace).build()?;
/// assert_eq!(recipe.features("it's here, it's there").len(), 3);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Segment {
    // The numbers are part of recipe names: see `Builder::definition`.
    /// Not at all: the entire text is one segment, for n-grams of characters.
    Whole = 1,
    /// The words of Unicode's UAX #29 that contain a letter or a digit.
    UnicodeWords = 2,
    /// At Unicode's white space, like Rust's `split_whitespace`.
    Whitespace = 3,
    /// At white space as Python's `str.split` defines it: also at U+001C to U+001F.
    PythonWhitespace = 4,
    /// Runs of what Python's `\w` matches: letters, numbers and underscores.
    WordRuns = 5,
    /// The matches of Go's `[\w']+(?:\://[\w\./]+){0,1}`, in which `\w` is ASCII only: words, and
    /// the beginnings of URLs.
    GoWords = 6,
}

impl Segment {
    /// Calls `visit` with each segment, in the order of the text.
    pub(crate) fn each<'t>(self, text: &'t str, visit: impl FnMut(&'t str)) {
        match self {
            Self::Whole => Some(text).filter(|text| !text.is_empty()).into_iter().for_each(visit),
            Self::UnicodeWords => text.unicode_words().for_each(visit),
            Self::Whitespace => text.split_whitespace().for_each(visit),
            Self::PythonWhitespace => runs(text, |c| !is_python_space(c)).for_each(visit),
            Self::WordRuns => runs(text, is_word).for_each(visit),
            Self::GoWords => go_words(text, visit),
        }
    }
}

/// Returns the maximal runs of characters for which `belongs` holds.
fn runs(text: &str, mut belongs: impl FnMut(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !belongs(c)).filter(|run| !run.is_empty())
}

fn is_python_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

/// Returns what Python's `str.isalnum` does for one character. Rust's `is_alphanumeric` also
/// accepts vowel signs.
fn is_letter_or_number(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let group = c.general_category_group();
    matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

/// Returns whether Python's `\w` matches.
fn is_word(c: char) -> bool {
    c == '_' || is_letter_or_number(c)
}

/// Visits the matches of [`Segment::GoWords`]. The expression matches ASCII only, so its matches
/// end at character boundaries.
fn go_words<'t>(text: &'t str, mut visit: impl FnMut(&'t str)) {
    let run = |from: usize, also: &[u8]| {
        let belongs = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_' || also.contains(b);
        from + text.as_bytes()[from..].iter().take_while(belongs).count()
    };
    let mut start = 0;
    while start < text.len() {
        let mut end = run(start, b"'");
        if end == start {
            start += text[start..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        if text[end..].starts_with("://") {
            let address = run(end + 3, b"./");
            end = if address > end + 3 { address } else { end };
        }
        visit(&text[start..end]);
        start = end;
    }
}

/// The features of a text that is too short for its n-grams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Short {
    /// No feature.
    Nothing,
    /// One feature, the text itself, unless it is empty.
    Itself,
    /// One feature, the text itself, even if it is empty.
    ItselfOrEmpty,
}

/// Visits the n-grams of `n` characters of a text that has at least `from` characters.
pub(crate) fn character_grams<'t>(
    text: &'t str,
    (n, from): (usize, usize),
    short: Short,
    mut visit: impl FnMut(&'t str),
) {
    if text.chars().take(from).count() < from {
        if short == Short::ItselfOrEmpty || short == Short::Itself && !text.is_empty() {
            visit(text);
        }
        return;
    }
    // Both ends of the window advance by one character.
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).skip(n - 1);
    for (start, end) in starts.zip(ends) {
        visit(&text[start..end]);
    }
}

/// Visits the n-grams of `n` segments. `ends` holds where each segment ends in `joined`; one
/// separating byte follows it.
pub(crate) fn word_grams<'t>(
    joined: &'t str,
    ends: &[usize],
    n: usize,
    short: Short,
    mut visit: impl FnMut(&'t str),
) {
    if ends.len() < n {
        let all = ends.last().map(|&end| &joined[..end]);
        match all {
            Some(all) if short != Short::Nothing => visit(all),
            _ => {}
        }
        return;
    }
    let starts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
    for (start, &end) in starts.zip(&ends[n - 1..]) {
        visit(&joined[start..end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(segment: Segment, text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        segment.each(text, |s| found.push(s));
        found
    }

    #[test]
    fn go_words_are_the_matches_of_the_expression() {
        for (text, expected) in [
            ("", vec![]),
            ("this is a_test d'un 42", vec!["this", "is", "a_test", "d'un", "42"]),
            ("see http://a.b/c?d=e", vec!["see", "http://a.b/c", "d", "e"]),
            ("http:// x://", vec!["http", "x"]),
            ("a:b a:/b a://é", vec!["a", "b", "a", "b", "a"]),
            ("a://b://c", vec!["a://b", "c"]),
            ("a://b'c", vec!["a://b", "'c"]),
            ("après été '", vec!["apr", "s", "t", "'"]),
            ("中文 abc中文", vec!["abc"]),
        ] {
            assert_eq!(cut(Segment::GoWords, text), expected, "{text:?}");
        }
    }

    #[test]
    fn word_characters_agree_with_python() {
        let text = "snake_case Ⅳ½٣ हिन्दी Ⓐ e\u{301}t中文。x‿y";
        let expected = ["snake_case", "Ⅳ½٣", "ह", "न", "द", "e", "t中文", "x", "y"];
        assert_eq!(cut(Segment::WordRuns, text), expected);
    }

    #[test]
    fn white_space_differs_between_languages() {
        let text = " a\u{1c}b\u{3000}c\u{85}d\n";
        assert_eq!(cut(Segment::Whitespace, text), ["a\u{1c}b", "c", "d"]);
        assert_eq!(cut(Segment::PythonWhitespace, text), ["a", "b", "c", "d"]);
        assert_eq!(cut(Segment::Whole, text), [text]);
        assert_eq!(cut(Segment::Whole, ""), [""; 0]);
    }

    #[test]
    fn character_grams_overlap_and_short_texts_follow_their_rule() {
        let grams = |text: &'static str, n, from, short| {
            let mut found = Vec::new();
            character_grams(text, (n, from), short, |gram| found.push(gram));
            found
        };
        assert_eq!(grams("a中bc", 2, 2, Short::Nothing), ["a中", "中b", "bc"]);
        assert_eq!(grams("a中", 2, 2, Short::Nothing), ["a中"]);
        assert_eq!(grams("中", 2, 2, Short::Nothing), [""; 0]);
        assert_eq!(grams("中", 2, 2, Short::Itself), ["中"]);
        assert_eq!(grams("", 2, 2, Short::Itself), [""; 0]);
        assert_eq!(grams("", 2, 2, Short::ItselfOrEmpty), [""]);
        assert_eq!(grams("abcd", 3, 5, Short::Nothing), [""; 0]);
        assert_eq!(grams("abcde", 3, 5, Short::Nothing), ["abc", "bcd", "cde"]);
        assert_eq!(grams("", 1, 1, Short::Nothing), [""; 0]);
    }

    #[test]
    fn word_grams_overlap() {
        let grams = |n, words: usize, short| {
            let mut found = Vec::new();
            let ends = [1, 4, 8];
            word_grams("a bb ccc", &ends[..words], n, short, |gram| found.push(gram));
            found
        };
        assert_eq!(grams(1, 3, Short::Nothing), ["a", "bb", "ccc"]);
        assert_eq!(grams(2, 3, Short::Nothing), ["a bb", "bb ccc"]);
        assert_eq!(grams(3, 3, Short::Nothing), ["a bb ccc"]);
        assert_eq!(grams(4, 3, Short::Nothing), [""; 0]);
        assert_eq!(grams(4, 3, Short::Itself), ["a bb ccc"]);
        assert_eq!(grams(4, 2, Short::Itself), ["a bb"]);
        assert_eq!(grams(4, 0, Short::ItselfOrEmpty), [""; 0]);
    }
}
