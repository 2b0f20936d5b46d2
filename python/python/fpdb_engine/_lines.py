"""Lines and paragraphs that many texts have, and what a text repeats of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _columns
from ._errors import InvalidArgumentError
from ._native import find_lines, repetitions
from ._passages import Passages, reader
from ._seed import random_seed

_Shares = npt.NDArray[np.float64]


def dedup_lines(
    texts: Any,
    *,
    unit: Literal["line", "paragraph"] = "line",
    most: int = 1,
    min_words: int = 1,
    rows: Any = None,
    threads: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Passages:
    """Finds the lines that more than so many texts have, 1 by default: each but for the first one. With
    unit="paragraph", finds paragraphs, which end with an empty line.

    The result is that of dedup_passages(): a span is a line with its end, and cut() removes it. Lines are equal if
    their words are, without case and punctuation. Lines without words are left alone, and so are those with fewer
    than min_words. A line that occurs often in one text only is left alone too, but of one that other texts have, one
    copy stays in all.

    Signs are no words, so `return ok;` is a copy of `return !ok;`, and a row of a table with 5 one of a row with -5: this is not
    for program code, or for tables of numbers.

    The texts are read twice, and texts and rows are what dedup_passages() takes. Above 512 MiB, lines are sorted in
    temporary files, at 16 bytes per line. In memory, this also takes about 90 bytes per span, and 60 for each line that is
    found.

    >>> pages = ["Home | About\\nOnce upon a time", "Home | About\\nThe end", "The start\\nHOME / ABOUT\\n"]
    >>> found = dedup_lines(pages)
    >>> [found.cut(row, page) for row, page in enumerate(pages)]
    ['Home | About\\nOnce upon a time', 'The end', 'The start\\n']
    >>> len(dedup_lines(pages, most=3))
    0
    """
    if unit not in ("line", "paragraph"):
        raise InvalidArgumentError(f'unit {unit!r}: expected "line" or "paragraph"')
    if most < 1:
        raise InvalidArgumentError(f"most {most}: expected 1 or more")
    read = reader(texts, rows, progress, 2)
    return Passages(*find_lines(read, unit == "paragraph", most, max(min_words, 1), threads))


class Repetition(NamedTuple):
    """How much of each text repeats itself, as shares from 0 to 1: the measures of Gopher (Rae and others, 2021, table
    A1), which RefinedWeb and others use, too. Each array has an element or a row per text."""

    lines: _Shares
    """The share of the lines that are equal to an earlier one."""
    line_bytes: _Shares
    """The share of the bytes in these."""
    paragraphs: _Shares
    paragraph_bytes: _Shares
    top: _Shares
    """The share of the bytes in the most frequent run of 2, 3 and 4 words; 0 if it occurs once."""
    repeated: _Shares
    """The share of the bytes in runs of 5, 6, 7, 8, 9 and 10 words that occurred before."""

    def keep(self) -> npt.NDArray[np.bool_]:
        """Returns whether each text is within Gopher's limits.

        >>> repetition(["Not much to say. Not much to say. Not much to say.", "This is said once."]).keep().tolist()
        [False, True]
        """
        units = (self.lines <= 0.3) & (self.line_bytes <= 0.2) & (self.paragraphs <= 0.3) & (self.paragraph_bytes <= 0.2)
        top = (self.top <= [0.2, 0.18, 0.16]).all(axis=1)
        return units & top & (self.repeated <= [0.15, 0.14, 0.13, 0.12, 0.11, 0.1]).all(axis=1)


def repetition(texts: Any, *, threads: int | None = None) -> Repetition:
    """Measures how much of each text repeats itself. texts is what dedup() takes. Words are compared without case and
    punctuation; bytes count once, however many repetitions they are in.

    >>> found = repetition(["once more\\nonce more\\nand again\\n", "Something else."])
    >>> found.lines.round(2).tolist(), found.top.tolist()
    ([0.33, 0.0], [[0.6, 0.0, 0.0], [0.0, 0.0, 0.0]])
    """
    parts = [np.zeros((0, 13)), *(repetitions(it, random_seed(), threads).reshape(-1, 13) for it in _columns.chunks(texts))]
    found = np.concatenate(parts)
    return Repetition(found[:, 0], found[:, 1], found[:, 2], found[:, 3], top=found[:, 4:7], repeated=found[:, 7:])
