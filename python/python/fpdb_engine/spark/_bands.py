"""Which tasks compare sketches, and what they find.

A sketch has a band of each number. It is sent to the tasks that its bands choose, each together with its
number, so any two that share a band meet. There they are compared by the rule. The task of the first band that
they share reports them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fpdb_engine import MatchRule

from ._arrow import Fingerprints, Words, as_given
from ._near import Near, Positions
from ._sending import Tasks, task_of

NO_MATCH = 255
CANDIDATES = 1 << 18
"""Pairs that are compared at a time, more or less."""


def bands_of(sketches: Fingerprints, rule: MatchRule) -> list[Words]:
    """Returns the bands of each number."""
    return list(np.ascontiguousarray(rule.bands_of(as_given(sketches)).T))


def owners(sketches: Fingerprints, rule: MatchRule, tasks: int) -> list[Tasks]:
    """Returns the task that each band of each sketch chooses."""
    bands = bands_of(sketches, rule)
    return [task_of(of_number, number, tasks) for number, of_number in enumerate(bands)]


def pairs_of_task(sketches: Fingerprints, task: int, rule: MatchRule, tasks: int) -> Near:
    """Finds the pairs of different sketches that a task reports: their positions and distances."""
    bands = bands_of(sketches, rule)
    for number, of_number in enumerate(bands):
        rows = np.flatnonzero(task_of(of_number, number, tasks) == task)
        rows = rows[np.argsort(of_number[rows], kind="stable")]
        for some, others in _with_equal(of_number[rows]):
            a, b = rows[some], rows[others]
            distances = rule.distances(as_given(sketches[a]), as_given(sketches[b]))
            is_match = distances != NO_MATCH
            for earlier in bands[:number]:
                is_match &= earlier[a] != earlier[b]
            yield a[is_match], b[is_match], distances[is_match]


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
