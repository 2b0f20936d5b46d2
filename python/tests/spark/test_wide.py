"""The jobs with fingerprints of 128 bits, by distance and by similarity."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import fpdb_engine as fpdb
import numpy as np
import pytest
import truth

jobs = pytest.importorskip(
    "fpdb_engine.spark", reason="the Spark jobs: a package is missing", exc_type=ImportError
)
BY_SIMILARITY = {"similarity": 0.8, "recall": 0.9}
ROWS = 1_000_000
"""For so many rows, the rule is chosen."""


def mixed(rng: np.random.Generator) -> tuple[Any, Any]:
    """Returns fingerprints and ids: neighbours at each distance in each part of the bits, equal fingerprints, and
    some that differ only in the low half. Some ids are greater than the greatest signed number."""
    found = truth.planted(rng, 128, 21, 5) + truth.crowd(rng, 128, 60)
    found += found[:50] * 3
    ids = rng.permutation(len(found)).astype(np.uint64) * np.uint64(3)
    ids[::7] |= np.uint64(1 << 63)
    return truth.batch(found, 128), ids


def accepted(errors: Any, path: Path, options: dict[str, Any]) -> Any:
    """Returns the distance of each difference that makes a match, and 255 for the others. What makes a match
    depends on the difference alone, so a database with a single entry knows."""
    options = {"bits": 128, "expected_entries": ROWS, **options}
    with fpdb.Db.create(path, **options) as db:
        db.insert(0, 0)
        answers = db.query_batch(errors)
    found = np.full(len(errors), 255, np.uint8)
    found[np.diff(answers.offsets) > 0] = answers.distances
    return found


def compared(a: Any, b: Any, path: Path, options: dict[str, Any]) -> Any:
    """Compares each of some fingerprints with each of others."""
    errors = (a[:, None] ^ b[None, :]).reshape(-1, 2)
    return accepted(errors, path, options).reshape(len(a), len(b))


def expected_pairs(
    fingerprints: Any, ids: Any, path: Path, options: dict[str, Any]
) -> dict[tuple[int, int], int]:
    """Returns the pairs of the lowest ids of different fingerprints, and of these with those of equal ones."""
    groups: dict[tuple[int, int], list[int]] = {}
    for (high, low), id in zip(fingerprints.tolist(), ids.tolist()):
        groups.setdefault((high, low), []).append(id)
    found = {(min(group), id): 0 for group in groups.values() for id in group if id > min(group)}
    distinct = np.array(list(groups), np.uint64)
    lowest = [min(group) for group in groups.values()]
    distances = compared(distinct, distinct, path, options)
    for a, b in zip(*np.nonzero(distances < 255)):
        if lowest[a] < lowest[b]:
            found[lowest[a], lowest[b]] = int(distances[a, b])
    return found


def pairs_of(table: Any) -> dict[tuple[int, int], int]:
    columns = (corpus.unsigned(table, "a"), corpus.unsigned(table, "b"), table.column("distance"))
    rows = list(zip(*(column.tolist() for column in columns[:2]), columns[2].to_pylist()))
    assert len({(a, b) for a, b, _ in rows}) == len(rows), "a pair was reported twice"
    return {(a, b): distance for a, b, distance in rows}


@pytest.mark.parametrize("tasks", [1, 6, 31])
@pytest.mark.parametrize("options", [BY_SIMILARITY, {"max_distance": 10}])
def test_pairs_are_those_that_brute_force_finds(
    spark: Any, tmp_path: Path, rng: np.random.Generator, options: dict[str, Any], tasks: int
) -> None:
    fingerprints, ids = mixed(rng)
    expected = expected_pairs(fingerprints, ids, tmp_path / "rule", options)
    assert set(range(11)) <= set(expected.values())
    if "similarity" in options:
        # Some differences are within the distance of the rule, and yet make no match.
        within = expected_pairs(
            fingerprints, ids, tmp_path / "distance", {"max_distance": max(expected.values())}
        )
        assert len(expected) < len(within)
    arguments = {"distance" if name == "max_distance" else name: value for name, value in options.items()}
    rows = corpus.frame(spark, fingerprints, ids)
    found = jobs.pairs(rows, **arguments, tasks=tasks, expected_entries=ROWS)
    assert pairs_of(found.toArrow()) == expected


def test_large_tasks_find_the_pairs_of_one_database(
    spark: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    fingerprints = rng.integers(0, 1 << 64, (30_000, 2), np.uint64)
    for bit in range(20):
        some = slice(bit * 1000, bit * 1000 + 900)
        fingerprints[some, bit % 2] ^= np.uint64(1 << 3 * bit)
        fingerprints[20_000 + bit * 400 :][:400] = fingerprints[bit * 1000 :][:400]
        fingerprints[20_000 + bit * 400 :][:400, 0] ^= np.uint64((1 << bit) - 1)
    ids = np.arange(len(fingerprints), dtype=np.uint64)
    found = jobs.pairs(corpus.frame(spark, fingerprints, ids), similarity=0.8, tasks=12)
    with fpdb.Db.create(tmp_path / "db", similarity=0.8, expected_entries=len(ids)) as db:
        db.bulk_load(fingerprints, ids)
        chunks = [np.concatenate(column) for column in zip(*db.pairs())]
    assert len(chunks[0]) > 4000
    assert corpus.summary_of_table(found.toArrow()) == corpus.summary(*chunks)


def test_a_stored_corpus_answers_by_the_rule_of_all_rows(
    spark: Any, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints, ids = mixed(rng)
    rows = corpus.frame(spark, fingerprints, ids)
    parts = jobs.build(rows, tmp_path / "parts", 3, **BY_SIMILARITY, expected_entries=ROWS)
    assert len(parts) == 3 and sum(part.entries for part in parts) == len(ids)
    for part in parts:
        with fpdb.ReadOnlyDb.open(part.path) as db:
            assert (db.bits, db.similarity, db.recall) == (128, 0.8, 0.9)

    asked = corpus.frame(spark, fingerprints[::9], ids[::9])
    distances = compared(fingerprints[::9], fingerprints, tmp_path / "rule", BY_SIMILARITY)
    query, entry = np.nonzero(distances < 255)
    expected = corpus.digest([ids[::9][query], ids[entry], distances[query, entry]])
    assert corpus.digest_of(jobs.batch(asked, tmp_path / "parts")) == expected
    monkeypatch.setattr("fpdb_engine.spark._batch.CLOSURE_QUERIES", 10)
    assert corpus.digest_of(jobs.batch(asked, tmp_path / "parts", scratch=tmp_path / "s")) == expected

    jobs.register(spark)
    read = spark.read.format("fpdb").load(str(tmp_path / "parts"))
    assert sorted(read.toArrow().to_pylist(), key=str) == sorted(rows.toArrow().to_pylist(), key=str)


def test_parts_that_are_built_without_a_number_have_the_rule_for_all_rows(
    spark: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    fingerprints = rng.integers(0, 1 << 64, (3000, 2), np.uint64)
    rows = corpus.frame(spark, fingerprints, np.arange(3000, dtype=np.uint64))
    parts = jobs.build(rows, tmp_path / "parts", 3, similarity=0.8)
    with fpdb.Db.create(tmp_path / "db", similarity=0.8, expected_entries=3000) as expected:
        for part in parts:
            with fpdb.ReadOnlyDb.open(part.path) as db:
                assert db.max_distance == expected.max_distance
                assert db.stats()["layout"] == expected.stats()["layout"]


def test_clusters_of_pairs_by_similarity_are_their_components(spark: Any) -> None:
    chain = [(1, 0), (2, (1 << 8) - 1), (3, (1 << 16) - 1), (4, (1 << 127) | (0x5555 << 60))]
    rows = [(id, fingerprint.to_bytes(16, "big")) for id, fingerprint in [*chain, (9, 0x3333 << 90)]]
    df = spark.createDataFrame(rows, "id long, fingerprint binary")
    near = jobs.pairs(df, similarity=0.8, expected_entries=ROWS)
    clusters = jobs.clusters(near).collect()
    nodes = itertools.chain.from_iterable((row.a, row.b) for row in near.collect())
    assert {row.id for row in clusters} == set(nodes) >= {1, 2, 3}
    assert {row.cluster for row in clusters} == {1}


@pytest.mark.parametrize("order", [1, 2, 3, 5, 13])
def test_any_two_rows_meet_in_one_task_and_those_of_a_point_in_all(
    rng: np.random.Generator, order: int
) -> None:
    from fpdb_engine.spark import _planes
    from fpdb_engine.spark._sending import copies, reporters

    fingerprints = rng.integers(0, 1 << 64, (2000, 2), np.uint64)
    chosen = _planes.owners(fingerprints, order)
    tasks = _planes.lines(order)
    positions, receivers = copies(chosen)
    assert len(positions) == 2000 * (order + 1 if order > 1 else 1)
    assert set(receivers.tolist()) == set(range(tasks))
    sent = np.zeros((2000, tasks), np.int64)
    sent[positions, receivers] = 1
    together = sent @ sent.T
    assert set(np.unique(together)) <= {1, order + 1}
    if order > 1:
        assert (together == 1).sum() > (together > 1).sum()
    a, b = np.triu_indices(2000, 1)
    reporter = reporters([of[a] for of in chosen], [of[b] for of in chosen])
    assert sent[a, reporter].all() and sent[b, reporter].all()


def test_more_tasks_or_rows_choose_a_larger_plane() -> None:
    from fpdb_engine.spark import _planes

    assert [_planes.order_for_tasks(tasks) for tasks in [1, 5, 6, 11, 12, 200, 1 << 16]] == [1, 1, 2, 2, 3, 13, 251]
    rows = _planes.ROWS
    assert [_planes.order_for_rows(n) for n in [0, rows, rows + 1, 4 * rows, 10**12]] == [1, 1, 2, 5, 251]


def test_widths_and_rules_that_do_not_fit_are_refused_before_a_task_begins(
    spark: Any, tmp_path: Path
) -> None:
    narrow = spark.createDataFrame([(1, 1)], "id long, fingerprint long")
    wide = spark.createDataFrame([(1, bytes(16))], "id long, fingerprint binary")
    for bits in [64, 128]:
        fpdb.Db.create(tmp_path / f"db-{bits}", bits=bits).close()
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: jobs.pairs(narrow, similarity=0.8), r"similarity 0.8 needs .* fingerprint\(.*bits=128\)"),
        (lambda: jobs.build(narrow, tmp_path / "parts", 2, similarity=0.8), "needs fingerprints of 128 bits"),
        (lambda: jobs.batch(narrow, tmp_path / "db-128"), "of 64 bits, and the databases of 128: .*bits=128"),
        (lambda: jobs.batch(wide, tmp_path / "db-64"), "of 128 bits, and the databases of 64: .*bits=64"),
        (lambda: jobs.batch(wide, tmp_path / "db-128", 0.8), "a number of bits; a similarity is given as"),
        (lambda: jobs.pairs(wide, 0.8), "a similarity is given as similarity=0.8"),
        (lambda: jobs.pairs(wide, 3, similarity=0.8), "both distance 3 and similarity 0.8: give one"),
        (lambda: jobs.pairs(wide, 25), "25"),
        (lambda: jobs.pairs(wide, similarity=0.2), "expected 0.5 to 1"),
        (lambda: jobs.pairs(wide, recall=0.9), "recall was given without a similarity"),
        (lambda: jobs.pairs(wide, similarity=0.8, tasks=0), "0 tasks"),
        (lambda: jobs.pairs(wide, similarity=0.55, expected_entries=10**9), "cannot be found"),
        (lambda: jobs.fingerprint(wide, "fingerprint", bits=128), "is of type binary, and texts are"),
    ]
    for call, message in calls:
        with pytest.raises(fpdb.InvalidArgumentError, match=message):
            call()
    assert not (tmp_path / "parts").exists()


def test_binary_fingerprints_of_other_lengths_are_refused(spark: Any, tmp_path: Path) -> None:
    df = spark.createDataFrame([(1, bytes(8))], "id long, fingerprint binary")
    fpdb.Db.create(tmp_path / "db", bits=128).close()
    with pytest.raises(fpdb.InvalidArgumentError, match="does not have 16 bytes"):
        jobs.batch(df, tmp_path / "db")
    with pytest.raises(Exception, match="does not have 16 bytes"):
        jobs.pairs(df, similarity=0.8).count()
