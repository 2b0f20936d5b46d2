"""Batches of texts, and chunks of entries that are together larger than memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest
from fpdb_engine import OutcomeKind

NO_ID = 2**64 - 1


def text(seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(1000)}" for _ in range(50))


# The third is like the first, and the second is too short.
TEXTS = [text(1), "too short", text(1).upper(), text(2)]
NAMES = ["a", "b", "c", "d"]


def named(path: Path, **options: Any) -> fpdb.Db:
    return fpdb.Db.create(path, ids="names", recipe="default", durability="buffered", **options)


@pytest.mark.parametrize("options", [{}, {"bits": 128, "max_distance": 10}, {"similarity": 0.8}])
def test_texts_are_written_as_if_one_after_the_other(options: dict[str, Any], tmp_path: Path) -> None:
    with named(tmp_path / "a", **options) as db:
        novel, ids, distances, kinds = db.write(texts=TEXTS, names=NAMES, unless_near="rule")
        assert novel.tolist() == [True, True, False, True]
        assert ids.tolist() == [0, NO_ID, 0, 1] and distances.tolist() == [0, 0, 0, 0]
        assert [OutcomeKind(kind).name for kind in kinds] == [
            "INSERTED",
            "TOO_SHORT",
            "DUPLICATE",
            "INSERTED",
        ]
        assert db.names(ids) == ["a", None, "a", "d"]
        again = db.write(texts=TEXTS, names=NAMES, unless_near="rule", or_update="keep")
        assert again.kinds.tolist() == [1, 4, 3, 1]
    with named(tmp_path / "b", **options) as single:
        outcomes = [single.insert_text_if_novel(t, n) for t, n in zip(TEXTS, NAMES, strict=True)]
        assert [None if it is None else it.id for it in outcomes] == [0, None, 0, 1]


def test_texts_of_every_kind_are_written(tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    missing: list[str | None] = [text(1), None, text(2)]
    columns: list[Any] = [missing, pa.array(missing), pl.Series(missing), pd.Series(missing)]
    columns += [pd.Series(missing, dtype="string"), pd.Series(missing, dtype=object), iter(missing)]
    columns.append([text(1), float("nan"), text(2)])
    for number, column in enumerate(columns):
        with named(tmp_path / str(number)) as db:
            assert db.write(texts=column, names=["a", "b", "c"]).kinds.tolist() == [0, 4, 0]
    with named(tmp_path / "empty") as db:
        assert len(db.write(texts=[], names=[]).ids) == 0
        assert db.write(texts=["", None], names=["a", "b"]).ids.tolist() == [NO_ID] * 2


def test_many_texts_keep_their_names_and_stamps(tmp_path: Path) -> None:
    # More than a commit, with texts that are too short at its ends.
    texts = [None if row % 7 == 0 else f"a b c d e f {row} {row}" for row in range(70_000)]
    names, stamps = [f"n{row}" for row in range(70_000)], np.arange(70_000)
    with named(tmp_path / "db") as db:
        outcomes = db.write(texts=texts, names=names, stamps=stamps)
        is_short = outcomes.kinds == OutcomeKind.TOO_SHORT
        assert is_short.tolist() == [row % 7 == 0 for row in range(70_000)]
        assert db.names(outcomes.ids) == [None if row % 7 == 0 else f"n{row}" for row in range(70_000)]
        found = db.get("n69999")
        assert found is not None and found.stamp == 69_999
        assert found.fingerprint == fpdb.fingerprint(texts[69_999] or "")


def test_answers_to_texts_are_those_to_their_fingerprints(tmp_path: Path) -> None:
    with named(tmp_path / "db") as db:
        db.write(texts=TEXTS, names=NAMES)
        offsets, ids, distances = db.query_batch(texts=["short", *TEXTS, None, text(9)])
        assert offsets.tolist() == [0, 0, 2, 2, 4, 5, 5, 5]
        assert ids.tolist() == [0, 1, 0, 1, 2] and distances.tolist() == [0] * 5
        for number, query in enumerate(TEXTS):
            answers = db.query_text(query)
            begin, end = offsets[number + 1], offsets[number + 2]
            assert [match.id for match in answers or []] == ids[begin:end].tolist()
        assert db.query_batch(texts=["short"]).offsets.tolist() == [0, 0]
        assert db.query_batch(texts=[]).offsets.tolist() == [0]
        assert len(db.query_batch(texts=[text(9)], distance=64).ids) == 3


def test_wrong_batches_say_what_to_give(db: fpdb.Db, tmp_path: Path) -> None:
    invalid = fpdb.InvalidArgumentError
    with pytest.raises(fpdb.UnsupportedError, match="has no recipe"):
        db.write(texts=TEXTS, ids=[1, 2, 3, 4])
    with named(tmp_path / "db2") as texts:
        for call in (
            lambda: texts.write(names=["a"]),
            lambda: texts.write([1], texts=["a"], names=["a"]),
            lambda: texts.query_batch(),
            lambda: texts.query_batch([1], texts=["a"]),
        ):
            with pytest.raises(invalid, match=r"give either fingerprints or texts=\.\.\."):
                call()
        with pytest.raises(invalid, match="4 documents, but 1 names"):
            texts.write(texts=TEXTS, names=["a"])
        with pytest.raises(invalid, match="4 documents, but 2 stamps"):
            texts.write(texts=TEXTS, names=NAMES, stamps=[1, 2])
        with pytest.raises(invalid, match=r"give ids=\.\.\. or names=\.\.\."):
            texts.write(texts=TEXTS)
        with pytest.raises(TypeError, match="text 1 must be a str, not int"):
            texts.write(texts=["a", 7], names=["a", "b"])  # type: ignore[list-item]
        assert len(texts) == 0


def chunks(number: int) -> Iterator[tuple[Any, Any]]:
    for start in range(0, number, 10):
        ids = np.arange(start, start + 10, dtype=np.uint64)
        yield ids << 32, ids


def test_chunks_are_loaded_as_one_segment(db: fpdb.Db, tmp_path: Path) -> None:
    assert db.bulk_load(chunks(1000)) == (1000, 1000)
    assert len(db.stats()["segments"]) == 1
    with fpdb.Db.create(tmp_path / "copy") as copy:
        assert copy.bulk_load(db.entries()) == (1000, 1000)
        assert copy.ids(7 << 32).tolist() == [7]
        assert copy.bulk_load([([1 << 50], [3]), ([], [])]) == (1, 1)
        assert copy.bulk_load([]) == (0, 0)
    with fpdb.Db.create(tmp_path / "wide", bits=128) as wide:
        assert wide.bulk_load([([1 << 100], [1]), ([1 << 101], [2])]) == (2, 2)


def test_a_failing_iterator_of_chunks_loads_nothing(db: fpdb.Db, tmp_path: Path) -> None:
    def failing() -> Iterator[tuple[Any, Any]]:
        yield from chunks(500)
        raise KeyError("row group 7")

    with pytest.raises(KeyError, match="row group 7"):
        db.bulk_load(failing())
    wrong: list[Any] = [[1, 2], [([1], [2]), "text"], [([1.5], [1])], [([1], [1, 2])], 7]
    for some in wrong:
        with pytest.raises((TypeError, fpdb.InvalidArgumentError)):
            db.bulk_load(some)
    with pytest.raises(TypeError, match="chunk 1 must be a pair of fingerprints and ids, not str"):
        db.bulk_load([([1], [2]), "text"])  # type: ignore[list-item]
    assert len(db) == 0
    with named(tmp_path / "names") as texts:
        with pytest.raises(fpdb.InvalidArgumentError, match="user ids"):
            texts.bulk_load(chunks(100_000))
