"""Asks one question of the Rust library, the tool and the Python package: which rows of these texts to keep. All of them
must drop the same rows, and none that is less similar than 0.8 to each kept one. datatrove's MinHash, datasketch and
rensa are beside them, if they are installed.

There are two sets. `sentences` has ten sentences of a real corpus per text and copies in which words are replaced, as in
dedup.py; `template` has texts that were made from one template, as in crowd.py. Words are in lower case and without
punctuation, so that all programs compare the same pairs of words. `below` counts dropped rows that are less similar than
0.8 to each kept row before them, and `left` those that are kept although they are not. Each program runs in a process of
its own. Its processor time includes reading the texts from a file, which all of them do.

    target/python/bin/pip install datasketch rensa spacy tokenizers "xxhash<3.6"
    target/python/bin/python python/benches/doors.py CORPUS.ndjson.gz [TEXTS]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import crowd
import dedup
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
LEAST = 0.8
# So many rows are expected unless somebody says otherwise, in Rust and Python.
EXPECTED = "10000000"


def kept_by_python(path: Path, folder: Path) -> list[int]:
    import fpdb_engine as fpdb

    return fpdb.dedup(path.read_text().splitlines()).keep.nonzero()[0].tolist()


def kept_beside_database(path: Path, folder: Path) -> list[int]:
    import fpdb_engine as fpdb

    texts = path.read_text().splitlines()
    ids = [str(row) for row in range(len(texts))]
    found = fpdb.dedup(texts, ids=ids, against=folder / "db", run="1", expected=int(EXPECTED))
    return found.keep.nonzero()[0].tolist()


def kept_by_datasketch(path: Path, folder: Path) -> list[int]:
    from datasketch import MinHash, MinHashLSH

    index, kept = MinHashLSH(threshold=LEAST, num_perm=128), []
    for row, text in enumerate(path.read_text().splitlines()):
        minima = MinHash(num_perm=128)
        minima.update_batch([pair.encode() for pair in pairs_of(text)])
        if not index.query(minima):
            index.insert(row, minima)
            kept.append(row)
    return kept


def kept_by_rensa(path: Path, folder: Path) -> list[int]:
    from rensa import RMinHash, RMinHashDeduplicator

    found, kept = RMinHashDeduplicator(threshold=LEAST, num_perm=128, use_lsh=True), []
    for row, text in enumerate(path.read_text().splitlines()):
        signature = RMinHash(num_perm=128, seed=42)
        signature.update(pairs_of(text))
        if found.add(str(row), signature):
            kept.append(row)
    return kept


def kept_by_datatrove(path: Path, folder: Path) -> list[int]:
    texts = path.read_text().splitlines()
    dropped = set(dedup.with_datatrove(texts, folder, ngram=2))
    return [row for row in range(len(texts)) if row not in dropped]


def pairs_of(text: str) -> list[str]:
    words = text.split()
    return [" ".join(pair) for pair in zip(words, words[1:])]


IN_PYTHON = {
    "Python": kept_by_python,
    "Python, against a database": kept_beside_database,
    "datatrove": kept_by_datatrove,
    "datasketch": kept_by_datasketch,
    "rensa": kept_by_rensa,
}


# Programs that are compared if they are installed.
OTHERS = ("datatrove", "datasketch", "rensa")


def command(door: str, path: Path, folder: Path) -> list[str]:
    if door == "Rust":
        return [f"{ROOT}/target/release/examples/dedup"]
    if door == "tool, --exact":
        documents = folder / "texts.ndjson"
        with documents.open("w") as file:
            for row, text in enumerate(path.read_text().splitlines()):
                file.write(json.dumps({"id": str(row), "text": text}) + "\n")
        tool = f"{ROOT}/target/release/fpdb-tool"
        options = ["--jaccard", str(LEAST), "--expected", EXPECTED, "--exact", "--print", "id"]
        return [tool, "dedup", f"{folder}/crawl.fpdb", str(documents), *options]
    call = f"import doors; print(*doors.IN_PYTHON[{door!r}](doors.Path({str(path)!r}), doors.Path({str(folder)!r})), sep=chr(10))"
    return [sys.executable, "-c", call]


def measure(door: str, path: Path) -> None:
    """Prints the seconds of processor time and the megabytes of memory, and the rows that are kept."""
    with tempfile.TemporaryDirectory() as folder, path.open() as texts, open(f"{folder}/out", "w+") as out:
        started = command(door, path, Path(folder))
        child = subprocess.Popen(started, stdin=texts, stdout=out, stderr=subprocess.DEVNULL, cwd=Path(__file__).parent)
        _, code, used = os.wait4(child.pid, 0)
        if code != 0:
            sys.exit(f"{door} failed")
        out.seek(0)
        print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read())


def kept_by(door: str, path: Path) -> tuple[list[int], float, float]:
    # A child's memory counts from what its parent has, so the parent must be small.
    call = f"import doors; doors.measure({door!r}, doors.Path({str(path)!r}))"
    ran = subprocess.run([sys.executable, "-c", call], check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parent)
    seconds, memory, *rows = ran.stdout.split()
    return [int(row) for row in rows], float(seconds), float(memory)


class Truth:
    """Knows which rows are similar: the exact number of pairs of words that each two share."""

    def __init__(self, texts: list[str]) -> None:
        self.sets = [frozenset(pairs_of(text)) for text in texts]
        self.rows_with: dict[str, list[int]] = {}
        for row, own in enumerate(self.sets):
            for pair in own:
                self.rows_with.setdefault(pair, []).append(row)
        # What many rows have is counted by a product of matrices.
        common = [pair for pair, rows in self.rows_with.items() if len(rows) > 200]
        self.common = np.zeros((len(texts), len(common)), np.float32)
        for column, pair in enumerate(common):
            self.common[self.rows_with.pop(pair), column] = 1
        self.sizes = np.array([len(own) for own in self.sets])

    def like(self, row: int) -> list[int]:
        """Returns the rows before this one that are similar."""
        shared = self.common[:row] @ self.common[row]
        for pair in self.sets[row]:
            for other in self.rows_with.get(pair, ()):
                if other < row:
                    shared[other] += 1
        either = self.sizes[:row] + self.sizes[row] - shared
        return np.flatnonzero(shared >= LEAST * either).tolist()


def wrong(like: list[list[int]], kept: list[int]) -> tuple[int, int]:
    """Returns how many rows were dropped, and how many were kept, that should not have been."""
    is_kept, below, left = set(kept), 0, 0
    for row, others in enumerate(like):
        is_like = any(other in is_kept for other in others)
        below += row not in is_kept and not is_like
        left += row in is_kept and is_like
    return below, left


def sets(corpus: str, number: int) -> dict[str, list[str]]:
    sentences, _ = dedup.corpus(corpus, number)
    template = [text for text, _ in crowd.texts(number, 0.71)]
    return {
        name: [" ".join(re.findall(r"[a-z0-9]+", text.lower())) for text in texts]
        for name, texts in (("sentences", sentences), ("template", template))
    }


def main() -> None:
    corpus, number = sys.argv[1], int([*sys.argv, "20000"][2])
    build = ["cargo", "build", "--release", "--quiet", "-p", "fpdb-tool", "-p", "fpdb-dedup", "--bins", "--example", "dedup"]
    subprocess.run(build, check=True, cwd=ROOT)
    print("| set | program | dropped | otherwise than Rust | below 0.8 | left | processor s | memory MB |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, texts in sets(corpus, number).items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "texts"
            path.write_text("\n".join(texts) + "\n")
            truth, expected = Truth(texts), None
            like = [truth.like(row) for row in range(len(texts))]
            for door in ["Rust", "tool, --exact", *IN_PYTHON]:
                try:
                    kept, seconds, memory = kept_by(door, path)
                except subprocess.CalledProcessError:
                    if door in OTHERS:
                        continue  # It is not installed.
                    raise
                expected = kept if expected is None else expected
                differ = len(set(kept) ^ set(expected))
                if differ and door not in OTHERS:
                    sys.exit(f"{door} keeps other rows than Rust")
                below, left = wrong(like, kept)
                print(
                    f"| {name} | {door} | {len(texts) - len(kept):,} | {differ:,} | {below:,} | {left:,} | {seconds:.1f} "
                    f"| {memory:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
