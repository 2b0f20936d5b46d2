//! Header fields of WARC records and HTTP messages.

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
            let line = String::from_utf8_lossy(line.trim_ascii());
            match (fields.last_mut(), line.split_once(':')) {
                (Some((_, value)), _) if folded => {
                    value.push(' ');
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_any_case_and_unfolded() {
        let fields = Fields::parse(
            b"CONTENT-type : text/html;\r\n\tcharset=big5\r\nnothing\nX: 1\nx:\n 2\r\n\r\n",
        );
        assert_eq!(fields.get("Content-Type"), Some("text/html; charset=big5"));
        assert_eq!(fields.all("X").collect::<Vec<_>>(), ["1", " 2"]);
        assert_eq!(fields.get("nothing"), None);
    }

    #[test]
    fn a_continuation_line_without_a_field_is_ignored() {
        assert_eq!(Fields::parse(b" folded\r\na:b").get("a"), Some("b"));
    }
}
