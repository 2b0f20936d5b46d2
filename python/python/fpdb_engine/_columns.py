"""Columns of texts of every kind, in chunks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ._errors import InvalidArgumentError

# Texts that are compared and written together.
CHUNK = 8192


def length(texts: Any) -> int | None:
    """Returns the number of texts, or None for an iterator."""
    try:
        return len(texts)
    except TypeError:
        return None


def is_in_memory(texts: Any) -> bool:
    """Returns whether chunks of texts take no memory beside the texts. Those of a query, of a dataset on the disk and
    of an iterator do."""
    if length(texts) is None or hasattr(texts, "to_arrow_reader"):
        return False
    if isinstance(texts, np.ndarray):
        return bool(texts.dtype == object)
    names = ("__arrow_c_array__", "__arrow_c_stream__", "to_numpy")
    return isinstance(texts, (list, tuple)) or any(hasattr(texts, name) for name in names)


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
    """Divides texts into chunks that fingerprint_batch takes."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"texts must be a column or a list, not {type(texts).__name__}")
    arrow = _as_arrow(texts)
    if arrow is not None:
        for part in arrow:
            for start in range(0, len(part), CHUNK):
                yield part[start : start + CHUNK]
    elif hasattr(texts, "to_numpy"):
        yield from _slices(texts.to_numpy())
    elif isinstance(texts, (Sequence, np.ndarray)) or hasattr(texts, "__getitem__"):
        yield from _slices(texts)
    elif isinstance(texts, Iterable):
        yield from _from_iterator(iter(texts))
    else:
        raise TypeError(f"texts must be a column, a list or an iterator, not {type(texts).__name__}")


def _slices(texts: Any) -> Iterator[list[str | None]]:
    for start in range(0, len(texts), CHUNK):
        yield [_text(value) for value in texts[start : start + CHUNK]]


def _from_iterator(values: Iterator[Any]) -> Iterator[Any]:
    """Takes texts, or chunks of texts."""
    first = next(values, _END)
    if first is _END:
        return
    values = itertools.chain([first], values)
    if first is not None and not isinstance(first, str):
        for chunk in values:
            yield from chunks(chunk)
        return
    while some := [_text(value) for value in itertools.islice(values, CHUNK)]:
        yield some


_END = object()


def _text(value: Any) -> str | None:
    # Missing values of numpy and pandas are floats or of types of their own.
    return value if isinstance(value, str) else None if _is_missing(value) else _refuse(value)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def _refuse(value: Any) -> str:
    raise TypeError(f"a text must be a str, not {type(value).__name__}")


def names(ids: Any) -> Iterator[str]:
    """Iterates over the names of rows."""
    arrow = _as_arrow(ids)
    values = ids if arrow is None else (value for part in arrow for value in part.to_pylist())
    for row, value in enumerate(values):
        if _is_missing(value):
            raise InvalidArgumentError(f"ids: row {row} has no id")
        yield str(value)


def text_at(chunk: Any, row: int) -> str | None:
    """Returns a text of a chunk."""
    value = chunk[row]
    text = value.as_py() if hasattr(value, "as_py") else value
    return None if text is None else str(text)


def take(chunk: Any, rows: Any) -> Any:
    """Returns the texts of these rows of a chunk."""
    if len(rows) == len(chunk):
        return chunk
    if hasattr(chunk, "take"):
        if str(chunk.type) == "string_view":
            # Nothing can be taken from views.
            chunk = chunk.cast("large_string")
        return chunk.take(rows)
    return [chunk[row] for row in rows.tolist()]
