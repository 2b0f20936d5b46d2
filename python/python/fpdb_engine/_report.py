"""What a deduplication found, and how a person reads it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import _columns, _native
from ._html import document, notebook, pair
from ._passages import Passages, Span

# Pairs and clusters of which a report shows an example.
_SHOWN = 5
# Pairs whose texts a result keeps.
EXAMPLES = 20
# Rows with passages whose texts a result keeps.
_QUOTING = 10
# A cluster with more than this share of the rows, and more than this number, is worth a warning.
_LARGE_SHARE, _LARGE = 0.05, 100


class Example(NamedTuple):
    """A dropped row and what it is like."""

    row: int
    of: int | str
    """The kept row, or the name of the document of an earlier run."""
    similarity: float
    text: str | None
    """The part of the text where it begins to differ; None if the text is not known any more."""
    other: str | None
    """The same part of the other text."""
    id: str | None = None
    """The id of the row, if dedup_files() has a column of ids."""
    of_id: str | None = None
    """The id of the kept row."""

    def _repr_html_(self) -> str:
        return pair(self)


class Quoting(NamedTuple):
    """A row with passages of earlier rows."""

    row: int
    text: str
    spans: list[Span]
    earlier: int = 0
    """Sources below this are rows of earlier texts."""


@dataclasses.dataclass(frozen=True)
class Files:
    """What was read of files."""

    read: int
    """Number of files."""
    left_out: list[str]
    """Files of folders that were not read, because they are hidden or never have rows."""
    without_text: list[str]
    """Files in which no row has a text."""
    with_text: int
    """Number of rows that have a text."""
    bad_lines: int
    """Number of lines that are no rows, and were left out, also in files of earlier runs."""
    folders: dict[str, tuple[int, int]]
    """For each folder with files, its number of rows, and how many of them are dropped."""
    earlier_texts: int | None = None
    """Number of texts in the files of earlier runs, if text_of has such files."""

    def figures(self) -> list[tuple[str, str]]:
        """Returns the lines of a report."""
        lines = [("files read", f"{self.read:,}"), ("rows with text", f"{self.with_text:,}")]
        for name, paths in (("files left out", self.left_out), ("files without a text", self.without_text)):
            if paths:
                more = ", ..." if len(paths) > _SHOWN else ""
                lines.append((name, f"{len(paths):,}: {', '.join(paths[:_SHOWN])}{more}"))
        if self.earlier_texts is not None:
            lines.append(("texts of earlier runs", f"{self.earlier_texts:,}"))
        if self.bad_lines:
            lines.append(("lines left out", f"{self.bad_lines:,}"))
        if len(self.folders) > 1:
            most = sorted(self.folders.items(), key=lambda it: -it[1][1])[:_SHOWN]
            lines += [(f"dropped of {folder}", f"{dropped:,} of {rows:,}") for folder, (rows, dropped) in most if dropped]
        return lines


@dataclasses.dataclass(frozen=True, eq=False)
class Deduplicated:
    """What dedup found. All arrays have an element per row."""

    keep: npt.NDArray[np.bool_]
    """Whether to keep the row."""
    duplicate_of: npt.NDArray[np.int64]
    """For a dropped row, the kept row that it is most similar to; -1 for others, and for a row that is like a document
    of an earlier run, whose name is in earlier."""
    similarity: npt.NDArray[np.float32]
    """For a dropped row, its Jaccard similarity to that document: exact unless it is among the estimated ones. NaN for
    others."""
    threshold: float
    """The similarity from which on rows are near-duplicates."""
    earlier: dict[int, str] = dataclasses.field(default_factory=dict)
    """For rows that are like a document of an earlier run: the name of that document. It takes some hundred
    bytes for each."""
    replaced: dict[int, list[str]] = dataclasses.field(default_factory=dict)
    """For rows to which documents of earlier runs gave way: the names of these. They are not in the database any
    more. These are kept rows and, with replaces, all rows whose id such a document has."""
    too_short: int = 0
    """Number of rows that are too short to be compared: they are dropped only if they are equal to a kept one."""
    empty: int = 0
    """Number of rows without text. They are kept."""
    estimated: int = 0
    """Number of dropped rows whose similarity is estimated: all with verify=False, and otherwise those like an
    earlier document whose features were not kept and whose text was not asked for, or is not known."""
    unsure: int = 0
    """Number of those like an earlier document whose estimate is within three standard errors of the threshold. Only
    the text or the features of that document, which are not known, would tell whether to keep them."""
    below: int = 0
    """Number of these whose estimate is below the threshold."""
    same_id: int = 0
    """Number of rows that are like a document of an earlier run with the same id."""
    stored_before: int = 0
    """Number of kept rows that were stored already, because the run is repeated."""
    crowded: int = 0
    """Number of kept rows that were compared with some of the documents near them only, the nearest 256 or, among
    rows of one template, those that may share most; or with
    dedup_contained() the first 128 that have a rare run of words."""
    unnamed: int = 0
    """Number of rows whose id is missing or occurred before in the run."""
    unscored: int = 0
    """Number of rows without a score, with scores in keep. They come after all others."""
    mended: int = 0
    """Number of texts with lone surrogates, which were compared as if they were U+FFFD."""
    files: Files | None = None
    """What was read of files, for dedup_files()."""
    passages: Passages | None = None
    """The passages of kept rows that stand in an earlier kept row, if they were looked for."""
    shown: list[Example] = dataclasses.field(default_factory=list, repr=False)
    quoting: list[Quoting] = dataclasses.field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.keep)

    @property
    def dropped(self) -> int:
        """Number of rows to drop."""
        return len(self) - int(np.count_nonzero(self.keep))

    def at(self, threshold: float) -> Deduplicated:
        """Returns what to keep at a higher threshold, without comparing the texts again.

        All kept rows stay. A dropped row comes back if it is less similar than this to the kept rows before it and to
        documents of earlier runs. It is compared with no other row. So it may be a near-duplicate of another one that
        comes back, or of a later one that is kept; dedup() with this threshold would keep one of these.

        >>> found = dedup(["a b c d e f g h i j k", "a b c d e f g h i j x", "a b c d e f g h i j k"])
        >>> found.keep.tolist(), found.at(0.9).keep.tolist()
        ([True, False, False], [True, True, False])
        """
        if not threshold >= self.threshold:
            raise ValueError(f"threshold {threshold}: expected at least {self.threshold}, that of the comparison")
        # As similarities are stored.
        keep = self.keep | (self.similarity < np.float32(threshold))
        return dataclasses.replace(
            self,
            keep=keep,
            duplicate_of=np.where(keep, -1, self.duplicate_of),
            similarity=np.where(keep, np.float32(np.nan), self.similarity),
            threshold=threshold,
            earlier={row: name for row, name in self.earlier.items() if not keep[row]},
            passages=None,
            quoting=[],
            # It is not known which rows are of which folder.
            files=self.files and dataclasses.replace(self.files, folders={}),
            shown=[example for example in self.shown if not keep[example.row]],
        )

    def sizes(self) -> npt.NDArray[np.int64]:
        """Returns the number of texts in each cluster: a kept row or an earlier document, and all rows that are like
        it. The largest first.

        >>> dedup(["a b c d e f g"] * 3 + ["h i j k l m n"]).sizes().tolist()
        [3]
        """
        _, counts = np.unique(self.duplicate_of[self.duplicate_of >= 0], return_counts=True)
        _, earlier = np.unique(list(self.earlier.values()), return_counts=True)
        sizes = np.concatenate([counts, earlier]).astype(np.int64) + 1
        return np.sort(sizes)[::-1]

    def examples(self, number: int = _SHOWN) -> list[Example]:
        """Returns up to 20 dropped rows, each with what it is like. The least similar come first, since these are the
        ones to look at.

        >>> for example in dedup(["a b c d e f g", "A, b, c, d, e, f, g!"]).examples():
        ...     print(example)
        Example(row=1, of=0, similarity=1.0, text='A, b, c, d, e, f, g!', other='a b c d e f g', id=None, of_id=None)
        """
        return self.shown[:number]

    def figures(self) -> list[tuple[str, str]]:
        """Returns the lines that str() shows: names and values.

        >>> dedup(["a b c d e f g"] * 3).figures()[:3]
        [('rows', '3'), ('kept', '1'), ('dropped', '2')]
        """
        sizes = self.sizes()
        figures = [
            ("rows", len(self)),
            ("kept", len(self) - self.dropped),
            ("dropped", self.dropped),
            ("like an earlier document", len(self.earlier)),
            ("like an earlier document of the same id", self.same_id),
            ("dropped by an estimate", self.estimated),
            ("not sure without an earlier document's text", self.unsure),
            (f"estimated below {self.threshold:g}", self.below),
            ("rows to which an earlier document gave way", len(self.replaced)),
            ("kept, and stored before by this run", self.stored_before),
            ("kept, but more texts are near than were compared", self.crowded),
            ("ids missing or repeated", self.unnamed),
            ("without a score, so after all others", self.unscored),
            ("too short, so only compared for equality", self.too_short),
            ("without text", self.empty),
            ("with invalid characters", self.mended),
            ("clusters", len(sizes)),
            *(self.passages.figures() if self.passages is not None else []),
        ]
        always = ("rows", "kept", "dropped")
        lines = [(name, f"{value:,}") for name, value in figures if value or name in always]
        if self.files is not None:
            lines[1:1] = self.files.figures()
        if len(sizes):
            lines.append(("largest clusters", ", ".join(f"{size:,}" for size in sizes[:_SHOWN])))
        if len(sizes) and sizes[0] > max(_LARGE, _LARGE_SHARE * len(self)):
            share = sizes[0] / len(self)
            lines.append(("warning", f"a single cluster holds {share:.0%} of the rows; look at its texts"))
        return lines

    def __repr__(self) -> str:
        return f"<fpdb_engine.Deduplicated: {len(self):,} rows, {self.dropped:,} to drop>"

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.figures())

    def _repr_html_(self) -> str:
        return notebook(self)

    def report(self, path: str | os.PathLike[str], title: str = "Deduplication") -> None:
        """Writes what was found to an HTML file: the counts; a histogram of the similarities of dropped rows; how many
        rows stay at each threshold; the largest clusters; the pairs of examples() with their texts side by side, with the
        words marked that only one of them has; and rows with passages. The file loads nothing from elsewhere, and its size
        does not grow with the number of rows. Texts of an iterator are not known any more, so they are missing.

        >>> dedup(["a b c d e f g", "A, b, c, d, e, f, g!"]).report(folder / "report.html")
        >>> "Least similar pairs" in (folder / "report.html").read_text(encoding="utf-8")
        True
        """
        Path(path).write_bytes(document(self, title).encode(errors="replace"))


def chosen(found: Deduplicated) -> npt.NDArray[np.int64]:
    """Returns the dropped rows to show: half of them the least similar, the others from everywhere."""
    rows = np.flatnonzero(~found.keep)
    return rows[np.argsort(found.similarity[rows], kind="stable")][:EXAMPLES]


def quoting(passages: Passages) -> list[int]:
    """Returns the rows with passages to show: those of which the most is in passages."""
    rows, repeated = passages._repeated()
    most = np.argsort(-repeated, kind="stable")[:_QUOTING]
    return [int(rows[at]) for at in most.tolist() if repeated[at]]


def excerpts(a: str | None, b: str | None) -> tuple[str | None, str | None]:
    """Shortens two texts to where they begin to differ.

    >>> a, b = excerpts("same " * 100 + "one", "same " * 100 + "two")
    >>> a[:8], a[-8:], b[-8:], len(a)
    ('...e sam', 'same one', 'same two', 243)
    """
    return _native.excerpts(*_columns.without_surrogates([a, b])[0])
