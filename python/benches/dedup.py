"""Compares dedup with what people use: datatrove's MinHash, datasketch and rensa, from texts to the rows to drop.

Each program runs in a process of its own, on the same texts: a number of sentences of a real corpus, in an order
that occurs once, and copies of some of them in which words are replaced. The true similarity of a copy and its
original is that of their sets of five words, computed exactly. `found` is the share of the copies of each
similarity that were dropped; `wrong` counts dropped texts whose true similarity to each of their family is below 0.5,
and below 0.8. `left` counts the pairs of a family with a similarity of at least 0.8 of which both texts were kept: a copy
that is like a dropped text only is not among them.

    target/python/bin/pip install datasketch rensa spacy tokenizers "xxhash<3.6"
    target/python/bin/python python/benches/dedup.py CORPUS.ndjson.gz [TEXTS [PROGRAM...]]
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SENTENCES = 10
# Of three originals, one has no copy, one has one, and one has two.
COPIES = (0, 1, 2)


def texts_of(paths: list[str]) -> Iterator[str]:
    """Yields the texts of files of NDJSON with a field `text`."""
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def sentences(path: str) -> list[str]:
    """Returns the sentences of the texts of a file."""
    every = (sentence.split() for text in texts_of([path]) for sentence in re.split(r"(?<=[.!?])\s+", text))
    return sorted({" ".join(words) for words in every if 8 <= len(words) <= 40})


def similarities(texts: list[str]) -> Any:
    """Returns the exact similarity of each two texts, above the diagonal."""
    import fpdb_engine

    a, b = np.triu_indices(len(texts), 1)
    similar = np.zeros((len(texts), len(texts)), np.float32)
    similar[a, b] = np.nan_to_num(fpdb_engine.jaccard_pairs(texts, a, b, ngram=5))
    return similar


def features(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[place : place + 5]) for place in range(len(words) - 4)}


def jaccard(a: str, b: str) -> float:
    first, second = features(a), features(b)
    return len(first & second) / len(first | second)


def corpus(path: str, number: int) -> tuple[list[str], list[int]]:
    """Returns texts in random order, and the family of each."""
    rng = random.Random(1)
    pool = sentences(path)
    texts: list[str] = []
    families: list[int] = []
    family = 0
    while len(texts) < number:
        original = " ".join(rng.sample(pool, SENTENCES))
        texts.append(original)
        families.append(family)
        for _ in range(COPIES[family % len(COPIES)]):
            words = original.split()
            # One replaced word changes five of the features.
            for place in rng.sample(range(len(words)), rng.randint(0, len(words) // 12)):
                words[place] = rng.choice(pool).split()[0] + str(rng.randrange(1000))
            texts.append(" ".join(words))
            families.append(family)
        family += 1
    order = list(range(number))
    rng.shuffle(order)
    return [texts[row] for row in order], [families[row] for row in order]


def with_fpdb(texts: list[str], folder: Path, **options: Any) -> list[int]:
    import fpdb_engine

    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    found = fpdb_engine.dedup(texts, threads=1, **options)
    return np.flatnonzero(~found.keep).tolist()


def with_datatrove(texts: list[str], folder: Path, ngram: int = 5) -> list[int]:
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupFilter

    class Rows(PipelineStep):
        def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Any:
            for row, text in enumerate(texts):
                yield Document(text=text, id=str(row))

    class Kept(PipelineStep):
        rows: list[int] = []

        def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Any:
            for document in data:
                self.rows.append(int(document.id))
                yield document

    config = MinhashConfig(n_grams=ngram, num_buckets=14, hashes_per_bucket=8)
    signatures, buckets, removed = (str(folder / name) for name in ("s", "b", "r"))
    steps = [
        ([Rows(), MinhashDedupSignature(output_folder=signatures, config=config)], 1),
        ([MinhashDedupBuckets(signatures, buckets, config=config)], 14),
        ([MinhashDedupCluster(buckets, removed, config=config)], 1),
        ([Rows(), MinhashDedupFilter(removed), Kept()], 1),
    ]
    for number, (pipeline, tasks) in enumerate(steps):
        # A folder for each, or the tasks of the later ones count as completed.
        logs = str(folder / f"logs-{number}")
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=logs).run()
    return sorted(set(range(len(texts))) - set(Kept.rows))


def with_datasketch(texts: list[str], folder: Path) -> list[int]:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(params=(14, 8), num_perm=112)
    dropped = []
    for row, text in enumerate(texts):
        signature = MinHash(num_perm=112)
        signature.update_batch([" ".join(words).encode() for words in features(text)])
        if index.query(signature):
            dropped.append(row)
        else:
            index.insert(row, signature)
    return dropped


def with_rensa(texts: list[str], folder: Path) -> list[int]:
    from rensa import RMinHash, RMinHashDeduplicator

    found = RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True)
    dropped = []
    for row, text in enumerate(texts):
        signature = RMinHash(num_perm=128, seed=42)
        signature.update([" ".join(words) for words in features(text)])
        if not found.add(str(row), signature):
            dropped.append(row)
    return dropped


PROGRAMS = {
    "fpdb": with_fpdb,
    "fpdb-estimated": partial(with_fpdb, verify=False),
    "fpdb-ngram": partial(with_fpdb, ngram=5),
    "fpdb-fives": partial(with_fpdb, recipe="fives/1"),
    "fpdb-fives-complete": partial(with_fpdb, recipe="fives/1", recall=0.98),
    "fpdb-fives-estimated": partial(with_fpdb, recipe="fives/1", verify=False),
    "datatrove": with_datatrove,
    "datasketch": with_datasketch,
    "rensa": with_rensa,
}
LABELS = {
    "fpdb": "`fpdb_engine.dedup`",
    "fpdb-estimated": "with `verify=False`",
    "fpdb-ngram": "with `ngram=5`",
    "fpdb-fives": "with `recipe='fives/1'`",
    "fpdb-fives-complete": "with `recipe='fives/1', recall=0.98`",
    "fpdb-fives-estimated": "with `recipe='fives/1', verify=False`",
    "datatrove": "datatrove, MinHash 14 x 8",
    "datasketch": "datasketch, MinHash LSH 14 x 8",
    "rensa": "rensa, R-MinHash de-duplicator of 128",
}
"""How a table calls the programs."""


class DiskUse(threading.Thread):
    """Watches how many bytes the files in a folder take at most."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.most = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(0.1):
            self.look()

    def look(self) -> None:
        total = 0
        for file in self.folder.rglob("*"):
            try:
                total += file.stat().st_size if file.is_file() else 0
            except OSError:
                pass
        self.most = max(self.most, total)


def child(name: str, path: str, number: int) -> None:
    texts, _ = corpus(path, number)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        disk = DiskUse(folder)
        disk.start()
        dropped = PROGRAMS[name](texts, folder)
        disk.stopped.set()
        disk.look()
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cpu += children.ru_utime + children.ru_stime
    memory = after.ru_maxrss - before.ru_maxrss
    print(json.dumps([dropped, seconds, cpu, memory * 1024, disk.most]))


def main() -> None:
    if sys.argv[1] == "--child":
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    path = sys.argv[1]
    number = int(float(sys.argv[2])) if len(sys.argv) > 2 else 20_000
    names = sys.argv[3:] or list(PROGRAMS)
    texts, families = corpus(path, number)
    firsts: dict[int, int] = {}
    # For each later text of a family: its greatest similarity to an earlier one.
    similar: dict[int, float] = {}
    members: dict[int, list[int]] = {}
    for row, family in enumerate(families):
        earlier = members.setdefault(family, [])
        if earlier:
            similar[row] = max(jaccard(texts[row], texts[other]) for other in earlier)
        earlier.append(row)
        firsts.setdefault(family, row)
    print(f"{number:,} texts, of which {len(similar):,} are like an earlier one")
    print("| program | s | processor s | memory MB | disk MB | found at J = .7 to .8, .8 to .9, .9 to 1 | left | wrong, < .5, < .8 |")
    print("| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |")
    for name in names:
        command = [sys.executable, __file__, "--child", name, path, str(number)]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        rows, seconds, cpu, memory, disk = json.loads(output.strip().splitlines()[-1])
        dropped = set(rows)
        # Programs differ in which text of a family they keep, so families are compared.
        found = []
        for low, high in ((0.7, 0.8), (0.8, 0.9), (0.9, 1.01)):
            band = [row for row, value in similar.items() if low <= value < high]
            kept_families = {families[row] for row in band}
            expected = sum(1 for row in band)
            actual = sum(1 for row in band if row in dropped)
            if name == "datatrove":
                # It may keep this row and drop another of the family.
                actual = sum(
                    min(
                        sum(1 for row in members[family] if row in dropped),
                        sum(1 for row in members[family] if row in similar and low <= similar[row] < high),
                    )
                    for family in kept_families
                )
            found.append(f"{actual / max(expected, 1):.3f}")
        nearest = []
        for row in dropped:
            others = [texts[other] for other in members[families[row]] if other != row]
            nearest.append(max((jaccard(texts[row], other) for other in others), default=0.0))
        wrong = ", ".join(str(sum(value < limit for value in nearest)) for limit in (0.5, 0.8))
        left = 0
        for family in members.values():
            kept = [row for row in family if row not in dropped]
            left += sum(jaccard(texts[a], texts[b]) >= 0.8 for a, b in itertools.combinations(kept, 2))
        print(
            f"| {LABELS.get(name, name)} | {seconds:.1f} | {cpu:.1f} | {memory / 1e6:.0f} | {disk / 1e6:.1f} | "
            f"{', '.join(found)} | {left} | {wrong} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
