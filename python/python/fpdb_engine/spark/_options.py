"""What counts as near: a distance or a similarity."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fpdb_engine import Db, InvalidArgumentError

DISTANCE = 3
"""The distance if neither that nor a similarity is given."""

Options = dict[str, Any]


def options_for(
    bits: int,
    distance: int | None,
    similarity: float | None,
    recall: float | None,
    expected_entries: Callable[[], int],
    recipe: str | None = None,
) -> Options:
    """Returns the options with which all tasks create their databases. Refuses impossible ones, before a task
    begins.

    The rule by similarity is chosen for an expected number of entries. So that it is the same in all databases,
    that is the number of all rows.
    """
    found: Options = {"bits": bits, "recall": recall, "recipe": recipe}
    if similarity is None:
        found["max_distance"] = whole(DISTANCE if distance is None else distance)
    elif bits != 128:
        raise InvalidArgumentError(
            f"similarity {similarity} needs fingerprints of 128 bits: fingerprint(df, text_column, bits=128) makes "
            "them"
        )
    elif distance is None:
        found["similarity"] = similarity
        found["expected_entries"] = max(expected_entries(), 1)
    else:
        raise InvalidArgumentError(
            f"both distance {distance} and similarity {similarity}: give one of them"
        )
    with tempfile.TemporaryDirectory(prefix="fpdb-options-") as folder:
        Db.create(Path(folder) / "db", background=False, **found).close()
    return found


def whole(distance: int) -> int:
    """Returns a distance, if it is one."""
    if not hasattr(distance, "__index__"):
        raise InvalidArgumentError(
            f"distance {distance!r}: expected a number of bits; a similarity is given as similarity={distance!r}"
        )
    return int(distance)
