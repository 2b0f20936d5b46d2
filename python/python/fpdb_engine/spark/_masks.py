"""Which tasks compare fingerprints of 64 bits that are within a distance.

For a distance of k, the bits of a fingerprint are divided into k + 1 cells. Two fingerprints that differ
in at most k bits agree in at least one cell. So a fingerprint is sent to k + 1 tasks, each chosen by the
number and the bits of one cell, and any two such fingerprints meet.
"""

from __future__ import annotations

import numpy as np

from ._arrow import Words
from ._sending import Tasks


def cells(k: int) -> list[tuple[int, int]]:
    """Returns the lowest bit and the width of each cell."""
    bounds = [64 * cell // (k + 1) for cell in range(k + 2)]
    return [(low, high - low) for low, high in zip(bounds, bounds[1:])]


def _masked(fingerprints: Words, low: int, width: int) -> Words:
    if width == 64:
        return fingerprints
    return fingerprints >> np.uint64(low) & np.uint64((1 << width) - 1)


def _owners(bits: Words, cell: int, tasks: int) -> Tasks:
    # Multiplication distributes neighbouring cells over the tasks. Overflow is intended.
    spread = (bits + np.uint64(cell << 20)) * np.uint64(0x9E3779B97F4A7C15)
    return ((spread >> np.uint64(40)) % np.uint64(tasks)).astype(np.uint16)


def owners(fingerprints: Words, k: int, tasks: int) -> list[Tasks]:
    """Returns the task that each cell of each fingerprint chooses."""
    return [
        _owners(_masked(fingerprints, *bounds), cell, tasks)
        for cell, bounds in enumerate(cells(k))
    ]
