//! The error type of this crate.

use std::fmt;
use std::io;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Characters of what an error concerns that its message shows. A header can be a megabyte.
const MAX_SUBJECT: usize = 300;

/// What kind of error occurred.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Archive, ErrorKind};
///
/// let error = Archive::new(&b"not an archive"[..])?.next().unwrap().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Record);
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The reader of the archive failed, with an error of this kind.
    Io(io::ErrorKind),
    /// The gzip data of the archive is damaged or cut off.
    Gzip,
    /// The bytes are not a record, or not a complete one.
    Record,
    /// The length of a record is wrong by little. The record follows: it ends where the next one
    /// begins, or where the gzip member ends.
    Length,
    /// A gzip member holds several records. This is reported once per archive, and all records
    /// are still read.
    SharedMember,
    /// A record that should hold an HTTP response does not begin with one.
    Response,
    /// The body of an HTTP response cannot be decoded.
    Coding,
    /// Something exceeds one of the [`Limits`](crate::Limits).
    Limit,
    /// There is no extraction of this name.
    UnknownExtraction,
}

/// An error, with the place in the input where it occurred.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Archive, ErrorKind};
///
/// let archive = b"\r\n\r\nWARC/1.0\r\nWARC-Type: response\r\n\r\n";
/// let error = Archive::new(&archive[..])?.next().unwrap().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Record);
/// assert_eq!(error.message(), "the record has no Content-Length");
/// assert_eq!(error.offset(), 4);
/// assert_eq!(error.to_string(), "the record has no Content-Length (at byte 4)");
/// # Ok::<(), fpdb_web::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    offset: u64,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), offset: 0 }
    }

    /// The same error at another offset.
    pub(crate) fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// The same error, with a message that begins with what it concerns.
    pub(crate) fn about(self, subject: &str) -> Self {
        let (start, rest) = match subject.char_indices().nth(MAX_SUBJECT) {
            Some((end, _)) => (subject.get(..end).unwrap_or_default(), "…"),
            None => (subject, ""),
        };
        Self { message: format!("{start}{rest}: {}", self.message), ..self }
    }

    /// Returns what kind of error occurred.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the description of the error, without its place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns where the record in which the error occurred begins: the offset, in the file as it
    /// is stored, of the record itself or of the gzip member in which it begins. For input that is
    /// not an archive, it is 0.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::UnknownExtraction => f.write_str(&self.message),
            _ => write!(f, "{} (at byte {})", self.message, self.offset),
        }
    }
}

impl std::error::Error for Error {}
