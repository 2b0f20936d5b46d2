//! What to remove of a text so that passages go: whole sentences and lines.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Marks of Markdown that begin and end what they emphasise.
const MARKS: [char; 4] = ['*', '_', '~', '`'];

/// What may remain after the last sentence of a line.
const CLOSING: [char; 9] = ['"', '\'', '”', '’', ')', ']', '»', '*', '_'];

/// Marks that begin what the next sentence says.
const OPENING: [char; 10] = ['“', '‘', '「', '『', '（', '(', '[', '《', '【', '«'];

/// Returns the parts of a text to remove, in order, so that all sentences and lines go that are in
/// passages as a whole. `passages` are ranges of bytes in any order, and may overlap.
///
/// A sentence ends as Unicode says ([UAX #29](https://unicode.org/reports/tr29/)), so in Chinese,
/// Hindi, Arabic or Amharic as in English, or after a full stop and white space, even if a small
/// letter follows. It also ends with its line. A line that looks like a row of a table, with tabs
/// or two vertical bars, is only removed as a whole. If nothing is left of a line but its number or
/// its bullet, the line goes. Marks of Markdown go with the sentence that they emphasise. In Thai,
/// which has no marks for the ends of sentences, only lines are removed.
///
/// Takes time that grows linearly with the text and the number of passages.
///
/// # Examples
///
/// ```
/// use fpdb_text::removal::parts_to_remove;
///
/// let text = "1. Before it. **All of this.** After it.\n2. All of this.\n3. The end.";
/// let find = |part: &str, at: usize| text[at..].find(part).map(|begin| at + begin..at + begin + part.len());
/// let passages = [find("All of this", 0).unwrap(), find("All of this", 40).unwrap()];
/// let mut left = text.to_owned();
/// for part in parts_to_remove(text, &passages).into_iter().rev() {
///     left.replace_range(part, "");
/// }
/// assert_eq!(left, "1. Before it. After it.\n3. The end.");
/// ```
#[must_use]
pub fn parts_to_remove(text: &str, passages: &[Range<usize>]) -> Vec<Range<usize>> {
    let passages = union(passages);
    // The passages before this one end before the current unit.
    let mut next = 0;
    let mut is_in_passage = |unit: &Range<usize>| {
        let words = words_of(text, unit);
        while passages.get(next).is_some_and(|passage| passage.end <= words.start) {
            next += 1;
        }
        passages.get(next).is_some_and(|it| it.start <= words.start && words.end <= it.end)
    };
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (line, end) in lines(text) {
        let has_words = text[line.clone()].contains(char::is_alphanumeric);
        // Without words, it goes with its end.
        let whole = || std::iter::once(line.start..end).collect();
        let units: Vec<_> = if has_words { units(text, line.clone()) } else { whole() };
        let is_removed: Vec<bool> = units.iter().map(&mut is_in_passage).collect();
        if !is_removed.contains(&true) {
            continue;
        }
        let first = is_removed.iter().position(|&it| it).unwrap_or(0);
        let kept = |places: Range<usize>| -> String {
            places.filter(|&at| !is_removed[at]).map(|at| &text[units[at].clone()]).collect()
        };
        let (before, after) = (kept(0..first), kept(first..units.len()));
        if is_marker(&before) && after.chars().all(|it| it.is_whitespace() || CLOSING.contains(&it))
        {
            add(&mut parts, line.start..end);
            continue;
        }
        for (unit, _) in units.iter().zip(&is_removed).filter(|it| *it.1) {
            let mut part = unit.clone();
            if part.end == line.end {
                // White space before it would end the line.
                part.start = line.start + text[line.start..part.start].trim_end().len();
            }
            add(&mut parts, part);
        }
    }
    parts
}

fn add(parts: &mut Vec<Range<usize>>, part: Range<usize>) {
    match parts.last_mut() {
        Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
        _ => parts.push(part),
    }
}

fn union(passages: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sorted = passages.to_vec();
    sorted.sort_unstable_by_key(|passage| passage.start);
    let mut joined = Vec::new();
    sorted.into_iter().for_each(|passage| add(&mut joined, passage));
    joined
}

/// Returns each line without what ends it, and the end of that.
fn lines(text: &str) -> impl Iterator<Item = (Range<usize>, usize)> {
    let mut begin = 0;
    std::iter::from_fn(move || {
        let rest = text.get(begin..).filter(|rest| !rest.is_empty())?;
        let is_end = |it: char| matches!(it, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let length = rest.find(is_end).unwrap_or(rest.len());
        let after = &rest[length..];
        let ending = match after.starts_with("\r\n") {
            true => 2,
            false => after.chars().next().map_or(0, char::len_utf8),
        };
        let line = begin..begin + length;
        begin = line.end + ending;
        Some((line, begin))
    })
}

/// Divides a line into sentences, unless it looks like a row of a table.
fn units(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let content = &text[line.clone()];
    if content.matches('|').count() > 1 || content.trim().contains('\t') {
        return Vec::from([line]);
    }
    let mut begin = line.start + marker_of(content);
    let mut units: Vec<Range<usize>> = Vec::new();
    if begin > line.start {
        units.push(line.start..begin);
    }
    for (at, sentence) in content.split_sentence_bound_indices() {
        let end = line.start + at + sentence.len();
        // To Unicode, opening quotation marks are closing ones, too.
        let end = end - (sentence.len() - sentence.trim_end_matches(OPENING).len());
        if end <= begin {
            // The sentence is part of the unit before it.
            continue;
        }
        for end in ends_in(&text[begin..end]).map(|length| begin + length).collect::<Vec<_>>() {
            units.push(begin..end);
            begin = end;
        }
        let end = end + marks_after(&text[begin..end], &text[end..line.end]);
        if end > begin {
            units.push(begin..end);
            begin = end;
        }
    }
    if begin < line.end {
        units.push(begin..line.end);
    }
    units
}

/// Returns the length of the number of an item at the beginning of a line, and of the space after
/// it.
fn marker_of(line: &str) -> usize {
    let Some(end) = line.find(['.', ')']) else { return 0 };
    let after = &line[end + 1..];
    let space = after.len() - after.trim_start().len();
    if space > 0 && is_marker(&line[..=end]) { end + 1 + space } else { 0 }
}

/// Returns where sentences end within one of Unicode's, because a small letter follows.
fn ends_in(sentence: &str) -> impl Iterator<Item = usize> {
    let mut is_after_end = false;
    let mut has_space = false;
    let ends = sentence.char_indices().filter_map(move |(at, it)| {
        let ends_here = is_after_end && has_space && !it.is_whitespace();
        match it {
            '.' | '!' | '?' | '…' => (is_after_end, has_space) = (true, false),
            _ if it.is_whitespace() => has_space = true,
            '"' | '\'' | '”' | '’' | ')' | ']' | '»' if !has_space => {}
            _ if MARKS.contains(&it) && !has_space => {}
            _ => (is_after_end, has_space) = (false, false),
        }
        ends_here.then_some(at)
    });
    ends.filter(|&at| at > 0)
}

/// Returns the length of the marks after a sentence that end what a mark in it began, and of the
/// space after these.
fn marks_after(sentence: &str, rest: &str) -> usize {
    let Some(mark) = rest.chars().next().filter(|it| MARKS.contains(it)) else { return 0 };
    let marks = &rest[..rest.len() - rest.trim_start_matches(mark).len()];
    if sentence.matches(marks).count().is_multiple_of(2) {
        return 0;
    }
    let after = &rest[marks.len()..];
    marks.len() + (after.len() - after.trim_start().len())
}

/// Returns what is between the first and the last letter or digit; all of it if there is none.
fn words_of(text: &str, unit: &Range<usize>) -> Range<usize> {
    let content = &text[unit.clone()];
    let Some(first) = content.find(char::is_alphanumeric) else { return unit.clone() };
    let last = content.char_indices().rev().find(|(_, it)| it.is_alphanumeric());
    let end = last.map_or(content.len(), |(at, it)| at + it.len_utf8());
    unit.start + first..unit.start + end
}

/// Returns whether this is nothing, or the number or the bullet of an item.
fn is_marker(left: &str) -> bool {
    let left = left.trim();
    let is_bullet = |it: char| it.is_whitespace() || "-+*•‣◦#>–—".contains(it);
    let number = left.trim_matches(is_bullet);
    let Some(word) = number.strip_suffix(['.', ')']) else { return number.is_empty() };
    let is_number = word.len() <= 3 && word.chars().all(|it| it.is_ascii_digit());
    is_number || word.len() == 1 && word.chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    /// Removes the sentence in all places where it stands.
    fn without(sentence: &str, text: &str) -> String {
        let passages: Vec<_> =
            text.match_indices(sentence).map(|(at, it)| at..at + it.len()).collect();
        assert!(!passages.is_empty(), "{text}");
        let mut left = text.to_owned();
        for part in parts_to_remove(text, &passages).into_iter().rev() {
            left.replace_range(part, "");
        }
        left
    }

    #[test]
    fn sentences_of_every_script_are_removed_as_a_whole() {
        let cases = [
            ("One two", "Before it. One two. After it.", "Before it. After it."),
            ("one two", "before it. one two! after it?", "before it. after it?"),
            (
                "One two",
                "He said: \"Yes.\" One two?! (No.) After.",
                "He said: \"Yes.\" (No.) After.",
            ),
            ("One two", "Before it… One two… After it.", "Before it… After it."),
            ("我们今天去公园", "之前。我们今天去公园。之后。", "之前。之后。"),
            ("我们今天去公园", "“之前！”“我们今天去公园？”之后。", "“之前！”之后。"),
            ("यह पुरानी मिल", "पहले की बात। यह पुरानी मिल। बाद की बात।", "पहले की बात। बाद की बात।"),
            ("পুরানো মিল", "আগে। পুরানো মিল। পরে।", "আগে। পরে।"),
            ("پرانی چکی", "پہلے۔ پرانی چکی۔ بعد میں۔", "پہلے۔ بعد میں۔"),
            ("أين الطاحونة", "قبل ذلك. أين الطاحونة؟ بعد ذلك.", "قبل ذلك. بعد ذلك."),
            ("አሮጌው ወፍጮ", "በፊት። አሮጌው ወፍጮ። በኋላ።", "በፊት። በኋላ።"),
            ("โรงสีเก่า", "ก่อน\nโรงสีเก่า\nหลัง", "ก่อน\nหลัง"),
            ("One two", "Before it. **One two.** After it.", "Before it. After it."),
            ("One two", "Before it. _One two._ After it.", "Before it. After it."),
            ("我们今天去公园", "之前。**我们今天去公园。**之后。", "之前。之后。"),
            ("One two", "Before it.  One two.", "Before it."),
        ];
        for (sentence, text, expected) in cases {
            assert_eq!(without(sentence, text), expected, "{text}");
        }
    }

    #[test]
    fn a_sentence_of_which_a_part_is_in_no_passage_stays() {
        for text in ["And one two.", "one two, and", "one two three.", "1.5 one two", "a|b|one two"]
        {
            assert_eq!(without("one two", text), text);
        }
    }

    #[test]
    fn nothing_remains_of_a_line_that_is_removed() {
        let cases = [
            ("Before\nOne two\nAfter", "Before\nAfter"),
            ("Before\r\nOne two\r\nAfter", "Before\r\nAfter"),
            ("Before\u{2028}One two\u{2028}After", "Before\u{2028}After"),
            ("1. Before\n2. One two\n3. After", "1. Before\n3. After"),
            ("a) Before\nb) One two.\nc) After", "a) Before\nc) After"),
            ("- Before\n  - One two. One two!\n- After", "- Before\n- After"),
            ("> Before\n> One two.\n\nAfter", "> Before\n\nAfter"),
            ("Before. One two.\nAfter", "Before.\nAfter"),
            ("One two", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(without("One two", text), expected, "{text:?}");
        }
        // What stands after it is no item's number.
        for left in ["17", "B.", "😀", "99 %", "= → ∞"] {
            assert_eq!(
                without("One two", &format!("a\nOne two. {left}\nb")),
                format!("a\n{left}\nb")
            );
        }
        assert_eq!(without("One", "One\ttwo\nafter"), "One\ttwo\nafter");
        assert_eq!(without("One\ttwo", "One\ttwo\nafter"), "after");
        assert_eq!(without("One two\n\n", "Before\n\nOne two\n\nAfter"), "Before\n\nAfter");
        assert_eq!(without("One two", "Before\n\nOne two\n\nAfter"), "Before\n\n\nAfter");
    }

    /// With quadratic time, this takes minutes.
    #[test]
    fn time_grows_linearly_with_marks_and_with_passages() {
        let marks = [".", "?!", "1.", "a. ", "**", "_a._"];
        for mark in marks {
            let text = format!("One two. {}", mark.repeat(1 << 18));
            assert_eq!(parts_to_remove(&text, slice::from_ref(&(0..7)))[0].start, 0, "{mark}");
        }
        let text = "One two. Three. ".repeat(1 << 16);
        let passages: Vec<_> = (0..1 << 16).map(|at| at * 16..at * 16 + 7).collect();
        assert_eq!(parts_to_remove(&text, &passages).len(), 1 << 16);
    }
}
