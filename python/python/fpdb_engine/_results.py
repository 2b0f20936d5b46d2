"""What methods return if it has several parts: named tuples, mostly of arrays."""

from __future__ import annotations

import enum
import typing
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Answers(NamedTuple):
    """The answers to a batch of queries. Those of query i are ids[offsets[i]:offsets[i + 1]], sorted
    by distance, fingerprint and id."""

    offsets: npt.NDArray[np.int64]
    ids: npt.NDArray[np.uint64]
    distances: npt.NDArray[np.uint8]


class OutcomeKind(enum.IntEnum):
    """What became of a document that was written: the numbers in Outcomes.kinds.

    >>> OutcomeKind(3)
    <OutcomeKind.DUPLICATE: 3>
    """

    INSERTED = 0
    """The key was new."""
    UNCHANGED = 1
    """The document existed with this fingerprint."""
    UPDATED = 2
    """The key existed with another fingerprint, which was replaced."""
    DUPLICATE = 3
    """Another document is within the distance, so this one was not inserted."""
    TOO_SHORT = 4
    """The text is missing or too short to be compared, so nothing was written."""


class Outcomes(NamedTuple):
    """What became of the documents of a write(), one after the other."""

    novel: npt.NDArray[np.bool_]
    """Whether the document is not a duplicate: a mask for the rows of a frame."""
    ids: npt.NDArray[np.uint64]
    """The id of the document, or of the one that it duplicates. 2**64 - 1 for a text that is too short."""
    distances: npt.NDArray[np.uint8]
    """The number of bits in which its fingerprint differs from the one that it duplicates or replaced, or
    0."""
    kinds: npt.NDArray[np.uint8]
    """Which OutcomeKind it is."""


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


class SegmentStats(typing.TypedDict):
    """A segment in Stats."""

    id: int
    entries: int
    fingerprints: int
    removed: int
    bytes: int
    files: dict[str, int]


class Stats(typing.TypedDict):
    """What stats() returns: the fields of the Rust library's Stats. Sizes are in bytes."""

    entries: int
    fingerprints: int
    removed: int
    documents: int
    duplicates: int
    generation: int
    bits: int
    max_distance: int
    layout: str
    tables: int
    block_size: int
    recipe: str | None
    extraction: str | None
    ids: str
    code: str
    bytes_total: int
    bytes_tables: int
    bytes_ids: int
    bytes_documents: int
    bytes_names: int
    bytes_tombstones: int
    bytes_log: int
    bytes_flushed: int
    bytes_compacted: int
    write_amplification: float
    bits_per_fingerprint_per_table: float
    entropy_bound_bits: float
    bits_per_id: float
    ids_bound_bits: float
    index_memory_bytes: int
    index_budget_bytes: int
    index_loaded_bytes: int
    page_budget_bytes: int
    page_memory_bytes: int
    memtable_entries: int
    memtable_bytes: int
    background_error: str | None
    stalled_seconds: float
    refused_writes: int
    write_error: str | None
    segments: list[SegmentStats]
