"""The documents of a database that a deduplication compares its rows with."""

from __future__ import annotations

import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _columns
from ._errors import InvalidArgumentError
from ._arrays import SKETCH as _SKETCH
from ._native import Comparer, Db, Document, Nearest

TextOf = Callable[[list[str]], "Iterable[str | None]"]

Numbers = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.uint64]
Sketches = npt.NDArray[np.void]

# Names that are read together.
_NAMES = 1 << 12
# Added to positions of documents of earlier runs, as Comparer has them.
EARLIER = 1 << 63


class Near(NamedTuple):
    """The documents near the rows of a chunk, sorted by row and distance, for Comparer.decide."""

    rows: Numbers
    of: Unsigned
    """Numbers of rows; for documents of earlier runs, 2**63 more than a position in texts."""
    distances: Numbers
    gives_way: Unsigned
    names: list[str]
    """The names of the documents of earlier runs."""
    ids: Numbers
    """Their ids."""
    texts: list[str | None]
    sketches: list[bytes]
    """Their sketches."""


class Row(NamedTuple):
    """What is stored of a row beside its sketch."""

    id: str
    """Unique in the run."""
    priority: int | str | None
    """Of rows that are alike, the one with the greatest priority is kept, or with the least if it is a
    str; None if it is the first one."""


class Stored:
    """The documents of a database, and the kept rows of this run, which are added to it. The document of a row is
    named "run/id"."""

    def __init__(self, db: Db, run: str, replaces: Sequence[str], text_of: TextOf | None, asks_all: bool) -> None:
        self.db = db
        self.replaced: dict[int, list[str]] = {}
        self.stored_before = 0
        self._prefix = f"{run}/"
        self._replaces = [f"{other}/" for other in replaces]
        self._text_of = text_of
        # Whether the text of each document that is near is asked for, or only where the sketches are not sure.
        self._asks_all = asks_all
        self._number_of = _NumberOf()
        self._superseded: dict[int, list[str]] = {}
        # What an earlier attempt at this run stored is decided again, so that the results are the same.
        self._attempted = np.array([id for _, id in _names_of(db, self._prefix)], np.int64)
        # No row is compared with these, nor with other documents that give way.
        self._nearest = Nearest()
        self._nearest.leave_out(self._attempted)

    def announce(self, ids: Iterable[str | None]) -> None:
        """Finds the documents of runs that are replaced of which this run has another version. They give way before any
        row is compared, so that no row is dropped because of one."""
        found, out = set(), array.array("q")
        for row, id in enumerate(ids):
            for name in [other + id for other in self._replaces] if id else []:
                document = None if name in found else self.db.get(name)
                if document is not None:
                    found.add(name)
                    out.append(document.id)
                    self._superseded.setdefault(row, []).append(name)
        self._nearest.leave_out(np.array(out, np.int64))

    def near(self, sketches: Sketches, places: Numbers, rows: Sequence[Row], comparer: Comparer) -> Near:
        """Returns the documents near these rows of the chunk that the comparer has read."""
        found, ids, distances = _found(self._nearest, self.db, sketches[places])
        found, numbers = places[found], self._number_of(ids)
        is_earlier = numbers < 0
        documents, position = np.unique(ids[is_earlier], return_inverse=True)
        names = [name or "" for name in self.db.names(documents)]
        of = numbers.astype(np.uint64)
        of[is_earlier] = position.astype(np.uint64) + np.uint64(EARLIER)
        earlier = [self.db.get(name) for name in names]
        gives_way = self._give_way(found, of, earlier, names, rows)
        # The documents are there, because nobody else writes.
        theirs = [it.fingerprint if it and isinstance(it.fingerprint, bytes) else bytes(_SKETCH) for it in earlier]
        is_asked = np.full(len(names), self._asks_all)
        if self._text_of is not None and not self._asks_all:
            is_unsure = comparer.are_unsure(found[is_earlier], [theirs[it] for it in position.tolist()])
            is_asked[position[is_unsure != 0]] = True
        return Near(found, of, distances, gives_way, names, documents, self._texts(names, is_asked), theirs)

    def _give_way(
        self, found: Numbers, of: Unsigned, documents: Sequence[Document | None], names: list[str], rows: Sequence[Row]
    ) -> Unsigned:
        """Returns which documents lose against the row that they are near."""
        gives_way = np.zeros(len(of), np.uint64)
        if not rows or rows[0].priority is None:
            return gives_way
        is_earlier = of >= EARLIER
        ids = [id_of(name) for name in names]
        priorities = [(it.stamp or 0) if it else 0 for it in documents]
        for place in np.flatnonzero(is_earlier).tolist():
            own = rows[found[place]].priority
            position = int(of[place]) - EARLIER
            gives_way[place] = own < ids[position] if isinstance(own, str) else own > priorities[position]
        return gives_way

    def _texts(self, names: list[str], is_asked: npt.NDArray[np.bool_]) -> list[str | None]:
        """Returns the texts of the documents for which they are asked, as far as they are known."""
        texts: list[str | None] = [None] * len(names)
        places = np.flatnonzero(is_asked).tolist()
        if not places or self._text_of is None:
            return texts
        given = self._text_of([names[place] for place in places])
        if isinstance(given, (str, Mapping)):
            raise TypeError(f"text_of: it must return a list of texts, not {type(given).__name__}")
        given = list(given)
        if len(given) != len(places):
            raise InvalidArgumentError(f"text_of: it was asked for {len(places)} texts and returned {len(given)}")
        for place, text in zip(places, given):
            texts[place] = _columns.without_surrogates([text])[0][0] if isinstance(text, str) else text
        return texts

    def names(self, rows: Sequence[Row]) -> list[str]:
        """Returns the names under which rows are stored."""
        return [self._prefix + row.id for row in rows]

    def add(self, sketches: Sketches, numbers: Numbers, rows: Sequence[Row]) -> None:
        """Adds kept rows with these numbers."""
        if not len(numbers):
            return
        names = self.names(rows)
        stamps = [row.priority for row in rows if isinstance(row.priority, int)]
        outcomes = self.db.write(sketches, names=names, stamps=stamps or None)
        is_stored = outcomes.kinds != 0
        self.stored_before += int(np.count_nonzero(is_stored))
        ids = outcomes.ids.astype(np.int64)
        if stamps:
            for place in np.flatnonzero(is_stored).tolist():
                ids[place] = self._lowered(names[place], sketches[place], stamps[place], int(ids[place]))
        self._nearest.put_back(ids)
        self._number_of.add(ids, numbers)

    def _lowered(self, name: str, sketch: Any, stamp: int, id: int) -> int:
        """Stores a document of an earlier attempt anew if it had a greater score. Returns its id."""
        known = self.db.get(name)
        if known is None or (known.stamp or 0) <= stamp:
            return id
        self.db.remove(name)
        return int(self.db.write(np.array([sketch]), names=[name], stamps=[stamp]).ids[0])

    def give_way(self, number: int, name: str, id: int) -> None:
        """Notes that a document of an earlier run gives way to a kept row."""
        self.replaced.setdefault(number, []).append(name)
        self._nearest.leave_out([id])

    def counts(self) -> dict[str, Any]:
        """Returns the fields of Deduplicated that are known here."""
        return {"replaced": self.replaced, "stored_before": self.stored_before}

    def superseded(self) -> dict[int, list[str]]:
        """Returns the names of the documents that give way whatever becomes of a row, because they have its id. The
        rows are numbered as they were given."""
        return self._superseded

    def finish(self) -> None:
        """Removes the documents that give way."""
        # Not before, so that an interrupted run finds them again.
        left = self._attempted[self._number_of(self._attempted) < 0]
        for begin in range(0, len(left), _NAMES):
            for name in filter(None, self.db.names(left[begin : begin + _NAMES])):
                self.db.remove(name)
        for names in (*self.replaced.values(), *self._superseded.values()):
            for name in names:
                self.db.remove(name)


def _names_of(db: Db, prefix: str) -> Iterator[tuple[str, int]]:
    """Yields the names that begin with a prefix, and the ids of their documents."""
    after = prefix
    while found := Comparer.names_after(db, after, prefix, _NAMES):
        yield from found
        after = found[-1][0]


def id_of(name: str) -> str:
    """Returns the id in the name of a document."""
    return name.partition("/")[2]


def _found(nearest: Nearest, db: Db, sketches: Sketches) -> tuple[Numbers, Numbers, Numbers]:
    """Returns the nearest documents: positions of sketches, ids and distances, sorted by position, distance and id."""
    places, ids, distances = (column.astype(np.int64) for column in nearest.find(db, sketches))
    return places, ids, distances


class _NumberOf:
    """The numbers of rows of this run by the ids of their documents. The database numbers new documents in order,
    so that most ids of a run follow each other."""

    def __init__(self) -> None:
        self._first = 0
        # 1 more than the number. Zeros that nobody writes to take no memory.
        self._numbers = np.zeros(0, np.int64)

    def add(self, ids: Numbers, numbers: Numbers) -> None:
        low, high = int(ids.min()), int(ids.max()) + 1
        if not len(self._numbers):
            self._first = low
        if low < self._first or high > self._first + len(self._numbers):
            first = min(low, self._first)
            end = max(high, self._first + 2 * len(self._numbers))
            grown = np.zeros(end - first, np.int64)
            grown[self._first - first :][: len(self._numbers)] = self._numbers
            self._first, self._numbers = first, grown
        self._numbers[ids - self._first] = numbers + 1

    def __call__(self, ids: Numbers) -> Numbers:
        """Returns the number of each document's row, and -1 for documents of earlier runs."""
        found = np.full(len(ids), -1, np.int64)
        places = ids - self._first
        is_own = (places >= 0) & (places < len(self._numbers))
        found[is_own] = self._numbers[places[is_own]] - 1
        return found
