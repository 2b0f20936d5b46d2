//! The two widths of fingerprints, and how each looks in Python.

use fpdb::Fingerprint;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::{arrays, errors};

/// A fingerprint of 64 or 128 bits.
pub(crate) trait Bits: Fingerprint {
    /// Converts an integer. Negative ones are bit patterns of signed integers of this width.
    fn from_int(int: &Bound<'_, PyAny>) -> PyResult<Self>;

    /// Lets `work` read a batch of fingerprints, without a copy where the object permits it.
    fn with_batch<T>(
        fingerprints: &Bound<'_, PyAny>,
        work: impl FnOnce(&[Self]) -> PyResult<T>,
    ) -> PyResult<T>;

    /// Makes an array: of `uint64`, with two columns for 128 bits, the high half first.
    fn into_array(fingerprints: Vec<Self>, py: Python<'_>) -> Bound<'_, PyAny>;
}

/// Raises an exception for an object that is no fingerprint of this width.
#[cold]
fn refuse<F: Bits>(object: &Bound<'_, PyAny>) -> PyErr {
    let bits = F::BITS;
    if arrays::is_integer(object) {
        return errors::invalid(format!(
            "{object} is not a fingerprint of {bits} bits: expected an integer from -2**{} to \
             2**{bits} - 1",
            bits - 1
        ));
    }
    arrays::type_error(format!("a fingerprint must be an int, not {}", arrays::type_name(object)))
}

impl Bits for u64 {
    #[inline]
    fn from_int(int: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bits) = int.extract::<u64>() {
            return Ok(bits);
        }
        int.extract::<i64>().map(i64::cast_unsigned).map_err(|_| refuse::<Self>(int))
    }

    fn with_batch<T>(
        fingerprints: &Bound<'_, PyAny>,
        work: impl FnOnce(&[Self]) -> PyResult<T>,
    ) -> PyResult<T> {
        if let Ok(array) = fingerprints.extract::<PyReadonlyArray1<'_, u64>>()
            && let Ok(slice) = array.as_slice()
        {
            return work(slice);
        }
        if let Some(list) = arrays::integers(fingerprints, Self::from_int)? {
            return work(&list);
        }
        let array = arrays::normalized(fingerprints, "fingerprints_64")?;
        let array = array.extract::<PyReadonlyArray1<'_, u64>>()?;
        work(array.as_slice()?)
    }

    fn into_array(fingerprints: Vec<Self>, py: Python<'_>) -> Bound<'_, PyAny> {
        fingerprints.into_pyarray(py).into_any()
    }
}

impl Bits for u128 {
    fn from_int(int: &Bound<'_, PyAny>) -> PyResult<Self> {
        // A float would be truncated.
        if !arrays::is_integer(int) {
            return Err(refuse::<Self>(int));
        }
        let int = int.call_method0("__index__")?;
        // Out of range, one of these fails with an OverflowError.
        if int.lt(0)? {
            return int
                .extract::<i128>()
                .map(i128::cast_unsigned)
                .map_err(|_| refuse::<Self>(&int));
        }
        int.cast::<PyInt>()?.extract::<u128>().map_err(|_| refuse::<Self>(&int))
    }

    fn with_batch<T>(
        fingerprints: &Bound<'_, PyAny>,
        work: impl FnOnce(&[Self]) -> PyResult<T>,
    ) -> PyResult<T> {
        if let Some(list) = arrays::integers(fingerprints, Self::from_int)? {
            return work(&list);
        }
        let array = arrays::normalized(fingerprints, "fingerprints_128")?;
        let array = array.extract::<PyReadonlyArray2<'_, u64>>()?;
        let (halves, _) = array.as_slice()?.as_chunks::<2>();
        let joined: Vec<u128> =
            halves.iter().map(|&[high, low]| u128::from(high) << 64 | u128::from(low)).collect();
        work(&joined)
    }

    fn into_array(fingerprints: Vec<Self>, py: Python<'_>) -> Bound<'_, PyAny> {
        let halves = fingerprints.iter().flat_map(|f| [f.top64(), Fingerprint::from_u128(*f)]);
        let halves: Vec<u64> = halves.collect();
        let array = Array2::from_shape_vec((fingerprints.len(), 2), halves);
        array.expect("two numbers per fingerprint").into_pyarray(py).into_any()
    }
}
