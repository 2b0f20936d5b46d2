"""Results as HTML: parts for notebooks, and a whole document that a person looks at."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _columns
from ._native import pair_html, report_html

if TYPE_CHECKING:
    from ._report import Deduplicated, Example, Quoting

# Clusters that a report lists.
_CLUSTERS = 20


def document(found: Deduplicated, title: str) -> str:
    """Returns a document without anything that is loaded from elsewhere. No text becomes markup."""
    return _report(found, title, found.shown)


def notebook(found: Deduplicated) -> str:
    """Returns the figures, the histogram and a few examples."""
    return _report(found, None, found.examples())


def pair(example: Example) -> str:
    """Returns a row of a table."""
    return pair_html(_shown(example))


def _report(found: Deduplicated, title: str | None, shown: list[Example]) -> str:
    similarity = found.similarity[~np.isnan(found.similarity)].astype(np.float64)
    return report_html(
        None if title is None else _plain(title),
        [(_plain(name), _plain(value)) for name, value in found.figures()],
        similarity,
        found.threshold,
        len(found),
        len(found) - found.dropped,
        _clusters(found),
        [_shown(example) for example in shown],
        [_repeated(it, found.keep) for it in found.quoting],
    )


def _clusters(found: Deduplicated) -> list[tuple[str, int]]:
    """Returns the largest clusters of rows, and the largest of earlier documents."""
    rows, counts = np.unique(found.duplicate_of[found.duplicate_of >= 0], return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:_CLUSTERS]
    of_rows = [(f"row {row:,}", count) for row, count in zip(rows[largest].tolist(), counts[largest].tolist())]
    earlier = collections.Counter(found.earlier.values()).most_common(_CLUSTERS)
    return of_rows + [(_plain(name), count) for name, count in earlier]


def _shown(example: Example) -> tuple[str, str, str, str | None, str | None]:
    of = _named(example.of, example.of_id) if isinstance(example.of, int) else _plain(example.of)
    texts = [None if text is None else _plain(text) for text in (example.text, example.other)]
    return _named(example.row, example.id), of, f"similarity {example.similarity:.2f}", texts[0], texts[1]


def _named(row: int, id: str | None) -> str:
    return f"row {row:,}" + ("" if id is None else f" ({_plain(id)})")


def _repeated(quoting: Quoting, keep: Any) -> tuple[str, str, list[tuple[int, int, str]]]:
    """Returns what a row repeats. Spans are places in what was compared, in bytes."""

    def also(source: int) -> str:
        row = source - quoting.earlier
        return "earlier in this row" if row == quoting.row else f"in row {row:,}" if row >= 0 else "in an earlier text"

    name = f"row {quoting.row:,}" + ("" if keep[quoting.row] else ", which is dropped")
    return name, _plain(quoting.text), [(span.begin, span.end, also(span.source)) for span in quoting.spans]


def _plain(text: str) -> str:
    """Replaces lone surrogates."""
    return _columns.without_surrogates([text])[0][0] or ""
