//! Header fields of WARC records and HTTP messages.

use std::borrow::Cow;
use std::fmt::Write;

/// The fields of a header, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses lines of the form `name: value`. A line that begins with white space continues the
    /// line before it. Lines that are not fields are ignored.
    pub(crate) fn parse(lines: &[u8]) -> Self {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in lines.split(|&b| b == b'\n') {
            let folded = matches!(line.first(), Some(b' ' | b'\t'));
            let line = escaped(line.trim_ascii());
            match (fields.last_mut(), line.split_once(':')) {
                (Some((_, value)), _) if folded => {
                    // The value may begin on this line.
                    if !value.is_empty() && !line.is_empty() {
                        value.push(' ');
                    }
                    value.push_str(&line);
                }
                (_, Some((name, value))) => {
                    fields.push((name.trim_end().to_owned(), value.trim_start().to_owned()));
                }
                (_, None) => {}
            }
        }
        Self(fields)
    }

    /// Returns the value of the first field of this name, ignoring case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Returns the values of all fields of this name, ignoring case.
    pub(crate) fn all<'a>(
        &'a self,
        name: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a str> + Clone {
        self.0.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Returns about how many bytes of memory the fields take.
    pub(crate) fn size(&self) -> usize {
        let sizes = self.0.iter().map(|(name, value)| name.len() + value.len());
        sizes.sum::<usize>() + self.0.len() * size_of::<(String, String)>()
    }
}

/// Returns the text of bytes. Those that are not UTF-8 are written as in URLs, `%E9`, so that
/// different URLs stay different.
pub(crate) fn escaped(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_any_case_and_unfolded() {
        let fields = Fields::parse(
            b"CONTENT-type : text/html;\r\n\tcharset=big5\r\nnothing\nX: 1\nx:\n 2\r\n\r\n",
        );
        assert_eq!(fields.get("Content-Type"), Some("text/html; charset=big5"));
        assert_eq!(fields.all("X").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.get("nothing"), None);
    }

    #[test]
    fn values_that_are_not_utf_8_stay_different() {
        let value = |bytes: &[u8]| Fields::parse(bytes).get("a").map(str::to_owned);
        assert_eq!(value(b"a: caf\xe9").as_deref(), Some("caf%E9"));
        assert_eq!(value(b"a: caf\xe8\xc3\xa9").as_deref(), Some("caf%E8é"));
    }

    #[test]
    fn a_continuation_line_without_a_field_is_ignored() {
        assert_eq!(Fields::parse(b" folded\r\na:b").get("a"), Some("b"));
    }
}
