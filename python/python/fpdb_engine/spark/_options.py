"""What counts as near: a distance or a similarity."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fpdb_engine import Db, InvalidArgumentError, MatchRule

from ._arrow import SKETCH

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
    elif bits != SKETCH:
        raise InvalidArgumentError(
            f"similarity {similarity} needs sketches: fingerprint(df, text_column, bits={SKETCH}) makes them"
        )
    elif distance is None:
        found["similarity"] = similarity
        found["expected_entries"] = max(expected_entries(), 1)
    else:
        raise InvalidArgumentError(
            f"both distance {distance} and similarity {similarity}: give one of them"
        )
    with _database(found):
        return found


def rule_of(options: Options) -> MatchRule:
    """Returns the rule of databases with these options, which are for a similarity."""
    with _database(options) as db:
        assert db.match_rule is not None, "they are for a similarity"
        return db.match_rule


@contextmanager
def _database(options: Options) -> Iterator[Db]:
    with tempfile.TemporaryDirectory(prefix="fpdb-options-") as folder:
        with Db.create(Path(folder) / "db", background=False, **options) as db:
            yield db


def whole(distance: int) -> int:
    """Returns a distance, if it is one."""
    if not hasattr(distance, "__index__"):
        raise InvalidArgumentError(
            f"distance {distance!r}: expected a number of bits; a similarity is given as similarity={distance!r}"
        )
    return int(distance)
