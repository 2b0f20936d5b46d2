"""Connected components of a graph in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ._arrow import Words, batches_of, columns, concatenated, longs

EDGES = 1 << 22
"""Edges that a task collects before it replaces them by fewer."""
ROWS = 1 << 16


def components(a: Words, b: Words) -> tuple[Words, Words]:
    """Returns all ends of edges, ascending, and for each of them the lowest one that is connected to
    it."""
    both = np.sort(np.concatenate([a, b]))
    nodes = both[np.append(True, both[1:] != both[:-1])] if len(both) else both
    u, v = np.searchsorted(nodes, a), np.searchsorted(nodes, b)
    parents = np.arange(len(nodes))
    while len(u):
        # Each root that has a lower neighbour gets one of them as its parent.
        np.minimum.at(parents, np.maximum(u, v), np.minimum(u, v))
        while True:
            grandparents = parents[parents]
            if np.array_equal(grandparents, parents):
                break
            parents = grandparents
        u, v = parents[u], parents[v]
        is_between_trees = u != v
        u, v = u[is_between_trees], v[is_between_trees]
    return nodes, nodes[parents]


def stars(a: Words, b: Words) -> tuple[Words, Words]:
    """Returns the fewest edges with the same components: from each node but the lowest of its component
    to the lowest."""
    nodes, lowest = components(a, b)
    is_other = nodes != lowest
    return nodes[is_other], lowest[is_other]


def contracted(batches: Iterable[Any]) -> Iterator[Any]:
    """Replaces the edges in Arrow batches by the fewest with the same components."""
    kept: list[tuple[Words, Words]] = []
    for edges in columns(batches, 64, EDGES):
        kept = [stars(*concatenated([*kept, edges]))]
    for high, low in kept:
        yield from batches_of(ROWS, high=longs(high), low=longs(low))
