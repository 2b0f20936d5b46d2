"""Clusters of a corpus: the connected components of its pairs."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from ._arrow import expect_ids, longs, words
from ._components import components, contracted

EDGES = "high long, low long"
SIGN = -(1 << 63)


def clusters(
    pairs: DataFrame,
    *,
    scratch: str | os.PathLike[str] | None = None,
    driver_edges: int = 100_000_000,
    a_column: str = "a",
    b_column: str = "b",
) -> DataFrame:
    """Returns the cluster of each row that has a pair: columns id and cluster. A cluster is a connected
    component, and its number is the lowest id in it.

    First, each task replaces the pairs of its partition by as few as connect the same rows. Without
    scratch, the driver collects what is left and answers, with about 100 bytes of memory per pair that is
    left. With scratch, a folder or address that all workers can write to, it is stored there. If there
    are more than driver_edges, DataFrame jobs find the components (the alternating algorithm of Kiveris
    et al., "Connected Components in MapReduce and Beyond", SoCC 2014), and store each round there.
    Remove the folder after the result is computed.
    """
    expect_ids(pairs, a_column)
    expect_ids(pairs, b_column)
    edges = pairs.select(
        F.col(a_column).cast("long").alias("a"), F.col(b_column).cast("long").alias("b")
    ).mapInArrow(contracted, EDGES)
    if scratch is None:
        return _on_driver(edges)
    folder = os.fspath(scratch)
    edges = _stored(edges, f"{folder}/edges")
    if edges.count() <= driver_edges:
        return _on_driver(edges)
    return _by_rounds(edges, folder)


def _stored(df: DataFrame, path: str) -> DataFrame:
    df.write.mode("overwrite").parquet(path)
    # Without rows there may be no file, and so no schema in it.
    return df.sparkSession.read.schema(EDGES).parquet(path)


def _on_driver(edges: DataFrame) -> DataFrame:
    table = edges.toArrow()
    nodes, lowest = components(words(table.column(0)), words(table.column(1)))
    result = pa.table({"id": longs(nodes), "cluster": longs(lowest)})
    return edges.sparkSession.createDataFrame(result, "id long, cluster long")


def _by_rounds(edges: DataFrame, folder: str) -> DataFrame:
    # Spark orders numbers as signed ones. With the other sign bit, that is the unsigned order.
    edges = edges.select(_flipped("high"), _flipped("low"))
    number = 0
    while True:
        edges = _stored(_small_stars(_large_stars(edges)), f"{folder}/round-{number % 2}")
        if _are_stars(edges):
            break
        number += 1
    centres = edges.select(F.col("low").alias("high"), "low").distinct()
    found = edges.unionByName(centres)
    return found.select(_flipped("high").alias("id"), _flipped("low").alias("cluster"))


def _flipped(column: str) -> Any:
    return F.col(column).bitwiseXOR(F.lit(SIGN)).alias(column)


def _large_stars(edges: DataFrame) -> DataFrame:
    """Connects the higher neighbours of each node to the lowest of its neighbours and itself."""
    turned = edges.select(F.col("low").alias("node"), F.col("high").alias("neighbour"))
    same = edges.select(F.col("high").alias("node"), F.col("low").alias("neighbour"))
    with_lowest = turned.unionByName(same).select(
        "node",
        "neighbour",
        F.min("neighbour").over(Window.partitionBy("node")).alias("lowest"),
    )
    return (
        with_lowest.where(F.col("neighbour") > F.col("node"))
        .select(
            F.col("neighbour").alias("high"), F.least("node", "lowest").alias("low")
        )
        .distinct()
    )


def _small_stars(edges: DataFrame) -> DataFrame:
    """Connects each node and its lower neighbours to the lowest of them."""
    with_lowest = edges.select(
        "high", "low", F.min("low").over(Window.partitionBy("high")).alias("lowest")
    )
    of_neighbours = with_lowest.where(F.col("low") != F.col("lowest")).select(
        F.col("low").alias("high"), F.col("lowest").alias("low")
    )
    of_node = with_lowest.select("high", F.col("lowest").alias("low"))
    return of_node.unionByName(of_neighbours).distinct()


def _are_stars(edges: DataFrame) -> bool:
    """Says whether no node has two lower neighbours, or both a lower and a higher one."""
    as_high = edges.select(F.col("high").alias("node"), F.lit(2).alias("ends"))
    as_low = edges.select(F.col("low").alias("node")).distinct()
    ends = as_high.unionByName(as_low.select("node", F.lit(1).alias("ends")))
    total = ends.groupBy("node").agg(F.sum("ends").alias("ends"))
    return not total.where(F.col("ends") > 2).limit(1).count()
