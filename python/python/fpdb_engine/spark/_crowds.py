"""Crowds: sketches of which many share a band, because they are of one template.

They cannot be told from near-duplicates without comparing them, which takes the square of their number. So the task
that received a crowd does not compare it, but divides it into pieces. Every pair of pieces, and every piece by itself,
is one work, and the works are dealt to all tasks in a second shuffle. Pairs that were found before that pass through it
unchanged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fpdb_engine import MatchRule

from . import _bands
from ._arrow import Fingerprints, Words, as_given
from ._near import Distances, Near
from ._sending import partition_keys

CROWD = 1 << 12
"""Sketches that share a band are a crowd if they are more than this. To compare so many takes .1 s."""
PIECE = 1 << 16
"""Rows of a piece, at most: 15 MB."""
SMALL = 1 << 10
"""About the fewest rows of a piece. Smaller ones cost more to send than to compare."""
PAIRS = 1 << 20
"""Pairs that were found in a row of the shuffle, at most: 18 MB."""
WORKS = "task int, pairs binary, number int, split int, sketches binary, ids binary, partition int"
"""What is shuffled: pairs that were found, or a work."""
PAIR = np.dtype([("a", "<u8"), ("b", "<u8"), ("distance", "u1")])


class Work(NamedTuple):
    """Two pieces of a crowd to compare with each other, or one by itself."""

    task: int
    one: slice
    other: slice
    """Empty if there is only one."""

    def pairs(self) -> int:
        """Returns how many pairs are compared."""
        one, other = (piece.stop - piece.start for piece in (self.one, self.other))
        return one * other if other else one * (one - 1) // 2


def works(count: int, tasks: int, first: int) -> list[Work]:
    """Divides the comparisons of a crowd of so many rows among tasks, from the first one on.

    With twice as many pieces as the root of the number of tasks, each task has two works of two pieces. More would
    make the shares more equal, and would send each row more often.
    """
    pieces = min(max(2 * math.ceil(math.sqrt(tasks)), -(-count // PIECE)), -(-count // SMALL))
    bounds = [count * piece // pieces for piece in range(pieces + 1)]
    slices = [slice(*bound) for bound in zip(bounds, bounds[1:])]
    # Those of one piece are half as large, and come last, so that they even out the shares.
    found = [(one, other) for one, other in itertools.combinations(slices, 2)]
    found += [(piece, slice(piece.stop, piece.stop)) for piece in slices]
    dealt = (Work((first + place) % tasks, *both) for place, both in enumerate(found))
    return [work for work in dealt if work.pairs()]


def divided(
    number: int, sketches: Fingerprints, ids: Words, tasks: int, first: int
) -> Iterator[Any]:
    """Yields the works of a crowd, which shares the band of this number."""
    given = as_given(sketches)
    for work in works(len(ids), tasks, first):
        both = [work.one, work.other]
        yield _row(
            work.task,
            tasks,
            number=number,
            split=work.one.stop - work.one.start if work.other.stop > work.other.start else 0,
            sketches=np.concatenate([given[piece] for piece in both]).tobytes(),
            ids=np.concatenate([ids[piece] for piece in both]).tobytes(),
        )


def passed_on(first: int, tasks: int, a: Words, b: Words, distances: Distances) -> Iterator[Any]:
    """Yields pairs that were found as rows of the shuffle, for all tasks in turn from the first one on."""
    pairs = np.empty(len(a), PAIR)
    pairs["a"], pairs["b"], pairs["distance"] = a, b, distances
    for to, start in enumerate(range(0, len(pairs), PAIRS), first):
        yield _row(to % tasks, tasks, pairs=pairs[start : start + PAIRS].tobytes())


def _row(task: int, tasks: int, **values: Any) -> Any:
    of = {"task": task, "partition": int(partition_keys(tasks)[task]), **values}
    fields = (field.split() for field in WORKS.split(", "))
    types = {"int": pa.int32(), "binary": pa.binary()}
    return pa.record_batch({name: pa.array([of.get(name)], types[kind]) for name, kind in fields})


def compared(batches: Iterable[Any], rule: MatchRule) -> Iterator[tuple[Words, Words, Distances]]:
    """Does the works, and unpacks the pairs that were found before."""
    for batch in batches:
        for pairs, number, split, sketches, ids in zip(*batch.columns[1:6]):
            if pairs.is_valid:
                found = np.frombuffer(pairs.as_buffer(), PAIR)
                yield found["a"], found["b"], found["distance"]
                continue
            of_crowd = np.frombuffer(sketches.as_buffer(), np.uint8).reshape(-1, 228)
            own = np.frombuffer(ids.as_buffer(), np.uint64)
            for a, b, distances in _pairs_of_work(of_crowd, number.as_py(), split.as_py(), rule):
                yield own[a], own[b], distances


def _pairs_of_work(sketches: npt.NDArray[np.uint8], number: int, split: int, rule: MatchRule) -> Near:
    """Compares the first sketches, up to the split, with the others; all with each other if it is 0."""
    count = len(sketches)
    bands, comparison = list(np.ascontiguousarray(rule.bands_of(sketches).T)), rule._comparison(sketches)
    step = max(1, _bands.CANDIDATES // count)
    for first in range(0, split or count, step):
        ends = np.full(min(step, (split or count) - first), count)
        a, b, distances = comparison.pairs(first, ends, split)
        is_ours = _bands.is_first_shared(bands, number, a, b)
        yield a[is_ours], b[is_ours], distances[is_ours]
