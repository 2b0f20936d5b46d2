//! The names of documents, in order.

use fpdb::Snapshot;
use pyo3::prelude::*;

use crate::base::errors::OrRaise;
use crate::base::width::Bits;
use crate::db::source::{AnySnapshot, at_width};

/// Returns the first names that are greater than a name and begin with a prefix, at most `most`,
/// and the ids of their documents.
pub(crate) fn after(
    snapshot: &AnySnapshot,
    py: Python<'_>,
    range: (&str, &str),
    most: usize,
) -> PyResult<Vec<(String, u64)>> {
    at_width!(snapshot, snapshot => py.detach(|| find(snapshot, range, most)).or_raise())
}

fn find<F: Bits>(
    snapshot: &Snapshot<F>,
    (after, prefix): (&str, &str),
    most: usize,
) -> fpdb::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for document in snapshot.documents_after(after)?.take(most) {
        let (name, document) = document?;
        match name {
            Some(name) if name.starts_with(prefix) => found.push((name, document.id.0)),
            _ => break,
        }
    }
    Ok(found)
}
