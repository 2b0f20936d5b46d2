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
Near = Iterator[tuple[Positions, Positions, Distances]]


def near(fingerprints: Words, distance: int) -> Near:
    """Finds all pairs of different fingerprints within a distance: their positions, and how far they are
    apart."""
    compare = _compared if len(fingerprints) <= DIRECT else _searched
    return compare(fingerprints, distance)


def _compared(fingerprints: Words, distance: int) -> Near:
    for start in range(0, len(fingerprints), ROWS):
        some, others = fingerprints[start : start + ROWS], fingerprints[start:]
        distances = np.bitwise_count(some[:, None] ^ others[None, :])
        a, b = np.nonzero(distances <= distance)
        a, b = a[a < b], b[a < b]
        yield a + start, b + start, distances[a, b]


def _searched(fingerprints: Words, distance: int) -> Near:
    count = len(fingerprints)
    with tempfile.TemporaryDirectory(prefix="fpdb-pairs-") as folder:
        with Db.create(
            Path(folder) / "db",
            max_distance=distance,
            durability="buffered",
            threads=1,
            background=False,
            expected_entries=count,
        ) as db:
            db.bulk_load(fingerprints, np.arange(count, dtype=np.uint64))
            for a, b, distances in db.pairs(distance, threads=1):
                yield a.view(np.int64), b.view(np.int64), distances
