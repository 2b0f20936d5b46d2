"""Measures dedup and rensa on texts that were made from one template, of which no two are alike enough, but for a few
copies.

Each text has the words of the template, and words of its own from a vocabulary of 20,000 words with the frequencies of
natural language. Of two texts, the sets of pairs of words have a Jaccard similarity of about SIMILARITY, up to 0.77. One
text in a hundred is a copy of an earlier one in which some words are replaced: their similarity is at least 0.85. The
copies must be dropped, and all other texts kept. rensa is optional. Each program runs in a process of its own; making the
texts is not counted.

    target/python/bin/pip install rensa
    target/python/bin/python python/benches/crowd.py [TEXTS [SIMILARITY [PROGRAM...]]]
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

TEMPLATE = 301


def texts(number: int, similarity: float) -> Iterator[tuple[str, int]]:
    """Yields texts, and the row of the text that each is a copy of, or -1."""
    rng = random.Random(1)
    words = [f"word{at}" for at in range(20_000)]
    sums: list[float] = []
    for rank in range(len(words)):
        # Zipf's law.
        sums.append(1 / (rank + 3) + (sums[-1] if sums else 0))
    template = " ".join(rng.choices(words, k=TEMPLATE))
    # Two texts share the pairs of the template, and each has so many of its own.
    own = round(TEMPLATE * (1 - similarity) / similarity / 2)
    recent: list[tuple[int, list[str]]] = []
    for row in range(number):
        of, mine = -1, rng.choices(words, cum_weights=sums, k=own)
        if recent and rng.random() < 0.01:
            of, other = rng.choice(recent)
            mine = other[:]
            for place in rng.sample(range(own), max(own // 12, 1)):
                mine[place] = f"new{rng.randrange(10**9)}"
        elif rng.random() < 0.01 or not recent:
            recent = [*recent[-999:], (row, mine)]
        yield f"{template} {' '.join(mine)}", of


def with_fpdb(texts: Iterable[str], **options: Any) -> tuple[list[int], int]:
    """Returns the rows that are dropped, and the number of rows that were compared with some of those near them only."""
    import fpdb_engine as fpdb

    found = fpdb.dedup(texts, **options)
    return (~found.keep).nonzero()[0].tolist(), found.crowded


def with_database(texts: Iterator[str]) -> tuple[list[int], int]:
    """Adds the texts to a database that has no others."""
    every = list(texts)
    with tempfile.TemporaryDirectory() as folder:
        ids = [f"{row}" for row in range(len(every))]
        return with_fpdb(every, ids=ids, against=Path(folder) / "db", run="1")


def with_rensa(texts: Iterator[str]) -> tuple[list[int], int]:
    from rensa import RMinHash, RMinHashDeduplicator

    found, dropped = RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True), []
    for row, text in enumerate(texts):
        words = text.split()
        signature = RMinHash(num_perm=128, seed=42)
        signature.update([" ".join(pair) for pair in zip(words, words[1:])])
        if not found.add(str(row), signature):
            dropped.append(row)
    return dropped, 0


PROGRAMS = {
    "fpdb": with_fpdb,
    "fpdb-estimated": partial(with_fpdb, verify=False),
    "fpdb-against": with_database,
    "rensa": with_rensa,
}


def run(number: int, similarity: float, program: str) -> None:
    def every() -> Iterator[str]:
        return (text for text, _ in texts(number, similarity))

    start = time.process_time()
    for _ in every():
        pass
    making = time.process_time() - start
    wall, start = time.monotonic(), time.process_time()
    rows, crowded = PROGRAMS[program](every())
    seconds, wall = time.process_time() - start - making, time.monotonic() - wall - making
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    dropped = set(rows)
    copies = {row for row, (_, of) in enumerate(texts(number, similarity)) if of >= 0}
    print(
        f"| {program} | {number:,} | {similarity} | {seconds:.1f} | {wall:.1f} | {memory:.0f} | "
        f"{len(copies & dropped) / max(len(copies), 1):.3f} | {len(dropped - copies):,} | {crowded:,} |",
        flush=True,
    )


def main() -> None:
    number, similarity, *programs = [*sys.argv[1:], *("20000", "0.71")[len(sys.argv) - 1 :]]
    print("| program | texts | similarity | processor s | s | memory MB | copies dropped | others dropped | crowded |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for program in programs or PROGRAMS:
        call = f"import crowd; crowd.run({int(number)}, {float(similarity)}, {program!r})"
        subprocess.run([sys.executable, "-c", call], check=True, cwd=Path(__file__).parent)


if __name__ == "__main__":
    main()
