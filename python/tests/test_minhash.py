"""Minima, smallest values and bands of texts."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest

DOCUMENTS = Path(__file__).parents[2] / "demo" / "documents.ndjson.gz"
NONE = 2**64 - 1


@pytest.fixture(scope="module")
def texts() -> list[str]:
    with gzip.open(DOCUMENTS, "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file][:200]


@pytest.fixture(scope="module")
def edited(texts: list[str]) -> list[str]:
    """The texts without a part of growing length."""
    return [text[len(text) * (i % 50) // 100 :] for i, text in enumerate(texts)]


@pytest.mark.parametrize("ngram", [None, 3])
def test_estimates_are_within_their_error_of_the_exact_similarity(
    texts: list[str], edited: list[str], ngram: int | None
) -> None:
    rows = np.arange(len(texts))
    exact = fpdb.jaccard_pairs(texts, rows, rows, others=edited, ngram=ngram)
    for values, estimate in [(fpdb.minima, fpdb.jaccard_of_minima), (fpdb.smallest, fpdb.jaccard_of_smallest)]:
        a, b = values(texts, 256, ngram=ngram), values(edited, 256, ngram=ngram)
        assert a.dtype == np.uint64 and a.shape == (len(texts), 256)
        found, error = estimate(a, b)
        assert (abs(found - exact) <= np.maximum(error, 0.01)).mean() > 0.6
        assert (abs(found - exact) <= 3 * np.maximum(error, 0.01)).mean() > 0.97
        assert abs((found - exact).mean()) < 0.01


def test_small_sets_are_compared_exactly_by_their_smallest_values() -> None:
    texts = ["the cat sat on the mat", "the cat sat on the sofa", "the cat"]
    values = fpdb.smallest(texts, 64)
    found, error = fpdb.jaccard_of_smallest(values[[0, 0]], values[[1, 2]])
    assert found.tolist() == [fpdb.jaccard(texts[0], texts[1]), fpdb.jaccard(texts[0], texts[2])]
    assert error.tolist() == [0, 0] and (np.diff(values[0][:5].astype(object)) > 0).all()
    assert values[0, 5:].tolist() == [NONE] * 59


def test_values_do_not_depend_on_threads_or_on_the_form_of_the_texts(texts: list[str]) -> None:
    expected = fpdb.minima(texts, 8, recipe="fives/1")
    for threads in (1, 3):
        assert (fpdb.minima(iter(texts), 8, recipe="fives/1", threads=threads) == expected).all()
    pa = pytest.importorskip("pyarrow")
    assert (fpdb.minima(pa.array(texts), 8, recipe="fives/1") == expected).all()
    assert (fpdb.minima(texts, 4, recipe="fives/1") == expected[:, :4]).all()


def test_keywords_are_features(texts: list[str]) -> None:
    values = fpdb.smallest(texts[:5], recipe="yanyiwu-20/1")
    assert ((values != NONE).sum(axis=1) <= 20).all()


def test_texts_without_features_have_no_values_and_no_similarity() -> None:
    values = fpdb.minima(["", None, "a b c d"], 4)  # type: ignore[list-item]
    assert values[:2].tolist() == [[NONE] * 4] * 2 and NONE not in values[2]
    assert np.isnan(fpdb.jaccard_of_minima(values[[0, 0]], values[[1, 2]])).all()
    values = fpdb.smallest(["", "a b c d"], 4)
    found, _ = fpdb.jaccard_of_smallest(values[[0, 0]], values)
    assert np.isnan(found[0]) and found[1] == 0
    assert fpdb.Bands(2, 2).hashes(fpdb.minima([""], 4)).tolist() == [[NONE, NONE]]


def test_bands_meet_as_often_as_their_probability_tells(texts: list[str], edited: list[str]) -> None:
    rows = np.arange(len(texts))
    exact = fpdb.jaccard_pairs(texts, rows, rows, others=edited)
    for b, r in [(32, 4), (8, 16)]:
        bands = fpdb.Bands(b, r)
        a, c = (bands.hashes(fpdb.minima(them, bands.minima)) for them in (texts, edited))
        assert a.shape == (len(texts), b)
        met = (a == c).any(axis=1).sum()
        expected = np.array([bands.probability(similarity) for similarity in exact])
        deviation = np.sqrt((expected * (1 - expected)).sum())
        assert abs(met - expected.sum()) <= 5 * deviation + 0.5, bands
        at_threshold = bands.probability(bands.threshold)
        assert at_threshold == pytest.approx(1 - (1 - 1 / b) ** b)


def test_bands_are_values() -> None:
    bands = fpdb.Bands(16, 8)
    assert (bands.b, bands.r, bands.minima, repr(bands)) == (16, 8, 128, "Bands(16, 8)")
    assert pickle.loads(pickle.dumps(bands)) == bands != fpdb.Bands(8, 16)
    assert len({bands, fpdb.Bands(16, 8)}) == 1


def test_wrong_arguments_are_refused() -> None:
    values = fpdb.minima(["a b c", "d e f"], 4)
    wrong: list[Any] = [values[0], values.astype(np.float64), "text", [["a"]], [[-1]]]
    for what in wrong:
        with pytest.raises((TypeError, OverflowError), match="array"):
            fpdb.jaccard_of_minima(what, values)
    with pytest.raises(fpdb.InvalidArgumentError, match="shape"):
        fpdb.jaccard_of_minima(values[:1], values)
    with pytest.raises(fpdb.InvalidArgumentError, match="4 minima, but these bands have 6"):
        fpdb.Bands(2, 3).hashes(values)
    for k in (0, 65_537):
        with pytest.raises(fpdb.InvalidArgumentError, match="expected 1 to 65536"):
            fpdb.smallest(["a"], k)
    with pytest.raises(fpdb.InvalidArgumentError, match="rows"):
        fpdb.Bands(0, 4)
