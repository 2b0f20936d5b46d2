"""Conversions between Arrow batches and numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    CharType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    VarcharType,
)

from fpdb_engine import InvalidArgumentError

Words = npt.NDArray[np.uint64]
Fingerprints = npt.NDArray[np.uint64]
"""Fingerprints of 128 bits have two columns, the high half first. Sketches have twelve, those of their bytes."""

SKETCH = 1824
"""Sketches are fingerprints of so many bits."""

_NUMBERS = (ByteType, ShortType, IntegerType, LongType, DecimalType)
_TEXTS = (StringType, CharType, VarcharType)


def place_of(df: DataFrame, column: str) -> int:
    """Returns where a column is, or says which there are."""
    if column not in df.columns:
        raise InvalidArgumentError(
            f"there is no column {column!r}; the columns are {', '.join(df.columns)}"
        )
    return df.columns.index(column)


def _type_of(df: DataFrame, column: str) -> Any:
    return df.schema.fields[place_of(df, column)].dataType


def expect_texts(df: DataFrame, column: str) -> None:
    """Refuses a column of anything but texts, before a task begins."""
    found = _type_of(df, column)
    if not isinstance(found, _TEXTS):
        raise InvalidArgumentError(
            f"the column {column!r} is of type {found.simpleString()}, and texts are of type string"
        )


def expect_ids(df: DataFrame, column: str) -> None:
    """Refuses a column of anything but whole numbers, before a task begins."""
    found = _type_of(df, column)
    if not isinstance(found, _NUMBERS):
        raise InvalidArgumentError(
            f"the column {column!r} is of type {found.simpleString()}, and ids are whole numbers: add a column "
            "of numbers, for example "
            "df.withColumn('id', pyspark.sql.functions.monotonically_increasing_id()), store the rows so "
            "that their numbers stay, and join the result with them"
        )


def bits_of(df: DataFrame, column: str, binary: int) -> int:
    """Returns how many bits the fingerprints of a column have: 64, or with the type binary as many as is said.
    Refuses other columns, before a task begins."""
    found = _type_of(df, column)
    if isinstance(found, BinaryType):
        return binary
    if isinstance(found, _NUMBERS):
        return 64
    raise InvalidArgumentError(
        f"the column {column!r} is of type {found.simpleString()}, and fingerprints are of type bigint or, with "
        "more than 64 bits, binary, as fingerprint() makes them"
    )


def entries(df: DataFrame, fingerprint: str, id: str, bits: int) -> DataFrame:
    """Returns the fingerprints and ids of the rows that have a fingerprint, as two columns."""
    type_name = "long" if bits == 64 else "binary"
    expect_ids(df, id)
    found = df.where(F.col(fingerprint).isNotNull())
    return found.select(
        F.col(fingerprint).cast(type_name).alias("fingerprint"), F.col(id).cast("long").alias("id")
    )


def words_per_fingerprint(bits: int) -> int:
    """Returns how many words a fingerprint has. Half of the last one of a sketch is 0."""
    return -(-bits // 64)


def fingerprints_of(column: Any, bits: int) -> Fingerprints:
    """Returns a column of type long or binary as fingerprints."""
    if bits == 64:
        return words(column)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not len(column):
        return np.empty((0, words_per_fingerprint(bits)), np.uint64)
    try:
        column = column.cast(pa.binary()).cast(pa.binary(bits // 8))
    except pa.ArrowInvalid:
        raise InvalidArgumentError(
            f"a fingerprint of type binary does not have {bits // 8} bytes: a similarity needs sketches, of 228 "
            "bytes, and a distance fingerprints of 16, the high one first, or of type bigint; fingerprint() makes "
            "them"
        ) from None
    _, data = column.buffers()
    size = bits // 8
    found = np.frombuffer(data, np.uint8, size * len(column), size * column.offset).reshape(-1, size)
    if bits != SKETCH:
        return found.view(">u8").astype(np.uint64)
    padded = np.zeros((len(found), 8 * words_per_fingerprint(bits)), np.uint8)
    padded[:, :size] = found
    return padded.view("<u8")


def fingerprint_column(fingerprints: npt.NDArray[Any]) -> Any:
    """Returns fingerprints, as the engine makes them, as a column of type long or binary."""
    is_sketches = fingerprints.dtype.kind == "V"
    if fingerprints.ndim == 1 and not is_sketches:
        return longs(fingerprints)
    data = np.ascontiguousarray(fingerprints, None if is_sketches else ">u8")
    buffers = [None, pa.py_buffer(data)]
    size = pa.binary(228 if is_sketches else 16)
    return pa.Array.from_buffers(size, len(fingerprints), buffers).cast(pa.binary())


def as_given(fingerprints: Fingerprints) -> npt.NDArray[Any]:
    """Returns fingerprints as the engine takes them."""
    if fingerprints.ndim == 1 or fingerprints.shape[1] != words_per_fingerprint(SKETCH):
        return fingerprints
    return np.ascontiguousarray(np.ascontiguousarray(fingerprints).view(np.uint8)[:, : SKETCH // 8])


def words(column: Any) -> Words:
    """Returns a column of type long as unsigned numbers with the same bits."""
    if column.null_count:
        raise ValueError("an id is null")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    numbers: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False)
    return numbers.view(np.uint64)


def longs(numbers: Words) -> Any:
    """Returns unsigned numbers as a column of type long with the same bits."""
    return pa.array(np.ascontiguousarray(numbers).view(np.int64))


def columns(
    batches: Iterable[Any], bits: int, rows: int | None = None
) -> Iterator[tuple[Fingerprints, Words]]:
    """Returns the two columns of Arrow batches: together, or at least the given rows at a time."""
    pending: list[tuple[Fingerprints, Words]] = []
    count = 0
    for batch in batches:
        pending.append((fingerprints_of(batch.column(0), bits), words(batch.column(1))))
        count += batch.num_rows
        if rows is not None and count >= rows:
            yield concatenated(pending)
            pending, count = [], 0
    if count:
        yield concatenated(pending)


def concatenated(parts: list[tuple[Fingerprints, Words]]) -> tuple[Fingerprints, Words]:
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def batches_of(rows: int, **arrays: Any) -> Iterator[Any]:
    """Returns arrays of equal length as Arrow batches of at most the given rows."""
    table = pa.table(arrays)
    yield from table.to_batches(max_chunksize=rows)
