//! What every record of a file becomes.

/// A text, from which a fingerprint is computed, and its id.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) text: String,
    /// The line or row of the file that holds it, unchanged; None if it is not on a line.
    pub(crate) raw: Option<Vec<u8>>,
    /// The extraction that made the text, if this program made it.
    pub(crate) extraction: Option<&'static str>,
    /// The value of the field that holds stamps, if one is requested.
    pub(crate) stamp: Option<u64>,
}

impl Document {
    /// Returns a document whose text was extracted by another program, if at all.
    pub(super) fn new(id: String, text: String, stamp: Option<u64>) -> Self {
        Self { id, text, raw: None, extraction: None, stamp }
    }

    pub(super) fn on_line(self, raw: Vec<u8>) -> Self {
        Self { raw: Some(raw), ..self }
    }
}
