"""The jobs with sketches, by similarity: brute force by the stored rule is the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import fpdb_engine as fpdb
import numpy as np
import pyarrow as pa
import pytest
import truth

jobs = pytest.importorskip(
    "fpdb_engine.spark", reason="the Spark jobs: a package is missing", exc_type=ImportError
)
RULE = (10, 5, 38)
ROWS = 1_000_000
"""For so many rows, a similarity of 0.8 chooses this rule."""


def mixed(rng: np.random.Generator, rule: truth.Rule = RULE, centres: int = 3) -> tuple[list[bytes], Any]:
    """Returns sketches and ids: pairs on both sides of each condition of the rule, and equal sketches. Some ids
    are greater than the greatest signed number."""
    found = truth.planted_sketches(rng, rule, centres) + [rng.bytes(228) for _ in range(100)]
    found += found[:50] * 3
    ids = rng.permutation(len(found)).astype(np.uint64) * np.uint64(3)
    ids[::7] |= np.uint64(1 << 63)
    return found, ids


def frame(spark: Any, sketches: list[bytes], ids: Any) -> Any:
    return corpus.frame(spark, np.array(sketches, "V228"), ids)


def expected_pairs(sketches: list[bytes], ids: Any, rule: truth.Rule) -> dict[tuple[int, int], int]:
    """Returns the pairs of the lowest ids of different sketches, and of these with those of equal ones."""
    groups: dict[bytes, list[int]] = {}
    for sketch, id in zip(sketches, ids.tolist()):
        groups.setdefault(sketch, []).append(id)
    found = {(min(group), id): 0 for group in groups.values() for id in group if id > min(group)}
    lowest = [min(group) for group in groups.values()]
    distances = truth.distances(list(groups), list(groups), rule)
    for a, b in zip(*np.nonzero(distances < 255)):
        if lowest[a] < lowest[b]:
            found[lowest[a], lowest[b]] = int(distances[a, b])
    return found


def test_groups_are_compared_in_parts_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from fpdb_engine.spark import _bands

    sketches = sorted(set(mixed(np.random.default_rng(5), centres=4)[0]))
    distances = truth.distances(sketches, sketches, RULE)
    expected = {(a, b, distances[a, b]) for a, b in zip(*np.nonzero(distances < 255)) if a < b}
    rule = fpdb.MatchRule(0.8, expected_entries=ROWS)
    number_of_parts = []
    for candidates in [1, 7, 50, 1 << 22]:
        monkeypatch.setattr(_bands, "CANDIDATES", candidates)
        parts = list(_bands.pairs_of_task(np.array(sketches, "V228"), 0, rule, 1))
        found = [(min(a, b), max(a, b), distance) for part in parts for a, b, distance in zip(*part)]
        assert sorted(found) == sorted(expected)
        number_of_parts.append(len(parts))
    # Larger parts are fewer: in the end, one for each band.
    assert number_of_parts == sorted(set(number_of_parts), reverse=True)
    assert number_of_parts[-1] == rule.bands


@pytest.mark.parametrize("tasks", [1, 2, 7, 64, 1000])
def test_spark_gives_each_task_a_partition_of_its_own(tasks: int) -> None:
    from fpdb_engine.spark import _sending

    # What `select hash(n)` of Apache Spark 4.3 says.
    numbers = np.array([0, 1, -1, 42, 2**31 - 1, -(2**31)], np.int32)
    assert _sending.murmur3(numbers).tolist() == [933211791, -559580957, -1604776387, 29417773, 133916647, 723455942]
    keys = _sending.partition_keys(tasks)
    assert (_sending.murmur3(keys) % tasks == np.arange(tasks)).all()


@pytest.mark.parametrize("tasks", [2, 5, 16, 64])
def test_works_have_each_pair_of_a_crowd_once_and_tasks_equal_shares(
    tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fpdb_engine.spark import _crowds

    count = 1000
    # A crowd that is not much larger than a piece is not divided.
    assert len(_crowds.works(count, tasks, 3)) == 1
    monkeypatch.setattr(_crowds, "SMALL", 1)
    compared, shares = np.zeros((count, count), int), np.zeros(tasks, int)
    for work in _crowds.works(count, tasks, 3):
        other = work.other if work.other.start < work.other.stop else work.one
        compared[work.one, other] += 1
        shares[work.task] += work.pairs()
    assert (compared[np.triu_indices(count, 1)] == 1).all()
    assert shares.sum() == count * (count - 1) // 2
    assert shares.max() < 1.3 * shares.mean()
    # Each row is sent to few tasks, even if these are many. Pieces are never too large.
    sent = sum(work.one.start == 0 or work.other.start == 0 for work in _crowds.works(count, tasks, 0))
    assert sent <= 2 * math.ceil(math.sqrt(tasks))
    assert max(work.one.stop - work.one.start for work in _crowds.works(10**7, 2, 0)) <= _crowds.PIECE


@pytest.mark.parametrize("tasks", [1, 4, 31])
@pytest.mark.parametrize("crowd", [5, 1 << 12])
@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"similarity": 0.8, "expected_entries": ROWS}, RULE),
        ({"similarity": 0.8, "expected_entries": 10**9}, (13, 6, 38)),
    ],
)
def test_pairs_are_those_that_brute_force_finds(
    spark: Any,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    rule: truth.Rule,
    crowd: int,
    tasks: int,
) -> None:
    from fpdb_engine.spark import _crowds

    monkeypatch.setattr(_crowds, "CROWD", crowd)
    monkeypatch.setattr(_crowds, "SMALL", 2)
    sketches, ids = mixed(rng, rule)
    expected = expected_pairs(sketches, ids, rule)
    assert set(range(rule[2] + 1)) == set(expected.values())
    # Some sketches are within the distance of the rule, and yet do not match.
    assert len(expected) < len(expected_pairs(sketches, ids, (1, 0, rule[2])))
    rows = frame(spark, sketches, ids)
    assert corpus.pairs_of(jobs.pairs(rows, tasks=tasks, **options)) == expected


def test_many_sketches_with_the_same_key_have_the_pairs_of_one_database(
    spark: Any, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    centre = rng.bytes(228)
    sketches = [truth.changed(rng, centre, rng.choice(128, rng.integers(1, 60), replace=False)) for _ in range(2000)]
    ids = np.arange(len(sketches), dtype=np.uint64)
    with fpdb.Db.create(tmp_path / "db", similarity=0.8, durability="buffered") as db:
        db.write(sketches, ids)
        expected = [np.concatenate(column) for column in zip(*db.pairs())]
    assert len(expected[0]) > 10_000
    from fpdb_engine.spark import _bands, _crowds
    from fpdb_engine.spark._arrow import fingerprints_of

    # Whether they are a crowd makes no difference.
    monkeypatch.setattr(_crowds, "SMALL", 50)
    for crowd in (100, len(sketches)):
        monkeypatch.setattr(_crowds, "CROWD", crowd)
        found = jobs.pairs(frame(spark, sketches, ids), similarity=0.8, tasks=5)
        assert corpus.summary_of_table(found.toArrow()) == corpus.summary(*expected)
    # Nor does the division into parts.

    words = fingerprints_of(pa.array(sketches), 1824)
    for candidates in (1, 100):
        monkeypatch.setattr(_bands, "CANDIDATES", candidates)
        parts = [np.concatenate(c) for c in zip(*_bands.pairs_of_task(words, 0, fpdb.MatchRule(0.8), 1))]
        assert corpus.summary(*(part.astype(np.uint64) for part in parts[:2]), parts[2]) == corpus.summary(*expected)


def test_a_group_is_a_crowd_only_beyond_the_limit(rng: np.random.Generator) -> None:
    from fpdb_engine.spark import _bands
    from fpdb_engine.spark._arrow import fingerprints_of

    centre, rule = rng.bytes(228), fpdb.MatchRule(0.8)
    # All share the first bands.
    sketches = {truth.changed(rng, centre, rng.choice(np.arange(96, 128), 8, replace=False)) for _ in range(20)}
    words = fingerprints_of(pa.array(sorted(sketches)), 1824)
    for most, is_crowd in [(len(sketches), False), (len(sketches) - 1, True)]:
        found = list(_bands.pairs_of_task(words, 0, rule, 1, most))
        crowds = [it for it in found if isinstance(it, _bands.Crowd)]
        assert (0 in {crowd.number for crowd in crowds}) == is_crowd
        assert all(sorted(crowd.rows) == list(range(len(sketches))) for crowd in crowds)


def test_no_task_compares_much_more_of_a_crowd_than_its_share(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fpdb_engine.spark import _crowds, _pairs

    monkeypatch.setattr(_crowds, "CROWD", 50)
    monkeypatch.setattr(_crowds, "SMALL", 10)
    centre, tasks = rng.bytes(228), 8
    sketches = [truth.changed(rng, centre, rng.choice(128, 40, replace=False)) for _ in range(2000)]
    rows = pa.record_batch({"fingerprint": pa.array(sketches), "id": np.arange(len(sketches))})
    division = _pairs._by_bands(fpdb.MatchRule(0.8), tasks)
    shares = np.zeros(tasks, int)
    for row in _pairs._passed_on(division)(_pairs._divided(division)([rows])):
        if row["ids"].null_count == 0:
            count, split = len(row["ids"][0].as_buffer()) // 8, row["split"][0].as_py()
            shares[row["task"][0].as_py()] += split * (count - split) if split else count * (count - 1) // 2
    assert shares.sum() > 100_000
    assert shares.max() < 1.3 * shares.mean()


def test_bands_are_the_first_minima_of_their_groups(rng: np.random.Generator) -> None:
    from fpdb_engine.spark import _bands
    from fpdb_engine.spark._arrow import fingerprints_of

    sketches = [rng.bytes(228) for _ in range(20)]
    words = fingerprints_of(pa.array(sketches), 1824)
    minima = truth.minima_of(sketches)
    for rule in [fpdb.MatchRule(0.8), fpdb.MatchRule(0.5), fpdb.MatchRule(1)]:
        bands = _bands.bands_of(words, rule)
        assert len(bands) == rule.bands
        for number, of_number in enumerate(bands):
            group = minima[:, 8 * number : 8 * number + rule.minima]
            same = (group[:, None] == group[None]).all(axis=2)
            assert ((of_number[:, None] == of_number[None]) == same).all()
    near = [truth.changed(rng, sketch, range(at)) for at, sketch in enumerate(sketches)]
    distances = fpdb.MatchRule(0.8).distances(sketches, near)
    assert distances.tolist() == np.diag(truth.distances(sketches, near, RULE)).tolist()


def test_many_equal_rows_do_not_take_quadratic_time(spark: Any, rng: np.random.Generator) -> None:
    sketch = rng.bytes(228)
    df = spark.range(0, 300_000).selectExpr("id", f"unhex('{sketch.hex()}') as fingerprint")
    assert jobs.pairs(df, similarity=0.8, tasks=4).count() == 299_999


def test_a_stored_corpus_answers_by_the_rule_of_all_rows(
    spark: Any, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sketches, ids = mixed(rng)
    rows = frame(spark, sketches, ids)
    # By themselves, the parts would have shorter bands.
    parts = jobs.build(rows, tmp_path / "parts", 3, similarity=0.8, expected_entries=10**9)
    assert len(parts) == 3 and sum(part.entries for part in parts) == len(ids)
    rule = (13, 6, 38)
    for part in parts:
        with fpdb.ReadOnlyDb.open(part.path) as db:
            assert (db.bits, db.similarity, *(db.sketch_bands or ()), db.max_distance) == (1824, 0.8, *rule)

    asked = frame(spark, sketches[::9], ids[::9])
    distances = truth.distances(sketches[::9], sketches, rule)
    query, entry = np.nonzero(distances < 255)
    expected = corpus.digest([ids[::9][query], ids[entry], distances[query, entry]])
    assert corpus.digest_of(jobs.batch(asked, tmp_path / "parts")) == expected
    monkeypatch.setattr("fpdb_engine.spark._batch.CLOSURE_QUERIES", 10)
    assert corpus.digest_of(jobs.batch(asked, tmp_path / "parts", scratch=tmp_path / "s")) == expected

    jobs.register(spark)
    read = spark.read.format("fpdb").load(str(tmp_path / "parts"))
    assert sorted(read.toArrow().to_pylist(), key=str) == sorted(rows.toArrow().to_pylist(), key=str)


def test_clusters_of_pairs_by_similarity_are_their_components(spark: Any, rng: np.random.Generator) -> None:
    chain = [rng.bytes(228)]
    # The first and the last are too far apart.
    for minima in (range(98, 128), range(68, 98)):
        chain.append(truth.changed(rng, chain[-1], minima))
    df = frame(spark, [*chain, rng.bytes(228)], np.array([3, 1, 2, 9], np.uint64))
    near = jobs.pairs(df, similarity=0.8, expected_entries=ROWS)
    assert sorted(corpus.pairs_of(near)) == [(1, 2), (1, 3)]
    clusters = jobs.clusters(near).collect()
    assert sorted((row.id, row.cluster) for row in clusters) == [(1, 1), (2, 1), (3, 1)]


def test_widths_and_rules_that_do_not_fit_are_refused_before_a_task_begins(
    spark: Any, tmp_path: Path
) -> None:
    narrow = spark.createDataFrame([(1, 1)], "id long, fingerprint long")
    binary = spark.createDataFrame([(1, bytes(228))], "id long, fingerprint binary")
    for bits in [64, 128, 1824]:
        fpdb.Db.create(tmp_path / f"db-{bits}", bits=bits).close()
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: jobs.pairs(narrow, similarity=0.8), r"similarity 0.8 needs sketches: fingerprint\(.*bits=1824\)"),
        (lambda: jobs.build(narrow, tmp_path / "parts", 2, similarity=0.8), "0.8 needs sketches"),
        (lambda: jobs.batch(narrow, tmp_path / "db-128"), "of 64 bits, and the databases of 128: .*bits=128"),
        (lambda: jobs.batch(narrow, tmp_path / "db-1824"), "of 64 bits, and the databases of 1824: .*bits=1824"),
        (lambda: jobs.batch(binary, tmp_path / "db-64"), "of 128 bits, and the databases of 64: .*bits=64"),
        (lambda: jobs.batch(binary, tmp_path / "db-1824", 0.8), "a number of bits; a similarity is given as"),
        (lambda: jobs.pairs(binary, 0.8), "a similarity is given as similarity=0.8"),
        (lambda: jobs.pairs(binary, 3, similarity=0.8), "both distance 3 and similarity 0.8: give one"),
        (lambda: jobs.pairs(binary, 25), "25"),
        (lambda: jobs.pairs(binary, similarity=0.2), "expected 0.5 to 1"),
        (lambda: jobs.pairs(binary, recall=0.9), "recall was given without a similarity"),
        (lambda: jobs.pairs(binary, similarity=0.8, tasks=0), "0 tasks"),
        (lambda: jobs.fingerprint(binary, "fingerprint", bits=1824), "is of type binary, and texts are"),
    ]
    for call, message in calls:
        with pytest.raises(fpdb.InvalidArgumentError, match=message):
            call()
    assert not (tmp_path / "parts").exists()


def test_binary_fingerprints_of_other_lengths_are_refused(spark: Any, tmp_path: Path) -> None:
    short = spark.createDataFrame([(1, bytes(16))], "id long, fingerprint binary")
    long = spark.createDataFrame([(1, bytes(228))], "id long, fingerprint binary")
    for bits in (128, 1824):
        fpdb.Db.create(tmp_path / str(bits), bits=bits).close()
    with pytest.raises(fpdb.InvalidArgumentError, match="does not have 228 bytes: a similarity needs sketches"):
        jobs.batch(short, tmp_path / "1824")
    with pytest.raises(fpdb.InvalidArgumentError, match="does not have 16 bytes"):
        jobs.batch(long, tmp_path / "128")
    with pytest.raises(Exception, match="does not have 228 bytes"):
        jobs.pairs(short, similarity=0.8).count()
    with pytest.raises(Exception, match="does not have 16 bytes"):
        jobs.pairs(long, 3).count()
