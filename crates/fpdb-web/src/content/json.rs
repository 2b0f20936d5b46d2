//! A scanner of JSON, and of the objects of JavaScript that states are written as: the strings, and
//! the objects that they are in. It is not strict, because scripts are not, and builds no values.

use memchr::memchr2;

/// How deep objects and arrays may be nested. What is deeper is not read.
const MAX_DEPTH: usize = 64;

/// A part of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// An object begins, which is the value of this key or in an array that is.
    Open { key: &'a str },
    /// The innermost object ends.
    Close,
    /// A string, as it is written, which is the value of this key or in an array that is.
    Text { key: &'a str, text: &'a str },
}

/// Returns the parts of a script.
pub(super) fn events(script: &str) -> impl Iterator<Item = Event<'_>> {
    Events { script, at: 0, open: Vec::new(), excess: 0, key: "" }
}

struct Events<'a> {
    script: &'a str,
    at: usize,
    /// The open objects and arrays: whether it is an object, and its key.
    open: Vec<(bool, &'a str)>,
    /// The objects and arrays that are open, but too deep.
    excess: usize,
    /// The key of the value to come.
    key: &'a str,
}

impl<'a> Events<'a> {
    fn bytes(&self) -> &'a [u8] {
        self.script.as_bytes()
    }

    /// Returns the string whose quote is at this place, and moves past it.
    fn string(&mut self, quote: u8) -> Option<&'a str> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            end += memchr2(quote, b'\\', self.bytes().get(end..)?)?;
            if self.bytes().get(end) == Some(&quote) {
                self.at = end + 1;
                return self.script.get(start..end);
            }
            end += 2;
        }
    }

    /// Returns the name that begins at this place, and moves past it.
    fn name(&mut self) -> &'a str {
        let rest = self.bytes().get(self.at..).unwrap_or_default();
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$');
        let length = rest.iter().take_while(|b| is_part(b)).count().max(1);
        let start = self.at;
        self.at += length;
        self.script.get(start..self.at).unwrap_or_default()
    }

    /// Returns whether what was read is a key.
    fn is_key(&self) -> bool {
        let rest = self.bytes().get(self.at..).unwrap_or_default();
        rest.trim_ascii_start().first() == Some(&b':')
    }

    /// The key of a value that begins here.
    fn key(&self) -> &'a str {
        match self.open.last() {
            Some((false, key)) => key,
            _ => self.key,
        }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let byte = *self.bytes().get(self.at)?;
            match byte {
                b'"' | b'\'' => {
                    let text = self.string(byte)?;
                    if self.is_key() {
                        self.key = text;
                        continue;
                    }
                    if self.excess > 0 {
                        continue;
                    }
                    return Some(Event::Text { key: self.key(), text });
                }
                b'{' | b'[' => {
                    self.at += 1;
                    if self.open.len() == MAX_DEPTH {
                        self.excess += 1;
                        continue;
                    }
                    let key = self.key();
                    self.open.push((byte == b'{', key));
                    self.key = "";
                    if byte == b'{' {
                        return Some(Event::Open { key });
                    }
                }
                b'}' | b']' => {
                    self.at += 1;
                    if self.excess > 0 {
                        self.excess -= 1;
                        continue;
                    }
                    if self.open.pop().is_some_and(|(is_object, _)| is_object) {
                        return Some(Event::Close);
                    }
                }
                b',' => {
                    self.at += 1;
                    self.key = "";
                }
                _ => {
                    let name = self.name();
                    let is_name = byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
                    if is_name && self.is_key() {
                        self.key = name;
                    }
                }
            }
        }
    }
}

/// Returns the characters of a string. Escapes that mean none are dropped.
pub(super) fn unescape(text: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut unescaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
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

    fn texts(script: &str) -> Vec<(&str, &str)> {
        let text = |event| match event {
            Event::Text { key, text } => Some((key, text)),
            _ => None,
        };
        events(script).filter_map(text).collect()
    }

    #[test]
    fn strings_have_the_key_that_they_or_their_arrays_are_the_value_of() {
        for (script, expected) in [
            (
                r#"{"a": "x", "b" : ["y", {"c":"z"}, "w"]}"#,
                &[("a", "x"), ("b", "y"), ("c", "z"), ("b", "w")][..],
            ),
            (
                r#"window.__X__={a:'x',b:{c_1:"y"},d:1,"e":!0,f:"z"}"#,
                &[("a", "x"), ("c_1", "y"), ("f", "z")],
            ),
            (r#"["x",["y"],{"a":2},"z"]"#, &[("", "x"), ("", "y"), ("", "z")]),
            (r#"{"a":"x\"y\\","b":"never ends"#, &[("a", r#"x\"y\\"#)]),
            (r#"}]{"a":"x"}}"#, &[("a", "x")]),
            (r#"{_a:"x",$b:"y",a1:"z"}"#, &[("_a", "x"), ("$b", "y"), ("a1", "z")]),
            ("", &[]),
        ] {
            assert_eq!(texts(script), expected, "{script}");
        }
        assert_eq!(texts(&format!("{}\"x\"", "[".repeat(MAX_DEPTH))), [("", "x")]);
        assert_eq!(texts(&format!("{}\"x\"", "[".repeat(MAX_DEPTH + 1))), []);
        // What is deeper is not read, but what follows it is.
        let deep = format!("[{}\"x\"{},\"y\"]", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert_eq!(texts(&deep), [("", "y")]);
    }

    #[test]
    fn objects_have_the_key_that_they_or_their_arrays_are_the_value_of() {
        let open = |key| Event::Open { key };
        let found: Vec<_> = events(r#"{"a":[{}],"b":{}}"#).collect();
        assert_eq!(
            found,
            [open(""), open("a"), Event::Close, open("b"), Event::Close, Event::Close]
        );
    }

    #[test]
    fn escapes_mean_characters() {
        let text = r#"a \"b\"\n\u4e2d\ud83d\ude00\ud83d\/ \u00zz end"#;
        assert_eq!(unescape(text), "a \"b\"\n中😀/ 00zz end");
        assert_eq!(unescape(r"x\"), "x");
    }
}
