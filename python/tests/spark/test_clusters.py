"""Clusters are the connected components."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pyarrow as pa
import pytest

jobs = pytest.importorskip(
    "fpdb_engine.spark", reason="the Spark jobs: a package is missing", exc_type=ImportError
)


def graph(rng: np.random.Generator) -> list[tuple[int, int]]:
    """A path in an order that is bad for union by neighbours, a star around its highest node, a circle,
    random trees, and nodes that are greater than the greatest signed number."""
    path = list(range(1000, 1200))
    rng.shuffle(path)
    edges = list(zip(path, path[1:]))
    edges += [(5000, leaf) for leaf in range(4000, 4100)]
    edges += [(2000 + at, 2000 + (at + 1) % 50) for at in range(50)]
    edges += [(int(rng.integers(10_000, 10_000 + at)), 10_000 + at) for at in range(1, 500)]
    edges += [(int(a), int(b)) for a, b in rng.integers(20_000, 23_000, (1000, 2)) if a != b]
    edges += [(1 << 63, 7), ((1 << 63) + 5, 1 << 63), ((1 << 64) - 1, (1 << 64) - 2)]
    return [edges[at] for at in rng.permutation(len(edges))]


def as_frame(spark: Any, edges: list[tuple[int, int]]) -> Any:
    columns = np.array(edges, np.uint64).view(np.int64)
    table = pa.table({"a": columns[:, 0].copy(), "b": columns[:, 1].copy()})
    return spark.createDataFrame(table).repartition(3)


def answer(clusters: Any) -> dict[int, int]:
    table = clusters.toArrow()
    found = corpus.unsigned(table, "id"), corpus.unsigned(table, "cluster")
    assert len(set(found[0].tolist())) == table.num_rows
    return dict(zip(found[0].tolist(), found[1].tolist()))


@pytest.mark.parametrize("edges_of_the_driver", [{}, {"driver_edges": 1 << 30}, {"driver_edges": 0}])
def test_the_driver_and_rounds_find_the_components(
    spark: Any, rng: np.random.Generator, tmp_path: Path, edges_of_the_driver: dict[str, int]
) -> None:
    edges = graph(rng)
    scratch = {"scratch": tmp_path} if edges_of_the_driver else {}
    found = jobs.clusters(as_frame(spark, edges), **scratch, **edges_of_the_driver)
    assert answer(found) == corpus.lowest_connected(edges)


def test_a_task_connects_what_it_read_in_several_blocks(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fpdb_engine.spark import _components

    edges = graph(rng)
    columns = np.array(edges, np.uint64).view(np.int64)
    table = pa.table({"a": columns[:, 0].copy(), "b": columns[:, 1].copy()})
    monkeypatch.setattr(_components, "EDGES", 100)
    kept = pa.Table.from_batches(_components.contracted(table.to_batches(max_chunksize=30)))
    found = corpus.unsigned(kept, "high"), corpus.unsigned(kept, "low")
    expected = {node: low for node, low in corpus.lowest_connected(edges).items() if node != low}
    assert dict(zip(found[0].tolist(), found[1].tolist())) == expected
    assert kept.num_rows == len(expected)


def test_no_pairs_are_no_clusters(spark: Any, tmp_path: Path) -> None:
    none = as_frame(spark, [(1, 2)]).where("a > 5")
    assert answer(jobs.clusters(none)) == {}
    assert answer(jobs.clusters(none, scratch=tmp_path, driver_edges=-1)) == {}


def test_clusters_of_pairs_are_those_of_one_database(
    spark: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    fingerprints, ids = corpus.mixed(rng, 3)
    near = jobs.pairs(corpus.frame(spark, fingerprints, ids), 3, tasks=4)
    found = answer(jobs.clusters(near))
    with corpus.database(tmp_path / "db", fingerprints, ids, 3) as db:
        expected = db.clusters(3, method="components")
    first = expected.ids[expected.offsets[:-1]]
    clusters = np.repeat(first, np.diff(expected.offsets))
    assert found == dict(zip(expected.ids.tolist(), clusters.tolist()))
