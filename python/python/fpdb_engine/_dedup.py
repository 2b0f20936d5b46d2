"""From a column of texts to the rows to keep, in one call."""

from __future__ import annotations

import dataclasses
import html
import itertools
import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ._errors import InvalidArgumentError
from ._native import Db, fingerprint_batch
from ._results import OutcomeKind

_log = logging.getLogger("fpdb_engine")

_BITS = 128
# Texts that are compared and written together.
_CHUNK = 8192
# Pairs and clusters of which a report shows an example.
_EXAMPLES = 5

Progress = Callable[[int, "int | None"], None]


@dataclasses.dataclass(frozen=True)
class Deduplicated:
    """What dedup found. All arrays have an element per row."""

    keep: npt.NDArray[np.bool_]
    """Whether to keep the row."""
    duplicate_of: npt.NDArray[np.int64]
    """For a dropped row, the kept row that it is like; -1 for others, and for a row that is like a document
    of an earlier run, whose name is in earlier."""
    similarity: npt.NDArray[np.float32]
    """For a dropped row, its estimated Jaccard similarity to that document, with a standard error of about
    0.05; NaN for others."""
    earlier: dict[int, str]
    """For rows that are like a document of an earlier run: the name of that document."""
    too_short: int
    """Number of rows that are kept because they have too little text to be compared."""

    def __len__(self) -> int:
        return len(self.keep)

    @property
    def dropped(self) -> int:
        """Number of rows to drop."""
        return len(self) - int(np.count_nonzero(self.keep))

    def sizes(self) -> npt.NDArray[np.int64]:
        """Returns the number of rows in each cluster: a kept row and all that are like it. The largest first.

        >>> dedup(["a b c d e f g"] * 3 + ["h i j k l m n"]).sizes().tolist()
        [3]
        """
        of = self.duplicate_of[self.duplicate_of >= 0]
        _, counts = np.unique(of, return_counts=True)
        return np.sort(counts.astype(np.int64) + 1)[::-1]

    def examples(self, number: int = _EXAMPLES) -> list[tuple[int, int, float]]:
        """Returns some dropped rows: the row, the row that it is like, and the similarity. The least similar
        come first, since these are the ones to look at."""
        rows = np.flatnonzero(self.duplicate_of >= 0)
        rows = rows[np.argsort(self.similarity[rows], kind="stable")][:number]
        return [(int(r), int(self.duplicate_of[r]), float(self.similarity[r])) for r in rows]

    def _figures(self) -> list[tuple[str, str]]:
        sizes = self.sizes()
        figures = [
            ("rows", f"{len(self):,}"),
            ("kept", f"{len(self) - self.dropped:,}"),
            ("dropped", f"{self.dropped:,}"),
            ("of these, like an earlier document", f"{len(self.earlier):,}"),
            ("too short to be compared", f"{self.too_short:,}"),
            ("clusters", f"{len(sizes):,}"),
            ("largest clusters", ", ".join(f"{size:,}" for size in sizes[:_EXAMPLES]) or "none"),
        ]
        return figures

    def __repr__(self) -> str:
        return f"<fpdb_engine.Deduplicated: {len(self):,} rows, {self.dropped:,} to drop>"

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self._figures())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
            for name, value in self._figures()
        )
        pairs = "".join(
            f"<tr><td>row {row:,}</td><td>is like row {of:,}, similarity {similarity:.2f}</td></tr>"
            for row, of, similarity in self.examples()
        )
        return f"<table>{rows}{pairs}</table>"


def dedup(
    texts: Any,
    ids: Any = None,
    *,
    similarity: float = 0.8,
    recall: float = 0.95,
    keep: Literal["first", "longest"] = "first",
    against: str | Path | None = None,
    recipe: str = "default",
    expected: int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Deduplicated:
    """Finds near-duplicates among texts, and returns which rows to keep.

    texts is a list, an array of numpy or pyarrow, a series of pandas or Polars, a column of datasets, anything
    with the Arrow C stream interface, or an iterator of texts or of such chunks, which may be larger than
    memory: 128 bits are stored per text, on the disk, and the result takes 13 bytes per row. None is a text
    without content.

    Two texts are near-duplicates if the Jaccard similarity of their pairs of words is at least similarity. Of
    pairs of exactly this similarity, the share recall is found, and of more similar ones more. A row is kept
    unless it is like one that is kept already. keep says which comes first: "first" the rows in their order,
    "longest" the longest texts. Texts that are too short to be compared are kept.

    With against, the rows are also compared with the documents of a database, and kept rows are added to it
    under the names in ids. It is created if it is missing. If a run is repeated, the rows that it had added
    are kept again, so an interrupted run can be started again.

    expected is the number of texts for which the tables are chosen, if texts has no length. progress is called
    with the number of rows so far and the number of all, or None if that is not known; True shows tqdm's bar.

    >>> texts = [
    ...     "The quick brown fox jumps over the lazy dog and runs into the forest behind the old mill.",
    ...     "Trains leave for the airport every ten minutes, until midnight, from platform number four.",
    ...     "The quick brown fox jumps over the lazy dog, and runs into the forest behind the old mill!",
    ... ]
    >>> found = dedup(texts)
    >>> found.keep.tolist(), found.duplicate_of.tolist()
    ([True, True, False], [-1, -1, 0])
    >>> [text for text, is_kept in zip(texts, found.keep) if is_kept] == texts[:2]
    True
    """
    if keep not in ("first", "longest"):
        raise InvalidArgumentError(f'keep {keep!r}: expected "first" or "longest"')
    if against is not None and ids is None:
        raise InvalidArgumentError("against: give ids, the names under which the rows to keep are stored")
    total = _length(texts)
    options: dict[str, Any] = {
        "similarity": similarity,
        "recall": recall,
        "recipe": recipe,
        "durability": "buffered",
        "threads": threads,
        "expected_entries": expected if expected is not None else total,
    }
    if keep == "longest":
        texts, ids, order = _longest_first(texts, ids)
    names = None if ids is None else _rows(ids)
    report = _reporter(progress)
    if against is not None:
        with Db.open_or_create(against, ids="names", **options) as db:
            found = _Run(db, recipe, threads).all(_chunks(texts), names, total, report)
    else:
        with tempfile.TemporaryDirectory(prefix="fpdb-") as folder:
            with Db.create(Path(folder) / "dedup.fpdb", **options) as db:
                found = _Run(db, recipe, threads).all(_chunks(texts), None, total, report)
    if keep == "longest":
        found = _in_order(found, order)
    _log.info("dedup: %d rows, %d to drop", len(found), found.dropped)
    return found


class _Run:
    """One pass over the texts."""

    def __init__(self, db: Db, recipe: str, threads: int | None) -> None:
        self.db = db
        self.recipe = recipe
        self.threads = threads
        self.has_names = db.id_kind == "names"
        # The documents of this run have the ids from here on, and these rows.
        self.first_id: int | None = None
        self.row_of: list[npt.NDArray[np.int64]] = []
        self.keep: list[npt.NDArray[np.bool_]] = []
        self.duplicate_of: list[npt.NDArray[np.int64]] = []
        self.similarity: list[npt.NDArray[np.float32]] = []
        self.earlier: dict[int, str] = {}
        self.rows = 0
        self.too_short = 0

    def all(
        self,
        chunks: Iterator[Any],
        names: Iterator[str] | None,
        total: int | None,
        report: Progress,
    ) -> Deduplicated:
        for chunk in chunks:
            self._chunk(chunk, names)
            report(self.rows, total)
        if names is not None and next(names, None) is not None:
            raise InvalidArgumentError(f"ids: there are more than the {self.rows} texts")
        return Deduplicated(
            keep=_joined(self.keep, np.bool_),
            duplicate_of=_joined(self.duplicate_of, np.int64),
            similarity=_joined(self.similarity, np.float32),
            earlier=self.earlier,
            too_short=self.too_short,
        )

    def _chunk(self, texts: Any, names: Iterator[str] | None) -> None:
        fingerprints, has_one = fingerprint_batch(
            texts, self.recipe, bits=_BITS, threads=self.threads
        )
        number = len(has_one)
        rows = np.arange(self.rows, self.rows + number, dtype=np.int64)
        self.rows += number
        self.too_short += number - int(np.count_nonzero(has_one))
        own = None
        if names is not None:
            own = list(itertools.islice(names, number))
            if len(own) < number:
                raise InvalidArgumentError(f"ids: there are fewer than the {self.rows} texts")
        keep = np.ones(number, np.bool_)
        duplicate_of = np.full(number, -1, np.int64)
        similarity = np.full(number, np.nan, np.float32)
        places = np.flatnonzero(has_one)
        if len(places):
            if own is None:
                outcomes = self.db.write(fingerprints[places], rows[places], unless_near="rule")
            else:
                outcomes = self.db.write(
                    fingerprints[places],
                    names=[own[place] for place in places],
                    unless_near="rule",
                    or_update="keep",
                )
            is_dropped = outcomes.kinds == OutcomeKind.DUPLICATE
            dropped = places[is_dropped]
            keep[dropped] = False
            similarity[dropped] = 1 - 2 * outcomes.distances[is_dropped].astype(np.float32) / _BITS
            of = outcomes.ids[is_dropped].astype(np.int64)
            if own is not None:
                of = self._rows_of(of, rows[places], outcomes, rows[dropped])
            duplicate_of[dropped] = of
        self.keep.append(keep)
        self.duplicate_of.append(duplicate_of)
        self.similarity.append(similarity)

    def _rows_of(
        self,
        of: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int64],
        outcomes: Any,
        dropped: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        """Returns the rows of documents by their ids. The database numbers documents in order."""
        is_new = outcomes.kinds == OutcomeKind.INSERTED
        new = outcomes.ids[is_new].astype(np.int64)
        if len(new) and self.first_id is None:
            self.first_id = int(new[0])
        self.row_of.append(rows[is_new])
        row_of = _joined(self.row_of, np.int64)
        self.row_of = [row_of]
        places = of - (self.first_id if self.first_id is not None else np.iinfo(np.int64).max)
        is_own = (places >= 0) & (places < len(row_of))
        for row, document in zip(dropped[~is_own].tolist(), of[~is_own].tolist(), strict=True):
            self.earlier[row] = self.db.name(document) or ""
        found = np.full(len(of), -1, np.int64)
        found[is_own] = row_of[places[is_own]]
        return found


def _joined(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _length(texts: Any) -> int | None:
    try:
        return len(texts)
    except TypeError:
        return None


def _as_arrow(values: Any) -> Any:
    """Returns the chunks of an Arrow array in whatever form, or None if it is something else."""
    if hasattr(values, "chunks") and hasattr(values, "type"):
        return values.chunks
    if hasattr(values, "__arrow_c_stream__"):
        import pyarrow

        return pyarrow.chunked_array(values).chunks
    if hasattr(values, "__arrow_c_array__"):
        return [values]
    return None


def _chunks(texts: Any) -> Iterator[Any]:
    """Divides texts into chunks that fingerprint_batch takes."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"texts must be a column or a list, not {type(texts).__name__}")
    arrow = _as_arrow(texts)
    if arrow is not None:
        for part in arrow:
            for start in range(0, len(part), _CHUNK):
                yield part[start : start + _CHUNK]
    elif hasattr(texts, "to_numpy"):
        yield from _slices(texts.to_numpy())
    elif isinstance(texts, (Sequence, np.ndarray)) or hasattr(texts, "__getitem__"):
        yield from _slices(texts)
    elif isinstance(texts, Iterable):
        yield from _from_iterator(iter(texts))
    else:
        raise TypeError(f"texts must be a column, a list or an iterator, not {type(texts).__name__}")


def _slices(texts: Any) -> Iterator[list[str | None]]:
    for start in range(0, len(texts), _CHUNK):
        yield [_text(value) for value in texts[start : start + _CHUNK]]


def _from_iterator(values: Iterator[Any]) -> Iterator[Any]:
    """Takes texts, or chunks of texts."""
    first = next(values, _END)
    if first is _END:
        return
    values = itertools.chain([first], values)
    if first is not None and not isinstance(first, str):
        for chunk in values:
            yield from _chunks(chunk)
        return
    while some := [_text(value) for value in itertools.islice(values, _CHUNK)]:
        yield some


_END = object()


def _text(value: Any) -> str | None:
    # Missing values of numpy and pandas are floats or of types of their own.
    return value if isinstance(value, str) else None if _is_missing(value) else _refuse(value)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def _refuse(value: Any) -> str:
    raise TypeError(f"a text must be a str, not {type(value).__name__}")


def _rows(ids: Any) -> Iterator[str]:
    """Iterates over the names of rows."""
    arrow = _as_arrow(ids)
    if arrow is not None:
        return (str(value) for part in arrow for value in part.to_pylist())
    return (str(value) for value in ids)


def _longest_first(texts: Any, ids: Any) -> tuple[list[str | None], Any, npt.NDArray[np.int64]]:
    if _length(texts) is None:
        raise InvalidArgumentError('keep "longest": the texts must be in memory, not an iterator')
    everything: list[str | None] = []
    for chunk in _chunks(texts):
        everything.extend(chunk.to_pylist() if hasattr(chunk, "to_pylist") else chunk)
    lengths = np.array([-len(text or "") for text in everything], np.int64)
    order = np.argsort(lengths, kind="stable")
    if ids is not None:
        names = list(_rows(ids))
        ids = [names[row] for row in order]
    return [everything[row] for row in order], ids, order


def _in_order(found: Deduplicated, order: npt.NDArray[np.int64]) -> Deduplicated:
    """Puts rows that were sorted by length back into their order."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    of = found.duplicate_of[places]
    return Deduplicated(
        keep=found.keep[places],
        duplicate_of=np.where(of >= 0, order[of], -1),
        similarity=found.similarity[places],
        earlier={int(order[row]): name for row, name in found.earlier.items()},
        too_short=found.too_short,
    )


def _reporter(progress: Progress | bool | None) -> Progress:
    if callable(progress):
        return progress
    if progress:
        import tqdm.auto

        bar = tqdm.auto.tqdm(unit=" texts", unit_scale=True)

        def show(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        return show
    return lambda done, total: None
