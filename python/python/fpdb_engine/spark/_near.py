"""All pairs of an array of fingerprints."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fpdb_engine import Db

from ._arrow import Words

DIRECT = 4096
"""Up to this many fingerprints are compared directly: to write a database takes longer."""
ROWS = 256

Positions = npt.NDArray[np.int64]
Distances = npt.NDArray[np.uint8]


def near(fingerprints: Words, k: int) -> Iterator[tuple[Positions, Positions, Distances]]:
    """Finds all pairs of different fingerprints within k bits: their positions, and their distance."""
    compare = _compared if len(fingerprints) <= DIRECT else _searched
    return compare(fingerprints, k)


def _compared(fingerprints: Words, k: int) -> Iterator[tuple[Positions, Positions, Distances]]:
    for start in range(0, len(fingerprints), ROWS):
        some, others = fingerprints[start : start + ROWS], fingerprints[start:]
        distances = np.bitwise_count(some[:, None] ^ others[None, :])
        a, b = np.nonzero(distances <= k)
        a, b = a[a < b], b[a < b]
        yield a + start, b + start, distances[a, b]


def _searched(fingerprints: Words, k: int) -> Iterator[tuple[Positions, Positions, Distances]]:
    count = len(fingerprints)
    with tempfile.TemporaryDirectory(prefix="fpdb-pairs-") as folder:
        with Db.create(
            Path(folder) / "db",
            max_distance=k,
            durability="buffered",
            threads=1,
            background=False,
            expected_entries=count,
        ) as db:
            db.bulk_load(fingerprints, np.arange(count, dtype=np.uint64))
            for a, b, distances in db.pairs(k, threads=1):
                yield a.view(np.int64), b.view(np.int64), distances
