"""All pairs of an array of fingerprints that are within a distance."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fpdb_engine import Db

from ._arrow import Fingerprints, Words
from ._options import Options

DIRECT = 4096
"""Up to this many fingerprints are compared directly: to write a database takes longer."""
ROWS = 256

Positions = npt.NDArray[np.int64]
Distances = npt.NDArray[np.uint8]
Near = Iterator[tuple[Positions, Positions, Distances]]


def near(fingerprints: Fingerprints, options: Options) -> Near:
    """Finds all pairs of different fingerprints that are near: their positions, and how far they are apart."""
    if fingerprints.ndim == 1 and len(fingerprints) <= DIRECT:
        return _compared(fingerprints, options["max_distance"])
    return _searched(fingerprints, options)


def _compared(fingerprints: Words, distance: int) -> Near:
    for start in range(0, len(fingerprints), ROWS):
        some, others = fingerprints[start : start + ROWS], fingerprints[start:]
        distances = np.bitwise_count(some[:, None] ^ others[None, :])
        a, b = np.nonzero(distances <= distance)
        a, b = a[a < b], b[a < b]
        yield a + start, b + start, distances[a, b]


def _searched(fingerprints: Fingerprints, options: Options) -> Near:
    count = len(fingerprints)
    settings = {"expected_entries": count, **options}
    with tempfile.TemporaryDirectory(prefix="fpdb-pairs-") as folder:
        with Db.create(
            Path(folder) / "db", durability="buffered", threads=1, background=False, **settings
        ) as db:
            db.bulk_load(fingerprints, np.arange(count, dtype=np.uint64))
            for a, b, distances in db.pairs(threads=1):
                yield a.view(np.int64), b.view(np.int64), distances
