"""Which task finds which pair.

For a distance of k, the bits of a fingerprint are divided into k + 1 cells. Two fingerprints that differ
in at most k bits agree in at least one cell. So a fingerprint is sent to k + 1 tasks, each chosen by the
number and the bits of one cell, and any two such fingerprints meet. They may meet several times: only the
task that is chosen by the lowest cell on which both agree reports them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._arrow import Words

MAX_DISTANCE = 15
MAX_TASKS = 1 << 16
Tasks = npt.NDArray[np.uint16]


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


def copies(fingerprints: Words, k: int, tasks: int) -> tuple[npt.NDArray[np.int64], Tasks]:
    """Returns the positions of the fingerprints to send and the tasks to send them to, ordered by task.
    A fingerprint is sent to a task once, even if several of its cells choose it."""
    chosen = owners(fingerprints, k, tasks)
    positions, receivers = [], []
    for cell, receiver in enumerate(chosen):
        is_first = np.ones(len(receiver), np.bool_)
        for earlier in chosen[:cell]:
            is_first &= earlier != receiver
        position = np.flatnonzero(is_first)
        positions.append(position)
        receivers.append(receiver[position])
    all_positions, all_receivers = np.concatenate(positions), np.concatenate(receivers)
    order = np.argsort(all_receivers, kind="stable")
    return all_positions[order], all_receivers[order]


def reporters(a: Words, b: Words, k: int, tasks: int) -> Tasks:
    """Returns the task that reports each pair of fingerprints that are within k bits."""
    reporter = np.zeros(len(a), np.uint16)
    error = a ^ b
    for cell, (low, width) in reversed(list(enumerate(cells(k)))):
        agrees = _masked(error, low, width) == 0
        chosen = _owners(_masked(a, low, width), cell, tasks)
        reporter = np.where(agrees, chosen, reporter)
    return reporter
