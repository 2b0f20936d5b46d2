//! A handle: what is open, in which process, and until when.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use fpdb::Description;
use fpdb::text::Recipe;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::errors;
use crate::base::fork::Process;
use crate::base::width::Bits;
use crate::db::options;
use crate::db::source::{AnySnapshot, AnySource, Source, at_width, map_width};
use crate::text::fingerprints::stored_recipe;

/// What does not change while a database is open.
#[derive(Debug)]
pub(crate) struct Info {
    pub(crate) path: PathBuf,
    /// The options that count for reading, with which a pickled handle is opened again.
    pub(crate) reading: Py<PyDict>,
    pub(crate) description: Description,
}

impl Info {
    /// Takes what is known once a database was opened with these options.
    pub(crate) fn new(
        py: Python<'_>,
        path: &Path,
        given: Option<&Bound<'_, PyDict>>,
        description: &Description,
    ) -> PyResult<Self> {
        let reading = options::for_reading(py, given)?;
        Ok(Self { path: options::absolute(path)?, reading, description: description.clone() })
    }
}

/// What is read from, in the process that opened it, until it is closed.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) info: Arc<Info>,
    process: Process,
    /// `None` once it is closed. Locked only while the interpreter's lock is held and is not
    /// released, so that no other thread holds it when the process is forked.
    source: RwLock<Option<AnySource>>,
}

impl Handle {
    pub(crate) fn new(info: Arc<Info>, source: AnySource) -> Self {
        Self { info, process: Process::current(), source: RwLock::new(Some(source)) }
    }

    /// Returns what is read from, in the process that opened it, until it is closed.
    pub(crate) fn with_source<T>(&self, work: impl FnOnce(&AnySource) -> T) -> PyResult<T> {
        self.process.expect_current()?;
        let source = self.source.read().unwrap_or_else(PoisonError::into_inner);
        source.as_ref().map(work).ok_or_else(|| {
            errors::closed(format!("{} was closed: open it again", self.info.path.display()))
        })
    }

    /// Returns the recipe of the database, which must have one.
    pub(crate) fn stored_recipe<F: Bits>(&self) -> PyResult<Recipe<F>> {
        stored_recipe(self.info.description.recipe.as_deref(), &self.info.path)
    }

    /// Returns the state that a read sees now.
    pub(crate) fn snapshot_now(&self) -> PyResult<AnySnapshot> {
        self.with_source(|source| map_width!(source, source => source.snapshot()))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.source.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    pub(crate) fn bits(&self) -> PyResult<u32> {
        self.with_source(|_| self.info.description.bits)
    }

    /// Returns what pickle stores: how to open the database again, for reading only.
    pub(crate) fn reduce<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.with_source(|_| ())?;
        let reopen = py.import("fpdb_engine._reopen")?.getattr("reopen")?;
        let path = self.info.path.to_string_lossy();
        let arguments = (path, self.info.reading.clone_ref(py));
        Ok((reopen, arguments).into_pyobject(py)?.into_any())
    }

    /// Returns a handle of the state that a read sees now.
    pub(crate) fn snapshot(&self) -> PyResult<Self> {
        let source = map_width!(self.snapshot_now()?, snapshot => Source::Snapshot(snapshot));
        Ok(Self::new(self.info.clone(), source))
    }

    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.take()? {
            None => Ok(()),
            Some(source) => py.detach(|| at_width!(source, source => source.close())),
        }
    }

    fn take(&self) -> PyResult<Option<AnySource>> {
        self.process.expect_current()?;
        Ok(self.source.write().unwrap_or_else(PoisonError::into_inner).take())
    }
}
