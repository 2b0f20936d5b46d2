"""Conversions between Arrow batches and numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Words = npt.NDArray[np.uint64]


def entries(df: DataFrame, fingerprint: str, id: str) -> DataFrame:
    """Returns the fingerprints and ids of the rows that have a fingerprint, as two columns."""
    found = df.where(F.col(fingerprint).isNotNull())
    return found.select(
        F.col(fingerprint).cast("long").alias("fingerprint"), F.col(id).cast("long").alias("id")
    )


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


def columns(batches: Iterable[Any], rows: int | None = None) -> Iterator[tuple[Words, Words]]:
    """Returns the two columns of Arrow batches: together, or at least the given rows at a time."""
    pending: list[tuple[Words, Words]] = []
    count = 0
    for batch in batches:
        pending.append((words(batch.column(0)), words(batch.column(1))))
        count += batch.num_rows
        if rows is not None and count >= rows:
            yield concatenated(pending)
            pending, count = [], 0
    if count:
        yield concatenated(pending)


def concatenated(parts: list[tuple[Words, Words]]) -> tuple[Words, Words]:
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def batches_of(rows: int, **arrays: Any) -> Iterator[Any]:
    """Returns arrays of equal length as Arrow batches of at most the given rows."""
    table = pa.table(arrays)
    yield from table.to_batches(max_chunksize=rows)
