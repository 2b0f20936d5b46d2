"""Which tasks compare sketches, and what they find.

A sketch has a band of each number. It is sent to the tasks that its bands choose, each together with its
number, so any two that share a band meet. There they are compared by the rule. The task of the first band that
they share reports them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fpdb_engine import MatchRule

from ._arrow import Fingerprints, Words, as_given
from ._near import Distances, Positions
from ._sending import Tasks, task_of

CANDIDATES = 1 << 22
"""About how many pairs are compared at a time."""


class Crowd(NamedTuple):
    """Sketches that share the band of a number, and are too many to be compared by one task."""

    number: int
    rows: Positions


def bands_of(sketches: Fingerprints, rule: MatchRule) -> list[Words]:
    """Returns the bands of each number."""
    return list(np.ascontiguousarray(rule.bands_of(as_given(sketches)).T))


def owners(sketches: Fingerprints, rule: MatchRule, tasks: int) -> list[Tasks]:
    """Returns the task that each band of each sketch chooses."""
    bands = bands_of(sketches, rule)
    return [task_of(of_number, number, tasks) for number, of_number in enumerate(bands)]


def pairs_of_task(
    sketches: Fingerprints, task: int, rule: MatchRule, tasks: int, most: int | None = None
) -> Iterator[tuple[Positions, Positions, Distances] | Crowd]:
    """Finds the pairs of different sketches that a task reports: their positions and distances. If more than `most` share
    a band, they are not compared, but returned as a crowd."""
    bands = bands_of(sketches, rule)
    for number, of_number in enumerate(bands):
        rows = np.flatnonzero(task_of(of_number, number, tasks) == task)
        if len(rows) < 2:
            continue
        rows = rows[np.argsort(of_number[rows], kind="stable")]
        is_equal = of_number[rows[1:]] == of_number[rows[:-1]]
        rows = rows[np.append(is_equal, False) | np.append(False, is_equal)]
        if most is not None and len(rows) > most:
            crowds, rows = _without_crowds(of_number[rows], rows, most)
            yield from (Crowd(number, crowd) for crowd in crowds)
        comparison = rule._comparison(as_given(sketches[rows]))
        for first, ends in _with_equal(of_number[rows]):
            some, others, distances = comparison.pairs(first, ends)
            a, b = rows[some], rows[others]
            is_ours = is_first_shared(bands, number, a, b)
            yield a[is_ours], b[is_ours], distances[is_ours]


def is_first_shared(
    bands: Sequence[Words], number: int, a: Positions, b: Positions
) -> npt.NDArray[np.bool_]:
    """Returns which pairs, all of which share the band of this number, share none before it."""
    is_first = np.ones(len(a), bool)
    for earlier in bands[:number]:
        is_first &= earlier[a] != earlier[b]
    return is_first


def _without_crowds(bands: Words, rows: Positions, most: int) -> tuple[list[Positions], Positions]:
    """Divides rows, which are sorted by band, into groups of more than `most`, and all others."""
    bounds = np.flatnonzero(np.append(np.append(True, bands[1:] != bands[:-1]), True))
    is_large = np.diff(bounds) > most
    crowds = [rows[begin:end] for begin, end in zip(bounds[:-1][is_large], bounds[1:][is_large])]
    return crowds, rows[~np.repeat(is_large, np.diff(bounds))]


def _with_equal(bands: Words) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Divides bands, which are sorted, into parts. Returns where each part begins, and for each of its bands the place
    after the last one that is equal."""
    ends: npt.NDArray[np.int64] = np.searchsorted(bands, bands, side="right")
    partners = ends - np.arange(len(bands)) - 1
    before = np.append(0, np.cumsum(partners))
    start = 0
    while start < len(bands):
        # At least one band.
        end = max(int(np.searchsorted(before, before[start] + CANDIDATES, side="right")) - 1, start + 1)
        yield start, ends[start:end]
        start = end
