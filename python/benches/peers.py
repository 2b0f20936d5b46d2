"""Compares fpdb with the index of the PyPI package simhash: build, query, memory, restart.

Each index is in a process of its own, holds the same random 64-bit fingerprints, and answers the same
queries, half of which are 0 to 3 bits from an entry. What an index must find is known, and checked.
tools/peers compares fpdb with other indexes in the same way.

    target/python/bin/pip install simhash
    target/python/bin/python python/benches/peers.py [ENTRIES [INDEX...]]
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

K = 3
QUERIES = 2_000
SEED = 1


def data(entries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns what is stored, the queries, and the entry that each second query must find."""
    rng = np.random.default_rng(SEED)
    stored = rng.integers(0, 2**64, entries, np.uint64)
    queries = rng.integers(0, 2**64, QUERIES, np.uint64)
    origin = rng.integers(0, entries, QUERIES // 2)
    near = stored[origin]
    for _ in range(K):
        near ^= np.uint64(1) << rng.integers(0, 64, len(near), np.uint64)
    queries[::2] = near
    return stored, queries, origin


def resident() -> int:
    """Returns the bytes of memory that only this process has: those of mapped files do not count."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


class Index:
    """An index. Answers are lists of the positions of entries."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(self, stored: np.ndarray) -> None:
        raise NotImplementedError

    def save(self) -> None:
        """Stores the index on disk, if building did not."""

    def load(self) -> None:
        raise NotImplementedError

    def query(self, fingerprint: int) -> list[int]:
        raise NotImplementedError


class Fpdb(Index):
    def build(self, stored: np.ndarray) -> None:
        import fpdb_engine

        self.db: Any = fpdb_engine.Db.create(
            self.folder / "db", max_distance=K, expected_entries=len(stored)
        )
        self.db.bulk_load(stored, np.arange(len(stored)))

    def save(self) -> None:
        self.db.close()

    def load(self) -> None:
        import fpdb_engine

        self.db = fpdb_engine.ReadOnlyDb.open(self.folder / "db")

    def query(self, fingerprint: int) -> list[int]:
        return [match.id for match in self.db.query(fingerprint, K)]


class FpdbInserts(Fpdb):
    """One insert after another, each on disk when it returns, as a crawler does."""

    def build(self, stored: np.ndarray) -> None:
        import fpdb_engine

        self.db = fpdb_engine.Db.create(
            self.folder / "db", max_distance=K, expected_entries=len(stored), durability="buffered"
        )
        for id, fingerprint in enumerate(stored.tolist()):
            self.db.insert(fingerprint, id)


class Simhash(Index):
    """PyPI simhash: its index keeps hexadecimal strings in sets. Stored with pickle."""

    def build(self, stored: np.ndarray) -> None:
        import simhash

        objects = ((str(id), simhash.Simhash(value)) for id, value in enumerate(stored.tolist()))
        self.index: Any = simhash.SimhashIndex(list(objects), k=K)

    def save(self) -> None:
        with (self.folder / "index").open("wb") as file:
            pickle.dump(self.index, file, protocol=5)

    def load(self) -> None:
        with (self.folder / "index").open("rb") as file:
            self.index = pickle.load(file)

    def query(self, fingerprint: int) -> list[int]:
        import simhash

        return [int(id) for id in self.index.get_near_dups(simhash.Simhash(fingerprint))]


INDEXES: dict[str, type[Index]] = {
    "fpdb, bulk load": Fpdb,
    "fpdb, single inserts": FpdbInserts,
    "PyPI simhash": Simhash,
}


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(name: str, entries: int, folder: Path, step: str) -> dict[str, float]:
    """Runs one step, in a process of its own."""
    stored, queries, origin = data(entries)
    index = INDEXES[name](folder)
    # So that imports do not count.
    tiny = INDEXES[name](folder / "tiny")
    tiny.folder.mkdir(exist_ok=True)
    if step == "build":
        tiny.build(stored[:10])
        tiny.save()
        build = seconds(lambda: index.build(stored))
        return {"build": build, "save": seconds(index.save)}
    tiny.load()
    del stored
    before = resident()
    load = seconds(index.load)
    first = seconds(lambda: index.query(int(queries[0])))
    numbers = queries.tolist()
    answers: list[list[int]] = []
    for _ in range(2):
        answers.clear()
        query = seconds(lambda: answers.extend(map(index.query, numbers)))
    memory = resident() - before
    found = sum(at in answer for at, answer in zip(origin.tolist(), answers[::2]))
    return {
        "restart": load + first,
        "query": query / QUERIES,
        "memory": memory / entries,
        "found": found / len(origin),
    }


def main() -> None:
    if sys.argv[1:2] == ["--step"]:
        step, name, count, folder = sys.argv[2:]
        print(json.dumps(measure(name, int(count), Path(folder), step)))
        return
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 10**6
    print(f"{entries} entries, {QUERIES} queries at k = {K}")
    print("| index | build | query | memory per entry | restart | found |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in sys.argv[2:] or INDEXES:
        with tempfile.TemporaryDirectory() as folder:
            figures: dict[str, float] = {}
            try:
                for step in ["build", "query"]:
                    command = [sys.executable, __file__, "--step", step, name, str(entries), folder]
                    ended = subprocess.run(command, check=True, capture_output=True, text=True)
                    figures |= json.loads(ended.stdout.splitlines()[-1])
            except subprocess.CalledProcessError as error:
                print(f"| {name} | failed: {error.stderr.splitlines()[-1]} |")
                continue
        print(
            f"| {name} | {figures['build'] + figures['save']:.1f} s | {figures['query'] * 1e6:.1f} us"
            f" | {figures['memory']:.0f} bytes | {figures['restart'] * 1e3:.0f} ms"
            f" | {figures['found']:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
