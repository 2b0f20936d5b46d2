"""All pairs of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from fpdb_engine import InvalidArgumentError

from . import _masks, _planes
from ._arrow import (
    Fingerprints,
    Words,
    batches_of,
    bits_of,
    columns,
    concatenated,
    entries,
    longs,
)
from ._near import Distances, near
from ._options import Options, options_for
from ._sending import MAX_TASKS, Tasks, copies, reporters

BLOCK = 1 << 20
"""Rows that a task divides at a time among the tasks of the search."""
COPIES = 1 << 24
"""Copies of rows, at most, that a task makes at a time."""
ROWS = 1 << 16
BLOCKS = "task int, fingerprints binary, ids binary"
PAIRS = "a long, b long, distance int"

Owners = Callable[[Fingerprints], list[Tasks]]
"""Returns the tasks that each fingerprint is sent to."""


def pairs(
    df: DataFrame,
    distance: int | None = None,
    *,
    similarity: float | None = None,
    recall: float | None = None,
    tasks: int | None = None,
    expected_entries: int | None = None,
    fingerprint_column: str = "fingerprint",
    id_column: str = "id",
) -> DataFrame:
    """Returns all pairs of rows whose fingerprints are near, each once: columns a, b and distance. The
    lower id is a.

    Near is what is within a distance in bits, 3 by default; or, with fingerprints of 128 bits, what the rule
    for a Jaccard similarity and a recall accepts, as in Db.create(). estimate_jaccard() turns distances
    into similarities.

    Rows with equal fingerprints count as one row with the lowest of their ids, and in addition each of
    the others is paired with it. So a thousand equal rows are 999 pairs, as in Db.pairs(). A null
    fingerprint has no pairs.

    With 64 bits, a row is sent to at most distance + 1 tasks, as 16 bytes each, and tasks is by
    default spark.sql.shuffle.partitions. With 128 bits, a row is sent, as 24 bytes, to one task, or to q + 1 of
    q * (q + 1) tasks, where q is a prime: the greatest for which these are at most the given tasks, or by default
    the least for which a task receives at most about 4 million rows. So more tasks take less time, but
    altogether more work, in proportion to q + 1.

    A task collects what it receives and searches it as a database in the folder for temporary files. For each
    row that it received, it takes about 80 bytes of memory and 40 on disk with 64 bits, 130 and 60 with 128.
    About (distance + 1) * n / tasks rows are sent to a task, or n / q rows, or fewer; more than 100 million do
    not fit into a batch of Arrow.

    The rule for a similarity and the default number of tasks depend on expected_entries, by default the number
    of rows, which takes another job to count.
    """
    bits = bits_of(df, fingerprint_column)
    rows = entries(df, fingerprint_column, id_column)
    if tasks is not None and not 1 <= tasks <= MAX_TASKS:
        raise InvalidArgumentError(f"{tasks} tasks; between 1 and {MAX_TASKS} are possible")
    count = cache(rows.count) if expected_entries is None else partial(int, expected_entries)
    options = options_for(bits, distance, similarity, recall, count)
    if bits == 64:
        tasks = tasks or int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
        division = _by_cells(options["max_distance"], tasks)
    elif tasks is None:
        division = _by_lines(_planes.order_for_rows(count()))
    else:
        division = _by_lines(_planes.order_for_tasks(tasks))
    blocks = rows.mapInArrow(_divided(division), BLOCKS).repartition(division.tasks, "task")
    return blocks.mapInArrow(_searched(division.owners, options), PAIRS)


class Division(NamedTuple):
    """How rows are divided among tasks."""

    owners: Owners
    tasks: int
    rows: int
    """Rows that are divided at a time."""


def _by_cells(distance: int, tasks: int) -> Division:
    return Division(partial(_masks.owners, k=distance, tasks=tasks), tasks, BLOCK)


def _by_lines(order: int) -> Division:
    rows = min(BLOCK, COPIES // (order + 1))
    return Division(partial(_planes.owners, order=order), _planes.lines(order), rows)


def _divided(division: Division) -> Any:
    """Sends rows to tasks. All rows of a block for one task are one row of the shuffle, because engines
    shuffle a few large rows much faster than many small ones."""
    owners, tasks, rows = division

    def divide(batches: Iterable[Any]) -> Iterator[Any]:
        for fingerprints, ids in columns(batches, rows):
            positions, receivers = copies(owners(fingerprints))
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


def _slices(numbers: Words | Fingerprints, bounds: Any) -> Any:
    """Returns slices of an array as a column of type binary, without a copy."""
    offsets = (bounds * numbers.strides[0]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, buffers)


def _searched(owners: Owners, options: Options) -> Any:
    width = options["bits"] // 64

    def search(batches: Iterable[Any]) -> Iterator[Any]:
        received: dict[int, list[tuple[Fingerprints, Words]]] = {}
        for batch in batches:
            for task, *arrays in zip(*(batch.column(at) for at in range(3))):
                fingerprints, ids = (np.frombuffer(a.as_buffer(), np.uint64) for a in arrays)
                if width > 1:
                    fingerprints = fingerprints.reshape(-1, width)
                received.setdefault(task.as_py(), []).append((fingerprints, ids))
        while received:
            task = next(iter(received))
            yield from _pairs_of_task(concatenated(received.pop(task)), task, owners, options)

    return search


def _pairs_of_task(
    rows: tuple[Fingerprints, Words], task: int, owners: Owners, options: Options
) -> Iterator[Any]:
    fingerprints, ids = rows
    order = _order(fingerprints)
    fingerprints, ids = fingerprints[order], ids[order]
    is_first = _changes(fingerprints)
    firsts = np.flatnonzero(is_first)
    if len(firsts) < len(ids):
        is_alone = is_first & np.append(is_first[1:], True)
        yield from _equals(fingerprints[~is_alone], ids[~is_alone], task, owners)
    fingerprints, lowest = fingerprints[firsts], np.minimum.reduceat(ids, firsts)
    # Frees the memory before the search.
    del rows, ids, order, is_first, firsts
    for a, b, distances in near(fingerprints, options):
        is_ours = reporters(owners(fingerprints[a]), owners(fingerprints[b])) == task
        yield from _rows(lowest[a[is_ours]], lowest[b[is_ours]], distances[is_ours])


def _order(fingerprints: Fingerprints) -> Any:
    """Returns the positions of fingerprints in ascending order."""
    if fingerprints.ndim == 1:
        return np.argsort(fingerprints)
    return np.lexsort((fingerprints[:, 1], fingerprints[:, 0]))


def _changes(fingerprints: Fingerprints) -> Any:
    """Returns which fingerprints differ from the one before."""
    differs = fingerprints[1:] != fingerprints[:-1]
    return np.append(True, differs if differs.ndim == 1 else differs.any(axis=1))


def _equals(fingerprints: Fingerprints, ids: Words, task: int, owners: Owners) -> Iterator[Any]:
    """Pairs the lowest id of each group of equal fingerprints with each of the others."""
    is_ours = owners(fingerprints)[0] == task
    fingerprints, ids = fingerprints[is_ours], ids[is_ours]
    if not len(ids):
        return
    # They are sorted by fingerprint already.
    group = np.cumsum(_changes(fingerprints))
    order = np.lexsort((ids, group))
    ids, starts = ids[order], np.append(True, group[1:] != group[:-1])
    lowest = ids[np.flatnonzero(starts)][group - 1]
    # A row that is there twice is one row.
    is_other = ~starts & np.append(True, ids[1:] != ids[:-1])
    yield from _rows(lowest[is_other], ids[is_other], np.zeros(is_other.sum(), np.uint8))


def _rows(a: Words, b: Words, distances: Distances) -> Iterator[Any]:
    distance = pa.array(distances.astype(np.int32))
    yield from batches_of(
        ROWS, a=longs(np.minimum(a, b)), b=longs(np.maximum(a, b)), distance=distance
    )
