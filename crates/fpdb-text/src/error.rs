//! What can go wrong: a name or a setting that does not work.

use std::fmt;

/// The result of every fallible operation of this crate.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
///
/// fn recipe_of(language: &str) -> fpdb_text::Result<Recipe> {
///     Recipe::named(if language == "zh" { "default-zh" } else { "default" })
/// }
/// assert_eq!(recipe_of("en")?.name(), "pairs/1");
/// # Ok::<(), fpdb_text::Error>(())
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an [`Error`], which says what the caller can do about it.
///
/// # Examples
///
/// ```
/// use fpdb_text::{ErrorKind, Recipe};
///
/// let error = Recipe::named("wrods/1").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A name or a setting is wrong. Correct the call.
    InvalidArgument,
    /// This build cannot do it: a cargo feature is missing, or a dictionary is not the one that
    /// the recipe is made with. Build with what the message names.
    Unsupported,
}

/// A failure: its [kind](Error::kind), and a sentence that says what is wrong and what would work.
///
/// # Examples
///
/// ```
/// use fpdb_text::{ErrorKind, Recipe};
/// let error = Recipe::named("wrods/1").unwrap_err();
/// assert!(error.to_string().starts_with("no recipe \"wrods/1\""));
/// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    /// An argument that is wrong.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::InvalidArgument, message: message.into() }
    }

    /// Something that this build cannot do.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Unsupported, message: message.into() }
    }

    /// Returns the kind, which says what the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)
    }
}

impl std::error::Error for Error {}
