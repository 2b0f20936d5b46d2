"""Which texts stand in another one as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._native import shares_contained
from ._order import Texts
from ._pairs import batches, shared_windows
from ._report import Deduplicated
from ._seed import random_seed

# Texts of so many words share a window with each text that they stand in.
_MIN_WORDS = 20
# A text is compared with so many others that have one of its rarest windows.
_WINDOWS, _MOST = 2, 32


def contained(
    texts: Any, keep: Any, share: float, threads: int | None, progress: Callable[[int, int | None], None]
) -> Deduplicated:
    """Finds the texts of which a share stands in one that is kept."""
    spool = Texts(texts)
    # From here on, rows are places in the order of priority.
    order = np.argsort(~spool.priorities(keep), kind="stable")
    done = 0
    seed = random_seed()

    def chunks() -> Any:
        nonlocal done
        for chunk in spool.chunks(order):
            yield chunk
            done += len(chunk)
            progress(done, len(order))

    pairs = shared_windows(chunks(), _MIN_WORDS, seed, threads).with_rarest(_WINDOWS, _MOST)
    of = np.full(len(order), -1)
    similarity = np.full(len(order), np.nan, np.float32)
    a, b = pairs
    for batch in batches(spool, order[a], order[b]):
        shares = shares_contained(batch.texts, batch.a, batch.b, seed, threads)
        rows, others = batch.rows[batch.a], batch.rows[batch.b]
        for row, other, found in zip(rows.tolist(), others.tolist(), shares.tolist()):
            if found >= share and of[row] < 0 and of[other] < 0:
                of[row], similarity[row] = other, found
    return Deduplicated(keep=of < 0, duplicate_of=of, similarity=similarity, threshold=share)
