"""An embedded database that finds near-duplicates exactly.

It stores sketches, or 64- or 128-bit fingerprints of documents, which are similar for similar documents,
and returns all that are near a given one.

>>> import fpdb_engine as fpdb
>>> path = folder / "crawl.fpdb"
>>> with fpdb.Db.create(path, max_distance=3, ids="names", recipe="default") as db:
...     for url, text in [
...         ("https://a.example/", "Insert the disc, close the tray, and wait for the green light."),
...         ("https://b.example/", "Insert the disc; close the tray and wait for the green light!"),
...     ]:
...         outcome = db.insert_text_if_novel(text, url)
...         if outcome is None:
...             print(url, "has too little text to compare")
...         elif outcome:
...             print(url, "is new")
...         else:
...             print(url, "is", outcome.distance, "bits from", db.name(outcome.id))
https://a.example/ is new
https://b.example/ is 0 bits from https://a.example/

Db is open for reading and writing, ReadOnlyDb for reading only, while another process may write. A
Snapshot is either of them at one moment. Reader has what the three have in common.
"""

from __future__ import annotations

from ._contained import dedup_contained
from ._dedup import dedup
from ._errors import (
    AlreadyExistsError,
    ArchiveError,
    CancelledError,
    ClosedError,
    CorruptionError,
    Error,
    InvalidArgumentError,
    IoError,
    LockedError,
    NoSpaceError,
    NotFoundError,
    PoisonedError,
    ReplacedError,
    TooManyCandidatesError,
    UnfinishedError,
    UnsupportedError,
)
from ._files import dedup_files
from ._lines import Repetition, dedup_lines, repetition
from ._native import (
    Bands,
    Db,
    Document,
    EntryIterator,
    Match,
    MatchRule,
    Outcome,
    Page,
    PairIterator,
    PassageIndex,
    Reader,
    ReadOnlyDb,
    Snapshot,
    WarcFile,
    WarcPages,
    WarcRecord,
    WarcRecords,
    __version__,
    estimate_jaccard,
    extract_html,
    fingerprint,
    fingerprint_batch,
    jaccard,
    jaccard_of_minima,
    jaccard_of_smallest,
    jaccard_pairs,
    minima,
    recipes,
    repair,
    smallest,
)
from ._passages import Passages, Span, dedup_passages
from ._report import Deduplicated, Example
from ._results import (
    Answers,
    Clusters,
    Entries,
    ExpireReport,
    LoadReport,
    Novelties,
    Origin,
    OutcomeKind,
    Outcomes,
    Pairs,
    Place,
    RepairReport,
    SegmentStats,
    Stats,
    VerifyReport,
)

__all__ = [
    "AlreadyExistsError",
    "Answers",
    "ArchiveError",
    "Bands",
    "CancelledError",
    "ClosedError",
    "Clusters",
    "CorruptionError",
    "Db",
    "Deduplicated",
    "Document",
    "Entries",
    "EntryIterator",
    "Error",
    "Example",
    "ExpireReport",
    "InvalidArgumentError",
    "IoError",
    "LoadReport",
    "LockedError",
    "Match",
    "MatchRule",
    "NoSpaceError",
    "NotFoundError",
    "Novelties",
    "Origin",
    "Outcome",
    "OutcomeKind",
    "Outcomes",
    "Page",
    "PairIterator",
    "Pairs",
    "PassageIndex",
    "Passages",
    "Place",
    "PoisonedError",
    "ReadOnlyDb",
    "Reader",
    "RepairReport",
    "Repetition",
    "ReplacedError",
    "SegmentStats",
    "Snapshot",
    "Span",
    "Stats",
    "TooManyCandidatesError",
    "UnfinishedError",
    "UnsupportedError",
    "VerifyReport",
    "WarcFile",
    "WarcPages",
    "WarcRecord",
    "WarcRecords",
    "__version__",
    "dedup",
    "dedup_files",
    "dedup_contained",
    "dedup_lines",
    "dedup_passages",
    "estimate_jaccard",
    "extract_html",
    "fingerprint",
    "fingerprint_batch",
    "jaccard",
    "jaccard_of_minima",
    "jaccard_of_smallest",
    "jaccard_pairs",
    "minima",
    "recipes",
    "repair",
    "repetition",
    "smallest",
]
