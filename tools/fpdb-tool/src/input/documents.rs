//! Documents as NDJSON: an object a line, with an id and a text among its fields.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Bytes of the longest name that a database takes.
const MAX_ID: usize = 65_535;

/// A document as a line gives it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// A string as it is, or a number as it is written.
    pub(crate) id: String,
    pub(crate) text: String,
}

/// The names of the two fields that make a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) id: &'a str,
    pub(crate) text: &'a str,
}

impl Fields<'_> {
    /// Reads the document on a line; the error says what is wrong with the line.
    pub(crate) fn parse(self, line: &[u8]) -> Result<Document, String> {
        // Of the whole line: serde_json would not look at the strings that it skips.
        let line = std::str::from_utf8(line)
            .map_err(|e| format!("invalid UTF-8 after {} bytes", e.valid_up_to()))?;
        let mut json = serde_json::Deserializer::from_str(line);
        let document = self.deserialize(&mut json).map_err(|e| told(&e))?;
        json.end().map_err(|e| told(&e))?;
        Ok(document)
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

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = Document;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with fields {:?} and {:?}", self.id, self.text)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let (mut id, mut text) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            if key == self.id {
                id = Some(map.next_value::<&RawValue>()?);
            } else if key == self.text {
                text = Some(map.next_value::<String>()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let missing = |field| A::Error::custom(format!("no field {field:?}"));
        let id = id.ok_or_else(|| missing(self.id))?;
        let id = id_of(id).ok_or_else(|| {
            A::Error::custom(format!("field {:?} is neither a string nor a number", self.id))
        })?;
        if !(1..=MAX_ID).contains(&id.len()) {
            let message = format!("an id has 1 to {MAX_ID} bytes, this one {}", id.len());
            return Err(A::Error::custom(message));
        }
        Ok(Document { id, text: text.ok_or_else(|| missing(self.text))? })
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

    const FIELDS: Fields<'static> = Fields { id: "id", text: "text" };

    fn parse(line: &str) -> Result<Document, String> {
        FIELDS.parse(line.as_bytes())
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
            assert_eq!(document, Ok(Document { id: id.to_owned(), text: "t".to_owned() }));
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
            ("{\"id\":\"\",\"text\":\"\"}", "an id has 1 to 65535 bytes, this one 0"),
            ("{\"id\":1,\"text\":5}", "expected a string"),
            ("{\"id\":1,\"text\":\"\\ud800\"}", "hex escape"),
            ("{\"id\":1,\"text\":\"\"} x", "trailing characters"),
        ] {
            let told = parse(line).unwrap_err();
            assert!(told.contains(message), "{line}: {told}");
        }
        let told = FIELDS.parse(b"{\"id\":1,\"text\":\"\",\"x\":\"\xff\"}").unwrap_err();
        assert_eq!(told, "invalid UTF-8 after 23 bytes");
    }

    #[test]
    fn fields_may_have_other_names() {
        let fields = Fields { id: "url", text: "body" };
        let document = fields.parse(br#"{"id":1,"url":"u","body":"b"}"#).unwrap();
        assert_eq!((document.id.as_str(), document.text.as_str()), ("u", "b"));
    }
}
