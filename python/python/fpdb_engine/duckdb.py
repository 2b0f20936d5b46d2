"""Functions for DuckDB.

>>> import duckdb
>>> from fpdb_engine.duckdb import register
>>> sql = duckdb.connect()
>>> register(sql)
>>> sql.sql("SELECT fpdb_fingerprint('a b c d e f'), fpdb_fingerprint('too short')").fetchall()
[(16400469432401699524, None)]
"""

from __future__ import annotations

from typing import Any

from . import fingerprint_batch

__all__ = ["register"]


def register(connection: Any, *, recipe: str = "default", name: str = "fpdb_fingerprint") -> None:
    """Adds a function to a connection that makes the fingerprint of a text: a UBIGINT, or NULL where the text is
    missing or too short to be compared. It takes the texts from DuckDB's memory, a chunk at a time. DuckDB's own
    `bit_count(xor(a, b))` is the distance of two fingerprints. Needs pyarrow."""
    import pyarrow as pa

    # Fails here, not in a query, if there is no such recipe.
    fingerprint_batch([], recipe)

    def fingerprint(texts: Any) -> Any:
        values, has_one = fingerprint_batch(texts, recipe, threads=1)
        return pa.array(values, mask=~has_one)

    connection.create_function(
        name, fingerprint, ["VARCHAR"], "UBIGINT", type="arrow", null_handling="special"
    )
