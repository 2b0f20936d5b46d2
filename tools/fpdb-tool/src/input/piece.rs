//! The pieces that one thread takes from a file, and their conversion to documents, which any
//! thread can do.

use std::fmt;
use std::sync::Arc;

use fpdb::Key;
use fpdb_web::{ErrorKind, Extractor, SkipReason};

use super::document::{Document, decode_line};
use super::ndjson::Fields;

/// The place of something in the input, for messages.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) file: Arc<str>,
    pub(crate) at: At,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum At {
    /// The entire file.
    File,
    Line(u64),
    /// Bytes from the beginning of the file as it is stored, compressed or not.
    Offset(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            At::File => write!(f, "{}", self.file),
            At::Line(number) => write!(f, "{}, line {number}", self.file),
            At::Offset(offset) => write!(f, "{}, offset {offset}", self.file),
        }
    }
}

/// A piece of a file, as its reader emits it.
pub(super) struct Piece {
    pub(super) place: Place,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// A JSON object.
    Json(Vec<u8>),
    /// A line of text.
    Line { id: String, bytes: Vec<u8> },
    /// A row of a table: its bytes and its document.
    Row(Vec<u8>, Result<Document, String>),
    /// The header row of a table.
    Header(Vec<u8>),
    /// A file of text.
    Text { id: String, bytes: Vec<u8> },
    /// A record of an archive, damage in the place of one, or an HTML file.
    Web(fpdb_web::Result<fpdb_web::Record>),
    /// Something that cannot be a document, and why.
    Bad(String),
}

impl Content {
    /// Returns about how many bytes of memory it takes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(raw) | Self::Header(raw) => raw.len(),
            Self::Row(raw, _) => raw.len() * 2,
            Self::Line { bytes, .. } | Self::Text { bytes, .. } => bytes.len(),
            Self::Web(record) => record.as_ref().map_or(0, fpdb_web::Record::size),
            Self::Bad(message) => message.len(),
        }
    }
}

/// The result of converting a piece to a document.
#[derive(Debug)]
pub(crate) enum Converted<T> {
    Document(T),
    /// The header row of a table.
    Header(Vec<u8>),
    /// It should be a document, but is not.
    Bad(String),
    /// Damage in an archive, which does not affect the records around it.
    Broken(String),
    /// What is wrong with an archive as a whole. All of its records are read.
    Warning(String),
    /// It is not a document, and nothing is wrong with it.
    Ignored(String),
}

/// The options for converting pieces to documents.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) fields: Fields,
    pub(super) max_document: usize,
    /// Plain text may have zero bytes, because the user says that it is text.
    pub(super) zeros: bool,
    pub(super) extractor: Extractor,
    /// The extraction that texts must come from, if it matters.
    pub(super) extraction: Option<String>,
}

impl Rules {
    /// Converts a piece to a document, if a database can store it.
    pub(super) fn apply(&self, content: Content) -> Converted<Document> {
        let found = match content {
            Content::Json(raw) => self.fields.parse(&raw).and_then(|(document, extraction)| {
                self.check_extraction(extraction.as_deref())?;
                Ok(document.on_line(raw))
            }),
            Content::Line { id, bytes } => line(id, bytes, self.zeros),
            Content::Row(raw, document) => document.map(|document| document.on_line(raw)),
            Content::Text { id, bytes } => {
                super::document::decode(bytes, self.zeros).map(|text| Document::new(id, text, None))
            }
            Content::Header(raw) => return Converted::Header(raw),
            Content::Bad(message) => Err(message),
            Content::Web(record) => {
                let outcome = record.and_then(|record| self.extractor.record(&record));
                match outcome {
                    Ok(fpdb_web::Extracted::Page(page)) => {
                        let extraction = Some(page.extraction.name());
                        self.check_extraction(extraction).map(|()| Document {
                            id: page.url,
                            text: page.text,
                            raw: None,
                            extraction,
                            stamp: None,
                        })
                    }
                    Ok(fpdb_web::Extracted::Skipped(SkipReason::TooLarge)) => {
                        let message = format!("more than {} bytes", self.max_document);
                        return Converted::Broken(message + " (--max-document)");
                    }
                    Ok(fpdb_web::Extracted::Skipped(reason)) => {
                        return Converted::Ignored(reason.to_string());
                    }
                    Err(error) => {
                        let message = error.message().to_owned();
                        return match error.kind() {
                            ErrorKind::SharedMember | ErrorKind::Length => {
                                Converted::Warning(message)
                            }
                            _ => Converted::Broken(message),
                        };
                    }
                }
            }
        };
        match found.and_then(|document| self.check(document)) {
            Ok(document) => Converted::Document(document),
            Err(message) => Converted::Bad(message),
        }
    }

    /// Refuses a text of another extraction. Text that names none is accepted.
    fn check_extraction(&self, found: Option<&str>) -> Result<(), String> {
        match (found, self.extraction.as_deref()) {
            (Some(found), Some(expected)) if found != expected => Err(format!(
                "a text of extraction {found}, not {expected}: they cannot be compared"
            )),
            _ => Ok(()),
        }
    }

    fn check(&self, document: Document) -> Result<Document, String> {
        let Document { id, text, .. } = &document;
        let (length, most) = (id.len(), Key::MAX_NAME_LEN);
        if !(1..=most).contains(&length) {
            return Err(format!(
                "an id must have 1 to {most} bytes, but this one has {length}: --id-field names \
                 the field with the ids"
            ));
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

fn line(id: String, raw: Vec<u8>, zeros: bool) -> Result<Document, String> {
    let text = decode_line(&raw)?;
    if !zeros && text.contains('\0') {
        return Err("a zero byte: this is not text, unless you give --from lines".to_owned());
    }
    let text = text.trim_end_matches(['\r', '\n']).to_owned();
    Ok(Document::new(id, text, None).on_line(raw))
}
