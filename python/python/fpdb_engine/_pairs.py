"""Pairs of texts that have a window in common, from one table of windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._native import kept_windows
from ._order import Texts

Numbers = npt.NDArray[np.int64]

# The characters of texts that are compared together.
_BYTES = 32 << 20
# Windows of which the pairs are in memory at the same time.
_PART = 1 << 14


class Shared(NamedTuple):
    """The windows that several texts have."""

    rows: Numbers
    """For each window the rows that have it, in ascending order."""
    begins: Numbers
    """Where the rows of the window begin, for each element of rows."""
    counts: Numbers
    """How many rows have the window, for each element of rows."""
    total: int
    """How many rows there are, at least 1."""

    def with_first(self, most: int) -> tuple[Numbers, Numbers]:
        """Pairs each row with the first row of each of its windows: with so many, those that share most windows first.
        Returns the rows in ascending order, and the others."""
        first = self.rows[self.begins]
        is_later = first != self.rows
        codes, counts = np.unique(self.rows[is_later] * self.total + first[is_later], return_counts=True)
        rows, others = np.divmod(codes, self.total)
        order = np.lexsort((others, -counts, rows))
        rows, others = rows[order], others[order]
        is_near = _ranks(rows) < most
        return rows[is_near], others[is_near]

    def with_rarest(self, windows: int, most: int) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Pairs each row with the first rows that have one of its rarest windows, so many of each. Yields, for parts of
        the rows, the rows in ascending order and the others; and the rows that have more of these."""
        order = np.lexsort((self.counts, self.rows))
        order = order[_ranks(self.rows[order]) < windows]
        for begin in range(0, len(order), _PART):
            # A row has at most so many windows, so the rows of two parts differ if each begins with a row.
            part = order[_first_of(self.rows[order], begin) : _first_of(self.rows[order], begin + _PART)]
            before = part - self.begins[part]
            numbers = np.minimum(before, most)
            others = self.rows[np.repeat(self.begins[part], numbers) + _places(numbers)]
            codes = np.unique(np.repeat(self.rows[part], numbers) * self.total + others)
            rows, others = np.divmod(codes, self.total)
            yield rows, others, np.unique(self.rows[part[before > most]])


def _first_of(rows: Numbers, place: int) -> int:
    """Returns where the elements begin that are equal to the one at a place."""
    return int(np.searchsorted(rows, rows[place])) if place < len(rows) else len(rows)


def _places(numbers: Numbers) -> Numbers:
    """Counts from 0, so far for each number."""
    ends = np.cumsum(numbers)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - numbers, numbers)


def _ranks(rows: Numbers) -> Numbers:
    """Returns the place of each element among the equal ones beside it."""
    return np.arange(len(rows)) - np.searchsorted(rows, rows)


def shared_windows(chunks: Iterable[Any], min_words: int, seed: int, threads: int | None) -> Shared:
    """Finds the windows that several texts have. In memory, this takes 24 bytes per window that is kept."""
    found = [kept_windows(chunk, min_words, seed, threads) for chunk in chunks]
    ends = np.cumsum(np.concatenate([np.zeros(0, np.uint64), *(counts for counts, _ in found)]))
    hashes = np.concatenate([np.zeros(0, np.uint64), *(hashes for _, hashes in found)])
    del found
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    window = np.searchsorted(repeated, hashes)
    places = np.flatnonzero(np.append(repeated, repeated[:1])[window] == hashes) if len(repeated) else window[:0]
    rows = np.searchsorted(ends, places.astype(np.uint64), "right")
    total = max(len(ends), 1)
    window, rows = np.divmod(np.unique(window[places] * total + rows), total)
    begins = np.searchsorted(window, window)
    counts = np.searchsorted(window, window, "right") - begins
    several = counts > 1
    # Windows of one row leave, so the others move.
    before = np.cumsum(~several)
    return Shared(rows[several], (begins - before)[several], counts[several], total)


class Batch(NamedTuple):
    """Texts that are compared together, and pairs of positions in the list of them."""

    texts: list[str]
    rows: Numbers
    """The row of each text."""
    a: Numbers
    b: Numbers


def batches(texts: Texts, rows: Numbers, others: Numbers) -> Iterator[Batch]:
    """Divides pairs, sorted by the first row, so that the texts of each part are not too long. All pairs of a row
    are in one part."""
    places: dict[int, int] = {}
    some: list[str] = []
    begin = size = 0
    for at, (row, other) in enumerate(zip(rows.tolist(), others.tolist())):
        if size > _BYTES and row != rows[at - 1]:
            yield _batch(places, some, rows[begin:at], others[begin:at])
            places, some, begin, size = {}, [], at, 0
        for it in (row, other):
            if places.setdefault(it, len(some)) == len(some):
                some.append(texts.text(it) or "")
                size += len(some[-1])
    if some:
        yield _batch(places, some, rows[begin:], others[begin:])


def _batch(places: dict[int, int], texts: list[str], rows: Numbers, others: Numbers) -> Batch:
    a, b = (np.array([places[row] for row in some.tolist()], np.int64) for some in (rows, others))
    return Batch(texts, np.array(list(places), np.int64), a, b)
