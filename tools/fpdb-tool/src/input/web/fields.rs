//! Named fields, as the heads of WARC records and HTTP messages have them.

/// The fields of a head.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads lines of `name: value`. A line that begins with white space goes on with the one
    /// before; a line that is no field counts for nothing.
    pub(super) fn parse(lines: &[u8]) -> Self {
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

    /// The value of the first field of this name, in whatever case.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// The values of all fields of this name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_any_case_and_folded() {
        let fields = Fields::parse(
            b"CONTENT-type : text/html;\r\n\tcharset=big5\r\nnothing\nX: 1\nx:\n 2\r\n\r\n",
        );
        assert_eq!(fields.get("Content-Type"), Some("text/html; charset=big5"));
        assert_eq!(fields.all("X").collect::<Vec<_>>(), ["1", " 2"]);
        assert_eq!(fields.get("nothing"), None);
    }

    #[test]
    fn a_fold_without_a_field_counts_for_nothing() {
        assert_eq!(Fields::parse(b" folded\r\na:b").get("a"), Some("b"));
    }
}
