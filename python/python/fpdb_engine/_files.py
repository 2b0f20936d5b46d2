"""Parquet and JSONL files in and out, without loading them whole."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._dedup import Options, dedup
from ._errors import InvalidArgumentError
from ._passages import dedup_passages
from ._read import File, PathLike, files_in
from ._report import Deduplicated
from ._write import Writer, target_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

# For sorting windows; what does not fit is sorted on the disk.
_MEMORY = 128 << 20


def dedup_files(
    sources: PathLike | Iterable[PathLike],
    target: PathLike,
    column: str | Sequence[str] = "text",
    *,
    id_column: str | None = None,
    annotate: bool = False,
    passages: Literal["mark", "cut", "drop"] | None = None,
    min_words: int = 50,
    gaps: int = 0,
    min_left: float = 0.5,
    **options: Unpack[Options],
) -> Deduplicated:
    """Writes the rows of Parquet or JSONL files without near-duplicates, and returns what dedup() found.

    sources is a file, a folder, a pattern such as "dump/*.parquet", or a list of these. Files of JSON lines may be
    compressed with gzip or zstd. Paths may be URLs such as s3://bucket/folder, for which fsspec or pyarrow finds the
    file system. column is the one with the texts; "doc.body" is the field body of doc; of several columns, the texts
    are compared as one.

    If target is a file, all rows are written to it. Otherwise it is a folder, and gets one file for each source, with
    the same name, schema, compression and row groups; lines of JSON are the same bytes. With annotate, all rows are
    written, with four more columns: fpdb_keep, fpdb_duplicate_of (the number of the row that it is like),
    fpdb_earlier (the name of the earlier document) and fpdb_similarity. Each file appears when it is complete.

    With passages, dedup_passages() looks for passages in the rows that are kept, with min_words and gaps. "mark" adds the
    column fpdb_passages: begin, end and source of each passage, in bytes of the text, and the row that it stands in. "cut"
    removes whole sentences and lines that are in passages from the texts, as Passages.cut() does, and drops rows of which
    nothing is left. "drop" drops the rows of which less than the share min_left is in no passage. The first row that has a
    passage keeps it.

    The files are read twice, with passages four times, in batches, and are never in memory whole. Rows are numbered through all files, in the
    order of their names in a folder or a pattern. The other options are those of dedup(). keep may be the name of a
    column of scores. With against, id_column is the column of ids, and the database changes before the target does, so
    repeat a run that was interrupted. Needs pyarrow.

    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> texts = ["one two three four five six", "ONE two three four five six!", "short", None]
    >>> pq.write_table(pa.table({"text": texts, "n": [1, 2, 3, 4]}), folder / "texts.parquet")
    >>> found = dedup_files(folder / "texts.parquet", folder / "kept.parquet")
    >>> found.dropped, pq.read_table(folder / "kept.parquet")["n"].to_pylist()
    (1, [1, 3, 4])
    """
    columns = [column] if isinstance(column, str) else list(column)
    if passages not in (None, "mark", "cut", "drop"):
        raise InvalidArgumentError(f'passages {passages!r}: expected "mark", "cut" or "drop"')
    if passages == "cut" and len(columns) > 1:
        raise InvalidArgumentError("passages: only one column can be cut")
    files = list(files_in(sources))
    if not files:
        raise InvalidArgumentError("sources: there are no files of Parquet or JSON lines")
    keep = options.get("keep", "first")
    scores = keep if isinstance(keep, str) and keep not in ("first", "longest", "least id") else None
    wanted = [name for name in (id_column, scores) if name is not None]
    for file in files:
        file.check([*columns, *wanted])
    goal = target_of(files, target)
    if scores is not None:
        values = [value for file in files for value in file.values(scores)]
        options["keep"] = np.array(values) if values else np.zeros(0)
    texts = _Texts(files, columns, id_column)
    found = dedup(texts, None if id_column is None else texts.ids(), **options)
    if passages is not None:
        again, threads = _Texts(files, columns, None), options.get("threads")
        spans = dedup_passages(
            again, rows=found.keep, min_words=min_words, gaps=gaps, memory=_MEMORY, threads=threads
        )
        keep = found.keep & spans.keep(min_left) if passages == "drop" else found.keep
        found = dataclasses.replace(found, passages=spans, keep=keep)
    Writer(files, goal, columns, found, annotate, passages).write()
    return found


class _Texts:
    """The texts of files, which are read as often as they are iterated over, and their ids meanwhile."""

    def __init__(self, files: list[File], columns: list[str], id_column: str | None) -> None:
        self._files, self._columns, self._id_column = files, columns, id_column
        self._ids: collections.deque[Any] = collections.deque()

    def __len__(self) -> int:
        return sum(file.rows() for file in self._files)

    def __iter__(self) -> Iterator[Any]:
        for file in self._files:
            for texts, ids in file.texts(self._columns, self._id_column):
                self._ids.extend(ids)
                yield texts

    def ids(self) -> Iterator[Any]:
        """Iterates over the ids of the texts that were read."""
        while self._ids:
            yield self._ids.popleft()
