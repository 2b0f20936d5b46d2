"""Opening, closing, pickling, forking; documents; maintenance."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest


def test_databases_outlive_their_handles(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with fpdb.Db.create(path, max_distance=6, ids="names", recipe="fives/1") as db:
        db.insert(7, "a")
    with fpdb.Db.open(path) as db:
        assert (db.bits, db.max_distance, db.id_kind, db.recipe) == (64, 6, "names", "fives/1")
        assert db.path == str(path) and db.extraction is None
        assert db.name(0) == "a"
    with fpdb.Db.open_or_create(path) as db:
        assert db.max_distance == 6
    with fpdb.Db.open_or_create(tmp_path / "wide", bits=128) as db:
        assert db.bits == 128
    with fpdb.Db.open_or_create(tmp_path / "wide") as db:
        assert db.bits == 128


def test_errors_about_files_have_the_classes_and_attributes_of_those_of_python(tmp_path: Path) -> None:
    missing, existing = tmp_path / "missing", tmp_path / "existing"
    fpdb.Db.create(existing).close()
    calls: list[tuple[Callable[[], object], type[OSError], type[fpdb.Error], int, Path]] = [
        (lambda: fpdb.Db.open(missing), FileNotFoundError, fpdb.NotFoundError, errno.ENOENT, missing),
        (lambda: fpdb.ReadOnlyDb.open(missing), FileNotFoundError, fpdb.NotFoundError, errno.ENOENT, missing),
        (lambda: fpdb.WarcPages(missing), FileNotFoundError, fpdb.NotFoundError, errno.ENOENT, missing),
        (lambda: fpdb.Db.create(existing), FileExistsError, fpdb.AlreadyExistsError, errno.EEXIST, existing),
    ]
    for call, builtin, ours, number, path in calls:
        with pytest.raises(builtin, match=path.name) as raised:
            call()
        error: Any = raised.value
        assert isinstance(error, ours) and not error.is_retryable
        assert (error.errno, error.filename, error.path) == (number, str(path), str(path))
        assert str(error) == error.args[0]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db") as db:
        with pytest.raises(fpdb.LockedError) as raised:
            fpdb.Db.open(tmp_path / "db")
        assert raised.value.is_retryable
        code = "import sys, fpdb_engine as f\ntry: f.Db.open(sys.argv[1])\nexcept f.LockedError: print(3)"
        command = [sys.executable, "-c", code, db.path]
        assert subprocess.run(command, capture_output=True, text=True).stdout == "3\n"


def test_damage_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with fpdb.Db.create(path) as db:
        db.bulk_load(np.arange(10_000, dtype=np.uint64) << np.uint64(40), np.arange(10_000))
        assert db.verify().errors == []
        assert db.verify(level="deep").errors == []
        with pytest.raises(fpdb.InvalidArgumentError, match='level "thorough": expected "quick"'):
            db.verify(level="thorough")  # type: ignore[arg-type]
    table = max(path.iterdir(), key=lambda file: file.stat().st_size)
    damaged = bytearray(table.read_bytes())
    damaged[len(damaged) // 3] ^= 1
    table.write_bytes(damaged)
    with fpdb.ReadOnlyDb.open(path) as reader:
        report = reader.verify()
        assert report.files > 0 and report.bytes > 0
        assert any(table.name in error for error in report.errors)
        with pytest.raises(fpdb.CorruptionError) as raised:
            list(reader.entries())
            reader.query(0, 64)
        assert table.name in str(raised.value)


def test_full_disks_have_an_error_number() -> None:
    from fpdb_engine import _errors

    assert issubclass(_errors.NoSpaceError, OSError) and issubclass(_errors.IoError, OSError)
    with pytest.raises(OSError) as raised:
        fpdb.Db.create("/dev/null/db")
    assert raised.value.errno == errno.ENOTDIR and isinstance(raised.value, fpdb.Error)


def test_closed_handles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "db"
    db = fpdb.Db.create(path)
    db.insert(7, 1)
    snapshot = db.snapshot()
    db.close()
    db.close()
    assert db.closed and "closed" in repr(db)
    reads: list[Callable[[fpdb.Reader], object]] = [
        lambda handle: handle.query(7),
        lambda handle: handle.nearest(7),
        lambda handle: handle.query_batch([7]),
        lambda handle: 7 in handle,
        lambda handle: len(handle),
        lambda handle: handle.pairs(),
        lambda handle: handle.entries(),
        lambda handle: handle.clusters(),
        lambda handle: handle.snapshot(),
        lambda handle: handle.names([1]),
    ]
    writes: list[Callable[[fpdb.Db], object]] = [
        lambda db: db.insert(8, 2),
        lambda db: db.write([8], [2]),
        lambda db: db.insert_if_novel(8, 2),
        lambda db: db.remove(1),
        lambda db: db.remove_entry(7, 1),
        lambda db: db.flush(),
        lambda db: db.compact(),
        lambda db: db.sync(),
        lambda db: db.stats(),
        lambda db: pickle.dumps(db),
    ]
    for call in reads + writes:
        with pytest.raises(fpdb.ClosedError, match="was closed") as raised:
            call(db)
        assert isinstance(raised.value, ValueError)
    assert 7 in snapshot, "what a snapshot reads stays open"
    snapshot.close()
    reader = fpdb.ReadOnlyDb.open(path)
    reader.close()
    for handle in [snapshot, reader]:
        for call in reads:
            with pytest.raises(fpdb.ClosedError):
                call(handle)


def test_context_managers_close_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mine"), fpdb.Db.create(tmp_path / "db") as db:
        db.insert(7, 1)
        raise RuntimeError("mine")
    assert db.closed
    with fpdb.Db.open(tmp_path / "db") as db:
        assert 7 in db


def test_pickled_handles_are_opened_again_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with fpdb.Db.create(path, threads=1, index_memory=0, bits=128) as db:
        db.insert(7, 1)
        copy = pickle.loads(pickle.dumps(db))
        assert isinstance(copy, fpdb.ReadOnlyDb) and copy.path == str(path)
        assert 7 in copy and copy.stats()["index_budget_bytes"] == 0
        again = pickle.loads(pickle.dumps(copy))
        assert again.stats()["index_budget_bytes"] == 0
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(db.snapshot())
        match = db.nearest(7)
        assert match is not None and pickle.loads(pickle.dumps(match)) == match


def test_relative_paths_are_pickled_as_absolute_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fpdb.Db.create("db").close()
    with fpdb.ReadOnlyDb.open("db") as reader:
        pickled = pickle.dumps(reader)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(pickle.loads(pickled)) == 0


FORK = """
import os, sys
import fpdb_engine as fpdb

path = sys.argv[1]
db = fpdb.Db.create(path)
db.insert(7, 1)
handles = [db, fpdb.ReadOnlyDb.open(path), db.snapshot()]
pairs, entries = db.pairs(), db.entries()
child = os.fork()
if child == 0:
    refused = 0
    for handle in handles:
        for call in [lambda: handle.query(7), lambda: len(handle), handle.close]:
            try:
                call()
            except fpdb.ClosedError as error:
                refused += "forked" in str(error)
    for iterator in [pairs, entries]:
        for call in [lambda: next(iterator), iterator.close]:
            try:
                call()
            except fpdb.ClosedError:
                refused += 1
    # The child may open the database itself.
    with fpdb.ReadOnlyDb.open(path) as own:
        refused += 7 in own
    del handle, handles, db, pairs, entries, own
    os._exit(refused)
_, status = os.waitpid(child, 0)
assert db.query(7) and db.insert(8, 2) == 2, "the parent goes on"
db.close()
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_handles_are_refused_after_a_fork(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORK, str(tmp_path / "db")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("14\n", "")


def test_threads_read_while_one_writes(tmp_path: Path, rng: np.random.Generator) -> None:
    fingerprints = rng.integers(0, 2**64, 20_000, np.uint64)
    ids = np.arange(len(fingerprints))
    failures: list[BaseException] = []
    done = threading.Event()
    with fpdb.Db.create(tmp_path / "db", durability="buffered", memtable_entries=1000) as db:
        db.write(fingerprints[:100], ids[:100])

        def read() -> None:
            try:
                while not done.is_set():
                    for at in range(100):
                        found = db.query(fingerprints[at], 0)
                        assert [match.id for match in found] == [at]
                    answers = db.query_batch(fingerprints[:100], 0)
                    assert answers.ids.tolist() == list(range(100))
            except BaseException as error:
                failures.append(error)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for at in range(100, len(ids), 100):
            db.write(fingerprints[at : at + 100], ids[at : at + 100])
        done.set()
        for reader in readers:
            reader.join()
        assert not failures
        assert db.query_batch(fingerprints, 0).ids.tolist() == ids.tolist()


def test_documents_are_found_by_name(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="names") as db:
        assert db.insert(0xFF, "a", stamp=7) == 0
        document = db.get("a")
        assert document == fpdb.Document(0xFF, 0, 7)
        assert "stamp=7" in repr(document)
        assert db.get("b") is None
        assert db.touch("a", 9) and not db.touch("b", 9)
        assert (document := db.get("a")) is not None and document.stamp == 9
        assert db.touch("a", 8) and db.insert(0xFF, "a", stamp=1) == 0
        assert (document := db.get("a")) is not None and document.stamp == 9, "it does not go down"
        assert db.remove("a") and not db.remove("a")
        assert db.get("a") is None and len(db) == 0


def test_unique_ids_are_updated(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="unique") as db:
        db.insert(1 << 40, 5)
        db.insert(1 << 20, 5)
        assert len(db) == 1 and (1 << 20) in db and (1 << 40) not in db
    with fpdb.Db.open(tmp_path / "db") as db:
        document = db.get(5)
        assert document is not None and document.fingerprint == 1 << 20
        assert db.remove(5) and len(db) == 0


def test_writes_report_what_became_of_a_document(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="names") as db:
        inserted = db.upsert_if_novel(0, "a")
        assert inserted and (inserted.kind, inserted.id) == ("inserted", 0)
        unchanged = db.upsert_if_novel(0, "a")
        assert unchanged and (unchanged.kind, unchanged.id) == ("unchanged", 0)
        assert unchanged.replaced is unchanged.distance is unchanged.duplicate_of is None
        updated = db.upsert_if_novel(1, "a", stamp=5)
        assert updated and (updated.kind, updated.id) == ("updated", 0)
        assert (updated.replaced, updated.distance, updated.duplicate_of) == (0, 1, None)
        copy = db.insert_if_novel(3, "b")
        assert not copy and (copy.kind, copy.id, copy.distance) == ("duplicate", 0, 1)
        assert copy.duplicate_of == db.nearest(3) and copy.replaced is None
        exists = db.insert_if_novel(3, "a")
        assert exists and (exists.kind, exists.id, exists.distance) == ("exists", 0, 1)
        assert (a := db.get("a")) is not None and a.stamp == 5 and db.get("b") is None


KINDS = fpdb.OutcomeKind


def test_batches_report_what_became_of_each_document(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="names") as db:
        fingerprints, names = [0, 0xFF << 50, 1, 3], ["a", "b", "a", "c"]
        outcomes = db.write(fingerprints, names=names, stamps=[1, 2, 3, 4])
        assert outcomes.novel.all() and outcomes.ids.tolist() == [0, 1, 0, 2]
        assert outcomes.kinds.tolist() == [
            KINDS.INSERTED, KINDS.INSERTED, KINDS.UPDATED, KINDS.INSERTED
        ]
        assert outcomes.distances.tolist() == [0, 0, 1, 0]
        again = db.write([0xFF << 50, 7], names=["b", "d"], unless_near=3)
        assert again.kinds.tolist() == [KINDS.EXISTS, KINDS.DUPLICATE]
        assert again.novel.tolist() == [True, False]
        assert (again.ids.tolist(), again.distances.tolist()) == ([1, 2], [0, 1])
        crawled = db.write([0xFF << 50, 7], names=["b", "d"], unless_near=3, or_update="keep")
        assert crawled.kinds.tolist() == [KINDS.UNCHANGED, KINDS.DUPLICATE]
        assert crawled.novel.tolist() == [True, False] and db.get("d") is None
        assert db.write([7], names=["d"], unless_near=0).novel.all()


def test_a_caller_chooses_what_becomes_of_the_key_of_a_duplicate(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="unique") as db:
        db.write([0, 0xF0], [1, 2])
        outcomes = db.write([1], [2], unless_near=3, or_update="keep")
        assert outcomes.ids.tolist() == [1] and db.get(2) == fpdb.Document(0xF0, 2)
        db.write([1], [2], unless_near=3, or_update="remember")
        assert db.get(2) == fpdb.Document(1, 2, duplicate_of=1)
        db.write([0xFF << 40], [3])
        db.write([1], [3], unless_near=3, or_update="remove")
        assert db.get(3) is None
        with pytest.raises(fpdb.InvalidArgumentError, match='or_update "forget": expected "keep"'):
            db.write([1], [2], unless_near=3, or_update="forget")
    with fpdb.Db.create(tmp_path / "user") as db, pytest.raises(fpdb.InvalidArgumentError):
        db.write([1], [2], unless_near=3, or_update="keep")


def test_old_documents_expire(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", ids="names") as db:
        db.write([1 << 8, 1 << 30], names=["old", "new"], stamps=np.array([7, 8]))
        assert [m.id for m in db.query(0, 3, since=8)] == [1]
        assert db.expire(8) == fpdb.ExpireReport(examined=2, removed=1)
        assert db.get("old") is None and db.get("new") is not None
    with (
        fpdb.Db.create(tmp_path / "user") as db,
        pytest.raises(fpdb.InvalidArgumentError, match="no stamps"),
    ):
        db.expire(8)


def test_maintenance_keeps_all_entries(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "db", background=False) as db:
        for id in range(3):
            db.insert(id << 40, id)
            db.flush()
        db.sync()
        db.compact()
        db.warm()
        stats = db.stats()
        assert (stats["entries"], len(stats["segments"]), stats["ids"]) == (3, 1, "user")
        assert stats.keys() == fpdb.Stats.__annotations__.keys()
        assert stats["segments"][0].keys() == fpdb.SegmentStats.__annotations__.keys()
        db.backup(tmp_path / "copy")
        with fpdb.ReadOnlyDb.open(tmp_path / "copy") as copy:
            copy.warm()
            assert copy.stats()["index_loaded_bytes"] == stats["index_loaded_bytes"] > 0
            assert [match.id for match in copy.query(0, 64)] == [0, 1, 2]
            copy.fit_memory()
            for handle in (db, copy):
                assert [match.id for match in handle.query(0, 64)] == [0, 1, 2]
                assert handle.stats()["page_memory_bytes"] > 0
                handle.release_memory()
                assert handle.stats()["page_memory_bytes"] == 0
        db.fit_memory()
        with pytest.raises(fpdb.AlreadyExistsError):
            db.backup(tmp_path / "copy")


def test_every_kind_of_error_has_its_class() -> None:
    source = Path(__file__).parents[2] / "src/base/error.rs"
    kinds = source.read_text().split("pub enum ErrorKind {")[1].split("\n}")[0]
    names = [line.strip(" ,") for line in kinds.splitlines() if line.strip(" ,").isalpha()]
    assert len(names) == 14
    for name in names:
        error = getattr(fpdb, f"{name}Error")
        assert issubclass(error, fpdb.Error)
    mapping = (Path(__file__).parents[1] / "src/base/errors.rs").read_text()
    for name in names:
        assert f'ErrorKind::{name} => "{name}Error"' in mapping
    assert issubclass(fpdb.InvalidArgumentError, ValueError)


def test_representations_are_useful(db: fpdb.Db) -> None:
    db.insert(7, 1)
    assert repr(db) == (
        f'<fpdb_engine.Db {db.path}: 1 entries of 64 bits, max_distance 3, ids "user">'
    )
    assert repr(db.snapshot()).startswith("<fpdb_engine.Snapshot ")
    assert repr(db.nearest(7)) == "Match(distance=0, fingerprint=0x7, id=1)"
    outcome = db.insert_if_novel(6, 2)
    assert repr(outcome) == (
        "Outcome('duplicate', duplicate_of=Match(distance=1, fingerprint=0x7, id=1))"
    )
    assert db, "a handle is true even if the database is empty"


def test_results_can_be_pickled_and_snapshots_say_what_to_do(db: fpdb.Db) -> None:
    outcomes = [db.insert_if_novel(7, 1), db.insert_if_novel(6, 2)]
    assert pickle.loads(pickle.dumps(outcomes)) == outcomes
    with pytest.raises(TypeError, match=r"pickle the Db or ReadOnlyDb.*or copy it with backup\(\)"):
        pickle.dumps(db.snapshot())
    with pytest.raises(fpdb.InvalidArgumentError, match="expected inserted, unchanged"):
        fpdb.Outcome("lost", 1)  # type: ignore[arg-type]


def test_messages_have_the_names_of_python(db: fpdb.Db, tmp_path: Path) -> None:
    fpdb.Db.create(tmp_path / "names", ids="names").close()
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: db.insert(7, "name"), "give an id instead of a name"),
        (lambda: fpdb.Db.open(tmp_path / "names").insert(7, 1), "give a name instead of an id"),
        (lambda: fpdb.Db.open(tmp_path / "names", bits=128), "open it with bits=64"),
        (lambda: fpdb.Db.create(tmp_path / "x", recipe="y"), r"or use custom_recipe=\.\.\. for"),
    ]
    for call, message in calls:
        with pytest.raises(fpdb.Error, match=message) as raised:
            call()
        assert "::" not in str(raised.value) and "DocId" not in str(raised.value)


def test_a_damaged_database_is_repaired_into_a_new_one(tmp_path: Path) -> None:
    with fpdb.Db.create(tmp_path / "broken", ids="unique") as db:
        db.write([7, 9], [1, 2])
    for file in (tmp_path / "broken").glob("*.t00"):
        file.write_bytes(b"nothing")
    report = fpdb.repair(tmp_path / "broken", tmp_path / "fixed")
    assert len(report.damage) == 1 and ".t00" in report.damage[0]
    assert (report.losses, report.written) == ([], 2)
    with fpdb.Db.open(tmp_path / "fixed") as db:
        assert db.get(2) == fpdb.Document(9, 2)
    with pytest.raises(fpdb.AlreadyExistsError):
        fpdb.repair(tmp_path / "broken", tmp_path / "fixed")
