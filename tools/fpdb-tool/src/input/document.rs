//! What is read: records, which one thread takes from a file, and the documents that are made of
//! them, which any thread can do.

use std::fmt;
use std::sync::Arc;

use super::ndjson::Fields;
use super::web;

/// Bytes of the longest name that a database takes.
const MAX_ID: usize = 65_535;

/// What a fingerprint is made of, and the id it goes by.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) text: String,
    /// The line or row that it stands on, as it is in the file; None if it stands on none.
    pub(crate) raw: Option<Vec<u8>>,
}

/// Where something stands, for messages.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) file: Arc<str>,
    pub(crate) at: At,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum At {
    /// It is all of the file.
    File,
    Line(u64),
    /// In bytes from the beginning, of a compressed file as it is stored.
    Offset(u64),
    /// From 0.
    #[cfg(feature = "parquet")]
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            At::File => write!(f, "{}", self.file),
            At::Line(number) => write!(f, "{}, line {number}", self.file),
            At::Offset(offset) => write!(f, "{}, offset {offset}", self.file),
            #[cfg(feature = "parquet")]
            At::Row(row) => write!(f, "{}, row {row}", self.file),
        }
    }
}

/// A piece of a file, as it comes from its reader.
pub(super) struct Record {
    pub(super) place: Place,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// A JSON object.
    Json(Vec<u8>),
    /// A line of text.
    Line { id: String, bytes: Vec<u8> },
    /// A row of a table, as it is and by its values.
    Row(Vec<u8>, Result<(String, String), String>),
    /// The row above the rows.
    Header(Vec<u8>),
    /// A whole file of text.
    Text { id: String, bytes: Vec<u8> },
    /// An id and a text.
    #[cfg(feature = "parquet")]
    Pair(String, String),
    /// A record of an archive, or a page.
    Web(web::Record),
    /// What could not be a document, and why.
    Bad(String),
}

impl Content {
    /// Bytes of memory that it takes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(raw) | Self::Header(raw) => raw.len(),
            Self::Row(raw, _) => raw.len() * 2,
            Self::Line { bytes, .. } | Self::Text { bytes, .. } => bytes.len(),
            #[cfg(feature = "parquet")]
            Self::Pair(id, text) => id.len() + text.len(),
            Self::Web(record) => record.len(),
            Self::Bad(message) => message.len(),
        }
    }
}

/// What became of a record.
#[derive(Debug)]
pub(crate) enum Outcome<T> {
    Document(T),
    /// The header row of a table.
    Header(Vec<u8>),
    /// It should be a document and is none.
    Bad(String),
    /// Damage in an archive, which says nothing about the records around it.
    Broken(String),
    /// It is no document, and nothing is wrong with it.
    Ignored(String),
}

/// What records are made to documents by.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) fields: Fields,
    pub(super) max_document: usize,
    pub(super) web: web::Options,
}

impl Rules {
    /// Makes a document of a record, if it is one that may be stored. Of a record of an archive,
    /// `at` becomes where it begins.
    pub(super) fn apply(&self, content: Content, at: &mut At) -> Outcome<Document> {
        let found = match content {
            Content::Json(raw) => {
                self.fields.parse(&raw).map(|(id, text)| Document { id, text, raw: Some(raw) })
            }
            Content::Line { id, bytes } => line(id, bytes),
            Content::Row(raw, values) => {
                values.map(|(id, text)| Document { id, text, raw: Some(raw) })
            }
            Content::Text { id, bytes } => {
                super::text::decode(bytes).map(|text| Document { id, text, raw: None })
            }
            #[cfg(feature = "parquet")]
            Content::Pair(id, text) => Ok(Document { id, text, raw: None }),
            Content::Header(raw) => return Outcome::Header(raw),
            Content::Bad(message) => Err(message),
            Content::Web(record) => {
                let event = record.extract(&self.web);
                if let At::Offset(offset) = at {
                    *offset = event.offset();
                }
                match event {
                    web::Event::Page(page) => {
                        Ok(Document { id: page.id, text: page.text, raw: None })
                    }
                    web::Event::Skipped { reason: web::Reason::TooLarge, .. } => {
                        let message = format!("more than {} bytes", self.max_document);
                        return Outcome::Broken(message + " (--max-document)");
                    }
                    web::Event::Skipped { reason, .. } => {
                        return Outcome::Ignored(reason.to_string());
                    }
                    web::Event::Broken { error, .. } => return Outcome::Broken(error),
                }
            }
        };
        match found.and_then(|document| self.check(document)) {
            Ok(document) => Outcome::Document(document),
            Err(message) => Outcome::Bad(message),
        }
    }

    fn check(&self, document: Document) -> Result<Document, String> {
        let Document { id, text, .. } = &document;
        if !(1..=MAX_ID).contains(&id.len()) {
            return Err(format!("an id has 1 to {MAX_ID} bytes, this one {}", id.len()));
        }
        if text.len() > self.max_document {
            return Err(format!(
                "a text of {} bytes, more than {} (--max-document)",
                text.len(),
                self.max_document
            ));
        }
        Ok(document)
    }
}

fn line(id: String, raw: Vec<u8>) -> Result<Document, String> {
    let text = std::str::from_utf8(&raw)
        .map_err(|e| format!("invalid UTF-8 after {} bytes", e.valid_up_to()))?;
    if text.contains('\0') {
        return Err("a zero byte: this is no text".to_owned());
    }
    let text = text.trim_end_matches(['\r', '\n']).to_owned();
    Ok(Document { id, text, raw: Some(raw) })
}
