//! The class of snapshots.

use pyo3::prelude::*;

use crate::reader::Reader;

/// A database as it was when snapshot() was called. It never changes, whatever is written.
#[pyclass(frozen, extends = Reader, module = "fpdb_engine")]
#[derive(Debug)]
pub(crate) struct Snapshot;

impl Snapshot {
    pub(crate) fn create(py: Python<'_>, reader: Reader) -> PyResult<Py<Self>> {
        Py::new(py, PyClassInitializer::from(reader).add_subclass(Self))
    }
}
