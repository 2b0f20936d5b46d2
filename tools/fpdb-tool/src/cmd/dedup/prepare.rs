//! What the workers make of documents, before they are compared.

use clap::ValueEnum;
use fpdb::Fingerprint;
use fpdb::text::Recipe;
use fpdb::text::jaccard::Mixed;
use serde::Serialize;

use crate::input::Document;
use crate::output::{self, printable};

/// `--print`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Print {
    /// The document: its line or row, or else NDJSON
    Document,
    /// The id on one line, with control characters escaped
    Id,
}

/// A document as the workers hand it over.
pub(super) struct Prepared<F> {
    pub(super) id: String,
    pub(super) fingerprint: Option<F>,
    /// Empty unless similarities are exact.
    pub(super) features: Mixed,
    pub(super) stamp: Option<u64>,
    /// What to print if the document is novel.
    pub(super) output: Vec<u8>,
    /// Empty unless a report shows texts.
    pub(super) text: String,
}

/// A document as NDJSON.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    text: &'a str,
    /// The extraction that made the text of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    extraction: Option<&'static str>,
}

/// How documents are prepared.
pub(super) struct Prepare<F: Fingerprint> {
    pub(super) recipe: Recipe<F>,
    /// The seed of the features, if similarities are exact.
    pub(super) seed: Option<u64>,
    pub(super) print: Print,
    /// The stamp of documents that have none in a field.
    pub(super) stamp: Option<u64>,
    /// Whether a report shows texts.
    pub(super) with_texts: bool,
}

impl<F: Fingerprint> Prepare<F> {
    /// Computes the fingerprint of a document and what to print if it is novel.
    pub(super) fn document(&self, document: Document) -> Prepared<F> {
        let Document { id, text, raw, extraction, stamp } = document;
        let (fingerprint, features) = match self.seed {
            None => (self.recipe.fingerprint(&text).fingerprint, Mixed::default()),
            Some(seed) => {
                let (found, features) = self.recipe.fingerprint_with_features(&text);
                (found.fingerprint, Mixed::new(&features, seed))
            }
        };
        let output = match (self.print, raw) {
            (Print::Id, _) => (printable(&id) + "\n").into_bytes(),
            (Print::Document, Some(raw)) => raw,
            (Print::Document, None) => {
                let mut line = Vec::with_capacity(id.len() + text.len() + 32);
                // Serializing strings into memory cannot fail.
                let _ = output::json_line(&mut line, &Line { id: &id, text: &text, extraction });
                line
            }
        };
        let text = if self.with_texts { text } else { String::new() };
        Prepared { id, fingerprint, features, stamp: stamp.or(self.stamp), output, text }
    }
}
