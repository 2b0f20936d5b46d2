"""Expressions for Polars.

>>> import polars as pl
>>> from fpdb_engine.polars import fingerprint, keep
>>> pages = pl.DataFrame({"text": ["a b c d e f g h", "A, b, c, d, e, f, g, h!", "too short", None]})
>>> pages.filter(keep("text"))["text"].to_list()
['a b c d e f g h', 'too short', None]
>>> pages.select(fingerprint("text")).dtypes, pages.select(fingerprint("text"))["text"].null_count()
([UInt64], 2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from . import dedup, fingerprint_batch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._dedup import Options

__all__ = ["fingerprint", "keep"]


def fingerprint(texts: str | pl.Expr, recipe: str = "default", *, threads: int | None = None) -> pl.Expr:
    """Returns the fingerprints of 64 bits of a column: null where a text is missing or too short."""

    def some(values: pl.Series) -> pl.Series:
        fingerprints, has_one = fingerprint_batch(values, recipe, threads=threads)
        found = pl.Series(values.name, fingerprints)
        return found if has_one.all() else found.set(pl.Series(~has_one), None)

    return _expr(texts).map_batches(some, return_dtype=pl.UInt64, is_elementwise=True)


def keep(texts: str | pl.Expr, **options: Unpack[Options]) -> pl.Expr:
    """Returns whether to keep each text of a column: false for near-duplicates of one that is kept. The whole column is
    compared, so it is in memory; with `.over(group)`, each group by itself. The options are those of
    `fpdb_engine.dedup`, which also says what each is like."""

    def all_of(values: pl.Series) -> pl.Series:
        return pl.Series(values.name, dedup(values, **options).keep)

    return _expr(texts).map_batches(all_of, return_dtype=pl.Boolean)


def _expr(texts: str | pl.Expr) -> pl.Expr:
    return pl.col(texts) if isinstance(texts, str) else texts
