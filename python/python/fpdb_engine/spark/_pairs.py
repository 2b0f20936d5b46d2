"""All pairs of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from fpdb_engine import InvalidArgumentError, MatchRule

from . import _bands, _crowds, _masks
from ._arrow import (
    SKETCH,
    Fingerprints,
    Words,
    batches_of,
    bits_of,
    columns,
    concatenated,
    entries,
    longs,
    words_per_fingerprint,
)
from ._near import Distances, Near, near
from ._options import Options, options_for, rule_of
from ._sending import MAX_TASKS, Tasks, copies, partition_keys, reporters

BLOCK = 1 << 20
"""Rows that a task divides at a time, at most, among the tasks of the search."""
COPIES = 1 << 28
"""Bytes of their copies, more or less, at most."""
ROWS = 1 << 16
BLOCKS = "task int, fingerprints binary, ids binary, partition int"
PAIRS = "a long, b long, distance int"

Owners = Callable[[Fingerprints], list[Tasks]]
"""Returns the tasks that each fingerprint is sent to."""
Search = Callable[[Fingerprints, int], Iterable[Any]]
"""Finds the pairs of different fingerprints that a task reports, and the crowds that it does not search."""


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

    Near is what is within a distance in bits, 3 by default; or, with sketches, what the rule for a Jaccard
    similarity and a recall accepts, as in Db.create(). estimate_jaccard() turns distances into similarities.

    Rows with equal fingerprints count as one row with the lowest of their ids, and in addition each of
    the others is paired with it. So a thousand equal rows are 999 pairs, as in Db.pairs(). A null
    fingerprint has no pairs.

    A row is sent to at most as many tasks as a sketch has bands, 10 to 16, as 240 bytes; or to distance + 1, as 16
    bytes each with 64 bits and 24 with 128. tasks is by default spark.sql.shuffle.partitions.

    A task collects what it receives. Sketches are compared that share a band. If more than 4,096 do, all tasks
    compare them, after a second shuffle, in which each is sent about 2 sqrt(tasks) times for each band that a crowd
    shares, or in larger crowds once for every 65,536 rows of the crowd. A single task compares all by itself.
    Fingerprints are searched as a database in the folder for temporary files.

    For each row that it received, a task takes about 780 bytes of memory with sketches, 80 and 40 on disk with 64
    bits, 130 and 60 with 128. More than 9 million rows of sketches, or 100 million of fingerprints, do not fit into a
    batch of Arrow. Sail makes one batch of all rows of a task, or of several tasks, so use one task per 200,000 sketches,
    or per 50,000 if most of them are of one template.

    The rule for a similarity depends on expected_entries, by default the number of rows, which takes another job
    to count.
    """
    bits = bits_of(df, fingerprint_column, 128 if similarity is None else SKETCH)
    rows = entries(df, fingerprint_column, id_column, bits)
    if tasks is None:
        tasks = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    if not 1 <= tasks <= MAX_TASKS:
        raise InvalidArgumentError(f"{tasks} tasks; between 1 and {MAX_TASKS} are possible")
    count = rows.count if expected_entries is None else partial(int, expected_entries)
    options = options_for(bits, distance, similarity, recall, count)
    rule = None if similarity is None else rule_of(options)
    division = _by_cells(options, tasks) if rule is None else _by_bands(rule, tasks)
    blocks = rows.mapInArrow(_divided(division), BLOCKS).repartition(tasks, "partition")
    if rule is None or tasks == 1:
        return blocks.mapInArrow(_searched(division), PAIRS)
    works = blocks.mapInArrow(_passed_on(division), _crowds.WORKS).repartition(tasks, "partition")
    return works.mapInArrow(_compared(rule), PAIRS)


class Division(NamedTuple):
    """How rows are divided among tasks, and how each searches its own."""

    bits: int
    tasks: int
    copies: int
    """Tasks that a row is sent to, at most."""
    owners: Owners
    search: Search

    def rows(self) -> int:
        """Returns how many rows are divided at a time."""
        return min(BLOCK, COPIES // (self.copies * self.bits // 8))


def _by_cells(options: Options, tasks: int) -> Division:
    bits, distance = options["bits"], options["max_distance"]
    owners = partial(_masks.owners, k=distance, tasks=tasks)

    def search(fingerprints: Fingerprints, task: int) -> Near:
        for a, b, distances in near(fingerprints, options):
            is_ours = reporters(owners(fingerprints[a]), owners(fingerprints[b])) == task
            yield a[is_ours], b[is_ours], distances[is_ours]

    return Division(bits, tasks, distance + 1, owners, search)


def _by_bands(rule: MatchRule, tasks: int) -> Division:
    owners = partial(_bands.owners, rule=rule, tasks=tasks)
    most = None if tasks == 1 else _crowds.CROWD
    search = partial(_bands.pairs_of_task, rule=rule, tasks=tasks, most=most)
    return Division(SKETCH, tasks, rule.bands, owners, search)


def _divided(division: Division) -> Any:
    """Sends rows to tasks. All rows of a block for one task are one row of the shuffle, because engines
    shuffle a few large rows much faster than many small ones."""
    def divide(batches: Iterable[Any]) -> Iterator[Any]:
        for fingerprints, ids in columns(batches, division.bits, division.rows()):
            positions, receivers = copies(division.owners(fingerprints))
            bounds = np.searchsorted(receivers, np.arange(division.tasks + 1))
            numbers = np.arange(division.tasks, dtype=np.int32)
            blocks = pa.record_batch(
                {
                    "task": pa.array(numbers),
                    "fingerprints": _slices(fingerprints[positions], bounds),
                    "ids": _slices(ids[positions], bounds),
                    "partition": pa.array(partition_keys(division.tasks)),
                }
            )
            yield blocks.filter(pa.array(np.diff(bounds) > 0))

    return divide


def _slices(numbers: Words | Fingerprints, bounds: Any) -> Any:
    """Returns slices of an array as a column of type binary, without a copy."""
    offsets = (bounds * numbers.strides[0]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, buffers)


def _searched(division: Division) -> Any:
    def search(batches: Iterable[Any]) -> Iterator[Any]:
        received = _received(batches, division.bits)
        while received:
            task = next(iter(received))
            for a, b, distances in _found(concatenated(received.pop(task)), task, division):
                yield from _rows(a, b, distances)

    return search


def _passed_on(division: Division) -> Any:
    """Searches, and passes on what was found, and the crowds, which are compared after a second shuffle."""
    def search(batches: Iterable[Any]) -> Iterator[Any]:
        received = _received(batches, division.bits)
        while received:
            task = next(iter(received))
            # All of it is dealt to all tasks in turn.
            to = task
            for found in _found(concatenated(received.pop(task)), task, division):
                if isinstance(found, CrowdRows):
                    rows = _crowds.divided(*found, division.tasks, to)
                else:
                    rows = _crowds.passed_on(to, division.tasks, *found)
                for to, row in enumerate(rows, to + 1):
                    yield row

    return search


def _compared(rule: MatchRule) -> Any:
    def compare(batches: Iterable[Any]) -> Iterator[Any]:
        for a, b, distances in _crowds.compared(batches, rule):
            yield from _rows(a, b, distances)

    return compare


def _received(batches: Iterable[Any], bits: int) -> dict[int, list[tuple[Fingerprints, Words]]]:
    """Returns the rows of each task, in the blocks in which they came."""
    width = words_per_fingerprint(bits)
    received: dict[int, list[tuple[Fingerprints, Words]]] = {}
    for batch in batches:
        for task, *arrays in zip(*(batch.column(at) for at in range(3))):
            fingerprints, ids = (np.frombuffer(a.as_buffer(), np.uint64) for a in arrays)
            if width > 1:
                fingerprints = fingerprints.reshape(-1, width)
            received.setdefault(task.as_py(), []).append((fingerprints, ids))
    return received


class CrowdRows(NamedTuple):
    """The rows of a crowd, which share the band of a number."""

    number: int
    sketches: Fingerprints
    ids: Words


def _found(rows: tuple[Fingerprints, Words], task: int, division: Division) -> Iterator[Any]:
    """Finds the pairs of a task, as ids and distances, and the crowds."""
    fingerprints, ids = rows
    order = _order(fingerprints)
    fingerprints, ids = fingerprints[order], ids[order]
    is_first = _changes(fingerprints)
    firsts = np.flatnonzero(is_first)
    if len(firsts) < len(ids):
        is_alone = is_first & np.append(is_first[1:], True)
        yield from _equals(fingerprints[~is_alone], ids[~is_alone], task, division.owners)
    fingerprints, lowest = fingerprints[firsts], np.minimum.reduceat(ids, firsts)
    # Frees the memory before the search.
    del rows, ids, order, is_first, firsts
    for found in division.search(fingerprints, task):
        if isinstance(found, _bands.Crowd):
            yield CrowdRows(found.number, fingerprints[found.rows], lowest[found.rows])
        else:
            a, b, distances = found
            yield lowest[a], lowest[b], distances


def _order(fingerprints: Fingerprints) -> Any:
    """Returns the positions of fingerprints in ascending order."""
    if fingerprints.ndim == 1:
        return np.argsort(fingerprints)
    order = np.argsort(fingerprints[:, 0])
    first = fingerprints[order, 0]
    # The other words decide only where the first is the same.
    same = first[1:] == first[:-1]
    unclear = np.append(False, same) | np.append(same, False)
    rows = order[unclear]
    order[unclear] = rows[np.lexsort(fingerprints[rows].T[::-1])]
    return order


def _changes(fingerprints: Fingerprints) -> Any:
    """Returns which fingerprints differ from the one before."""
    differs = fingerprints[1:] != fingerprints[:-1]
    return np.append(True, differs if differs.ndim == 1 else differs.any(axis=1))


def _equals(
    fingerprints: Fingerprints, ids: Words, task: int, owners: Owners
) -> Iterator[tuple[Words, Words, Distances]]:
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
    yield lowest[is_other], ids[is_other], np.zeros(is_other.sum(), np.uint8)


def _rows(a: Words, b: Words, distances: Distances) -> Iterator[Any]:
    distance = pa.array(distances.astype(np.int32))
    yield from batches_of(
        ROWS, a=longs(np.minimum(a, b)), b=longs(np.maximum(a, b)), distance=distance
    )
