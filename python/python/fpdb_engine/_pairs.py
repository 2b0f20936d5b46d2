"""Pairs of texts that have a window in common, from one table of windows."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._native import kept_windows
from ._order import Texts

Numbers = npt.NDArray[np.int64]

# The characters of texts that are compared together.
_BYTES = 32 << 20
# Hashes that are in memory before they are written to files, and the number of these files.
_WAITING, _FILES = 1 << 21, 64


class Shared(NamedTuple):
    """The windows that several texts have."""

    rows: Numbers
    """For each window the rows that have it, in ascending order."""
    begins: Numbers
    """Where the rows of the window begin, for each element of rows."""
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


def _ranks(rows: Numbers) -> Numbers:
    """Returns the place of each element among the equal ones beside it."""
    return np.arange(len(rows)) - np.searchsorted(rows, rows)


def shared_windows(chunks: Iterable[Any], min_words: int, seed: int, threads: int | None) -> Shared:
    """Finds the windows that several texts have. If there are many windows, they are written to temporary files. In
    memory, this takes 16 bytes for each window of a text that another text has."""
    total, shared = 0, 0
    found = [np.zeros((2, 0), np.int64)]
    with contextlib.ExitStack() as stack:
        parts = Parts(stack)
        for chunk in chunks:
            counts, hashes = kept_windows(chunk, min_words, seed, threads)
            parts.add(hashes, np.repeat(np.arange(total, total + len(counts)), counts.astype(np.int64)))
            total += len(counts)
        for hashes, rows in parts.each():
            found.append(_shared(hashes, rows))
            found[-1][1] += shared
            shared += found[-1].shape[1]
    rows, begins = np.concatenate(found, axis=1)
    return Shared(rows, begins, max(total, 1))


def _shared(hashes: npt.NDArray[np.uint64], rows: Numbers) -> Numbers:
    """Returns the rows of each window that several have, and where those of the window begin."""
    if not len(rows):
        return np.zeros((2, 0), np.int64)
    hashes, rows = by_hash(hashes, rows)
    starts = np.flatnonzero(np.append(np.diff(hashes) != 0, True)) + 1
    counts = np.diff(starts, prepend=0)
    several = counts > 1
    ends = np.cumsum(counts[several])
    numbers = counts[several]
    return np.stack([rows[np.repeat(several, counts)], np.repeat(ends - numbers, numbers)])


def by_hash(hashes: npt.NDArray[np.uint64], rows: Numbers) -> tuple[npt.NDArray[np.uint64], Numbers]:
    """Sorts rows by their hashes, and removes what is repeated."""
    order = np.lexsort((rows, hashes))
    hashes, rows = hashes[order], rows[order]
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (np.diff(hashes) != 0) | (np.diff(rows) != 0)
    return hashes[is_first], rows[is_first]


class Parts:
    """Hashes and the rows that have them, in parts with the same hashes. If there are many, they are in files without
    names."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        """The files are closed with the stack."""
        self._stack = stack
        self._waiting: list[tuple[npt.NDArray[np.uint64], Numbers]] = []
        self._size = 0
        self._files: list[Any] = []

    def add(self, hashes: npt.NDArray[np.uint64], rows: Numbers) -> None:
        self._waiting.append((hashes, rows))
        self._size += len(rows)
        if self._size >= _WAITING:
            self._write()

    def each(self) -> Iterator[tuple[npt.NDArray[np.uint64], Numbers]]:
        """Yields the parts. No more can be added."""
        if not self._files:
            yield self._taken()
            return
        self._write()
        for file in self._files:
            file.seek(0)
            records = np.frombuffer(file.read(), np.uint64).reshape(-1, 2)
            file.close()
            yield records[:, 0], records[:, 1].astype(np.int64)

    def _taken(self) -> tuple[npt.NDArray[np.uint64], Numbers]:
        hashes = np.concatenate([np.zeros(0, np.uint64), *(hashes for hashes, _ in self._waiting)])
        rows = np.concatenate([np.zeros(0, np.int64), *(rows for _, rows in self._waiting)])
        self._waiting, self._size = [], 0
        return hashes, rows

    def _write(self) -> None:
        if not self._files:
            files = (tempfile.TemporaryFile(prefix="fpdb-") for _ in range(_FILES))
            self._files = [self._stack.enter_context(file) for file in files]
        hashes, rows = self._taken()
        # Windows with small hashes are kept, so the hashes are mixed.
        part = ((hashes * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(58)).astype(np.int64) % _FILES
        order = np.argsort(part, kind="stable")
        records = np.stack([hashes, rows.astype(np.uint64)], axis=1)[order]
        ends = np.searchsorted(part[order], np.arange(_FILES + 1))
        for number, file in enumerate(self._files):
            file.write(records[ends[number] : ends[number + 1]].tobytes())


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
