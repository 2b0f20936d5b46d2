//! The texts that a search reads, and what it finds.

use super::spans::{Change, Span};
use crate::base::error::{Error, Result};

/// Bytes of text that threads cut into words together: what they find is in memory at the same
/// time.
const PART: usize = 4 << 20;

/// What takes the texts that are read, in slices.
pub type Texts<'a> = dyn FnMut(&[&str]) -> Result<()> + Send + 'a;

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The spans, by row and then by place.
    pub spans: Vec<Span>,
    /// What differs within the spans, with [`gaps`](super::Passages::gaps).
    pub changes: Vec<Change>,
    /// The number of texts.
    pub rows: u64,
    /// The number of windows that were kept in the first pass.
    pub windows: u64,
    /// The number of runs that were compared in the second pass.
    pub runs: u64,
}

/// Divides texts into parts of about [`PART`] bytes.
pub(super) fn in_parts(
    mut texts: &[&str],
    each: &mut dyn FnMut(&[&str]) -> Result<()>,
) -> Result<()> {
    while !texts.is_empty() {
        let mut bytes = 0;
        let more = texts.iter().take_while(|text| {
            bytes += text.len();
            bytes <= PART
        });
        let (part, rest) = texts.split_at(more.count().max(1));
        each(part)?;
        texts = rest;
    }
    Ok(())
}

pub(super) fn changed(row: u64) -> Error {
    Error::invalid(format!(
        "row {row}: the texts differ between the two times that they were read; read the same texts each time"
    ))
}
