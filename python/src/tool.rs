//! The command-line tool.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs fpdb-tool with these arguments, and returns its exit code. The first argument is the
/// program's name.
#[pyfunction]
pub(crate) fn run_tool(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| fpdb_tool::run_in_terminal(args))
}
