"""Compares fpdb with other indexes for Python: build, query, memory, restart.

Each index is in a process of its own, holds the same random 64-bit fingerprints, and answers the same
queries, half of which are 0 to 3 bits from an entry. What an index must find is known, and checked.

    target/python/bin/pip install datasketch simhash faiss-cpu
    target/python/bin/python python/benches/peers.py [ENTRIES [INDEX...]]
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
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

    def query_all(self, queries: np.ndarray) -> list[list[int]]:
        return [self.query(fingerprint) for fingerprint in queries.tolist()]


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


class Pickled(Index):
    """An index in memory, stored with pickle."""

    index: Any

    def save(self) -> None:
        with (self.folder / "index").open("wb") as file:
            pickle.dump(self.index, file, protocol=5)

    def load(self) -> None:
        with (self.folder / "index").open("rb") as file:
            self.index = pickle.load(file)


class Simhash(Pickled):
    """PyPI simhash: its index keeps hexadecimal strings in sets."""

    def build(self, stored: np.ndarray) -> None:
        import simhash

        objects = ((str(id), simhash.Simhash(value)) for id, value in enumerate(stored.tolist()))
        self.index = simhash.SimhashIndex(list(objects), k=K)

    def query(self, fingerprint: int) -> list[int]:
        import simhash

        return [int(id) for id in self.index.get_near_dups(simhash.Simhash(fingerprint))]


class Datasketch(Pickled):
    """datasketch's MinHashLSH holds sketches of 128 numbers instead of fingerprints. So that all
    indexes have the same task, the tokens of a sketch are the 64 bits of a fingerprint, and a
    threshold of 0.8 finds those 3 bits apart, whose similarity is 61 / 67. Its answers are
    approximate. The sketches are made with numpy, many at a time, which takes a tenth of the time."""

    def __init__(self, folder: Path) -> None:
        import datasketch

        super().__init__(folder)
        self.tokens = np.zeros((64, 2, 128), np.uint64)
        for bit in range(64):
            for value in range(2):
                sketch = datasketch.MinHash(num_perm=128)
                sketch.update(bytes([bit, value]))
                self.tokens[bit, value] = sketch.hashvalues
        # Making these for every sketch would take most of the time.
        self.options = {"scheme": sketch.scheme, "permutations": sketch.permutations}

    def sketches(self, fingerprints: np.ndarray) -> Iterator[Any]:
        import datasketch

        for some in np.array_split(fingerprints, len(fingerprints) // 10_000 + 1):
            least = np.full((len(some), 128), 2**64 - 1, np.uint64)
            for bit in range(64):
                values = (some >> np.uint64(bit) & np.uint64(1)).astype(np.intp)
                np.minimum(least, self.tokens[bit][values], out=least)
            for row in least:
                yield datasketch.MinHash(num_perm=128, hashvalues=row, **self.options)

    def build(self, stored: np.ndarray) -> None:
        import datasketch

        self.index = datasketch.MinHashLSH(threshold=0.8, num_perm=128)
        with self.index.insertion_session() as session:
            for id, sketch in enumerate(self.sketches(stored)):
                session.insert(id, sketch)

    def query(self, fingerprint: int) -> list[int]:
        (sketch,) = self.sketches(np.array([fingerprint], np.uint64))
        return list(self.index.query(sketch))

    def query_all(self, queries: np.ndarray) -> list[list[int]]:
        return [list(self.index.query(sketch)) for sketch in self.sketches(queries)]


class Faiss(Index):
    """FAISS IndexBinaryMultiHash: 4 hash tables of 16 bits each. If 3 bits differ, one of the tables
    has equal bits, so its answers are exact."""

    def build(self, stored: np.ndarray) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.index = faiss.IndexBinaryMultiHash(64, 4, 16)
        self.index.nflip = 0
        self.index.add(stored.view(np.uint8).reshape(-1, 8))

    def save(self) -> None:
        import faiss

        faiss.write_index_binary(self.index, str(self.folder / "index"))

    def load(self) -> None:
        import faiss

        self.index = faiss.read_index_binary(str(self.folder / "index"))

    def query(self, fingerprint: int) -> list[int]:
        row = np.array([fingerprint], np.uint64).view(np.uint8).reshape(1, 8)
        # A radius is exclusive.
        return self.index.range_search(row, K + 1)[2].tolist()


INDEXES: dict[str, type[Index]] = {
    "fpdb, bulk load": Fpdb,
    "fpdb, single inserts": FpdbInserts,
    "FAISS binary MultiHash": Faiss,
    "PyPI simhash": Simhash,
    "datasketch MinHashLSH": Datasketch,
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
    index.query_all(queries)
    answers: list[list[int]] = []
    query = seconds(lambda: answers.extend(index.query_all(queries)))
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
                    environment = os.environ | {"OMP_NUM_THREADS": "1"}
                    ended = subprocess.run(
                        command, check=True, capture_output=True, text=True, env=environment
                    )
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
