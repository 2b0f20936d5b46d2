//! The class of databases that are open for reading only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::errors::OrRaise;
use crate::base::interrupt::cancellable;
use crate::base::width::Bits;
use crate::db::handle::{Handle, Info};
use crate::db::options;
use crate::db::reader::Reader;
use crate::db::source::{AnySource, AnyWidth, Source, at_width, map_width};
use crate::db::stats::stats;

/// A database that is open for reading only. Another process may write to it at the same time.
///
/// It shows the state at the time when it was opened, until refresh() is called.
#[pyclass(frozen, extends = Reader, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct ReadOnlyDb;

#[pymethods]
impl ReadOnlyDb {
    /// Opens a database for reading only.
    #[staticmethod]
    #[pyo3(
        signature = (path, **options),
        text_signature = "(path, *, bits=None, recipe=None, threads=None, index_memory=None, page_memory=None)"
    )]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let source = match options::bits(&path, options)? {
            64 => AnyWidth::Bits64(open(py, &path, options)?),
            128 => AnyWidth::Bits128(open(py, &path, options)?),
            _ => AnyWidth::Sketches(open(py, &path, options)?),
        };
        let info = at_width!(&source, db => Info::new(py, &path, options, db.description())?);
        let source: AnySource = map_width!(source, db => Source::ReadOnly(db));
        let reader = Reader { handle: Handle::new(Arc::new(info), source) };
        Py::new(py, PyClassInitializer::from(reader).add_subclass(Self))
    }

    /// Reads the state that the writer has reached. Returns whether there is anything new.
    ///
    /// >>> with fpdb.ReadOnlyDb.open(db.path) as reader:
    /// ...     _ = db.insert(7, 1)
    /// ...     db.sync()
    /// ...     7 in reader, reader.refresh(), 7 in reader
    /// (False, True, True)
    fn refresh(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let py = slf.py();
        let source = slf.as_super().get().handle.with_source(Clone::clone)?;
        at_width!(source, source => {
            let db = source.read_only()?;
            py.detach(|| db.refresh()).or_raise()
        })
    }

    /// Reads into memory what queries need, as far as it fits into index_memory and page_memory.
    /// The background does the same, so this is only needed by those who want to wait. Ctrl-C ends
    /// it.
    fn warm(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let source = slf.as_super().get().handle.with_source(Clone::clone)?;
        at_width!(source, source => {
            cancellable(py, source.read_only()?, fpdb::ReadOnlyDb::warm)
        })
    }

    /// Drops all pages of files from memory, as Db.release_memory does.
    ///
    /// >>> with fpdb.ReadOnlyDb.open(db.path) as reader:
    /// ...     reader.release_memory()
    fn release_memory(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let source = slf.as_super().get().handle.with_source(Clone::clone)?;
        at_width!(source, source => {
            let db = source.read_only()?;
            py.detach(|| db.release_memory());
            Ok(())
        })
    }

    /// Drops pages of files if other programs need the memory, as Db.fit_memory does.
    ///
    /// >>> with fpdb.ReadOnlyDb.open(db.path) as reader:
    /// ...     reader.fit_memory()
    fn fit_memory(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let source = slf.as_super().get().handle.with_source(Clone::clone)?;
        at_width!(source, source => {
            let db = source.read_only()?;
            py.detach(|| db.fit_memory());
            Ok(())
        })
    }

    /// Copies the database, as this handle shows it, into an empty or missing folder. Works while
    /// another process writes.
    ///
    /// >>> with fpdb.ReadOnlyDb.open(db.path) as reader:
    /// ...     reader.backup(folder / "copy.fpdb")
    fn backup(slf: &Bound<'_, Self>, path: PathBuf) -> PyResult<()> {
        let py = slf.py();
        let source = slf.as_super().get().handle.with_source(Clone::clone)?;
        at_width!(source, source => cancellable(py, source.read_only()?, |db| db.backup(path)))
    }

    /// Returns statistics about the database.
    fn stats<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let source = slf.as_super().get().handle.with_source(Clone::clone)?;
        stats(slf.py(), &source)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.as_super().get().handle.reduce(slf.py())
    }
}

fn open<F: Bits>(
    py: Python<'_>,
    path: &Path,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<fpdb::ReadOnlyDb<F>> {
    let options = options::parse::<F>(given)?;
    py.detach(|| options.open_read_only(path)).or_raise()
}
