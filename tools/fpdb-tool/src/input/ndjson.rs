//! Documents as NDJSON: an object a line, with an id and a text among its fields.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Where the two values stand that make a document: each the name of a field or, beginning with
/// `/`, a JSON pointer through objects.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    id: Vec<String>,
    text: Vec<String>,
}

impl Fields {
    pub(crate) fn new(id: &str, text: &str) -> Self {
        Self { id: path(id), text: path(text) }
    }

    /// Reads the id and the text on a line, the id a string as it is or a number as it is written;
    /// the error says what is wrong with the line.
    pub(crate) fn parse(&self, line: &[u8]) -> Result<(String, String), String> {
        // Of the whole line: serde_json would not look at the strings that it skips.
        let line = std::str::from_utf8(line)
            .map_err(|e| format!("invalid UTF-8 after {} bytes", e.valid_up_to()))?;
        let mut json = serde_json::Deserializer::from_str(line);
        let mut found = Found { id: None, text: None };
        let seek = Seek { id: Some(&self.id), text: Some(&self.text), found: &mut found };
        seek.deserialize(&mut json).map_err(|e| told(&e))?;
        json.end().map_err(|e| told(&e))?;
        let missing = |path: &[String]| format!("no field {:?}", path.join("/"));
        let id = found.id.ok_or_else(|| missing(&self.id))?;
        let text = found.text.ok_or_else(|| missing(&self.text))?;
        Ok((id, text))
    }
}

/// The names along the way to a value.
fn path(field: &str) -> Vec<String> {
    match field.strip_prefix('/') {
        Some(pointer) => {
            pointer.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
        }
        None => vec![field.to_owned()],
    }
}

/// An error of serde_json without the line number, which is always 1 here.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => format!("{what} (column {})", error.column()),
        None => text,
    }
}

struct Found {
    id: Option<String>,
    text: Option<String>,
}

/// Looks in an object for what is left of the two paths, each None if it leads elsewhere.
struct Seek<'a> {
    id: Option<&'a [String]>,
    text: Option<&'a [String]>,
    found: &'a mut Found,
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = [self.id, self.text].into_iter().flatten().filter_map(<[_]>::first);
        write!(f, "an object with ")?;
        match (names.next(), names.next()) {
            (Some(a), Some(b)) if a != b => write!(f, "fields {a:?} and {b:?}"),
            (Some(a), _) => write!(f, "a field {a:?}"),
            _ => write!(f, "fields"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let below = |path: Option<&'_ [String]>| match path {
                Some([name, rest @ ..]) if *name == key => Some(rest.len()),
                _ => None,
            };
            match (below(self.id), below(self.text)) {
                (Some(0), _) => {
                    let id = id_of(map.next_value::<&RawValue>()?).ok_or_else(|| {
                        A::Error::custom(format!("field {key:?} is neither a string nor a number"))
                    })?;
                    self.found.id = Some(id);
                }
                (_, Some(0)) => self.found.text = Some(map.next_value::<String>()?),
                (None, None) => {
                    map.next_value::<IgnoredAny>()?;
                }
                (id, text) => map.next_value_seed(Seek {
                    id: self.id.filter(|_| id.is_some()).map(|path| &path[1..]),
                    text: self.text.filter(|_| text.is_some()).map(|path| &path[1..]),
                    found: self.found,
                })?,
            }
        }
        Ok(())
    }
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
        Fields::new("id", "text").parse(line.as_bytes())
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
    fn what_is_no_document_is_told() {
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
            let told = parse(line).unwrap_err();
            assert!(told.contains(message), "{line}: {told}");
        }
        let told = Fields::new("id", "text")
            .parse(b"{\"id\":1,\"text\":\"\",\"x\":\"\xff\"}")
            .unwrap_err();
        assert_eq!(told, "invalid UTF-8 after 23 bytes");
    }

    #[test]
    fn fields_may_have_other_names_and_lie_deep() {
        let line = br#"{"id":1,"meta":{"url":"u","id":{},"a/b":"s"},"body":{"id":7,"~":"t"}}"#;
        for (id, text, document) in [
            ("/meta/url", "/body/~0", ("u", "t")),
            ("/meta/url", "/meta/a~1b", ("u", "s")),
            ("id", "/body/~0", ("1", "t")),
            ("/body/id", "/meta/url", ("7", "u")),
        ] {
            let found = Fields::new(id, text).parse(line).unwrap();
            assert_eq!((found.0.as_str(), found.1.as_str()), document, "{id} {text}");
        }
        for (id, text, message) in [
            ("/meta/no", "body", "expected a string"),
            ("/meta/no", "/meta/url", "no field \"meta/no\""),
            ("/id/x", "/meta/url", "expected an object with a field \"x\""),
            ("/meta/id", "/meta/url", "neither a string nor a number"),
        ] {
            let told = Fields::new(id, text).parse(line).unwrap_err();
            assert!(told.contains(message), "{id} {text}: {told}");
        }
    }
}
