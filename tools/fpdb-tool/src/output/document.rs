//! A document of a database, as commands print it.

use anyhow::Result;
use fpdb::{DocId, Document, Fingerprint, Snapshot};
use serde::Serialize;

/// A document.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) r#type: &'static str,
    /// `None` in a database without names.
    pub(crate) name: Option<String>,
    pub(crate) id: u64,
    pub(crate) fingerprint: String,
    pub(crate) stamp: Option<u64>,
    /// `None` for an original.
    pub(crate) duplicate_of: Option<Original>,
}

/// The document that another one was a duplicate of when it was stored.
#[derive(Debug, Serialize)]
pub(crate) struct Original {
    pub(crate) id: u64,
    /// `None` in a database without names, and if the document has been removed since.
    pub(crate) name: Option<String>,
}

impl Record {
    pub(crate) fn new<F: Fingerprint>(
        name: Option<String>,
        document: &Document<F>,
        snapshot: &Snapshot<F>,
    ) -> Result<Self> {
        let original =
            |id: DocId| -> Result<_> { Ok(Original { id: id.0, name: snapshot.name(id)? }) };
        Ok(Self {
            r#type: "document",
            name,
            id: document.id.0,
            fingerprint: document.fingerprint.to_hex(),
            stamp: document.stamp,
            duplicate_of: document.duplicate_of.map(original).transpose()?,
        })
    }
}
