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
    EXISTS = 5
    """The key existed, and the call was one that only inserts, so nothing was written."""


class Outcomes(NamedTuple):
    """What became of the documents of a write(), one after the other."""

    novel: npt.NDArray[np.bool_]
    """Whether the document is not a duplicate: a mask for the rows of a frame."""
    ids: npt.NDArray[np.uint64]
    """The id of the document, or of the one that it duplicates. 2**64 - 1 for a text that is too short."""
    distances: npt.NDArray[np.uint8]
    """The distance of its fingerprint from the one that it duplicates or replaced, or that exists; or 0."""
    kinds: npt.NDArray[np.uint8]
    """Which OutcomeKind it is."""


class Pairs(NamedTuple):
    """Some pairs of documents. Pair i is a[i] and b[i], distances[i] apart: in bits, or in minima of sketches."""

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
    """Some entries of a database. Fingerprints of 128 bits have two columns, the high half first. Sketches are of
    dtype V228."""

    fingerprints: npt.NDArray[typing.Any]
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


class RepairReport(NamedTuple):
    """What repair() found and wrote."""

    damage: list[str]
    """All damage that was found."""
    losses: list[str]
    """What no file proves any more; empty if nothing was lost."""
    written: int
    """Number of documents in the new database; of entries, if it has user ids."""
    lost_texts: list[int]
    """The ids of the texts of a PassageIndex that are no longer in it: insert them again."""
    incomplete_texts: list[int]
    """The ids of those that may have lost windows: remove_all and insert them again."""


class SegmentStats(typing.TypedDict):
    """A segment in Stats: a part of the database that is written at once."""

    id: int
    """Its number, with which the names of its files begin."""
    entries: int
    """Number of entries. Newer segments may have removed some of them."""
    fingerprints: int
    """Number of different fingerprints."""
    removed: int
    """Number of entries in older segments that it removes."""
    bytes: int
    """Size of all its files."""
    files: dict[str, int]
    """Their sizes, by name."""


class Stats(typing.TypedDict):
    """What stats() returns. Sizes are in bytes."""

    entries: int
    """Exact number of entries."""
    rows: int
    """Number of rows of each table. A fingerprint counts once per segment that has it, until compaction."""
    removed: int
    """Number of removed entries that still take space."""
    documents: int
    """Number of documents, with remembered duplicates; 0 with user ids."""
    duplicates: int
    """Number of these that are duplicates of others, and so have no entry."""
    generation: int
    """Number of changes to the set of files."""
    bits: int
    """Width of fingerprints."""
    max_distance: int
    """The distance that the database was created for."""
    layout: str
    """Name of the layout of the tables."""
    tables: int
    """Number of tables in the layout."""
    block_size: int
    """Bytes per block of new segments."""
    recipe: str | None
    """The recipe, if there is one."""
    extraction: str | None
    """The extraction, if there is one."""
    ids: str
    """Where ids come from: "user", "unique" or "names"."""
    bytes_total: int
    """Size of all files."""
    bytes_tables: int
    """Size of the tables."""
    bytes_ids: int
    """Size of the ids of entries."""
    bytes_documents: int
    """Size of what is known of documents: keys, stamps and names."""
    bytes_names: int
    """The part of these that holds names."""
    bytes_tombstones: int
    """Size of what says which entries are removed."""
    bytes_log: int
    """Size of the log."""
    bytes_flushed: int
    """Bytes of all segments that flushes have written since the database was created."""
    bytes_compacted: int
    """Bytes of all segments that merges have written since then."""
    write_amplification: float
    """How often each byte was written; 0 before the first flush."""
    bits_per_fingerprint_per_table: float
    """Bits that a fingerprint takes in each table."""
    entropy_bound_bits: float
    """The same for the best possible code of random fingerprints."""
    bits_per_id: float
    """Bits that an id takes."""
    ids_bound_bits: float
    """The same for the best possible code of the numbers below their count in random order."""
    index_memory_bytes: int
    """Size of what should be in memory for fast answers."""
    index_budget_bytes: int
    """How much memory copies of it may take: index_memory."""
    index_loaded_bytes: int
    """How much they take."""
    page_budget_bytes: int
    """How much memory the pages of files may take: page_memory."""
    page_memory_bytes: int
    """How much they take."""
    memtable_entries: int
    """Number of recent changes in memory."""
    memtable_bytes: int
    """About how much memory they take."""
    background_error: str | None
    """The last failure in the background, unless it has succeeded since."""
    stalled_seconds: float
    """How long writers have waited for flushes and merges since the database was opened."""
    refused_writes: int
    """How many commits were refused since then because the disk was full."""
    write_error: str | None
    """Why the handle accepts no more writes, if it does not."""
    queries: dict[str, int]
    """What queries have read since the database was opened: how many ``queries`` there were, their
    ``lookups``, those that a filter answered (``filtered``), the ``rows`` of tables of keys, the
    ``blocks`` that were decoded, the ``pages`` of 4 KiB that were read from files, the ``candidates``
    that were compared, and the ``matches``."""
    segments: list[SegmentStats]
    """The segments, oldest first."""


class Place(NamedTuple):
    """Neighbouring windows of a text that one earlier document has."""

    begin: int
    """The first byte of the text in UTF-8. What the texts share may begin before it, by up to min_words - 12 words."""
    end: int
    """The byte after the last one. What the texts share may end after it, by as much."""
    is_long: bool
    """Whether it has min_words words: what the texts share is that long, unless words between two windows differ."""


class Origin(NamedTuple):
    """An earlier document that has passages of a text."""

    id: int
    share: float
    """The share of the text's windows that the document has."""
    share_of_origin: float
    """The share of the document's windows that the text has."""
    places: list[Place]
    """Where in the text they are, in order."""


class Novelties(NamedTuple):
    """What became of the documents of PassageIndex.insert_if_novel(), one after the other."""

    novel: npt.NDArray[np.bool_]
    """Whether the document was inserted."""
    decided: npt.NDArray[np.bool_]
    """Whether its windows decide. If not, it was not inserted: compare it with the text of the document in ids."""
    ids: npt.NDArray[np.uint64]
    """The earlier document that has most of it, if it was not inserted."""
    shares: npt.NDArray[np.float64]
    """The share of its windows that this document has, or that are common."""
