"""An embedded database that finds near-duplicates exactly.

It stores 64- or 128-bit fingerprints of documents, which are similar for similar documents, and
returns all that differ from a given one in at most k bits.

>>> import fpdb_engine as fpdb
>>> path = folder / "crawl.fpdb"
>>> with fpdb.Db.create(path, max_distance=3, ids="names", recipe="default") as db:
...     for url, text in [
...         ("https://a.example/", "Insert the disc, close the tray, and wait for the green light."),
...         ("https://b.example/", "Insert the disc; close the tray and wait for the green light!"),
...     ]:
...         novelty = db.insert_text_if_novel(text, url)
...         if novelty is None:
...             print(url, "has too little text to compare")
...         elif novelty:
...             print(url, "is new")
...         else:
...             earlier = novelty.duplicate_of
...             print(url, "is", earlier.distance, "bits from", db.name(earlier.id))
https://a.example/ is new
https://b.example/ is 0 bits from https://a.example/

Db is open for reading and writing, ReadOnlyDb for reading only, while another process may write. A
Snapshot is either of them at one moment. Reader has what the three have in common.
"""

from __future__ import annotations

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
    UnfinishedError,
    UnsupportedError,
)
from ._native import (
    Db,
    Document,
    EntryIterator,
    Match,
    Novelty,
    Outcome,
    Page,
    PairIterator,
    Reader,
    ReadOnlyDb,
    Snapshot,
    WarcFile,
    WarcPages,
    WarcRecord,
    WarcRecords,
    __version__,
    extract_html,
    fingerprint,
    fingerprint_batch,
    recipes,
)
from ._open import open
from ._results import (
    Answers,
    Clusters,
    Entries,
    ExpireReport,
    LoadReport,
    Novelties,
    Pairs,
    VerifyReport,
)

__all__ = [
    "AlreadyExistsError",
    "Answers",
    "ArchiveError",
    "CancelledError",
    "ClosedError",
    "Clusters",
    "CorruptionError",
    "Db",
    "Document",
    "Entries",
    "EntryIterator",
    "Error",
    "ExpireReport",
    "InvalidArgumentError",
    "IoError",
    "LoadReport",
    "LockedError",
    "Match",
    "NoSpaceError",
    "NotFoundError",
    "Novelties",
    "Novelty",
    "Outcome",
    "Page",
    "PairIterator",
    "Pairs",
    "PoisonedError",
    "ReadOnlyDb",
    "Reader",
    "ReplacedError",
    "Snapshot",
    "UnfinishedError",
    "UnsupportedError",
    "VerifyReport",
    "WarcFile",
    "WarcPages",
    "WarcRecord",
    "WarcRecords",
    "__version__",
    "extract_html",
    "fingerprint",
    "fingerprint_batch",
    "open",
    "recipes",
]
