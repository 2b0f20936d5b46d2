"""Which tasks compare sketches, and what they find.

A sketch has a band of each number. It is sent to the tasks that its bands choose, each together with its
number, so any two that share a band meet. There they are compared, and match if they are within the distance
of the rule. The task of the first band that they share reports them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ._arrow import Fingerprints, Words
from ._near import Distances, Near, Positions
from ._options import Rule
from ._sending import Tasks, task_of

CANDIDATES = 1 << 18
"""Pairs that are compared at a time, more or less."""


def bands_of(sketches: Fingerprints, rule: Rule) -> list[Words]:
    """Returns the bands of each number. Band i consists of the first of the minima 8 i to 8 i + 7, whose bits are
    byte i of each of the six planes."""
    planes = sketches.view(np.uint8).reshape(-1, 6, 16)
    found = []
    for number in range(rule.bands):
        band = np.zeros((len(sketches), 8), np.uint8)
        band[:, :6] = planes[:, :, number] & ((1 << rule.minima) - 1)
        found.append(band.view(np.uint64).reshape(-1))
    return found


def owners(sketches: Fingerprints, rule: Rule, tasks: int) -> list[Tasks]:
    """Returns the task that each band of each sketch chooses."""
    bands = bands_of(sketches, rule)
    return [task_of(of_number, number, tasks) for number, of_number in enumerate(bands)]


def pairs_of_task(sketches: Fingerprints, task: int, rule: Rule, tasks: int) -> Near:
    """Finds the pairs of different sketches that a task reports: their positions and distances."""
    bands = bands_of(sketches, rule)
    for number, of_number in enumerate(bands):
        rows = np.flatnonzero(task_of(of_number, number, tasks) == task)
        rows = rows[np.argsort(of_number[rows], kind="stable")]
        for some, others in _with_equal(of_number[rows]):
            a, b = rows[some], rows[others]
            distances = distances_of(sketches[a], sketches[b])
            is_match = distances <= rule.distance
            for earlier in bands[:number]:
                is_match &= earlier[a] != earlier[b]
            yield a[is_match], b[is_match], distances[is_match]


def distances_of(a: Fingerprints, b: Fingerprints) -> Distances:
    """Returns how many minima differ."""
    differs = np.bitwise_or.reduce((a ^ b).reshape(-1, 6, 2), axis=1)
    return np.bitwise_count(differs).sum(axis=1, dtype=np.uint8)


def _with_equal(bands: Words) -> Iterator[tuple[Positions, Positions]]:
    """Returns the positions of each two bands that are equal. The bands are sorted."""
    ends: npt.NDArray[np.int64] = np.searchsorted(bands, bands, side="right")
    partners = ends - np.arange(len(bands)) - 1
    before = np.append(0, np.cumsum(partners))
    start = 0
    while start < len(bands):
        # At least one band.
        end = max(int(np.searchsorted(before, before[start] + CANDIDATES, side="right")) - 1, start + 1)
        some = np.repeat(np.arange(start, end), partners[start:end])
        place = np.arange(before[start], before[end]) - np.repeat(before[start:end], partners[start:end])
        yield some, some + 1 + place
        start = end
