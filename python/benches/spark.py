"""Measures the Spark jobs: on Sail, or on Apache Spark with --engine spark.

    python benches/spark.py [--engine sail] [--cores 2] [--pairs 1000000,10000000] [--tasks 2]
        [--stored 20000000] [--segments 8] [--queries 20000,100000,1000000] [--folder /tmp]
    python benches/spark.py --similarity 0.8 [--pairs 1000000] [--tasks 2,64] [--stored 0]
    python benches/spark.py --task-of 1e9,1e10,1e11 [--task-rows 6000000]

Pairs: one of 20 uniform fingerprints is replaced by a neighbour of another one: 1 to 4 bits apart, or with
--similarity a sketch, of which as many minima differ as the similarity makes of them. Times are those after a
first small job, which starts what the engine starts only once. The result is compared with that of one
database. Bytes shuffled are those of the blocks that tasks exchange, before the engine compresses them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import fpdb_engine as fpdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "spark"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import corpus

K = 3
Result = TypeVar("Result")


def timed(job: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    return job(), time.perf_counter() - start


def start(engine: str, cores: int) -> Any:
    from pyspark.sql import SparkSession

    if engine == "sail":
        os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = str(cores)
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer()
        server.start(background=True)
        session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}")
        session = session.getOrCreate()
        # Keeps the server alive.
        session.server = server
    else:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "4g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
            "spark.driver.maxResultSize": "4g",
        }
        builder = SparkSession.builder.master(f"local[{cores}]")
        session = builder.config(map=settings).getOrCreate()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    return session


def planted(count: int, similarity: float | None = None) -> np.ndarray:
    rng = np.random.default_rng(20261123)
    if similarity is not None:
        sketches = rng.integers(0, 1 << 64, (count, 12), np.uint64)
        at = rng.integers(0, count, count // 20)
        differs = rng.random((len(at), 128), np.float32) < 1 - similarity
        others = rng.integers(0, 1 << 64, (len(at), 12), np.uint64)
        errors = others & np.tile(np.packbits(differs, axis=1).view(np.uint64), 6)
        sketches[at] = sketches[rng.integers(0, count, len(at))] ^ errors
        return sketches.view("V96").reshape(-1)
    fingerprints = rng.integers(0, 1 << 64, count, np.uint64)
    for flips in range(1, K + 2):
        at = rng.integers(0, count, count // 20 // (K + 1))
        copies = fingerprints[rng.integers(0, count, len(at))]
        for _ in range(flips):
            copies ^= np.uint64(1) << rng.integers(0, 64, len(at), np.uint64)
        fingerprints[at] = copies
    return fingerprints


def stored_frame(session: Any, fingerprints: np.ndarray, path: Path, files: int) -> Any:
    """Writes the rows as Parquet, so that jobs begin by reading files."""
    from fpdb_engine.spark._arrow import fingerprint_column

    path.mkdir()
    ids = np.arange(len(fingerprints))
    for number in range(files):
        some = slice(number, None, files)
        columns = {"id": ids[some], "fingerprint": fingerprint_column(fingerprints[some])}
        pq.write_table(pa.table(columns), path / f"{number}.parquet")
    return session.read.parquet(str(path))


def shuffled(rows: Any, division: Any) -> int:
    """Returns the bytes of the blocks that pairs() shuffles."""
    from fpdb_engine.spark import _pairs

    def sizes(batches: Iterator[Any]) -> Iterator[Any]:
        for blocks in _pairs._divided(division)(batches):
            yield pa.record_batch({"bytes": [blocks.nbytes]})

    divided = rows.select("fingerprint", "id").mapInArrow(sizes, "bytes long").collect()
    return sum(row["bytes"] for row in divided)


def one_database(fingerprints: np.ndarray, path: Path, similarity: float | None) -> fpdb.Db:
    ids = np.arange(len(fingerprints), dtype=np.uint64)
    if similarity is None:
        return corpus.database(path, fingerprints, ids, K)
    db = fpdb.Db.create(path, similarity=similarity, expected_entries=len(ids), background=False)
    db.write(fingerprints, ids)
    return db


def measure_pairs(
    session: Any, counts: list[int], tasks: list[int], similarity: float | None, folder: Path
) -> None:
    from fpdb_engine import spark as jobs
    from fpdb_engine.spark import _options, _pairs

    print("| fingerprints | tasks | pairs | s | us per row | CPU us per row | bytes shuffled per row | clusters, s "
          "| one database: load, s | pairs, s | digest |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for count in counts:
        fingerprints = planted(count, similarity)
        rows = stored_frame(session, fingerprints, folder / f"rows-{count}", 2)
        db, loaded = timed(lambda: one_database(fingerprints, folder / f"db-{count}", similarity))
        expected, searched = timed(lambda: corpus.summary_of_database(db, None))
        db.close()
        for most in tasks:
            if similarity is None:
                near = jobs.pairs(rows, K, tasks=most)
                division = _pairs._by_cells({"bits": 64, "max_distance": K}, most)
            else:
                near = jobs.pairs(rows, similarity=similarity, tasks=most)
                options = {"similarity": similarity, "expected_entries": count}
                division = _pairs._by_keys(_options.rule_of(options), most)
            cpu = time.process_time()
            table, seconds = timed(near.toArrow)
            # Sail runs in this process, so this is its time too.
            cpu = (time.process_time() - cpu) / count * 1e6
            found = corpus.summary_of_table(table)
            clusters, clustered = timed(lambda: jobs.clusters(near).count())
            size = shuffled(rows, division)
            assert found == expected, (found, expected)
            print(f"| {count} | {division.tasks} | {table.num_rows} | {seconds:.2f} | {seconds / count * 1e6:.2f} "
                  f"| {cpu:.2f} | {size / count:.1f} | {clustered:.2f} | {loaded:.2f} | {searched:.2f} "
                  f"| equal |", flush=True)


def measure_task(corpora: list[int], rows: int) -> None:
    """Measures one task of the search in a corpus of the given size: it has all fingerprints
    that begin with some of the 2^16 values of a cell."""
    from fpdb_engine.spark import _pairs

    print("| corpus | fingerprints per cell | cells | fingerprints of the task | pairs | CPU us per copy |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    rng = np.random.default_rng(7)
    for corpus_size in corpora:
        in_cell = corpus_size >> 16
        cells = max(rows // in_cell, 1)
        count = in_cell * cells
        leading = rng.integers(0, cells, count, np.uint64) << np.uint64(48)
        fingerprints = rng.integers(0, 1 << 48, count, np.uint64) | leading
        ids = np.arange(count, dtype=np.uint64)
        cpu = time.process_time()
        division = _pairs._by_cells({"bits": 64, "max_distance": K}, 1)
        pairs = _pairs._pairs_of_task((fingerprints, ids), 0, division)
        found = sum(len(batch) for batch in pairs)
        cpu = time.process_time() - cpu
        print(f"| {corpus_size} | {in_cell} | {cells} | {count} | {found} "
              f"| {cpu / count * 1e6:.2f} |", flush=True)
    print()


def measure_batch(
    session: Any,
    stored: int,
    segments: int,
    queries: list[int],
    similarity: float | None,
    folder: Path,
) -> None:
    from fpdb_engine import spark as jobs

    fingerprints = planted(stored, similarity)
    rows = stored_frame(session, fingerprints, folder / "stored", 2)
    cpu = time.process_time()
    parts, seconds = timed(
        lambda: jobs.build(rows, folder / "parts", segments, similarity=similarity)
    )
    cpu = (time.process_time() - cpu) / stored * 1e6
    size = sum(f.stat().st_size for f in (folder / "parts").rglob("*") if f.is_file())
    print(f"\nbuild: {stored} rows in {len(parts)} databases in {seconds:.2f} s, "
          f"{seconds / stored * 1e6:.2f} us, {cpu:.2f} us of CPU and {size / stored:.1f} bytes per row\n")
    print("| stored rows | queries | answers | s | million stored rows per s | us per query "
          "| CPU us per query and database |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rng = np.random.default_rng(5)
    for count in queries:
        asked = np.frombuffer(rng.bytes(count * fingerprints.itemsize), fingerprints.dtype).copy()
        asked[::10] = fingerprints[: len(asked[::10])]
        frame = stored_frame(session, asked, folder / f"queries-{count}", 1)
        job = lambda: jobs.batch(frame, folder / "parts", scratch=folder / "scratch").count()
        job()
        cpu = time.process_time()
        answers, seconds = timed(job)
        cpu = (time.process_time() - cpu) / count / segments * 1e6
        print(f"| {stored} | {count} | {answers} | {seconds:.2f} | {stored / seconds / 1e6:.1f} "
              f"| {seconds / count * 1e6:.2f} | {cpu:.2f} |", flush=True)


def numbers(text: str) -> list[int]:
    return [int(float(number)) for number in text.split(",") if number]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=["sail", "spark"], default="sail")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--pairs", type=numbers, default="1e6,1e7")
    parser.add_argument("--tasks", type=numbers, default="", help="default: as many as cores")
    parser.add_argument("--similarity", type=float, help="sketches by this similarity; default: 64 bits by distance")
    parser.add_argument("--stored", type=float, default=2e7)
    parser.add_argument("--segments", type=int, default=8)
    parser.add_argument("--queries", type=numbers, default="20000,100000,1000000")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--task-of", type=numbers, default="", help="fingerprints of the corpus")
    parser.add_argument("--task-rows", type=float, default=6e6)
    options = parser.parse_args()
    if options.task_of:
        measure_task(options.task_of, int(options.task_rows))
        return
    session, started = timed(lambda: start(options.engine, options.cores))
    _, first = timed(lambda: session.range(10).mapInArrow(lambda b: b, "id long").count())
    print(f"fpdb {fpdb.__version__}, {options.engine}, {options.cores} cores: "
          f"session {started:.1f} s, first job {first:.1f} s\n")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        tasks = options.tasks or [options.cores]
        measure_pairs(session, options.pairs, tasks, options.similarity, Path(folder))
        if options.stored:
            measure_batch(
                session, int(options.stored), options.segments, options.queries, options.similarity,
                Path(folder),
            )
    session.stop()


if __name__ == "__main__":
    main()
