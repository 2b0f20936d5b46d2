"""Checks and times dedup_files on 24 files of Parquet in three dumps, with runs that are killed and repeated.

Texts are those of dedup.py. All files become as many in one run; then each dump is compared with the ones before it. The
same dumps are done again, and each run is killed three times at a random moment before it is repeated: its files must be
the same.

    target/python/bin/python python/benches/files.py CORPUS.ndjson.gz [TEXTS]
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from dedup import corpus

DUMPS, FILES = 3, 8


def write_dumps(path: str, number: int, folder: Path) -> None:
    texts, _ = corpus(path, number)
    share = number // (DUMPS * FILES)
    for at in range(DUMPS * FILES):
        rows = range(at * share, (at + 1) * share)
        file = folder / f"dump={at // FILES}" / f"part-{at % FILES}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        table = pa.table({"id": [f"{row}" for row in rows], "text": [texts[row] for row in rows]})
        pq.write_table(table, file, compression="zstd")


def child(folder: Path, source: str, target: str, database: str) -> None:
    """Does one run, and prints its figures."""
    import fpdb_engine as fpdb

    options: dict[str, Any] = {"threads": 1}
    if database:
        options |= {"against": folder / database, "run": source[-1], "id_column": "id"}
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = fpdb.dedup_files(folder / source, folder / target, **options)
    after = resource.getrusage(resource.RUSAGE_SELF)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # That of rusage counts the memory of the program that started this one.
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) >> 10
    print(f"| {source} | {len(found):,} | {found.dropped:,} | {processor:.1f} | {peak} |", flush=True)


def run(*arguments: str, kill_after: float | None = None) -> None:
    with subprocess.Popen([sys.executable, __file__, "--child", *arguments]) as process:
        try:
            process.wait(kill_after)
        except subprocess.TimeoutExpired:
            process.kill()


def main() -> None:
    if sys.argv[1] == "--child":
        child(Path(sys.argv[2]), *sys.argv[3:])
        return
    number = int(float(sys.argv[2])) if len(sys.argv) > 2 else 400_000
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_dumps(sys.argv[1], number, folder / "all")
        print("| source | rows | dropped | processor s | peak MB |\n| --- | ---: | ---: | ---: | ---: |")
        run(name, "all", "kept", "")
        for dump in range(DUMPS):
            (folder / f"dump={dump}").symlink_to(folder / "all" / f"dump={dump}")
            before = time.monotonic()
            run(name, f"dump={dump}", f"whole/{dump}", "whole.fpdb")
            seconds = time.monotonic() - before
            for _ in range(3):
                run(name, f"dump={dump}", f"killed/{dump}", "killed.fpdb", kill_after=rng.uniform(0.1, 1) * seconds)
            run(name, f"dump={dump}", f"killed/{dump}", "killed.fpdb")
        for file in sorted((folder / "whole").rglob("*.parquet")):
            other = folder / "killed" / file.relative_to(folder / "whole")
            assert pq.read_table(file).equals(pq.read_table(other)), file
        print("\nThe files of killed and repeated runs are equal.")


if __name__ == "__main__":
    main()
