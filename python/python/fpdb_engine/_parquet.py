"""Parquet files in and out, without loading them whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._dedup import Deduplicated, dedup
from ._errors import InvalidArgumentError

_Path = str | os.PathLike[str]

# Rows that are read together. Texts can be long, so these are few.
_BATCH = 1024
# A row group is written when it has this many rows or bytes.
_ROWS = 1 << 17
_BYTES = 1 << 24


def dedup_parquet(
    sources: _Path | Iterable[_Path],
    target: _Path,
    column: str = "text",
    *,
    id_column: str | None = None,
    **options: Any,
) -> Deduplicated:
    """Writes the rows of Parquet files to another one, without near-duplicates, and returns what dedup() found.

    sources is a path or several, and column the one with the texts. The files are read twice, in batches, and are
    never in memory whole: so they may be larger than it. The target appears when it is complete. The other options
    are those of dedup(); with against, id_column is the column of ids. Rows are numbered through all files. Checksums
    of pages are checked. Needs pyarrow.

    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> texts = ["one two three four five six", "ONE two three four five six!", "short", None]
    >>> pq.write_table(pa.table({"text": texts, "n": [1, 2, 3, 4]}), folder / "texts.parquet")
    >>> found = dedup_parquet(folder / "texts.parquet", folder / "kept.parquet")
    >>> found.dropped, pq.read_table(folder / "kept.parquet")["n"].to_pylist()
    (1, [1, 3, 4])
    """
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    if not paths:
        raise InvalidArgumentError("sources: there are no files")
    if any(Path(path).resolve() == Path(target).resolve() for path in paths):
        raise InvalidArgumentError(f"target: {os.fspath(target)} is one of the sources; choose another file")
    schema = _schema(paths, [column] if id_column is None else [column, id_column])
    ids = None if id_column is None else _values(paths, id_column)
    found = dedup(_batches_of(paths, column), ids, expected=_rows(paths), **options)
    _write(paths, Path(target), schema, found.keep)
    return found


def _schema(paths: list[Any], columns: list[str]) -> Any:
    """Returns the schema of the files, which must be the same in all."""
    import pyarrow.parquet as pq

    schema = None
    for path in paths:
        with _named(path):
            other = pq.read_schema(path)
        for column in columns:
            if column not in other.names:
                raise InvalidArgumentError(
                    f"{os.fspath(path)} has no column {column!r}; its columns are {', '.join(other.names)}"
                )
        schema = schema or other
        if not schema.equals(other):
            raise InvalidArgumentError(
                f"{os.fspath(path)} has other columns or types than {os.fspath(paths[0])}: write a file for each"
            )
    return schema


@contextlib.contextmanager
def _named(path: Any) -> Iterator[None]:
    """Adds the name of the file to errors about what is in it."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # The operating system's errors have a number, and name the file.
        if getattr(error, "errno", None) is not None:
            raise
        raise type(error)(f"{os.fspath(path)}: {error}") from error


def _rows(paths: list[Any]) -> int:
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(path).num_rows for path in paths)


def _batches(paths: list[Any], columns: list[str] | None = None) -> Iterator[Any]:
    import pyarrow.parquet as pq

    for path in paths:
        # Without the buffer, which would hold whole row groups.
        with _named(path), pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
            yield from file.iter_batches(_BATCH, columns=columns)


def _batches_of(paths: list[Any], column: str) -> Iterator[Any]:
    return (batch.column(0) for batch in _batches(paths, [column]))


def _values(paths: list[Any], column: str) -> Iterator[Any]:
    return (value for values in _batches_of(paths, column) for value in values.to_pylist())


def _write(paths: list[Any], target: Path, schema: Any, keep: npt.NDArray[np.bool_]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        with pq.ParquetWriter(unfinished, schema) as writer:
            kept: list[Any] = []
            begin = 0
            for batch in _batches(paths):
                end = begin + batch.num_rows
                kept.append(batch.filter(pa.array(keep[begin:end])))
                begin = end
                if sum(some.num_rows for some in kept) >= _ROWS or sum(some.nbytes for some in kept) >= _BYTES:
                    writer.write_table(pa.Table.from_batches(kept, schema))
                    kept = []
            if kept:
                writer.write_table(pa.Table.from_batches(kept, schema))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
