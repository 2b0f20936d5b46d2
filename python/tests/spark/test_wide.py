"""The jobs with fingerprints of 128 bits."""

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


def mixed(rng: np.random.Generator, k: int) -> tuple[list[int], Any]:
    """Returns fingerprints and ids: neighbours at each distance in each part of the bits, and equal fingerprints.
    Some ids are greater than the greatest signed number."""
    found = truth.planted(rng, 128, k, 5) + truth.crowd(rng, 128, 60)
    found += found[:50] * 3
    ids = rng.permutation(len(found)).astype(np.uint64) * np.uint64(3)
    ids[::7] |= np.uint64(1 << 63)
    return found, ids


def expected_pairs(fingerprints: list[int], ids: Any, k: int) -> dict[tuple[int, int], int]:
    """Returns the pairs of the lowest ids of different fingerprints, and of these with those of equal ones."""
    groups: dict[int, list[int]] = {}
    for fingerprint, id in zip(fingerprints, ids.tolist()):
        groups.setdefault(fingerprint, []).append(id)
    found = {(min(group), id): 0 for group in groups.values() for id in group if id > min(group)}
    found |= truth.pairs([(fingerprint, min(group)) for fingerprint, group in groups.items()], k)
    return found


@pytest.mark.parametrize(("k", "tasks"), [(0, 3), (3, 1), (3, 6), (10, 31)])
def test_pairs_are_those_that_brute_force_finds(
    spark: Any, rng: np.random.Generator, k: int, tasks: int
) -> None:
    fingerprints, ids = mixed(rng, k)
    expected = expected_pairs(fingerprints, ids, k)
    assert set(range(k + 1)) <= set(expected.values())
    rows = corpus.frame(spark, truth.batch(fingerprints, 128), ids)
    assert corpus.pairs_of(jobs.pairs(rows, k, tasks=tasks)) == expected


def test_a_stored_corpus_answers_by_distance(
    spark: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    fingerprints, ids = mixed(rng, 6)
    rows = corpus.frame(spark, truth.batch(fingerprints, 128), ids)
    parts = jobs.build(rows, tmp_path / "parts", 3, max_distance=6)
    assert len(parts) == 3 and sum(part.entries for part in parts) == len(ids)
    asked = corpus.frame(spark, truth.batch(fingerprints[::9], 128), ids[::9])
    entries = list(zip(fingerprints, ids.tolist()))
    expected = [
        (int(query), id, distance)
        for fingerprint, query in zip(fingerprints[::9], ids[::9])
        for distance, _, id in truth.near(entries, fingerprint, 6)
    ]
    columns = [np.array(column, np.uint64) for column in zip(*expected)]
    assert corpus.digest_of(jobs.batch(asked, tmp_path / "parts")) == corpus.digest(columns)
    jobs.register(spark)
    read = spark.read.format("fpdb").load(str(tmp_path / "parts"))
    assert sorted(read.toArrow().to_pylist(), key=str) == sorted(rows.toArrow().to_pylist(), key=str)


@pytest.mark.parametrize("k", [0, 1, 3, 10, 12])
@pytest.mark.parametrize("words", [1, 2])
def test_cells_are_disjoint_and_one_more_than_the_distance(k: int, words: int) -> None:
    from fpdb_engine.spark._masks import cells

    bits = [(word, bit) for word, low, width in cells(k, words) for bit in range(low, low + width)]
    assert len(cells(k, words)) == k + 1 and len(bits) == len(set(bits)) <= 64 * words
    assert all(0 <= bit < 64 and word < words for word, bit in bits)
