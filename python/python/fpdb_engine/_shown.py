"""What a deduplication shows: its progress, and examples of what it found."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _columns
from ._documents import TextOf
from ._passages import Passages
from ._report import Deduplicated, Example, Quoting, chosen, excerpts, quoting

_log = logging.getLogger("fpdb_engine")

Progress = Callable[[int, "int | None"], None]


def shown(found: Deduplicated, texts: Any, text_of: TextOf | None) -> Deduplicated:
    """Adds examples to what was found."""
    found.shown.extend(_examples(found, texts, text_of))
    _log.info("dedup: %d rows, %d to drop", len(found), found.dropped)
    return found


def _examples(found: Deduplicated, texts: Any, text_of: TextOf | None) -> Iterator[Example]:
    """Yields examples with their texts, if texts are not an iterator."""
    for row in chosen(found).tolist():
        of: int | str = found.earlier.get(row, int(found.duplicate_of[row]))
        if isinstance(of, int):
            other = _text_at(texts, of)
        else:
            other = None if text_of is None else next(iter(text_of([of])), None)
        yield Example(row, of, float(found.similarity[row]), *excerpts(_text_at(texts, row), other))


def with_quoting(found: Deduplicated, passages: Passages, texts: Any) -> Deduplicated:
    """Adds passages to what was found, and rows with some of them."""
    known = [(row, _text_at(texts, row)) for row in quoting(passages)]
    shown = [Quoting(row, text, passages.spans(row), passages.earlier) for row, text in known if text is not None]
    return dataclasses.replace(found, passages=passages, quoting=shown)


def _text_at(texts: Any, row: int) -> str | None:
    """Returns the text of a row, if texts is a column in memory."""
    is_arrow = hasattr(texts, "null_count") and not hasattr(texts, "columns")
    if hasattr(texts, "iloc") and not hasattr(texts, "columns"):
        texts = texts.iloc
    elif not isinstance(texts, (list, tuple, np.ndarray)) and not is_arrow:
        return None
    value = texts[row]
    return _columns.text(value.as_py() if hasattr(value, "as_py") else value)


def reporter(progress: Progress | bool | None) -> Progress:
    if callable(progress):
        return progress
    if not progress:
        return lambda done, total: None
    try:
        import tqdm.auto
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from error
    bar = tqdm.auto.tqdm(unit=" texts", unit_scale=True)

    def show(done: int, total: int | None) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show
