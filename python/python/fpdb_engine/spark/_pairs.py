"""All pairs of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from fpdb_engine import InvalidArgumentError

from ._arrow import Words, batches_of, columns, concatenated, entries, longs
from ._masks import MAX_DISTANCE, MAX_TASKS, copies, owners, reporters
from ._near import Distances, near

BLOCK = 1 << 20
"""Rows that a task divides at a time among the tasks of the search."""
ROWS = 1 << 16
BLOCKS = "task int, fingerprints binary, ids binary"
PAIRS = "a long, b long, distance int"


def pairs(
    df: DataFrame,
    distance: int = 3,
    *,
    tasks: int | None = None,
    fingerprint_column: str = "fingerprint",
    id_column: str = "id",
) -> DataFrame:
    """Returns all pairs of rows whose fingerprints are within a distance, each once: columns a, b and
    distance. The lower id is a.

    Rows with equal fingerprints count as one row with the lowest of their ids, and in addition each of
    the others is paired with it. So a thousand equal rows are 999 pairs, as in Db.pairs(). A null
    fingerprint has no pairs.

    A row is sent to at most distance + 1 tasks, as 16 bytes each. A task collects what it receives and
    searches it as a database in the folder for temporary files. For each row that it received, it takes
    about 80 bytes of memory and 40 on disk. There are at most (distance + 1) * n / tasks of them, a bit
    more in some tasks than in others; more than 100 million do not fit into a batch of Arrow. By default,
    tasks is spark.sql.shuffle.partitions.
    """
    if not 0 <= distance <= MAX_DISTANCE:
        raise InvalidArgumentError(f"distance {distance}; the greatest is {MAX_DISTANCE}")
    if tasks is None:
        tasks = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    if not 1 <= tasks <= MAX_TASKS:
        raise InvalidArgumentError(f"{tasks} tasks; between 1 and {MAX_TASKS} are possible")
    rows = entries(df, fingerprint_column, id_column)
    blocks = rows.mapInArrow(_divided(distance, tasks), BLOCKS).repartition(tasks, "task")
    return blocks.mapInArrow(_searched(distance, tasks), PAIRS)


def _divided(distance: int, tasks: int) -> Any:
    """Sends rows to tasks. All rows of a block for one task are one row of the shuffle, because engines
    shuffle a few large rows much faster than many small ones."""

    def divide(batches: Iterable[Any]) -> Iterator[Any]:
        for fingerprints, ids in columns(batches, BLOCK):
            positions, receivers = copies(fingerprints, distance, tasks)
            bounds = np.searchsorted(receivers, np.arange(tasks + 1))
            numbers = np.arange(tasks, dtype=np.int32)
            blocks = pa.record_batch(
                {
                    "task": pa.array(numbers),
                    "fingerprints": _slices(fingerprints[positions], bounds),
                    "ids": _slices(ids[positions], bounds),
                }
            )
            yield blocks.filter(pa.array(np.diff(bounds) > 0))

    return divide


def _slices(numbers: Words, bounds: Any) -> Any:
    """Returns slices of an array as a column of type binary, without a copy."""
    offsets = (bounds * 8).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, buffers)


def _searched(distance: int, tasks: int) -> Any:
    def search(batches: Iterable[Any]) -> Iterator[Any]:
        received: dict[int, list[tuple[Words, Words]]] = {}
        for batch in batches:
            for task, *arrays in zip(*(batch.column(at) for at in range(3))):
                fingerprints, ids = (np.frombuffer(a.as_buffer(), np.uint64) for a in arrays)
                received.setdefault(task.as_py(), []).append((fingerprints, ids))
        while received:
            task = next(iter(received))
            yield from _pairs_of_task(concatenated(received.pop(task)), distance, task, tasks)

    return search


def _pairs_of_task(
    rows: tuple[Words, Words], distance: int, task: int, tasks: int
) -> Iterator[Any]:
    fingerprints, ids = rows
    order = np.argsort(fingerprints)
    fingerprints, ids = fingerprints[order], ids[order]
    is_first = np.ones(len(ids), np.bool_)
    is_first[1:] = fingerprints[1:] != fingerprints[:-1]
    firsts = np.flatnonzero(is_first)
    if len(firsts) < len(ids):
        is_alone = is_first & np.append(is_first[1:], True)
        yield from _equals(fingerprints[~is_alone], ids[~is_alone], distance, task, tasks)
    fingerprints, lowest = fingerprints[firsts], np.minimum.reduceat(ids, firsts)
    # Frees the memory before the search.
    del rows, ids, order, is_first, firsts
    for a, b, distances in near(fingerprints, distance):
        is_ours = reporters(fingerprints[a], fingerprints[b], distance, tasks) == task
        yield from _rows(lowest[a[is_ours]], lowest[b[is_ours]], distances[is_ours])


def _equals(
    fingerprints: Words, ids: Words, distance: int, task: int, tasks: int
) -> Iterator[Any]:
    """Pairs the lowest id of each group of equal fingerprints with each of the others."""
    is_ours = owners(fingerprints, distance, tasks)[0] == task
    fingerprints, ids = fingerprints[is_ours], ids[is_ours]
    if not len(ids):
        return
    order = np.lexsort((ids, fingerprints))
    fingerprints, ids = fingerprints[order], ids[order]
    starts = np.append(True, fingerprints[1:] != fingerprints[:-1])
    lowest = ids[np.flatnonzero(starts)][np.cumsum(starts) - 1]
    # A row that is there twice is one row.
    is_other = ~starts & np.append(True, ids[1:] != ids[:-1])
    yield from _rows(lowest[is_other], ids[is_other], np.zeros(is_other.sum(), np.uint8))


def _rows(a: Words, b: Words, distances: Distances) -> Iterator[Any]:
    distance = pa.array(distances.astype(np.int32))
    yield from batches_of(
        ROWS, a=longs(np.minimum(a, b)), b=longs(np.maximum(a, b)), distance=distance
    )
