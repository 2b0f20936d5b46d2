//! The types of fingerprints, and how each looks in Python.

use std::fmt::{self, Display};

use fpdb::{Fingerprint, Sketch, Word};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

use crate::base::arrays;
use crate::base::errors;

/// A fingerprint of 64 or 128 bits, or a sketch.
pub(crate) trait Bits: Fingerprint {
    /// Converts an integer. Negative ones are bit patterns of signed integers of this width. A
    /// sketch is bytes.
    fn from_object(object: &Bound<'_, PyAny>) -> PyResult<Self>;

    /// Returns the fingerprint as what results have.
    fn value(self) -> Value;

    /// Lets `work` read a batch of fingerprints, without a copy where the object permits it.
    fn with_batch<T>(
        fingerprints: &Bound<'_, PyAny>,
        work: impl FnOnce(&[Self]) -> PyResult<T>,
    ) -> PyResult<T>;

    /// Makes an array: of `uint64`, with two columns for 128 bits, the high half first; of `V228`
    /// for sketches.
    fn into_array(fingerprints: Vec<Self>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>>;
}

/// A fingerprint of any type, for classes of Python, which cannot be generic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "there are few at a time")]
pub(crate) enum Value {
    Number(u128),
    Sketch(Sketch),
}

impl Value {
    /// Converts to an integer or to bytes. Most have 64 bits, which takes less time.
    pub(crate) fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let number = match self {
            Self::Number(number) => number,
            Self::Sketch(sketch) => return Ok(PyBytes::new(py, &bytes(sketch)).into_any()),
        };
        Ok(match u64::try_from(number) {
            Ok(number) => number.into_pyobject(py)?.into_any(),
            Err(_) => number.into_pyobject(py)?.into_any(),
        })
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number:#x}"),
            Self::Sketch(sketch) => f.write_str(&sketch.to_hex()),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Value {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.is_instance_of::<PyBytes>() {
            true => Sketch::from_object(&object).map(Self::Sketch),
            false => u128::from_object(&object).map(Self::Number),
        }
    }
}

impl<'py> IntoPyObject<'py> for Value {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)
    }
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
    fn from_object(int: &Bound<'_, PyAny>) -> PyResult<Self> {
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
        if let Some(list) = arrays::items(fingerprints, Self::from_object)? {
            return work(&list);
        }
        let array = arrays::normalized(fingerprints, "fingerprints_64")?;
        let array = array.extract::<PyReadonlyArray1<'_, u64>>()?;
        work(array.as_slice()?)
    }

    fn value(self) -> Value {
        Value::Number(self.into())
    }

    fn into_array(fingerprints: Vec<Self>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(fingerprints.into_pyarray(py).into_any())
    }
}

impl Bits for u128 {
    fn from_object(int: &Bound<'_, PyAny>) -> PyResult<Self> {
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
        if let Some(list) = arrays::items(fingerprints, Self::from_object)? {
            return work(&list);
        }
        let array = arrays::normalized(fingerprints, "fingerprints_128")?;
        let array = array.extract::<PyReadonlyArray2<'_, u64>>()?;
        let (halves, _) = array.as_slice()?.as_chunks::<2>();
        let joined: Vec<u128> =
            halves.iter().map(|&[high, low]| u128::from(high) << 64 | u128::from(low)).collect();
        work(&joined)
    }

    fn value(self) -> Value {
        Value::Number(self)
    }

    fn into_array(fingerprints: Vec<Self>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let halves = fingerprints.iter().flat_map(|f| [f.top64(), Word::from_u128(*f)]);
        let halves: Vec<u64> = halves.collect();
        let array = Array2::from_shape_vec((fingerprints.len(), 2), halves);
        Ok(array.expect("two numbers per fingerprint").into_pyarray(py).into_any())
    }
}

impl Bits for Sketch {
    fn from_object(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let refuse = |found: String| {
            format!("a sketch must be bytes of length {}, not {found}", Self::BYTES)
        };
        let bytes = bytes_of(object)
            .ok_or_else(|| arrays::type_error(refuse(arrays::type_name(object))))?;
        let bytes = bytes.as_bytes();
        let sketch = Self::read_le(bytes).filter(|_| bytes.len() == Self::BYTES);
        sketch.ok_or_else(|| errors::invalid(refuse(format!("of length {}", bytes.len()))))
    }

    fn value(self) -> Value {
        Value::Sketch(self)
    }

    fn with_batch<T>(
        sketches: &Bound<'_, PyAny>,
        work: impl FnOnce(&[Self]) -> PyResult<T>,
    ) -> PyResult<T> {
        if let Some(list) = arrays::items(sketches, Self::from_object)? {
            return work(&list);
        }
        let array = arrays::normalized(sketches, "sketches")?;
        let array = array.extract::<PyReadonlyArray2<'_, u8>>()?;
        let rows = array.as_slice()?.chunks_exact(Self::BYTES);
        let sketches: Vec<Self> = rows.filter_map(Self::read_le).collect();
        work(&sketches)
    }

    fn into_array(sketches: Vec<Self>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let bytes: Vec<u8> = sketches.iter().copied().flat_map(bytes).collect();
        bytes.into_pyarray(py).call_method1("view", (format!("V{}", Self::BYTES),))
    }
}

/// Returns the bytes of an object, which may be an item of an array.
fn bytes_of<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Some(bytes.clone());
    }
    object.call_method0("tobytes").ok()?.cast_into().ok()
}

/// Returns a sketch as Python has it: the planes, each little-endian.
fn bytes(sketch: Sketch) -> [u8; Sketch::BYTES] {
    let mut bytes = [0; Sketch::BYTES];
    sketch.put_le(&mut bytes);
    bytes
}

/// The width of sketches.
pub(crate) const SKETCH_BITS: u32 = Sketch::BITS;

/// Refuses a width other than 64 and 128, and that of sketches.
pub(crate) fn check_bits(bits: u32) -> PyResult<u32> {
    if [64, 128, SKETCH_BITS].contains(&bits) {
        return Ok(bits);
    }
    Err(errors::invalid(format!("bits {bits}: expected 64, 128, or {SKETCH_BITS} for sketches")))
}
