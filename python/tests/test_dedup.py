"""dedup: from a column of texts to the rows to keep."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest

WORDS = [f"w{number:04}" for number in range(3000)]


def document(seed: int, words: int = 200) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def edited(text: str, seed: int, edits: int = 3) -> str:
    """Replaces some words. Each changes two of the pairs of words."""
    rng = random.Random(seed)
    words = text.split()
    for place in rng.sample(range(len(words)), edits):
        words[place] = f"edit{rng.random()}"
    return " ".join(words)


def corpus(originals: int = 400) -> tuple[list[str], list[int]]:
    """Texts, and the original of each: its own number, or that of a text before it."""
    texts, origins = [], []
    for seed in range(originals):
        texts.append(document(seed))
        origins.append(len(texts) - 1)
        for copy in range(seed % 3):
            texts.append(edited(texts[origins[-1]], seed * 10 + copy))
            origins.append(origins[-1])
    return texts, origins


def check(found: fpdb.Deduplicated, origins: list[int]) -> None:
    expected = np.array(origins)
    is_original = expected == np.arange(len(expected))
    assert found.keep[is_original].all()
    dropped = ~found.keep
    # Copies of J = .94 are found nearly always.
    assert dropped.sum() >= 0.98 * (~is_original).sum()
    assert (expected[found.duplicate_of[dropped]] == expected[dropped]).all()
    assert (found.duplicate_of[found.keep] == -1).all()
    assert np.isnan(found.similarity[found.keep]).all()
    assert 0.8 < found.similarity[dropped].mean() < 1


def test_copies_are_dropped_and_name_the_row_that_they_are_like() -> None:
    texts, origins = corpus()
    found = fpdb.dedup(texts)
    check(found, origins)
    assert len(found) == len(texts) and found.dropped == int((~found.keep).sum())
    assert found.sizes()[0] == 3 and found.too_short == 0 and not found.earlier
    assert "rows: 799" in str(found) and "799" in found._repr_html_()
    assert all(similarity > 0.5 for _, _, similarity in found.examples())


def chunks(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), 100):
        yield texts[start : start + 100]


def columns() -> list[Any]:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    texts, _ = corpus(60)
    return [
        np.array(texts),
        np.array(texts, object),
        pa.array(texts),
        pa.chunked_array([texts[:30], texts[30:]]),
        pa.array(texts, pa.large_string()),
        pl.Series(texts),
        pd.Series(texts),
        pd.Series(texts, dtype="string[pyarrow]"),
        iter(texts),
        chunks(texts),
        (pa.array(chunk) for chunk in chunks(texts)),
    ]


@pytest.mark.parametrize("number", range(11))
def test_columns_of_every_kind_give_the_same_rows(number: int) -> None:
    texts, _ = corpus(60)
    expected = fpdb.dedup(texts)
    found = fpdb.dedup(columns()[number])
    assert found.keep.tolist() == expected.keep.tolist()
    assert found.duplicate_of.tolist() == expected.duplicate_of.tolist()


def test_missing_and_short_texts_are_kept_and_counted() -> None:
    import pandas as pd

    texts = [document(1), None, "", document(1)]
    for column in [texts, pd.Series(texts)]:
        found = fpdb.dedup(column)
        assert found.keep.tolist() == [True, True, True, False] and found.too_short == 2
    assert len(fpdb.dedup([])) == 0
    with pytest.raises(TypeError, match="a text must be a str, not int"):
        fpdb.dedup([1, 2])
    with pytest.raises(TypeError, match="not str"):
        fpdb.dedup("text")


def test_the_longest_text_of_a_cluster_is_kept_on_request() -> None:
    short = document(1, 190)
    texts = [short, document(2), short + " " + document(3, 10)]
    found = fpdb.dedup(texts, keep="longest")
    assert found.keep.tolist() == [False, True, True]
    assert found.duplicate_of.tolist() == [2, -1, -1]
    assert fpdb.dedup(texts).duplicate_of.tolist() == [-1, -1, 0]
    with pytest.raises(fpdb.InvalidArgumentError, match="must be in memory"):
        fpdb.dedup(iter(texts), keep="longest")


def test_a_second_data_set_is_compared_with_the_first_and_a_run_can_be_repeated(
    tmp_path: Path,
) -> None:
    texts, origins = corpus(100)
    names = [f"a/{row}" for row in range(len(texts))]
    first = fpdb.dedup(texts, names, against=tmp_path / "db")
    check(first, origins)
    again = fpdb.dedup(texts, names, against=tmp_path / "db")
    assert again.keep.tolist() == first.keep.tolist()
    more = [edited(texts[0], 7), document(5000), edited(document(5000), 8)]
    found = fpdb.dedup(more, ["b/0", "b/1", "b/2"], against=tmp_path / "db")
    assert found.keep.tolist() == [False, True, False]
    assert found.duplicate_of.tolist() == [-1, -1, 1] and found.earlier == {0: "a/0"}
    with pytest.raises(fpdb.InvalidArgumentError, match="give ids"):
        fpdb.dedup(texts, against=tmp_path / "db")
    for wrong in (["c/0"], ["c/0", "c/1", "c/2", "c/3"]):
        with pytest.raises(fpdb.InvalidArgumentError, match="than the 3 texts"):
            fpdb.dedup(more, wrong, against=tmp_path / "db")


def test_progress_counts_the_rows() -> None:
    calls: list[tuple[int, int | None]] = []
    texts, _ = corpus(60)
    fpdb.dedup(texts, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(texts), len(texts))
    fpdb.dedup(iter(texts), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(texts), None)
