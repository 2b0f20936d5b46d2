"""Passages that texts repeat from earlier ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _columns
from ._errors import InvalidArgumentError
from ._native import find_passages, parts_to_remove
from ._seed import random_seed


# Words between two parts of a quote.
_MOST_GAPS = 1000


class Span(NamedTuple):
    """A run of words of a row that stands in an earlier row, too."""

    begin: int
    """The first byte of the row's text in UTF-8."""
    end: int
    """The byte after the last one."""
    source: int
    """The earlier row: the first one that has this run."""
    source_begin: int
    source_end: int


@dataclasses.dataclass(frozen=True, eq=False)
class Passages:
    """What dedup_passages found. Spans are in the order of the rows, and then of their places."""

    row: npt.NDArray[np.uint64]
    """The row of each span."""
    begin: npt.NDArray[np.uint64]
    """The first byte of each span in the row's text."""
    end: npt.NDArray[np.uint64]
    """The byte after the last one."""
    source: npt.NDArray[np.uint64]
    """The earlier row of each span. With against, its rows come first: less earlier, the others are rows of the texts."""
    source_begin: npt.NDArray[np.uint64]
    source_end: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.uint64]
    """The bytes of each row's text."""
    changed: npt.NDArray[np.uint64] = dataclasses.field(default_factory=lambda: np.zeros((3, 0), np.uint64))
    """What differs within spans, with gaps: the row, the begin and the end of each."""
    earlier: int = dataclasses.field(default=0, kw_only=True)
    """The number of rows of against."""

    def __len__(self) -> int:
        return len(self.row)

    def figures(self) -> list[tuple[str, int]]:
        """Returns the lines of a report.

        >>> dedup_passages(["Something else."]).figures()
        [('rows with passages', 0), ('passages', 0), ('bytes in passages', 0)]
        """
        rows, repeated = self._repeated()
        return [("rows with passages", len(rows)), ("passages", len(self)), ("bytes in passages", int(repeated.sum()))]

    def __repr__(self) -> str:
        (rows, repeated), most = self._repeated(), len(self.lengths)
        share = float(repeated.sum() / max(int(self.lengths.sum()), 1))
        return f"<fpdb_engine.Passages: {len(self):,} spans in {len(rows):,} of {most:,} rows, {share:.1%} of the text>"

    def spans(self, row: int) -> list[Span]:
        """Returns the spans of a row. They may overlap.

        >>> quote = "the mills were closed in spring because the new owners had found cheaper coal in the north"
        >>> found = dedup_passages([quote, f"He said: {quote}!"], min_words=14)
        >>> found.spans(0), found.spans(1)
        ([], [Span(begin=9, end=99, source=0, source_begin=0, source_end=90)])
        """
        return [Span(*span) for span in zip(*(column.tolist() for column in self._columns_of(row)))]

    def _columns_of(self, row: int) -> list[npt.NDArray[np.uint64]]:
        self._check(row)
        first, last = np.searchsorted(self.row, np.array([row, row + 1], np.uint64))
        columns = (self.begin, self.end, self.source, self.source_begin, self.source_end)
        return [column[first:last] for column in columns]

    def _check(self, row: int) -> None:
        if row < 0:
            raise IndexError(f"row {row}: rows are counted from 0 on")

    def changes(self, row: int) -> list[tuple[int, int]]:
        """Returns what differs within the spans of a row, with gaps: the begin and the end of each, in bytes. This is what
        is new in a quote, together with the white space around it.

        >>> news = "Nobody knew why the mills were closed, but the owners had found better coal in the north of the country"
        >>> texts = [f"{news}, then as now.", f"{news}, then as now.".replace("but", "but, they say,")]
        >>> found = dedup_passages(texts, min_words=14, gaps=5)
        >>> [texts[1][span.begin : span.end] == texts[1][:-1] for span in found.spans(1)]
        [True]
        >>> [texts[1][begin:end] for begin, end in found.changes(1)]
        [', they say, ']
        """
        self._check(row)
        first, last = np.searchsorted(self.changed[0], np.array([row, row + 1], np.uint64))
        return [(begin, end) for begin, end in self.changed[1:, first:last].T.tolist()]

    def of_source(self, row: int) -> npt.NDArray[np.int64]:
        """Returns the rows that repeat something of this one. If this row is removed, nothing else may have it.

        >>> quote = "the mills were closed in spring because the new owners had found cheaper coal in the north"
        >>> dedup_passages([quote, f"He said: {quote}!"], min_words=14).of_source(0).tolist()
        [1]
        """
        return np.unique(self.row[self.source == row]).astype(np.int64)

    def repeated(self) -> npt.NDArray[np.int64]:
        """Returns how many bytes of each row are in spans.

        >>> quote = "the mills were closed in spring because the new owners had found cheaper coal in the north"
        >>> dedup_passages([quote, f"He said: {quote}!"], min_words=14).repeated().tolist()
        [0, 90]
        """
        found = np.zeros(len(self.lengths), np.int64)
        rows, repeated = self._repeated()
        found[rows] = repeated
        return found

    def _repeated(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns the rows that have spans, and how many bytes of each are in these."""
        # Spans of a row are sorted, so a span adds what is after the end of all earlier ones of the row.
        base = self.row.astype(np.int64) << 30
        ends = np.maximum.accumulate(base + self.end.astype(np.int64)) if len(self) else base
        before = np.concatenate([[0], ends[:-1]]) if len(self) else base
        added = ends - np.maximum(before, base + self.begin.astype(np.int64))
        first = np.flatnonzero(np.diff(base >> 30, prepend=-1))
        return base[first] >> 30, np.add.reduceat(added, first) if len(first) else added

    def keep(self, min_left: float = 0.5) -> npt.NDArray[np.bool_]:
        """Returns whether to keep each row: whether at least this share of its bytes is in no span.

        >>> quote = "the mills were closed in spring because the new owners had found cheaper coal in the north"
        >>> dedup_passages([quote, f"He said: {quote}!"], min_words=14).keep().tolist()
        [True, False]
        """
        if not 0 <= min_left <= 1:
            raise InvalidArgumentError(f"min_left {min_left!r}: expected a share from 0 to 1")
        return self.lengths - self.repeated() >= min_left * self.lengths

    def cut(self, row: int, text: str) -> str:
        """Returns the text of a row without the sentences and lines that are in spans as a whole.

        A sentence ends as Unicode says (UAX #29), or after a full stop, a question mark or an exclamation mark and white
        space, or with the line. Lines that look like rows of a table, with tabs or vertical bars, are only removed as a whole.
        If only the number or the bullet of an item is left, the line goes. Thai has no marks for the ends of sentences, so only
        its lines are removed.

        >>> quote = "The mills were closed in spring because the new owners had found cheaper coal in the north."
        >>> texts = [quote, f"I was born here. {quote} Nobody came back."]
        >>> dedup_passages(texts, min_words=14).cut(1, texts[1])
        'I was born here. Nobody came back.'
        """
        # Spans are places in what was compared, where halves of surrogate pairs are joined.
        places = _columns.joined_surrogates(text)
        whole = text if places is None else _columns.without_surrogates([text])[0][0]
        begin, end, *_ = self._columns_of(row)
        kept, at = [], 0
        for first, last in parts_to_remove(whole or "", list(zip(begin.tolist(), end.tolist()))):
            first, last = (first, last) if places is None else (places[first], places[last])
            kept.append(text[at:first])
            at = last
        return "".join([*kept, text[at:]])


def dedup_passages(
    texts: Any,
    *,
    min_words: int = 50,
    gaps: int = 0,
    rows: Any = None,
    against: Any = None,
    memory: int = 512 << 20,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Passages:
    """Finds the passages of texts that stand in an earlier text, too: all runs of at least min_words words, and no
    others.

    texts is what dedup() takes, but not an iterator, since the texts are read twice. Words are compared without case,
    white space and punctuation. In scripts without spaces between words, such as Chinese, 1.6 characters count as a
    word, so a passage has 80 of them. The first row that has a passage keeps it; every later one has a span. To keep
    another one, such as the newest, sort the texts. Nothing is removed: see cut() and keep() of the result.

    With gaps, such as 5, finds quotes of which words were changed, too: runs of at least 8 words that stand in the same
    order in one earlier row, joined over at most so many other words on each side. A span is then the whole quote, with what
    is new in it, which changes() says; it has at least min_words words. A window of 13 words that was not changed and
    is kept (about one in twenty is) must lead to the earlier row, and a row is compared with 64 others at most beside the sources of its exact passages.

    With against, the texts of an earlier collection, passages that stand in one of these have spans, too; sources below
    found.earlier are its rows. If it is large, ask a PassageIndex of it which documents it takes: their texts suffice.

    Look for near-duplicates first, and for passages in the rows that are kept: rows are those to look at, for example
    found.keep of dedup(). Otherwise the differences of near-duplicates remain as fragments.

    Words are compared by hashes. Their seed is random for each call, so whoever writes the texts cannot choose others that
    count as equal. It decides which windows are kept, so with gaps, calls may find different quotes. For the same ones
    each time, set the seed, a number from 0 to 2^64 - 1, if the texts are not those of strangers.

    A run that is one word longer than a passage by chance begins another span, with another source. So a quote that
    thousands have gives somewhat more spans than rows.

    The time grows linearly with the length of the texts. What does not fit into memory, in bytes, is sorted in
    temporary files. In addition, it takes 8 bytes per row and 150 per span. progress is called with the number
    of texts done in all passes, and with the total. There are two passes, or five with gaps.

    >>> quote = "the mills were closed in spring because the new owners had found cheaper coal in the north"
    >>> found = dedup_passages(["Something else.", quote, f"He said: {quote}!"], min_words=14)
    >>> found
    <fpdb_engine.Passages: 1 spans in 1 of 3 rows, 43.9% of the text>
    """
    if not isinstance(gaps, (int, np.integer)) or not 0 <= gaps <= _MOST_GAPS:
        raise InvalidArgumentError(f"gaps {gaps!r}: expected a number of words from 0 to {_MOST_GAPS}")
    passes = 4 if gaps else 2
    own, earlier = reader(texts, rows, progress, passes + bool(gaps)), 0

    def both() -> Iterator[Any]:
        nonlocal earlier
        earlier = 0
        for chunk in reader(against, None, None, 0)():
            earlier += len(chunk)
            yield chunk
        yield from own()

    seed = random_seed() if seed is None else seed
    read = own if against is None else both
    row, begin, end, source, source_begin, source_end, lengths, *changed = find_passages(
        read, min_words, int(gaps), memory, seed, threads, comparing(texts, progress, passes) if gaps else None
    )
    found = Passages(row, begin, end, source, source_begin, source_end, lengths, np.stack(changed))
    return _after(found, earlier)


def _after(found: Passages, earlier: int) -> Passages:
    """Leaves the first rows out, which remain as sources."""
    later = found.row >= earlier
    return dataclasses.replace(
        found,
        row=found.row[later] - np.uint64(earlier),
        begin=found.begin[later],
        end=found.end[later],
        source=found.source[later],
        source_begin=found.source_begin[later],
        source_end=found.source_end[later],
        lengths=found.lengths[earlier:],
        changed=found.changed[:, found.changed[0] >= earlier] - np.array([[earlier], [0], [0]], np.uint64),
        earlier=earlier,
    )


def reader(
    texts: Any, rows: Any, progress: Callable[[int, int | None], None] | None, times: int
) -> Callable[[], Iterator[Any]]:
    """Returns what reads chunks of texts, so many times, with None for those that are not among the rows."""
    wanted = None if rows is None else np.asarray(rows)
    if wanted is not None and wanted.dtype != np.bool_ and len(wanted):
        raise TypeError(f"rows: expected a flag for each text, True or False, not values of {wanted.dtype}")
    total = _columns.length(texts)
    if total is None and hasattr(texts, "__next__"):
        raise InvalidArgumentError("texts: an iterator can be read only once; give a list, an array or a column")
    if wanted is not None and wanted.shape != (len(wanted) if total is None else total,):
        raise InvalidArgumentError(f"rows: expected {total} flags, one for each text")
    done = 0

    def read() -> Iterator[Any]:
        nonlocal done
        first = 0
        for chunk in _columns.chunks(texts):
            last = first + len(chunk)
            if wanted is None or wanted[first:last].all():
                part = chunk
            else:
                values = chunk if isinstance(chunk, list) else chunk.to_pylist()
                part = [value if it else None for value, it in zip(values, wanted[first:last])]
            yield part
            first = last
            done += len(chunk)
            if progress is not None:
                progress(done, None if total is None else times * total)

    return read


def comparing(
    texts: Any, progress: Callable[[int, int | None], None] | None, passes: int
) -> Callable[[int, int], None] | None:
    """Returns what is called with the number of texts that were compared, and of all, after they were read so many
    times. It counts as one more pass."""
    if progress is None:
        return None
    known = _columns.length(texts)

    def compared(done: int, total: int) -> None:
        number = total if known is None else known
        progress(passes * number + number * done // max(total, 1), None if known is None else (passes + 1) * number)

    return compared
