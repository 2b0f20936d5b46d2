"""Databases that are created for a Jaccard similarity."""

from __future__ import annotations

import random
from pathlib import Path

import fpdb_engine as fpdb
import pytest


def near(fingerprint: int, errors: int, seed: int = 0) -> int:
    for bit in random.Random(seed).sample(range(128), errors):
        fingerprint ^= 1 << bit
    return fingerprint


def test_a_similarity_chooses_width_and_distance_and_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with fpdb.Db.create(path, similarity=0.8, recall=0.9) as db:
        assert (db.bits, db.similarity, db.recall) == (128, 0.8, 0.9)
        assert 12 < db.max_distance <= 24
    with fpdb.Db.open_or_create(path, similarity=0.8, recall=0.9, expected_entries=5) as db:
        assert db.similarity == 0.8
    with pytest.raises(fpdb.InvalidArgumentError, match="similarity at least 0.8"):
        fpdb.Db.open(path, similarity=0.9)
    with fpdb.Db.create(tmp_path / "distance") as db:
        assert (db.bits, db.similarity, db.recall) == (64, None, None)


def test_every_search_uses_the_rule_unless_a_distance_is_given(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", similarity=0.8) as db:
        documents = [near(0, errors) for errors in range(30)]
        novel, _, distances, _ = db.write(documents, range(30), unless_near="rule")
        assert bool(novel[0]) and not novel[5] and int(distances[5]) == 5
        assert novel[db.max_distance + 1 :].any()
        assert [match.distance for match in db.query(near(0, 3))][:1] == [3]
        assert len(db.query(near(0, 3), 2)) == 0
        assert db.insert_if_novel(near(0, 4, seed=1), 99).kind == "duplicate"
        offsets, ids, _ = db.query_batch([0, 1 << 127])
        assert list(offsets)[0] == 0 and int(ids[0]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": 0.3}, "expected 0.5 to 1"),
        ({"similarity": 0.8, "recall": 1.0}, "expected 0.5 to 0.999"),
        ({"recall": 0.9}, "without a similarity"),
        ({"similarity": 0.8, "bits": 64}, "use 128 bits"),
        ({"similarity": 0.8, "max_distance": 3}, "chooses its own distance"),
    ],
)
def test_similarities_that_cannot_be_found_are_refused(
    tmp_path: Path, options: dict[str, float], message: str
) -> None:
    with pytest.raises(fpdb.InvalidArgumentError, match=message):
        fpdb.Db.create(tmp_path / "db", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "db").exists()


def test_an_unknown_condition_is_refused(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", similarity=0.8) as db:
        with pytest.raises(TypeError, match='not str, unless it is "rule"'):
            db.write([1], [1], unless_near="rules")  # type: ignore[arg-type]
