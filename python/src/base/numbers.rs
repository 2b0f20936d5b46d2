//! Single numbers that callers pass.

use fpdb::Within;
use pyo3::prelude::*;

use crate::base::arrays;
use crate::base::errors;

/// A distance in bits. Any number of bits above the width means all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distance(pub(crate) u32);

impl<'py> FromPyObject<'_, 'py> for Distance {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(distance) = object.extract::<u32>() {
            return Ok(Self(distance));
        }
        if !arrays::is_integer(&object) {
            let name = arrays::type_name(&object);
            return Err(arrays::type_error(format!("a distance must be an int, not {name}")));
        }
        if object.lt(0)? {
            return Err(errors::invalid(format!("distance {}: expected 0 or more", &*object)));
        }
        Ok(Self(u32::MAX))
    }
}

/// What prevents a write: a distance, or "rule" for the database's match rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Near(pub(crate) Within);

impl<'py> FromPyObject<'_, 'py> for Near {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<String>() {
            Ok(name) if name == "rule" => Ok(Self(Within::Rule)),
            Ok(_) => Err(arrays::type_error(
                "a distance must be an int, not str, unless it is \"rule\"".to_owned(),
            )),
            Err(_) => object.extract().map(|Distance(distance)| Self(Within::Distance(distance))),
        }
    }
}

/// The distance of a search: the database's match rule unless the caller gave one.
pub(crate) fn within(distance: Option<Distance>) -> Within {
    distance.map_or(Within::Rule, |Distance(distance)| Within::Distance(distance))
}

/// A count, a size in bytes, an id or a stamp: 0 to 2^64 - 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        arrays::number(&object, "the number").map(Self)
    }
}

impl Number {
    /// Returns the number as a count of things in memory.
    pub(crate) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}
