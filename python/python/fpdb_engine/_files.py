"""Files of rows in and out, without loading them whole."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _columns
from ._contained import dedup_contained
from ._dedup import Options, deduplicated
from ._errors import InvalidArgumentError
from ._lines import dedup_lines
from ._passages import Passages, dedup_passages
from ._paths import PathLike, sources_of
from ._report import Deduplicated, Files
from ._rows import Csv, File, Parquet, file_of
from ._stored_texts import StoredTexts
from ._write import Writer, Written, target_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

# For sorting windows; what does not fit is sorted on the disk.
_MEMORY = 128 << 20


def dedup_files(
    sources: PathLike | Iterable[PathLike],
    target: PathLike | None,
    column: str | Sequence[str] = "text",
    *,
    id_column: str | None = None,
    annotate: bool = False,
    contained: float | None = None,
    passages: Literal["mark", "cut", "drop"] | None = None,
    min_words: int | None = None,
    gaps: int = 0,
    min_left: float = 0.5,
    lines: Literal["mark", "cut", "drop"] | None = None,
    unit: Literal["line", "paragraph"] = "line",
    most: int = 1,
    bad_lines: Literal["error", "skip"] = "error",
    **options: Unpack[Options],
) -> Deduplicated:
    """Writes the rows of files without near-duplicates, and returns what dedup() found.

    sources is a file, a folder, a pattern of files and folders such as "dump/*.parquet", or a list of these. Paths and
    patterns may be URLs such as s3://bucket/folder, for which fsspec or pyarrow finds the file system. Files are
    Parquet (.parquet, .pq), JSON lines (.jsonl, .ndjson, .json) or CSV with a row of names (.csv, .tsv). JSON lines and
    CSV may be compressed (.gz, .zst, .bz2, .xz). A file without an ending is read if it begins like Parquet or JSON. Any
    other file in a folder is an error, unless it is hidden, such as _SUCCESS, or is called README or LICENSE; the
    report lists these.

    column is the one with the texts. "doc.body" is the field body of doc. If several columns are given, their texts
    are compared as one. A missing column is an error; in JSON lines, a column is missing if no row of the first file
    has it. With bad_lines="skip", lines that are not rows, or whose text is not a string, are left out and counted.

    If target is a file, all rows are written to it. Otherwise it is a folder, and gets one file for each source, with
    the same name, schema, compression and row groups. Rows of JSON and CSV keep their bytes. pyarrow chooses the page
    version and the statistics of Parquet files. It is an error if the call would write a file that it reads, or one
    that it would read if it were repeated. Each file appears when it is complete. If target is None, nothing is
    written, and the result says what would be.

    With annotate, all rows are written, with more columns: fpdb_keep, fpdb_duplicate_of (the number of the row that
    it is like), fpdb_earlier (the name of the earlier document) and fpdb_similarity. Existing columns with these
    names are replaced. With id_column, annotate also adds fpdb_duplicate_id, the id of the row fpdb_duplicate_of,
    marked passages have a source_id, and examples have the ids of their rows.

    With contained, such as 1.0, rows are dropped if this share of them stands in another row, as dedup_contained()
    says, and not if they are near-duplicates. Of the options of dedup(), only keep, threads and progress can be given
    then.

    With passages, dedup_passages() looks for passages in the rows that are kept, with min_words and gaps. "mark" adds
    the column fpdb_passages: begin, end and source of each passage, in bytes of the text, and the row that it stands
    in. "cut" removes whole sentences and lines that are in passages, as Passages.cut() does, and drops rows of which
    nothing is left. "drop" drops rows of which less than the share min_left is in no passage of a kept row.

    With lines, dedup_lines() does the same for lines that more than `most` texts have or, with unit="paragraph", for
    paragraphs. They have at least min_words words, 1 by default. "mark" adds the column fpdb_lines.

    The files are read several times, in batches, and are never in memory as a whole. Rows are numbered through all
    files, in the order of their names in a folder or a pattern. The other options are those of dedup(). keep may be
    the name of a column of scores, and within the name of a column of groups. With against, id_column is the column
    of ids. Rows are added to the database before the target is written, and documents that give way are removed after
    that, so repeat a run that was interrupted. text_of may be the files that earlier runs wrote, by run: {"2026-10":
    "kept-2026-10"}. They need the same columns, and whole texts: a text of which passages were cut is another one.
    They are copied to a temporary file. With passages, what stands in these texts counts as well, but for documents that
    give way. A marked passage then has no source, and source_id is the name of the document, "2026-10/id". Needs
    pyarrow.

    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> texts = ["one two three four five six", "ONE two three four five six!", "short", None]
    >>> pq.write_table(pa.table({"text": texts, "n": [1, 2, 3, 4]}), folder / "texts.parquet")
    >>> found = dedup_files(folder / "texts.parquet", folder / "kept.parquet")
    >>> found.dropped, pq.read_table(folder / "kept.parquet")["n"].to_pylist()
    (1, [1, 3, 4])
    """
    columns = [column] if isinstance(column, str) else list(column)
    if not columns:
        raise InvalidArgumentError("column: give at least one")
    for name, option in (("passages", passages), ("lines", lines)):
        if option not in (None, "mark", "cut", "drop"):
            raise InvalidArgumentError(f'{name} {option!r}: expected "mark", "cut" or "drop"')
        if option == "cut" and len(columns) > 1:
            raise InvalidArgumentError(f"{name}: only one column can be cut")
    if passages is not None and lines is not None:
        raise InvalidArgumentError("lines: not together with passages; make a second call")
    if target is None and options.get("against") is not None:
        raise InvalidArgumentError("against: the database changes; without a target, nothing does")
    if bad_lines not in ("error", "skip"):
        raise InvalidArgumentError(f'bad_lines {bad_lines!r}: expected "error" or "skip"')
    places = sources_of(sources)
    files = [file_of(it.place, it.name, columns, bad_lines == "skip") for it in places.files]
    if not files:
        raise InvalidArgumentError("sources: there are no files of rows")
    keep = options.get("keep", "first")
    scores = keep if isinstance(keep, str) and keep not in ("first", "longest", "least id") else None
    within = options.get("within")
    if within is not None and not isinstance(within, str):
        raise TypeError(f"within: expected the name of a column, not {type(within).__name__}")
    wanted = [name for name in (id_column, scores, within) if name is not None]
    _check(files, [*columns, *wanted])
    goal = None if target is None else target_of(places, files, target)
    if goal is not None and isinstance(options.get("text_of"), Mapping):
        for earlier in options["text_of"].values():
            sources_of(earlier).check_targets([goal.of(file) for file in files])
    if scores is not None:
        values = [value for file in files for value in file.values(scores)]
        options["keep"] = np.array(values) if values else np.zeros(0)
    if within is not None:
        options["within"] = _Ids(files, within)
    text_of: Any = options.get("text_of")
    stored: StoredTexts | None = None
    if isinstance(text_of, Mapping):
        if id_column is None:
            raise InvalidArgumentError("id_column: give the column with the names of the rows")
        options["text_of"] = stored = StoredTexts(text_of, columns, id_column, bad_lines == "skip")
    uses_ids = options.get("against") is not None or isinstance(keep, str) and keep == "least id"
    texts = _Texts(files, id_column if uses_ids else None)

    def finish(found: Deduplicated) -> Deduplicated:
        without_text = [file.path for file in files if not file.with_text]
        bad = sum(len(file.bad) for file in files) + (stored.bad_lines if stored is not None else 0)
        with_text = sum(file.with_text for file in files)
        again, rows, threads = _Texts(files, None), found.keep, options.get("threads")
        spans = None
        if passages is not None:
            words = 50 if min_words is None else min_words
            gone = {name for names in found.replaced.values() for name in names}
            earlier = None if stored is None else _Again(lambda: stored.each(gone))
            spans = dedup_passages(
                again, rows=rows, against=earlier, min_words=words, gaps=gaps, memory=_MEMORY, threads=threads
            )
        elif lines is not None:
            words = 1 if min_words is None else min_words
            spans = dedup_lines(again, rows=rows, unit=unit, most=most, min_words=words, threads=threads)
        if spans is not None:
            keep = _kept(spans, rows, min_left) if "drop" in (passages, lines) else rows
            found = dataclasses.replace(found, passages=spans, keep=keep)
        written = Written(annotate, passages or lines, "fpdb_lines" if lines else "fpdb_passages")
        names = None if id_column is None else _ids_of(files, id_column, written.rows(found))
        sources = {} if stored is None else stored.names(written.earlier_rows(found))
        # Drops rows of which nothing is left.
        Writer(files, goal, found, written, names, sources).write()
        folders, known = _by_folder(files, found.keep), None if stored is None else len(stored)
        about = Files(len(files), places.left_out, without_text, with_text, bad, folders, known)
        return dataclasses.replace(found, files=about)

    if contained is not None:
        for name in options.keys() - {"keep", "threads", "progress"}:
            raise InvalidArgumentError(f"{name}: not together with contained")
        among: dict[str, Any] = {**options}
        return finish(dedup_contained(texts, share=contained, **among))
    ids: Any = None
    if uses_ids and id_column is not None:
        ids = _Ids(files, id_column) if options.get("replaces") else texts.ids()
    return deduplicated(texts, ids, finish=finish, **options)


def _kept(spans: Passages, rows: Any, min_left: float) -> Any:
    """Returns which rows are kept: those of which at least this share is in no passage of a kept row."""
    keep = rows.copy()
    own = spans.keep(min_left)
    for row in np.flatnonzero(rows & ~own).tolist():
        end = repeated = 0
        for span in spans.spans(row):
            if span.source < spans.earlier or keep[span.source - spans.earlier]:
                repeated += max(span.end - max(span.begin, end), 0)
                end = max(end, span.end)
        length = int(spans.lengths[row])
        keep[row] = length - repeated >= min_left * length
    return keep


def _by_folder(files: list[File], keep: Any) -> dict[str, tuple[int, int]]:
    """Counts the rows of each folder, and those that are dropped."""
    found: dict[str, tuple[int, int]] = {}
    begin = 0
    for file in files:
        rows, dropped = found.get(folder := str(PurePosixPath(file.path).parent), (0, 0))
        kept = int(np.count_nonzero(keep[begin : begin + file.read]))
        found[folder] = rows + file.read, dropped + file.read - kept
        begin += file.read
    return found


def _ids_of(files: list[File], column: str, rows: Iterable[int]) -> dict[int, str | None]:
    """Returns the ids of some rows."""
    wanted = set(rows)
    ids = _columns.names(_Ids(files, column))
    return {row: id for row, id in enumerate(ids) if row in wanted}


def _check(files: list[File], columns: list[str]) -> None:
    """Refuses files without these columns. Rows of JSON may lack some, but not all rows of the first file do."""
    is_first = True
    for file in files:
        if isinstance(file, (Parquet, Csv)):
            file.check(columns)
        elif is_first:
            is_first = not file.check(columns)


class _Texts:
    """The texts of files, which are read as often as they are iterated over, and their ids meanwhile."""

    def __init__(self, files: list[File], id_column: str | None) -> None:
        self._files, self._id_column = files, id_column
        self._ids: collections.deque[Any] = collections.deque()

    def __len__(self) -> int:
        return sum(file.rows() for file in self._files)

    def __iter__(self) -> Iterator[Any]:
        for file in self._files:
            for texts, ids in file.texts(self._id_column):
                self._ids.extend(ids)
                yield texts

    def ids(self) -> Iterator[Any]:
        """Iterates over the ids of the texts that were read."""
        while self._ids:
            yield self._ids.popleft()


class _Again:
    """Chunks of texts that are read as often as they are iterated over."""

    def __init__(self, read: Callable[[], Iterator[Any]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Any]:
        return self._read()


class _Ids:
    """The ids of the rows of files, which are read as often as they are iterated over."""

    def __init__(self, files: list[File], column: str) -> None:
        self._files, self._column = files, column

    def __iter__(self) -> Iterator[Any]:
        return (value for file in self._files for value in file.values(self._column))
