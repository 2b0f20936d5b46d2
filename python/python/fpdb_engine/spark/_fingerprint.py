"""Fingerprints of a column of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

import fpdb_engine

from ._arrow import expect_texts, fingerprint_column, place_of


def fingerprint(
    df: DataFrame,
    text_column: str,
    recipe: str = "default",
    *,
    bits: int = 64,
    output: str = "fingerprint",
) -> DataFrame:
    """Returns the rows with another column: the fingerprint of each text, of type long with 64 bits, and of
    type binary with 128, or with 1824: these are sketches, which a search by similarity needs.

    The fingerprint is null if the text is, or if it has too little text for the recipe. All columns pass
    through Python, so select only those that are still needed.
    """
    # Fails here, not in a task, if there is no such recipe.
    fpdb_engine.fingerprint("", recipe, bits=bits)
    expect_texts(df, text_column)
    at = place_of(df, text_column)
    if output in df.columns:
        raise fpdb_engine.InvalidArgumentError(f"there is already a column {output!r}")
    output_type = LongType() if bits == 64 else BinaryType()
    schema = StructType([*df.schema.fields, StructField(output, output_type)])

    def add_fingerprints(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield _with_fingerprints(batch, at, recipe, bits, output)

    return df.mapInArrow(add_fingerprints, schema)


def _with_fingerprints(batch: Any, at: int, recipe: str, bits: int, output: str) -> Any:
    # Engines differ in the string type that they pass on; a text of every type is cast to one.
    texts = batch.column(at).cast(pa.large_string())
    values, has_one = fpdb_engine.fingerprint_batch(texts, recipe, bits=bits, threads=1)
    column = fingerprint_column(values)
    none = pa.nulls(len(column), column.type)
    column = pc.if_else(pa.array(has_one), column, none)
    return batch.append_column(output, column)
