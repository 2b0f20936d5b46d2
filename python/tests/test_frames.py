"""Polars, DuckDB and Arrow streams."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TEXTS = ["One two three four five six", "one TWO three four five six!", "too short", None, "a b c d e f"]
KEPT = [True, False, True, True, True]
FINGERPRINTS = [None if text is None else fpdb.fingerprint(text) for text in TEXTS]


def test_polars_has_expressions() -> None:
    import polars as pl
    from fpdb_engine.polars import fingerprint, keep

    pages = pl.DataFrame({"text": TEXTS})
    for engine in ("in-memory", "streaming"):
        found = pages.lazy().with_columns(f=fingerprint("text"), keep=keep(pl.col("text")))
        collected = found.collect(engine=engine)  # type: ignore[call-overload]
        assert collected["f"].to_list() == FINGERPRINTS and collected["keep"].to_list() == KEPT
    assert pages.select(fingerprint("text", "pairs-short/1"))["text"][4] == fpdb.fingerprint("a b c d e f", "pairs-short/1")
    assert pages.select(keep("text", similarity=0.9))["text"].to_list() == KEPT
    # Only strings that are longer than 12 bytes are outside of the views of Polars.
    assert pages.filter(keep("text"))["text"].to_list() == [TEXTS[row] for row in (0, 2, 3, 4)]
    groups = pl.DataFrame({"text": TEXTS[:2] * 50, "group": [row // 2 % 10 for row in range(100)]})
    kept = groups.with_columns(keep=keep("text").over("group")).filter("keep")
    assert kept["group"].to_list() == list(range(10))
    with pytest.raises(Exception, match="no-such"):
        pages.select(fingerprint("text", "no-such"))


def test_duckdb_has_a_function(recwarn: pytest.WarningsRecorder) -> None:
    duckdb = pytest.importorskip("duckdb")
    from fpdb_engine.duckdb import register

    with duckdb.connect() as sql:
        register(sql)
        register(sql, recipe="pairs-short/1", name="short")
        sql.execute("CREATE TABLE pages (id INTEGER, text TEXT)")
        sql.executemany("INSERT INTO pages VALUES (?, ?)", list(enumerate(TEXTS)))
        rows = sql.execute("SELECT fpdb_fingerprint(text), short(text) FROM pages ORDER BY id").fetchall()
        assert [row[0] for row in rows] == FINGERPRINTS
        assert rows[4][1] == fpdb.fingerprint("a b c d e f", "pairs-short/1")
        near = sql.execute(
            "SELECT a.id, b.id FROM pages a JOIN pages b ON a.id < b.id AND "
            "bit_count(xor(fpdb_fingerprint(a.text), fpdb_fingerprint(b.text))) <= 3"
        ).fetchall()
        assert near == [(0, 1)]
        with pytest.raises(fpdb.InvalidArgumentError, match="no-such"):
            register(sql, recipe="no-such")
        # A query is a column of texts.
        assert fpdb.dedup(sql.sql("SELECT text FROM pages ORDER BY id")).keep.tolist() == KEPT
    assert not recwarn.list


def test_tables_and_streams_of_one_column_are_columns() -> None:
    import polars as pl

    table = pa.table({"text": TEXTS})
    views = pa.chunked_array([pa.array(TEXTS[:2], pa.string_view()), pa.array(TEXTS[2:], pa.string_view())])
    columns: list[Any] = [table, table.to_batches()[0], pl.DataFrame(table), views]
    columns += [pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), iter(table.to_batches())]
    columns += [table["text"].dictionary_encode(), pl.Series(TEXTS, dtype=pl.Categorical)]
    for column in columns:
        for verify in (False, True):
            if not isinstance(column, (pa.RecordBatchReader, Iterator)) or not verify:
                assert fpdb.dedup(column, verify=verify).keep.tolist() == KEPT
    with pytest.raises(TypeError, match="one column, not 2; select one of text, url"):
        fpdb.dedup(pa.table({"text": TEXTS, "url": TEXTS}))


def test_streams_are_read_a_batch_at_a_time() -> None:
    read = []

    def batches() -> Iterator[Any]:
        for number in range(5):
            read.append(number)
            yield pa.record_batch({"text": [f"a b c d e f {number}"]})

    done: list[int] = []
    reader = pa.RecordBatchReader.from_batches(pa.schema({"text": pa.string()}), batches())
    fpdb.dedup(reader, progress=lambda rows, total: done.append(len(read)))
    assert done == [1, 2, 3, 4, 5]
