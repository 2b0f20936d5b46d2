"""Databases of sketches, which are created for a Jaccard similarity: brute force by the stored rule is the truth."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest
import truth

RULE = (10, 5, 38)
"""What a similarity of 0.8 chooses for up to ten million documents."""


@pytest.fixture
def sketches(rng: np.random.Generator) -> list[bytes]:
    found = truth.planted_sketches(rng, RULE, 3) + [rng.bytes(228) for _ in range(100)]
    found += found[:20]
    return [found[at] for at in rng.permutation(len(found))]


@pytest.fixture
def path(tmp_path: Path, sketches: list[bytes]) -> Path:
    """A database with these sketches, with their positions as ids: some in a segment, some only in the log."""
    path = tmp_path / "sketches.fpdb"
    half = len(sketches) // 2
    with fpdb.Db.create(path, similarity=0.8, durability="buffered") as db:
        db.write(sketches[:half], range(half))
        db.flush()
        assert db.write(sketches[half:], range(half, len(sketches))).novel.all()
    return path


def test_a_similarity_chooses_sketches_and_a_rule_and_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with fpdb.Db.create(path, similarity=0.8, recall=0.9) as db:
        assert (db.bits, db.similarity, db.recall, db.id_kind) == (1824, 0.8, 0.9, "unique")
        assert (db.max_distance, db.stats()["bits"]) == (37, 1824)
    with fpdb.Db.open_or_create(path, similarity=0.8, recall=0.9, expected_entries=5) as db:
        assert db.similarity == 0.8
    with pytest.raises(fpdb.InvalidArgumentError, match="similarity at least 0.8"):
        fpdb.Db.open(path, similarity=0.9)
    with fpdb.Db.create(tmp_path / "default", bits=1824) as db:
        assert (db.similarity, *(db.sketch_bands or ()), db.max_distance) == (0.8, *RULE)
    with fpdb.Db.create(tmp_path / "distance") as db:
        assert (db.bits, db.similarity, db.recall, db.sketch_bands) == (64, None, None, None)


def test_queries_find_what_a_scan_finds(
    path: Path, sketches: list[bytes], rng: np.random.Generator
) -> None:
    queries = sketches[::4] + [truth.changed(rng, s, rng.choice(128, 5)) for s in sketches[::9]]
    for distance in [None, 0, 3, 30]:
        expected = truth.distances(queries, sketches, RULE if distance is None else None)
        is_match = expected <= (38 if distance is None else distance)
        assert len(queries) // 4 < is_match.sum() < is_match.size // 4
        for reader in [fpdb.Db.open(path), fpdb.ReadOnlyDb.open(path)]:
            with reader:
                for at, query in enumerate(queries):
                    ids = np.flatnonzero(is_match[at])
                    wanted = sorted((int(expected[at, id]), id) for id in ids)
                    found = reader.query(query, distance)
                    assert sorted((m.distance, m.id) for m in found) == wanted
                    assert all(m.fingerprint == sketches[m.id] for m in found)
                    assert [m.distance for m in found] == [d for d, _ in wanted]
                    nearest = reader.nearest(query, distance)
                    assert [nearest] == found[:1] or not found and nearest is None
                    assert (query in reader) == (query in sketches)
                offsets, ids, distances = reader.query_batch(queries, distance)
                rows = np.repeat(np.arange(len(queries)), np.diff(offsets))
                assert (distances == expected[rows, ids.astype(int)]).all()
                assert np.bincount(rows, minlength=len(queries)).tolist() == is_match.sum(axis=1).tolist()


def test_some_pairs_within_the_distance_share_no_key_and_do_not_match(sketches: list[bytes]) -> None:
    all_distances, by_rule = truth.distances(sketches, sketches), truth.distances(sketches, sketches, RULE)
    for distance in range(10, 39):
        some = by_rule[all_distances == distance]
        assert {distance, 255} == set(some.tolist())
    assert set(by_rule[all_distances == 39].tolist()) == {255}
    assert 255 not in by_rule[all_distances < 10]


def test_pairs_joins_and_counts_are_those_of_a_scan(path: Path, sketches: list[bytes]) -> None:
    distances = truth.distances(sketches, sketches, RULE)
    a, b = np.nonzero(np.triu(distances < 255, 1))
    expected = sorted(zip(a.tolist(), b.tolist(), distances[a, b].tolist()))
    others = sketches[::3]
    to_others = truth.distances(sketches, others, RULE)
    joined = [(a, b, to_others[a, b]) for a, b in zip(*np.nonzero(to_others < 255))]
    with fpdb.ReadOnlyDb.open(path) as db:
        assert rows(db.pairs(expand=True), is_symmetric=True) == expected
        assert db.count_pairs() == [sum(d == at for _, _, d in expected) for at in range(39)]
        # Below the number of bands, any distance is exact.
        assert len(rows(db.pairs(5, expand=True))) == sum(d <= 5 for _, _, d in expected)
        with pytest.raises(fpdb.InvalidArgumentError, match="10"):
            list(db.pairs(10))
        assert rows(db.join(others)) == sorted(joined)
        array = np.array(others, "V228")
        nearest = rows(db.join(array, nearest=True))
        assert [(b, d) for _, b, d in sorted(nearest, key=lambda row: row[1])] == [
            (b, 0) for b in range(len(others))
        ]


def rows(chunks: fpdb.PairIterator, is_symmetric: bool = False) -> list[tuple[int, int, int]]:
    found = [row for chunk in chunks for row in zip(*(column.tolist() for column in chunk))]
    return sorted((min(a, b), max(a, b), d) if is_symmetric else (a, b, d) for a, b, d in found)


def test_clusters_and_writes_keep_what_a_greedy_pass_keeps(
    tmp_path: Path, path: Path, sketches: list[bytes]
) -> None:
    distances = truth.distances(sketches, sketches, RULE)
    kept: list[int] = []
    clusters: dict[int, list[int]] = {}
    outcomes = []
    for id in range(len(sketches)):
        near = [first for first in kept if distances[first, id] < 255]
        nearest = min(near, key=lambda first: (distances[first, id], *order(sketches[first]), first), default=id)
        outcomes.append((not near, nearest, int(distances[nearest, id])))
        if near:
            clusters[near[0]].append(id)
        else:
            kept.append(id)
            clusters[id] = [id]
    with fpdb.ReadOnlyDb.open(path) as db:
        offsets, ids, radii = db.clusters()
        found = [ids[a:b].tolist() for a, b in zip(offsets, offsets[1:])]
        assert found == [members for members in clusters.values() if len(members) > 1]
        assert radii.max() <= 38
    with fpdb.Db.create(tmp_path / "batch", similarity=0.8) as db:
        some = db.write(sketches, range(len(sketches)), unless_near="rule")
        assert list(zip(*(column.tolist() for column in some[:3]))) == outcomes
        assert len(db) == len(kept)
    with fpdb.Db.create(tmp_path / "single", similarity=0.8) as db:
        for id, (is_novel, other, distance) in enumerate(outcomes):
            outcome = db.insert_if_novel(sketches[id], id)
            assert (bool(outcome), outcome.id, outcome.distance or 0) == (is_novel, other, distance)


def order(sketch: bytes) -> list[int]:
    """Returns what sketches are ordered by, as long as no two have the same planes."""
    return [int.from_bytes(sketch[at : at + 16], "little") for at in range(0, 96, 16)]


def test_entries_are_all_sketches_in_the_order_of_their_ids(path: Path, sketches: list[bytes]) -> None:
    with fpdb.ReadOnlyDb.open(path) as db:
        chunks = list(db.entries())
        assert chunks[0].fingerprints.dtype == "V228"
        found = [row for chunk in chunks for row in zip(chunk.fingerprints.tolist(), chunk.ids.tolist())]
    assert found == [(sketch, id) for id, sketch in enumerate(sketches)]


def forms(sketches: list[bytes]) -> list[Any]:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    array = np.array(sketches, "V228")
    return [
        array,
        np.concatenate([array, array])[::2][: len(array)] if len(array) == 1 else np.repeat(array, 2)[::2],
        array.view("S228"),
        array.view(np.uint8).reshape(-1, 228),
        list(array),
        tuple(sketches),
        pa.array(sketches),
        pa.array(array, pa.binary(228)),
        pa.chunked_array([pa.array(sketches[:3], pa.binary(228)), pa.array(sketches[3:], pa.binary(228))]),
        pl.Series(sketches),
        pl.Series(array.tolist()),
        pd.Series(sketches),
        pd.Series(array.tolist(), dtype=pd.ArrowDtype(pa.binary(228))),
    ]


@pytest.mark.parametrize("number", range(13))
def test_sketches_are_accepted_in_every_form(
    tmp_path: Path, rng: np.random.Generator, number: int
) -> None:
    # The last bytes are zeros, which arrays of strings do not show.
    sketches = [rng.bytes(226) + bytes(2) for _ in range(20)]
    with fpdb.Db.create(tmp_path / "db", similarity=0.8) as db:
        db.write(forms(sketches)[number], range(20))
        assert [db.get(id).fingerprint for id in range(20)] == sketches  # type: ignore[union-attr]
        assert db.query_batch(forms(sketches)[number]).ids.tolist() == list(range(20))


def test_other_values_are_refused(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", similarity=0.8) as db:
        for wrong in [7, "a", None, 1.5]:
            with pytest.raises(TypeError, match="a sketch must be bytes of length 228, not"):
                db.insert(wrong, 1)  # type: ignore[arg-type]
        for length in [0, 16, 227, 229]:
            with pytest.raises(fpdb.InvalidArgumentError, match=f"of length 228, not of length {length}"):
                db.write([bytes(length)], [1])
        for array in [np.zeros(3, np.uint64), np.zeros((3, 2), np.uint64), np.array([b"a"]), np.zeros((2, 227), np.uint8)]:
            with pytest.raises(TypeError, match="expected sketches as an array of 228 bytes each"):
                db.query_batch(array)
        with pytest.raises(fpdb.Error):
            db.bulk_load([bytes(228)], [1])
        assert db.query_batch([]).offsets.tolist() == [0]
        assert db.query_batch(np.zeros(0, "V228")).offsets.tolist() == [0]
    with fpdb.Db.create(tmp_path / "narrow") as narrow, fpdb.Db.open(tmp_path / "db") as db:
        with pytest.raises(TypeError, match="a fingerprint must be an int, not bytes"):
            narrow.insert(bytes(228), 1)
        with pytest.raises(fpdb.InvalidArgumentError, match="cannot join databases of 64 and of 1824 bits"):
            narrow.join(db)


def test_sketches_of_texts_are_bytes_and_arrays_of_these(tmp_path: Path) -> None:
    texts = ["The quick brown fox jumps over the lazy dog.", None, "short", "the quick brown FOX jumps over a dog"]
    array, has_one = fpdb.fingerprint_batch(texts, bits=1824)
    assert array.dtype == "V228" and has_one.tolist() == [True, False, False, True]
    assert array.tolist()[1:3] == [bytes(228)] * 2
    first = fpdb.fingerprint(texts[0] or "", bits=1824)
    assert first == array.tolist()[0] == array[0].tobytes()
    # The first plane is the fingerprint of 128 bits.
    assert int.from_bytes(first[:16], "little") == fpdb.fingerprint(texts[0] or "", bits=128)
    assert fpdb.fingerprint("short", bits=1824) is None
    distance = int(truth.distances(array.tolist()[:1], array.tolist()[3:])[0, 0])
    exact = fpdb.jaccard(texts[0] or "", texts[3] or "")
    estimate, error = fpdb.estimate_jaccard(distance)
    assert abs(estimate - exact) < 4 * error
    with fpdb.Db.create(tmp_path / "db", similarity=0.8, recipe="default") as db:
        db.write(texts=texts[:1], ids=[5])
        assert [m.id for m in db.query(array[0])] == [5]
        match = db.query_text("The quick brown fox jumps over the lazy dog!")
        assert match is not None and match[0].fingerprint == first
    assert "pairs/1" in fpdb.recipes(bits=1824) and "seomoz/1" not in fpdb.recipes(bits=1824)
    with pytest.raises(fpdb.InvalidArgumentError):
        fpdb.fingerprint("text", "seomoz/1", bits=1824)


def test_results_with_sketches_are_printed_compared_and_pickled(tmp_path: Path, rng: np.random.Generator) -> None:
    sketch = rng.bytes(228)
    other = truth.changed(rng, sketch, [3])
    with fpdb.Db.create(tmp_path / "db", similarity=0.8, ids="names") as db:
        db.insert(sketch, "a", stamp=7)
        document, updated = db.get("a"), db.upsert_if_novel(other, "a")
        match = db.query(sketch)[0]
    assert document == fpdb.Document(sketch, 0, 7) and updated.replaced == sketch
    assert match == fpdb.Match(1, other, 0)
    for result in (document, updated, match):
        assert pickle.loads(pickle.dumps(result)) == result
        assert hash(pickle.loads(pickle.dumps(result))) == hash(result)
    number = int.from_bytes(other, "little")
    assert repr(match) == f"Match(distance=1, fingerprint={number:#0194x}, id=0)"


def test_a_damaged_database_of_sketches_is_repaired(path: Path, tmp_path: Path, sketches: list[bytes]) -> None:
    report = fpdb.repair(path, tmp_path / "repaired")
    assert (report.losses, report.written) == ([], len(sketches))
    with fpdb.ReadOnlyDb.open(tmp_path / "repaired") as repaired, fpdb.ReadOnlyDb.open(path) as db:
        assert repaired.sketch_bands == db.sketch_bands and not repaired.verify(level="deep").errors
        assert rows(repaired.pairs()) == rows(db.pairs())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": 0.3}, "expected 0.5 to 1"),
        ({"similarity": 0.8, "recall": 1.0}, "expected 0.5 to 0.999"),
        ({"recall": 0.9}, "without a similarity"),
        ({"similarity": 0.8, "bits": 64}, "bits 64: a search by similarity needs sketches; leave bits out"),
        ({"similarity": 0.8, "bits": 128}, "bits 128: a search by similarity needs sketches"),
        ({"similarity": 0.8, "max_distance": 3}, "no max distance: give a similarity"),
        ({"similarity": 0.8, "layout": "paper-10"}, "sketches are in no tables; leave layout out"),
        ({"similarity": 0.8, "ids": "user"}, "their ids must be names or unique"),
    ],
)
def test_similarities_that_cannot_be_found_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(fpdb.InvalidArgumentError, match=message):
        fpdb.Db.create(tmp_path / "db", **options)
    assert not (tmp_path / "db").exists()


def test_an_unknown_condition_is_refused(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", similarity=0.8) as db:
        with pytest.raises(TypeError, match='not str, unless it is "rule"'):
            db.write([bytes(228)], [1], unless_near="rules")  # type: ignore[arg-type]
