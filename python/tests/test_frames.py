"""Polars, DuckDB, Arrow streams and Parquet files."""

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


def test_polars_has_a_namespace() -> None:
    import fpdb_engine.polars
    import polars as pl

    assert {fpdb_engine.polars.FpdbExpr, fpdb_engine.polars.FpdbSeries}
    pages = pl.DataFrame({"text": TEXTS})
    text: Any = pl.col("text")
    for engine in ("in-memory", "streaming"):
        found = pages.lazy().with_columns(f=text.fpdb.fingerprint(), keep=text.fpdb.keep())
        collected = found.collect(engine=engine)  # type: ignore[call-overload]
        assert collected["f"].to_list() == FINGERPRINTS and collected["keep"].to_list() == KEPT
    series: Any = pages["text"]
    assert series.fpdb.fingerprint("words/1").to_list()[4] == fpdb.fingerprint("a b c d e f", "words/1")
    assert series.fpdb.keep(0.9, verify=True).to_list() == KEPT
    # Only strings that are longer than 12 bytes are outside of the views of Polars.
    assert pages.filter(text.fpdb.keep())["text"].to_list() == [TEXTS[row] for row in (0, 2, 3, 4)]
    with pytest.raises(Exception, match="no-such"):
        pages.select(text.fpdb.fingerprint("no-such"))


def test_duckdb_has_a_function(recwarn: pytest.WarningsRecorder) -> None:
    duckdb = pytest.importorskip("duckdb")
    from fpdb_engine.duckdb import register

    with duckdb.connect() as sql:
        register(sql)
        register(sql, recipe="words/1", name="words")
        sql.execute("CREATE TABLE pages (id INTEGER, text TEXT)")
        sql.executemany("INSERT INTO pages VALUES (?, ?)", list(enumerate(TEXTS)))
        rows = sql.execute("SELECT fpdb_fingerprint(text), words(text) FROM pages ORDER BY id").fetchall()
        assert [row[0] for row in rows] == FINGERPRINTS
        assert rows[4][1] == fpdb.fingerprint("a b c d e f", "words/1")
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
    columns += [table["text"].dictionary_encode()]
    for column in columns:
        for verify in (False, True):
            if not isinstance(column, (pa.RecordBatchReader, Iterator)) or not verify:
                assert fpdb.dedup(column, verify=verify).keep.tolist() == KEPT
    with pytest.raises(TypeError, match="one column, not 2; select one of text, url"):
        fpdb.dedup(pa.table({"text": TEXTS, "url": TEXTS}))


def test_only_columns_in_memory_are_kept_as_they_are() -> None:
    import pandas as pd
    import polars as pl
    from fpdb_engine._columns import is_in_memory

    table = pa.table({"text": TEXTS})
    in_memory: list[Any] = [TEXTS, tuple(TEXTS), np.array(TEXTS, object), pd.Series(TEXTS), pl.Series(TEXTS)]
    in_memory += [table, table["text"], table.to_batches()[0]]
    assert all(is_in_memory(column) for column in in_memory)
    others: list[Any] = [iter(TEXTS), pa.RecordBatchReader.from_batches(table.schema, []), np.array(["a", "b"])]
    if find_spec("duckdb"):
        import duckdb

        others.append(duckdb.connect().sql("SELECT 'a' AS text"))
    if find_spec("datasets"):
        import datasets

        others.append(datasets.Dataset(table)["text"])
    assert not any(is_in_memory(column) for column in others)


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


def test_parquet_files_become_one_without_near_duplicates(tmp_path: Path) -> None:
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for number, file in enumerate(files):
        ids = [f"{number}-{row}" for row in range(5)]
        pq.write_table(pa.table({"text": TEXTS, "id": ids}), file, row_group_size=2)
    target = tmp_path / "kept.parquet"
    found = fpdb.dedup_parquet(files, target)
    assert found.keep.tolist() == [*KEPT, False, False, True, True, False]
    assert pq.read_table(target)["id"].to_pylist() == ["0-0", "0-2", "0-3", "0-4", "1-2", "1-3"]
    assert fpdb.dedup_parquet(str(files[0]), target, verify=True, ngram=3).keep.tolist() == KEPT
    against = tmp_path / "db"
    for file, kept in [(files[0], 4), (files[1], 2), (files[0], 4)]:
        fpdb.dedup_parquet(file, target, against=against, id_column="id")
        assert pq.read_metadata(target).num_rows == kept
    assert {file.name for file in tmp_path.glob("*parquet*")} == {"a.parquet", "b.parquet", "kept.parquet"}


def test_wrong_parquet_files_are_refused(tmp_path: Path) -> None:
    file, other, target = (tmp_path / f"{name}.parquet" for name in ("file", "other", "target"))
    pq.write_table(pa.table({"text": TEXTS}), file)
    pq.write_table(pa.table({"text": TEXTS, "n": range(5)}), other)
    invalid = fpdb.InvalidArgumentError
    calls: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: fpdb.dedup_parquet([], target), invalid, "no files"),
        (lambda: fpdb.dedup_parquet(file, file), invalid, "is one of the sources"),
        (lambda: fpdb.dedup_parquet(file, target, "body"), invalid, "no column 'body'; its columns are text"),
        (lambda: fpdb.dedup_parquet([file, other], target), invalid, "other columns or types"),
        (lambda: fpdb.dedup_parquet(tmp_path / "no", target), FileNotFoundError, "no"),
        (lambda: fpdb.dedup_parquet(file, target, keep="longest"), invalid, "must be in memory"),
        (lambda: fpdb.dedup_parquet(other, target, "n"), TypeError, "strings, not an Arrow array of int64"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    assert not target.exists()


def test_ids_of_parquet_files_are_values_of_any_type_but_none_may_be_missing(tmp_path: Path) -> None:
    file, target = tmp_path / "file.parquet", tmp_path / "kept.parquet"
    texts = [" ".join(f"{row}-{word}" for word in range(9)) for row in range(2)]
    columns: dict[str, tuple[Any, list[str]]] = {
        "strings": (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        "categories": (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        "signed": (pa.array([-1, 2], pa.int8()), ["-1", "2"]),
        "unsigned": (pa.array([2**64 - 1, 0], pa.uint64()), ["18446744073709551615", "0"]),
        "decimals": (pa.array([Decimal("1.50"), Decimal("2.25")]), ["1.50", "2.25"]),
        "dates": (pa.array([date(2026, 1, 1), date(2026, 1, 2)]), ["2026-01-01", "2026-01-02"]),
        "missing": (pa.array(["a", None]), []),
    }
    pq.write_table(pa.table({"text": texts, **{name: values for name, (values, _) in columns.items()}}), file)
    for name, (_, ids) in columns.items():
        if not ids:
            with pytest.raises(fpdb.InvalidArgumentError, match="ids: row 1 has no id"):
                fpdb.dedup_parquet(file, target, against=tmp_path / name, id_column=name)
            continue
        fpdb.dedup_parquet(file, target, against=tmp_path / name, id_column=name)
        with fpdb.Db.open(tmp_path / name) as db:
            assert db.names(np.arange(2)) == ids, name


def test_damaged_parquet_files_are_refused_by_their_names(tmp_path: Path) -> None:
    whole, target = tmp_path / "whole.parquet", tmp_path / "kept.parquet"
    pq.write_table(pa.table({"text": TEXTS}), whole, write_page_checksum=True, compression="none")
    content = whole.read_bytes()
    cuts = [content[:length] for length in (0, 4, 100, len(content) // 2, len(content) - 1)]
    # It is also in statistics, which nobody reads.
    flipped = content.replace(b"too short", b"too shorT", 1)
    encrypted = b"PARE" + content[4:-4] + b"PARE"
    for number, damaged in enumerate([*cuts, flipped, encrypted, b"this is text, and no table of any kind"]):
        file = tmp_path / f"damaged-{number}.parquet"
        file.write_bytes(damaged)
        with pytest.raises((pa.ArrowException, OSError), match=file.name):
            fpdb.dedup_parquet([whole, file], target)
    assert not any("kept" in file.name for file in tmp_path.iterdir())


def test_folders_and_metadata_of_data_sets_are_no_parquet_files(tmp_path: Path) -> None:
    folder, target = tmp_path / "set", tmp_path / "kept.parquet"
    table = pa.table({"text": TEXTS})
    written: list[Any] = []
    pq.write_to_dataset(table, folder, metadata_collector=written)
    pq.write_metadata(table.schema, folder / "_metadata", metadata_collector=written)
    for source in (folder, folder / "_metadata"):
        with pytest.raises(OSError, match=str(source)):
            fpdb.dedup_parquet(source, target)
    assert not target.exists()
    assert fpdb.dedup_parquet(sorted(folder.glob("*.parquet")), target).keep.tolist() == KEPT


def test_parquet_files_without_rows_give_one_without_rows(tmp_path: Path) -> None:
    file, target = tmp_path / "file.parquet", tmp_path / "kept.parquet"
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), file)
    assert len(fpdb.dedup_parquet(file, target)) == 0
    assert pq.read_table(target).schema == pa.schema({"text": pa.string()})


# Writes texts of 2,000 bytes, many of them near-duplicates, and prints the peak of memory before and after.
MEMORY = """
import random, resource, sys
import pyarrow as pa, pyarrow.parquet as pq
import fpdb_engine as fpdb

rng = random.Random(1)
words = [f"word{n:04}" for n in range(5000)]
pool = [" ".join(rng.choices(words, k=500)) for _ in range(500)]
with pq.ParquetWriter("in.parquet", pa.schema({"text": pa.string()})) as writer:
    for _ in range(int(sys.argv[1]) // 1000):
        texts = [f"{rng.choice(pool)[:1000]} {rng.random()} {rng.choice(pool)[:1000]}" for _ in range(1000)]
        writer.write_batch(pa.record_batch({"text": texts}))
fpdb.dedup_parquet("in.parquet", "out.parquet")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_grows_by_bytes_per_row_not_by_texts(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        program = [sys.executable, "-c", MEMORY, str(rows)]
        ran = subprocess.run(program, cwd=tmp_path, check=True, capture_output=True, text=True)
        return int(ran.stdout) * 1024

    few, many = peak(20_000), peak(80_000)
    # The other texts have 120 MB. Each row takes 13 bytes in the result. Up to 131,072 recent ones take at most 300
    # more in the database; the rest is what the allocators keep.
    assert many - few < 60_000 * (13 + 300) + (4 << 20), (few, many)
