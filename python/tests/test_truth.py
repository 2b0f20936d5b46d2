"""Every answer is compared with brute force."""

from __future__ import annotations

from pathlib import Path

import fpdb_engine as fpdb
import numpy as np
import pytest
import truth

WIDTHS = [64, 128]
K = 3


@pytest.fixture(params=WIDTHS)
def bits(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def entries(bits: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    fingerprints = truth.planted(rng, bits, K, 12) + truth.crowd(rng, bits, 120)
    fingerprints += [truth.random_fingerprint(rng, bits) for _ in range(500)]
    order = rng.permutation(len(fingerprints))
    return [(fingerprints[at], id) for id, at in enumerate(order)]


@pytest.fixture
def path(tmp_path: Path, bits: int, entries: list[tuple[int, int]]) -> Path:
    """A database with these entries: some in a segment, some only in the log."""
    path = tmp_path / "truth.fpdb"
    half = len(entries) // 2
    with fpdb.Db.create(path, bits=bits, max_distance=K, durability="buffered") as db:
        fingerprints = truth.batch([f for f, _ in entries], bits)
        db.write(fingerprints[:half], np.arange(half))
        db.flush()
        inserted = db.write(fingerprints[half:], np.arange(half, len(entries)))
        assert inserted.ids.tolist() == list(range(half, len(entries)))
    return path


def queries(
    entries: list[tuple[int, int]], bits: int, rng: np.random.Generator
) -> list[int]:
    own = [fingerprint for fingerprint, _ in entries[::3]]
    near = [truth.flip(f, rng.choice(bits, rng.integers(0, 6), replace=False)) for f in own]
    return own + near + [0, (1 << bits) - 1]


@pytest.mark.parametrize("layout", ["paper-4", "paper-10", "paper-16", "paper-20"])
def test_tables_of_the_paper_find_what_a_scan_finds(
    tmp_path: Path, bits: int, layout: str, entries: list[tuple[int, int]], rng: np.random.Generator
) -> None:
    with fpdb.Db.create(tmp_path / "db", bits=bits, layout=layout, durability="buffered") as db:
        db.write(truth.batch([f for f, _ in entries], bits), [id for _, id in entries])
        db.flush()
        assert (db.stats()["layout"], db.stats()["tables"]) == (layout, int(layout[6:]))
        for query in queries(entries, bits, rng)[::7]:
            found = [(m.distance, m.fingerprint, m.id) for m in db.query(query, K)]
            assert found == truth.near(entries, query, K)
    with pytest.raises(fpdb.InvalidArgumentError, match="there are single, half-2, .*paper-20"):
        fpdb.Db.create(tmp_path / "other", layout="paper-12")


@pytest.mark.parametrize("distance", [0, 1, K, K + 2])
def test_queries_find_what_a_scan_finds(
    path: Path, bits: int, distance: int, entries: list[tuple[int, int]], rng: np.random.Generator
) -> None:
    asked = queries(entries, bits, rng)
    expected = [truth.near(entries, query, distance) for query in asked]
    assert sum(map(len, expected)) > len(asked)
    for reader in [fpdb.Db.open(path), fpdb.ReadOnlyDb.open(path)]:
        with reader:
            for query, truth_of_query in zip(asked, expected):
                found = reader.query(query, distance)
                assert [(m.distance, m.fingerprint, m.id) for m in found] == truth_of_query
                nearest = reader.nearest(query, distance)
                assert [nearest][: len(truth_of_query)] == found[:1]
                assert reader.query(query, distance, limit=2) == found[:2]
                assert (query in reader) == any(d == 0 for d, _, _ in truth_of_query)
            offsets, ids, distances = reader.query_batch(truth.batch(asked, bits), distance)
            for at, truth_of_query in enumerate(expected):
                some = slice(offsets[at], offsets[at + 1])
                found_ids = list(zip(distances[some].tolist(), ids[some].tolist()))
                assert found_ids == [(d, id) for d, _, id in truth_of_query]


def test_large_batches_have_the_answers_of_single_queries(
    path: Path, bits: int, entries: list[tuple[int, int]], rng: np.random.Generator
) -> None:
    asked = (queries(entries, bits, rng) * 20)[:6000]
    # Beyond the database's distance, a query takes so long that another thread answers the batch.
    for distance in [K, 30]:
        with fpdb.ReadOnlyDb.open(path) as reader:
            offsets, ids, distances = reader.query_batch(truth.batch(asked, bits), distance)
            assert len(offsets) == len(asked) + 1 and offsets[-1] == len(ids) == len(distances)
            for at in [0, 1, 255, 256, 257, *range(300, len(asked), 97), len(asked) - 1]:
                single = [(match.id, match.distance) for match in reader.query(asked[at], distance)]
                some = slice(offsets[at], offsets[at + 1])
                assert list(zip(ids[some].tolist(), distances[some].tolist())) == single


@pytest.mark.parametrize("expand", [True, False])
def test_pairs_are_those_of_a_scan(
    path: Path, expand: bool, entries: list[tuple[int, int]]
) -> None:
    expected = truth.pairs(entries, K)
    assert 0 in expected.values() and K in expected.values()
    with fpdb.ReadOnlyDb.open(path) as reader:
        found = {}
        for a, b, distances in reader.pairs(expand=expand):
            for pair in zip(a.tolist(), b.tolist(), distances.tolist()):
                key = (min(pair[:2]), max(pair[:2]))
                assert key not in found
                found[key] = pair[2]
        counts = reader.count_pairs()
        assert counts == [list(expected.values()).count(d) for d in range(K + 1)]
    if expand:
        assert found == expected
    else:
        # An entry with the lowest id stands for all that are equal to it.
        kept = {fingerprint: id for fingerprint, id in reversed(entries)}
        lowest = {id: kept[fingerprint] for fingerprint, id in entries}
        assert found == {
            pair: distance
            for pair, distance in expected.items()
            if lowest[pair[0]] == pair[0] and (distance == 0 or lowest[pair[1]] == pair[1])
        }


def test_joins_are_those_of_a_scan(
    path: Path, tmp_path: Path, bits: int, entries: list[tuple[int, int]]
) -> None:
    others = [truth.flip(f, range(id % 6)) for f, id in entries[::5]]
    array = truth.batch(others, bits)
    near = [truth.near(entries, other, K) for other in others]
    expected = {(id, other, d) for other, found in enumerate(near) for d, _, id in found}
    nearest = {(found[0][2], other, found[0][0]) for other, found in enumerate(near) if found}
    assert len(expected) > len(others) // 2
    with (
        fpdb.ReadOnlyDb.open(path) as known,
        fpdb.Db.create(tmp_path / "new", bits=bits, durability="buffered") as new,
    ):
        new.write(array, np.arange(len(others)))
        for side in (new, array):
            assert rows(known.join(side, K)) == sorted(expected)
            assert rows(known.join(side, K, nearest=True, memory=1 << 14)) == sorted(nearest)


def rows(chunks: fpdb.PairIterator) -> list[tuple[int, int, int]]:
    return sorted(row for chunk in chunks for row in zip(*(column.tolist() for column in chunk)))


def test_clusters_are_those_of_a_greedy_pass(path: Path, entries: list[tuple[int, int]]) -> None:
    kept: list[tuple[int, int]] = []
    clusters: dict[int, list[int]] = {}
    for fingerprint, id in entries:
        near = [first for f, first in kept if truth.distance(f, fingerprint) <= K]
        if near:
            clusters[near[0]].append(id)
        else:
            kept.append((fingerprint, id))
            clusters[id] = [id]
    expected = [members for members in clusters.values() if len(members) > 1]
    with fpdb.ReadOnlyDb.open(path) as reader:
        offsets, ids, radii = reader.clusters()
        found = [ids[a:b].tolist() for a, b in zip(offsets, offsets[1:])]
        assert found == expected and len(radii) == len(found) and radii.max() <= K


def test_entries_are_all_entries_in_order(
    path: Path, bits: int, entries: list[tuple[int, int]]
) -> None:
    with fpdb.ReadOnlyDb.open(path) as reader:
        chunks = list(reader.entries())
        fingerprints = np.concatenate([chunk.fingerprints for chunk in chunks])
        ids = np.concatenate([chunk.ids for chunk in chunks])
        assert len(reader) == len(entries)
    expected = sorted(entries)
    np.testing.assert_array_equal(fingerprints, truth.batch([f for f, _ in expected], bits))
    assert ids.tolist() == [id for _, id in expected]


def test_only_novel_documents_are_inserted(
    tmp_path: Path, bits: int, entries: list[tuple[int, int]]
) -> None:
    fingerprints = [f for f, _ in entries]
    kept: list[tuple[int, int]] = []
    expected = []
    for fingerprint, id in entries:
        near = truth.near(kept, fingerprint, K)
        if not near:
            kept.append((fingerprint, id))
        expected.append((True, id, 0) if not near else (False, near[0][2], near[0][0]))
    options = {"bits": bits, "durability": "buffered"}
    with fpdb.Db.create(tmp_path / "batch", **options) as db:
        some = db.write(truth.batch(fingerprints, bits), np.arange(len(entries)), unless_near=K)
        assert list(zip(*(column.tolist() for column in some[:3]))) == expected
        assert (some.kinds == fpdb.OutcomeKind.DUPLICATE).tolist() == (~some.novel).tolist()
        assert len(db) == len(kept) < len(entries)
    with fpdb.Db.create(tmp_path / "single", **options) as db:
        for (fingerprint, id), (is_novel, other, distance) in zip(entries, expected):
            outcome = db.insert_if_novel(fingerprint, id)
            assert (bool(outcome), outcome.id, outcome.distance or 0) == (is_novel, other, distance)
            assert (outcome.duplicate_of is None) == is_novel


def test_bulk_loads_equal_inserts(
    tmp_path: Path, bits: int, path: Path, entries: list[tuple[int, int]]
) -> None:
    fingerprints = truth.batch([f for f, _ in entries], bits)
    with fpdb.Db.create(tmp_path / "bulk", bits=bits) as db:
        report = db.bulk_load(fingerprints, np.arange(len(entries)))
        assert report == (len(entries), len(entries))
        assert db.stats()["segments"][0]["entries"] == len(entries)
        with fpdb.ReadOnlyDb.open(path) as inserted:
            for loaded, other in zip(db.entries(), inserted.entries(), strict=True):
                np.testing.assert_array_equal(loaded.fingerprints, other.fingerprints)
                np.testing.assert_array_equal(loaded.ids, other.ids)
