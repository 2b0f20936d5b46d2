"""Parquet and JSONL files in and out, without loading them whole."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import glob
import io
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from ._dedup import Options, dedup
from ._errors import InvalidArgumentError
from ._report import Deduplicated, excerpts

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Path = str | os.PathLike[str]

# Rows of a Parquet file that are read together, and about the bytes from which on they are fewer.
_BATCH, _BATCH_BYTES = 1024, 16 << 20
# A row group that is written has at most about these bytes.
_GROUP_BYTES = 64 << 20
_PARQUET = (".parquet", ".pq")
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst", ".json.gz", ".json.zst", ".json")


def dedup_files(
    sources: _Path | Iterable[_Path],
    target: _Path,
    column: str | Sequence[str] = "text",
    *,
    id_column: str | None = None,
    annotate: bool = False,
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

    The files are read twice, in batches, and are never in memory whole. Rows are numbered through all files, in the
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
    files = list(_found(sources))
    if not files:
        raise InvalidArgumentError("sources: there are no files of Parquet or JSON lines")
    keep = options.get("keep", "first")
    scores = keep if isinstance(keep, str) and keep not in ("first", "longest", "least id") else None
    wanted = [name for name in (id_column, scores) if name is not None]
    for file in files:
        file.check([*columns, *wanted])
    goal = _targets(files, target)
    if scores is not None:
        values = [value for file in files for value in file.values(scores)]
        options["keep"] = np.array(values) if values else np.zeros(0)
    texts = _Texts(files, columns, id_column)
    found = dedup(texts, None if id_column is None else texts.ids(), **options)
    _Writer(files, goal, columns, found, annotate).write()
    return found


class _Texts:
    """The texts of files, which are read as often as they are iterated over, and their ids meanwhile."""

    def __init__(self, files: list[_File], columns: list[str], id_column: str | None) -> None:
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


@dataclasses.dataclass
class _File:
    """A file of rows."""

    system: Any
    """The file system of pyarrow."""
    path: str
    """In that file system."""
    name: str
    """In the folder that it was found in."""

    def rows(self) -> int:
        """Returns the number of rows."""
        raise TypeError("unknown before the file is read")

    def check(self, columns: list[str]) -> None:
        """Refuses a file without these columns, as far as that is known before it is read."""

    def values(self, column: str) -> Iterator[Any]:
        """Yields the values of a column."""
        raise NotImplementedError

    def texts(self, columns: list[str], id_column: str | None) -> Iterator[tuple[Any, Iterable[Any]]]:
        """Yields chunks of texts, and their ids."""
        raise NotImplementedError


class _Parquet(_File):
    def _open(self) -> Any:
        import pyarrow.parquet as pq

        # Without the buffer, which would hold whole row groups.
        return pq.ParquetFile(
            self.system.open_input_file(self.path), pre_buffer=False, page_checksum_verification=True
        )

    def rows(self) -> int:
        with _named(self.path), self._open() as file:
            return int(file.metadata.num_rows)

    def schema(self) -> Any:
        """Returns the schema of Arrow."""
        with _named(self.path), self._open() as file:
            return file.schema_arrow

    def compression(self) -> dict[str, str]:
        """Returns how each column is compressed."""
        with _named(self.path), self._open() as file:
            groups = file.metadata.num_row_groups
            chunks = file.metadata.row_group(0) if groups else None
            columns = [chunks.column(at) for at in range(chunks.num_columns)] if chunks else []
            return {it.path_in_schema: "NONE" if it.compression == "UNCOMPRESSED" else it.compression for it in columns}

    def check(self, columns: list[str]) -> None:
        import pyarrow as pa

        schema = self.schema()
        repeated = {name for name in schema.names if schema.names.count(name) > 1}
        if repeated:
            raise InvalidArgumentError(f"{self.path}: several columns have the name {', '.join(sorted(repeated))}")
        for column in columns:
            kind: Any = pa.struct(list(schema))
            for name in _parts(column, schema.names):
                if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
                    names = ", ".join(schema.names)
                    raise InvalidArgumentError(f"{self.path} has no column {column!r}; its columns are {names}")
                kind = kind.field(kind.get_field_index(name)).type

    def groups(self, columns: list[str] | None = None) -> Iterator[Iterator[Any]]:
        """Yields the batches of each row group."""
        with _named(self.path), self._open() as file:
            for group in range(file.metadata.num_row_groups):
                about = file.metadata.row_group(group)
                row = max(about.total_byte_size // max(about.num_rows, 1), 1)
                size = min(max(_BATCH_BYTES // row, 1), _BATCH)
                yield self._named_batches(file.iter_batches(size, row_groups=[group], columns=columns))

    def _named_batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        with _named(self.path):
            yield from batches

    def _columns(self, columns: list[str]) -> Iterator[list[Any]]:
        names = self.schema().names
        for group in self.groups(columns):
            for batch in group:
                yield [_column(batch, _parts(column, names)) for column in columns]

    def values(self, column: str) -> Iterator[Any]:
        return (value for (values,) in self._columns([column]) for value in values.to_pylist())

    def texts(self, columns: list[str], id_column: str | None) -> Iterator[tuple[Any, Iterable[Any]]]:
        wanted = columns if id_column is None else [*columns, id_column]
        for values in self._columns(list(dict.fromkeys(wanted))):
            of = dict(zip(dict.fromkeys(wanted), values))
            ids = () if id_column is None else of[id_column].to_pylist()
            yield _one([of[column] for column in columns]), ids


class _Lines(_File):
    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yields the number of each line, and the line, without empty ones."""
        with _named(self.path), self.system.open_input_stream(self.path, buffer_size=1 << 20) as stream:
            for number, line in enumerate(io.BufferedReader(stream, 1 << 20), 1):
                if line.strip():
                    yield number, line

    def values(self, column: str) -> Iterator[Any]:
        return (self._value(number, line, [column])[0] for number, line in self.lines())

    def texts(self, columns: list[str], id_column: str | None) -> Iterator[tuple[Any, Iterable[Any]]]:
        wanted = columns if id_column is None else [*columns, id_column]
        lines = self.lines()
        while some := list(itertools.islice(lines, _BATCH)):
            rows = [self._value(number, line, wanted) for number, line in some]
            texts = [self._text(number, row[: len(columns)]) for (number, _), row in zip(some, rows)]
            yield texts, [row[-1] for row in rows] if id_column is not None else ()

    def _value(self, number: int, line: bytes, columns: list[str]) -> list[Any]:
        try:
            value = json.loads(line)
        except ValueError as error:
            raise InvalidArgumentError(f"{self.path}, line {number}: {error}") from error
        if not isinstance(value, dict):
            raise InvalidArgumentError(f"{self.path}, line {number}: expected an object, not {type(value).__name__}")
        return [self._field(value, _parts(column, value)) for column in columns]

    def _field(self, value: Any, parts: list[str]) -> Any:
        for name in parts:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def _text(self, number: int, values: list[Any]) -> str | None:
        for value in values:
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{self.path}, line {number}: a text must be a string, not {type(value).__name__}")
        return "\n".join(it for it in values if it is not None) if any(it is not None for it in values) else None


def _parts(column: str, names: Any) -> list[str]:
    """Returns the names of the fields that lead to a column."""
    return [column] if column in names else column.split(".")


def _column(batch: Any, parts: list[str]) -> Any:
    import pyarrow.compute as pc

    column = batch.column(parts[0])
    return pc.struct_field(column, parts[1:]) if len(parts) > 1 else column


def _one(columns: list[Any]) -> Any:
    """Returns one column of texts of several."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(columns) == 1:
        return columns[0]
    texts = [column.cast(pa.large_string()) for column in columns]
    return pc.binary_join_element_wise(*texts, "\n", null_handling="skip")


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Adds the name of the file to errors about what is in it."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # The operating system's errors have a number, and name the file.
        if getattr(error, "errno", None) is not None or path in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


def _system(path: _Path) -> tuple[Any, str]:
    """Returns the file system of a path, and the path in it."""
    from pyarrow import fs

    path = os.fspath(path)
    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(path)
    try:
        system, found = fs.FileSystem.from_uri(path)
    except (ValueError, NotImplementedError) as error:
        try:
            import fsspec
        except ImportError:
            raise InvalidArgumentError(f"{path}: {error}; fsspec knows more file systems") from error
        other, found = fsspec.core.url_to_fs(path)
        system = fs.PyFileSystem(fs.FSSpecHandler(other))
    return system, found


def _found(sources: _Path | Iterable[_Path]) -> Iterator[_File]:
    """Finds the files of all sources."""
    for source in [sources] if isinstance(sources, (str, os.PathLike)) else sources:
        system, path = _system(source)
        if "://" not in os.fspath(source) and glob.has_magic(path) and not os.path.exists(path):
            for name in sorted(glob.glob(path, recursive=True)):
                yield _file(system, name, os.path.basename(name))
            continue
        info = system.get_file_info(path)
        if info.type.name == "NotFound":
            raise FileNotFoundError(f"{os.fspath(source)}: there is no such file or folder")
        if info.type.name == "File":
            yield _file(system, path, PurePosixPath(path).name)
            continue
        yield from _in_folder(system, path)


def _in_folder(system: Any, folder: str) -> Iterator[_File]:
    from pyarrow import fs

    for info in sorted(system.get_file_info(fs.FileSelector(folder, recursive=True)), key=lambda info: info.path):
        name = PurePosixPath(info.path).relative_to(folder)
        # As pyarrow's datasets do.
        is_hidden = any(part.startswith(("_", ".")) for part in name.parts)
        if info.type.name == "File" and not is_hidden and info.path.endswith(_PARQUET + _LINES):
            yield _file(system, info.path, str(name))


def _file(system: Any, path: str, name: str) -> _File:
    return (_Lines if path.endswith(_LINES) else _Parquet)(system, path, name)


@dataclasses.dataclass
class _Target:
    system: Any
    path: str
    is_file: bool

    def of(self, file: _File) -> str:
        """Returns where the rows of a file go."""
        return self.path if self.is_file else f"{self.path}/{file.name}"


def _targets(files: list[_File], target: _Path) -> _Target:
    """Checks where rows are to be written before any work is done."""
    system, path = _system(target)
    found = _Target(system, path, path.endswith(_PARQUET + _LINES) and not os.path.isdir(path))
    kinds = {type(file) for file in files}
    if found.is_file and kinds != {type(_file(system, path, path))}:
        raise InvalidArgumentError(f"target: {path} has another format than the sources; choose a folder")
    paths = [found.of(file) for file in files]
    for file, own in zip(files, paths):
        if own == file.path or not found.is_file and paths.count(own) > 1:
            what = "is one of the sources" if own == file.path else "would be written twice"
            raise InvalidArgumentError(f"target: {own} {what}; choose another folder")
    if found.is_file and kinds == {_Parquet}:
        _unified(files)
    for folder in sorted({str(PurePosixPath(own).parent) for own in paths}):
        system.create_dir(folder, recursive=True)
        probe = f"{folder}/.fpdb-{os.getpid()}"
        with system.open_output_stream(probe):
            pass
        system.delete_file(probe)
    return found


def _unified(files: list[_File]) -> Any:
    """Returns a schema for the rows of all files."""
    import pyarrow as pa

    schemas = [file.schema() for file in files if isinstance(file, _Parquet)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        message = f"the columns of the sources do not fit each other: {error}; choose a folder as target"
        raise InvalidArgumentError(message) from error


@contextlib.contextmanager
def _appearing(system: Any, path: str) -> Iterator[Any]:
    """Yields a stream for a file that appears when it is complete: on a disk by renaming, and on other file systems by
    itself."""
    from pyarrow import fs

    is_local = isinstance(system, fs.LocalFileSystem)
    parent, name = os.path.split(path)
    written = f"{parent}/.{name}.unfinished" if is_local else path
    try:
        # The name of the target decides about its compression.
        compression = {".gz": "gzip", ".zst": "zstd"}.get(os.path.splitext(name)[1])
        with system.open_output_stream(written, compression=compression) as stream:
            yield stream
        if is_local:
            os.replace(written, path)
    except BaseException:
        with contextlib.suppress(OSError):
            system.delete_file(written)
        raise


class _Writer:
    """Writes the rows of files."""

    def __init__(
        self, files: list[_File], target: _Target, columns: list[str], found: Deduplicated, annotate: bool
    ) -> None:
        self._files, self._target, self._columns = files, target, columns
        self._found, self._annotate = found, annotate
        # The texts of examples, by row.
        rows = [row for it in found.shown for row in (it.row, it.of) if isinstance(row, int)]
        self._texts: dict[int, str | None] = dict.fromkeys(sorted(rows))
        self._begin = 0

    def write(self) -> None:
        groups = [self._files] if self._target.is_file else [[file] for file in self._files]
        for files in groups:
            with _appearing(self._target.system, self._target.of(files[0])) as stream:
                if isinstance(files[0], _Parquet):
                    self._write_parquet(files, stream)
                else:
                    for file in files:
                        self._write_lines(file, stream)
        for place, it in enumerate(self._found.shown):
            other = self._texts[it.of] if isinstance(it.of, int) else it.other
            text, other = excerpts(self._texts[it.row], other)
            self._found.shown[place] = it._replace(text=text, other=other)

    def _write_lines(self, file: Any, stream: Any) -> None:
        for number, line in file.lines():
            row, self._begin = self._begin, self._begin + 1
            if row in self._texts:
                self._texts[row] = file._text(number, file._value(number, line, self._columns))
            if self._annotate:
                added = {name: value for name, (value,) in self._added(row, row + 1).items()}
                content = line.rstrip()[:-1]
                comma = b"" if content.rstrip().endswith(b"{") else b", "
                stream.write(content + comma + json.dumps(added)[1:].encode() + b"\n")
            elif self._found.keep[row]:
                stream.write(line if line.endswith(b"\n") else line + b"\n")

    def _write_parquet(self, files: list[Any], stream: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        source = files[0].schema() if len(files) == 1 else _unified(files)
        types = {"fpdb_keep": pa.bool_(), "fpdb_duplicate_of": pa.int64(), "fpdb_earlier": pa.string()}
        added = [pa.field(*it) for it in {**types, "fpdb_similarity": pa.float32()}.items()] if self._annotate else []
        schema = pa.schema([*source, *added], source.metadata)
        has_views = any("view" in str(field.type) for field in schema)
        with pq.ParquetWriter(stream, schema, compression=files[0].compression() or "snappy") as writer:
            for file in files:
                for group in file.groups():
                    kept: list[Any] = []
                    for batch in group:
                        begin, self._begin = self._begin, self._begin + batch.num_rows
                        self._note(file, batch, begin)
                        columns = [_cast(batch, field) for field in source]
                        if self._annotate:
                            values = self._added(begin, self._begin)
                            columns += [pa.array(values[field.name], field.type) for field in added]
                        rows = pa.record_batch(columns, schema=schema)
                        keep = None if self._annotate else self._found.keep[begin : self._begin]
                        kept += _filtered(rows, keep, has_views)
                        if sum(it.nbytes for it in kept) >= _GROUP_BYTES:
                            writer.write_table(pa.Table.from_batches(kept, schema))
                            kept = []
                    if sum(it.num_rows for it in kept):
                        writer.write_table(pa.Table.from_batches(kept, schema), row_group_size=1 << 30)

    def _note(self, file: Any, batch: Any, begin: int) -> None:
        """Notes the texts of examples."""
        for row in self._texts:
            if begin <= row < begin + batch.num_rows:
                some = batch.slice(row - begin, 1)
                names = batch.schema.names
                values = _one([_column(some, _parts(column, names)) for column in self._columns])
                self._texts[row] = values[0].as_py()

    def _added(self, begin: int, end: int) -> dict[str, list[Any]]:
        """Returns the columns that annotate adds, for some rows."""
        found = self._found
        of = found.duplicate_of[begin:end].tolist()
        similarity = found.similarity[begin:end].tolist()
        return {
            "fpdb_keep": found.keep[begin:end].tolist(),
            "fpdb_duplicate_of": [None if it < 0 else it for it in of],
            "fpdb_earlier": [found.earlier.get(row) for row in range(begin, end)],
            "fpdb_similarity": [None if it != it else it for it in similarity],
        }


def _cast(batch: Any, field: Any) -> Any:
    """Returns a column as the target has it: with nulls if the file has none."""
    import pyarrow as pa

    place = batch.schema.get_field_index(field.name)
    if place < 0:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(place)
    return column if column.type == field.type else column.cast(field.type)


def _filtered(rows: Any, keep: Any, has_views: bool) -> list[Any]:
    """Returns the rows to keep, all if keep is None."""
    import pyarrow as pa

    if keep is None or keep.all():
        return [rows]
    if not has_views:
        return [rows.filter(pa.array(keep))]
    # Arrow cannot filter views, so runs of rows are taken.
    edges = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]]).astype(np.int8)))
    return [rows.slice(begin, end - begin) for begin, end in edges.reshape(-1, 2).tolist()]
