"""Stores a corpus as databases, one per task."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from fpdb_engine import AlreadyExistsError, Db

from ._arrow import SKETCH, as_given, bits_of, columns, entries
from ._options import Options, options_for
from ._parts import LIST, Part, commit, move

ROWS = 1 << 16
"""Sketches that are written at a time."""


def build(
    df: DataFrame,
    path: str | os.PathLike[str],
    segments: int,
    *,
    max_distance: int | None = None,
    similarity: float | None = None,
    recall: float | None = None,
    expected_entries: int | None = None,
    recipe: str | None = None,
    fingerprint_column: str = "fingerprint",
    id_column: str = "id",
    bulk_memory: int | None = None,
) -> list[Part]:
    """Stores the entries of all rows with a fingerprint in a new folder: one database per task, and a
    file that lists them.

    Every worker must see the folder at the same path; it may be on a network file system. Each attempt of
    a task writes a database in the folder for temporary files, because the engine writes to local file
    systems only. Then it moves the database to a new name, and returns the name. Only those of
    successful attempts are listed, at the end and at once, so retries and speculative attempts do no
    harm. A build that failed leaves databases that no list names; the next build into the same path
    removes them. Only one build may write to a path at the same time.

    The databases are for a distance of at most max_distance bits, 3 by default; or for a Jaccard similarity and
    a recall, as in Db.create(), with sketches, of which each must have an id of its own. Their rule is chosen for expected_entries in all
    databases together, by default the number of rows, which takes another job to count. To get the same rule for
    later crawls, give the same number.

    A task takes 32 bytes of memory per entry, 48 with fingerprints of 128 bits, and bulk_memory bytes. With
    sketches it takes 400 MB, however many there are.
    """
    bits = bits_of(df, fingerprint_column, 128 if similarity is None else SKETCH)
    rows = entries(df, fingerprint_column, id_column, bits)
    folder = Path(path).absolute()
    if (folder / LIST).exists():
        raise AlreadyExistsError(f"{folder} has been built already")
    count = rows.count if expected_entries is None else partial(int, expected_entries)
    options = options_for(bits, max_distance, similarity, recall, count, recipe=recipe)
    folder.mkdir(parents=True, exist_ok=True)
    _remove_others(folder, [])
    if bulk_memory is not None:
        options["bulk_memory"] = bulk_memory

    def write(batches: Iterable[Any]) -> Iterator[Any]:
        with tempfile.TemporaryDirectory(prefix="fpdb-build-") as temporary:
            local = Path(temporary) / "db"
            written = (_write_sketches if bits == SKETCH else _load)(local, options, batches)
            if written:
                part = folder / f"part-{uuid.uuid4().hex}.fpdb"
                move(local, part)
                yield pa.record_batch({"path": [str(part)], "entries": [written]})

    written = rows.repartition(segments).mapInArrow(write, "path string, entries long").collect()
    committed = [Part(row["path"], row["entries"]) for row in written]
    commit(folder, committed)
    _remove_others(folder, committed)
    return sorted(committed)


def _load(path: Path, options: Options, batches: Iterable[Any]) -> int:
    """Loads all rows into a new database, if there are any, and returns their number."""
    for fingerprints, ids in columns(batches, options["bits"]):
        settings = {"expected_entries": max(len(ids), 1), **options}
        with Db.create(path, threads=1, background=False, **settings) as db:
            return db.bulk_load(fingerprints, ids).inserted
    return 0


def _write_sketches(path: Path, options: Options, batches: Iterable[Any]) -> int:
    """Does the same with sketches, which belong to documents and cannot be loaded in bulk."""
    with Db.create(path, threads=1, background=False, durability="buffered", **options) as db:
        for sketches, ids in columns(batches, SKETCH, ROWS):
            db.write(as_given(sketches), ids)
        db.compact()
        return len(db)


def _remove_others(folder: Path, committed: list[Part]) -> None:
    """Removes what attempts wrote whose result was not used."""
    used = {part.path for part in committed}
    for part in folder.glob("part-*.fpdb"):
        if str(part) not in used:
            shutil.rmtree(part, ignore_errors=True)
