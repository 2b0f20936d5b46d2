"""Stores a corpus as databases, one per task."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from fpdb_engine import AlreadyExistsError, Db

from ._arrow import columns, entries
from ._parts import LIST, Part, commit, move


def build(
    df: DataFrame,
    path: str | os.PathLike[str],
    segments: int,
    *,
    max_distance: int = 3,
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

    A task takes 32 bytes of memory per entry, and bulk_memory bytes.
    """
    rows = entries(df, fingerprint_column, id_column).repartition(segments)
    folder = Path(path).absolute()
    if (folder / LIST).exists():
        raise AlreadyExistsError(f"{folder} has been built already")
    folder.mkdir(parents=True, exist_ok=True)
    _remove_others(folder, [])
    options: dict[str, Any] = {"max_distance": max_distance, "recipe": recipe}
    if bulk_memory is not None:
        options["bulk_memory"] = bulk_memory

    def write(batches: Iterable[Any]) -> Iterator[Any]:
        for fingerprints, ids in columns(batches):
            part = folder / f"part-{uuid.uuid4().hex}.fpdb"
            expected = max(len(ids), 1)
            with tempfile.TemporaryDirectory(prefix="fpdb-build-") as temporary:
                local = Path(temporary) / "db"
                with Db.create(
                    local, threads=1, background=False, expected_entries=expected, **options
                ) as db:
                    written = db.bulk_load(fingerprints, ids).inserted
                move(local, part)
            yield pa.record_batch({"path": [str(part)], "entries": [written]})

    written = rows.mapInArrow(write, "path string, entries long").collect()
    committed = [Part(row["path"], row["entries"]) for row in written]
    commit(folder, committed)
    _remove_others(folder, committed)
    return sorted(committed)


def _remove_others(folder: Path, committed: list[Part]) -> None:
    """Removes what attempts wrote whose result was not used."""
    used = {part.path for part in committed}
    for part in folder.glob("part-*.fpdb"):
        if str(part) not in used:
            shutil.rmtree(part, ignore_errors=True)
