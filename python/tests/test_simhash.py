"""Compares compat.simhash with the PyPI packages simhash and simhash-pybind."""

from __future__ import annotations

import doctest
import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest
from fpdb_engine.compat import simhash as compat
from fpdb_engine.compat.simhash import Simhash, SimhashIndex, find_all

WORDS = ["How", "are", "YOU?", "fine,", "thanks", "世界", "去重！", "naïve", "x_1", "…", "42", "Ünï"]


def texts(rng: random.Random, count: int) -> list[str]:
    return ["", "a", "aaaa", "!?"] + [
        " ".join(rng.choices(WORDS, k=rng.randrange(1, 40))) for _ in range(count)
    ]


@pytest.fixture
def original() -> Any:
    """The PyPI package simhash."""
    module = pytest.importorskip("simhash", reason="the PyPI package simhash is not installed")
    if not hasattr(module, "SimhashIndex"):
        pytest.skip("the installed package is simhash-pybind, not simhash")
    return module


@pytest.fixture
def chance() -> random.Random:
    return random.Random(os.environ.get("FPDB_SEED", "20261122"))


# These values were computed with simhash 2.1.2.
@pytest.mark.parametrize(
    ("features", "f", "value"),
    [
        ("The quick brown fox jumps over the lazy dog", 64, 0x2C2A1290908A898A),
        ("", 64, 0xE9800998ECF8427E),
        (["aaa", "bbb"], 64, 57087923692560392),
        ([str(i) for i in range(500)], 64, 7984652473404407437),
        (
            dict.fromkeys(["how", "are", "you", "am", "fine"], 0.176) | {"blar": 0.878, "thanks": 0.275},
            64,
            17583409636488780916,
        ),
    ],
)
def test_values_are_those_of_simhash_2_1_2(features: Any, f: int, value: int) -> None:
    assert Simhash(features, f=f).value == value


def test_integer_weights_of_any_size_are_exact() -> None:
    # The original needs numpy 1 for weights of more than 255.
    features = [(str(i), 50 * i) for i in range(500)]
    assert Simhash(features).value == 3372825719632739723


@pytest.mark.parametrize("f", [8, 32, 64, 128])
def test_texts_have_the_values_of_the_original(
    original: Any, chance: random.Random, f: int
) -> None:
    for text in texts(chance, 200):
        assert Simhash(text, f=f).value == original.Simhash(text, f=f).value, text
        assert Simhash(text, f=f, reg=r"\w").value == original.Simhash(text, f=f, reg=r"\w").value


def test_features_have_the_values_of_the_original(original: Any, chance: random.Random) -> None:
    weights: list[Any] = [0, 1, 2, 50, 51, 200, -1, 0.5, 0.1, 1 / 3, np.float64(0.7), np.int64(3), True]
    for size in [0, 1, 2, 3, 10, 199, 200, 201, 450]:
        for kinds in (weights[:7], weights[7:11], [0.1, 0.2, 0.3], weights):
            is_whole = all(isinstance(weight, int) for weight in kinds)
            names = [str(chance.randrange(1000)) for _ in range(size)]
            weighted = [(name, chance.choice(kinds)) for name in names]
            cases: list[Any] = [names, weighted, dict(weighted)]
            if is_whole:
                # A string after a pair keeps that weight. The original fails if that is a fraction.
                cases.append([chance.choice(pair) for pair in zip(names, weighted, strict=True)])
            for features in cases:
                assert Simhash(features).value == original.Simhash(features).value, features


def test_hash_functions_may_return_bytes_or_integers(original: Any) -> None:
    def sha(data: bytes) -> bytes:
        return hashlib.sha256(data).digest()

    def number(data: bytes) -> int:
        return int.from_bytes(hashlib.sha256(data).digest(), "big")

    text = "How are you? I AM fine."
    for f in (64, 128, 256):
        expected = original.Simhash(text, f=f, hashfunc=sha).value
        assert Simhash(text, f=f, hashfunc=sha).value == expected
        assert Simhash(text, f=f, hashfunc=number).value == expected


def test_a_simhash_is_compared_by_value_and_not_hashable() -> None:
    assert Simhash(7) == Simhash(Simhash(7)) != Simhash(8)
    assert Simhash(7) != 7
    assert Simhash(0b111).distance(Simhash(0b001)) == 2
    with pytest.raises(TypeError):
        hash(Simhash(7))
    with pytest.raises(AssertionError):
        Simhash(7).distance(Simhash(7, f=32))
    with pytest.raises(ValueError, match="multiple of 8"):
        Simhash("text", f=63)
    with pytest.raises(Exception, match="Bad parameter"):
        Simhash(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("f", "k"), [(64, 2), (64, 10), (64, 0), (32, 3), (8, 2), (128, 4)])
def test_the_index_answers_as_the_original(
    original: Any, chance: random.Random, f: int, k: int
) -> None:
    centres = [chance.getrandbits(f) for _ in range(20)]

    def near() -> int:
        value = chance.choice(centres)
        for _ in range(chance.randrange(k + 2)):
            value ^= 1 << chance.randrange(f)
        # Bits above the f lowest have no effect, such as those of a negative integer.
        return value + chance.choice([0, 0, 0, 1, -1]) * (1 << f)

    # Ids repeat, and are not always strings.
    entries = [(chance.choice([i % 90, f"doc,{i}", "é"]), near()) for i in range(200)]
    ours = SimhashIndex([(i, Simhash(v, f=f)) for i, v in entries[:100]], f=f, k=k)
    theirs = original.SimhashIndex(
        [(i, original.Simhash(v, f=f)) for i, v in entries[:100]], f=f, k=k
    )
    assert ours.bucket_size() == theirs.bucket_size()
    assert ours.offsets == theirs.offsets
    for i, value in entries[100:]:
        ours.add(i, Simhash(value, f=f))
        theirs.add(i, original.Simhash(value, f=f))
    for i, value in [*chance.sample(entries, 50), ("absent", near())]:
        ours.delete(i, Simhash(value, f=f))
        theirs.delete(i, original.Simhash(value, f=f))
    for value in [near() for _ in range(200)] + [value for _, value in entries]:
        answer = ours.get_near_dups(Simhash(value, f=f))
        assert sorted(answer) == sorted(theirs.get_near_dups(original.Simhash(value, f=f)))
        keys = list(theirs.get_keys(original.Simhash(value, f=f)))
        assert list(ours.get_keys(Simhash(value, f=f))) == keys
    ours.close()


def test_an_index_with_a_path_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with SimhashIndex([("a", Simhash(0)), ("b", Simhash(1))], path=path) as index:
        index.delete("b", Simhash(1))
    with SimhashIndex([("c", Simhash(3))], path=path) as index:
        assert index.get_near_dups(Simhash(0)) == ["a", "c"]
        assert len(index) == 2
        with pytest.raises(fpdb.LockedError):
            SimhashIndex([], path=path)
    with pytest.raises(fpdb.Error, match="simhash-f32"):
        SimhashIndex([], f=32, path=path)
    with pytest.raises(fpdb.Error, match="distance"):
        SimhashIndex([], k=4, path=path)


def test_a_temporary_index_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    index = SimhashIndex([("a", Simhash(0))])
    assert list(tmp_path.iterdir())
    del index
    assert not list(tmp_path.iterdir())
    index = SimhashIndex([("a", Simhash(0))])
    index.close()
    index.close()
    assert not list(tmp_path.iterdir())
    with pytest.raises(fpdb.ClosedError):
        index.get_near_dups(Simhash(0))
    with pytest.raises(fpdb.InvalidArgumentError):
        SimhashIndex([], k=13)
    with pytest.raises(AssertionError):
        SimhashIndex([("a", Simhash(0, f=32))])
    assert not list(tmp_path.iterdir())


def brute_force(hashes: list[int], k: int) -> set[tuple[int, int]]:
    unique = sorted(set(hashes))
    return {
        (a, b) for i, a in enumerate(unique) for b in unique[i + 1 :] if (a ^ b).bit_count() <= k
    }


def hashes_near_each_other(chance: random.Random) -> list[int]:
    hashes = [chance.getrandbits(64) for _ in range(60)] + [0, 2**64 - 1]
    for _ in range(200):
        value = chance.choice(hashes)
        for _ in range(chance.randrange(5)):
            value ^= 1 << chance.randrange(64)
        hashes.append(value)
    return hashes


@pytest.mark.parametrize(("blocks", "bits"), [(1, 0), (4, 3), (6, 3), (11, 10)])
def test_find_all_finds_all_pairs(chance: random.Random, blocks: int, bits: int) -> None:
    hashes = hashes_near_each_other(chance)
    assert find_all(hashes, blocks, bits) == brute_force(hashes, bits)


def test_find_all_refuses_what_the_original_refuses() -> None:
    for blocks, bits in [(3, 3), (65, 3), (4, -1)]:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            find_all([1, 2], blocks, bits)
    for value in (-1, 2**64):
        with pytest.raises(TypeError):
            find_all([value], 4, 3)
    assert find_all([], 4, 3) == set()


PYBIND = """
import sys
sys.path.insert(0, sys.argv[1])
import simhash
print(sorted(simhash.find_all({int(line) for line in sys.stdin}, 5, 3)))
"""


def test_find_all_finds_what_simhash_pybind_finds(chance: random.Random) -> None:
    # Its module is called simhash, too. So it is in a folder of its own, and another process.
    folder = os.environ.get("SIMHASH_PYBIND")
    if not folder:
        pytest.skip("SIMHASH_PYBIND is not set to a folder that contains simhash-pybind")
    hashes = hashes_near_each_other(chance)
    found = subprocess.run(
        [sys.executable, "-c", PYBIND, folder],
        input="\n".join(map(str, hashes)),
        capture_output=True,
        check=True,
        text=True,
    )
    assert found.stdout == f"{sorted(find_all(hashes, 5, 3))}\n"


def test_the_examples_run(tmp_path: Path) -> None:
    results = doctest.testmod(compat, extraglobs={"folder": tmp_path}, raise_on_error=True)
    assert results.attempted > 8
