//! Texts as HTML: no character of a text becomes markup.

use std::ops::Range;

/// Stands for what is left out.
const CUT: &str = "...";
/// Words of a text that is compared with another one.
const MOST_WORDS: usize = 2000;
/// Characters of a text in an example.
const EXCERPT: usize = 240;
/// Characters of the text around a passage, and of a passage.
const AROUND: usize = 80;
const PASSAGE: usize = 300;

/// Returns a text in which no character is markup.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#x27;",
            // A parser would replace it, and may count it as an error.
            '\0' => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Shortens two texts to the part where they begin to differ.
///
/// # Examples
///
/// ```
/// use fpdb_dedup::html::excerpts;
///
/// let same = "same ".repeat(100);
/// let (a, b) = excerpts(Some(&format!("{same}one")), Some(&format!("{same}two")));
/// let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
/// assert!(a.starts_with("...") && a.ends_with("same one") && b.ends_with("same two"));
/// assert_eq!(a.len(), 243);
/// ```
#[must_use]
pub fn excerpts(a: Option<&str>, b: Option<&str>) -> (Option<String>, Option<String>) {
    let len = |text: Option<&str>| text.map_or(0, |text| text.chars().count());
    let longest = len(a).max(len(b));
    let same =
        a.zip(b).map_or(0, |(a, b)| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count());
    // The end of the longer text is shown rather than nothing after it.
    let begin = match longest.checked_sub(EXCERPT) {
        None | Some(0) => 0,
        Some(last) => same.saturating_sub(EXCERPT / 3).min(last),
    };
    let part = |text: &str| {
        let mut characters = text.chars().skip(begin);
        let shown: String = characters.by_ref().take(EXCERPT).collect();
        let (is_cut_before, is_cut_after) = (begin > 0, characters.next().is_some());
        let mark = |is_cut: bool| if is_cut { CUT } else { "" };
        format!("{}{shown}{}", mark(is_cut_before), mark(is_cut_after))
    };
    (a.map(part), b.map(part))
}

/// Returns both texts as HTML. The words that are not the same in both, in this order, are marked,
/// if both texts are known.
pub(super) fn marked(a: Option<&str>, b: Option<&str>) -> (String, String) {
    let (Some(a), Some(b)) = (a, b) else {
        let known =
            |text: Option<&str>| text.map_or("<small>not known</small>".to_owned(), escaped);
        return (known(a), known(b));
    };
    let (parts_of_a, parts_of_b) = (parts(a), parts(b));
    let words = |parts: &[Part<'_>]| -> Vec<String> {
        parts.iter().filter(|part| part.is_word).map(|part| part.text.to_lowercase()).collect()
    };
    let (mut is_same_a, mut is_same_b) = same(&words(&parts_of_a), &words(&parts_of_b));
    if a.ends_with(CUT) || b.ends_with(CUT) {
        // What follows the last common word may be in what was cut off.
        [&mut is_same_a, &mut is_same_b].into_iter().for_each(|is_same| {
            let last = is_same.iter().rposition(|is_same| *is_same);
            is_same
                .iter_mut()
                .skip(last.map_or(usize::MAX, |last| last + 1))
                .for_each(|it| *it = true);
        });
    }
    (with_marks(&parts_of_a, &is_same_a), with_marks(&parts_of_b, &is_same_b))
}

/// A word, or what is between two words.
struct Part<'a> {
    text: &'a str,
    is_word: bool,
}

/// Divides a text into words and what is between them. A character of a script that is written
/// without spaces is a word.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut begin = 0;
    let mut last = None;
    for (at, character) in text.char_indices() {
        let kind = Kind::of(character);
        if let Some(last) = last.replace(kind)
            && (last != kind || kind == Kind::Whole)
        {
            parts.push(Part {
                text: text.get(begin..at).unwrap_or_default(),
                is_word: last != Kind::Between,
            });
            begin = at;
        }
    }
    if let Some(last) = last {
        parts.push(Part {
            text: text.get(begin..).unwrap_or_default(),
            is_word: last != Kind::Between,
        });
    }
    parts
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Between words.
    Between,
    /// A part of a word.
    Part,
    /// A word by itself.
    Whole,
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' => Self::Whole,
            _ if character.is_alphanumeric() || character == '_' => Self::Part,
            _ => Self::Between,
        }
    }
}

/// Returns which words of each list are in a longest common subsequence: all, if they are too many
/// to be compared.
fn same(a: &[String], b: &[String]) -> (Vec<bool>, Vec<bool>) {
    if a.len().max(b.len()) > MOST_WORDS {
        return (vec![true; a.len()], vec![true; b.len()]);
    }
    // The length of the longest one of what follows each pair of words.
    let width = b.len() + 1;
    let mut lengths = vec![0u16; (a.len() + 1) * width];
    let at = |lengths: &[u16], row: usize, column: usize| {
        lengths.get(row * width + column).copied().unwrap_or(0)
    };
    for (row, word) in a.iter().enumerate().rev() {
        for (column, other) in b.iter().enumerate().rev() {
            let length = if word == other {
                at(&lengths, row + 1, column + 1) + 1
            } else {
                at(&lengths, row + 1, column).max(at(&lengths, row, column + 1))
            };
            lengths.get_mut(row * width + column).into_iter().for_each(|it| *it = length);
        }
    }
    let (mut is_same_a, mut is_same_b) = (Vec::new(), Vec::new());
    let (mut row, mut column) = (0, 0);
    while let (Some(word), Some(other)) = (a.get(row), b.get(column)) {
        if word == other {
            is_same_a.push(true);
            is_same_b.push(true);
            (row, column) = (row + 1, column + 1);
        } else if at(&lengths, row + 1, column) >= at(&lengths, row, column + 1) {
            is_same_a.push(false);
            row += 1;
        } else {
            is_same_b.push(false);
            column += 1;
        }
    }
    is_same_a.resize(a.len(), false);
    is_same_b.resize(b.len(), false);
    (is_same_a, is_same_b)
}

fn with_marks(parts: &[Part<'_>], is_same: &[bool]) -> String {
    let mut is_same = is_same.iter();
    let mut shown = String::new();
    for part in parts {
        let text = escaped(part.text);
        if part.is_word && is_same.next() == Some(&false) {
            shown.extend(["<b>", &text, "</b>"]);
        } else {
            shown += &text;
        }
    }
    shown
}

/// Returns a passage of a text, which is marked, with a little of the text around it.
pub(super) fn excerpt_of_passage(text: &str, place: Range<usize>) -> String {
    let (begin, end) = (floor(text, place.start), floor(text, place.end));
    let [before, passage, after] =
        [0..begin, begin..end, end..text.len()].map(|place| text.get(place).unwrap_or_default());
    let before = match before.char_indices().rev().nth(AROUND - 1) {
        Some((at, _)) if at > 0 => format!("...{}", before.get(at..).unwrap_or_default()),
        _ => before.to_owned(),
    };
    let after = match after.char_indices().nth(AROUND) {
        Some((at, _)) => format!("{}...", after.get(..at).unwrap_or_default()),
        None => after.to_owned(),
    };
    let characters = passage.chars().count();
    let passage = if characters > PASSAGE {
        let first: String = passage.chars().take(PASSAGE / 2).collect();
        let last: String = passage.chars().skip(characters - PASSAGE / 2).collect();
        format!("{first} ... {last}")
    } else {
        passage.to_owned()
    };
    format!("{}<mark>{}</mark>{}", escaped(&before), escaped(&passage), escaped(&after))
}

/// Returns the last boundary of a character up to a byte.
fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
