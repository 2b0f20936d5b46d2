//! What methods return.

use fpdb::DocId;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::base::errors;
use crate::base::width::{Bits, Value};

/// An entry within the distance of a query.
#[pyclass(frozen, eq, hash, from_py_object, module = "fpdb_engine")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Match {
    /// Distance of its fingerprint from the query's.
    #[pyo3(get)]
    distance: u32,
    fingerprint: Value,
    /// The id of its document.
    #[pyo3(get)]
    id: u64,
}

impl<F: Bits> From<fpdb::Match<F>> for Match {
    fn from(found: fpdb::Match<F>) -> Self {
        let fpdb::Match { distance, fingerprint, id } = found;
        Self { distance, fingerprint: fingerprint.value(), id: id.0 }
    }
}

#[pymethods]
impl Match {
    #[new]
    fn new(distance: u32, fingerprint: Value, id: u64) -> Self {
        Self { distance, fingerprint, id }
    }

    /// Its fingerprint.
    #[getter]
    fn fingerprint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fingerprint.object(py)
    }

    fn __getnewargs__(&self) -> (u32, Value, u64) {
        (self.distance, self.fingerprint, self.id)
    }

    fn __repr__(&self) -> String {
        let Self { distance, fingerprint, id } = self;
        format!("Match(distance={distance}, fingerprint={fingerprint}, id={id})")
    }
}

/// What a database knows about a document.
#[pyclass(frozen, eq, hash, module = "fpdb_engine")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Document {
    fingerprint: Value,
    /// Its id.
    #[pyo3(get)]
    id: u64,
    /// The greatest stamp that was given, if any was.
    #[pyo3(get)]
    stamp: Option<u64>,
    /// The id of the document of which it was a duplicate when it was last written. `None` for an
    /// original.
    #[pyo3(get)]
    duplicate_of: Option<u64>,
}

impl<F: Bits> From<fpdb::Document<F>> for Document {
    fn from(document: fpdb::Document<F>) -> Self {
        Self {
            fingerprint: document.fingerprint.value(),
            id: document.id.0,
            stamp: document.stamp,
            duplicate_of: document.duplicate_of.map(|DocId(id)| id),
        }
    }
}

#[pymethods]
impl Document {
    #[new]
    #[pyo3(signature = (fingerprint, id, stamp=None, duplicate_of=None))]
    fn new(fingerprint: Value, id: u64, stamp: Option<u64>, duplicate_of: Option<u64>) -> Self {
        Self { fingerprint, id, stamp, duplicate_of }
    }

    /// Its fingerprint.
    #[getter]
    fn fingerprint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fingerprint.object(py)
    }

    fn __getnewargs__(&self) -> (Value, u64, Option<u64>, Option<u64>) {
        (self.fingerprint, self.id, self.stamp, self.duplicate_of)
    }

    fn __repr__(&self) -> String {
        let Self { fingerprint, id, stamp, duplicate_of } = self;
        format!(
            "Document(fingerprint={fingerprint}, id={id}, stamp={}, duplicate_of={})",
            or_none(*stamp),
            or_none(*duplicate_of)
        )
    }
}

/// Formats a number as Python does.
fn or_none<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "None".to_owned(), |value| value.to_string())
}

/// What became of a document that was written. True in conditions unless it is a duplicate.
#[pyclass(frozen, eq, hash, module = "fpdb_engine")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Outcome {
    /// "inserted", "unchanged", "updated", "duplicate" or "exists".
    #[pyo3(get)]
    kind: &'static str,
    /// The id of the document, or of the one that it duplicates.
    #[pyo3(get)]
    id: u64,
    replaced: Option<Value>,
    /// The distance of the fingerprint from the one that it replaced or duplicates, or that exists.
    #[pyo3(get)]
    distance: Option<u32>,
    /// The nearest other document within the distance, if the document is a duplicate.
    #[pyo3(get)]
    duplicate_of: Option<Match>,
}

impl<F: Bits> From<fpdb::Outcome<F>> for Outcome {
    fn from(outcome: fpdb::Outcome<F>) -> Self {
        let DocId(id) = outcome.id();
        let of_kind = |kind| Self { kind, id, replaced: None, distance: None, duplicate_of: None };
        match outcome {
            fpdb::Outcome::Inserted(_) => of_kind("inserted"),
            fpdb::Outcome::Unchanged(_) => of_kind("unchanged"),
            fpdb::Outcome::UnchangedDuplicate { of, .. } => Self {
                distance: Some(of.distance),
                duplicate_of: Some(of.into()),
                ..of_kind("unchanged")
            },
            fpdb::Outcome::Updated { from, distance, .. } => Self {
                replaced: Some(from.value()),
                distance: Some(distance),
                ..of_kind("updated")
            },
            fpdb::Outcome::Duplicate(found) => Self {
                distance: Some(found.distance),
                duplicate_of: Some(found.into()),
                ..of_kind("duplicate")
            },
            fpdb::Outcome::Exists(found) => {
                Self { distance: Some(found.distance), ..of_kind("exists") }
            }
        }
    }
}

#[pymethods]
impl Outcome {
    #[new]
    #[pyo3(signature = (kind, id, replaced=None, distance=None, duplicate_of=None))]
    fn new(
        kind: &str,
        id: u64,
        replaced: Option<Value>,
        distance: Option<u32>,
        duplicate_of: Option<Match>,
    ) -> PyResult<Self> {
        const KINDS: [&str; 5] = ["inserted", "unchanged", "updated", "duplicate", "exists"];
        let Some(kind) = KINDS.into_iter().find(|known| *known == kind) else {
            return Err(errors::invalid(format!("kind {kind:?}: expected {}", KINDS.join(", "))));
        };
        Ok(Self { kind, id, replaced, distance, duplicate_of })
    }

    fn __getnewargs__(&self) -> (&str, u64, Option<Value>, Option<u32>, Option<Match>) {
        (self.kind, self.id, self.replaced, self.distance, self.duplicate_of)
    }

    /// The fingerprint that was replaced, if the document was updated.
    #[getter]
    fn replaced<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.replaced.map(|fingerprint| fingerprint.object(py)).transpose()
    }

    fn __bool__(&self) -> bool {
        self.duplicate_of.is_none()
    }

    fn __repr__(&self) -> String {
        let Self { kind, id, replaced, distance, duplicate_of } = self;
        match (duplicate_of, replaced, distance) {
            (Some(found), ..) => format!("Outcome('{kind}', duplicate_of={})", found.__repr__()),
            (None, Some(replaced), Some(distance)) => {
                format!("Outcome('{kind}', id={id}, replaced={replaced}, distance={distance})")
            }
            (None, None, Some(distance)) => {
                format!("Outcome('{kind}', id={id}, distance={distance})")
            }
            _ => format!("Outcome('{kind}', id={id})"),
        }
    }
}

/// Makes a named tuple of the class with this name in `_results.py`.
pub(crate) fn named_tuple<'py>(
    py: Python<'py>,
    class: &str,
    fields: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("fpdb_engine._results")?.getattr(class)?.call1(fields.into_pyobject(py)?)
}
