"""Jobs for Spark: fingerprints, databases, batches of queries, all pairs and clusters of a corpus.

The jobs use only the DataFrame API, so they run on Apache Spark, on Spark Connect and on Sail. They need
pyarrow, and this package on every worker.

Spark has no unsigned numbers. A fingerprint of 64 bits is a column of type long with the same bits, and so is
an id. Ids are ordered as unsigned numbers, as everywhere in fpdb. A sketch is a column of type binary, 228 bytes,
and so is a fingerprint of 128 bits: 16 bytes, the high one first, so that they are in the order of the numbers,
hex() shows them as usual, and numpy arrays of such bytes (S16) are accepted everywhere.

    pages = fingerprint(pages, "text", recipe="default")
    near = pairs(pages, distance=3)             # a, b, distance
    same = clusters(near)                       # id, cluster

    build(pages, "/shared/crawl-2026-11", segments=64)
    found = batch(new_pages, "/shared/crawl-2026-11", distance=3)  # query, id, distance

Search by similarity needs sketches, which are fingerprints of 1824 bits:

    pages = fingerprint(pages, "text", bits=1824)
    near = pairs(pages, similarity=0.8)
    build(pages, "/shared/crawl-2026-12", segments=64, similarity=0.8)
    found = batch(new_pages, "/shared/crawl-2026-12")

docs/scale.md has the settings that matter, and measured costs.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy


def _require(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            raise ImportError(
                f"fpdb_engine.spark needs {package}: install pyarrow and either pyspark, or "
                "pyspark-client for Sail and Spark Connect"
            )


    if not hasattr(numpy, "bitwise_count"):
        raise ImportError(f"fpdb_engine.spark needs numpy 2, and this is {numpy.__version__}")


_require("pyarrow", "pyspark")

from ._batch import batch
from ._build import build
from ._clusters import clusters
from ._fingerprint import fingerprint
from ._pairs import pairs
from ._parts import Part, parts
from ._source import FpdbDataSource, register

__all__ = [
    "FpdbDataSource",
    "Part",
    "batch",
    "build",
    "clusters",
    "fingerprint",
    "pairs",
    "parts",
    "register",
]
