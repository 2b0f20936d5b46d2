//! The error type of the crate. Its kinds say what the caller can do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of every fallible operation of this crate.
///
/// # Examples
///
/// ```
/// fn count(path: &str) -> fpdb::Result<u64> {
///     Ok(fpdb::Db::open_read_only(path)?.snapshot().len())
/// }
/// assert!(count("no/such/folder").is_err());
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an [`Error`], which decides what the caller can do about it.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, ErrorKind};
///
/// match Db::options().open("no/such/folder") {
///     Ok(_) => println!("opened"),
///     Err(error) if error.kind() == ErrorKind::NotFound => println!("create it first"),
///     Err(error) => eprintln!("{error}"),
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no database, or no such file, at this path. Create a database there, or correct the
    /// path.
    NotFound,
    /// There is already something at this path. Open it, or choose another path.
    AlreadyExists,
    /// A backup, merge or rebuild was to create this database and did not finish. Repeat it, or
    /// remove the folder.
    Unfinished,
    /// Another handle or process is writing to this database. Wait until it has closed the
    /// database, or open the database read-only.
    Locked,
    /// An argument or option is out of range, or does not fit this database. Correct the call.
    InvalidArgument,
    /// The file is intact, but a newer version of this crate wrote it, or it is for another width
    /// or recipe. The message says what was found and what this build supports: upgrade, or open
    /// the database with the type and options that it was created with.
    Unsupported,
    /// Bytes on disk are not what was written. Run [`Db::verify`](crate::Db::verify) to find all
    /// damage, then restore a backup.
    Corruption,
    /// The operating system reported a failure, which [`source`](std::error::Error::source) holds.
    /// Remove the cause. Then repeat the call if the error [is retryable](Error::is_retryable), or
    /// else open the database again.
    Io,
    /// The disk is full, the quota is used up, or an operation was not begun because the disk has
    /// too little free space for it. Free some space. Then repeat the call if the error
    /// [is retryable](Error::is_retryable), or else open the database again.
    NoSpace,
    /// An earlier write or sync failed, so that what is on disk is unknown and this handle accepts
    /// no more writes. Open the database again: recovery finds out what is on disk.
    Poisoned,
    /// The handle was closed, by this clone or another one, or this process was forked from the one
    /// that opened it. Open the database again.
    Closed,
    /// The folder, or its lock file, manifest or log, was moved, removed or replaced while it was
    /// open, for instance by a restored backup. Nothing that is there now was changed. Open the
    /// database again.
    Replaced,
    /// The keys of a sketch lead to more documents than one query may read
    /// ([`candidate_pages`](crate::Options::candidate_pages)). Allow more, or insert the document
    /// without asking whether it is novel.
    TooManyCandidates,
    /// The caller's progress function cancelled the operation, and nothing has changed. Repeat the
    /// call to start over.
    Cancelled,
}

/// A failure: its [kind](Error::kind), a message, and where it happened.
///
/// The message says what happened and what the caller can do. Errors are cheap to clone, so that
/// one failure can be reported to every caller that it affects.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, ErrorKind};
/// let error = Db::options().open("no/such/folder").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// assert!(error.to_string().contains("no/such/folder"));
/// assert_eq!(error.path(), Some("no/such/folder".as_ref()));
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    offset: Option<u64>,
    source: Option<Arc<io::Error>>,
    /// Whether the handle that reports this error can no longer be used.
    fatal: bool,
    /// Whether this keeps every write from being accepted.
    stops_writes: bool,
}

impl Error {
    /// Makes an error of `kind` with a message that says what happened and what to do.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            path: None,
            offset: None,
            source: None,
            fatal: false,
            stops_writes: false,
        }))
    }

    /// Makes an error for an argument that is not accepted.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Makes an error for an index of passages that is used as a database of fingerprints.
    pub(crate) fn is_index() -> Self {
        let message = "this is an index of passages: open it with fpdb::passages::Index, or PassageIndex in Python; \
                       other programs can read it";
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Makes an error for damaged bytes. The reader that knows the file adds path and offset.
    pub(crate) fn corruption(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corruption, message)
    }

    /// Makes an error for a failed system call. `doing` completes the sentence "cannot ...".
    pub(crate) fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
            _ => ErrorKind::Io,
        };
        let mut error = Self::new(kind, format!("cannot {doing}"));
        error.0.path = Some(path.to_owned());
        error.0.source = Some(Arc::new(source));
        error
    }

    /// Makes an error for a batch that the caller's own function ended. Its kind is always
    /// [`Io`](ErrorKind::Io): a full disk to which the caller writes is not the database's disk.
    pub(crate) fn ended_by_caller(path: &Path, source: io::Error) -> Self {
        let message = "cannot go on, because the caller ended the batch";
        let mut error = Self::new(ErrorKind::Io, message).at_path(path);
        error.0.source = Some(Arc::new(source));
        error
    }

    /// Makes an error that the caller's own iterator can return when it cannot read its input.
    ///
    /// An operation that consumes the iterator, such as [`Db::bulk_load`](crate::Db::bulk_load),
    /// stops and returns this error.
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
        error.0.source = Some(Arc::new(source));
        error.into_fatal()
    }

    /// Sets the file or folder concerned, unless one is set already: the innermost place counts.
    pub(crate) fn at_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path.get_or_insert_with(|| path.into());
        self
    }

    /// Sets the byte offset in the file, unless one is set already.
    pub(crate) fn at_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Returns another error about the same failure, with another kind and a prefixed message.
    pub(crate) fn repeat_as(&self, kind: ErrorKind, prefix: &str) -> Self {
        let mut error = self.clone();
        error.0.message = format!("{prefix}{}", error.0.message);
        error.0.kind = kind;
        error
    }

    /// Marks the error as one after which repeating the call is of no use.
    pub(crate) fn into_fatal(mut self) -> Self {
        self.0.fatal = true;
        self
    }

    /// Marks the error as one that every write meets.
    pub(crate) fn into_obstacle(mut self) -> Self {
        self.0.stops_writes = true;
        self
    }

    /// Returns the kind of failure, which decides what the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns whether the same call on the same handle can succeed once the cause is removed.
    ///
    /// It can for [`Locked`](ErrorKind::Locked), and for those [`Io`](ErrorKind::Io) and
    /// [`NoSpace`](ErrorKind::NoSpace) failures after which the handle still knows what is on disk.
    /// A flush that failed because the disk was full is retryable: no data is lost, and the same
    /// call succeeds once there is space. A failed write or sync of the log is not: the handle
    /// accepts no more writes, and the database has to be opened again.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::{Db, ErrorKind};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("crawl.fpdb");
    /// let db = Db::options().create(&path)?;
    /// let error = Db::options().open(&path).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Locked);
    /// assert!(error.is_retryable());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        !self.0.fatal
            && matches!(self.0.kind, ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Locked)
    }

    /// Returns whether every other write fails as well until the cause is removed, whatever it
    /// writes, so that it is of no use to try the parts of a batch one by one.
    ///
    /// This is so if recent entries cannot be flushed and there is no room for more in memory, and
    /// if the handle is poisoned, closed or replaced. A disk that is nearly full stops only writes
    /// that need space.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Db;
    ///
    /// let db = Db::options().in_memory()?;
    /// db.clone().close()?;
    /// assert!(db.insert(7, 1).unwrap_err().stops_all_writes());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn stops_all_writes(&self) -> bool {
        let is_unusable =
            |kind| matches!(kind, ErrorKind::Poisoned | ErrorKind::Closed | ErrorKind::Replaced);
        self.0.stops_writes || is_unusable(self.0.kind)
    }

    /// Returns the file or folder concerned, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the byte offset in that file, if it is known.
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

/// The kind, the message as displayed, and the path and offset, if there are any.
#[cfg(feature = "serde")]
impl serde::Serialize for Error {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let mut error = serializer.serialize_struct("Error", 4)?;
        error.serialize_field("kind", &self.kind())?;
        error.serialize_field("message", &self.to_string())?;
        // A path that is not UTF-8 is no error.
        error.serialize_field("path", &self.path().map(Path::to_string_lossy))?;
        error.serialize_field("offset", &self.offset())?;
        error.end()
    }
}

#[cfg(feature = "text")]
impl From<fpdb_text::Error> for Error {
    fn from(error: fpdb_text::Error) -> Self {
        let kind = match error.kind() {
            fpdb_text::ErrorKind::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::InvalidArgument,
        };
        Self::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_says_what_failed_where_and_why() {
        let e = Error::corruption("block out of order").at_path("x/t.fpt").at_offset(4096);
        assert_eq!(e.to_string(), "block out of order (x/t.fpt, byte 4096)");
        let e = Error::io("read the manifest", Path::new("m"), io::Error::other("gone"));
        assert_eq!(e.to_string(), "cannot read the manifest (m): gone");
        assert_eq!(e.kind(), ErrorKind::Io);
    }

    #[test]
    fn full_disks_and_used_up_quotas_are_their_own_kind() {
        for full in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let error = Error::io("write the table", Path::new("t"), full.into());
            assert_eq!(error.kind(), ErrorKind::NoSpace);
            assert!(error.is_retryable());
            assert!(!error.into_fatal().is_retryable());
            assert_eq!(Error::ended_by_caller(Path::new("t"), full.into()).kind(), ErrorKind::Io);
            assert_eq!(Error::from_input(full.into()).kind(), ErrorKind::Io);
        }
    }

    #[cfg(feature = "text")]
    #[test]
    fn errors_of_recipes_keep_their_kind_and_message() {
        let from = fpdb_text::Recipe::named("words/999").unwrap_err();
        let error = Error::from(from.clone());
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.to_string(), from.to_string());
    }

    #[test]
    fn the_innermost_place_is_kept() {
        let e = Error::corruption("x").at_offset(7).at_offset(9).at_path("a").at_path("b");
        assert_eq!((e.offset(), e.path()), (Some(7), Some(Path::new("a"))));
    }

    #[test]
    fn io_errors_are_retryable_unless_marked_fatal() {
        let failed = || Error::io("write the table", Path::new("t"), io::Error::other("gone"));
        assert!(failed().is_retryable());
        assert!(failed().repeat_as(ErrorKind::Io, "in the background: ").is_retryable());
        assert!(!failed().into_fatal().is_retryable());
        assert!(!failed().into_fatal().clone().is_retryable());
        assert!(!failed().repeat_as(ErrorKind::Poisoned, "").is_retryable());
        assert!(!Error::from_input(io::Error::other("line 3")).is_retryable());
    }
}
