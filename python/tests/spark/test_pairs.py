"""All pairs are those that the engine finds in one database."""

from __future__ import annotations

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


@pytest.mark.parametrize(("k", "tasks"), [(0, 3), (1, 4), (3, 1), (3, 5), (3, 64), (6, 7)])
def test_pairs_are_those_of_one_database(
    spark: Any, tmp_path: Path, rng: np.random.Generator, k: int, tasks: int
) -> None:
    fingerprints, ids = corpus.mixed(rng, k)
    found = jobs.pairs(corpus.frame(spark, fingerprints, ids), k, tasks=tasks).toArrow()
    with corpus.database(tmp_path / "db", fingerprints, ids, k) as db:
        expected = corpus.summary_of_database(db, k)
    assert expected[0][0] > 100 and len(expected[0]) == k + 1
    assert corpus.summary_of_table(found) == expected


def test_small_tasks_find_what_a_scan_finds(spark: Any, rng: np.random.Generator) -> None:
    k = 3
    fingerprints = np.array(sorted(set(truth.planted(rng, 64, k, 6))), np.uint64)
    ids = rng.permutation(len(fingerprints)).astype(np.uint64)
    found = jobs.pairs(corpus.frame(spark, fingerprints, ids), k, tasks=4).collect()
    entries = list(zip(fingerprints.tolist(), ids.tolist()))
    assert len(found) == len({(row.a, row.b) for row in found})
    assert {(row.a, row.b): row.distance for row in found} == truth.pairs(entries, k)


@pytest.mark.parametrize("tasks", [1, 2, 1000])
def test_a_row_is_sent_to_a_task_once(rng: np.random.Generator, tasks: int) -> None:
    from fpdb_engine.spark._masks import owners
    from fpdb_engine.spark._sending import copies

    fingerprints = rng.integers(0, 1 << 64, 1000, np.uint64)
    positions, receivers = copies(owners(fingerprints, 3, tasks))
    sent = set(zip(positions.tolist(), receivers.tolist()))
    assert len(sent) == len(positions) <= min(tasks, 4) * len(fingerprints)
    assert set(positions.tolist()) == set(range(len(fingerprints)))
    assert receivers.tolist() == sorted(receivers.tolist())


def test_equal_rows_are_paired_with_the_lowest_id(spark: Any) -> None:
    ids = np.array([9, 4, 1 << 63, 4, 6], np.uint64)
    fingerprints = np.full(len(ids), 77, np.uint64)
    found = jobs.pairs(corpus.frame(spark, fingerprints, ids), 3, tasks=2).toArrow()
    assert sorted(corpus.unsigned(found, "b").tolist()) == [6, 9, 1 << 63]
    assert set(corpus.unsigned(found, "a").tolist()) == {4}


def test_a_million_equal_rows_do_not_take_quadratic_time(spark: Any) -> None:
    ids = np.arange(1_000_000, dtype=np.uint64)
    fingerprints = np.full(len(ids), 1 << 63, np.uint64)
    assert jobs.pairs(corpus.frame(spark, fingerprints, ids), 3, tasks=4).count() == 999_999


def test_rows_without_a_fingerprint_have_no_pairs(spark: Any) -> None:
    rows = [(1, 5), (2, None), (3, None), (4, 7)]
    df = spark.createDataFrame(rows, "doc long, print long")
    found = jobs.pairs(df, 3, tasks=2, fingerprint_column="print", id_column="doc").collect()
    assert [tuple(row) for row in found] == [(1, 4, 1)]


def test_impossible_settings_are_refused(spark: Any) -> None:
    df = spark.createDataFrame([(1, 1)], "id long, fingerprint long")
    for arguments in [{"distance": 16}, {"distance": -1}, {"tasks": 0}, {"tasks": 1 << 17}]:
        with pytest.raises(fpdb.InvalidArgumentError):
            jobs.pairs(df, **arguments)
