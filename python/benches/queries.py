"""Times queries from Python beside the same queries in Rust, on the same database.

The best of several rounds counts, because other load on the machine only adds time. Run it with the
interpreter that has the wheel, from anywhere in the repository:

    target/python/bin/python python/benches/queries.py [ENTRIES] [ROUNDS]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import fpdb_engine as fpdb
import numpy as np

PYTHON = Path(__file__).parents[1]
K = 3
QUERIES = 100_000
SIZES = [100, 1_000, 10_000, 100_000]


def rust_bench() -> str:
    """Builds the queries in Rust, and returns the program."""
    command = ["cargo", "bench", "-p", "fpdb-python", "--bench", "queries", "--no-run"]
    built = subprocess.run(
        [*command, "--message-format=json"], cwd=PYTHON, check=True, capture_output=True, text=True
    )
    messages = map(json.loads, built.stdout.splitlines())
    return str(next(m["executable"] for m in messages if m.get("executable")))


def nanoseconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) / QUERIES * 1e9


def python_round(path: Path, queries: np.ndarray) -> list[float]:
    with fpdb.ReadOnlyDb.open(path) as db:
        db.warm()
        numbers = queries.tolist()

        def single() -> None:
            query = db.query
            for number in numbers:
                query(number, K)

        def batches(size: int) -> None:
            for at in range(0, len(queries), size):
                db.query_batch(queries[at : at + size], K)

        single()
        return [nanoseconds(single)] + [nanoseconds(lambda: batches(size)) for size in SIZES]


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    program = rust_bench()
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path, file = Path(folder) / "db", Path(folder) / "queries"
        stored = rng.integers(0, 2**64, entries, np.uint64)
        with fpdb.Db.create(path, expected_entries=entries) as db:
            db.bulk_load(stored, np.arange(entries))
        # Half of the queries are 0 to 3 bits from an entry.
        queries = rng.integers(0, 2**64, QUERIES, np.uint64)
        near = rng.choice(stored, QUERIES // 2)
        for _ in range(K):
            near ^= np.uint64(1) << rng.integers(0, 64, len(near), np.uint64)
        queries[::2] = near
        queries.tofile(file)
        figures = []
        for _ in range(rounds):
            command = [program, str(path), str(file), str(K), *map(str, SIZES)]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            figures.append((list(map(float, out.split())), python_round(path, queries)))
    print(f"{entries} entries, {QUERIES} queries at k = {K}, best of {rounds} rounds")
    print("| queries at a time | Rust, ns per query | Python, ns per query | difference |")
    print("| --- | --- | --- | --- |")
    for at, size in enumerate([1, *SIZES]):
        rust, python = (min(f[side][at] for f in figures) for side in (0, 1))
        ratio = (python / rust - 1) * 100
        print(f"| {size} | {rust:.0f} | {python:.0f} | {python - rust:+.0f} ns, {ratio:+.0f} % |")


if __name__ == "__main__":
    main()
