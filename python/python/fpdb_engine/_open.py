"""Opens a database by mode, as dbm does."""

from __future__ import annotations

import os
from typing import Any, Literal, overload

from ._errors import InvalidArgumentError
from ._native import Db, ReadOnlyDb

Path = str | os.PathLike[str]


@overload
def open(path: Path, mode: Literal["r"] = "r", **options: Any) -> ReadOnlyDb: ...
@overload
def open(path: Path, mode: Literal["r+", "c", "n"], **options: Any) -> Db: ...
def open(path: Path, mode: str = "r", **options: Any) -> Db | ReadOnlyDb:
    """Opens a database.

    "r" opens it for reading only, and "r+" for reading and writing. "c" creates it if there is none.
    "n" creates it, and fails if there is anything at the path: nothing is ever overwritten. The
    options are those of Db.create(), Db.open() and ReadOnlyDb.open().

    >>> path = folder / "crawl.fpdb"
    >>> with open(path, "c", max_distance=6) as db:
    ...     _ = db.insert(0x2C2A1290908A898A, 1)
    >>> with open(path) as db:
    ...     db.query(0x2C2A1290908A898A)
    [Match(distance=0, fingerprint=0x2c2a1290908a898a, id=1)]
    """
    openers: dict[str, Any] = {
        "r": ReadOnlyDb.open,
        "r+": Db.open,
        "c": Db.open_or_create,
        "n": Db.create,
    }
    if mode not in openers:
        raise InvalidArgumentError(f"mode {mode!r}: expected 'r', 'r+', 'c' or 'n'")
    db: Db | ReadOnlyDb = openers[mode](path, **options)
    return db
