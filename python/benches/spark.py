"""Measures the Spark jobs and prints the tables of docs/scale.md.

    python benches/spark.py [--engine sail] [--only pairs,similarity,task,crowd,stored] [--folder /tmp]

The engine is Sail, or Apache Spark with --engine spark. Everything takes a few minutes on two
cores with Sail, and needs Linux, 8 GB of memory and 4 GB in the folder. --help lists the sizes.

One of 20 uniform fingerprints is replaced by a neighbour of another one, 1 to 4 bits apart. With
sketches, as many minima of the neighbour differ as the similarity makes of them. The pairs must be
those that one database finds. Times are those after a first small job, which starts what the engine
starts only once. CPU time is that of all processes of the engine. Bytes shuffled are those of the
blocks that tasks exchange, before the engine compresses them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import fpdb_engine as fpdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "spark"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import corpus

K = 3
PARTS = ["pairs", "similarity", "task", "crowd", "stored"]
ENGINES = {"sail": ("Sail", "pysail"), "spark": ("Spark", "pyspark")}
Result = TypeVar("Result")


class Cost(NamedTuple):
    """What a job took, in seconds."""

    wall: float
    cpu: float

    def each(self, count: int) -> tuple[str, str]:
        """Returns the microseconds of each of so many rows."""
        return f"{self.wall / count * 1e6:.2f}", f"{self.cpu / count * 1e6:.2f}"


def measured(job: Callable[[], Result]) -> tuple[Result, Cost]:
    cpu, start = cpu_seconds(), time.perf_counter()
    result = job()
    return result, Cost(time.perf_counter() - start, cpu_seconds() - cpu)


def cpu_seconds() -> float:
    """Returns the CPU time of this process, in which Sail runs, and of its descendants: Spark's."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It ended meanwhile. Its parent has its time.
        process = int(path.parent.name)
        ticks[process] = sum(int(field) for field in fields[11:15])
        children.setdefault(int(fields[1]), []).append(process)
    pending, sum_of_ticks = [os.getpid()], 0
    while pending:
        process = pending.pop()
        sum_of_ticks += ticks[process]
        pending += children.get(process, [])
    return sum_of_ticks / os.sysconf("SC_CLK_TCK")


def print_row(*cells: Any) -> None:
    written = (f"{cell:,}" if isinstance(cell, int) else cell for cell in cells)
    print("|" + "".join(f" {cell} |" if cell else " |" for cell in written), flush=True)


def print_head(*columns: str, texts: int = 0) -> None:
    """Begins a table, of which the first columns are texts and the others are numbers."""
    print()
    print_row(*columns)
    print_row(*["---"] * texts, *["---:"] * (len(columns) - texts))


def start(engine: str, cores: int) -> Any:
    from pyspark.sql import SparkSession

    if engine == "sail":
        os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = str(cores)
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer()
        server.start(background=True)
        address = f"sc://localhost:{server.listening_address[1]}"
        session = SparkSession.builder.remote(address).getOrCreate()
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
        builder = SparkSession.builder.master(f"local[{cores}]").config(map=settings)
        session = builder.getOrCreate()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    return session


FEATURES = 500
"""Features of each sketch."""


def similar(rng: np.random.Generator, planes: np.ndarray, parities: np.ndarray, similarity: float) -> None:
    """Changes sketches to those of sets that have this similarity to theirs."""
    differs = rng.random((len(planes), 128), np.float32) < 1 - similarity
    others = rng.integers(0, 1 << 64, planes.shape, np.uint64)
    planes ^= others & np.tile(np.packbits(differs, axis=1, bitorder="little").view(np.uint64), 6)
    # Each feature that only one of the sets has flips a parity.
    for _ in range(2 * int(FEATURES * (1 - similarity) / (1 + similarity))):
        places = rng.integers(0, 1024, len(parities))
        parities[np.arange(len(parities)), places // 64] ^= np.uint64(1) << (places % 64).astype(np.uint64)


def sketches_of(planes: np.ndarray, parities: np.ndarray) -> np.ndarray:
    """Returns sketches as bytes: planes, the number of features, parities."""
    features = np.full((len(planes), 1), FEATURES, np.uint32)
    parts = [part.view(np.uint8) for part in (planes, features, parities)]
    return np.concatenate(parts, axis=1).view("V228").reshape(-1)


def uniform(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the planes and the parities of unrelated sketches."""
    return rng.integers(0, 1 << 64, (count, 12), np.uint64), rng.integers(0, 1 << 64, (count, 16), np.uint64)


def planted(count: int, similarity: float | None) -> np.ndarray:
    """Returns fingerprints of 64 bits, or sketches if there is a similarity."""
    rng = np.random.default_rng(20261123)
    if similarity is not None:
        planes, parities = uniform(rng, count)
        at, near = rng.integers(0, count, (2, count // 20))
        of_near = planes[near], parities[near]
        similar(rng, *of_near, similarity)
        planes[at], parities[at] = of_near
        return sketches_of(planes, parities)
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


def pairs_of_one_database(fingerprints: np.ndarray, path: Path, similarity: float | None) -> Any:
    ids = np.arange(len(fingerprints), dtype=np.uint64)
    if similarity is None:
        db = corpus.database(path, fingerprints, ids, K)
    else:
        db = fpdb.Db.create(
            path, similarity=similarity, expected_entries=len(ids), background=False
        )
        db.write(fingerprints, ids)
    with db:
        return corpus.summary_of_database(db, None)


def measure_pairs(
    session: Any,
    engine: str,
    counts: list[int],
    tasks: list[int],
    similarity: float | None,
    folder: Path,
) -> None:
    from fpdb_engine import spark as jobs
    from fpdb_engine.spark import _options, _pairs

    kind = "fingerprints" if similarity is None else "sketches"
    print_head("engine", kind, "tasks", "s", "us per row", "CPU us per row",
               "bytes shuffled per row", texts=1)
    for count in counts:
        fingerprints = planted(count, similarity)
        path = folder / f"{kind}-{count}"
        rows = stored_frame(session, fingerprints, path.with_suffix(".rows"), 2)
        expected, of_one = measured(
            lambda: pairs_of_one_database(fingerprints, path.with_suffix(".fpdb"), similarity)
        )
        for most in tasks:
            if similarity is None:
                near = jobs.pairs(rows, K, tasks=most)
                division = _pairs._by_cells({"bits": 64, "max_distance": K}, most)
            else:
                near = jobs.pairs(rows, similarity=similarity, tasks=most)
                options = {"similarity": similarity, "expected_entries": count}
                division = _pairs._by_bands(_options.rule_of(options), most)
            table, cost = measured(near.toArrow)
            found = corpus.summary_of_table(table)
            assert found == expected, (found, expected)
            size = shuffled(rows, division) / count
            print_row(engine, count, most, f"{cost.wall:.1f}", *cost.each(count), f"{size:.1f}")
        print_row("one database", count, "", f"{of_one.wall:.1f}", *of_one.each(count), "")


def measure_task(corpora: list[int], rows: int) -> None:
    print_head("corpus", "fingerprints per cell", "of the task", "CPU us per copy",
               "bytes of memory per copy")
    # Each in a process of its own, which has no memory left from another one.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as processes:
        for cells in processes.imap(partial(measured_task, rows=rows), corpora):
            print_row(*cells)


def measured_task(size: int, rows: int) -> tuple[Any, ...]:
    """Measures one task of the search in a corpus of the given size: it has all fingerprints
    that begin with some of the 2^16 values of a cell."""
    from fpdb_engine.spark import _pairs

    rng = np.random.default_rng(7)
    division = _pairs._by_cells({"bits": 64, "max_distance": K}, 1)
    in_cell = size >> 16
    values = max(rows // in_cell, 1)
    count = in_cell * values
    fingerprints = rng.integers(0, values, count, np.uint64) << np.uint64(48)
    fingerprints |= rng.integers(0, 1 << 48, count, np.uint64)
    ids = np.arange(count, dtype=np.uint64)
    # From here on, the most memory of this process counts from what it has now.
    Path("/proc/self/clear_refs").write_text("5")
    before = most_memory()
    # The task gets copies, as if it had joined the blocks that it received.
    job = lambda: list(_pairs._found((fingerprints.copy(), ids.copy()), 0, division))
    _, cost = measured(job)
    memory = (most_memory() - before) / count
    return size, in_cell, count, cost.each(count)[1], f"{memory:.0f}"


def measure_crowd(sizes: list[int], tasks: list[int]) -> None:
    """Measures the tasks that compare a crowd, if all sketches are of one template. They have a similarity of .65 to each
    other, so none match."""
    from fpdb_engine.spark import _crowds, _pairs

    print_head("rows of a template", "tasks", "pairs of all tasks", "undivided", "largest", "share", "CPU s", "ns per pair",
               "bytes")
    for count in sizes:
        rng = np.random.default_rng(11)
        planes, parities = (np.repeat(part, count, axis=0) for part in uniform(rng, 1))
        similar(rng, planes, parities, 0.65**0.5)
        rows = pa.record_batch({"fingerprint": pa.array(sketches_of(planes, parities).tolist()), "id": np.arange(count)})
        rule = fpdb.MatchRule(0.8, expected_entries=10_000_000)
        for number in tasks:
            division = _pairs._by_bands(rule, number)
            undivided = int(of_groups(rows, rule, number).max())
            compared, size = of_groups(rows, rule, number, most=_crowds.CROWD), 0
            for task, pairs, work in works_of(rows, division):
                compared[task] += pairs
                size += work.nbytes
            largest = int(compared.argmax())
            works = [work for task, _, work in works_of(rows, division) if task == largest]
            _, cost = measured(lambda: sum(1 for _ in _crowds.compared(works, rule)))
            most, of_works = int(compared[largest]), max(sum(pairs_of_work(work) for work in works), 1)
            costs = (f"{cost.cpu:.1f}", f"{cost.cpu / of_works * 1e9:.1f}") if works else ("", "")
            print_row(count, number, int(compared.sum()), undivided, most, f"{most / compared.sum() * number:.2f}", *costs,
                      f"{size / count:.0f}")


def works_of(rows: Any, division: Any) -> Iterator[tuple[int, int, Any]]:
    """Yields the works of crowds: for which task they are, how many pairs it compares, and the row that is shuffled."""
    from fpdb_engine.spark import _pairs

    for work in _pairs._passed_on(division)(_pairs._divided(division)([rows])):
        if work["pairs"].null_count:
            yield work["task"][0].as_py(), pairs_of_work(work), work


def pairs_of_work(work: Any) -> int:
    count, split = len(work["ids"][0].as_buffer()) // 8, work["split"][0].as_py()
    return split * (count - split) if split else count * (count - 1) // 2


def of_groups(rows: Any, rule: Any, tasks: int, most: int | None = None) -> np.ndarray:
    """Returns how many pairs each task would compare of groups of at most so many rows that share a band."""
    from fpdb_engine.spark import _arrow, _bands

    sketches = _arrow.fingerprints_of(rows["fingerprint"], _arrow.SKETCH)
    compared = np.zeros(tasks, np.int64)
    for owner, band in zip(_bands.owners(sketches, rule, tasks), _bands.bands_of(sketches, rule)):
        _, first, together = np.unique(band, return_index=True, return_counts=True)
        if most is not None:
            together[together > most] = 0
        np.add.at(compared, owner[first], together * (together - 1) // 2)
    return compared


def most_memory() -> int:
    """Returns the most memory that this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


class Stored(NamedTuple):
    """A stored corpus."""

    rows: int
    entries: str
    path: Path
    some: np.ndarray
    """The first of its fingerprints."""


def measure_stored(
    session: Any,
    engine: str,
    corpora: list[tuple[int, float | None]],
    segments: int,
    queries: list[int],
    folder: Path,
) -> None:
    print_head("engine", "entries", "rows", "databases", "`build`, s", "us per row",
               "CPU us per row", "bytes on disk per row", texts=2)
    stored = [
        measured_build(session, engine, rows, similarity, segments, folder)
        for rows, similarity in corpora
    ]
    print_head("engine", "entries", "stored rows", "queries", "`batch`, s",
               "million stored rows per s", "CPU us per query and database", texts=2)
    for corpus_of in stored:
        for count in queries:
            if count * 10 <= corpus_of.rows:
                measure_batch(session, engine, corpus_of, segments, count)


def measured_build(
    session: Any,
    engine: str,
    count: int,
    similarity: float | None,
    segments: int,
    folder: Path,
) -> Stored:
    from fpdb_engine import spark as jobs

    entries = "64 bits" if similarity is None else "sketches"
    path = folder / f"stored-{count}-{entries.replace(' ', '-')}"
    fingerprints = planted(count, similarity)
    rows = stored_frame(session, fingerprints, path.with_suffix(".rows"), 2)
    parts, cost = measured(lambda: jobs.build(rows, path, segments, similarity=similarity))
    shutil.rmtree(path.with_suffix(".rows"))
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / count
    seconds = f"{cost.wall:.1f}"
    print_row(engine, entries, count, len(parts), seconds, *cost.each(count), f"{size:.1f}")
    return Stored(count, entries, path, fingerprints[: count // 100 + 1].copy())


def measure_batch(session: Any, engine: str, stored: Stored, segments: int, count: int) -> None:
    """Measures a batch of queries, of which one of ten is stored."""
    from fpdb_engine import spark as jobs

    rng = np.random.default_rng(5)
    asked = np.frombuffer(rng.bytes(count * stored.some.itemsize), stored.some.dtype).copy()
    asked[::10] = stored.some[: len(asked[::10])]
    frame = stored_frame(session, asked, stored.path.with_suffix(f".{count}"), 1)
    scratch = stored.path.with_suffix(".scratch")
    job = lambda: jobs.batch(frame, stored.path, scratch=scratch).count()
    job()
    answers, cost = measured(job)
    assert answers >= len(asked[::10]), answers
    print_row(engine, stored.entries, stored.rows, count, f"{cost.wall:.2f}",
              f"{stored.rows / cost.wall / 1e6:.1f}", cost.each(count * segments)[1])


def numbers(text: str) -> list[int]:
    return [int(float(number)) for number in text.split(",") if number]


def parts(text: str) -> list[str]:
    unknown = ", ".join(sorted(set(text.split(",")) - set(PARTS)))
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown}: the parts are {', '.join(PARTS)}")
    return text.split(",")


def arguments() -> Any:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def add(name: str, text: str, **options: Any) -> None:
        parser.add_argument(name, help=f"{text} (default: %(default)s)", **options)

    add("--engine", "what runs the jobs", choices=list(ENGINES), default="sail")
    add("--only", "parts to measure", type=parts, default=",".join(PARTS))
    add("--cores", "cores of the engine", type=int, default=2)
    add("--folder", "for all files", default=tempfile.gettempdir())
    add("--pairs", "fingerprints of which pairs are found", type=numbers, default="1e6,1e7")
    add("--tasks", "tasks that find them", type=numbers, default="2,64")
    add("--similarity", "of sketches", type=float, default=0.8)
    add("--sketches", "of which pairs are found and which are stored", type=numbers, default="1e6")
    add("--sketch-tasks", "tasks that find their pairs", type=numbers, default="2,16,64")
    add("--corpora", "sizes for one task", type=numbers, default="1e8,1e9,1e10,1e11")
    add("--task-rows", "fingerprints of one task", type=float, default="6e6")
    add("--crowds", "rows of a template", type=numbers, default="1e4,1e5")
    add("--stored", "stored fingerprints", type=numbers, default="2e7,1e8")
    add("--segments", "databases of a stored corpus", type=int, default=8)
    add("--queries", "queries of a batch, at most a tenth of what is stored", type=numbers,
        default="20000,100000,1000000")
    return parser.parse_args()


def started(engine: str, cores: int) -> Any:
    """Starts a session, and prints what it is and how long that takes."""
    name, package = ENGINES[engine]
    session, cost = measured(lambda: start(engine, cores))
    _, first = measured(lambda: session.range(10).mapInArrow(lambda b: b, "id long").count())
    print(f"{time.strftime('%Y-%m-%d')}: fpdb {fpdb.__version__}, {name} {version(package)}, "
          f"{cores} cores; session {cost.wall:.1f} s, first job {first.wall:.1f} s")
    return session


def main() -> None:
    options = arguments()
    engine = ENGINES[options.engine][0]
    # One task alone runs without an engine.
    session = None if set(options.only) <= {"task", "crowd"} else started(options.engine, options.cores)
    with tempfile.TemporaryDirectory(prefix="fpdb-bench-", dir=options.folder) as name:
        folder = Path(name)
        if "pairs" in options.only:
            measure_pairs(session, engine, options.pairs, options.tasks, None, folder)
        if "similarity" in options.only:
            measure_pairs(session, engine, options.sketches, options.sketch_tasks,
                          options.similarity, folder)
        if "task" in options.only:
            measure_task(options.corpora, int(options.task_rows))
        if "crowd" in options.only:
            measure_crowd(options.crowds, options.sketch_tasks)
        if "stored" in options.only:
            corpora = [(rows, None) for rows in options.stored]
            corpora += [(rows, options.similarity) for rows in options.sketches]
            measure_stored(session, engine, corpora, options.segments, options.queries, folder)
    if session is not None:
        session.stop()


if __name__ == "__main__":
    main()
