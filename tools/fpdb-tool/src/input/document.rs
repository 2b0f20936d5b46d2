//! What every record of a file becomes, and how its text is decoded.

use std::borrow::Cow;

use super::kind::{is_undeclared_utf16, is_utf16};

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

/// Decodes the text of a file: as UTF-8 if it is valid, else by its byte order mark, else by the
/// encoding that its bytes suggest. Zero bytes are refused unless `zeros` is set.
pub(super) fn decode(mut bytes: Vec<u8>, zeros: bool) -> Result<String, String> {
    // In encodings other than UTF-16, text has no zero bytes.
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        if is_utf16(&bytes) || is_undeclared_utf16(&bytes) {
            return Ok(fpdb_web::decode(&bytes, "", "").text.into_owned());
        }
        if !zeros {
            return Err(format!(
                "a zero byte after {at} bytes: this is not text, unless you give --from text"
            ));
        }
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes)
        .or_else(|e| Ok(fpdb_web::decode(e.as_bytes(), "", "").text.into_owned()))
}

/// Decodes a line: U+FFFD stands for bytes that are not UTF-8, if they are few.
pub(super) fn decode_line(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    fpdb_web::nearly_utf8(bytes).ok_or_else(|| {
        let error = std::str::from_utf8(bytes).err();
        format!("invalid UTF-8 after {} bytes", error.map_or(0, |error| error.valid_up_to()))
    })
}
