"""A stored corpus: a folder with one database per part, and a file that names them."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import NamedTuple

from fpdb_engine import AlreadyExistsError, CorruptionError, NotFoundError, ReadOnlyDb

LIST = "fpdb-parts.json"
SCHEMA = "fpdb.parts/1"


class Part(NamedTuple):
    """One database of a stored corpus."""

    path: str
    entries: int


def parts(path: str | os.PathLike[str]) -> list[Part]:
    """Returns the databases that build() committed to a folder. A folder that is a database itself is
    the only part, with an unknown number of entries, which is -1."""
    folder = Path(path).absolute()
    try:
        text = (folder / LIST).read_text()
    except FileNotFoundError:
        if any(folder.glob("MANIFEST*")):
            return [Part(str(folder), -1)]
        raise NotFoundError(f"{folder} has no {LIST}, and is not a database") from None
    try:
        content = json.loads(text)
        if content["schema"] != SCHEMA:
            raise CorruptionError(f"{folder / LIST}: unknown schema {content['schema']!r}")
        return [Part(str(folder / p["folder"]), int(p["entries"])) for p in content["parts"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptionError(f"{folder / LIST}: {error!r}") from error


def bits_of_parts(stored: list[Part]) -> int | None:
    """Returns how many bits the fingerprints of databases have, if there are any databases."""
    for part in stored[:1]:
        with ReadOnlyDb.open(part.path, threads=1) as db:
            return db.bits
    return None


def move(database: Path, to: Path) -> None:
    """Moves a closed database, perhaps to another file system, and makes it durable."""
    try:
        database.rename(to)
    except OSError:
        shutil.copytree(database, to)
        for file in to.iterdir():
            _sync(file)
        _sync(to)


def commit(path: Path, written: list[Part]) -> None:
    """Writes the list of parts. A reader sees either none of them or all."""
    listed = [{"folder": Path(p.path).name, "entries": p.entries} for p in sorted(written)]
    temporary = path / f"{LIST}.{uuid.uuid4().hex}"
    temporary.write_text(json.dumps({"schema": SCHEMA, "parts": listed}, indent=1))
    _sync(temporary)
    try:
        # Fails if there is a list by now. A rename would replace it.
        os.link(temporary, path / LIST)
    except FileExistsError:
        raise AlreadyExistsError(f"another build has finished in {path}") from None
    finally:
        temporary.unlink()
    _sync(path)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
