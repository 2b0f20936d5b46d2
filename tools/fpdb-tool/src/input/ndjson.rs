//! Documents as NDJSON: one object per line, with an id and a text among its fields.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::document::{Document, decode_line};

/// The fields with a document's id and text and, if it is requested, its stamp. Each is the name of
/// a field or, if it starts with `/`, a JSON pointer through objects.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    id: Vec<String>,
    text: Vec<String>,
    stamp: Option<Vec<String>>,
}

impl Fields {
    pub(crate) fn new(id: &str, text: &str, stamp: Option<&str>) -> Self {
        Self { id: path(id), text: path(text), stamp: stamp.map(path) }
    }

    /// Parses the document on a line. The id is a string, or a number, which becomes a string as it
    /// is written. Also returns the extraction that made the text, if the line names it. The error
    /// says what is wrong with the line.
    pub(crate) fn parse(&self, line: &[u8]) -> Result<(Document, Option<String>), String> {
        // Checked for the entire line, because serde_json does not check the strings that it skips.
        let line = decode_line(line)?;
        let mut json = serde_json::Deserializer::from_str(&line);
        let mut found = Found::default();
        let (id, text) = (Some(&*self.id), Some(&*self.text));
        let stamp = self.stamp.as_deref();
        let search = Search { id, text, stamp, is_top: true, found: &mut found };
        search.deserialize(&mut json).map_err(|e| without_line(&e))?;
        json.end().map_err(|e| without_line(&e))?;
        let missing = |path: &[String]| format!("no field {:?}", path.join("/"));
        let id = found.id.ok_or_else(|| missing(&self.id))?;
        // Different ids must stay different.
        if matches!(line, Cow::Owned(_)) && id.contains(char::REPLACEMENT_CHARACTER) {
            return Err("invalid UTF-8 in the id".to_owned());
        }
        let text = found.text.ok_or_else(|| missing(&self.text))?;
        let stamp = match (&self.stamp, found.stamp) {
            (Some(path), None) => return Err(missing(path)),
            (_, stamp) => stamp,
        };
        Ok((Document::new(id, text, stamp), found.extraction))
    }
}

impl Fields {
    /// Returns a line with another text. All other bytes stay. `None` if it is no NDJSON.
    pub(crate) fn with_text(&self, line: &[u8], text: &str) -> Option<Vec<u8>> {
        let line = decode_line(line).ok()?;
        let place = place_of(&line, &self.text)?;
        let text = serde_json::to_string(text).ok()?;
        Some([&line[..place.start], &*text, &line[place.end..]].concat().into_bytes())
    }
}

/// Returns where the value on this path is.
fn place_of(json: &str, path: &[String]) -> Option<Range<usize>> {
    let (name, rest) = path.split_first()?;
    let fields: HashMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    let value = fields.get(name)?.get();
    // It is a part of the line.
    let begin = value.as_ptr() as usize - json.as_ptr() as usize;
    let inside = if rest.is_empty() { 0..value.len() } else { place_of(value, rest)? };
    Some(begin + inside.start..begin + inside.end)
}

/// Returns the extraction that `extract` wrote into a line. A field of the same name with any other
/// value has another meaning.
fn extraction_of(value: &RawValue) -> Option<String> {
    let name: String = serde_json::from_str(value.get()).ok()?;
    let (kind, version) = name.split_once('/')?;
    let is_name = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase());
    let is_version = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit());
    (is_name && is_version).then_some(name)
}

/// Returns the names on the path to a value.
fn path(field: &str) -> Vec<String> {
    match field.strip_prefix('/') {
        Some(pointer) => {
            pointer.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
        }
        None => vec![field.to_owned()],
    }
}

/// Returns an error of serde_json without the line number, which is always 1 here, and what to do
/// about it.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = match text.rsplit_once(" at line ") {
        Some((message, _)) => format!("{message} (column {})", error.column()),
        None => text,
    };
    if error.is_eof() {
        format!("{text}: each object needs a line of its own, as `jq -c .` writes them")
    } else if text.contains("surrogate") || text.contains("end of hex escape") {
        format!(
            "{text}: half of a pair, such as \\ud800, is no character, and U+FFFD can replace it"
        )
    } else {
        text
    }
}

/// What is found on a line.
#[derive(Default)]
struct Found {
    id: Option<String>,
    text: Option<String>,
    stamp: Option<u64>,
    /// The extraction that made the text, if the line names it.
    extraction: Option<String>,
}

/// Searches an object for the rest of the paths. A path is `None` if it leads elsewhere.
struct Search<'a> {
    id: Option<&'a [String]>,
    text: Option<&'a [String]>,
    stamp: Option<&'a [String]>,
    /// Whether this is the object of the line, rather than one inside it.
    is_top: bool,
    found: &'a mut Found,
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, 'a> Visitor<'de> for Search<'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = [self.id, self.text, self.stamp];
        let mut names = paths.into_iter().flatten().filter_map(<[_]>::first);
        write!(f, "an object with ")?;
        match (names.next(), names.next()) {
            (Some(a), Some(b)) if a != b => write!(f, "fields {a:?} and {b:?}"),
            (Some(a), _) => write!(f, "a field {a:?}"),
            _ => write!(f, "fields"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let below = |path: Option<&'a [String]>| match path {
                Some([name, rest @ ..]) if *name == key => Some(rest),
                _ => None,
            };
            let (id, text, stamp) = (below(self.id), below(self.text), below(self.stamp));
            let is_field = |path: Option<&[String]>| path.is_some_and(<[_]>::is_empty);
            if is_field(id) || is_field(stamp) {
                let value = map.next_value::<&RawValue>()?;
                if is_field(id) {
                    self.found.id = Some(id_of(value).ok_or_else(|| {
                        A::Error::custom(format!("field {key:?} is neither a string nor a number"))
                    })?);
                }
                if is_field(stamp) {
                    self.found.stamp =
                        Some(value.get().parse().map_err(|_| A::Error::custom(no_stamp(&key)))?);
                }
            } else if is_field(text) {
                self.found.text = Some(map.next_value::<String>()?);
            } else if id.or(text).or(stamp).is_some() {
                let found = &mut *self.found;
                map.next_value_seed(Search { id, text, stamp, is_top: false, found })?;
            } else if self.is_top && key == "extraction" {
                self.found.extraction = extraction_of(map.next_value::<&RawValue>()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Returns the message about a field that holds no stamp.
pub(super) fn no_stamp(field: &str) -> String {
    format!("field {field:?} is not a whole number from 0 to {}", u64::MAX)
}

fn id_of(value: &RawValue) -> Option<String> {
    let json = value.get();
    match json.as_bytes().first()? {
        b'"' => serde_json::from_str(json).ok(),
        b'-' | b'0'..=b'9' => Some(json.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(String, String), String> {
        Fields::new("id", "text", None)
            .parse(line.as_bytes())
            .map(|(Document { id, text, .. }, _)| (id, text))
    }

    #[test]
    fn only_names_with_a_version_are_extractions() {
        for (field, extraction) in [
            (r#""extraction":"main/1""#, Some("main/1")),
            (r#""extraction":"main""#, None),
            (r#""extraction":"2020/1""#, None),
            (r#""extraction":{"extraction":"main/1"}"#, None),
            (r#""x":{"extraction":"main/1"}"#, None),
            (r#""extraction":5"#, None),
        ] {
            let line = format!("{{\"id\":1,{field},\"text\":\"t\"}}");
            let parsed = Fields::new("id", "text", None).parse(line.as_bytes()).unwrap();
            assert_eq!(parsed.1.as_deref(), extraction, "{line}");
        }
    }

    #[test]
    fn ids_are_strings_or_numbers_as_written() {
        for (json, id) in [
            ("\"a\\u00e4\\n\"", "aä\n"),
            ("17", "17"),
            ("-1.50", "-1.50"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
        ] {
            let document = parse(&format!("{{\"x\":[{{}}],\"text\":\"t\",\"id\":{json}}}\r\n"));
            assert_eq!(document, Ok((id.to_owned(), "t".to_owned())));
        }
    }

    #[test]
    fn errors_say_what_is_wrong_with_a_line() {
        for (line, message) in [
            ("{", "EOF while parsing an object (column 1)"),
            ("[]", "expected an object with fields \"id\" and \"text\""),
            ("{\"id\":1}", "no field \"text\""),
            ("{\"text\":\"\"}", "no field \"id\""),
            ("{\"id\":null,\"text\":\"\"}", "neither a string nor a number"),
            ("{\"id\":1,\"text\":5}", "expected a string"),
            ("{\"id\":1,\"text\":\"\\ud800\"}", "hex escape"),
            ("{\"id\":1,\"text\":\"\"} x", "trailing characters"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(message), "{line}: {error}");
        }
        let error = Fields::new("id", "text", None)
            .parse(b"{\"id\":1,\"text\":\"\",\"x\":\"\xff\"}")
            .unwrap_err();
        assert_eq!(error, "invalid UTF-8 after 23 bytes");
    }

    #[test]
    fn fields_may_have_other_names_and_be_nested() {
        let line = br#"{"id":1,"meta":{"url":"u","id":{},"a/b":"s"},"body":{"id":7,"~":"t"}}"#;
        for (id, text, document) in [
            ("/meta/url", "/body/~0", ("u", "t")),
            ("/meta/url", "/meta/a~1b", ("u", "s")),
            ("id", "/body/~0", ("1", "t")),
            ("/body/id", "/meta/url", ("7", "u")),
        ] {
            let (parsed, _) = Fields::new(id, text, None).parse(line).unwrap();
            assert_eq!((parsed.id.as_str(), parsed.text.as_str()), document, "{id} {text}");
        }
        for (id, text, message) in [
            ("/meta/no", "body", "expected a string"),
            ("/meta/no", "/meta/url", "no field \"meta/no\""),
            ("/id/x", "/meta/url", "expected an object with a field \"x\""),
            ("/meta/id", "/meta/url", "neither a string nor a number"),
        ] {
            let error = Fields::new(id, text, None).parse(line).unwrap_err();
            assert!(error.contains(message), "{id} {text}: {error}");
        }
    }
    #[test]
    fn stamps_are_whole_numbers_without_a_sign() {
        let parse = |stamp: &str, line: &str| {
            let parsed = Fields::new("id", "text", Some(stamp)).parse(line.as_bytes());
            parsed.map(|(values, _)| values.stamp)
        };
        let line = r#"{"text":"t","seen":0,"meta":{"at":18446744073709551615,"text":1},"id":7}"#;
        for (stamp, found) in [("seen", 0), ("/meta/at", u64::MAX), ("id", 7)] {
            assert_eq!(parse(stamp, line), Ok(Some(found)), "{stamp}");
        }
        assert_eq!(parse("at", line), Err("no field \"at\"".to_owned()));
        for value in ["-1", "1.0", "1e3", "18446744073709551616", "\"5\"", "null", "{}"] {
            let line = format!("{{\"id\":1,\"text\":\"t\",\"seen\":{value}}}");
            let error = parse("seen", &line).unwrap_err();
            let message = "field \"seen\" is not a whole number from 0 to 18446744073709551615";
            assert!(error.starts_with(message), "{value}: {error}");
        }
    }
}
