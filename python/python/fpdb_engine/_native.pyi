"""The parts of fpdb_engine that are written in Rust."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, Unpack, disjoint_base

from ._results import (
    Answers,
    Clusters,
    Entries,
    ExpireReport,
    LoadReport,
    Novelties,
    Origin,
    Outcomes,
    Pairs,
    RepairReport,
    Stats,
    VerifyReport,
)

__all__ = [
    "MOST_CANDIDATES",
    "Bands",
    "Comparer",
    "Db",
    "Document",
    "EntryIterator",
    "Match",
    "MatchRule",
    "Outcome",
    "Page",
    "PairIterator",
    "PassageIndex",
    "ReadOnlyDb",
    "Reader",
    "Snapshot",
    "WarcFile",
    "WarcPages",
    "WarcRecord",
    "WarcRecords",
    "__version__",
    "estimate_jaccard",
    "extract_html",
    "find_passages",
    "find_quotes",
    "fingerprint",
    "fingerprint_batch",
    "jaccard",
    "jaccard_of_minima",
    "jaccard_of_smallest",
    "jaccard_pairs",
    "kept_windows",
    "minima",
    "recipes",
    "repair",
    "repetitions",
    "run_tool",
    "shares_contained",
    "smallest",
    "units",
]

__version__: str
MOST_CANDIDATES: int

_Path: TypeAlias = str | os.PathLike[str]
_Key: TypeAlias = int | str

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

# A fingerprint of 64 or 128 bits, or a sketch, as results have it.
_Value: TypeAlias = int | bytes
# The same as an argument; a sketch can also be an item of an array.
_Fingerprint: TypeAlias = SupportsIndex | bytes | np.void
# Sketches are of dtype V228.
_Values: TypeAlias = npt.NDArray[np.uint64] | npt.NDArray[np.void]
# Arrays of numpy, and what numpy converts: arrays of pyarrow, series of pandas and Polars.
_Numbers: TypeAlias = npt.ArrayLike | Sequence[SupportsIndex] | _ArrowArray | _ArrowStream
_Fingerprints: TypeAlias = _Numbers | Sequence[_Fingerprint]
_Strings: TypeAlias = Iterable[str] | _ArrowArray | _ArrowStream
_Texts: TypeAlias = Iterable[str | None] | _ArrowArray | _ArrowStream

class _BinaryFile(Protocol):
    def read(self, size: int, /) -> bytes: ...

class _Options(TypedDict, total=False):
    """The options of Db. Db.create() documents them."""

    bits: int | None
    max_distance: int | None
    similarity: float | None
    recall: float | None
    layout: str | None
    ids: Literal["user", "unique", "names"] | None
    recipe: str | None
    custom_recipe: str | None
    extraction: str | None
    expected_entries: int | None
    durability: Literal["sync", "buffered"]
    sync_interval: float
    threads: int | None
    background: bool
    memtable_entries: int
    index_memory: int | None
    page_memory: int | None
    bulk_memory: int | None
    trust_file_system: bool

@disjoint_base
class Reader:
    """A database that can be read: what Db, ReadOnlyDb and Snapshot have in common."""

    @property
    def path(self) -> str: ...
    @property
    def bits(self) -> int: ...
    @property
    def max_distance(self) -> int: ...
    @property
    def match_rule(self) -> MatchRule | None: ...
    @property
    def sketch_bands(self) -> tuple[int, int] | None: ...
    @property
    def similarity(self) -> float | None: ...
    @property
    def recall(self) -> float | None: ...
    @property
    def id_kind(self) -> str: ...
    @property
    def recipe(self) -> str | None: ...
    @property
    def extraction(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...
    def query(
        self,
        fingerprint: _Fingerprint,
        distance: int | None = None,
        *,
        limit: int | None = None,
        since: int | None = None,
    ) -> list[Match]: ...
    def query_text(
        self,
        text: str,
        distance: int | None = None,
        *,
        limit: int | None = None,
        since: int | None = None,
    ) -> list[Match] | None: ...
    def nearest(self, fingerprint: _Fingerprint, distance: int | None = None) -> Match | None: ...
    def query_batch(
        self,
        fingerprints: _Fingerprints | None = None,
        distance: int | None = None,
        *,
        texts: _Texts | None = None,
    ) -> Answers: ...
    def ids(self, fingerprint: _Fingerprint) -> npt.NDArray[np.uint64]: ...
    def get(self, key: _Key) -> Document | None: ...
    def name(self, id: int) -> str | None: ...
    def names(self, ids: _Numbers) -> list[str | None]: ...
    def snapshot(self) -> Snapshot: ...
    def pairs(
        self,
        distance: int | None = None,
        *,
        expand: bool = False,
        memory: int | None = None,
        threads: int | None = None,
    ) -> PairIterator: ...
    def count_pairs(
        self, distance: int | None = None, *, memory: int | None = None, threads: int | None = None
    ) -> list[int]: ...
    def join(
        self,
        other: Reader | _Fingerprints,
        distance: int | None = None,
        *,
        nearest: bool = False,
        memory: int | None = None,
        threads: int | None = None,
    ) -> PairIterator: ...
    def clusters(
        self,
        distance: int | None = None,
        *,
        method: Literal["keep-first", "components"] | None = None,
        memory: int | None = None,
        threads: int | None = None,
    ) -> Clusters: ...
    def entries(self) -> EntryIterator: ...
    def verify(self, level: Literal["quick", "full", "deep"] | None = None) -> VerifyReport: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, _class: object, _exception: object, _traceback: object) -> None: ...
    def __contains__(self, key: _Fingerprint, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

@final
class Db(Reader):
    """A database that is open for reading and writing."""

    @staticmethod
    def create(path: _Path, **options: Unpack[_Options]) -> Db: ...
    @staticmethod
    def open(path: _Path, **options: Unpack[_Options]) -> Db: ...
    @staticmethod
    def open_or_create(path: _Path, **options: Unpack[_Options]) -> Db: ...
    def insert(self, fingerprint: _Fingerprint, key: _Key, *, stamp: int | None = None) -> int: ...
    def write(
        self,
        fingerprints: _Fingerprints | None = None,
        ids: _Numbers | None = None,
        *,
        texts: _Texts | None = None,
        names: _Strings | None = None,
        stamps: _Numbers | None = None,
        unless_near: int | Literal["rule"] | None = None,
        or_update: Literal["keep", "remove", "remember"] | None = None,
    ) -> Outcomes: ...
    def insert_if_novel(
        self, fingerprint: _Fingerprint, key: _Key, *, stamp: int | None = None
    ) -> Outcome: ...
    def upsert_if_novel(
        self, fingerprint: _Fingerprint, key: _Key, *, stamp: int | None = None
    ) -> Outcome: ...
    def insert_text_if_novel(
        self, text: str, key: _Key, *, stamp: int | None = None
    ) -> Outcome | None: ...
    def upsert_text_if_novel(
        self, text: str, key: _Key, *, stamp: int | None = None
    ) -> Outcome | None: ...
    def remove(self, key: _Key) -> bool: ...
    def remove_entry(self, fingerprint: _Fingerprint, id: int) -> bool: ...
    def touch(self, key: _Key, stamp: int) -> bool: ...
    def expire(self, before: int) -> ExpireReport: ...
    @overload
    def bulk_load(self, fingerprints: _Fingerprints, ids: _Numbers) -> LoadReport: ...
    @overload
    def bulk_load(
        self, fingerprints: Iterable[tuple[_Fingerprints, _Numbers]], ids: None = None
    ) -> LoadReport: ...
    def warm(self) -> None: ...
    def sync(self) -> None: ...
    def flush(self) -> None: ...
    def compact(self) -> None: ...
    def backup(self, path: _Path) -> None: ...
    def stats(self) -> Stats: ...

@final
class PassageIndex:
    """An index of passages that lasts: for a text, which earlier documents have passages of it."""

    @staticmethod
    def create(
        path: _Path, min_words: int = 50, seed: int | None = None, **options: Unpack[_Options]
    ) -> PassageIndex: ...
    @staticmethod
    def open(path: _Path, **options: Unpack[_Options]) -> PassageIndex: ...
    def insert(self, ids: _Numbers, texts: _Texts) -> None: ...
    def insert_if_novel(self, ids: _Numbers, texts: _Texts, share: float = 0.8) -> Novelties: ...
    def find(self, text: str, limit: int = 10) -> list[Origin]: ...
    def remove(self, ids: _Numbers, texts: _Texts) -> npt.NDArray[np.bool_]: ...
    def remove_all(self, ids: _Numbers) -> int: ...
    def __contains__(self, id: int, /) -> bool: ...
    @property
    def min_words(self) -> int: ...
    @property
    def seed(self) -> int: ...
    def compact(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, _class: object, _exception: object, _traceback: object) -> None: ...

@final
class ReadOnlyDb(Reader):
    """A database that is open for reading only. Another process may write to it at the same time."""

    @staticmethod
    def open(
        path: _Path,
        *,
        bits: int | None = None,
        recipe: str | None = None,
        threads: int | None = None,
        index_memory: int | None = None,
        page_memory: int | None = None,
    ) -> ReadOnlyDb: ...
    def refresh(self) -> bool: ...
    def warm(self) -> None: ...
    def backup(self, path: _Path) -> None: ...
    def stats(self) -> Stats: ...

@final
class Snapshot(Reader):
    """A database as it was when snapshot() was called. It never changes, whatever is written."""

@final
class Match:
    """An entry within the distance of a query."""

    def __new__(cls, distance: int, fingerprint: _Value, id: int) -> Self: ...
    @property
    def distance(self) -> int: ...
    @property
    def fingerprint(self) -> Any: ...
    @property
    def id(self) -> int: ...
    def __getnewargs__(self) -> tuple[int, _Value, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Document:
    """What a database knows about a document."""

    def __new__(
        cls,
        fingerprint: _Value,
        id: int,
        stamp: int | None = None,
        duplicate_of: int | None = None,
    ) -> Self: ...
    @property
    def fingerprint(self) -> Any: ...
    @property
    def id(self) -> int: ...
    @property
    def stamp(self) -> int | None: ...
    @property
    def duplicate_of(self) -> int | None: ...
    def __getnewargs__(self) -> tuple[_Value, int, int | None, int | None]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Outcome:
    """What became of a document that was written. True in conditions unless it is a duplicate."""

    def __new__(
        cls,
        kind: Literal["inserted", "unchanged", "updated", "duplicate", "exists"],
        id: int,
        replaced: _Value | None = None,
        distance: int | None = None,
        duplicate_of: Match | None = None,
    ) -> Self: ...
    @property
    def kind(self) -> Literal["inserted", "unchanged", "updated", "duplicate", "exists"]: ...
    @property
    def id(self) -> int: ...
    @property
    def replaced(self) -> Any: ...
    @property
    def distance(self) -> int | None: ...
    @property
    def duplicate_of(self) -> Match | None: ...
    def __bool__(self) -> bool: ...
    def __getnewargs__(
        self,
    ) -> tuple[str, int, _Value | None, int | None, Match | None]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class PairIterator:
    """An iterator over pairs of documents, as chunks of arrays."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Pairs: ...
    def close(self) -> None: ...

@final
class EntryIterator:
    """An iterator over the entries of a database, as chunks of arrays."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Entries: ...
    def close(self) -> None: ...

@overload
def fingerprint(
    text: str, recipe: str = "default", *, bits: Literal[64, 128] = 64
) -> int | None: ...
@overload
def fingerprint(text: str, recipe: str = "default", *, bits: Literal[1824]) -> bytes | None: ...
@overload
def fingerprint(text: str, recipe: str = "default", *, bits: int) -> Any: ...
@overload
def fingerprint_batch(
    texts: _Texts,
    recipe: str = "default",
    *,
    bits: Literal[64, 128] = 64,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]: ...
@overload
def fingerprint_batch(
    texts: _Texts, recipe: str = "default", *, bits: int, threads: int | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]: ...
def estimate_jaccard(
    distance: int, recipe: str = "default", *, bits: int = 1824
) -> tuple[float, float]: ...
def jaccard(a: str, b: str, *, recipe: str = "default", ngram: int | None = None) -> float: ...
def jaccard_pairs(
    texts: _Texts,
    a: _Numbers,
    b: _Numbers,
    *,
    others: _Texts | None = None,
    recipe: str = "default",
    ngram: int | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.float64]: ...
def minima(
    texts: _Texts,
    k: int = 128,
    *,
    recipe: str = "default",
    ngram: int | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.uint64]: ...
def smallest(
    texts: _Texts,
    k: int = 128,
    *,
    recipe: str = "default",
    ngram: int | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.uint64]: ...
def jaccard_of_minima(
    a: npt.ArrayLike, b: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def jaccard_of_smallest(
    a: npt.ArrayLike, b: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
@final
class MatchRule:
    def __new__(cls, similarity: float, *, recall: float = 0.95, expected_entries: int = 1000000) -> Self: ...
    @property
    def similarity(self) -> float: ...
    @property
    def recall(self) -> float: ...
    @property
    def bands(self) -> int: ...
    @property
    def minima(self) -> int: ...
    @property
    def distance(self) -> int: ...
    @property
    def margin(self) -> int: ...
    def bands_of(self, sketches: _Fingerprints) -> npt.NDArray[np.uint64]: ...
    def distances(self, a: _Fingerprints, b: _Fingerprints) -> npt.NDArray[np.uint8]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Bands:
    def __new__(cls, b: int, r: int) -> Self: ...
    @property
    def b(self) -> int: ...
    @property
    def r(self) -> int: ...
    @property
    def minima(self) -> int: ...
    @property
    def threshold(self) -> float: ...
    def probability(self, jaccard: float) -> float: ...
    def hashes(self, minima: npt.ArrayLike) -> npt.NDArray[np.uint64]: ...
    def __getnewargs__(self) -> tuple[int, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def find_passages(
    read: Callable[[], Iterable[_Texts]], min_words: int, memory: int, seed: int, threads: int | None
) -> list[npt.NDArray[np.uint64]]: ...
def kept_windows(
    texts: _Texts, min_words: int, seed: int, threads: int | None
) -> list[npt.NDArray[np.uint64]]: ...
def find_quotes(
    texts: _Texts,
    rows: _Numbers,
    sources: _Numbers,
    min_words: int,
    gaps: int,
    seed: int,
    threads: int | None,
) -> tuple[list[npt.NDArray[np.uint64]], list[npt.NDArray[np.uint64]]]: ...
def shares_contained(
    texts: _Texts, a: _Numbers, b: _Numbers, seed: int, threads: int | None
) -> npt.NDArray[np.float64]: ...
def units(
    texts: _Texts, paragraphs: bool, min_words: int, seed: int, threads: int | None
) -> list[npt.NDArray[np.uint64]]: ...
def repetitions(texts: _Texts, seed: int, threads: int | None) -> npt.NDArray[np.float64]: ...
@final
class Comparer:
    """Compares the rows of a deduplication with those before them, chunk by chunk."""

    def __new__(
        cls,
        *,
        similarity: float,
        recall: float,
        recipe: str,
        rule: MatchRule | None,
        expected: int,
        ngram: int | None,
        exact: bool,
        threads: int | None,
    ) -> Self: ...
    @staticmethod
    def recipes() -> list[str]: ...
    @staticmethod
    def throw_away(db: Reader) -> None: ...
    def read(self, texts: _Texts) -> tuple[npt.NDArray[np.void], npt.NDArray[np.uint8]]: ...
    def are_new(self, names: list[str]) -> list[bool]: ...
    def are_unsure(self, rows: _Numbers, sketches: _Fingerprints) -> npt.NDArray[np.uint8]: ...
    def decide(
        self,
        offsets: _Numbers,
        of: _Numbers,
        distances: _Numbers,
        gives_way: _Numbers,
        earlier: _Texts,
        sketches: _Fingerprints,
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64], list[tuple[int, int]]]: ...

def recipes(*, bits: int = 64) -> dict[str, str]: ...
def extract_html(
    html: bytes | str,
    *,
    url: str = "",
    content_type: str = "text/html",
    extraction: str = "main",
) -> str: ...

@final
class Page:
    """A web page as text."""

    @property
    def url(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def charset(self) -> str: ...
    @property
    def extraction(self) -> str: ...
    @property
    def offset(self) -> int: ...

@final
class WarcRecord:
    """A record of a WARC or ARC file."""

    @property
    def kind(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    @property
    def block(self) -> bytes: ...
    @property
    def is_truncated(self) -> bool: ...
    def header(self, name: str) -> str | None: ...
    def page(self, *, extraction: str = "main") -> Page | None: ...

@disjoint_base
class WarcFile:
    """An open WARC or ARC file: what WarcPages and WarcRecords have in common."""

    @property
    def errors(self) -> list[str]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, _class: object, _exception: object, _traceback: object) -> None: ...

@final
class WarcPages(WarcFile):
    """An iterator over the pages of a WARC or ARC file, compressed with gzip or not."""

    def __new__(cls, source: _Path | _BinaryFile, *, extraction: str = "main") -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Page: ...
    @property
    def skipped(self) -> dict[str, int]: ...

@final
class WarcRecords(WarcFile):
    """An iterator over the records of a WARC or ARC file, compressed with gzip or not."""

    def __new__(cls, source: _Path | _BinaryFile) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> WarcRecord: ...

def repair(path: _Path, out: _Path) -> RepairReport: ...
def run_tool(args: Sequence[str]) -> int: ...
