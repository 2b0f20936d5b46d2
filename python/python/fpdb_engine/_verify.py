"""The exact similarity of rows that are near by their sketches, chunk by chunk."""

from __future__ import annotations

import array
import bisect
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _columns
from ._errors import InvalidArgumentError
from ._native import MOST_CANDIDATES, Db, verified_duplicates

TextOf = Callable[[list[str]], "Iterable[str | None]"]

# For the matches of a chunk that are in memory at the same time.
_JOIN_MEMORY = 64 << 20


class KeptTexts:
    """The texts of rows that were kept, by their number. Those of a column stay where they are. Those of an
    iterator are written to a file without a name, so that they need no memory."""

    def __init__(self, is_column: bool) -> None:
        self._starts: list[int] = []
        self._chunks: list[Any] = []
        self._file = None if is_column else tempfile.TemporaryFile(prefix="fpdb-")
        # Where the text of each row begins in the file, and where the last one ends.
        self._offsets = array.array("q", [0])

    def append(self, start: int, chunk: Any, keep: npt.NDArray[np.bool_]) -> None:
        """Adds a chunk, whose first row has the number start."""
        if self._file is None:
            self._starts.append(start)
            self._chunks.append(chunk)
            return
        end = self._offsets[-1]
        for row, is_kept in enumerate(keep.tolist()):
            text = _columns.text_at(chunk, row) if is_kept else None
            if text:
                data = text.encode()
                self._file.write(data)
                end += len(data)
            self._offsets.append(end)
        self._file.flush()

    def __getitem__(self, row: int) -> str | None:
        if self._file is None:
            place = bisect.bisect_right(self._starts, row) - 1
            return _columns.text_at(self._chunks[place], row - self._starts[place])
        begin, end = self._offsets[row], self._offsets[row + 1]
        return os.pread(self._file.fileno(), end - begin, begin).decode()


class Verified(NamedTuple):
    """What each row of a chunk is like, and how similar it is. For a row to keep, row and document are -1, and
    similarity is NaN."""

    row: npt.NDArray[np.int64]
    """The row of this run that it is like."""
    document: npt.NDArray[np.int64]
    """The id of the earlier document that it is like."""
    similarity: npt.NDArray[np.float64]


class Verifier:
    """Compares rows with documents of a database, whose texts the caller has."""

    def __init__(
        self,
        db: Db,
        texts: KeptTexts,
        row_of: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]],
        text_of: TextOf | None,
        options: dict[str, Any],
    ) -> None:
        assert db.sketch_keys is not None, "it was created for a similarity"
        self.db = db
        self.keys = db.sketch_keys
        self.texts = texts
        self.row_of = row_of
        self.text_of = text_of
        self.options = options

    def decide(
        self,
        texts: Sequence[str | None],
        sketches: npt.NDArray[np.void],
        rows: npt.NDArray[np.int64],
        names: list[str] | None,
    ) -> Verified:
        """Decides which of these texts are duplicates. All of them have a sketch."""
        places, ids, distances = self._candidates(sketches)
        documents, inverse = np.unique(ids, return_inverse=True)
        of_row = self.row_of(documents)
        earlier = documents[of_row < 0]
        name_of = dict(zip(earlier.tolist(), self.db.names(earlier), strict=True)) if names else {}
        is_stored = np.zeros(len(rows), np.uint64)
        if names is not None:
            # The old version of a document does not make it a duplicate. A repeated run finds the rows that it had
            # added: they are compared as rows of the chunk.
            own = [name_of.get(id) == names[at] for at, id in zip(places.tolist(), ids.tolist())]
            is_own = np.array(own, np.bool_)
            is_stored[places[is_own & (distances == 0)]] = 1
            stored = np.unique(ids[is_own & (distances == 0)])
            other = ~is_own & ~np.isin(ids, stored) & (is_stored[places] == 0)
            places, distances, inverse = places[other], distances[other], inverse[other]
        wanted, inverse = np.unique(inverse, return_inverse=True)
        documents, of_row = documents[wanted], of_row[wanted]
        offsets = np.searchsorted(places, np.arange(len(rows) + 1)).astype(np.uint64)
        compared, similarity = verified_duplicates(
            texts,
            sketches,
            is_stored,
            offsets,
            inverse.astype(np.uint64),
            distances.astype(np.uint64),
            self._texts_of(documents, of_row, name_of),
            keys=self.keys,
            within=self.db.max_distance,
            **self.options,
        )
        return self._rows(compared, similarity, rows, documents, of_row)

    def _candidates(
        self, sketches: npt.NDArray[np.void]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns the nearest documents of the database: positions of rows, ids and distances, by row."""
        found = np.zeros((3, 0), np.int64)
        for ids, places, distances in self.db.join(sketches, memory=_JOIN_MEMORY):
            more = np.stack([places.astype(np.int64), distances.astype(np.int64), ids.astype(np.int64)])
            found = np.concatenate([found, more], axis=1)
            found = found[:, np.lexsort(found[::-1])]
            begins = np.searchsorted(found[0], found[0])
            found = found[:, np.arange(found.shape[1]) - begins < MOST_CANDIDATES]
        return found[0], found[2], found[1]

    def _texts_of(
        self,
        documents: npt.NDArray[np.int64],
        of_row: npt.NDArray[np.int64],
        name_of: dict[int, str | None],
    ) -> list[str | None]:
        texts = [self.texts[row] if row >= 0 else None for row in of_row.tolist()]
        earlier = np.flatnonzero(of_row < 0).tolist()
        if earlier and self.text_of is not None:
            names = [name_of[int(documents[place])] or "" for place in earlier]
            given = list(self.text_of(names))
            if len(given) != len(names):
                raise InvalidArgumentError(
                    f"text_of: it was asked for {len(names)} texts and returned {len(given)}"
                )
            for place, text in zip(earlier, given, strict=True):
                texts[place] = text
        return texts

    def _rows(
        self,
        compared: npt.NDArray[np.int64],
        similarity: npt.NDArray[np.float64],
        rows: npt.NDArray[np.int64],
        documents: npt.NDArray[np.int64],
        of_row: npt.NDArray[np.int64],
    ) -> Verified:
        row = np.full(len(rows), -1, np.int64)
        document = np.full(len(rows), -1, np.int64)
        is_here = (compared >= 0) & (compared < len(rows))
        row[is_here] = rows[compared[is_here]]
        is_there = compared >= len(rows)
        places = compared[is_there] - len(rows)
        row[is_there] = of_row[places]
        document[is_there] = np.where(of_row[places] < 0, documents[places], -1)
        return Verified(row, document, similarity)
