"""Opens pickled handles again."""

from __future__ import annotations

from typing import Any

from ._native import ReadOnlyDb


def reopen(path: str, options: dict[str, Any]) -> ReadOnlyDb:
    """Opens the database of a pickled handle, for reading only."""
    return ReadOnlyDb.open(path, **options)
