//! The text that a page holds in its linked data (JSON-LD), for scripts to show.

use memchr::{memchr, memchr2, memmem};

/// Returns the longest text of an article in scripts of linked data.
pub(super) fn longest_text(scripts: &[&str]) -> Option<String> {
    let keys = [&b"\"articleBody\""[..], b"\"text\""];
    let texts = scripts.iter().flat_map(|script| keys.iter().flat_map(|key| values(script, key)));
    texts.max_by_key(|text| text.len()).map(unescape)
}

/// Returns the strings that are the values of a key, as they are written.
fn values<'a>(script: &'a str, key: &'a [u8]) -> impl Iterator<Item = &'a str> {
    let bytes = script.as_bytes();
    memmem::find_iter(bytes, key).filter_map(move |at| {
        let rest = bytes.get(at + key.len()..)?.trim_ascii_start().strip_prefix(b":")?;
        let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let start = bytes.len() - rest.len();
        let mut end = 0;
        loop {
            end += memchr2(b'"', b'\\', rest.get(end..)?)?;
            match rest.get(end) {
                Some(b'"') => return script.get(start..start + end),
                _ => end += 2,
            }
        }
    })
}

/// Returns the characters of a JSON string. Escapes that mean none are dropped.
fn unescape(text: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut unescaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(at);
        if !before.is_empty() {
            flush(&mut units, &mut unescaped);
        }
        unescaped.push_str(before);
        let mut characters = escape.chars();
        let c = characters.nth(1);
        rest = characters.as_str();
        if c == Some('u') {
            let unit = rest.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
            rest = unit.and_then(|_| rest.get(4..)).unwrap_or(rest);
            units.extend(unit);
            continue;
        }
        flush(&mut units, &mut unescaped);
        unescaped.extend(match c {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r' | 'b' | 'f') | None => None,
            c => c,
        });
    }
    flush(&mut units, &mut unescaped);
    unescaped.push_str(rest);
    unescaped
}

/// Writes units of UTF-16.
fn flush(units: &mut Vec<u16>, text: &mut String) {
    text.extend(char::decode_utf16(units.drain(..)).flatten());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_text_is_found_and_unescaped() {
        let scripts = [
            r#"{"@type": "Comment", "text" : "short"}"#,
            r#"{"articleBody":"a \"b\"\n\u4e2d\ud83d\ude00\ud83d\/ \u00zz end"}"#,
            r#"{"text":"never ends"#,
        ];
        assert_eq!(longest_text(&scripts).as_deref(), Some("a \"b\"\n中😀/ 00zz end"));
        assert_eq!(longest_text(&[r#"{"text":1}"#, r#"{"text":"x\"#, "\"text\""]), None);
    }
}
