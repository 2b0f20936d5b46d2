"""Ctrl-C ends long work."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import fpdb_engine as fpdb
import numpy as np
import pytest

# Entries whose fingerprints differ in few bits: searches find hundreds of millions of pairs.
CROWD = 60_000

SETUP = """
import itertools, signal, sys, time
import fpdb_engine as fpdb
import numpy as np

# Background jobs of a shell ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
path, call = sys.argv[1:]
db = fpdb.Db.open(path, threads=2)
crowd = np.arange(%d, dtype=np.uint64) %% 4096
texts = ["word " * 2000] * 100_000
calls = {
    "pairs": lambda: sum(len(chunk.a) for chunk in db.pairs(10, expand=True)),
    "clusters": lambda: db.clusters(10, memory=1 << 40),
    "join": lambda: sum(len(chunk.a) for chunk in db.join(db, 10)),
    "query_batch": lambda: db.query_batch(crowd, 10),
    "fingerprint_batch": lambda: fpdb.fingerprint_batch(texts),
    "bulk_load": lambda: db.bulk_load(([n], [n]) for n in itertools.count()),
    "dedup": lambda: fpdb.dedup(texts),
}
print("begun", flush=True)
begun = time.monotonic()
try:
    calls[call]()
except KeyboardInterrupt:
    print("interrupted after", time.monotonic() - begun)
assert db.query(0, 0, limit=1) and len(db) == %d, "the handle still works, and nothing was loaded"
""" % (CROWD, CROWD)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crowd") / "db"
    with fpdb.Db.create(path, max_distance=10) as db:
        db.bulk_load(np.arange(CROWD, dtype=np.uint64) % 4096, np.arange(CROWD))
    return path


@pytest.mark.parametrize(
    "call", ["pairs", "clusters", "join", "query_batch", "fingerprint_batch", "bulk_load", "dedup"]
)
def test_ctrl_c_ends_long_work(crowd: Path, call: str) -> None:
    command = [sys.executable, "-c", SETUP, str(crowd), call]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.7)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == 0, err
        assert out.startswith("interrupted after"), (out, err)


COMPARED = """
import signal, sys, time
import fpdb_engine as fpdb

signal.signal(signal.SIGINT, signal.default_int_handler)
words = [f"{group} and word{word}" for group in range(16) for word in range(1500)]
texts = [f"{row} " + " ".join(words[row % 16 * 1500 :][:1500]) for row in range(4_000)]
calls = {
    "contained": lambda progress: fpdb.dedup_contained(texts, progress=progress, share=0.9),
    "gaps": lambda progress: fpdb.dedup_passages(texts, progress=progress, min_words=14, gaps=5),
}
begun = None

def progress(done, total):
    global begun
    if done > total - len(texts) and begun is None:  # what was read is compared
        begun = time.monotonic()
        print("begun", flush=True)

try:
    calls[sys.argv[1]](progress)
    print("ended after", time.monotonic() - begun)
except KeyboardInterrupt:
    print("interrupted after", time.monotonic() - begun)
"""


@pytest.mark.parametrize("call", ["contained", "gaps"])
def test_ctrl_c_ends_comparisons_after_the_texts_were_read(call: str) -> None:
    with subprocess.Popen([sys.executable, "-c", COMPARED, call], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert out.startswith("interrupted after"), out


class Interrupted(Exception):
    pass


def test_a_batch_is_interruptible_from_its_first_query_on(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise Interrupted

    entries = 4_000_000
    with fpdb.Db.create(tmp_path / "db", threads=1, background=False) as db:
        db.bulk_load(rng.integers(0, 2**64, entries, np.uint64), np.arange(entries))
        # So far beyond the database's distance, each entry is compared with each query.
        queries = rng.integers(0, 2**64, 250, np.uint64)
        begun = time.monotonic()
        db.query_batch(queries, 20)
        whole = time.monotonic() - begun
        before = signal.signal(signal.SIGALRM, interrupt)
        begun = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, whole / 8)
        try:
            with pytest.raises(Interrupted):
                db.query_batch(queries, 20)
        finally:
            signal.signal(signal.SIGALRM, before)
        assert time.monotonic() - begun < whole / 2 + 0.2


def test_an_iterator_that_is_dropped_ends_its_search(crowd: Path) -> None:
    import threading

    before = threading.active_count()
    with fpdb.ReadOnlyDb.open(crowd) as db:
        for _ in range(20):
            pairs = db.pairs(10, expand=True)
            assert len(next(pairs).a) == 1 << 16
            pairs.close()
            with pytest.raises(StopIteration):
                next(pairs)
            next(db.pairs(10, expand=True))
    assert threading.active_count() == before
