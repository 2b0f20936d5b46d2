"""The classes of the PyPI package simhash 2.1.2, with an index that is an fpdb database.

Replace `from simhash import Simhash, SimhashIndex` by
`from fpdb_engine.compat.simhash import Simhash, SimhashIndex`. Simhash gives the same values, and
SimhashIndex the same answers. In addition, SimhashIndex(objs, path="index.fpdb") keeps the index in a
folder, and finds there what was added before.

>>> index = SimhashIndex([("1", Simhash("How are you? I am fine."))], k=3, path=folder / "index.fpdb")
>>> index.close()
>>> with SimhashIndex([], k=3, path=folder / "index.fpdb") as index:
...     index.get_near_dups(Simhash("How are you? I am fine!"))
['1']

What differs:

- The tolerance k is at most 12, and f is at most 128.
- get_near_dups() returns the nearest first, not in random order.
- There is no attribute `bucket`. bucket_size() counts the buckets that the entries would have now;
  the original also counts buckets that a query looked up or that deletions left empty.
- Large buckets are not reported to the log, because there are none.
- An object id has at most 65,000 bytes or so in UTF-8.
- Integer weights of more than 255 work with every numpy. With numpy 2, the original raises
  OverflowError.

find_all() is that of the PyPI packages simhash-pybind and simhash-py.
"""

from __future__ import annotations

import hashlib
import logging
import numbers
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._errors import InvalidArgumentError
from .._native import Db

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Simhash", "SimhashIndex", "find_all"]

_BATCH = 10_000
_LOGGER = logging.getLogger("simhash")


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


class Simhash:
    """A fingerprint of f bits.

    The value is a text, whose features are the sequences of four letters after removing all that the
    regular expression reg does not match; or features, as an iterable of strings or of (string, weight)
    or a dict of weights; or an integer, or another Simhash, which are taken as they are. hashfunc
    takes bytes and returns bytes, of which the last f / 8 are used, or an integer.

    >>> hex(Simhash("The quick brown fox jumps over the lazy dog").value)
    '0x2c2a1290908a898a'
    >>> Simhash({"fox": 2, "dog": 1}).distance(Simhash(["fox", "fox", "dog"]))
    0
    """

    # As in the original. A weight up to the first is applied by repeating the feature.
    large_weight_cutoff = 50
    batch_size = 200

    def __init__(
        self,
        value: Simhash | str | Iterable[Any] | int,
        f: int = 64,
        reg: str | re.Pattern[str] = r"[\w\u4e00-\u9fcc]+",
        hashfunc: Callable[[bytes], bytes | int] = _md5,
        log: logging.Logger | None = None,
    ) -> None:
        if f % 8:
            raise ValueError("f must be a multiple of 8")
        self.f = f
        self.f_bytes = f // 8
        self.reg = reg
        self.hashfunc = hashfunc
        self.hashfunc_returns_int = isinstance(hashfunc(b"test"), numbers.Integral)
        self.log = log or _LOGGER
        self.value: int
        if isinstance(value, Simhash):
            self.value = value.value
        elif isinstance(value, str):
            self.build_by_text(value)
        elif isinstance(value, Iterable):
            self.build_by_features(value)
        elif isinstance(value, numbers.Integral):
            self.value = int(value)
        else:
            # The original raises Exception, from which this is derived.
            raise TypeError(f"Bad parameter with type {type(value)}")

    def __eq__(self, other: object) -> bool:
        """Compares the values. The original fails if the other is not a Simhash."""
        if not isinstance(other, Simhash):
            return NotImplemented
        return self.value == other.value

    # As in the original: equal values with different f would need equal hashes.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Simhash({self.value:#x}, f={self.f})"

    def build_by_text(self, content: str) -> None:
        """Sets the value to the fingerprint of a text."""
        letters = "".join(re.findall(self.reg, content.lower()))
        weights: dict[str, int] = {}
        for begin in range(max(len(letters) - 3, 1)):
            feature = letters[begin : begin + 4]
            weights[feature] = weights.get(feature, 0) + 1
        self.build_by_features(weights)

    def build_by_features(self, features: Iterable[Any]) -> None:
        """Sets the value to the fingerprint of features."""
        sums: Any = np.zeros(self.f, np.int64)
        total: Any = 0
        features = iter(features.items() if isinstance(features, dict) else features)
        weight: Any = 1
        while batch := list(islice(features, self.batch_size)):
            digests, weights = [], []
            for feature in batch:
                if not isinstance(feature, str):
                    # As in the original, the weight also applies to strings that follow without one.
                    feature, weight = feature
                total += weight
                digests.append(self._digest(feature))
                # The original repeats the feature by its weight: a negative integer leaves it out.
                weights.append(max(weight, 0) if isinstance(weight, int) else weight)
            bits = np.unpackbits(np.frombuffer(b"".join(digests), np.uint8))
            products = bits.reshape(-1, self.f) * np.array(weights)[:, np.newaxis]
            # One row after the other, so that fractions are rounded as in the original.
            sums = np.add.reduce(np.vstack([sums[np.newaxis], products]), 0)
        self.value = int.from_bytes(np.packbits(sums > total / 2).tobytes(), "big")

    def _digest(self, feature: str) -> bytes:
        digest = self.hashfunc(feature.encode("utf-8"))
        if isinstance(digest, bytes):
            return digest[-self.f_bytes :]
        return (int(digest) & ((1 << self.f) - 1)).to_bytes(self.f_bytes, "big")

    def distance(self, another: Simhash) -> int:
        """Returns the number of bits that differ."""
        assert self.f == another.f
        return ((self.value ^ another.value) & ((1 << self.f) - 1)).bit_count()


class SimhashIndex:
    """An index that finds the ids of all fingerprints within k bits of a given one.

    objs are pairs of an id, which becomes a string, and a Simhash of f bits. With a path, the index is
    in a folder there, which is created if there is none; only one process can have it open. What was
    added survives a crash of the process; a loss of power can take the last second. Without a path, the
    index is in a temporary folder.

    >>> objs = [("a", Simhash(0b0000)), ("b", Simhash(0b0011)), ("c", Simhash(0b1111))]
    >>> index = SimhashIndex(objs, k=2)
    >>> index.get_near_dups(Simhash(0b0001))
    ['a', 'b']
    >>> index.delete("a", Simhash(0))
    >>> index.get_near_dups(Simhash(0b0001))
    ['b']
    """

    def __init__(
        self,
        objs: Iterable[tuple[Any, Simhash]],
        f: int = 64,
        k: int = 2,
        log: logging.Logger | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        if not 1 <= f <= 128:
            raise InvalidArgumentError(f"f = {f}: expected 1 to 128")
        self.f = f
        self.k = k
        self.log = log or _LOGGER
        self._mask = (1 << f) - 1
        bits = 64 if f <= 64 else 128
        # The recipe makes sure that an index in a folder is not opened with another f.
        recipe = f"simhash-f{f}"
        folder = None
        if path is None:
            folder = tempfile.mkdtemp(prefix="simhash-")
            path = os.path.join(folder, "index.fpdb")
        try:
            self._db = Db.open_or_create(
                path,
                bits=bits,
                max_distance=k,
                ids="names",
                custom_recipe=recipe,
                durability="buffered",
            )
        except BaseException:
            _remove(folder)
            raise
        # Runs at the latest when this object is no longer used, or at the end of the process.
        self._close = weakref.finalize(self, _close, self._db, folder)
        try:
            self._add_all(objs)
        except BaseException:
            self.close()
            raise

    def _add_all(self, objs: Iterable[tuple[Any, Simhash]]) -> None:
        objs = iter(objs)
        count = 0
        while batch := list(islice(objs, _BATCH)):
            values = [self._value(simhash) for _, simhash in batch]
            names = [_name(obj_id, simhash) for obj_id, simhash in batch]
            self._db.write(self._array(values), names=names)
            count += len(batch)
            self.log.info("%s added", count)

    def _value(self, simhash: Simhash) -> int:
        assert simhash.f == self.f
        return simhash.value & self._mask

    def _array(self, values: list[int]) -> npt.NDArray[np.uint64]:
        if self.f <= 64:
            return np.array(values, np.uint64)
        low = (1 << 64) - 1
        return np.array([(value >> 64, value & low) for value in values], np.uint64)

    def get_near_dups(self, simhash: Simhash) -> list[str]:
        """Returns the ids of all fingerprints within k bits, the nearest first."""
        matches = self._db.query(self._value(simhash), self.k)
        names = self._db.names([match.id for match in matches])
        # A name is the value, a comma and the id. A dict, because an id can have several values.
        return list(dict.fromkeys(name.split(",", 1)[1] for name in names if name is not None))

    def add(self, obj_id: Any, simhash: Simhash) -> None:
        """Adds an id with a fingerprint. An id may have several."""
        self._db.insert(self._value(simhash), _name(obj_id, simhash))

    def delete(self, obj_id: Any, simhash: Simhash) -> None:
        """Deletes an id with a fingerprint, if it is in the index."""
        self._value(simhash)
        self._db.remove(_name(obj_id, simhash))

    @property
    def offsets(self) -> list[int]:
        """The lowest bit of each block that the original's buckets are for."""
        return [self.f // (self.k + 1) * i for i in range(self.k + 1)]

    def get_keys(self, simhash: Simhash) -> Iterator[str]:
        """Returns the keys of the original's buckets for a fingerprint."""
        for i, (begin, end) in enumerate(self._blocks()):
            yield f"{simhash.value >> begin & ((1 << (end - begin)) - 1):x}:{i:x}"

    def bucket_size(self) -> int:
        """Returns how many buckets the original would have. This reads all entries."""
        keys: list[set[int]] = [set() for _ in range(self.k + 1)]
        for entries in self._db.entries():
            values = entries.fingerprints.tolist()
            if self.f > 64:
                values = [high << 64 | low for high, low in values]
            for found, (begin, end) in zip(keys, self._blocks(), strict=True):
                block = (1 << (end - begin)) - 1
                found.update(value >> begin & block for value in values)
        return sum(len(found) for found in keys)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        return zip(self.offsets, [*self.offsets[1:], self.f], strict=True)

    def __len__(self) -> int:
        """Returns the number of fingerprints with their ids."""
        return len(self._db)

    def close(self) -> None:
        """Closes the index, and removes it if it is in a temporary folder."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _close(db: Db, folder: str | None) -> None:
    db.close()
    _remove(folder)


def _remove(folder: str | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _name(obj_id: Any, simhash: Simhash) -> str:
    return f"{simhash.value:x},{obj_id}"


def find_all(
    hashes: Iterable[int], number_of_blocks: int, different_bits: int
) -> set[tuple[int, int]]:
    """Returns all pairs of different hashes that differ in at most different_bits bits, at most 12.

    The smaller hash is first. The number of blocks, from different_bits + 1 to 64, has no effect: fpdb
    chooses its own tables.

    >>> sorted(find_all([1, 2, 255, 1], 4, 3))
    [(1, 2)]
    """
    if number_of_blocks <= different_bits:
        raise InvalidArgumentError(
            f"Number of blocks ({number_of_blocks}) must be greater than different_bits "
            f"({different_bits})"
        )
    if number_of_blocks > 64:
        raise InvalidArgumentError("Number of blocks must not exceed 64")
    unique = sorted(set(hashes))
    if unique and not 0 <= unique[0] <= unique[-1] < 1 << 64:
        raise TypeError("hashes must be integers from 0 to 2**64 - 1")
    values = np.array(unique, np.uint64)
    found: set[tuple[int, int]] = set()
    with tempfile.TemporaryDirectory(prefix="simhash-") as folder:
        path = os.path.join(folder, "hashes.fpdb")
        with Db.create(path, max_distance=different_bits, durability="buffered") as db:
            db.bulk_load(values, np.arange(len(values), dtype=np.uint64))
            for pairs in db.pairs(different_bits):
                # Ids are in the order of the hashes.
                first = values[np.minimum(pairs.a, pairs.b)]
                second = values[np.maximum(pairs.a, pairs.b)]
                found.update(zip(first.tolist(), second.tolist(), strict=True))
    return found
