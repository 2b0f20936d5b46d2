"""What callers may pass, and what they are told otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest
import truth

TOP = 1 << 63


def test_fingerprints_are_unsigned_or_signed_patterns(db: fpdb.Db) -> None:
    db.insert(TOP, 1)
    db.insert(-1, 2)
    db.insert(np.uint64(5), 3)
    db.insert(np.int64(-2), 4)
    stored = {match.id: match.fingerprint for match in db.query(0, 64)}
    assert stored == {1: TOP, 2: 2**64 - 1, 3: 5, 4: 2**64 - 2}
    assert -1 in db and 2**64 - 1 in db and 7 not in db


def test_fingerprints_of_128_bits_are_unsigned_or_signed_patterns(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "wide", bits=128) as db:
        db.insert(-1, 1)
        db.insert(1 << 100, 2)
        db.insert(np.uint64(7), 3)
        stored = {match.id: match.fingerprint for match in db.query(0, 128)}
        assert stored == {1: 2**128 - 1, 2: 1 << 100, 3: 7}
        for wrong in [1 << 128, -(1 << 127) - 1]:
            with pytest.raises(fpdb.InvalidArgumentError, match="128 bits"):
                db.query(wrong)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (1 << 64, fpdb.InvalidArgumentError, "18446744073709551616 is not a fingerprint of 64 bits"),
        (-TOP - 1, fpdb.InvalidArgumentError, "64 bits"),
        (1.0, TypeError, "a fingerprint must be an int, not float"),
        (float("nan"), TypeError, "must be an int"),
        ("0x5", TypeError, "must be an int, not str"),
        (None, TypeError, "must be an int, not NoneType"),
        (b"12345678", TypeError, "must be an int, not bytes"),
        (np.float64(1), TypeError, "must be an int"),
    ],
)
@pytest.mark.parametrize("bits", [64, 128])
def test_wrong_fingerprints_are_refused(
    tmp_path: Path, bits: int, wrong: Any, error: type[Exception], message: str
) -> None:
    with fpdb.Db.create(tmp_path / "db", bits=bits) as db:
        if isinstance(wrong, int):
            wrong = wrong if bits == 64 else wrong << 64
            message = f"{bits} bits"
        calls: list[Callable[[], object]] = [
            lambda: db.query(wrong),
            lambda: db.nearest(wrong),
            lambda: db.insert(wrong, 1),
            lambda: db.insert_if_novel(wrong, 1),
            lambda: db.remove_entry(wrong, 1),
            lambda: db.ids(wrong),
            lambda: wrong in db,
            lambda: db.query_batch([1, wrong]),
            lambda: db.write([1, wrong], [1, 2]),
        ]
        for call in calls:
            with pytest.raises(error, match=message):
                call()
        assert len(db) == 0


def test_distances_of_any_size_are_accepted(db: fpdb.Db) -> None:
    db.write([0, 2**64 - 1], [1, 2])
    for distance in [64, 65, 2**32, 2**70, np.int64(64)]:
        assert [match.id for match in db.query(0, distance)] == [1, 2]
    assert db.query_batch([0], 2**70).ids.tolist() == [1, 2]
    assert db.count_pairs(2**40)[-1] == 1


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (-1, ValueError, "distance -1: expected 0 or more"),
        (-(2**70), fpdb.InvalidArgumentError, "expected 0 or more"),
        (3.0, TypeError, "a distance must be an int, not float"),
        (float("nan"), TypeError, "must be an int"),
        ("3", TypeError, "must be an int, not str"),
    ],
)
def test_wrong_distances_are_refused(
    db: fpdb.Db, wrong: Any, error: type[Exception], message: str
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: db.query(0, wrong),
        lambda: db.nearest(0, wrong),
        lambda: db.query_batch([0], wrong),
        lambda: db.pairs(wrong),
        lambda: db.clusters(wrong),
        lambda: db.write([0], [1], unless_near=wrong),
    ]
    for call in calls:
        with pytest.raises(error, match=message):
            call()


FORMS: list[Callable[[np.ndarray], Any]] = [
    lambda a: a,
    lambda a: a.view(np.int64),
    lambda a: a.tolist(),
    lambda a: tuple(a.tolist()),
    lambda a: list(a),
    lambda a: np.repeat(a, 3)[::3],
    lambda a: a[::-1][::-1],
    lambda a: a.astype(">u8"),
    lambda a: np.asfortranarray(a),
    lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.uint64),
    lambda a: memoryview(a),
]


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_batches_are_accepted_in_every_form(
    db: fpdb.Db, form: int, rng: np.random.Generator
) -> None:
    fingerprints = rng.integers(0, 2**64, 50, np.uint64)
    fingerprints[0] = TOP
    ids = np.arange(50)
    db.write(FORMS[form](fingerprints), FORMS[form](ids.astype(np.uint64)))
    answers = db.query_batch(FORMS[form](fingerprints), 0)
    assert answers.ids.tolist() == ids.tolist()
    assert answers.offsets.tolist() == list(range(51))
    dtypes = (answers.offsets.dtype, answers.ids.dtype, answers.distances.dtype)
    assert dtypes == (np.int64, np.uint64, np.uint8)


def test_batches_of_128_bits_are_accepted_in_every_form(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    fingerprints = [truth.random_fingerprint(rng, 128) for _ in range(50)]
    array = truth.batch(fingerprints, 128)
    forms: list[Any] = [
        fingerprints,
        tuple(fingerprints),
        array,
        array.view(np.int64),
        np.asfortranarray(array),
        np.array([f.to_bytes(16, "big") for f in fingerprints], "V16"),
        np.array([f.to_bytes(16, "big") for f in fingerprints], "S16"),
    ]
    for at, form in enumerate(forms):
        with fpdb.Db.create(tmp_path / str(at), bits=128, durability="buffered") as db:
            db.write(form, range(50) if at else np.arange(50))
            assert db.query_batch(form, 0).ids.tolist() == list(range(50))
            assert [m.id for m in db.query(fingerprints[7], 0)] == [7]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros(3, np.uint32), "uint64 or int64, not uint32"),
        (np.zeros(3, np.float64), "not float64 .* floats lose bits"),
        (np.array([1.0, np.nan]), "missing values turn integers into floats"),
        (np.zeros((3, 2), np.uint64), r"shape \(3, 2\)"),
        (np.zeros((), np.uint64), r"shape \(\)"),
        (np.array([1, 2**64], object), "not object"),
        (np.array(["0x5"]), "uint64 or int64"),
        ("12345678", "must be an array or a list, not str"),
        (b"12345678", "must be an array or a list, not bytes"),
        (iter([1, 2]), "must be an array or a list, not list_iterator"),
        (7, r"shape \(\)"),
        ([1, 2.0], "must be an int, not float"),
        ([1, None], "must be an int, not NoneType"),
    ],
)
def test_batches_of_the_wrong_type_are_refused(db: fpdb.Db, wrong: Any, message: str) -> None:
    for call in [
        lambda: db.query_batch(wrong),
        lambda: db.write(wrong, [1, 2, 3]),
        lambda: db.bulk_load(wrong, [1, 2, 3]),
    ]:
        with pytest.raises(TypeError, match=message):
            call()
    assert len(db) == 0


def test_arrays_of_the_other_width_are_refused(db: fpdb.Db, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="64 bits"):
        db.query_batch(np.zeros((4, 2), np.uint64))
    with fpdb.Db.create(tmp_path / "wide", bits=128) as wide:
        for wrong in [np.zeros(4, np.uint64), np.zeros((4, 3), np.uint64), np.zeros(4, "S8")]:
            with pytest.raises(TypeError, match="two columns, the high half first"):
                wide.query_batch(wrong)
        with pytest.raises(fpdb.InvalidArgumentError, match="64 and of 128 bits"):
            db.join(wide)
        with pytest.raises(TypeError, match="two columns"):
            wide.join(np.zeros(4, np.uint64))
    with pytest.raises(TypeError):
        db.join("other.fpdb")


def test_empty_batches_are_accepted(db: fpdb.Db) -> None:
    for empty in [[], (), np.zeros(0, np.uint64)]:
        outcomes = db.write(empty, empty, unless_near=3)
        assert [column.dtype.name for column in outcomes] == ["bool", "uint64", "uint8", "uint8"]
        assert [len(column) for column in outcomes] == [0] * 4
        assert db.query_batch(empty).offsets.tolist() == [0]
    assert list(db.pairs()) == [] and list(db.entries()) == []
    assert db.clusters().offsets.tolist() == [0]


def test_ids_are_integers_of_any_size(db: fpdb.Db) -> None:
    for dtype in [np.uint64, np.int64, np.uint32, np.int8]:
        assert db.write([1, 2], np.array([7, 8], dtype)).ids.tolist() == [7, 8]
    assert db.insert(3, 2**64 - 1) == 2**64 - 1
    with pytest.raises(fpdb.InvalidArgumentError, match="id -1"):
        db.write([1], np.array([-1]))
    with pytest.raises(fpdb.InvalidArgumentError, match="id -1"):
        db.write([1], [-1])
    with pytest.raises(fpdb.InvalidArgumentError, match="id"):
        db.insert(1, 2**64)
    with pytest.raises(TypeError, match="integers, not float64"):
        db.write([1], np.array([1.0]))
    with pytest.raises(TypeError, match=r"a key must be an id \(int\) or a name \(str\), not float"):
        db.insert(1, 1.0)


def test_as_many_keys_as_fingerprints_are_needed(db: fpdb.Db) -> None:
    with pytest.raises(fpdb.InvalidArgumentError, match="2 documents, but 3 ids"):
        db.write([1, 2], [1, 2, 3])
    with pytest.raises(fpdb.InvalidArgumentError, match="2 documents, but 1 names"):
        db.write([1, 2], names=["a"])
    with pytest.raises(fpdb.InvalidArgumentError, match="give ids"):
        db.write([1, 2])
    with pytest.raises(fpdb.InvalidArgumentError, match="not both"):
        db.write([1], [1], names=["a"])
    with pytest.raises(fpdb.InvalidArgumentError, match="2 documents, but 1 ids"):
        db.bulk_load([1, 2], [1])


def test_names_are_text(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="names") as db:
        assert db.write([1, 2], names=["a", "中文"]).ids.tolist() == [0, 1]
        assert db.names([1, 0, 7]) == ["中文", "a", None]
        with pytest.raises(TypeError, match="name 1 must be a str, not bytes"):
            db.write([1, 2], names=["b", b"\xff"])
        with pytest.raises(TypeError, match="a list of names, not a str"):
            db.write([1, 2], names="bc")
        with pytest.raises(fpdb.InvalidArgumentError, match="name 1 is missing"):
            db.write([1, 2], names=["b", None])
        for surrogate in [lambda: db.insert(1, "\ud800"), lambda: db.get("\ud800")]:
            with pytest.raises(UnicodeEncodeError, match="surrogates"):
                surrogate()
        with pytest.raises(UnicodeEncodeError, match="surrogates"):
            db.write([1, 2], names=["b", "\udfff"])
        for length in [0, 70_000]:
            with pytest.raises(fpdb.InvalidArgumentError, match="1 to 65535 bytes"):
                db.insert(1, "x" * length)
        with pytest.raises(fpdb.InvalidArgumentError, match="give a name"):
            db.insert(1, 1)
        assert len(db) == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bits": 32}, fpdb.InvalidArgumentError, "bits 32: expected 64, 128, or 1824 for sketches"),
        ({"max_distance": 13}, fpdb.InvalidArgumentError, "expected 0 to 12"),
        ({"max_distance": 2**70}, fpdb.InvalidArgumentError, "expected 0 to 12"),
        ({"max_distance": "3"}, TypeError, "max_distance: a distance must be an int"),
        ({"ids": "uuid"}, fpdb.InvalidArgumentError, 'ids "uuid": expected "user" or "unique"'),
        ({"durability": True}, TypeError, "durability"),
        ({"recipe": "wrods/1"}, fpdb.InvalidArgumentError, 'there is no recipe "wrods/1"'),
        ({"extraction": "best/1"}, fpdb.InvalidArgumentError, "best/1"),
        ({"sync_interval": -1.0}, fpdb.InvalidArgumentError, "expected seconds"),
        ({"sync_interval": float("nan")}, fpdb.InvalidArgumentError, "expected seconds"),
        ({"index_memory": -1}, fpdb.InvalidArgumentError, "0 to"),
        ({"max_distnace": 3}, TypeError, "unexpected keyword argument 'max_distnace'"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fpdb.Db.create(tmp_path / "db", **options)
    assert not (tmp_path / "db").exists()


def test_memory_is_read_without_a_copy(db: fpdb.Db) -> None:
    from fpdb_engine import _arrays

    unsigned = np.arange(10, dtype=np.uint64)
    for array in [unsigned, unsigned.view(np.int64)]:
        assert np.shares_memory(_arrays.fingerprints_64(array), unsigned)
    assert np.shares_memory(_arrays.numbers(unsigned, "id"), unsigned)
    wide = np.zeros((4, 2), np.uint64)
    assert np.shares_memory(_arrays.fingerprints_128(wide.view(np.int64)), wide)
    read_only = unsigned.copy()
    read_only.flags.writeable = False
    assert db.write(read_only, read_only).ids.tolist() == list(range(10))


def test_missing_fingerprints_and_ids_are_named(db: fpdb.Db) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    for make in (pa.array, pl.Series, lambda values: pd.Series(values, dtype="UInt64")):
        with pytest.raises(fpdb.InvalidArgumentError, match="fingerprints: 1 of 3 are missing"):
            db.write(make([1, None, 3]), [1, 2, 3])
        with pytest.raises(fpdb.InvalidArgumentError, match="ids: 1 of 3 are missing"):
            db.write([1, 2, 3], make([1, None, 3]))
        db.write(make([1, 2, 3]), make([1, 2, 3]))
    assert len(db) == 3


def test_iterators_say_what_they_return(db: fpdb.Db) -> None:
    assert repr(db.pairs()) == "<fpdb_engine.PairIterator: chunks of arrays a, b and distances>"
    assert repr(db.entries()) == "<fpdb_engine.EntryIterator: chunks of arrays fingerprints and ids>"


def test_texts_take_no_more_memory_once_they_were_read():
    texts = [f"第{number}页，今天天气很好，我们去公园散步，然后回家吃饭。" for number in range(5)]
    before = [sys.getsizeof(text) for text in texts]
    fpdb.dedup(texts)
    fpdb.dedup_passages(texts)
    fpdb.dedup_lines(texts)
    assert [sys.getsizeof(text) for text in texts] == before
