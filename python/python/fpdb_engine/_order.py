"""Which row of several is kept: the order in which rows are compared."""

from __future__ import annotations

import array
import contextlib
import datetime
import decimal
import numbers
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _columns
from ._errors import InvalidArgumentError


# Up to this number, whole numbers are floating-point numbers, too.
_EXACT = 1 << 53


class Order(NamedTuple):
    """Rows in the order in which they are compared. The first one of those that are alike is kept."""

    texts: Iterator[Any]
    """Chunks of texts."""
    ids: Iterator[str | None] | None
    rows: npt.NDArray[np.int64] | None
    """The row at each place of the order; None if they are in the order in which they were given."""
    priorities: npt.NDArray[np.uint64] | None
    """The greatest is kept, for "longest" and scores."""
    unscored: int = 0
    """Number of rows without a score."""
    groups: Iterator[str | None] | None = None
    """Only rows of one group are compared with each other."""


def order_of(
    keep: Any, texts: Any, ids: Any, within: Any, announce: Callable[[Iterable[str | None]], None] | None
) -> Order:
    """Puts rows into their order. Calls announce with the ids, as they were given, before any text is compared."""
    names = None if ids is None else _columns.names(ids)
    groups = None if within is None else _columns.names(within)
    is_first = isinstance(keep, str) and keep == "first"
    if is_first and names is not None and announce is not None and not hasattr(ids, "__next__"):
        announce(names)
        names, announce = _columns.names(ids), None
    if is_first and announce is None:
        return Order(_columns.chunks(texts), names, None, None, groups=groups)
    spool = Texts(texts)
    listed = None if names is None else list(names)
    listed_groups = None if groups is None else list(groups)
    for name, column in (("ids", listed), ("within", listed_groups)):
        if column is not None and len(column) != len(spool):
            more = "more" if len(column) > len(spool) else "fewer"
            raise InvalidArgumentError(f"{name}: there are {more} than the {len(spool)} texts")
    if announce is not None:
        announce(listed or [])
    if is_first:
        chunks = spool.chunks(np.arange(len(spool)))
        return Order(chunks, iter(listed or []), None, None, groups=None if listed_groups is None else iter(listed_groups))
    priorities, unscored = None, 0
    if isinstance(keep, str) and keep == "least id":
        assert listed is not None, "dedup checks that there are ids"
        places = sorted(range(len(spool)), key=lambda row: listed[row] or "")
        rows = np.array(places, np.int64)
    else:
        priorities = spool.priorities(keep)
        unscored = unscored_of(keep, priorities)
        # Of equal ones the first.
        rows = np.argsort(~priorities, kind="stable")
        priorities = priorities[rows]
    ordered, ordered_groups = _in_order(listed, rows), _in_order(listed_groups, rows)
    return Order(spool.chunks(rows), ordered, rows, priorities, unscored, ordered_groups)


def _in_order(column: list[str | None] | None, rows: npt.NDArray[np.int64]) -> Iterator[str | None] | None:
    return None if column is None else (column[row] for row in rows.tolist())


def unscored_of(keep: Any, priorities: npt.NDArray[np.uint64]) -> int:
    """Returns the number of rows without a score."""
    # Only missing scores become 0, unless scores reach 2**63.
    return 0 if isinstance(keep, str) else int(np.count_nonzero(priorities == 0))


def priorities_of(scores: Any) -> npt.NDArray[np.uint64]:
    """Maps scores to numbers of the same order: integers, other numbers, booleans, dates or times, also as strings in the
    form of ISO 8601. Missing ones come last.

    >>> np.argsort(priorities_of([0.5, -2.0, float("nan"), 1e9])).tolist()
    [2, 1, 0, 3]
    >>> np.argsort(priorities_of(["2026-02-01", None, "2026-01-31T12:00:00+01:00"])).tolist()
    [1, 2, 0]
    """
    values = _columns.with_nulls(scores)
    if values.dtype.kind in "OU":
        values = _typed(values.tolist())
    if values.ndim != 1 or values.dtype.kind not in "iufbmM":
        raise TypeError(f"keep: scores must be a column of numbers or dates, not {values.dtype}")
    if values.dtype.kind in "iub" and (not len(values) or -_EXACT <= int(values.min()) and int(values.max()) <= _EXACT):
        # A run has whole numbers, and the next one has others.
        values = values.astype(np.float64)
    if values.dtype.kind == "u" and int(values.max()) >= 1 << 63:
        return values.astype(np.uint64)
    if values.dtype.kind == "f":
        bits = values.astype(np.float64).view(np.uint64)
        is_negative = bits >> np.uint64(63) != 0
        ordered = np.where(is_negative, ~bits, bits | np.uint64(1 << 63))
        return np.where(np.isnan(values), np.uint64(0), ordered)
    if values.dtype.kind in "mM":
        # The same unit in each run. A missing one is the least integer.
        values = values.astype(f"{values.dtype.kind}8[us]").view(np.int64)
    return values.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)


def _typed(values: list[Any]) -> npt.NDArray[Any]:
    """Returns values of one type as an array of it."""
    is_present = [not _columns.is_missing(value) and not (isinstance(value, str) and not value) for value in values]
    present = [value for value, has in zip(values, is_present) if has]
    if all(isinstance(value, str) for value in present):
        present = _of_strings(present)
    is_exact = all(isinstance(value, (numbers.Integral, np.bool_)) for value in present)
    fits = [all(least <= value < least + (1 << 64) for value in present) for least in (-(1 << 63), 0)] if is_exact else [True]
    if not any(fits):
        raise InvalidArgumentError("keep: scores that are whole numbers must fit in 64 bits, all with or all without a sign")
    if is_exact and any(not -_EXACT <= value <= _EXACT for value in present):
        kind: Any = np.int64 if all(value < 1 << 63 for value in present) else np.uint64
        missing: Any = np.iinfo(kind).min
    elif is_exact or all(isinstance(value, (numbers.Real, decimal.Decimal)) for value in present):
        kind, missing = np.float64, np.nan
    elif all(hasattr(value, "year") for value in present):
        kind, missing = "M8[us]", np.datetime64("NaT")
        present = [_in_utc(value) for value in present]
    else:
        types = ", ".join(sorted({type(value).__name__ for value in present}))
        raise TypeError(f"keep: scores must be a column of numbers or dates, not {types}")
    found = np.full(len(values), missing, kind)
    found[np.array(is_present, np.bool_)] = np.array(present, kind)
    return found


def _of_strings(values: list[str]) -> list[Any]:
    """Returns the numbers or times that strings stand for."""
    for parse in (int, float, _time):
        with contextlib.suppress(ValueError):
            return [parse(value) for value in values]
    wrong = next(value for value in values if not _is_time(value))
    raise TypeError(f"keep: scores must be a column of numbers or dates, and {wrong!r} is none")


def _time(value: str) -> datetime.datetime:
    # Python 3.10 does not know the letter.
    return datetime.datetime.fromisoformat(value.strip().removesuffix("Z") + ("+00:00" if value.strip().endswith("Z") else ""))


def _is_time(value: str) -> bool:
    try:
        return bool(_time(value))
    except ValueError:
        return False


def _in_utc(value: Any) -> Any:
    """Returns a time without its zone."""
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)


class Texts:
    """Texts by their row. Those that are not in a list are written to a file without a name."""

    def __init__(self, texts: Any, wanted: npt.NDArray[np.bool_] | None = None) -> None:
        """Only the wanted ones are written."""
        self._list = texts if isinstance(texts, (list, tuple)) else None
        # Where each text begins in the file, and where the last one ends. A missing one is empty.
        self._offsets = array.array("q", [0])
        if self._list is not None:
            return
        self._file = tempfile.TemporaryFile(prefix="fpdb-")
        for chunk in _columns.chunks(texts):
            for text in chunk.to_pylist() if hasattr(chunk, "to_pylist") else chunk:
                is_wanted = wanted is None or wanted[len(self)]
                data = (text or "").encode(errors="surrogatepass") if is_wanted else b""
                self._file.write(data)
                self._offsets.append(self._offsets[-1] + len(data))
        self._file.flush()

    def __len__(self) -> int:
        return len(self._offsets) - 1 if self._list is None else len(self._list)

    def __iter__(self) -> Iterator[list[str | None]]:
        return self.chunks(np.arange(len(self)))

    def lengths(self) -> npt.NDArray[np.uint64]:
        """Returns the length of each text: in bytes, so that both forms agree."""
        if self._list is None:
            return np.diff(np.array(self._offsets)).astype(np.uint64)
        texts = (_columns.text(value) for value in self._list)
        return np.array([len((it or "").encode(errors="surrogatepass")) for it in texts], np.uint64)

    def priorities(self, keep: Any) -> npt.NDArray[np.uint64]:
        """Returns the priority of each text: its length, or its score."""
        priorities = self.lengths() if isinstance(keep, str) else priorities_of(keep)
        if len(priorities) != len(self):
            raise InvalidArgumentError(f"keep: there are {len(priorities)} scores for {len(self)} texts")
        return priorities

    def chunks(self, rows: npt.NDArray[np.int64]) -> Iterator[list[str | None]]:
        """Yields the texts of these rows."""
        return _columns.chunks(self.text(row) for row in rows.tolist())

    def text(self, row: int) -> str | None:
        """Returns the text of a row."""
        if self._list is not None:
            return _columns.text(self._list[row])
        begin, end = self._offsets[row], self._offsets[row + 1]
        self._file.seek(begin)
        return self._file.read(end - begin).decode(errors="surrogatepass")
