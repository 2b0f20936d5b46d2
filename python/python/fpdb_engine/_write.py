"""Writes rows of files to others."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from ._errors import InvalidArgumentError
from ._passages import Passages
from ._read import LINES, PARQUET, File, Parquet, PathLike, column_of, file_of, joined, parts_of, system_of, unified
from ._report import Deduplicated, excerpts

# A row group that is written has at most about these bytes.
_GROUP_BYTES = 64 << 20


@dataclasses.dataclass
class Target:
    system: Any
    path: str
    is_file: bool

    def of(self, file: File) -> str:
        """Returns where the rows of a file go."""
        return self.path if self.is_file else f"{self.path}/{file.name}"


def target_of(files: list[File], target: PathLike) -> Target:
    """Checks where rows are to be written before any work is done."""
    system, path = system_of(target)
    found = Target(system, path, path.endswith(PARQUET + LINES) and not os.path.isdir(path))
    kinds = {type(file) for file in files}
    if found.is_file and kinds != {type(file_of(system, path, path))}:
        raise InvalidArgumentError(f"target: {path} has another format than the sources; choose a folder")
    paths = [found.of(file) for file in files]
    for file, own in zip(files, paths):
        if own == file.path or not found.is_file and paths.count(own) > 1:
            what = "is one of the sources" if own == file.path else "would be written twice"
            raise InvalidArgumentError(f"target: {own} {what}; choose another folder")
    if found.is_file and kinds == {Parquet}:
        unified(files)
    for folder in sorted({str(PurePosixPath(own).parent) for own in paths}):
        system.create_dir(folder, recursive=True)
        probe = f"{folder}/.fpdb-{os.getpid()}"
        with system.open_output_stream(probe):
            pass
        system.delete_file(probe)
    return found


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


class Writer:
    """Writes the rows of files."""

    def __init__(
        self,
        files: list[File],
        target: Target,
        columns: list[str],
        found: Deduplicated,
        annotate: bool,
        passages: str | None,
    ) -> None:
        self._files, self._target, self._columns = files, target, columns
        self._found, self._annotate = found, annotate
        self._is_marked = passages == "mark"
        self._passages: Passages | None = found.passages if passages == "cut" else None
        # The texts of examples, by row.
        rows = [row for it in found.shown for row in (it.row, it.of) if isinstance(row, int)]
        self._texts: dict[int, str | None] = dict.fromkeys(sorted(rows))
        self._begin = 0

    def write(self) -> None:
        groups = [self._files] if self._target.is_file else [[file] for file in self._files]
        for files in groups:
            with _appearing(self._target.system, self._target.of(files[0])) as stream:
                if isinstance(files[0], Parquet):
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
            if self._passages is not None and len(self._passages.spans(row)):
                line = self._cut_line(row, file, number, line)
            if not self._annotate and not self._found.keep[row]:
                continue
            line = line if line.endswith(b"\n") else line + b"\n"
            added = {name: value for name, (value,) in self._added(row, row + 1).items()}
            if added:
                content = line.rstrip()[:-1]
                comma = b"" if content.rstrip().endswith(b"{") else b", "
                line = content + comma + json.dumps(added)[1:].encode() + b"\n"
            stream.write(line)

    def _write_parquet(self, files: list[Any], stream: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        source = files[0].schema() if len(files) == 1 else unified(files)
        place = pa.struct({"begin": pa.int64(), "end": pa.int64(), "source": pa.int64()})
        types = {
            "fpdb_keep": pa.bool_(),
            "fpdb_duplicate_of": pa.int64(),
            "fpdb_earlier": pa.string(),
            "fpdb_similarity": pa.float32(),
            "fpdb_passages": pa.list_(place),
        }
        added = [pa.field(name, types[name]) for name in self._added(0, 0)]
        schema = pa.schema([*source, *added], source.metadata)
        has_views = any("view" in str(field.type) for field in schema)
        with pq.ParquetWriter(stream, schema, compression=files[0].compression() or "snappy") as writer:
            for file in files:
                for group in file.groups():
                    kept: list[Any] = []
                    for batch in group:
                        begin, self._begin = self._begin, self._begin + batch.num_rows
                        self._note(file, batch, begin)
                        if self._passages is not None:
                            batch = self._cut_batch(batch, begin)
                        columns = [_cast(batch, field) for field in source]
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

    def _cut(self, row: int, text: str) -> str:
        """Returns a text without its passages. Drops the row if nothing is left."""
        assert self._passages is not None, "texts are cut only if there are passages"
        text = self._passages.cut(row, text)
        self._found.keep[row] &= bool(text.strip())
        return text

    def _cut_line(self, row: int, file: Any, number: int, line: bytes) -> bytes:
        value = json.loads(line)
        *outer, name = parts_of(self._columns[0], value)
        of = value
        for part in outer:
            of = of[part]
        of[name] = self._cut(row, of[name])
        # With escapes as in the line; a lone surrogate always needs one.
        text = json.dumps(value, ensure_ascii=line.isascii())
        return text.encode(errors="backslashreplace") + b"\n"

    def _cut_batch(self, batch: Any, begin: int) -> Any:
        """Returns a batch with texts that are cut."""
        import pyarrow as pa

        assert self._passages is not None, "texts are cut only if there are passages"
        parts = parts_of(self._columns[0], batch.schema.names)
        of, end = self._passages.row, begin + batch.num_rows
        rows = np.unique(of[(of >= begin) & (of < end)])
        if not len(rows):
            return batch
        column = column_of(batch, parts)
        texts = column.to_pylist()
        for row in rows.tolist():
            texts[row - begin] = self._cut(row, texts[row - begin])
        return _with(batch, parts, pa.array(texts, pa.large_string()).cast(column.type))

    def _note(self, file: Any, batch: Any, begin: int) -> None:
        """Notes the texts of examples."""
        for row in self._texts:
            if begin <= row < begin + batch.num_rows:
                some = batch.slice(row - begin, 1)
                names = batch.schema.names
                values = joined([column_of(some, parts_of(column, names)) for column in self._columns])
                self._texts[row] = values[0].as_py()

    def _added(self, begin: int, end: int) -> dict[str, list[Any]]:
        """Returns the columns that are added, for some rows."""
        found = self._found
        columns: dict[str, list[Any]] = {}
        if self._annotate:
            of = found.duplicate_of[begin:end].tolist()
            similarity = found.similarity[begin:end].tolist()
            columns = {
                "fpdb_keep": found.keep[begin:end].tolist(),
                "fpdb_duplicate_of": [None if it < 0 else it for it in of],
                "fpdb_earlier": [found.earlier.get(row) for row in range(begin, end)],
                "fpdb_similarity": [None if it != it else it for it in similarity],
            }
        if self._is_marked and found.passages is not None:
            spans = map(found.passages.spans, range(begin, end))
            names = ("begin", "end", "source")
            columns["fpdb_passages"] = [[{name: getattr(it, name) for name in names} for it in some] for some in spans]
        return columns


def _with(batch: Any, parts: list[str], values: Any) -> Any:
    """Returns a batch, or an array of structs, with other values of a column or a field of it."""
    import pyarrow as pa

    first, *rest = parts
    if isinstance(batch, pa.RecordBatch):
        place = batch.schema.get_field_index(first)
        inner = _with(batch.column(place), rest, values) if rest else values
        return batch.set_column(place, batch.schema.field(place), inner)
    fields = list(batch.type)
    arrays = batch.flatten()
    place = batch.type.get_field_index(first)
    arrays[place] = _with(arrays[place], rest, values) if rest else values
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=batch.is_null())


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
