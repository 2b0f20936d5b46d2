"""From a column of texts to the rows to keep, in one call."""

from __future__ import annotations

import dataclasses
import html
import itertools
import logging
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _columns
from ._errors import InvalidArgumentError
from ._native import Db, estimate_jaccard, fingerprint_batch
from ._results import OutcomeKind, Outcomes
from ._verify import KeptTexts, TextOf, Verifier

_log = logging.getLogger("fpdb_engine")

# Fingerprints of this width are sketches.
_BITS = 768
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
    """For a dropped row, its Jaccard similarity to that document: exact with verify, and otherwise an
    estimate with a standard error of about 0.04. NaN for others."""
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
    verify: bool = False,
    ngram: int | None = None,
    keep: Literal["first", "longest"] = "first",
    against: str | Path | None = None,
    text_of: TextOf | None = None,
    recipe: str = "default",
    expected: int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Deduplicated:
    """Finds near-duplicates among texts, and returns which rows to keep.

    texts is a list, an array of numpy or pyarrow, a series of pandas or Polars, a column of datasets, anything
    with the Arrow C stream interface, or an iterator of texts or of such chunks, which may be larger than
    memory: about 140 bytes are stored per text, on the disk, and the result takes 13 bytes per row. The last
    131,072 texts take up to 500 bytes more. None is a text without content.

    Two texts are near-duplicates if the Jaccard similarity of their pairs of words is at least similarity; with
    recipe="fives/1", that of their runs of five words, as MinHash programs compare them. Of pairs of exactly
    this similarity, the share recall is found, and of more similar ones more. A row is kept unless it is like
    one that is kept already. keep says which comes first: "first" the rows in their order,
    "longest" the longest texts. Texts that are too short to be compared are kept.

    Similarities are estimated by sketches, with a standard error of about 0.04, so that some pairs below
    the threshold are found too. With verify, the exact similarity of each pair found is computed from the
    texts, as jaccard() does, and a row is dropped only if it reaches the threshold. It is that of the pairs of
    words, or with ngram that of the runs of this number of words: with 5, what MinHash programs such as
    datatrove estimate by default. Texts of an iterator, a query or a dataset on the disk are then written to a
    temporary file, since they are needed again.

    With against, the rows are also compared with the documents of a database, and kept rows are added to it
    under the names in ids. It is created if it is missing. If a run is repeated, the rows that it had added
    are kept again, so an interrupted run can be started again. A database has no texts, so verify also needs
    text_of: a function that takes names of earlier documents, and returns their texts. In a repeated run, rows
    of later chunks can be among them. A document whose text is None is like no row.

    expected is the number of texts for which the keys are chosen, if texts has no length. progress is called
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
    if ngram is not None and not verify:
        raise InvalidArgumentError("ngram: only the exact similarity uses it; give verify=True too")
    if verify and against is not None and text_of is None:
        raise InvalidArgumentError(
            "verify: the texts of earlier documents are not in the database; give text_of, a function that "
            "takes a list of their names and returns their texts"
        )
    total = _columns.length(texts)
    is_in_memory = _columns.is_in_memory(texts)
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
    names = None if ids is None else _columns.names(ids)
    report = _reporter(progress)

    def run(db: Db, names: Iterator[str] | None) -> Deduplicated:
        rows = _Run(db, recipe, threads)
        if verify:
            exact = {"similarity": similarity, "recipe": recipe, "ngram": ngram, "threads": threads}
            kept = KeptTexts(is_column=is_in_memory)
            rows.verifier = Verifier(db, kept, rows.row_of, text_of, exact)
        return rows.all(_columns.chunks(texts), names, total, report)

    if against is not None:
        with Db.open_or_create(against, ids="names", **options) as db:
            found = run(db, names)
    else:
        with tempfile.TemporaryDirectory(prefix="fpdb-") as folder:
            with Db.create(Path(folder) / "dedup.fpdb", **options) as db:
                found = run(db, None)
    if keep == "longest":
        found = _in_order(found, order)
    _log.info("dedup: %d rows, %d to drop", len(found), found.dropped)
    return found


class _RowOf:
    """The rows of this run by the ids of their documents. The database numbers new documents in order, so that
    most ids of a run follow each other."""

    def __init__(self, has_names: bool) -> None:
        self._has_names = has_names
        self._first = 0
        # 1 more than the row. Zeros that nobody writes to take no memory.
        self._rows = np.zeros(0, np.int64)

    def add(self, ids: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> None:
        if not self._has_names or not len(ids):
            return
        low, high = int(ids.min()), int(ids.max()) + 1
        if not len(self._rows):
            self._first = low
        if low < self._first or high > self._first + len(self._rows):
            first = min(low, self._first)
            end = max(high, self._first + 2 * len(self._rows))
            grown = np.zeros(end - first, np.int64)
            grown[self._first - first :][: len(self._rows)] = self._rows
            self._first, self._rows = first, grown
        self._rows[ids - self._first] = rows + 1

    def __call__(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns the row of each document, and -1 for those of earlier runs."""
        if not self._has_names:
            return ids
        found = np.full(len(ids), -1, np.int64)
        places = ids - self._first
        is_own = (places >= 0) & (places < len(self._rows))
        found[is_own] = self._rows[places[is_own]] - 1
        return found


class _Run:
    """One pass over the texts."""

    def __init__(self, db: Db, recipe: str, threads: int | None) -> None:
        self.db = db
        self.recipe = recipe
        self.threads = threads
        # By distance.
        self.estimates = np.array(
            [estimate_jaccard(distance, recipe)[0] for distance in range(db.max_distance + 1)], np.float32
        )
        # For exact similarities, if they are wanted.
        self.verifier: Verifier | None = None
        self.row_of = _RowOf(db.id_kind == "names")
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
        sketches, has_one = fingerprint_batch(
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
            some = _Rows(
                _columns.take(texts, places) if self.verifier else [],
                sketches[places],
                rows[places],
                None if own is None else [own[place] for place in places.tolist()],
            )
            of, document, similarity[places] = self._verified(some) if self.verifier else self._near(some)
            duplicate_of[places] = of
            keep[places] = (of < 0) & (document < 0)
            is_earlier = document >= 0
            for row, name in zip(
                some.rows[is_earlier].tolist(), self.db.names(document[is_earlier]), strict=True
            ):
                self.earlier[row] = name or ""
        if self.verifier:
            self.verifier.texts.append(int(rows[0]) if number else 0, texts, keep)
        self.keep.append(keep)
        self.duplicate_of.append(duplicate_of)
        self.similarity.append(similarity)

    def _near(self, some: _Rows) -> tuple[Any, Any, Any]:
        """Writes rows unless there is a document whose sketch is near. Returns the row, the earlier
        document and the estimated similarity of what each is like, if anything."""
        outcomes = self._write(some, unless_near="rule")
        is_dropped = outcomes.kinds == OutcomeKind.DUPLICATE
        similarity = np.full(len(some.rows), np.nan, np.float32)
        similarity[is_dropped] = self.estimates[outcomes.distances[is_dropped]]
        of = np.full(len(some.rows), -1, np.int64)
        document = of.copy()
        ids = outcomes.ids[is_dropped].astype(np.int64)
        of[is_dropped] = self.row_of(ids)
        document[is_dropped] = np.where(of[is_dropped] < 0, ids, -1)
        return of, document, similarity

    def _verified(self, some: _Rows) -> tuple[Any, Any, Any]:
        """Does the same with exact similarities."""
        assert self.verifier is not None
        found = self.verifier.decide(some.texts, some.sketches, some.rows, some.names)
        kept = np.flatnonzero((found.row < 0) & (found.document < 0))
        self._write(
            _Rows(
                [],
                some.sketches[kept],
                some.rows[kept],
                None if some.names is None else [some.names[place] for place in kept.tolist()],
            )
        )
        return found

    def _write(self, some: _Rows, unless_near: Literal["rule"] | None = None) -> Outcomes:
        if some.names is None:
            return self.db.write(some.sketches, some.rows, unless_near=unless_near)
        outcomes = self.db.write(
            some.sketches, names=some.names, unless_near=unless_near, or_update="keep"
        )
        is_own = outcomes.kinds != OutcomeKind.DUPLICATE
        self.row_of.add(outcomes.ids[is_own].astype(np.int64), some.rows[is_own])
        return outcomes


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Rows that have a sketch."""

    texts: Any
    sketches: npt.NDArray[np.void]
    rows: npt.NDArray[np.int64]
    names: list[str] | None


def _joined(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _longest_first(texts: Any, ids: Any) -> tuple[list[str | None], Any, npt.NDArray[np.int64]]:
    if _columns.length(texts) is None:
        raise InvalidArgumentError('keep "longest": the texts must be in memory, not an iterator')
    everything: list[str | None] = []
    for chunk in _columns.chunks(texts):
        everything.extend(chunk.to_pylist() if hasattr(chunk, "to_pylist") else chunk)
    lengths = np.array([-len(text or "") for text in everything], np.int64)
    order = np.argsort(lengths, kind="stable")
    if ids is not None:
        names = list(_columns.names(ids))
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
