"""Looks for real documents among a crowd: how many near-duplicates are found, and how many strangers.

The crowd has random sketches. The documents of the files are stored among them, with the recipe `fives/1`. Then
each is looked up, by the database's rule for a similarity of 0.8. The exact similarity of each two documents, of their
sets of five words, is computed. A false match is one with the crowd.

    target/python/bin/python python/benches/crowd.py TEXTS.ndjson.gz... [--crowd 1e7]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
from dedup import similarities, texts_of

RECIPE = "fives/1"
CHUNK = 1 << 20
# Ids of the documents, above those of the crowd.
FIRST = 1 << 40


def crowd(number: int) -> Iterator[tuple[Any, Any]]:
    rng = np.random.default_rng(1)
    for start in range(0, number, CHUNK):
        ids = np.arange(start, min(start + CHUNK, number), dtype=np.uint64)
        yield random_sketches(rng, len(ids)), ids


def random_sketches(rng: np.random.Generator, number: int) -> Any:
    return np.frombuffer(rng.bytes(96 * number), "V96")


def lookups(db: fpdb.Db, sketches: Any) -> tuple[list[set[int]], Any]:
    """Returns the ids of the matches of each sketch, and the time that each lookup took."""
    found, seconds = [], []
    for sketch in sketches.tolist():
        start = time.perf_counter()
        matches = db.query(sketch)
        seconds.append(time.perf_counter() - start)
        found.append({match.id for match in matches})
    return found, np.array(seconds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--crowd", type=float, default=1e7)
    options = parser.parse_args()
    texts = list(texts_of(options.texts))
    # Without five words there is nothing to compare.
    texts = [text for text in texts if fpdb.jaccard(text, text, ngram=5) == 1]
    sketches, valid = fpdb.fingerprint_batch(texts, RECIPE, bits=768)
    texts = [text for text, is_valid in zip(texts, valid.tolist()) if is_valid]
    sketches = sketches[valid]
    similar = similarities(texts)
    number = int(options.crowd)
    with tempfile.TemporaryDirectory() as folder:
        db = fpdb.Db.create(
            Path(folder) / "db",
            similarity=0.8,
            recipe=RECIPE,
            expected_entries=number,
            durability="buffered",
            index_memory=4 << 30,
        )
        start = time.perf_counter()
        for some, ids in crowd(number):
            db.write(some, ids)
        db.compact()
        print(f"{number:,} in the crowd, loaded in {time.perf_counter() - start:.0f} s; {len(texts):,} documents")
        db.warm()
        db.write(sketches, np.arange(FIRST, FIRST + len(texts), dtype=np.uint64))
        db.flush()
        found, seconds = lookups(db, sketches)
        strangers = random_sketches(np.random.default_rng(2), 100_000)
        of_strangers, seconds_of_strangers = lookups(db, strangers)
    false = sum(id < FIRST for ids in found for id in ids)
    print(f"{false} false matches of documents, {sum(map(len, of_strangers))} of {len(strangers):,} strangers")
    for name, times in (("a document", seconds), ("a stranger", seconds_of_strangers)):
        p50, p99 = np.percentile(times * 1e6, (50, 99))
        print(f"{name}: p50 {p50:.1f} us, p99 {p99:.1f} us, with the call from Python")
    is_found = np.zeros(similar.shape, np.bool_)
    for row, ids in enumerate(found):
        is_found[row, [id - FIRST for id in ids if id >= FIRST]] = True
    print("| similarity | pairs | found |\n| --- | ---: | ---: |")
    for low, high in ((0.01, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.85), (0.85, 0.9), (0.9, 1), (1, 1.01)):
        band = (similar >= low) & (similar < high)
        pairs = np.count_nonzero(band)
        print(f"| {low} to {min(high, 1)} | {pairs:,} | {np.count_nonzero(is_found & band) / max(pairs, 1):.4f} |")
    band = np.triu(similar < 0.01, 1)
    print(f"| below 0.01 | {np.count_nonzero(band):,} | {np.count_nonzero(is_found & band)} pairs |")


if __name__ == "__main__":
    main()
