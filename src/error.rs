//! What can go wrong, in kinds that say what the caller can do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of every fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure an [`Error`] is: what the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no database (or no such item) at this place: create one, or look elsewhere.
    NotFound,
    /// Something is there already: open it, or choose another place.
    AlreadyExists,
    /// Another handle or process writes to this database: wait, or open read-only.
    Locked,
    /// An argument or option is out of range, or does not fit this database: correct the call.
    InvalidArgument,
    /// The file is sound but made by a newer version, or for another width or recipe: the message
    /// says what was found and what this build supports.
    Unsupported,
    /// Bytes on disk are not what was written: run `verify`, restore a backup.
    Corruption,
    /// The operating system refused: see the source. A full disk is one of these.
    Io,
    /// An earlier write or sync failed, so this handle takes no more writes: reopen the database.
    Poisoned,
    /// The caller's progress function said so: nothing has changed.
    Cancelled,
}

/// A failure: its [kind](Error::kind), a sentence, and where it happened.
///
/// # Examples
///
/// ```
/// let err = fpdb::Db::options().open("no/such/folder").unwrap_err();
/// assert_eq!(err.kind(), fpdb::ErrorKind::NotFound);
/// assert!(err.to_string().contains("no/such/folder"));
/// ```
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    offset: Option<u64>,
    source: Option<std::sync::Arc<io::Error>>,
}

impl Error {
    /// An error of `kind` with a sentence that says what happened and what to do.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            path: None,
            offset: None,
            source: None,
        }))
    }

    /// An argument that cannot be taken.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Damaged bytes; the reader that knows the file adds path and offset.
    pub(crate) fn corruption(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corruption, message)
    }

    /// A failed system call: `doing` completes the sentence "cannot ...".
    pub(crate) fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            _ => ErrorKind::Io,
        };
        let mut error = Self::new(kind, format!("cannot {doing}"));
        error.0.path = Some(path.to_owned());
        error.0.source = Some(std::sync::Arc::new(source));
        error
    }

    /// A failure of the caller's own, to be handed in by an iterator that the caller gives: its
    /// input cannot be read.
    ///
    /// # Examples
    ///
    /// ```
    /// let error = fpdb::Error::from_input(std::io::Error::other("line 3: not a number"));
    /// assert_eq!(error.kind(), fpdb::ErrorKind::Io);
    /// assert_eq!(error.to_string(), "cannot read the input: line 3: not a number");
    /// ```
    #[must_use]
    pub fn from_input(source: io::Error) -> Self {
        let mut error = Self::new(ErrorKind::Io, "cannot read the input");
        error.0.source = Some(std::sync::Arc::new(source));
        error
    }

    /// The same error, placed in a file (an inner place, set earlier, is kept).
    pub(crate) fn at_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path.get_or_insert_with(|| path.into());
        self
    }

    /// The same error, placed at a byte offset of its file (an inner place is kept).
    pub(crate) fn at_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// A second error that tells of the same failure, under another kind.
    pub(crate) fn repeat_as(&self, kind: ErrorKind, prefix: &str) -> Self {
        let mut inner = (*self.0).clone();
        inner.message = format!("{prefix}{}", inner.message);
        inner.kind = kind;
        Self(Box::new(inner))
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file or folder concerned, where there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The byte offset in that file, where it is known.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(path) = &self.0.path {
            write!(f, " ({}", path.display())?;
            if let Some(offset) = self.0.offset {
                write!(f, ", byte {offset}")?;
            }
            f.write_str(")")?;
        }
        if let Some(source) = &self.0.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|s| &**s as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_says_what_where_and_why() {
        let e = Error::corruption("block out of order").at_path("x/t.fpt").at_offset(4096);
        assert_eq!(e.to_string(), "block out of order (x/t.fpt, byte 4096)");
        let e = Error::io("read the manifest", Path::new("m"), io::Error::other("gone"));
        assert_eq!(e.to_string(), "cannot read the manifest (m): gone");
        assert_eq!(e.kind(), ErrorKind::Io);
    }

    #[test]
    fn the_innermost_place_wins() {
        let e = Error::corruption("x").at_offset(7).at_offset(9).at_path("a").at_path("b");
        assert_eq!((e.offset(), e.path()), (Some(7), Some(Path::new("a"))));
    }
}
