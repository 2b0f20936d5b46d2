"""Files of rows: Parquet and JSON lines."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import io
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from ._errors import InvalidArgumentError

PathLike = str | os.PathLike[str]

# Rows of a Parquet file that are read together, and about the bytes from which on they are fewer.
_BATCH, _BATCH_BYTES = 1024, 16 << 20
PARQUET = (".parquet", ".pq")
LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst", ".json.gz", ".json.zst", ".json")


@dataclasses.dataclass
class File:
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


class Parquet(File):
    def _open(self) -> Any:
        import pyarrow.parquet as pq

        # Without the buffer, which would hold whole row groups.
        return pq.ParquetFile(
            self.system.open_input_file(self.path), pre_buffer=False, page_checksum_verification=True
        )

    def rows(self) -> int:
        with named(self.path), self._open() as file:
            return int(file.metadata.num_rows)

    def schema(self) -> Any:
        """Returns the schema of Arrow."""
        with named(self.path), self._open() as file:
            return file.schema_arrow

    def compression(self) -> dict[str, str]:
        """Returns how each column is compressed."""
        with named(self.path), self._open() as file:
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
            for name in parts_of(column, schema.names):
                if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
                    names = ", ".join(schema.names)
                    raise InvalidArgumentError(f"{self.path} has no column {column!r}; its columns are {names}")
                kind = kind.field(kind.get_field_index(name)).type

    def groups(self, columns: list[str] | None = None) -> Iterator[Iterator[Any]]:
        """Yields the batches of each row group."""
        with named(self.path), self._open() as file:
            for group in range(file.metadata.num_row_groups):
                about = file.metadata.row_group(group)
                row = max(about.total_byte_size // max(about.num_rows, 1), 1)
                size = min(max(_BATCH_BYTES // row, 1), _BATCH)
                yield self._named_batches(file.iter_batches(size, row_groups=[group], columns=columns))

    def _named_batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        with named(self.path):
            yield from batches

    def _columns(self, columns: list[str]) -> Iterator[list[Any]]:
        names = self.schema().names
        for group in self.groups(columns):
            for batch in group:
                yield [column_of(batch, parts_of(column, names)) for column in columns]

    def values(self, column: str) -> Iterator[Any]:
        return (value for (values,) in self._columns([column]) for value in values.to_pylist())

    def texts(self, columns: list[str], id_column: str | None) -> Iterator[tuple[Any, Iterable[Any]]]:
        wanted = columns if id_column is None else [*columns, id_column]
        for values in self._columns(list(dict.fromkeys(wanted))):
            of = dict(zip(dict.fromkeys(wanted), values))
            ids = () if id_column is None else of[id_column].to_pylist()
            yield joined([of[column] for column in columns]), ids


class Lines(File):
    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yields the number of each line, and the line, without empty ones."""
        with named(self.path), self.system.open_input_stream(self.path, buffer_size=1 << 20) as stream:
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
        return [self._field(value, parts_of(column, value)) for column in columns]

    def _field(self, value: Any, parts: list[str]) -> Any:
        for name in parts:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def _text(self, number: int, values: list[Any]) -> str | None:
        for value in values:
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{self.path}, line {number}: a text must be a string, not {type(value).__name__}")
        return "\n".join(it for it in values if it is not None) if any(it is not None for it in values) else None


def parts_of(column: str, names: Any) -> list[str]:
    """Returns the names of the fields that lead to a column."""
    return [column] if column in names else column.split(".")


def column_of(batch: Any, parts: list[str]) -> Any:
    import pyarrow.compute as pc

    column = batch.column(parts[0])
    return pc.struct_field(column, parts[1:]) if len(parts) > 1 else column


def joined(columns: list[Any]) -> Any:
    """Returns one column of texts of several."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(columns) == 1:
        return columns[0]
    texts = [column.cast(pa.large_string()) for column in columns]
    return pc.binary_join_element_wise(*texts, "\n", null_handling="skip")


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Adds the name of the file to errors about what is in it."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # The operating system's errors have a number, and name the file.
        if getattr(error, "errno", None) is not None or path in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


def system_of(path: PathLike) -> tuple[Any, str]:
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


def files_in(sources: PathLike | Iterable[PathLike]) -> Iterator[File]:
    """Finds the files of all sources."""
    for source in [sources] if isinstance(sources, (str, os.PathLike)) else sources:
        system, path = system_of(source)
        if "://" not in os.fspath(source) and glob.has_magic(path) and not os.path.exists(path):
            for name in sorted(glob.glob(path, recursive=True)):
                yield file_of(system, name, os.path.basename(name))
            continue
        info = system.get_file_info(path)
        if info.type.name == "NotFound":
            raise FileNotFoundError(f"{os.fspath(source)}: there is no such file or folder")
        if info.type.name == "File":
            yield file_of(system, path, PurePosixPath(path).name)
            continue
        yield from _in_folder(system, path)


def _in_folder(system: Any, folder: str) -> Iterator[File]:
    from pyarrow import fs

    for info in sorted(system.get_file_info(fs.FileSelector(folder, recursive=True)), key=lambda info: info.path):
        name = PurePosixPath(info.path).relative_to(folder)
        # As pyarrow's datasets do.
        is_hidden = any(part.startswith(("_", ".")) for part in name.parts)
        if info.type.name == "File" and not is_hidden and info.path.endswith(PARQUET + LINES):
            yield file_of(system, info.path, str(name))


def file_of(system: Any, path: str, name: str) -> File:
    return (Lines if path.endswith(LINES) else Parquet)(system, path, name)


def unified(files: list[File]) -> Any:
    """Returns a schema for the rows of all files."""
    import pyarrow as pa

    schemas = [file.schema() for file in files if isinstance(file, Parquet)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        message = f"the columns of the sources do not fit each other: {error}; choose a folder as target"
        raise InvalidArgumentError(message) from error
