//! Strings that callers pass in bulk: lists of `str`, and Arrow arrays, which are not copied.

use numpy::PyReadonlyArray1;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString};

use crate::base::arrays;
use crate::base::errors;

/// Strings, some of which may be missing.
#[derive(Debug)]
pub(crate) enum Strings<'py> {
    List(Vec<Option<Utf8>>),
    Arrow(Vec<ArrowStrings<'py>>),
}

/// A `str` in UTF-8.
#[derive(Debug)]
pub(crate) enum Utf8 {
    /// As Python has it.
    Ascii(PyBackedStr),
    /// A copy of our own. Python would keep its copy as long as the `str`, so a list of Chinese
    /// texts would take more than twice the memory once it was read.
    Encoded(PyBackedBytes),
}

/// A chunk of an Arrow array of strings.
#[derive(Debug)]
pub(crate) struct ArrowStrings<'py> {
    /// Where each string begins, and where the last one ends.
    offsets: PyReadonlyArray1<'py, i64>,
    bytes: PyReadonlyArray1<'py, u8>,
    /// Which strings are missing, if any is.
    missing: Option<PyReadonlyArray1<'py, bool>>,
}

/// The columns of a chunk, as the Python side makes them.
type Columns<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>, Option<PyReadonlyArray1<'py, bool>>);

impl<'py> From<Columns<'py>> for ArrowStrings<'py> {
    fn from((offsets, bytes, missing): Columns<'py>) -> Self {
        Self { offsets, bytes, missing }
    }
}

impl<'py> Strings<'py> {
    /// Takes what a caller passed. `what` names one of the strings.
    pub(crate) fn new(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            return Err(arrays::type_error(format!("expected a list of {what}s, not a str")));
        }
        let py = object.py();
        let chunks = arrays::helper(py, "arrow_strings")?.call1((object,))?;
        if !chunks.is_none() {
            let chunks = chunks.extract::<Vec<Columns<'py>>>()?;
            return Ok(Self::Arrow(chunks.into_iter().map(ArrowStrings::from).collect()));
        }
        let mut list = Vec::with_capacity(object.len().unwrap_or(0));
        for item in object.try_iter()? {
            let item = item?;
            list.push(match item.cast::<PyString>() {
                Ok(string) => Some(Utf8::new(string)?),
                Err(_) if is_missing(&item) => None,
                Err(_) => {
                    let (at, name) = (list.len(), arrays::type_name(&item));
                    let message = format!("{what} {at} must be a str, not {name}");
                    return Err(arrays::type_error(message));
                }
            });
        }
        Ok(Self::List(list))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Arrow(chunks) => chunks.iter().map(ArrowStrings::len).sum(),
        }
    }

    /// Returns the strings, with `None` for each that is missing.
    pub(crate) fn all(&self) -> PyResult<Vec<Option<&str>>> {
        match self {
            Self::List(list) => {
                list.iter().map(|it| it.as_ref().map(Utf8::as_str).transpose()).collect()
            }
            Self::Arrow(chunks) => {
                let mut all = Vec::with_capacity(self.len());
                chunks.iter().try_for_each(|chunk| chunk.append_to(&mut all))?;
                Ok(all)
            }
        }
    }

    /// Returns the strings, none of which may be missing.
    pub(crate) fn all_present(&self) -> PyResult<Vec<&str>> {
        let present = |(at, string): (usize, Option<_>)| {
            string.ok_or_else(|| errors::invalid(format!("name {at} is missing")))
        };
        self.all()?.into_iter().enumerate().map(present).collect()
    }
}

impl Utf8 {
    fn new(string: &Bound<'_, PyString>) -> PyResult<Self> {
        let py = string.py();
        if string.call_method0(intern!(py, "isascii"))?.is_truthy()? {
            return Ok(Self::Ascii(string.clone().try_into()?));
        }
        let encoded = string.call_method0(intern!(py, "encode"))?.cast_into::<PyBytes>()?;
        Ok(Self::Encoded(encoded.into()))
    }

    fn as_str(&self) -> PyResult<&str> {
        match self {
            Self::Ascii(string) => Ok(string),
            Self::Encoded(bytes) => {
                std::str::from_utf8(bytes).map_err(|error| errors::invalid(error.to_string()))
            }
        }
    }
}

/// Returns whether an object stands for a missing string: `None`, or what pandas has instead.
fn is_missing(item: &Bound<'_, PyAny>) -> bool {
    item.is_none()
        || item.extract::<f64>().is_ok_and(f64::is_nan)
        || arrays::type_name(item) == "NAType"
}

impl ArrowStrings<'_> {
    fn len(&self) -> usize {
        self.offsets.len().unwrap_or(0).saturating_sub(1)
    }

    fn append_to<'a>(&'a self, all: &mut Vec<Option<&'a str>>) -> PyResult<()> {
        let (offsets, bytes) = (self.offsets.as_slice()?, self.bytes.as_slice()?);
        let missing = self.missing.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        for (at, range) in offsets.windows(2).enumerate() {
            if missing.is_some_and(|missing| missing.get(at) == Some(&true)) {
                all.push(None);
                continue;
            }
            let range = |i: usize| range.get(i).and_then(|&offset| usize::try_from(offset).ok());
            let string = range(0).zip(range(1)).and_then(|(from, to)| bytes.get(from..to));
            let string = string.and_then(|bytes| std::str::from_utf8(bytes).ok());
            let not_text = || errors::invalid(format!("string {} is not UTF-8", all.len()));
            all.push(Some(string.ok_or_else(not_text)?));
        }
        Ok(())
    }
}
