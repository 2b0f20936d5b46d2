"""Turns what callers pass into arrays that the extension module reads without a copy.

The extension module itself handles contiguous arrays of uint64, lists and tuples, and asks for
everything else here.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]

# Bytes of a sketch.
SKETCH = 228


def _array(values: Any, what: str) -> npt.NDArray[Any]:
    """Returns an array of the same memory, if the object permits that."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{what} must be an array or a list, not {type(values).__name__}")
    missing = _missing(values)
    if missing:
        from ._errors import InvalidArgumentError

        raise InvalidArgumentError(f"{what}: {missing} of {len(values)} are missing; leave out their rows")
    array = np.asarray(values)
    if array.dtype == object and np.ndim(array) == 0:
        # An iterator, a set, or something else that numpy takes for a single object.
        raise TypeError(f"{what} must be an array or a list, not {type(values).__name__}")
    return array


def _missing(values: Any) -> int:
    """Returns how many values of an Arrow array or a series are missing."""
    count = getattr(values, "null_count", None)
    if count is None and hasattr(values, "isna"):
        count = values.isna().sum()
    return int(count() if callable(count) else count or 0)


def _refuse(array: npt.NDArray[Any], expected: str) -> TypeError:
    hint = ""
    if array.dtype.kind == "f":
        hint = "; floats lose bits of large numbers, and missing values turn integers into floats"
    return TypeError(f"expected {expected}, not {array.dtype} of shape {array.shape}{hint}")


def fingerprints_64(values: Any) -> U64:
    """Returns fingerprints of 64 bits. Those of int64 are bit patterns.

    >>> fingerprints_64(np.array([-1, 1])[::-1]).tolist()
    [1, 18446744073709551615]
    """
    array = _array(values, "fingerprints")
    if array.ndim != 1 or not _has_64_bits(array):
        raise _refuse(array, "fingerprints of 64 bits as a one-dimensional array of uint64 or int64")
    return _plain(array).view(np.uint64)


def fingerprints_128(values: Any) -> U64:
    """Returns fingerprints of 128 bits as two columns, the high half first.

    >>> fingerprints_128(np.array([(1 << 64 | 2).to_bytes(16, "big")], "V16")).tolist()
    [[1, 2]]
    """
    array = _array(values, "fingerprints")
    if array.ndim == 1 and array.dtype.kind in "SV" and array.dtype.itemsize == 16:
        halves = np.ascontiguousarray(array).view(">u8").reshape(-1, 2)
        return np.ascontiguousarray(halves, dtype=np.uint64)
    is_halves = array.ndim == 2 and array.shape[1] == 2
    if not is_halves or not _has_64_bits(array):
        raise _refuse(
            array,
            "fingerprints of 128 bits as an array of uint64 with two columns, the high half first, "
            "or of 16 bytes each, big-endian",
        )
    return _plain(array).view(np.uint64)


def sketches(values: Any) -> npt.NDArray[np.uint8]:
    """Returns sketches as rows of bytes.

    >>> sketches(np.array([bytes(range(228))], "V228"))[0, :4].tolist()
    [0, 1, 2, 3]
    """
    array = _array(values, "sketches")
    if array.ndim == 1 and array.dtype == object and all(_is_sketch(value) for value in array):
        array = np.frombuffer(b"".join(array), f"V{SKETCH}")
    is_bytes = array.dtype.kind in "SV" and array.dtype.itemsize == SKETCH
    is_rows = array.ndim == 2 and array.shape[1] == SKETCH and array.dtype == np.uint8
    if not is_rows and not (array.ndim == 1 and is_bytes):
        raise _refuse(array, f"sketches as an array of {SKETCH} bytes each")
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1, SKETCH)


def _is_sketch(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) == SKETCH


def numbers(values: Any, what: str) -> U64:
    """Returns numbers from 0 to 2**64 - 1, given as integers of any size.

    >>> numbers(np.arange(3, dtype=np.int32), "id").tolist()
    [0, 1, 2]
    """
    array = _array(values, f"{what}s")
    if array.ndim != 1 or array.dtype.kind not in "ui":
        raise _refuse(array, f"{what}s as a one-dimensional array of integers")
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        from ._errors import InvalidArgumentError

        raise InvalidArgumentError(f"{what} {array.min()}: expected 0 to 2**64 - 1")
    return _plain(array.astype(np.uint64, copy=False))


def values_of_texts(values: Any) -> U64:
    """Returns minima or smallest values, a row for each text.

    >>> values_of_texts([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    array = _array(values, "minima")
    if isinstance(values, (list, tuple)) and array.dtype.kind == "i" and (array >= 0).all():
        array = array.astype(np.uint64)
    if array.ndim != 2 or array.dtype.kind != "u" or array.dtype.itemsize != 8:
        raise _refuse(array, "minima or smallest values as an array of uint64 with a row for each text")
    return _plain(array)


def _has_64_bits(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind in "ui" and array.dtype.itemsize == 8


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the array contiguous, aligned and in the byte order of the machine."""
    return np.require(array, array.dtype.newbyteorder("="), ["C_CONTIGUOUS", "ALIGNED"])


def arrow_strings(values: Any) -> list[tuple[Any, ...]] | None:
    """Returns the chunks of an Arrow array of strings, or None for everything else.

    A chunk is where each string begins, their bytes, and which of them are missing.
    """
    if not (hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")):
        return None
    try:
        import pyarrow as pa
    except ImportError:
        # Without pyarrow, strings are taken one by one.
        return None
    if hasattr(values, "__arrow_c_stream__"):
        chunks = pa.chunked_array(values).chunks
    else:
        chunks = [pa.array(values)]
    return [_chunk(pa, chunk) for chunk in chunks]


def _chunk(pa: Any, chunk: Any) -> tuple[Any, ...]:
    if not (
        pa.types.is_string(chunk.type)
        or pa.types.is_large_string(chunk.type)
        or pa.types.is_string_view(chunk.type)
        or pa.types.is_dictionary(chunk.type)
        or pa.types.is_null(chunk.type)
    ):
        raise TypeError(f"expected strings, not an Arrow array of {chunk.type}")
    if pa.types.is_dictionary(chunk.type):
        # Those of Polars have views, from which Arrow can take nothing.
        chunk = pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
    if not pa.types.is_large_string(chunk.type):
        # Copies only the offsets of ordinary strings.
        chunk = chunk.cast(pa.large_string())
    _, offsets, data = chunk.buffers()
    begins = _view(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
    missing = None
    if chunk.null_count:
        missing = np.ascontiguousarray(chunk.is_null().to_numpy(zero_copy_only=False))
    return begins, _view(data, np.uint8), missing


def _view(buffer: Any, dtype: Any) -> npt.NDArray[Any]:
    if buffer is None or buffer.size == 0:
        return np.zeros(0, dtype)
    return np.frombuffer(buffer, dtype)


assert sys.byteorder == "little", "fpdb is for little-endian systems"
