"""Quotes of which a few words were changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._native import find_quotes
from ._order import Texts
from ._pairs import Numbers, batches, shared_windows

if TYPE_CHECKING:
    from ._passages import Passages

# A row is compared with so many earlier ones.
_MOST = 64


def with_gaps(
    found: Passages,
    texts: Any,
    read: Callable[[], Iterator[Any]],
    min_words: int,
    gaps: int,
    seed: int,
    threads: int | None,
) -> Passages:
    """Adds the quotes to the exact spans, and leaves out spans that are in quotes."""
    rows, others = _candidates(found, read, min_words, seed, threads)
    wanted = np.zeros(len(found.lengths), np.bool_)
    wanted[rows] = wanted[others] = True
    # A list is at hand. Other texts are read again.
    spool = Texts(texts if isinstance(texts, (list, tuple)) else read(), wanted)
    quotes, changes = [np.zeros((6, 0), np.uint64)], [np.zeros((3, 0), np.uint64)]
    for batch in batches(spool, rows, others):
        of_quotes, of_changes = find_quotes(batch.texts, batch.a, batch.b, min_words, gaps, seed, threads)
        for columns in (of_quotes, of_changes):
            columns[0] = batch.rows[columns[0]].astype(np.uint64)
        of_quotes[3] = batch.rows[of_quotes[3]].astype(np.uint64)
        quotes.append(np.stack(of_quotes))
        changes.append(np.stack(of_changes))
    joined = _sorted(np.concatenate(quotes, axis=1))
    exact = np.stack([found.row, found.begin, found.end, found.source, found.source_begin, found.source_end])
    spans = _sorted(np.concatenate([joined, exact[:, ~_are_in(exact, joined)]], axis=1))
    row, begin, end, source, source_begin, source_end = spans
    return dataclasses.replace(
        found,
        row=row,
        begin=begin,
        end=end,
        source=source,
        source_begin=source_begin,
        source_end=source_end,
        changed=_sorted(np.concatenate(changes, axis=1)),
    )


def _candidates(
    found: Passages, read: Callable[[], Iterator[Any]], min_words: int, seed: int, threads: int | None
) -> tuple[Numbers, Numbers]:
    """Returns which rows to look for quotes in, in ascending order, and the earlier rows that they may be from."""
    rows, others = shared_windows(read(), min_words, seed, threads).with_first(_MOST)
    total = len(found.lengths)
    # The sources of exact spans first.
    exact = np.unique(found.row * np.uint64(total) + found.source).astype(np.int64)
    codes, at = np.unique(np.concatenate([exact, rows * total + others]), return_index=True)
    rows, others = np.divmod(codes, max(total, 1))
    order = np.lexsort((at, rows))
    return rows[order], others[order]


def _sorted(columns: Any) -> Any:
    """Sorts by row, begin and end."""
    return columns[:, np.lexsort(columns[2::-1])]


def _are_in(spans: Any, quotes: Any) -> Any:
    """Returns which spans are in a quote."""
    if not quotes.shape[1]:
        return np.zeros(spans.shape[1], np.bool_)
    of = quotes[0].astype(np.int64) << 30
    ends = np.maximum.accumulate(of + quotes[2].astype(np.int64))
    base = spans[0].astype(np.int64) << 30
    before = np.searchsorted(of + quotes[1].astype(np.int64), base + spans[1].astype(np.int64), "right")
    return (before > 0) & (ends[before - 1] >= base + spans[2].astype(np.int64))
