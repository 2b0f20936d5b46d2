"""Writes rows of files to others."""

from __future__ import annotations

import contextlib
import dataclasses
import lzma
import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from ._errors import InvalidArgumentError
from ._passages import Passages, Span
from ._paths import PathLike, Place, Sources, place_of
from ._report import Deduplicated, Quoting, excerpts, quoting
from ._rows import ENDINGS, Csv, File, Parquet, column_of, compression_of, delimiter_of, format_of, joined, parts_of, unified

# A row group that is written has at most about these bytes.
_GROUP_BYTES = 64 << 20


@dataclasses.dataclass
class Target:
    place: Place
    is_file: bool

    def of(self, file: File) -> Place:
        """Returns where the rows of a file go."""
        return self.place if self.is_file else self.place.file(file.name)


def target_of(sources: Sources, files: list[File], target: PathLike) -> Target:
    """Checks where rows are to be written before any work is done."""
    place = place_of(target)
    about = place.system.get_file_info(place.path)
    is_folder = about.type.name == "Directory" or os.fspath(target).endswith(("/", os.sep))
    kind = None if is_folder else format_of(place.path)
    if not is_folder and kind is None and (PurePosixPath(place.path).suffix or about.is_file):
        raise InvalidArgumentError(
            f"target: {place.path} has an ending that is not known; expected {ENDINGS}, or a folder, whose name ends "
            "with a slash"
        )
    found = Target(place, kind is not None)
    kinds = {type(file) for file in files}
    if kind is not None and kinds != {kind}:
        raise InvalidArgumentError(f"target: {place.path} has another format than the sources; choose a folder")
    if kind is Csv and len({delimiter_of(path) for path in (place.path, *(file.path for file in files))}) > 1:
        raise InvalidArgumentError(f"target: {place.path}: commas and tabs are not mixed; choose a folder")
    places = [found.of(file) for file in files]
    sources.check_targets(places)
    paths = [it.path for it in places]
    twice = next((path for path in paths if paths.count(path) > 1), None) if len(set(paths)) < len(paths) else None
    if twice is not None and not found.is_file:
        raise InvalidArgumentError(f"target: {twice} would be written twice; choose another folder")
    if found.is_file and kind is Parquet:
        unified(files)
    # An empty file has no names.
    headers = {tuple(file.names(b"")) for file in files if isinstance(file, Csv)} - {()}
    if found.is_file and len(headers) > 1:
        raise InvalidArgumentError("the columns of the sources do not fit each other; choose a folder as target")
    for folder in sorted({str(PurePosixPath(path).parent) for path in paths}):
        place.system.create_dir(folder, recursive=True)
        probe = f"{folder}/.fpdb-{os.getpid()}"
        with place.system.open_output_stream(probe):
            pass
        place.system.delete_file(probe)
    return found


@contextlib.contextmanager
def _nowhere() -> Iterator[Any]:
    """Yields a stream for what is not written."""
    import pyarrow as pa

    yield pa.MockOutputStream()


@contextlib.contextmanager
def _appearing(place: Place) -> Iterator[Any]:
    """Yields a stream for a file that appears when it is complete: on a disk by renaming, and on other file systems by
    itself."""
    from pyarrow import fs

    system, path = place.system, place.path
    is_local = isinstance(system, fs.LocalFileSystem)
    parent, name = os.path.split(path)
    written = f"{parent}/.{name}.unfinished" if is_local else path
    try:
        # The name of the target decides about its compression.
        compression = compression_of(name)
        with contextlib.ExitStack() as stack:
            known = None if compression == "xz" else compression
            stream = stack.enter_context(system.open_output_stream(written, compression=known))
            yield stack.enter_context(lzma.open(stream, "wb")) if compression == "xz" else stream
        if is_local:
            os.replace(written, path)
    except BaseException:
        with contextlib.suppress(OSError):
            system.delete_file(written)
        raise


@dataclasses.dataclass(frozen=True)
class Written:
    """What is written of what was found."""

    annotate: bool
    """Whether all rows are written, with more columns."""
    passages: str | None
    """What becomes of passages: "mark", "cut" or "drop"."""
    name: str
    """The name of the column with marked passages."""

    def rows(self, found: Deduplicated) -> set[int]:
        """Returns the rows that others are said to be like, and those of examples."""
        rows = {row for it in found.shown for row in (it.row, it.of) if isinstance(row, int)}
        if self.annotate:
            rows |= set(np.unique(found.duplicate_of[found.duplicate_of >= 0]).tolist())
        if self.passages == "mark" and found.passages is not None:
            earlier = found.passages.earlier
            rows |= {row - earlier for row in np.unique(found.passages.source).tolist() if row >= earlier}
        return rows

    def earlier_rows(self, found: Deduplicated) -> set[int]:
        """Returns the rows of earlier texts that are said to have passages."""
        if self.passages != "mark" or found.passages is None:
            return set()
        return {row for row in np.unique(found.passages.source).tolist() if row < found.passages.earlier}


class Writer:
    """Writes the rows of files."""

    def __init__(
        self,
        files: list[File],
        target: Target | None,
        found: Deduplicated,
        written: Written,
        ids: dict[int, str | None] | None,
        earlier: dict[int, str],
    ) -> None:
        self._files, self._target, self._ids, self._earlier = files, target, ids, earlier
        self._columns = files[0].columns
        self._found, self._written, self._annotate = found, written, written.annotate
        self._passages: Passages | None = found.passages if written.passages == "cut" else None
        # The texts of examples, by row.
        rows = [row for it in found.shown for row in (it.row, it.of) if isinstance(row, int)]
        self._quoting = quoting(found.passages) if found.passages is not None else []
        rows += self._quoting
        self._texts: dict[int, str | None] = dict.fromkeys(sorted(rows))
        self._begin = 0

    def write(self) -> None:
        target = self._target
        groups = [self._files] if target and target.is_file else [[file] for file in self._files]
        for files in groups:
            with _appearing(target.of(files[0])) if target else _nowhere() as stream:
                if isinstance(files[0], Parquet):
                    self._write_parquet(files, stream)
                else:
                    self._write_head(files, stream)
                    for file in files:
                        self._write_lines(file, stream)
        for place, it in enumerate(self._found.shown):
            other = self._texts[it.of] if isinstance(it.of, int) else it.other
            text, other = excerpts(self._texts[it.row], other)
            ids = self._ids or {}
            of_id = ids.get(it.of) if isinstance(it.of, int) else None
            self._found.shown[place] = it._replace(text=text, other=other, id=ids.get(it.row), of_id=of_id)
        if self._found.passages is not None:
            known = [(row, self._texts[row]) for row in self._quoting]
            spans, earlier = self._found.passages.spans, self._found.passages.earlier
            quoting = (Quoting(row, text, spans(row), earlier) for row, text in known if text is not None)
            self._found.quoting.extend(quoting)

    def _write_head(self, files: list[File], stream: Any) -> None:
        heads = (_ended(file.renamed(self._added(0, 0))) for file in files if isinstance(file, Csv))
        stream.write(next(filter(None, heads), b""))

    def _write_lines(self, file: Any, stream: Any) -> None:
        for _, record in file.records():
            # Only at the beginning of a file.
            record = record.removeprefix(b"\xef\xbb\xbf") if self._begin else record
            row, self._begin = self._begin, self._begin + 1
            if row in self._texts:
                self._texts[row] = file.text(record)
            changes: dict[str, Any] = {}
            if self._passages is not None and len(self._passages.spans(row)):
                before = file.text(record) or ""
                after = self._cut(row, before)
                changes = {} if after == before else {self._columns[0]: after}
            if not self._annotate and not self._found.keep[row]:
                continue
            changes |= {name: value for name, (value,) in self._added(row, row + 1).items()}
            has_ids = self._annotate and self._ids is None and (b"fpdb_duplicate_id" in record or isinstance(file, Csv))
            if has_ids and "fpdb_duplicate_id" in file.names(record):
                changes["fpdb_duplicate_id"] = None
            stream.write(_ended(file.changed(record, changes) if changes else record))

    def _write_parquet(self, files: list[Any], stream: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        source = files[0].schema() if len(files) == 1 else unified(files)
        fields = {"begin": pa.int64(), "end": pa.int64(), "source": pa.int64()}
        place = pa.struct(fields if self._ids is None else {**fields, "source_id": pa.string()})
        types = {
            "fpdb_keep": pa.bool_(),
            "fpdb_duplicate_of": pa.int64(),
            "fpdb_duplicate_id": pa.string(),
            "fpdb_earlier": pa.string(),
            "fpdb_similarity": pa.float32(),
            self._written.name: pa.list_(place),
        }
        added = [pa.field(name, types[name]) for name in self._added(0, 0)]
        # Columns of an earlier run are replaced.
        replaced = {field.name for field in added} | ({"fpdb_duplicate_id"} if self._annotate else set())
        source = pa.schema([field for field in source if field.name not in replaced], source.metadata)
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
        rows = [row for row in self._texts if begin <= row < begin + batch.num_rows]
        if rows:
            names = batch.schema.names
            values = joined([column_of(batch, parts_of(column, names)) for column in self._columns])
            self._texts |= {row: values[row - begin].as_py() for row in rows}

    def _added(self, begin: int, end: int) -> dict[str, list[Any]]:
        """Returns the columns that are added, for some rows."""
        found, ids = self._found, self._ids
        columns: dict[str, list[Any]] = {}
        if self._annotate:
            of = found.duplicate_of[begin:end].tolist()
            similarity = found.similarity[begin:end].tolist()
            columns = {
                "fpdb_keep": found.keep[begin:end].tolist(),
                "fpdb_duplicate_of": [None if it < 0 else it for it in of],
                **({} if ids is None else {"fpdb_duplicate_id": [ids.get(it) for it in of]}),
                "fpdb_earlier": [found.earlier.get(row) for row in range(begin, end)],
                "fpdb_similarity": [None if it != it else it for it in similarity],
            }
        if self._written.passages == "mark" and found.passages is not None:
            spans = map(found.passages.spans, range(begin, end))
            columns[self._written.name] = [[self._place(it) for it in some] for some in spans]
        return columns

    def _place(self, span: Span) -> dict[str, Any]:
        place: dict[str, Any] = {"begin": span.begin, "end": span.end, "source": None}
        earlier = self._found.passages.earlier if self._found.passages is not None else 0
        if span.source < earlier:
            return {**place, "source_id": self._earlier.get(span.source)}
        place["source"] = row = span.source - earlier
        return place if self._ids is None else {**place, "source_id": self._ids.get(row)}


def _ended(record: bytes) -> bytes:
    """Returns a row that ends with its line."""
    return record if record.endswith((b"\n", b"\r")) or not record else record + b"\n"


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
