"""Joins the near-duplicates in a DuckDB table with SQL.

    pip install duckdb pyarrow
    python duckdb_table.py
"""

from __future__ import annotations

import tempfile

import duckdb
import fpdb_engine as fpdb
import pyarrow as pa

sql = duckdb.connect()
sql.execute("CREATE TABLE pages (id UBIGINT, url TEXT, text TEXT)")
sql.execute(
    """
    INSERT INTO pages VALUES
        (1, 'https://a.example/', 'Insert the disc, close the tray, and wait for the green light.'),
        (2, 'https://b.example/', 'Insert the disc; close the tray and wait for the green light!'),
        (3, 'https://c.example/', 'Remove the battery cover and take out the old battery.'),
        (4, 'https://d.example/', NULL)
    """
)

with (
    tempfile.TemporaryDirectory() as folder,
    fpdb.Db.create(f"{folder}/pages.fpdb", max_distance=3, durability="buffered") as db,
):
    # Batches of Arrow, so that the texts need not fit into memory.
    for batch in sql.sql("SELECT id, text FROM pages").to_arrow_reader(100_000):
        values, has_one = fpdb.fingerprint_batch(batch["text"])
        db.bulk_load(values[has_one], batch["id"].to_numpy()[has_one])
    chunks = [pa.table(chunk._asdict()) for chunk in db.pairs()]

empty = pa.table({"a": pa.array([], pa.uint64()), "b": pa.array([], pa.uint64())})
empty = empty.append_column("distances", pa.array([], pa.uint8()))
sql.register("pairs", pa.concat_tables([empty, *chunks]))
answer = sql.execute(
    """
    SELECT least(a.url, b.url), greatest(a.url, b.url), distances
    FROM pairs JOIN pages a ON a.id = pairs.a JOIN pages b ON b.id = pairs.b
    """
)
print(answer.fetchall())
