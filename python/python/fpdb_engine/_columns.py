"""Columns of texts of every kind, in chunks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

# Texts that are compared and written together, and the characters or bytes from which on there are fewer.
CHUNK = 4096
BYTES = 32 << 20


def length(texts: Any) -> int | None:
    """Returns the number of texts, or None for an iterator."""
    try:
        return len(texts)
    except TypeError:
        return None


def _as_arrow(values: Any) -> Iterable[Any] | None:
    """Returns the chunks of an Arrow array in whatever form, or None if it is something else. Those of a stream
    are read when they are needed."""
    if hasattr(values, "chunks") and hasattr(values, "type"):
        return map(_plain, values.chunks)
    if hasattr(values, "__arrow_c_stream__"):
        return _stream(values)
    if hasattr(values, "__arrow_c_array__"):
        return [_plain(values)]
    return None


def _stream(values: Any) -> Iterator[Any]:
    import pyarrow as pa

    try:
        reader = pa.RecordBatchReader.from_stream(values)
    except (pa.ArrowInvalid, TypeError):
        # Of a column, not of the rows of a table.
        return map(_plain, pa.chunked_array(values).chunks)
    return map(_plain, reader)


def _plain(values: Any) -> Any:
    """Returns an array of texts."""
    import pyarrow as pa

    if hasattr(values, "num_columns"):
        if values.num_columns != 1:
            names = ", ".join(values.schema.names)
            raise TypeError(f"texts must be one column, not {values.num_columns}; select one of {names}")
        values = values.column(0)
    return values if isinstance(values, pa.Array) else pa.array(values)


def chunks(texts: Any) -> Iterator[Any]:
    """Divides texts into chunks that Comparer.read takes."""
    arrow = _as_arrow(texts)
    if arrow is not None:
        for part in arrow:
            for start in range(0, len(part), CHUNK):
                yield from _bounded(part[start : start + CHUNK])
    elif isinstance(texts, (str, bytes, Mapping, Set)) or getattr(texts, "ndim", 1) != 1:
        raise TypeError(f"texts must be a column or a list, not {_kind(texts)}")
    elif hasattr(texts, "to_numpy"):
        yield from _of_values(iter(texts.to_numpy()))
    elif isinstance(texts, Iterable):
        yield from _from_iterator(iter(texts))
    else:
        raise TypeError(f"texts must be a column, a list or an iterator, not {_kind(texts)}")


def _kind(texts: Any) -> str:
    shape = getattr(texts, "shape", ())
    return f"an array of shape {shape}" if len(shape) > 1 else type(texts).__name__


def _bounded(part: Any) -> Iterator[Any]:
    """Divides a slice of an Arrow array if its texts are long."""
    ends = np.cumsum(_lengths(part))
    begin = 0
    while begin < len(part):
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + BYTES, "right")), begin + 1)
        yield part[begin:end]
        begin = end


def _lengths(part: Any) -> Any:
    """Returns the lengths of texts in bytes: zeros for what is no text, which is refused later."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(part.type):
        # A value can occur many times.
        lengths = pa.array(_lengths(part.dictionary)).take(part.indices)
    elif pa.types.is_string(part.type) or pa.types.is_large_string(part.type):
        lengths = pc.binary_length(part)
    elif pa.types.is_string_view(part.type):
        lengths = pc.binary_length(part.cast(pa.large_string()))
    else:
        return np.zeros(len(part), np.int64)
    return lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def _from_iterator(values: Iterator[Any]) -> Iterator[Any]:
    """Takes texts, or chunks of texts."""
    first = next(values, _END)
    if first is _END:
        return
    values = itertools.chain([first], values)
    is_chunk = isinstance(first, Iterable) or hasattr(first, "__arrow_c_array__") or hasattr(first, "chunks")
    if isinstance(first, (str, bytes, Mapping)) or not is_chunk:
        yield from _of_values(values)
        return
    for chunk in values:
        yield from chunks(chunk)


def _of_values(values: Iterator[Any]) -> Iterator[list[str | None]]:
    some: list[str | None] = []
    size = 0
    for row, value in enumerate(values):
        some.append(text(value, row))
        size += len(some[-1] or "")
        if len(some) == CHUNK or size >= BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


_END = object()


def text(value: Any, row: int | None = None) -> str | None:
    """Returns a text, or None for a missing one."""
    if isinstance(value, str):
        return value
    # Missing values of numpy and pandas are floats or of types of their own.
    if is_missing(value):
        return None
    where = "" if row is None else f"row {row}: "
    raise TypeError(f"{where}a text must be a str, not {type(value).__name__}")


def is_missing(value: Any) -> bool:
    """Returns whether a value stands for a missing one."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def with_nulls(values: Any) -> np.ndarray[Any, Any]:
    """Returns a column as an array, of objects if values are missing: whole numbers stay exact."""
    # The arrays of pandas keep whole numbers beside missing ones, and numbers that Arrow has no type for.
    arrow = None if hasattr(values, "iloc") else _as_arrow(values)
    if arrow is not None:
        parts = list(arrow)
        if any(part.null_count for part in parts):
            return np.fromiter((value for part in parts for value in part.to_pylist()), object)
        arrays = [part.to_numpy(zero_copy_only=False) for part in parts]
        return np.concatenate(arrays) if arrays else np.zeros(0)
    if hasattr(values, "to_numpy"):
        is_plain = isinstance(getattr(values, "dtype", None), np.dtype)
        return np.asarray(values.to_numpy() if is_plain else values.to_numpy(dtype=object))
    if isinstance(values, (list, tuple)) and not any(isinstance(value, (list, tuple)) for value in values):
        found = np.empty(len(values), object)
        found[:] = values
        return found
    return np.asarray(values)


def names(ids: Any) -> Iterator[str | None]:
    """Iterates over the names of rows, with None for each that is missing."""
    arrow = _as_arrow(ids)
    values = ids if arrow is None else (value for part in arrow for value in part.to_pylist())
    return (None if is_missing(value) else str(value) for value in values)


def without_surrogates(chunk: list[str | None]) -> tuple[list[str | None], int]:
    """Replaces what no text can have, lone surrogates, and returns the number of texts that had some."""
    found = [it and it.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for it in chunk]
    return found, sum(a != b for a, b in zip(chunk, found))


def joined_surrogates(text: str) -> list[int] | None:
    """Returns where each character of without_surrogates() begins in a text, and its end; None if it has no surrogates."""
    if text.isascii() or not re.search("[\ud800-\udfff]", text):
        return None
    places = [match.start() for match in re.finditer("[\ud800-\udbff][\udc00-\udfff]|.", text, re.DOTALL)]
    return [*places, len(text)]
