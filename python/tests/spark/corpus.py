"""Corpora with known neighbours, and answers without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import truth

Words = npt.NDArray[np.uint64]


def mixed(rng: np.random.Generator, k: int, uniform: int = 20_000) -> tuple[Words, Words]:
    """Returns fingerprints and ids: neighbours at each distance in each part of the bits, equal
    fingerprints, and many that share a cell. Some ids are greater than the greatest signed number."""
    found = truth.planted(rng, 64, k, 40) + truth.crowd(rng, 64, 400)
    found += found[:50] * 3
    planted = np.array(found, np.uint64)
    skewed = rng.integers(0, 1 << 40, 6000, np.uint64) | np.uint64(0xABCDEF << 40)
    others = rng.integers(0, 1 << 64, uniform, np.uint64, endpoint=False)
    fingerprints = np.concatenate([planted, skewed, others])
    ids = rng.permutation(len(fingerprints)).astype(np.uint64) * np.uint64(3)
    ids[::7] |= np.uint64(1 << 63)
    return fingerprints, ids


def column(fingerprints: Any) -> Any:
    """Returns fingerprints of any width as Spark has them."""
    if fingerprints.dtype.kind == "V":
        return pa.array(fingerprints.tolist(), pa.binary())
    if fingerprints.ndim == 1:
        return pa.array(fingerprints.view(np.int64))
    return pa.array([halves.tobytes() for halves in fingerprints.astype(">u8")], pa.binary())


def frame(spark: Any, fingerprints: Any, ids: Words) -> Any:
    columns = {"fingerprint": column(fingerprints), "id": ids.view(np.int64)}
    return spark.createDataFrame(pa.table(columns)).repartition(3)


def database(path: Path, fingerprints: Words, ids: Words, k: int) -> fpdb.Db:
    db = fpdb.Db.create(path, max_distance=k, durability="buffered", background=False)
    db.bulk_load(fingerprints, ids)
    return db


def unsigned(table: Any, name: str) -> Words:
    column: npt.NDArray[np.int64] = table.column(name).combine_chunks().to_numpy()
    return column.view(np.uint64)


def digest(columns: Iterable[npt.NDArray[Any]]) -> int:
    """Returns a number that depends on all rows, but not on their order."""
    mixed: Any = np.uint64(0)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return int(np.sum(mixed, dtype=np.uint64))


def digest_of(answers: Any) -> int:
    """Returns the digest of the answers of batch()."""
    table = answers.toArrow()
    distances = table.column("distance").combine_chunks().to_numpy()
    return digest([unsigned(table, "query"), unsigned(table, "id"), distances])


def summary(a: Words, b: Words, distances: npt.NDArray[Any]) -> tuple[list[int], int]:
    """Returns the number of pairs at each distance, and a digest of all of them."""
    counts = np.bincount(distances, minlength=1).tolist()
    return counts, digest([np.minimum(a, b), np.maximum(a, b), distances])


def summary_of_table(table: Any) -> tuple[list[int], int]:
    distances = table.column("distance").combine_chunks().to_numpy()
    return summary(unsigned(table, "a"), unsigned(table, "b"), distances)


def summary_of_database(db: fpdb.Reader, k: int | None) -> tuple[list[int], int]:
    chunks = list(db.pairs(k))
    a, b, distances = (np.concatenate(column) for column in zip(*chunks))
    return summary(a, b, distances)


def pairs_of(near: Any) -> dict[tuple[int, int], int]:
    """Returns the pairs that pairs() found."""
    table = near.toArrow()
    columns = [unsigned(table, "a").tolist(), unsigned(table, "b").tolist(), table.column("distance").to_pylist()]
    rows = list(zip(*columns))
    assert len({(a, b) for a, b, _ in rows}) == len(rows), "a pair was reported twice"
    return {(a, b): distance for a, b, distance in rows}


def lowest_connected(edges: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Returns the lowest node that is connected to each node, by a search from each."""
    neighbours: dict[int, set[int]] = {}
    for a, b in edges:
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    found: dict[int, int] = {}
    for start in sorted(neighbours):
        pending = [start]
        while pending:
            node = pending.pop()
            if node not in found:
                found[node] = start
                pending.extend(neighbours[node])
    return found
