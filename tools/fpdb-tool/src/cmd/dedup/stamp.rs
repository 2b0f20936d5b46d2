//! `--stamp`

use crate::args::stamp;

/// Where the stamps of documents come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StampSource {
    /// All have this one.
    Given(u64),
    /// A field of the records.
    Field(String),
}

impl StampSource {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected a stamp or the name of a field".to_owned());
        }
        Ok(stamp::parse(text).map_or_else(|_| Self::Field(text.to_owned()), Self::Given))
    }
}
