"""Which tasks compare fingerprints, whatever counts as near.

Fingerprints are divided into q * q parts, the points of a plane: q is a prime, and the coordinates of the points are
numbers modulo q. The tasks are the q * q + q lines. There are q + 1 lines through each point, so each fingerprint is
sent to q + 1 tasks. Through two different points there is exactly one line, so any two fingerprints meet.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._arrow import Fingerprints
from ._sending import MAX_TASKS, Tasks

ROWS = 1 << 22
"""Rows that a task receives at most, more or less, unless the caller says how many tasks there are."""


def lines(order: int) -> int:
    """Returns the number of tasks."""
    return order * order + order if order > 1 else 1


ORDERS = [
    order
    for order in range(1, int(MAX_TASKS**0.5))
    if all(order % divisor for divisor in range(2, order)) and lines(order) <= MAX_TASKS
]
"""1, for a single task, and primes."""


def order_for_tasks(tasks: int) -> int:
    """Returns the greatest order with at most this number of tasks."""
    return max(order for order in ORDERS if lines(order) <= tasks)


def order_for_rows(rows: int) -> int:
    """Returns the least order at which a task receives few enough of these rows."""
    return next((order for order in ORDERS if order * ROWS >= rows), ORDERS[-1])


def owners(fingerprints: Fingerprints, order: int) -> list[Tasks]:
    """Returns the tasks that each fingerprint is sent to: the number of the line of each slope."""
    if order == 1:
        return [np.zeros(len(fingerprints), np.uint16)]
    x, y = np.divmod(_points(fingerprints, order), order)
    sloping = [slope * order + (y - slope * x) % order for slope in range(order)]
    return [line.astype(np.uint16) for line in (*sloping, order * order + x)]


def _points(fingerprints: Fingerprints, order: int) -> npt.NDArray[np.int64]:
    # Multiplication distributes similar fingerprints over the points. Overflow is intended.
    spread = np.zeros(len(fingerprints), np.uint64)
    for half in fingerprints.reshape(len(fingerprints), -1).T:
        spread = (spread ^ half) * np.uint64(0x9E3779B97F4A7C15)
        spread ^= spread >> np.uint64(32)
    return (spread % np.uint64(order * order)).astype(np.int64)
