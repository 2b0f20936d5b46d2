//! Numbers that callers pass in bulk: numpy arrays, Arrow arrays, and lists.

use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList, PyModule, PyTuple};

use crate::base::errors;

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Returns an attribute of the Python module `_arrays`.
pub(crate) fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let module = MODULE
        .get_or_try_init(py, || PyModule::import(py, "fpdb_engine._arrays").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// Lets a function of `_arrays` make a contiguous array, or refuse the object.
pub(crate) fn normalized<'py>(
    object: &Bound<'py, PyAny>,
    function: &str,
) -> PyResult<Bound<'py, PyAny>> {
    helper(object.py(), function)?.call1((object,))
}

/// Converts a list or a tuple item by item. Returns `None` for everything else.
pub(crate) fn items<T>(
    object: &Bound<'_, PyAny>,
    convert: impl Fn(&Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Option<Vec<T>>> {
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().map(|item| convert(&item)).collect::<PyResult<_>>().map(Some);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return tuple.iter().map(|item| convert(&item)).collect::<PyResult<_>>().map(Some);
    }
    Ok(None)
}

/// Lets `work` read numbers from 0 to 2^64 - 1, such as ids. `what` names one of them.
pub(crate) fn with_numbers<T>(
    numbers: &Bound<'_, PyAny>,
    what: &str,
    work: impl FnOnce(&[u64]) -> PyResult<T>,
) -> PyResult<T> {
    if let Ok(array) = numbers.extract::<PyReadonlyArray1<'_, u64>>()
        && let Ok(slice) = array.as_slice()
    {
        return work(slice);
    }
    if let Some(list) = items(numbers, |item| number(item, what))? {
        return work(&list);
    }
    let array = helper(numbers.py(), "numbers")?.call1((numbers, what))?;
    let array = array.extract::<PyReadonlyArray1<'_, u64>>()?;
    work(array.as_slice()?)
}

/// Converts a number from 0 to 2^64 - 1. `what` is its name in messages.
#[inline]
pub(crate) fn number(object: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    object.extract::<u64>().map_err(|_| {
        if is_integer(object) {
            return errors::invalid(format!("{what} {object}: expected 0 to 2**64 - 1"));
        }
        type_error(format!("{what} must be an int, not {}", type_name(object)))
    })
}

/// Returns whether an object is an integer: an `int`, or a number of numpy.
pub(crate) fn is_integer(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>()
        || object.hasattr("__index__").unwrap_or(false) && object.cast::<PyUntypedArray>().is_err()
}

pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string())
}

pub(crate) fn type_error(message: String) -> PyErr {
    PyTypeError::new_err(message)
}

/// Makes an array without copying the numbers.
pub(crate) fn array<T: numpy::Element>(py: Python<'_>, numbers: Vec<T>) -> Bound<'_, PyAny> {
    PyArray1::from_vec(py, numbers).into_any()
}

/// Returns a distance, which is at most 128, as a byte.
pub(crate) fn byte(distance: u32) -> u8 {
    u8::try_from(distance).unwrap_or(u8::MAX)
}
