"""Exact similarities: jaccard, jaccard_pairs, and dedup with verify."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    words = re.findall(r"[^\W_]+", text.lower())
    return {tuple(words[place : place + length]) for place in range(len(words) - length + 1)}


def exact(a: str, b: str, length: int) -> float:
    first, second = runs(a, length), runs(b, length)
    return len(first & second) / max(len(first | second), 1)


def crowd(number: int = 600) -> list[str]:
    """Texts of one family, of which neighbours have similarities on both sides of 0.8."""
    rng = random.Random(4)
    words = [f"w{rng.randrange(10**9)}" for _ in range(120)]
    texts = []
    for _ in range(number):
        some = list(words)
        for place in rng.sample(range(len(some)), rng.randint(0, 12)):
            some[place] = f"x{rng.randrange(10**9)}"
        texts.append(" ".join(some))
        if rng.random() < 0.1:
            words = [f"w{rng.randrange(10**9)}" for _ in range(120)]
    return texts


def check_verified(found: fpdb.Deduplicated, texts: list[str], length: int, similarity: float) -> None:
    """Every dropped row reaches the similarity with a kept row before it, which it names."""
    dropped = np.flatnonzero(~found.keep)
    assert len(dropped) > 20
    for row in dropped.tolist():
        of = int(found.duplicate_of[row])
        assert of < row and found.keep[of]
        truth = exact(texts[row], texts[of], length)
        assert truth >= similarity
        assert abs(found.similarity[row] - truth) < 1e-6


def test_jaccard_is_that_of_the_sets_of_words() -> None:
    texts = crowd(30)
    for length in (1, 2, 5):
        for a, b in zip(texts, texts[1:]):
            assert fpdb.jaccard(a, b, ngram=length) == exact(a, b, length)
    for a, b in zip(texts, texts[1:]):
        assert fpdb.jaccard(a, b) == exact(a, b, 2)  # no text of these has punctuation
    assert np.isnan(fpdb.jaccard("", "", ngram=5)) and fpdb.jaccard("", "a b", ngram=2) == 0
    # A text that is too short for a feature is one as a whole.
    assert [fpdb.jaccard("a", b) for b in ("A!", "b", "a b")] == [1, 0, 0]
    assert fpdb.jaccard("one two", "One, two", ngram=5) == 1 and fpdb.jaccard("+", "-") == 0
    assert fpdb.jaccard("图书馆晚上六点闭馆", "图书馆晚上七点闭馆") == 6 / 10
    # Runs are cut as the recipe does.
    assert fpdb.jaccard("图书馆晚上六点闭馆", "图书馆晚上七点闭馆", ngram=3) == 4 / 10
    assert fpdb.jaccard("die größe der straße", "DIE GRÖSSE DER STRASSE", ngram=3) == 1
    for wrong in (0, 10**9):
        with pytest.raises(fpdb.InvalidArgumentError, match="expected 1 to 1000 words"):
            fpdb.jaccard("a", "b", ngram=wrong)
    with pytest.raises(fpdb.InvalidArgumentError, match="no recipe"):
        fpdb.jaccard("a", "b", recipe="nothing/1")


def test_pairs_have_the_similarities_of_jaccard() -> None:
    import pyarrow as pa

    texts, rng = crowd(300), random.Random(1)
    a = [rng.randrange(300) for _ in range(40_000)]
    b = [rng.randrange(300) for _ in a]
    found = fpdb.jaccard_pairs(pa.array(texts), a, np.array(b), ngram=3)
    assert len(found) == len(a)
    for at in range(0, len(a), 97):
        assert found[at] == fpdb.jaccard(texts[a[at]], texts[b[at]], ngram=3)
    found = fpdb.jaccard_pairs(texts, [0, 5], [1, 0], others=["nothing like it", None, texts[5]])
    assert found.tolist() == [0, 0]
    assert fpdb.jaccard_pairs(texts, [5], [2], others=["nothing like it", None, texts[5]]) == [1]
    assert fpdb.jaccard_pairs([], [], []).tolist() == []
    with pytest.raises(fpdb.InvalidArgumentError, match="b: position 3, but there are 3 texts"):
        fpdb.jaccard_pairs(texts, [5], [3], others=["a", "b", "c"])
    with pytest.raises(fpdb.InvalidArgumentError, match="2 positions in a, but 1 in b"):
        fpdb.jaccard_pairs(texts, [1, 2], [3])


@pytest.mark.parametrize("ngram", [None, 5])
@pytest.mark.parametrize("threads", [1, 3])
def test_nothing_below_the_threshold_is_dropped(ngram: int | None, threads: int) -> None:
    texts = crowd()
    estimated = fpdb.dedup(texts, threads=threads, verify=False)
    wrong = [
        row
        for row in np.flatnonzero(~estimated.keep)
        if exact(texts[row], texts[estimated.duplicate_of[row]], 2) < 0.8
    ]
    assert wrong, "the estimate is exact for these texts, so they test nothing"
    found = fpdb.dedup(texts, ngram=ngram, threads=threads)
    check_verified(found, texts, ngram or 2, 0.8)
    # Of the kept rows, nearly all pairs are below the threshold, though many are near.
    kept = np.flatnonzero(found.keep)
    a, b = (np.concatenate(side) for side in zip(*neighbours(kept)))
    above = fpdb.jaccard_pairs(texts, a, b, ngram=ngram) >= 0.85
    assert above.sum() <= 0.02 * found.dropped


def neighbours(kept: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for step in range(1, 30):
        yield kept[:-step], kept[step:]


@pytest.mark.parametrize("verify", [True, False])
def test_iterators_of_many_chunks_give_the_rows_of_a_column(monkeypatch: pytest.MonkeyPatch, verify: bool) -> None:
    import pyarrow as pa
    from fpdb_engine import _columns

    texts = crowd()
    texts[7:7] = ["", "short"]
    texts.append(texts[0])
    monkeypatch.setattr(_columns, "CHUNK", 64)
    options: dict[str, Any] = {"verify": verify}
    expected = fpdb.dedup(texts, **options)
    if verify:
        check_verified(expected, texts, 2, 0.8)
    assert (expected.empty, expected.too_short) == (1, 1)
    for column in (
        iter(texts),
        (texts[at : at + 50] for at in range(0, len(texts), 50)),
        (pa.array(texts[at : at + 50]) for at in range(0, len(texts), 50)),
        pa.chunked_array([texts[:100], texts[100:]]),
        np.array(texts, object),
    ):
        found = fpdb.dedup(column, **options)
        assert found.keep.tolist() == expected.keep.tolist()
        assert found.duplicate_of.tolist() == expected.duplicate_of.tolist()
        assert np.array_equal(found.similarity, expected.similarity, equal_nan=True)
    # The division into chunks makes no difference.
    monkeypatch.setattr(_columns, "BYTES", 1000)
    assert fpdb.dedup(pa.array(texts), **options).duplicate_of.tolist() == expected.duplicate_of.tolist()
    monkeypatch.undo()
    for threads in (1, 3):
        assert fpdb.dedup(texts, **options, threads=threads).duplicate_of.tolist() == expected.duplicate_of.tolist()


def test_the_longest_of_similar_texts_is_kept_and_verified() -> None:
    texts = crowd(200)
    texts = [text + " and more words" * (at % 2) for at, text in enumerate(texts)]
    found = fpdb.dedup(texts, keep="longest")
    for row in np.flatnonzero(~found.keep).tolist():
        of = int(found.duplicate_of[row])
        assert found.keep[of] and len(texts[of]) >= len(texts[row])
        assert exact(texts[row], texts[of], 2) >= 0.8
    assert found.dropped > 20


def test_earlier_documents_are_verified_by_their_texts(tmp_path: Path) -> None:
    texts = crowd()
    # So that each half has texts of each family.
    texts = texts[::2] + texts[1::2]
    half = len(texts) // 2
    names = [f"{row}" for row in range(len(texts))]
    asked: list[str] = []

    def text_of(some: list[str]) -> list[str | None]:
        asked.extend(some)
        return [texts[int(name.removeprefix("run/").removeprefix("other/"))] for name in some]

    options: dict[str, Any] = {"against": tmp_path / "db", "text_of": text_of, "verify": "all"}
    first = fpdb.dedup(texts[:half], names[:half], run="run", **options)
    assert not asked, "the texts of this run were given as a column"
    for _ in range(2):  # the second time, the rows are there already
        asked.clear()
        found = fpdb.dedup(texts[half:], names[half:], run="other", **options)
        assert found.earlier and all(first.keep[int(name[4:])] for name in found.earlier.values())
        assert found.estimated == 0
        for row, name in found.earlier.items():
            assert exact(texts[half + row], texts[int(name[4:])], 2) >= 0.8
            assert not found.keep[row] and found.duplicate_of[row] == -1
        for row in np.flatnonzero(found.duplicate_of >= 0).tolist():
            assert exact(texts[half + row], texts[half + int(found.duplicate_of[row])], 2) >= 0.8
    whole = fpdb.dedup(texts)
    assert found.keep.tolist() == whole.keep.tolist()[half:]
    all_asked = len(asked)
    asked.clear()
    shutil.rmtree(tmp_path / "db-features")
    some = fpdb.dedup(texts[half:], names[half:], run="other", **options | {"verify": True})
    assert some.keep.tolist() == found.keep.tolist()
    assert 0 < len(asked) < all_asked, "only texts near the threshold are needed"
    assert some.unsure == 0 < some.estimated <= len(some.earlier)
    # For documents of which neither texts nor features are known, the sketches decide.
    shutil.rmtree(tmp_path / "db-features")
    options["text_of"] = lambda names: [None] * len(names)
    unknown = fpdb.dedup(texts[half:], names[half:], run="third", **options)
    assert unknown.estimated == len(unknown.earlier) > unknown.unsure > 0
    for row, name in unknown.earlier.items():
        assert exact(texts[half + row], texts[int(name.partition("/")[2])], 2) > 0.75
        assert unknown.similarity[row] > 0.77
    assert "not sure without an earlier document's text" in str(unknown)
    with pytest.raises(fpdb.InvalidArgumentError, match=r"asked for \d+ texts and returned 0"):
        options["text_of"] = lambda names: []
        fpdb.dedup(texts[:1], ["b"], run="fourth", **options)


def test_no_removal_from_real_texts_is_below_the_threshold() -> None:
    """Manuals and licences, in which boilerplate has many similarities just below the threshold."""
    if "FPDB_DATA" not in os.environ:
        pytest.skip("left out: the texts of FPDB_DATA, which is not set")
    texts = []
    for name in ("corpus_en", "variants_en"):
        with gzip.open(Path(os.environ["FPDB_DATA"]) / f"{name}.ndjson.gz", "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in lines]
    for ngram in (2, 5):
        found = fpdb.dedup(texts, ngram=ngram)
        check_verified(found, texts, ngram, 0.8)
        assert found.dropped > 500


def test_distances_of_min_hashes_tell_the_similarity_and_others_are_refused() -> None:
    words = [f"word{i}" for i in range(400)]
    edited = [f"other{i}" if i % 40 == 7 else word for i, word in enumerate(words)]
    for recipe in ("pairs/1", "fives/1"):
        a, b = (fpdb.fingerprint(" ".join(text), recipe, bits=128) for text in (words, edited))
        assert a is not None and b is not None
        similarity, error = fpdb.estimate_jaccard(bin(a ^ b).count("1"), recipe, bits=128)
        exact = fpdb.jaccard(" ".join(words), " ".join(edited), recipe=recipe)
        assert abs(similarity - exact) < 4 * error, recipe
    with pytest.raises(ValueError, match="seomoz/1 is not a MinHash"):
        fpdb.estimate_jaccard(3, "seomoz/1", bits=64)


@pytest.mark.parametrize("sets", [("corpus_en", "variants_en"), ("corpus_zh", "variants_zh"), ("reviews_zh",)])
def test_sketches_alone_tell_the_similarity_of_real_texts(tmp_path: Path, sets: tuple[str, ...]) -> None:
    """Manuals, licences, articles and edited variants: thousands of pairs of every similarity from 0.5 on."""
    data = os.environ.get("FPDB_DATA")
    if data is None:
        pytest.skip("left out: the texts of FPDB_DATA, which is not set")
    texts = []
    for name in sets:
        with gzip.open(Path(data) / f"{name}.ndjson.gz", "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in lines]
    sketches, has_one = fpdb.fingerprint_batch(texts, bits=1824)
    rows = np.flatnonzero(has_one)
    with fpdb.Db.create(tmp_path / "db", similarity=0.5, recall=0.999) as db:
        db.write(sketches[rows], rows)
        a, b = (np.concatenate(side).astype(int) for side in list(zip(*db.pairs(expand=True)))[:2])
    exact = np.asarray(fpdb.jaccard_pairs(texts, a, b))
    assert len(exact) > 1_000
    for similarity in (0.7, 0.8, 0.9):
        is_match = fpdb.MatchRule(similarity).distances(sketches[a], sketches[b]) < 255
        assert exact[is_match].min() > similarity - 0.06
        assert is_match[exact < similarity - 0.03].mean() < 0.03
        # Most of them are more similar than that, of which more than 95 % are found.
        assert is_match[exact >= similarity].mean() > 0.97
