//! Notices that the process was forked.
//!
//! A child has a copy of the memory of its parent, but none of its threads, and a lock that one of
//! them held is never released. So a handle works only in the process that opened it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict};

use crate::base::errors;

/// How many forks there are between this process and the one that imported the module.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// The process that made this value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process(u64);

impl Process {
    /// Returns the calling process.
    pub(crate) fn current() -> Self {
        Self(FORKS.load(Relaxed))
    }

    /// Raises `ClosedError` unless this is the calling process.
    pub(crate) fn expect_current(self) -> PyResult<()> {
        if self.0 == FORKS.load(Relaxed) {
            return Ok(());
        }
        Err(errors::closed(
            "this was opened before the process was forked: open it in the process that uses it",
        ))
    }
}

/// Counts all forks from now on.
pub(crate) fn watch(py: Python<'_>) -> PyResult<()> {
    let count = PyCFunction::new_closure(py, None, None, |_, _| {
        FORKS.fetch_add(1, Relaxed);
    })?;
    let options = PyDict::new(py);
    options.set_item("after_in_child", count)?;
    let os = py.import("os")?;
    // Only systems that fork have it.
    if os.hasattr("register_at_fork")? {
        os.call_method("register_at_fork", (), Some(&options))?;
    }
    Ok(())
}
