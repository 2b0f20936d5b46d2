"""dedup: from a column of texts to the rows to keep."""

from __future__ import annotations

import datetime
import math
import random
import shutil
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest
from fpdb_engine import _columns
from fpdb_engine._growing import Growing

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


def test_an_array_that_grows_has_all_parts_and_little_free_space() -> None:
    growing, parts = Growing(np.int64), [np.arange(size) for size in [0, 1, 0, 100, 7, 3000, 1]]
    for part in parts:
        growing.append(part)
    assert len(growing._values) <= sum(map(len, parts)) * 9 // 8
    assert np.array_equal(growing.all(), np.concatenate(parts))
    assert len(growing.all()) == 0


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
    for example in found.examples():
        assert example.text and example.text.strip(".") in texts[example.row]
        assert example.other and example.other.strip(".") in texts[int(example.of)]
        assert "<b>edit" in example._repr_html_()


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
    ]


@pytest.mark.parametrize("number", range(8))
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
        assert found.keep.tolist() == [True, True, True, False] and found.empty == 2
    assert len(fpdb.dedup([])) == 0
    with pytest.raises(TypeError, match="row 0: a text must be a str, not int"):
        fpdb.dedup([1, 2])
    with pytest.raises(TypeError, match="not str"):
        fpdb.dedup("text")


def test_short_texts_are_dropped_only_if_they_are_equal() -> None:
    texts = ["ox", "pig", "Ox!", "thank you", "thank you so", "thank you", "buy now " * 900, "buy now " * 901]
    texts += ["buy now " * 900, "+1", "+2", "+1 ", "谢谢", "谢谢。", "| | |"]
    kept = [True, True, False, True, True, False, True, True, False, True, True, False, True, False, True]
    for verify in (True, False):
        found = fpdb.dedup(texts, verify=verify)
        assert found.keep.tolist() == kept and found.duplicate_of[[2, 5, 8]].tolist() == [0, 3, 6]
        assert found.too_short == len(texts) and found.empty == found.estimated == 0
        assert (found.similarity[~found.keep] == 1).all()


@pytest.mark.parametrize(("shared", "own"), [(200, 200), (250, 110), (300, 100), (300, 70)])
def test_texts_that_share_a_template_are_kept(shared: int, own: int) -> None:
    rng = random.Random(shared + own)

    def words(number: int) -> str:
        return " ".join(f"w{rng.randrange(50_000)}" for _ in range(number))

    template = words(shared)
    texts = [f"{template} {words(own)}" for _ in range(400)]
    found = fpdb.dedup(texts)
    assert found.keep.all() and found.estimated == 0
    # The parities tell the same without the texts.
    assert fpdb.dedup(texts, verify=False).keep.all()


def test_copies_are_found_in_a_crowd_and_rows_with_too_many_near_ones_are_counted() -> None:
    rng = random.Random(5)

    def words(number: int) -> list[str]:
        return [f"w{rng.randrange(200_000)}" for _ in range(number)]

    # J is .78 of any two, and .82 to .87 of a text and its copy.
    template, texts = words(300), []
    for _ in range(2000):
        texts.append([*template, *words(42)])
    for row in range(300):
        copy = texts[row][:]
        for place in rng.sample(range(300, 342), 18):
            copy[place] = f"e{rng.randrange(10**6)}"
        texts.append(copy)
    found = fpdb.dedup([" ".join(text) for text in texts])
    dropped = np.flatnonzero(~found.keep)
    assert (found.duplicate_of[dropped] == dropped - 2000).all() and len(dropped) >= 0.95 * 300
    assert found.crowded > 0 and f"kept, but more texts are near than were compared: {found.crowded:,}" in str(found)
    few = fpdb.dedup([" ".join(text) for text in texts[:250]])
    assert few.crowded == 0 and "more texts are near" not in str(few)


@pytest.mark.parametrize("ngram", [None, 3])
def test_rows_of_a_crowd_are_found_whatever_chunks_they_are_in(
    monkeypatch: pytest.MonkeyPatch, ngram: int | None
) -> None:
    rng = random.Random(9)
    texts: list[str] = []
    templates = [rng.choices(WORDS, k=size) for size in (60, 90, 140)]
    while len(texts) < 1500:
        template = rng.choice(templates)
        # Some words of the texts are frequent, and some texts have more of their own than others.
        own = [f"w{rng.randrange(30) * rng.randrange(300):04}" for _ in range(rng.choice((8, 25, 40)))]
        texts.append(" ".join([*template, *own]))
        if rng.random() < 0.3:
            texts.append(edited(texts[rng.randrange(len(texts))], len(texts), rng.randrange(1, 9)))
    # Within one chunk, all rows are found by their sketches.
    assert len(texts) < _columns.CHUNK
    expected = fpdb.dedup(texts, ngram=ngram)
    assert 0.1 < expected.keep.mean() < 0.9
    for chunk in (37, 400):
        monkeypatch.setattr(_columns, "CHUNK", chunk)
        for given in (texts, iter(texts)):
            found = fpdb.dedup(given, ngram=ngram)
            assert found.crowded == expected.crowded == 0
            assert found.duplicate_of.tolist() == expected.duplicate_of.tolist()
            assert np.array_equal(found.similarity, expected.similarity, equal_nan=True)
    dropped = np.flatnonzero(~expected.keep)
    exact = fpdb.jaccard_pairs(texts, dropped, expected.duplicate_of[dropped], ngram=ngram)
    assert np.allclose(exact, expected.similarity[dropped]) and (exact >= 0.8).all()


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("keep", ["first", "longest", "scores"])
def test_rows_are_compared_only_within_their_group(monkeypatch: pytest.MonkeyPatch, verify: bool, keep: Any) -> None:
    texts, _ = corpus(120)
    texts += ["too short", "Too short!", "", "too short"] * 3
    rng = random.Random(2)
    groups = [rng.choice(["en", "zh", None, 5]) for _ in texts]
    scores = [rng.random() for _ in texts] if keep == "scores" else keep
    for chunk in (50, 4096):
        monkeypatch.setattr(_columns, "CHUNK", chunk)
        found = fpdb.dedup(texts, keep=scores, within=groups, verify=verify)
        assert 20 < found.dropped < fpdb.dedup(texts, keep=scores, verify=verify).dropped
        for group in set(groups):
            rows = np.array([row for row, it in enumerate(groups) if it == group])
            own = [scores[row] for row in rows] if keep == "scores" else keep
            alone = fpdb.dedup([texts[row] for row in rows], keep=own, verify=verify)
            assert found.keep[rows].tolist() == alone.keep.tolist()
            expected = np.where(alone.duplicate_of >= 0, rows[alone.duplicate_of], -1)
            assert found.duplicate_of[rows].tolist() == expected.tolist()
            if verify:
                assert np.array_equal(found.similarity[rows], alone.similarity, equal_nan=True)


def test_wrong_groups_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="within: expected a column"):
        fpdb.dedup(["one", "two"], within="ab")
    assert fpdb.dedup(["a b c d e", "a b c d e"], within=["\ud800", "\udfff"]).dropped == 0
    for within, message in (["a"], "fewer than the 2 texts"), (["a"] * 3, "more than the 2 texts"):
        for keep in ("first", "longest"):
            with pytest.raises(fpdb.InvalidArgumentError, match=f"within: there are {message}"):
                fpdb.dedup(["one two three", "four"], within=within, keep=keep)
    with pytest.raises(fpdb.InvalidArgumentError, match="within: not together with against"):
        fpdb.dedup(["one"], [1], within=["a"], against=tmp_path / "db", run="1")


def test_what_is_kept_is_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_columns, "CHUNK", 2)
    texts = [document(1, 190), document(2), document(1, 190) + " " + document(3, 10), None, document(2)]
    ids = ["d", "c", "b", "e", "a"]
    day = datetime.date(2026, 1, 1)
    choices: list[tuple[Any, Any, list[bool], list[int]]] = [
        ("first", None, [True, True, False, True, False], [-1, -1, 0, -1, 1]),
        ("longest", None, [False, True, True, True, False], [2, -1, -1, -1, 1]),
        ("least id", ids, [False, False, True, True, True], [2, 4, -1, -1, -1]),
        ([1, 1, 1, 1, 2], None, [True, False, False, True, True], [-1, 4, 0, -1, -1]),
        ([-2.5, 0.1, -1.0, 0.0, math.nan], None, [False, True, True, True, False], [2, -1, -1, -1, 1]),
        ([day, None, day.replace(year=2027), day, day], None, [False, False, True, True, True], [2, 4, -1, -1, -1]),
    ]
    for keep, names, kept, of in choices:
        for column in (texts, iter(texts), np.array(texts, object)):
            found = fpdb.dedup(column, names, keep=keep)
            assert found.keep.tolist() == kept and found.duplicate_of.tolist() == of, keep
    with pytest.raises(fpdb.InvalidArgumentError, match="4 scores for 5 texts"):
        fpdb.dedup(texts, keep=[1, 2, 3, 4])
    for wrong in (["a"] * 5, [1, "a", 1, 1, 1], [day, 1, 1, 1, 1]):
        with pytest.raises(TypeError, match="numbers or dates"):
            fpdb.dedup(texts, keep=wrong)


@pytest.mark.parametrize(
    "scores",
    [
        [2**60, None, 2**60 + 1],
        [2**63 + 2**60, None, 2**63 + 2**60 + 1],
        ["2026-01-05", None, "2026-11-05"],
        ["2026-01-05T12:00:00+03:00", "2026-01-05T08:00:00Z", "2026-01-05T10:30:00+01:00"],
        ["9", "", "10"],
        [Decimal("1.5"), None, Decimal("1.75")],
        [datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), None, datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)],
        [np.float32(0.5), np.int64(-3), True],
        [math.nan, -math.inf, 0],
    ],
)
def test_scores_of_every_type_are_in_their_order(scores: list[Any]) -> None:
    import pandas as pd
    import pyarrow as pa

    texts = [document(1)] * 3
    columns = [scores, np.array(scores, object), pd.Series(scores, dtype=object)]
    if not isinstance(scores[2], bool):
        columns.append(pa.array(scores, pa.uint64() if scores[0] == 2**63 + 2**60 else None))
    for column in columns:
        assert fpdb.dedup(texts, keep=column).keep.tolist() == [False, False, True], type(column)


def test_scores_of_several_runs_are_compared_whether_they_are_whole_or_not(tmp_path: Path) -> None:
    path, texts = tmp_path / "db", [document(1)]
    fpdb.dedup(texts, ["a"], keep=[5], against=path, run="1")
    assert fpdb.dedup(texts, ["a"], keep=[4.5], against=path, run="2").keep.tolist() == [False]
    assert fpdb.dedup(texts, ["a"], keep=[5.5], against=path, run="3").replaced == {0: ["1/a"]}
    assert fpdb.dedup(texts, ["a"], keep=[6], against=path, run="4").replaced == {0: ["3/a"]}


def test_a_later_text_that_wins_replaces_an_earlier_document(tmp_path: Path) -> None:
    options: dict[str, Any] = {"against": tmp_path / "db", "keep": "longest"}
    short, other = document(1, 190), document(2, 190)
    fpdb.dedup([short, other], ["a", "b"], run="1", **options)
    found = fpdb.dedup([short + " more words", other[:1300]], ["c", "d"], run="2", **options)
    assert found.keep.tolist() == [True, False]
    assert found.replaced == {0: ["1/a"]} and found.earlier == {1: "1/b"}
    with fpdb.ReadOnlyDb.open(tmp_path / "db") as db:
        assert [db.get(name) is not None for name in ("1/a", "1/b", "2/c", "2/d")] == [False, True, True, False]


def test_an_id_means_a_document_of_its_run(tmp_path: Path) -> None:
    a, b, c = document(1), document(2), document(3)

    def run(name: str, texts: list[str], ids: list[Any], **options: Any) -> fpdb.Deduplicated:
        return fpdb.dedup(texts, ids, against=tmp_path / "db", run=name, **options)

    # The rows of each dump are numbered.
    assert run("1", [a, b], [1, 2]).keep.all()
    found = run("2", [c, a], [1, 2])
    assert found.keep.tolist() == [True, False] and found.earlier == {1: "1/1"} and found.same_id == 0
    # A page that did not change is a duplicate of itself, and another version of one that did is a document.
    found = run("3", [b, edited(a, 1, 100)], [2, 1])
    assert found.keep.tolist() == [False, True] and found.earlier == {0: "1/2"} and found.same_id == 1
    assert found.replaced == {} and "of the same id: 1" in str(found)
    found = run("4", [edited(a, 2, 100)], [1], replaces=["2", "3"])
    assert found.replaced == {0: ["2/1", "3/1"]}
    with fpdb.ReadOnlyDb.open(tmp_path / "db") as db:
        names = ("1/1", "1/2", "2/1", "3/1", "4/1")
        assert [db.get(name) is not None for name in names] == [True, True, False, False, True]


def test_ids_that_repeat_or_are_missing_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_columns, "CHUNK", 3)
    a, b, c = document(1), document(2), document(3)
    found = fpdb.dedup(
        [a, b, a, c, b], ["x", "x", "x", None, math.nan], against=tmp_path / "db", run="1"
    )
    assert found.keep.tolist() == [True, True, False, True, False] and found.unnamed == 4
    with fpdb.ReadOnlyDb.open(tmp_path / "db") as db:
        assert [db.get(name) is not None for name in ("1/x", "1/x#1", "1/#3")] == [True] * 3
    again = fpdb.dedup([c, b, a], ["x", None, "y"], against=tmp_path / "db", run="2")
    assert again.earlier == {0: "1/#3", 1: "1/x#1", 2: "1/x"}
    for ids, message in ((["x", "x"], "row 1: the id 'x' occurred before"), (["x", None], "row 1: there is no id")):
        with pytest.raises(fpdb.InvalidArgumentError, match=message):
            fpdb.dedup([a, b], ids, against=tmp_path / "strict", run="1", strict_ids=True)


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_an_interrupted_run_gives_the_same_rows_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: str
) -> None:
    monkeypatch.setattr(_columns, "CHUNK", 50)
    texts, _ = corpus(200)
    texts = [*texts, *(document(seed) for seed in range(1000, 1100)), "ox", "too short", "ox"]
    random.Random(1).shuffle(texts)
    half = len(texts) // 2
    runs = [(texts[:half], "1"), (texts[half:], "2")]

    def dedup(path: Path, rows: list[str], run: str, progress: Any = None) -> fpdb.Deduplicated:
        ids = [f"{row % 7}" for row in range(len(rows))]
        return fpdb.dedup(rows, ids, against=path, run=run, keep=keep, progress=progress)

    whole = [dedup(tmp_path / "whole", *run) for run in runs]
    assert whole[1].earlier and (keep == "first" or whole[1].replaced)

    def stop(done: int, total: int | None) -> None:
        if done > half // 2:
            raise KeyboardInterrupt

    for run, expected in zip(runs, whole):
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                dedup(tmp_path / "db", *run, stop)
        found = dedup(tmp_path / "db", *run)
        assert found.stored_before > 0
        for name in ("keep", "duplicate_of", "similarity"):
            assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=name == "similarity")
        assert found.earlier == expected.earlier and found.replaced == expected.replaced
    with fpdb.ReadOnlyDb.open(tmp_path / "db") as db, fpdb.ReadOnlyDb.open(tmp_path / "whole") as other:
        assert len(db) == len(other)


def test_a_stricter_threshold_brings_back_what_is_less_similar_to_kept_rows_before_it() -> None:
    rng, texts = random.Random(1), []
    for seed in range(400):
        both = [edited(document(seed), seed + other, 8) for other in (1000, 2000)]
        # It is like both, and they are not alike.
        between = " ".join(map(rng.choice, zip(*map(str.split, both))))
        texts += [*both, between]
    rng.shuffle(texts)
    found = fpdb.dedup(texts, recall=0.99)
    a, b = np.tril_indices(len(texts), -1)
    similar = np.zeros((len(texts), len(texts)))
    similar[a, b] = fpdb.jaccard_pairs(texts, a, b)
    nearest = np.where(found.keep, similar, 0).max(axis=1)
    for threshold in (0.8, 0.85, 0.87, 0.9):
        at = found.at(threshold)
        assert at.keep.tolist() == (found.keep | (nearest < threshold)).tolist()
        assert (at.similarity[~at.keep] >= threshold).all() and (at.duplicate_of[at.keep] == -1).all()
    assert found.dropped > found.at(0.85).dropped > 0
    with pytest.raises(ValueError, match="expected at least 0.8"):
        found.at(0.7)


def test_a_large_cluster_is_worth_a_warning() -> None:
    assert "warning: a single cluster holds 60% of the rows" in str(fpdb.dedup([document(1)] * 150 + [
        document(seed) for seed in range(2, 102)
    ]))
    assert "warning" not in str(fpdb.dedup([document(1)] * 50))


def test_examples_show_texts_of_earlier_documents_too(tmp_path: Path) -> None:
    texts = {"1/a": document(1)}
    fpdb.dedup([document(1)], ["a"], against=tmp_path / "db", run="1")
    found = fpdb.dedup(
        [edited(document(1), 1)], ["b"], against=tmp_path / "db", run="2", text_of=lambda names: map(texts.get, names)
    )
    (example,) = found.examples()
    assert (example.row, example.of) == (0, "1/a") and example.other and found.sizes().tolist() == [2]
    assert example.other.strip(".") in texts["1/a"] and "1/a" in found._repr_html_()


def test_lone_surrogates_are_replaced_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_columns, "CHUNK", 1)
    text = document(1)
    texts = [document(2), text + " \ud800", text, document(2), document(3)]
    found = fpdb.dedup(texts, range(5), against=tmp_path / "db", run="1")
    assert found.keep.tolist() == [True, True, False, False, True] and found.mended == 1
    assert fpdb.dedup(iter(texts), keep="longest").mended == 1


def test_wrong_arguments_are_refused_before_any_work(tmp_path: Path) -> None:
    import polars as pl

    texts, path = [document(1), document(2)], tmp_path / "db"
    fpdb.dedup(texts, ["a", "b"], against=path, run="1", similarity=0.9)
    fpdb.Db.create(tmp_path / "distance").close()
    ids: dict[str, Any] = {"ids": ["a", "b"], "against": path}
    calls: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"texts": set(texts)}, TypeError, "a column or a list, not set"),
        ({"texts": {"text": texts}}, TypeError, "a column or a list, not dict"),
        ({"texts": np.array([texts, texts])}, TypeError, r"not an array of shape \(2, 2\)"),
        ({"texts": pl.LazyFrame({"text": texts})}, TypeError, "not LazyFrame"),
        ({"texts": [texts[0], 5]}, TypeError, "row 1: a text must be a str, not int"),
        ({"similarity": 80}, ValueError, "similarity 80: expected a number from 0.5 to 1"),
        ({"similarity": math.nan}, ValueError, "similarity nan"),
        ({"verify": "contained"}, ValueError, "verify 'contained': expected True, False or \"all\""),
        ({"similarity": True}, ValueError, "similarity True"),
        ({"threads": 0}, ValueError, "threads 0: expected a number of at least 1"),
        ({"expected": -5}, ValueError, "expected -5: expected a number of at least 1"),
        ({"recall": 95}, ValueError, "recall 95: expected a number from 0.5 to 0.999"),
        ({"recipe": "five/1"}, ValueError, "recipe 'five/1': expected one of .*fives/1"),
        ({"keep": "last"}, ValueError, "keep 'last': expected"),
        ({"keep": "least id"}, ValueError, "ids: give the names"),
        ({"ids": ["a", "b"]}, ValueError, "ids: only against"),
        ({"run": "1"}, ValueError, "run: it is for earlier documents"),
        ({"text_of": list}, ValueError, "text_of: it is for earlier documents"),
        ({"ngram": 5, "verify": False}, ValueError, "ngram: it is for exact similarities"),
        ({"ngram": 0}, ValueError, "ngram 0: expected 1 to 1000"),
        (ids, ValueError, "run: give the run a name"),
        ({**ids, "run": "2026/11"}, ValueError, "a name without a slash"),
        ({**ids, "run": "2", "replaces": "1"}, TypeError, "expected a list of names of runs"),
        ({**ids, "run": "2", "replaces": ["2"]}, ValueError, "'2' is this run"),
        ({**ids, "run": "2", "similarity": 0.8}, ValueError, "similarity"),
        ({**ids, "against": tmp_path / "distance", "run": "2"}, ValueError, "was not created with a similarity"),
        (
            {**ids, "run": "2", "text_of": dict.fromkeys, "verify": "all"},
            TypeError,
            "text_of: it must return a list of texts, not dict",
        ),
    ]
    for options, error, message in calls:
        with pytest.raises(error, match=message):
            fpdb.dedup(**{"texts": texts, **options})
    assert fpdb.dedup(["我们今天去公园散步，天气很好。"] * 2, recipe="default-zh").dropped == 1
    # What the database has need not be given again.
    found = fpdb.dedup(texts, run="2", **ids)
    assert found.dropped == 2 and found.threshold == 0.9


TERMINATED = """
import sys, tempfile, time
import fpdb_engine as fpdb
from fpdb_engine import _columns
tempfile.tempdir = sys.argv[1]
_columns.CHUNK = 2
def texts():
    for row in range(1000):
        yield " ".join(f"w{row}-{word}" for word in range(9))
        if row == 10:
            print("ready", flush=True)
            time.sleep(60)
fpdb.dedup(texts())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_a_terminated_run_leaves_no_temporary_files(tmp_path: Path) -> None:
    program = [sys.executable, "-c", TERMINATED, str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "ready\n" and list(tmp_path.iterdir())
        child.send_signal(signal.SIGTERM)
        assert child.wait() == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_data_set_is_compared_with_the_first(tmp_path: Path) -> None:
    texts, origins = corpus(100)
    names = [f"{row}" for row in range(len(texts))]
    first = fpdb.dedup(texts, names, against=tmp_path / "db", run="a")
    check(first, origins)
    more = [edited(texts[0], 7), document(5000), edited(document(5000), 8)]
    found = fpdb.dedup(more, names[:3], against=tmp_path / "db", run="b")
    assert found.keep.tolist() == [False, True, False]
    assert found.duplicate_of.tolist() == [-1, -1, 1] and found.earlier == {0: "a/0"}
    assert found.estimated == 0
    # Neither the text nor the features of the earlier document are known.
    shutil.rmtree(tmp_path / "db-features")
    again = fpdb.dedup(more, names[:3], against=tmp_path / "db", run="b")
    assert again.keep.tolist() == found.keep.tolist() and again.earlier == found.earlier
    assert again.estimated == 1 and again.below == 0
    for wrong in (["0"], ["0", "1", "2", "3"]):
        for keep in ("first", "longest"):
            with pytest.raises(fpdb.InvalidArgumentError, match="than the 3 texts"):
                fpdb.dedup(more, wrong, against=tmp_path / "db", run="c", keep=keep)


def test_progress_counts_the_rows() -> None:
    calls: list[tuple[int, int | None]] = []
    texts, _ = corpus(60)
    fpdb.dedup(texts, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(texts), len(texts))
    fpdb.dedup(iter(texts), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(texts), None)


def runs_of_three(text: str) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return {tuple(words[place : place + 3]) for place in range(len(words) - 2)}


@pytest.mark.parametrize("share", [None, 0.9])
def test_texts_that_stand_in_a_longer_one_are_dropped_and_no_others(share: float | None) -> None:
    some = random.Random(1)
    texts: list[str | None] = []
    for seed in range(60):
        article, length = document(seed), some.randrange(20, 150)
        excerpt = " ".join(article.split()[20 : 20 + length])
        comments = " ".join(document(seed * 100 + 1000 + n) for n in range(3))
        words = excerpt.split()
        words[len(words) // 2] = f"edit{seed}"
        texts += [excerpt, article.upper(), f"{comments} {article} {comments}", " ".join(words)]
    some.shuffle(texts)
    texts += ["Hello", "hello!", "say hello", None, "", "row row row your boat " * 5, "row row row your boat " * 9]
    found = fpdb.dedup_contained(texts, share=share or 1)
    runs = [runs_of_three(text or "") for text in texts]
    for row, text in enumerate(texts[:240]):
        longer = [other for other in range(240) if len(texts[other] or "") >= len(text or "") and other != row]
        shares = [len(runs[row] & runs[other]) / len(runs[row]) for other in longer]
        is_contained = max(shares, default=0) >= (share or 1)
        # A half of a shorter text with a changed word may share no window with the longer one.
        if share is None or len((text or "").split()) > 45 or not is_contained:
            assert found.keep[row] != is_contained
        of = int(found.duplicate_of[row])
        if of >= 0:
            assert found.keep[of] and len(texts[of] or "") >= len(text or "")
            assert found.similarity[row] == np.float32(len(runs[row] & runs[of]) / len(runs[row]))
    assert found.keep[240:].tolist() == [True, False, True, True, True, False, True]
    assert found.threshold == (share or 1)


def test_white_space_makes_no_text_longer_than_the_one_that_it_stands_in() -> None:
    article = document(1, 60)
    texts = [article.replace(" ", " \n        "), f"{document(2, 5)} {article} {document(3, 5)}"]
    assert fpdb.dedup_contained(texts).keep.tolist() == [False, True]


def test_a_text_is_found_among_many_variants_of_it_or_counted() -> None:
    for others, is_found in ((100, True), (300, False)):
        article, rows = document(1, 300).split(), []
        for number in range(others):
            changed = article[:]
            changed[number * 7 % 300] = "other"
            rows.append(f"{document(number + 2, 200)} {' '.join(changed)} {document(number + 999, 100)}")
        found = fpdb.dedup_contained([*rows, f"intro {' '.join(article)} end", " ".join(article)])
        assert found.keep[:-1].all()
        # The page that has it is not among the longest.
        assert found.keep[-1] != is_found and (found.crowded > 0) != is_found


def test_of_contained_texts_the_one_with_the_greater_score_stays() -> None:
    article, more = document(1), f"{document(1)} {document(2)}"
    texts = [article, more, article.upper()]
    assert fpdb.dedup_contained(texts).keep.tolist() == [False, True, False]
    # The longer one stands in nothing, whatever its score.
    assert fpdb.dedup_contained(texts, keep=[2, 1, 3]).keep.tolist() == [False, True, True]
    assert "largest clusters: 3" in str(fpdb.dedup_contained(texts))
    assert "a single cluster holds 100%" in str(fpdb.dedup_contained([article] * 101))
    wrong: list[dict[str, Any]] = [{"share": 0.1}, {"share": True}, {"keep": "first"}, {"keep": [1]}]
    for options in wrong:
        with pytest.raises(fpdb.InvalidArgumentError, match=next(iter(options))):
            fpdb.dedup_contained(texts, **options)


def test_passages_are_those_of_kept_rows() -> None:
    text = document(1, 60)
    texts = [text, text.upper(), f"{text} and {document(2, 80)}"]
    found = fpdb.dedup(texts, passages=True)
    assert found.passages is not None and found.passages.row.tolist() == [2]
    assert "rows with passages: 1" in str(found) and found.at(0.9).passages is None
    assert fpdb.dedup(texts).passages is None
    with pytest.raises(fpdb.InvalidArgumentError, match="passages: an iterator"):
        fpdb.dedup(iter(texts), passages=True)


@pytest.mark.parametrize("scores", [[1, 2**64], [-1, 2**63], [-(2**63) - 1, 0]])
def test_scores_that_do_not_fit_in_64_bits_are_refused(scores: list[int]) -> None:
    with pytest.raises(fpdb.InvalidArgumentError, match="keep: .* must fit in 64 bits"):
        fpdb.dedup(["a", "b"], keep=scores)
