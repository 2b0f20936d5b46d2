"""Arrow arrays, and the data frames that hold them."""

from __future__ import annotations

from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest
from fpdb_engine import _arrays

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

TEXTS = ["The quick brown fox jumps over the lazy dog.", "", "图书馆晚上六点闭馆，今天到期", None]


def forms_of_texts() -> dict[str, Any]:
    strings = pa.array(TEXTS)
    halves = pa.chunked_array([strings[:2], strings[2:]])
    forms = {
        "string": strings,
        "large": strings.cast(pa.large_string()),
        "view": strings.cast(pa.string_view()),
        "dictionary": strings.dictionary_encode(),
        "chunked": halves,
        "sliced": pa.array(["x", *TEXTS, "y"])[1:-1],
        "sliced large": pa.array(["x", *TEXTS, "y"], pa.large_string())[1:-1],
    }
    for module in ["pandas", "polars"]:
        try:
            frames = __import__(module)
        except ImportError:
            continue
        forms[module] = frames.Series(TEXTS)
    return forms


@pytest.mark.parametrize("form", forms_of_texts())
def test_arrow_strings_have_the_fingerprints_of_a_list(form: str) -> None:
    expected, expected_has_one = fpdb.fingerprint_batch(TEXTS)
    found, has_one = fpdb.fingerprint_batch(forms_of_texts()[form])
    assert has_one.tolist() == expected_has_one.tolist() == [True, False, True, False]
    assert found.tolist() == expected.tolist()


def test_large_strings_are_not_copied() -> None:
    strings = pa.array(["one", "two"], pa.large_string())
    chunks = _arrays.arrow_strings(strings)
    assert chunks is not None
    ((_, data, missing),) = chunks
    assert data.ctypes.data == strings.buffers()[2].address and missing is None


def test_arrow_arrays_of_other_types_are_no_texts() -> None:
    with pytest.raises(TypeError, match="expected strings, not an Arrow array of int64"):
        fpdb.fingerprint_batch(pa.array([1, 2]))
    nothing, has_one = fpdb.fingerprint_batch(pa.nulls(2))
    assert nothing.tolist() == [0, 0] and not has_one.any()
    assert fpdb.fingerprint_batch(pa.array([], pa.string()))[0].tolist() == []


@pytest.mark.parametrize("dtype", ["uint64", "int64"])
def test_arrow_numbers_are_read_without_a_copy(db: fpdb.Db, dtype: str) -> None:
    values = np.array([1, 2**63, 7], np.uint64).view(dtype)
    column = pa.array(values)
    normalized = _arrays.fingerprints_64(column)
    assert normalized.ctypes.data == column.buffers()[1].address
    db.write(column, pa.array([1, 2, 3]))
    assert [match.id for match in db.query(2**63, 0)] == [2]
    assert db.query_batch(pa.chunked_array([column, column]), 0).ids.tolist() == [1, 2, 3] * 2


def test_results_become_arrow_arrays_without_a_copy(db: fpdb.Db) -> None:
    db.write(np.arange(1000, dtype=np.uint64), np.arange(1000))
    answers = db.query_batch(np.arange(1000, dtype=np.uint64), 0)
    column = pa.array(answers.ids)
    assert column.buffers()[1].address == answers.ids.ctypes.data
    outcomes = db.write(np.arange(1000, dtype=np.uint64), np.arange(1000), unless_near=0)
    for column in outcomes[1:]:
        assert pa.array(column).buffers()[1].address == column.ctypes.data


def test_names_may_be_arrow_strings(tmp_path: Any) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="names") as db:
        assert db.write([1, 2], names=pa.array(["a", "中文"])).ids.tolist() == [0, 1]
        assert db.names(pa.array([1, 0])) == ["中文", "a"]
        with pytest.raises(fpdb.InvalidArgumentError, match="name 1 is missing"):
            db.write([1, 2], names=pa.array(["a", None]))


def test_series_are_fingerprints(db: fpdb.Db) -> None:
    for at, module in enumerate(["pandas", "polars"]):
        frames = pytest.importorskip(module)
        db.write(
            frames.Series(np.array([2**63 + at], np.uint64)), frames.Series([at])
        )
        assert db.query_batch(frames.Series([at - 2**63]), 0).ids.tolist() == [at]


def test_outcomes_filter_frames(db: fpdb.Db) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    columns = {"id": [1, 2, 3], "fingerprint": np.array([0, 1, 0xFF00], np.uint64)}
    frame = polars.DataFrame(columns)
    outcomes = db.write(frame["fingerprint"], frame["id"], unless_near=3)
    assert frame.filter(outcomes.novel)["id"].to_list() == [1, 3]
    assert pandas.DataFrame(columns)[outcomes.novel]["id"].to_list() == [1, 3]
    assert pa.table(columns).filter(pa.array(outcomes.novel))["id"].to_pylist() == [1, 3]


def test_strings_that_are_no_text_are_refused() -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")]
    )
    with pytest.raises(fpdb.InvalidArgumentError, match="string 0 is not UTF-8"):
        fpdb.fingerprint_batch(bad)
