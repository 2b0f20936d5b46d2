"""A namespace for Polars: importing this module adds `fpdb` to expressions and series.

>>> import polars as pl
>>> import fpdb_engine.polars
>>> pages = pl.DataFrame({"text": ["a b c d e f g h", "A, b, c, d, e, f, g, h!", "too short", None]})
>>> pages.filter(pl.col("text").fpdb.keep())["text"].to_list()
['a b c d e f g h', 'too short', None]
>>> pages.select(pl.col("text").fpdb.fingerprint()).dtypes, pages["text"].fpdb.fingerprint().null_count()
([UInt64], 2)
"""

from __future__ import annotations

from typing import Any

import polars as pl

from . import dedup, fingerprint_batch

__all__ = ["FpdbExpr", "FpdbSeries"]


@pl.api.register_series_namespace("fpdb")
class FpdbSeries:
    """What `Series.fpdb` has, for a series of texts."""

    def __init__(self, series: pl.Series) -> None:
        self._series = series

    def fingerprint(self, recipe: str = "default", *, threads: int | None = None) -> pl.Series:
        """Returns the fingerprints of 64 bits: null where a text is missing or too short."""
        values, has_one = fingerprint_batch(self._series, recipe, threads=threads)
        found = pl.Series(self._series.name, values)
        return found if has_one.all() else found.set(pl.Series(~has_one), None)

    def keep(self, similarity: float = 0.8, **options: Any) -> pl.Series:
        """Returns whether to keep each text: false for those that are near-duplicates of an earlier one. The
        options are those of `fpdb_engine.dedup`, which also says what each is like."""
        return pl.Series(self._series.name, dedup(self._series, similarity=similarity, **options).keep)


@pl.api.register_expr_namespace("fpdb")
class FpdbExpr:
    """What `Expr.fpdb` has, for a column of texts."""

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def fingerprint(self, recipe: str = "default", *, threads: int | None = None) -> pl.Expr:
        """Returns the fingerprints of 64 bits: null where a text is missing or too short."""
        return self._expr.map_batches(
            lambda texts: FpdbSeries(texts).fingerprint(recipe, threads=threads),
            return_dtype=pl.UInt64,
            is_elementwise=True,
        )

    def keep(self, similarity: float = 0.8, **options: Any) -> pl.Expr:
        """Returns whether to keep each text: false for those that are near-duplicates of an earlier one. The
        whole column is compared, so it is in memory. The options are those of `fpdb_engine.dedup`."""
        return self._expr.map_batches(
            lambda texts: FpdbSeries(texts).keep(similarity, **options), return_dtype=pl.Boolean
        )
