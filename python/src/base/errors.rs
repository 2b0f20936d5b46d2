//! Errors as Python exceptions. The classes are defined in `_errors.py`, because most of them also
//! derive from a built-in exception.

use std::io;

use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyType};

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Returns the name of the exception class for a kind of error.
fn class_of(kind: fpdb::ErrorKind) -> &'static str {
    use fpdb::ErrorKind;
    match kind {
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::AlreadyExists => "AlreadyExistsError",
        ErrorKind::Unfinished => "UnfinishedError",
        ErrorKind::Locked => "LockedError",
        ErrorKind::InvalidArgument => "InvalidArgumentError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Corruption => "CorruptionError",
        ErrorKind::Io => "IoError",
        ErrorKind::NoSpace => "NoSpaceError",
        ErrorKind::Poisoned => "PoisonedError",
        ErrorKind::Closed => "ClosedError",
        ErrorKind::Replaced => "ReplacedError",
        ErrorKind::TooManyCandidates => "TooManyCandidatesError",
        ErrorKind::Cancelled => "CancelledError",
        _ => "Error",
    }
}

/// Makes an exception of the class with this name.
fn exception<'py>(
    py: Python<'py>,
    class: &str,
    message: String,
) -> PyResult<Bound<'py, PyBaseException>> {
    let module = MODULE
        .get_or_try_init(py, || PyModule::import(py, "fpdb_engine._errors").map(Bound::unbind))?;
    let class = module.bind(py).getattr(class)?.cast_into::<PyType>()?;
    Ok(class.call1((message,))?.cast_into::<PyBaseException>()?)
}

/// Makes an exception and lets `describe` set its attributes.
fn raise(
    class: &str,
    message: String,
    describe: impl FnOnce(&Bound<'_, PyBaseException>) -> PyResult<()>,
) -> PyErr {
    Python::attach(|py| {
        let made = exception(py, class, message)
            .and_then(|exception| describe(&exception).map(|()| exception));
        made.map_or_else(|error| error, |exception| PyErr::from_value(exception.into_any()))
    })
}

/// What messages of the library call things in Rust, and what these are called here.
const NAMES: [(&str, &str); 7] = [
    ("open_read_only", "ReadOnlyDb.open()"),
    ("pass the &Recipe itself, or use RecipeName::custom", "or use custom_recipe=..."),
    ("RecipeName::custom", "custom_recipe=..."),
    (", or use ExtractionName::custom for texts that another program makes", ""),
    ("open it for 128-bit fingerprints", "open it with bits=128"),
    ("open it for sketches", "open it with bits=1824"),
    ("open it for 64-bit fingerprints", "open it with bits=64"),
];

/// Returns the message of an error of the library, in the words of Python.
fn message(error: &fpdb::Error) -> String {
    NAMES.iter().fold(error.to_string(), |message, (rust, python)| message.replace(rust, python))
}

/// Makes the exception for an error of the library.
pub(crate) fn from_fpdb(error: &fpdb::Error) -> PyErr {
    raise(class_of(error.kind()), message(error), |exception| {
        if let Some(path) = error.path() {
            set_path(exception, path)?;
        }
        exception.setattr("offset", error.offset())?;
        exception.setattr("is_retryable", error.is_retryable())?;
        let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<io::Error>());
        let number = source.and_then(io::Error::raw_os_error);
        let name = match error.kind() {
            fpdb::ErrorKind::NotFound => "ENOENT",
            fpdb::ErrorKind::AlreadyExists => "EEXIST",
            _ => "",
        };
        match number {
            Some(number) => exception.setattr("errno", number),
            None if name.is_empty() => Ok(()),
            None => exception.setattr("errno", exception.py().import("errno")?.getattr(name)?),
        }
    })
}

/// Sets `path`, and also `filename` if the exception is an `OSError`.
fn set_path(exception: &Bound<'_, PyBaseException>, path: &std::path::Path) -> PyResult<()> {
    exception.setattr("path", path.to_string_lossy())?;
    if exception.hasattr("filename")? {
        exception.setattr("filename", path.to_string_lossy())?;
    }
    Ok(())
}

/// Makes the exception for an error in a web page or an archive.
pub(crate) fn from_web(error: &fpdb_web::Error) -> PyErr {
    use fpdb_web::ErrorKind;
    let class = match error.kind() {
        ErrorKind::UnknownExtraction => "InvalidArgumentError",
        ErrorKind::Io(_) => "IoError",
        _ => "ArchiveError",
    };
    raise(class, error.to_string(), |exception| exception.setattr("offset", error.offset()))
}

/// Makes the exception for an argument that has the right type and a wrong value.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    raise("InvalidArgumentError", message.into(), |_| Ok(()))
}

/// Makes the exception for something that this database cannot do.
pub(crate) fn unsupported(message: impl Into<String>) -> PyErr {
    raise("UnsupportedError", message.into(), |_| Ok(()))
}

/// Makes the exception for a handle that was closed.
pub(crate) fn closed(message: impl Into<String>) -> PyErr {
    raise("ClosedError", message.into(), |_| Ok(()))
}

/// Makes the exception for a file that cannot be opened.
pub(crate) fn from_io(path: &std::path::Path, error: &io::Error) -> PyErr {
    let class = match error.kind() {
        io::ErrorKind::NotFound => "NotFoundError",
        _ => "IoError",
    };
    raise(class, format!("cannot open {}: {error}", path.display()), |exception| {
        set_path(exception, path)?;
        exception.setattr("errno", error.raw_os_error())
    })
}

/// Makes the exception for an error in the kept features of documents.
pub(crate) fn from_dedup(error: &fpdb_dedup::Error) -> PyErr {
    use fpdb_dedup::Error;
    let (class, path) = match error {
        Error::Index(error) => return from_fpdb(error),
        Error::File { path, source } => {
            let number = source.raw_os_error();
            return raise("IoError", error.to_string(), |exception| {
                set_path(exception, path)?;
                exception.setattr("errno", number)
            });
        }
        Error::Damaged { path, .. } => ("CorruptionError", path),
        Error::Mismatch { path, .. } => ("InvalidArgumentError", path),
        Error::Invalid { what } => return invalid(what),
        _ => return raise("Error", error.to_string(), |_| Ok(())),
    };
    raise(class, error.to_string(), |exception| set_path(exception, path))
}

/// Makes the exception for a thread that the system does not start.
pub(crate) fn no_thread(error: &io::Error) -> PyErr {
    let message = format!("cannot start a thread: {error}");
    raise("IoError", message, |exception| exception.setattr("errno", error.raw_os_error()))
}

/// Turns errors of the library into exceptions.
pub(crate) trait OrRaise<T> {
    /// Returns the value, or the exception for the error.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for fpdb::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| from_fpdb(&error))
    }
}

impl<T> OrRaise<T> for fpdb::text::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| from_fpdb(&error.into()))
    }
}

impl<T> OrRaise<T> for fpdb_dedup::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| from_dedup(&error))
    }
}

impl<T> OrRaise<T> for fpdb_web::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| from_web(&error))
    }
}
