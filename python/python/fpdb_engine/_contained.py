"""Which texts stand in another one as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _columns
from ._errors import InvalidArgumentError
from ._native import find_contained
from ._order import Texts, priorities_of, unscored_of
from ._passages import comparing, reader
from ._report import Deduplicated
from ._shown import Progress, reporter, shown


def dedup_contained(
    texts: Any,
    *,
    share: float = 1.0,
    keep: Any = "longest",
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Deduplicated:
    """Finds texts that stand in another one, and returns which rows to keep.

    texts is what dedup() takes. A row is dropped only if all its runs of three words stand in one row that is kept,
    in any order, or at least this share of them. So with a share of 1, nothing is lost. Of two such rows the one
    with more words is kept, or with scores in keep, which is what dedup() takes, the one with the greater. A row
    whose runs repeat themselves, more than a tenth of them, must stand there word for word, and one of fewer than
    three words is compared as a whole.

    A row is compared with the longer rows, or those with greater scores, that have one of its two rarest runs of 13
    words. If more than 128 have it, the row is compared with the first 128 of these only, and counted in the report
    if it is kept. Not all rows with fewer than 20 words are found, and with a share below 1, not all that have
    changes in these runs. Above 512 MiB, what is compared is sorted in temporary files, at about 1.5 bytes per
    word; texts that are compared are in a file, too, and those of an iterator. In addition, this takes 50 bytes of
    memory per row. The similarity of a dropped row is its share. progress is called with the number of texts done in all
    three passes, and with the total.

    >>> quote = "The mills were closed in spring because the new owners had found cheaper coal in the north of the country"
    >>> found = dedup_contained([quote, f"This is from the archive. {quote} That was all."])
    >>> found.keep.tolist(), found.duplicate_of.tolist()
    ([False, True], [1, -1])
    """
    if not (isinstance(share, (int, float)) and not isinstance(share, bool) and 0.5 <= share <= 1):
        raise InvalidArgumentError(f"share {share!r}: expected a number from 0.5 to 1")
    if isinstance(keep, str) and keep != "longest":
        raise InvalidArgumentError(f'keep {keep!r}: expected "longest", or a column of scores')
    return shown(_contained(texts, keep, share, threads, reporter(progress)), texts, None)


def _contained(texts: Any, keep: Any, share: float, threads: int | None, progress: Progress) -> Deduplicated:
    """Finds the texts of which a share stands in one that is kept."""
    # An iterator can be read only once.
    source = Texts(texts) if hasattr(texts, "__next__") else texts
    total = len(source) if isinstance(source, Texts) else _columns.length(source)
    read, compared = reader(source, None, progress, 3), comparing(source, progress, 2)
    priorities = None if isinstance(keep, str) else priorities_of(keep)
    if priorities is not None and total is not None and len(priorities) != total:
        raise InvalidArgumentError(f"keep: there are {len(priorities)} scores for {total} texts")
    rows, sources, shares, total, crowded = find_contained(read, share, priorities, threads, compared)
    of = np.full(total, -1)
    similarity = np.full(total, np.nan, np.float32)
    of[rows.astype(np.int64)], similarity[rows.astype(np.int64)] = sources, shares
    unscored = 0 if priorities is None else unscored_of(keep, priorities)
    return Deduplicated(
        keep=of < 0,
        duplicate_of=of,
        similarity=similarity,
        threshold=share,
        crowded=crowded,
        unscored=unscored,
    )
