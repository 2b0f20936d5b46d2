"""Answers a batch of queries from a stored corpus."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from fpdb_engine import InvalidArgumentError, ReadOnlyDb

from ._arrow import (
    Fingerprints,
    Words,
    as_given,
    batches_of,
    bits_of,
    entries,
    fingerprints_of,
    longs,
    words,
)
from ._options import whole
from ._parts import bits_of_parts, parts

SCHEMA = "query long, id long, distance int"
CLOSURE_QUERIES = 1 << 20
"""More queries than these, of 16 to 104 bytes each, are passed to the tasks in files."""
QUERIES = 1 << 20
"""Number of queries that are answered in one sweep over a database."""
ROWS = 1 << 16


def batch(
    queries: DataFrame,
    path: str | os.PathLike[str],
    distance: int | None = None,
    *,
    fingerprint_column: str = "fingerprint",
    id_column: str = "id",
    scratch: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """Returns all stored entries that are near a query: columns query (its id), id and distance.

    The path is what build() made, or one database. Each database is one task. The queries are collected
    and sent to all tasks, so nothing that is stored is shuffled. More than a million queries are written
    to files in the folder scratch, which every worker must see; remove it after the result is
    computed. By default, the distance or similarity is the one that the databases were made for.
    """
    stored = parts(path)
    bits = bits_of_parts(stored)
    if bits is None:
        return queries.sparkSession.createDataFrame([], SCHEMA)
    _expect_bits(bits_of(queries, fingerprint_column, 128 if bits == 64 else bits), bits)
    if distance is not None:
        distance = whole(distance)
    table = entries(queries, fingerprint_column, id_column, bits).toArrow()
    fingerprints, ids = fingerprints_of(table.column(0), bits), words(table.column(1))
    load = _passed_on(fingerprints, ids, scratch)

    def answer(batches: Iterable[Any]) -> Iterator[Any]:
        fingerprints, ids = load()
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                yield from _answers(stored[number].path, fingerprints, ids, distance)

    session = queries.sparkSession
    tasks = session.range(0, len(stored), 1, max(len(stored), 1))
    return tasks.mapInArrow(answer, SCHEMA)


def _expect_bits(found: int, stored: int) -> None:
    if found != stored:
        raise InvalidArgumentError(
            f"the queries have fingerprints of {found} bits, and the databases of {stored}: "
            f"fingerprint(df, text_column, bits={stored}) makes those"
        )


class _InClosure:
    """Queries that are part of the task."""

    def __init__(self, fingerprints: Fingerprints, ids: Words) -> None:
        self.queries = (fingerprints, ids)

    def __call__(self) -> tuple[Fingerprints, Words]:
        return self.queries


class _InFile:
    """Queries in files."""

    def __init__(self, fingerprints: Fingerprints, ids: Words, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"queries-{uuid.uuid4().hex}"
        self.paths = [str(folder / f"{name}-{what}.npy") for what in ("fingerprints", "ids")]
        np.save(self.paths[0], fingerprints)
        np.save(self.paths[1], ids)

    def __call__(self) -> tuple[Fingerprints, Words]:
        fingerprints, ids = (np.load(path, mmap_mode="r") for path in self.paths)
        return fingerprints, ids


def _passed_on(
    fingerprints: Fingerprints, ids: Words, scratch: str | os.PathLike[str] | None
) -> _InClosure | _InFile:
    if len(ids) <= CLOSURE_QUERIES:
        return _InClosure(fingerprints, ids)
    if scratch is None:
        raise InvalidArgumentError(
            f"{len(ids)} queries are too many to be part of a task: give a folder as scratch"
        )
    return _InFile(fingerprints, ids, Path(scratch).absolute())


def _answers(path: str, fingerprints: Fingerprints, ids: Words, distance: int | None) -> Iterator[Any]:
    with ReadOnlyDb.open(path, threads=1) as db:
        for start in range(0, len(ids), QUERIES):
            asked = ids[start : start + QUERIES]
            found = db.query_batch(as_given(fingerprints[start : start + QUERIES]), distance)
            query = np.repeat(asked, np.diff(found.offsets))
            distances = pa.array(found.distances.astype(np.int32))
            yield from batches_of(
                ROWS, query=longs(query), id=longs(found.ids), distance=distances
            )
