"""Files of rows: Parquet, JSON lines, and CSV."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import functools
import io
import itertools
import json
import lzma
import re
from collections.abc import Iterable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import PurePosixPath
from typing import Any

from ._errors import InvalidArgumentError
from ._paths import Place

# Rows of a file that are compared together, and about the bytes from which on they are fewer.
_BATCH, _BATCH_BYTES = 1024, 16 << 20
# Rows of a Parquet file that are decoded together.
_PART = 64
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
_SPACE = re.compile(r"[ \t\n\r\ufeff]*")
_DECODER = json.JSONDecoder()


@dataclasses.dataclass
class File:
    """A file of rows."""

    place: Place
    name: str
    """In the folder that it was found in."""
    columns: list[str]
    """The columns with the texts."""
    skips: bool = False
    """Whether lines that are no rows are left out, instead of being an error."""
    bad: set[int] = dataclasses.field(default_factory=set)
    """The numbers of the lines that are left out."""
    with_text: int = 0
    """The number of rows that have a text, as far as texts were read."""
    read: int = 0
    """The number of rows that were read with their texts."""

    @property
    def path(self) -> str:
        return self.place.path

    @property
    def system(self) -> Any:
        return self.place.system

    def rows(self) -> int:
        """Returns the number of rows."""
        raise TypeError("unknown before the file is read")

    def check(self, columns: list[str]) -> bool:
        """Refuses a file that has rows, but not these columns. Returns whether it has rows."""
        raise NotImplementedError

    def values(self, column: str) -> Iterator[Any]:
        """Yields the values of a column."""
        raise NotImplementedError

    def texts(self, id_column: str | None) -> Iterator[tuple[Any, Iterable[Any]]]:
        """Yields chunks of texts, and their ids."""
        raise NotImplementedError


class Parquet(File):
    def _open(self, dictionaries: list[str] | None = None) -> Any:
        import pyarrow.parquet as pq

        # Without the buffer, which would hold whole row groups.
        return pq.ParquetFile(
            self.system.open_input_file(self.path),
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=dictionaries,
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

    def check(self, columns: list[str]) -> bool:
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
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            if column in self.columns and not is_text(kind) and not pa.types.is_null(kind):
                raise TypeError(f"{self.path}: {column!r}: texts must be strings, not an Arrow array of {kind}")
        return self.rows() > 0

    def groups(self, columns: list[str] | None = None) -> Iterator[Iterator[Any]]:
        """Yields the batches of each row group."""
        with named(self.path), self._open() as file:
            for group in range(file.metadata.num_row_groups):
                yield self._batches(file, group, columns)

    def _batches(self, file: Any, group: int, columns: list[str] | None) -> Iterator[Any]:
        """Yields the batches of a row group: of many rows, or of about as many bytes as they may have."""
        import pyarrow as pa

        some: list[Any] = []
        with named(self.path):
            for part in self._parts(file, group, columns):
                some.append(part)
                is_full = sum(it.num_rows for it in some) >= _BATCH
                if is_full or sum(it.nbytes for it in some) >= _BATCH_BYTES:
                    yield from pa.Table.from_batches(some).combine_chunks().to_batches()
                    some = []
            if some:
                yield from pa.Table.from_batches(some).combine_chunks().to_batches()

    def _parts(self, file: Any, group: int, columns: list[str] | None) -> Iterator[Any]:
        """Yields a row group in parts that are small when they are decoded. A file does not say how large that is: a
        text that many rows share is in it once. If such rows are found, these texts are decoded later."""
        done = 0
        for part in file.iter_batches(_PART, row_groups=[group], columns=columns):
            yield part
            done += part.num_rows
            if part.nbytes > 4 * _BATCH_BYTES:
                break
        if done == file.metadata.row_group(group).num_rows:
            return
        import pyarrow as pa

        schema, at = file.schema_arrow, 0
        strings = [field.name for field in schema if is_text(field.type)]
        with self._open(strings) as again:
            for part in again.iter_batches(_PART, row_groups=[group], columns=columns):
                at += part.num_rows
                for row in range(max(done - (at - part.num_rows), 0), part.num_rows):
                    some = part.slice(row, 1)
                    fields = [schema.field(name) for name in part.schema.names]
                    values = [column.cast(field.type) for column, field in zip(some.columns, fields)]
                    yield pa.record_batch(values, schema=pa.schema(fields))

    def _columns(self, columns: list[str]) -> Iterator[list[Any]]:
        names = self.schema().names
        for group in self.groups(columns):
            for batch in group:
                yield [column_of(batch, parts_of(column, names)) for column in columns]

    def values(self, column: str) -> Iterator[Any]:
        return (value for (values,) in self._columns([column]) for value in values.to_pylist())

    def texts(self, id_column: str | None) -> Iterator[tuple[Any, Iterable[Any]]]:
        self.with_text = self.read = 0
        wanted = list(dict.fromkeys([*self.columns, *([] if id_column is None else [id_column])]))
        for values in self._columns(wanted):
            of = dict(zip(wanted, values))
            ids = () if id_column is None else of[id_column].to_pylist()
            texts = joined([of[column] for column in self.columns])
            self.with_text += len(texts) - texts.null_count
            self.read += len(texts)
            yield texts, ids


class Lines(File):
    """Rows that are lines of text: JSON."""

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Yields each row as it is in the file, and the number of its first line. Those that are left out are missing."""
        return (it for it in self._records() if it[0] not in self.bad)

    def _records(self) -> Iterator[tuple[int, bytes]]:
        with named(self.path), opened(self.place) as stream:
            for number, line in enumerate(io.BufferedReader(stream, 1 << 20), 1):
                if line.strip():
                    yield number, line

    def fields(self, record: bytes, columns: list[str]) -> list[tuple[bool, Any]]:
        """Returns whether a row has each of these columns, and its values."""
        value = json.loads(record)
        if not isinstance(value, dict):
            raise InvalidArgumentError(f"expected an object, not {type(value).__name__}")
        return [_field(value, parts_of(column, value)) for column in columns]

    def names(self, record: bytes) -> list[str]:
        """Returns the columns of a row."""
        return list(json.loads(record))

    def changed(self, record: bytes, values: dict[str, Any]) -> bytes:
        """Returns a row with other values in these columns. All others stay the same bytes. New columns are the last."""
        # As json does.
        line = record.decode("utf-8", "surrogatepass")
        text = line.rstrip()
        begin = _SPACE.match(text).end()  # type: ignore[union-attr]
        names = [name for name, _, _ in _spans(text, begin)]
        edits, added = [], {}
        for column, value in values.items():
            at, span = begin, None
            for name in parts_of(column, names):
                # Of several with one name, the last one counts.
                span = next((it[1:] for it in reversed(list(_spans(text, at))) if it[0] == name), None)
                at = span[0] if span else at
            if span is None:
                added[column] = value
            else:
                edits.append((*span, _encoded(value, text)))
        for first, last, new in sorted(edits, reverse=True):
            text = text[:first] + new + text[last:]
        if added:
            content = text[:-1]
            comma = "" if content.rstrip().endswith("{") else ", "
            text = content + comma + _encoded(added, text)[1:]
        # A lone surrogate always needs an escape.
        return (text + (line[len(line.rstrip("\r\n")) :] or "\n")).encode(errors="backslashreplace")

    def _rows(self, columns: list[str]) -> Iterator[list[tuple[bool, Any]]]:
        for number, record in self._records():
            if number in self.bad:
                continue
            try:
                row = self.fields(record, [*self.columns, *columns])
                for _, value in row[: len(self.columns)]:
                    if value is not None and not isinstance(value, str):
                        raise TypeError(f"a text must be a string, not {type(value).__name__}")
            except (ValueError, TypeError, RecursionError) as error:
                if not self.skips:
                    kind = TypeError if isinstance(error, TypeError) else InvalidArgumentError
                    raise kind(f"{self.path}, line {number}: {error}") from error
                self.bad.add(number)
                continue
            yield row

    def check(self, columns: list[str]) -> bool:
        wanted = [column for column in columns if column not in self.columns]
        missing = set(range(len(self.columns) + len(wanted)))
        row = None
        for row in self._rows(wanted):
            missing -= {at for at in missing if row[at][0]}
            if not missing:
                return True
        if row is None:
            return False
        names = ", ".join(next(self.names(record) for _, record in self.records()))
        column = [*self.columns, *wanted][min(missing)]
        raise InvalidArgumentError(f"{self.path}: no row has a column {column!r}; those of the first row are {names}")

    def values(self, column: str) -> Iterator[Any]:
        return (row[-1][1] for row in self._rows([column]))

    def texts(self, id_column: str | None) -> Iterator[tuple[Any, Iterable[Any]]]:
        self.with_text = self.read = 0
        rows = self._rows([] if id_column is None else [id_column])
        while some := list(itertools.islice(rows, _BATCH)):
            texts = [_joined([value for _, value in row[: len(self.columns)]]) for row in some]
            self.with_text += sum(text is not None for text in texts)
            self.read += len(texts)
            yield texts, [row[-1][1] for row in some] if id_column is not None else ()

    def text(self, record: bytes) -> str | None:
        """Returns the text of a row."""
        return _joined([value for _, value in self.fields(record, self.columns)])

    def head(self) -> bytes:
        """Returns what stands before the first row."""
        return b""


class Csv(Lines):
    """Rows of values that are separated by commas or tabs, after a row with the names of the columns."""

    def _delimiter(self) -> str:
        return delimiter_of(self.path)

    def _records(self) -> Iterator[tuple[int, bytes]]:
        return itertools.islice(self._all(), 1, None)

    def head(self) -> bytes:
        return next((record for _, record in self._all()), b"")

    def _all(self) -> Iterator[tuple[int, bytes]]:
        # A text may be long. The limit is one of the process.
        csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
        taken: list[bytes] = []

        def lines(stream: Any) -> Iterator[str]:
            for line in io.BufferedReader(stream, 1 << 20):
                taken.append(line)
                yield line.decode()

        with named(self.path), opened(self.place) as stream:
            reader, number = csv.reader(lines(stream), delimiter=self._delimiter(), strict=True), 1
            try:
                for values in reader:
                    if values:
                        yield number, b"".join(taken)
                    number += len(taken)
                    taken.clear()
            except (csv.Error, UnicodeDecodeError) as error:
                raise InvalidArgumentError(f"{self.path}, line {number}: {error}") from error

    def _values(self, record: bytes) -> list[str]:
        text = record.decode().removeprefix("\ufeff")
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter(), strict=True))

    def names(self, record: bytes) -> list[str]:
        return self._header

    @functools.cached_property
    def _header(self) -> list[str]:
        head = self.head()
        return self._values(head) if head else []

    def fields(self, record: bytes, columns: list[str]) -> list[tuple[bool, Any]]:
        names, values = self._header, self._values(record)
        if len(values) != len(names):
            raise InvalidArgumentError(f"{len(values)} values for {len(names)} columns")
        of = dict(zip(names, values))
        return [(column in of, of.get(column) or None) for column in columns]

    def changed(self, record: bytes, values: dict[str, Any]) -> bytes:
        text = record.decode()
        content = text.rstrip("\r\n")
        end = text[len(content) :] or "\n"
        spans, names = list(_csv_spans(content, self._delimiter())), self._header
        for name, value in reversed(list(values.items())):
            if name in names:
                first, last = spans[names.index(name)]
                content = content[:first] + self._quoted(value, content[first : first + 1]) + content[last:]
                spans = list(_csv_spans(content, self._delimiter()))
        for name, value in values.items():
            if name not in names:
                content += self._delimiter() + self._quoted(value, "")
        return (content + end).encode()

    def check(self, columns: list[str]) -> bool:
        repeated = {name for name in self._header if self._header.count(name) > 1}
        if repeated:
            raise InvalidArgumentError(f"{self.path}: several columns have the name {', '.join(sorted(repeated))}")
        missing = [column for column in columns if column not in self._header]
        if missing and self._header:
            names = ", ".join(self._header)
            raise InvalidArgumentError(f"{self.path} has no column {missing[0]!r}; its columns are {names}")
        return bool(self._header)

    def renamed(self, added: Iterable[str]) -> bytes:
        """Returns the row with the names, with those of added columns."""
        head = self.head()
        return self.changed(head, {name: name for name in added if name not in self._header}) if head else head

    def _quoted(self, value: Any, first: str) -> str:
        text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
        if first == '"' or any(it in text for it in ('"', self._delimiter(), "\r", "\n")):
            return '"' + text.replace('"', '""') + '"'
        return text


def delimiter_of(path: str) -> str:
    """Returns what separates the values of a file."""
    return "\t" if ".tsv" in path.lower()[-8:] else ","


_FORMATS: dict[str, type[File]] = {
    ".parquet": Parquet,
    ".pq": Parquet,
    ".jsonl": Lines,
    ".ndjson": Lines,
    ".json": Lines,
    ".csv": Csv,
    ".tsv": Csv,
}
ENDINGS = ".parquet, .jsonl, .ndjson, .json, .csv, .tsv, and all but the first with .gz, .zst, .bz2 or .xz"


def format_of(name: str) -> type[File] | None:
    """Returns the format that the ending of a name says, in small letters or capitals."""
    path = PurePosixPath(name.lower())
    if path.suffix in _COMPRESSIONS:
        found = _FORMATS.get(PurePosixPath(path.stem).suffix)
        return None if found is Parquet else found
    return _FORMATS.get(path.suffix)


def compression_of(path: str) -> str | None:
    return _COMPRESSIONS.get(PurePosixPath(path.lower()).suffix)


def file_of(place: Place, name: str, columns: list[str], skips: bool) -> File:
    """Returns a file. If its name has no ending, as Hadoop's have none, its first bytes tell the format."""
    found = format_of(name)
    if found is None and not PurePosixPath(name).suffix:
        with named(place.path), place.system.open_input_stream(place.path, compression=None) as stream:
            first = stream.read(4)
        found = Parquet if first == b"PAR1" else Lines if first.lstrip()[:1] in (b"{", b"") else None
    if found is None:
        message = f"{place.path}: it is not known what is in this file; expected {ENDINGS}; or choose files by a pattern"
        raise InvalidArgumentError(message)
    return found(place, name, columns, skips)


@contextlib.contextmanager
def opened(place: Place) -> Iterator[Any]:
    """Yields what is in a file, which may be compressed."""
    compression = compression_of(place.path)
    known = None if compression == "xz" else compression
    with place.system.open_input_stream(place.path, compression=known, buffer_size=1 << 20) as stream:
        if compression != "xz":
            yield stream
            return
        try:
            with lzma.open(stream) as decompressed:
                yield decompressed
        except (lzma.LZMAError, EOFError) as error:
            raise OSError(f"{place.path}: {error}") from error


def parts_of(column: str, names: Any) -> list[str]:
    """Returns the names of the fields that lead to a column."""
    return [column] if column in names else column.split(".")


def _field(value: Any, parts: list[str]) -> tuple[bool, Any]:
    has = True
    for name in parts:
        has = has and isinstance(value, dict) and name in value
        value = value[name] if has else None
    return has, value


def _joined(texts: list[Any]) -> str | None:
    known = [text for text in texts if text is not None]
    return "\n".join(known) if known else None


def _spans(text: str, begin: int) -> Iterator[tuple[str, int, int]]:
    """Yields the fields of an object of JSON: each name, and where its value begins and ends."""
    if text[begin] != "{":
        return
    at = _after_space(text, begin + 1)
    while text[at] == '"':
        name, at = scanstring(text, at + 1, True)
        at = _after_space(text, _after_space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield name, at, end
        at = _after_space(text, _after_space(text, end) + 1)
        if at >= len(text):
            return


def _after_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _encoded(value: Any, like: str) -> str:
    """Encodes a value as JSON, with escapes if a line has no other characters than those of ASCII."""
    return json.dumps(value, ensure_ascii=like.isascii())


def _csv_spans(text: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Yields where each value of a row begins and ends."""
    at = 0
    while True:
        begin = at
        if text[at : at + 1] == '"':
            at = text.index('"', at + 1)
            while text[at + 1 : at + 2] == '"':
                at = text.index('"', at + 2)
            at += 1
        else:
            found = text.find(delimiter, at)
            at = len(text) if found < 0 else found
        yield begin, at
        if at >= len(text):
            return
        at += 1


def is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


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
    if any(column.null_count for column in columns):
        # Arrow 26 leaves out rows without any text.
        texts = zip(*(column.to_pylist() for column in columns))
        return pa.array([_joined(list(row)) for row in texts], pa.large_string())
    columns = [column.cast(pa.large_string()) for column in columns]
    return pc.binary_join_element_wise(*columns, pa.scalar("\n", pa.large_string()))


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


def unified(files: list[File]) -> Any:
    """Returns a schema for the rows of all files."""
    import pyarrow as pa

    schemas = [file.schema() for file in files if isinstance(file, Parquet)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        message = f"the columns of the sources do not fit each other: {error}; choose a folder as target"
        raise InvalidArgumentError(message) from error
