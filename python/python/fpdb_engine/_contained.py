"""Which texts stand in another one as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import InvalidArgumentError
from ._native import shares_contained, word_counts
from ._order import Texts, unscored_of
from ._pairs import batches, shared_windows
from ._report import Deduplicated
from ._seed import random_seed
from ._shown import Progress, reporter, shown

# Texts of so many words share a window with each text that they stand in.
_MIN_WORDS = 20
# A text is compared with so many others that have one of its rarest windows, the longest.
_WINDOWS, _MOST = 2, 128


def dedup_contained(
    texts: Any,
    *,
    share: float = 1.0,
    keep: Any = "longest",
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Deduplicated:
    """Finds texts that stand in another one, and returns which rows to keep.

    texts is what dedup() takes. A row is dropped only if nothing of it is lost: all its runs of three words stand in
    one row that is kept, in any order, or at least this share of them. Of two such rows the one with more words is
    kept, or with scores in keep, which is what dedup() takes, the one with the greater. A row whose runs repeat
    themselves, more than a tenth of them, must stand there word for word, and one of fewer than three words is
    compared as a whole.

    Two rows are compared if they share a rare run of 13 words. If more than 128 rows before a row in this order have
    the run, it is compared with the first 128 only, and counted in the report if it is kept. Of rows with fewer than
    20 words, not all are found. Temporary files take about 4 bytes per word, beside the texts of an iterator. In
    memory, this takes 24 bytes for each run of words that is compared and that another row has, too. The similarity
    of a dropped row is its share.

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
    spool = Texts(texts)
    # From here on, rows are places in the order of priority.
    priorities = _priorities(spool, keep, threads)
    order = np.argsort(~priorities, kind="stable")
    unscored = unscored_of(keep, priorities)
    done = 0
    seed = random_seed()

    def chunks() -> Any:
        nonlocal done
        for chunk in spool.chunks(order):
            yield chunk
            done += len(chunk)
            progress(done, len(order))

    shared = shared_windows(chunks(), _MIN_WORDS, seed, threads)
    of = np.full(len(order), -1)
    similarity = np.full(len(order), np.nan, np.float32)
    is_crowded = np.zeros(len(order), np.bool_)
    for a, b, more in shared.with_rarest(_WINDOWS, _MOST):
        is_crowded[order[more]] = True
        for batch in batches(spool, order[a], order[b]):
            shares = shares_contained(batch.texts, batch.a, batch.b, seed, threads)
            rows, others = batch.rows[batch.a], batch.rows[batch.b]
            for row, other, found in zip(rows.tolist(), others.tolist(), shares.tolist()):
                if found >= share and of[row] < 0 and of[other] < 0:
                    of[row], similarity[row] = other, found
    keep = of < 0
    crowded = int(np.count_nonzero(is_crowded & keep))
    return Deduplicated(
        keep=keep,
        duplicate_of=of,
        similarity=similarity,
        threshold=share,
        crowded=crowded,
        unscored=unscored,
    )


def _priorities(spool: Texts, keep: Any, threads: int | None) -> npt.NDArray[np.uint64]:
    """Returns the scores or, without any, the lengths in words: white space makes no text longer."""
    if not isinstance(keep, str):
        return spool.priorities(keep)
    chunks = spool.chunks(np.arange(len(spool)))
    return np.concatenate([np.zeros(0, np.uint64), *(word_counts(chunk, threads) for chunk in chunks)])
