//! Escapes characters that do more than appear: a terminal obeys control characters, and invisible
//! ones change the order of what a reader sees. A name or a recipe in a hostile database, or the
//! name of a file, may contain any of them.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// Returns whether a character is never written as it is: a control character, one that changes
/// the direction of text, or one that is invisible or ends a line.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Returns text for one line on a terminal.
pub(crate) fn printable(text: &str) -> String {
    escape(text, is_unsafe)
}

/// Does what [`printable`] does, for text of several lines.
pub(crate) fn printable_lines(text: &str) -> String {
    escape(text, |c| is_unsafe(c) && c != '\n')
}

fn escape(text: &str, needs_escape: impl Fn(char) -> bool) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        if needs_escape(c) {
            line.extend(c.escape_default())
        } else {
            line.push(c)
        }
        line
    })
}

/// Writes compact JSON in which all unsafe characters of strings are escaped, which does not change
/// what the strings mean. JSON itself requires that only for those below U+0020.
pub(crate) fn json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    Ok(value.serialize(&mut serde_json::Serializer::with_formatter(out, SafeJson))?)
}

struct SafeJson;

impl Formatter for SafeJson {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_unsafe(c)) {
            let (before, after) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        writer.write_all(rest.as_bytes())
    }
}

/// A terminal. Unsafe characters are escaped, also in data that is written as it was read, such as
/// lines of NDJSON. Line feeds and tabs are kept, and bytes that are not UTF-8 are replaced.
pub(crate) struct Terminal<W: Write> {
    inner: W,
    /// The beginning of a character whose other bytes are still to come.
    begun: Vec<u8>,
}

impl<W: Write> Terminal<W> {
    /// Writes to `inner`, which is a terminal.
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, begun: Vec::new() }
    }
}

impl<W: Write> Write for Terminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let chunks = all.utf8_chunks();
        let mut text = String::with_capacity(all.len());
        let mut taken = 0;
        for chunk in chunks {
            taken += chunk.valid().len();
            text += &escape(chunk.valid(), |c| is_unsafe(c) && !matches!(c, '\n' | '\t'));
            let invalid = chunk.invalid();
            taken += invalid.len();
            let is_begun = std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none());
            if taken == all.len() && is_begun && !invalid.is_empty() {
                self.begun = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.inner.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidi_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[2Jb\n去"), "a\\u{1b}[2Jb\\n去");
        assert_eq!(printable_lines("a\u{1b}[2Jb\n去"), "a\\u{1b}[2Jb\n去");
        for c in ['\0', '\r', '\u{7f}', '\u{85}', '\u{9b}', '\u{200f}', '\u{202e}', '\u{2066}'] {
            let text = printable(&format!("x{c}y"));
            assert!(text.starts_with("x\\") && text.is_ascii(), "{c:?}: {text}");
        }
        // What ordinary text contains is not escaped.
        let text = "é א ب 去 👨\u{200d}👩 \u{a0}";
        assert_eq!(printable(text), text);
    }

    #[test]
    fn json_with_escapes_means_the_same() {
        for text in ["a\u{9b}\u{202e}b\u{e0041}\u{7f}", "\"\\\n\u{1b}", "去 plain", ""] {
            let mut json = Vec::new();
            super::json(&mut json, &text).unwrap();
            let json = String::from_utf8(json).unwrap();
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            assert!(!json.contains(is_unsafe), "{json:?}");
        }
    }

    #[test]
    fn terminal_gets_no_unsafe_characters_however_the_bytes_are_divided() {
        let bytes = "a\tb\u{1b}[31m去\u{202e}\u{9b}é\n".as_bytes();
        let bytes = [bytes, &[0xff, b'x', 0xe5]].concat();
        for step in 1..=bytes.len() {
            let mut terminal = Terminal::new(Vec::new());
            bytes.chunks(step).for_each(|part| terminal.write_all(part).unwrap());
            let text = String::from_utf8(terminal.inner).unwrap();
            assert_eq!(text, "a\tb\\u{1b}[31m去\\u{202e}\\u{9b}é\n\u{fffd}x", "{step}");
        }
    }
}
