"""Times dedup of a second data set against a first, which is in a database: the time is to grow with the second.

The texts are sentences of a real corpus in random order, as in dedup.py. A tenth of the second are texts of the first.

    target/python/bin/python python/benches/against.py CORPUS.ndjson.gz [FIRST]
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import fpdb_engine as fpdb
from dedup import SENTENCES, sentences

SECONDS = (10_000, 30_000, 100_000)
CHUNK = 10_000


def texts(pool: list[str], seeds: range) -> list[str]:
    return [" ".join(random.Random(seed).choices(pool, k=SENTENCES)) for seed in seeds]


def chunks(pool: list[str], number: int) -> Iterator[list[str]]:
    for start in range(0, number, CHUNK):
        yield texts(pool, range(start, start + CHUNK))


def main() -> None:
    pool = sentences(sys.argv[1])
    first = int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = time.monotonic()
        found = fpdb.dedup(chunks(pool, first), range(first), against=folder / "first", run="first")
        seconds = time.monotonic() - before
        print(f"{len(found):,} texts, {found.dropped:,} dropped, {seconds:.0f} s with making the texts")
        print("| second data set | alone, s | processor s | against the first, s | processor s | us per text | dropped |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for number in SECONDS:
            known = texts(pool, range(0, number // 10))
            second = known + texts(pool, range(first, first + number - len(known)))
            row = [f"{number:,}"]
            for earlier in (None, folder / "first"):
                against = folder / "copy"
                if earlier is not None:
                    shutil.copytree(earlier, against)
                before, processor = time.monotonic(), time.process_time()
                found = fpdb.dedup(second, range(number), against=against, run="second")
                processor = time.process_time() - processor
                row += [f"{time.monotonic() - before:.2f}", f"{processor:.2f}"]
                shutil.rmtree(against)
            row += [f"{1e6 * processor / number:.0f}", f"{found.dropped:,}"]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
