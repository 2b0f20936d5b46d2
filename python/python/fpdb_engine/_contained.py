"""Which texts stand in another one as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._native import shares_contained, word_counts
from ._order import Texts
from ._pairs import batches, shared_windows
from ._report import Deduplicated
from ._seed import random_seed

# Texts of so many words share a window with each text that they stand in.
_MIN_WORDS = 20
# A text is compared with so many others that have one of its rarest windows, the longest.
_WINDOWS, _MOST = 2, 128


def contained(
    texts: Any, keep: Any, share: float, threads: int | None, progress: Callable[[int, int | None], None]
) -> Deduplicated:
    """Finds the texts of which a share stands in one that is kept."""
    spool = Texts(texts)
    # From here on, rows are places in the order of priority.
    order = np.argsort(~_priorities(spool, keep, threads), kind="stable")
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
    return Deduplicated(keep=keep, duplicate_of=of, similarity=similarity, threshold=share, crowded=crowded)


def _priorities(spool: Texts, keep: Any, threads: int | None) -> npt.NDArray[np.uint64]:
    """Returns the scores or, without any, the lengths in words: white space makes no text longer."""
    if not isinstance(keep, str):
        return spool.priorities(keep)
    chunks = spool.chunks(np.arange(len(spool)))
    return np.concatenate([np.zeros(0, np.uint64), *(word_counts(chunk, threads) for chunk in chunks)])
