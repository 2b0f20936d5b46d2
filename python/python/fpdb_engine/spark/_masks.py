"""Which tasks compare fingerprints that are within a distance.

For a distance of k, bits of a fingerprint are divided into k + 1 cells. Two fingerprints that differ in at
most k bits agree in at least one cell. So a fingerprint is sent to k + 1 tasks, each chosen by the number
and the bits of one cell, and any two such fingerprints meet.
"""

from __future__ import annotations

import numpy as np

from ._arrow import Fingerprints, Words
from ._sending import Tasks, task_of


def cells(k: int, words: int) -> list[tuple[int, int, int]]:
    """Returns the word, the lowest bit and the width of each cell of fingerprints of so many words. With
    more words than cells, some are in no cell."""
    found = []
    for word in range(words):
        number = (k + 1) * (word + 1) // words - (k + 1) * word // words
        bounds = [64 * cell // number for cell in range(number + 1)] if number else []
        found += [(word, low, high - low) for low, high in zip(bounds, bounds[1:])]
    return found


def _masked(words: Words, low: int, width: int) -> Words:
    if width == 64:
        return words
    return words >> np.uint64(low) & np.uint64((1 << width) - 1)


def owners(fingerprints: Fingerprints, k: int, tasks: int) -> list[Tasks]:
    """Returns the task that each cell of each fingerprint chooses."""
    words = [fingerprints] if fingerprints.ndim == 1 else list(fingerprints.T)
    return [
        task_of(_masked(words[word], *bounds), number, tasks)
        for number, (word, *bounds) in enumerate(cells(k, len(words)))
    ]
