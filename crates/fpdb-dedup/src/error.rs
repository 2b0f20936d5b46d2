//! The error type of this crate.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use fpdb::ErrorKind;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
///
/// # Examples
///
/// ```
/// use fpdb_dedup::{Error, FeatureStore};
///
/// let folder = std::env::temp_dir().join(format!("fpdb-dedup-{}", std::process::id()));
/// FeatureStore::open(&folder, "pairs/1", fpdb::Db::options())?.close()?;
/// let error = FeatureStore::open(&folder, "fives/1", fpdb::Db::options()).unwrap_err();
/// assert!(matches!(&error, Error::Mismatch { .. }));
/// assert!(error.to_string().contains("features of pairs/1, not of fives/1"));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A database has failed: the index of features, or the scratch database of rows.
    Index(fpdb::Error),
    /// A file cannot be read or written.
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file does not have what was written to it.
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// The file was made for something else.
    Mismatch {
        /// Which file.
        path: PathBuf,
        /// What it has, and what was expected.
        what: String,
    },
    /// Arguments do not fit together.
    Invalid {
        /// Which ones.
        what: String,
    },
    /// The caller wanted no more ([`Options::until`](crate::Options::until)).
    Cancelled,
}

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }
}

impl From<fpdb::Error> for Error {
    fn from(error: fpdb::Error) -> Self {
        match error.kind() {
            ErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Index(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(error) => error.fmt(f),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Damaged { path, what } => write!(
                f,
                "{}: {what}; without the folder of this file, documents are compared by their \
                 sketches",
                path.display()
            ),
            Self::Mismatch { path, what } => write!(f, "{}: {what}", path.display()),
            Self::Invalid { what } => f.write_str(what),
            Self::Cancelled => f.write_str("cancelled by the caller"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Index(error) => Some(error),
            Self::File { source, .. } => Some(source),
            Self::Damaged { .. }
            | Self::Mismatch { .. }
            | Self::Invalid { .. }
            | Self::Cancelled => None,
        }
    }
}
