"""Fingerprints of a column of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructField, StructType

import fpdb_engine

from ._arrow import expect_texts, longs, place_of


def fingerprint(
    df: DataFrame, text_column: str, recipe: str = "default", *, output: str = "fingerprint"
) -> DataFrame:
    """Returns the rows with another column: the fingerprint of each text.

    The fingerprint is null if the text is, or if it has too little text for the recipe. All columns pass
    through Python, so select only those that are still needed.
    """
    # Fails here, not in a task, if there is no such recipe.
    fpdb_engine.fingerprint("", recipe)
    expect_texts(df, text_column)
    at = place_of(df, text_column)
    if output in df.columns:
        raise fpdb_engine.InvalidArgumentError(f"there is already a column {output!r}")
    schema = StructType([*df.schema.fields, StructField(output, LongType())])

    def add_fingerprints(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield _with_fingerprints(batch, at, recipe, output)

    return df.mapInArrow(add_fingerprints, schema)


def _with_fingerprints(batch: Any, at: int, recipe: str, output: str) -> Any:
    # Engines differ in the string type that they pass on; a text of every type is cast to one.
    texts = batch.column(at).cast(pa.large_string())
    values, has_one = fpdb_engine.fingerprint_batch(texts, recipe, threads=1)
    column = longs(values)
    none = pa.nulls(len(column), pa.int64())
    column = pc.if_else(pa.array(has_one), column, none)
    return batch.append_column(output, column)
