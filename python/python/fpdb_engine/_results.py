"""What methods return if it has several parts: named tuples, mostly of arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Answers(NamedTuple):
    """The answers to a batch of queries. Those of query i are ids[offsets[i]:offsets[i + 1]], sorted
    by distance, fingerprint and id."""

    offsets: npt.NDArray[np.int64]
    ids: npt.NDArray[np.uint64]
    distances: npt.NDArray[np.uint8]


class Novelties(NamedTuple):
    """What insert_if_novel_batch() decided, for each document."""

    novel: npt.NDArray[np.bool_]
    """Whether the document was inserted."""
    ids: npt.NDArray[np.uint64]
    """Its id if it was inserted, or else the id of the nearest earlier document."""
    distances: npt.NDArray[np.uint8]
    """The distance from that earlier document, or 0."""


class Pairs(NamedTuple):
    """Some pairs of documents. Pair i is a[i] and b[i], distances[i] bits apart."""

    a: npt.NDArray[np.uint64]
    b: npt.NDArray[np.uint64]
    distances: npt.NDArray[np.uint8]


class Clusters(NamedTuple):
    """Clusters of at least two documents. Cluster i is ids[offsets[i]:offsets[i + 1]], ascending; the
    first stands for the others."""

    offsets: npt.NDArray[np.int64]
    ids: npt.NDArray[np.uint64]
    radii: npt.NDArray[np.uint8]
    """The largest distance of a member from the first, for each cluster."""


class Entries(NamedTuple):
    """Some entries of a database. Fingerprints of 128 bits have two columns, the high half first."""

    fingerprints: npt.NDArray[np.uint64]
    ids: npt.NDArray[np.uint64]


class ExpireReport(NamedTuple):
    """What expire() did."""

    examined: int
    """Number of documents there were."""
    removed: int
    """Number of documents removed."""


class LoadReport(NamedTuple):
    """What bulk_load() did."""

    read: int
    """Number of entries read."""
    inserted: int
    """Number of entries that are new in the database."""


class VerifyReport(NamedTuple):
    """What verify() found."""

    files: int
    """Number of files read."""
    bytes: int
    """Number of bytes read."""
    errors: list[str]
    """All damage that was found."""
