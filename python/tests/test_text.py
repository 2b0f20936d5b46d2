"""Fingerprints of texts."""

from __future__ import annotations

import json
from pathlib import Path

import fpdb_engine as fpdb
import numpy as np
import pytest

VECTORS = Path(__file__).parents[2] / "crates/fpdb-text/tests/text/frozen.ndjson"


def vectors() -> list[dict[str, object]]:
    with VECTORS.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_fingerprints_are_those_of_the_frozen_vectors() -> None:
    checked = set()
    for vector in vectors():
        recipe, bits, text = vector["recipe"], vector["bits"], vector["text"]
        assert isinstance(recipe, str) and isinstance(text, str) and isinstance(bits, int)
        found = fpdb.fingerprint(text, recipe, bits=bits)
        assert found == value_of(vector["fingerprint"]), vector
        checked.add((bits, recipe))
    for bits in (64, 128, 1824):
        names = fpdb.recipes(bits=bits)
        assert {(bits, name) for name in names} <= checked
    for recipe in ("pairs-zh/1", "jieba/1", "yanyiwu-20/1", "string-hash/1"):
        assert recipe in fpdb.recipes(), "the wheel has the Chinese recipes"


def test_published_values_of_yanyiwu_simhash_are_reproduced() -> None:
    assert fpdb.fingerprint("你好世界", "yanyiwu-5/1") == 17676873585679812141
    texts = ["我来到北京清华大学", "的 了 。"]
    fingerprints, has_one = fpdb.fingerprint_batch(texts, "yanyiwu-5/1")
    assert fingerprints.tolist() == [18353917987193416477, 0] and has_one.all()


def value_of(written: object) -> int | bytes | None:
    """Returns a fingerprint of the vectors: a sketch is a list of planes, the number of features, and parities."""
    if isinstance(written, list):
        planes, features, parities = written
        words = [int(parities[at : at + 16], 16).to_bytes(8, "little") for at in range(0, 256, 16)]
        numbers = [int(plane, 16).to_bytes(16, "little") for plane in planes]
        return b"".join([*numbers, features.to_bytes(4, "little"), *words])
    return int(written, 16) if isinstance(written, str) else None


@pytest.mark.parametrize("bits", [64, 128, 1824])
def test_batches_equal_single_fingerprints(bits: int) -> None:
    texts = [str(vector["text"]) for vector in vectors()] * 5 + ["", "too short"]
    recipe = "string-hash/1" if bits == 128 else "default"
    for threads in (None, 1, 3):
        found, has_one = fpdb.fingerprint_batch(texts, recipe, bits=bits, threads=threads)
        assert found.dtype == ("V228" if bits == 1824 else np.uint64) and has_one.dtype == np.bool_
        rows = found.tolist()
        for text, row, is_some in zip(texts, rows, has_one.tolist(), strict=True):
            value = row[0] << 64 | row[1] if bits == 128 else row
            single = fpdb.fingerprint(text, recipe, bits=bits)
            assert (value if is_some else None) == single
    if bits == 64:
        assert has_one[:-2].any() and not has_one[-2:].any()


def test_iterators_of_texts_are_accepted() -> None:
    texts = ["The quick brown fox jumps over the lazy dog."] * 3
    for form in [iter(texts), tuple(texts), (text for text in texts), np.array(texts, object)]:
        found, _ = fpdb.fingerprint_batch(form)
        assert found.tolist() == [0x73DC8CC2BD0C5D6E] * 3


def test_wrong_texts_are_refused() -> None:
    with pytest.raises(UnicodeEncodeError, match="surrogates"):
        fpdb.fingerprint("\ud800")
    with pytest.raises(UnicodeEncodeError, match="surrogates"):
        fpdb.fingerprint_batch(["text", "\udfff"])
    with pytest.raises(TypeError, match="bytes"):
        fpdb.fingerprint(b"text")
    with pytest.raises(TypeError, match="text 1 must be a str, not int"):
        fpdb.fingerprint_batch(["text", 7])
    with pytest.raises(TypeError, match="a list of texts, not a str"):
        fpdb.fingerprint_batch("text")
    with pytest.raises(fpdb.InvalidArgumentError, match='no recipe "wrods/1"'):
        fpdb.fingerprint("text", "wrods/1")
    with pytest.raises(fpdb.InvalidArgumentError, match="bits 65"):
        fpdb.fingerprint("text", bits=65)
    with pytest.raises(fpdb.InvalidArgumentError):
        fpdb.fingerprint("text", "seomoz/1", bits=128)


def test_texts_are_inserted_if_novel(tmp_path: Path) -> None:
    text = "Trains leave for the airport every ten minutes, until midnight."
    with fpdb.Db.create(tmp_path / "db", ids="names", recipe="default") as db:
        assert db.recipe == "pairs/1", "an alias is stored as the full name"
        first = db.insert_text_if_novel(text, "a", stamp=5)
        assert first is not None and first and first.id == 0
        second = db.insert_text_if_novel(text.upper(), "b")
        assert second is not None and not second and second.id == 0
        assert db.insert_text_if_novel("", "c") is None
        assert (stored := db.get("a")) is not None
        assert (stored.fingerprint, stored.stamp) == (fpdb.fingerprint(text), 5)
    with fpdb.Db.create(tmp_path / "none") as db:
        for call in (lambda: db.insert_text_if_novel(text, 1), lambda: db.query_text(text)):
            with pytest.raises(fpdb.UnsupportedError, match="has no recipe"):
                call()
    with (
        fpdb.Db.create(tmp_path / "ours", custom_recipe="acme/3") as db,
        pytest.raises(fpdb.Error, match="acme/3"),
    ):
        assert db.recipe == "acme/3"
        db.insert_text_if_novel(text, 1)


def test_texts_are_updated_and_found(tmp_path: Path) -> None:
    text = "Trains leave for the airport every ten minutes, until midnight."
    with fpdb.Db.create(tmp_path / "db", ids="names", recipe="default") as db:
        before = db.snapshot()
        statuses = []
        for changed in [text, text.upper(), text.replace("midnight", "noon"), ""]:
            outcome = db.upsert_text_if_novel(changed, "a", stamp=5)
            statuses.append(outcome and outcome.kind)
        assert statuses == ["inserted", "unchanged", "updated", None]
        copy = db.upsert_text_if_novel(text.replace("midnight", "noon"), "b")
        assert copy is not None and copy.kind == "duplicate"
        reader = fpdb.ReadOnlyDb.open(tmp_path / "db")
        for handle in (db, db.snapshot(), reader):
            matches = handle.query_text(text.replace("midnight", "NOON"), 0)
            assert matches is not None and [found.id for found in matches] == [0]
            assert handle.query_text(text.replace("midnight", "noon"), since=6) == []
            assert handle.query_text("") is None
        assert before.query_text(text) == []


def test_a_remembered_duplicate_that_is_written_again_is_still_one(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="names") as db:
        db.insert(0b0000, "a")
        for expected in [fpdb.OutcomeKind.DUPLICATE, fpdb.OutcomeKind.UNCHANGED]:
            outcomes = db.write([0b0001], names=["b"], unless_near=3, or_update="remember")
            assert (outcomes.kinds[0], outcomes.novel[0], outcomes.distances[0]) == (expected, False, 1)


def test_another_recipe_is_refused(tmp_path: Path) -> None:
    fpdb.Db.create(tmp_path / "db", recipe="fives/1").close()
    with pytest.raises(fpdb.UnsupportedError, match="fives/1"):
        fpdb.Db.open(tmp_path / "db", recipe="pairs/1")
    with pytest.raises(fpdb.UnsupportedError, match="128|64"):
        fpdb.Db.open(tmp_path / "db", bits=128)
