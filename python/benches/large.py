"""Measures dedup_files and dedup_passages from files to files on a corpus of any size, and other programs on a part.

A text has 100 to 230 words, which have the frequencies that they have in a real corpus. Of ten texts, one is a copy of
an earlier one in which a few words, or none, are replaced: their similarity by sets of five words is at least .8. One quotes
60 words of an earlier text. The files are Parquet with zstd. `found` is the share of the planted copies that were dropped,
and of the quotes that were found. `wrong` counts dropped rows that are no copies, and passages that are in no quote. Memory is
anonymous memory at its peak, looked at ten times a second, and "with files" is all that is resident, with the pages of
programs and libraries, which the system can read again. Scratch is what temporary files take on the disk, also those
without a name. The figures of the other programs do not include reading the files.

    target/python/bin/pip install datasketch rensa spacy tokenizers "xxhash<3.6"
    target/python/bin/python python/benches/large.py CORPUS.ndjson.gz [--texts 1e6] [--threads 2] [--peers 20000]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUOTE, IN_FILE, IN_GROUP = 60, 100_000, 10_000
PLAIN, COPY, QUOTED = 0, 1, 2


def words_of(path: str) -> tuple[list[str], Any]:
    """Returns the words of a corpus, and the sums of their frequencies."""
    from dedup import texts_of

    counts = Counter(word for text in texts_of([path]) for word in text.split() if len(word) < 30)
    words = [word for word, _ in counts.most_common(200_000)]
    sums = np.cumsum([counts[word] for word in words], dtype=np.float64)
    return words, sums / sums[-1]


def kinds(rows: Any) -> Any:
    """Returns what each row is: a copy, with a quote, or neither."""
    at = rows % 10
    return np.where(rows < IN_GROUP // 10, PLAIN, np.where(at == 3, COPY, np.where(at == 7, QUOTED, PLAIN)))


def sources(rows: Any) -> Any:
    """Returns the row that each row has a copy or a quote of: an earlier one that is neither."""
    rng = (rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)
    earlier = (rng.astype(np.int64) % np.maximum(rows // 10, 1)) * 10
    # Most are in the same group, as in a crawl; one of four is anywhere before.
    near = rows // IN_GROUP * IN_GROUP
    near_source = near + (rng.astype(np.int64) % np.maximum((rows - near) // 10, 1)) * 10
    return np.where((rows % 40 < 30) & (rows - near >= 10), near_source, earlier)


def plain(row: int, sums: Any) -> Any:
    """Returns the words of a plain text, as numbers."""
    rng = np.random.Generator(np.random.SFC64(row))
    return np.searchsorted(sums, rng.random(100 + row * 7 % 131))


def text_of(row: int, kind: int, source: int, sums: Any) -> Any:
    own = plain(row, sums)
    if kind == PLAIN:
        return own
    other = plain(source, sums)
    rng = np.random.Generator(np.random.SFC64([row, 1]))
    if kind == COPY:
        # A replaced word changes five of the sets of five words. With this many, the similarity is still .8.
        most = len(other) // 48
        places = rng.integers(0, len(other), rng.integers(0, most + 1))
        other[places] = own[: len(places)]
        return other
    begin = int(rng.integers(0, len(other) - QUOTE))
    return np.concatenate([own[:50], other[begin : begin + QUOTE], own[50:]])


def write(folder: Path, number: int, count: int, words: list[str], sums: Any) -> int:
    """Writes a file, and returns the bytes of its texts."""
    rows = np.arange(number * IN_FILE, min((number + 1) * IN_FILE, count))
    texts = [
        " ".join([words[word] for word in text_of(*row, sums)])
        for row in zip(rows.tolist(), kinds(rows).tolist(), sources(rows).tolist())
    ]
    table = pa.table({"id": rows, "text": texts})
    pq.write_table(table, folder / f"{number:05}.parquet", compression="zstd", row_group_size=IN_GROUP)
    return sum(len(text.encode()) for text in texts)


def child(folder: Path, program: str, threads: int) -> None:
    """Does one job, and writes its figures and what it found."""
    begin, result = time.monotonic(), {}
    if program in ("dedup", "passages"):
        import fpdb_engine as fpdb

        options: dict[str, Any] = {"passages": "mark"} if program == "passages" else {}
        found = fpdb.dedup_files(folder / "texts", folder / "target", threads=threads, **options)
        np.save(folder / "keep.npy", np.asarray(found.keep))
        if found.passages is not None:
            np.save(folder / "spans.npy", found.passages.row)
    else:
        from dedup import PROGRAMS

        texts = pq.read_table(folder / "texts", columns=["text"])["text"].to_pylist()
        begin, before = time.monotonic(), time.process_time()
        keep = np.ones(len(texts), bool)
        keep[PROGRAMS[program](texts, folder / "scratch")] = False
        np.save(folder / "keep.npy", keep)
        result = {"processor": time.process_time() - before}
    status = Path("/proc/self/status").read_text()
    memory = int(status.partition("VmHWM:")[2].split()[0]) >> 10
    result = {"processor": time.process_time(), "s": time.monotonic() - begin, "memory": memory, **result}
    (folder / "figures.json").write_text(json.dumps(result))


class Watched:
    """The most memory and scratch space that a process takes."""

    def __init__(self, process: int, folder: Path) -> None:
        self._process, self._folder = Path(f"/proc/{process}"), folder
        self.memory = self.scratch = 0

    def look(self) -> None:
        # The process may end, and has no memory then.
        with contextlib.suppress(OSError, IndexError):
            status = (self._process / "status").read_text()
            self.memory = max(self.memory, int(status.partition("RssAnon:")[2].split()[0]) >> 10)
            self.scratch = max(self.scratch, sum(self._sizes().values()))

    def _sizes(self) -> dict[int, int]:
        """Returns the bytes on the disk of each file."""
        sizes = {}
        for file in itertools.chain((self._process / "fd").iterdir(), self._folder.rglob("*")):
            with contextlib.suppress(OSError):
                # Files without a name are seen only where they are open.
                if file.parent.name == "fd" and not os.readlink(file).endswith("(deleted)"):
                    continue
                about = file.stat()
                sizes[about.st_ino] = about.st_blocks * 512
        return sizes


def run(folder: Path, program: str, threads: int) -> tuple[dict[str, float], Watched]:
    """Runs a job in a process of its own. Returns its figures, and what it took at most."""
    shutil.rmtree(folder / "target", ignore_errors=True)
    shutil.rmtree(folder / "scratch", ignore_errors=True)
    (folder / "scratch").mkdir()
    environment = os.environ | {"TMPDIR": str(folder / "scratch")}
    arguments = [sys.executable, __file__, "--child", program, str(folder), str(threads)]
    process = subprocess.Popen(arguments, env=environment)
    watched = Watched(process.pid, folder / "scratch")
    while process.poll() is None:
        watched.look()
        time.sleep(0.1)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return json.loads((folder / "figures.json").read_text()), watched


def report(folder: Path, program: str, threads: int, size: int, count: int) -> None:
    figures, watched = run(folder, program, threads)
    kind, keep = kinds(np.arange(count)), np.load(folder / "keep.npy")
    dropped = ~keep
    if program == "passages":
        # What is in rows that were dropped was not looked for.
        is_found, planted = np.isin(np.arange(count), np.load(folder / "spans.npy")), (kind == QUOTED) & keep
        keep &= kind != COPY
    else:
        is_found, planted = dropped, kind == COPY
    found = np.count_nonzero(is_found & planted) / max(1, np.count_nonzero(planted))
    wrong = np.count_nonzero(is_found & ~planted & keep if program == "passages" else is_found & ~planted)
    processor = figures["processor"]
    print(
        f"| {program} | {count:,} | {size / 1e9:.2f} | {processor:.1f} | {processor / count * 1e6:.1f} "
        f"| {processor / size * 1e9:.1f} | {figures['s']:.1f} | {watched.memory} "
        f"| {figures['memory']} | {watched.scratch / size:.2f} "
        f"| {found:.4f} | {wrong} |",
        flush=True,
    )


def make(folder: Path, count: int, words: list[str], sums: Any, threads: int) -> int:
    """Writes a corpus, and returns the bytes of its texts."""
    (folder / "texts").mkdir()
    numbers = range(-(-count // IN_FILE))
    with ProcessPoolExecutor(threads) as pool:
        work = [pool.submit(write, folder / "texts", number, count, words, sums) for number in numbers]
        return sum(it.result() for it in work)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[3]), sys.argv[2], int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--texts", type=float, default=1e6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", type=int, default=0, help="how many texts the other programs get")
    parser.add_argument("--programs", default="dedup,passages")
    parser.add_argument("--folder", default=None, help="where there is disk space for twice the texts")
    options = parser.parse_args()
    words, sums = words_of(options.corpus)
    print(
        "| program | texts | GB | processor s | per 10^6 texts | per GB | s | memory MiB | with files | scratch per byte of text "
        "| found | wrong |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        flush=True,
    )
    jobs = [(int(options.texts), options.programs.split(","))]
    if options.peers:
        jobs.append((options.peers, ["fpdb", "datatrove", "datasketch", "rensa"]))
    for count, programs in jobs:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            size = make(folder, count, words, sums, options.threads)
            for program in programs:
                report(folder, program, options.threads, size, count)


if __name__ == "__main__":
    main()
