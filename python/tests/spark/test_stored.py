"""Fingerprints, stored corpora, and batches of queries from them."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import fpdb_engine as fpdb
import numpy as np
import pytest

jobs = pytest.importorskip(
    "fpdb_engine.spark", reason="the Spark jobs: a package is missing", exc_type=ImportError
)
K = 3


@pytest.mark.parametrize(("recipe", "bits"), [("default", 64), ("default", 128), ("fives/1", 1824)])
def test_fingerprints_are_those_of_the_engine(spark: Any, recipe: str, bits: int) -> None:
    text = "Insert the disc, close the tray, and wait for the green light. Then press the button."
    rows = list(enumerate([text, "", None, text.upper()] * 20))
    df = spark.createDataFrame(rows, "id int, text string").repartition(3)
    found = jobs.fingerprint(df, "text", recipe, bits=bits)
    assert found.columns == ["id", "text", "fingerprint"]
    for row in found.collect():
        expected = fpdb.fingerprint(row.text, recipe, bits=bits) if row.text is not None else None
        actual = row.fingerprint
        if actual is not None:
            actual = {
                64: lambda: actual % (1 << 64),
                128: lambda: int.from_bytes(bytes(actual), "big"),
                1824: lambda: bytes(actual),
            }[bits]()
        assert actual == expected


def test_columns_without_texts_have_no_fingerprints(spark: Any) -> None:
    df = spark.createDataFrame([(1, "text")], "id int, text string")
    with pytest.raises(fpdb.InvalidArgumentError):
        jobs.fingerprint(df, "text", "nonsense")
    with pytest.raises(fpdb.InvalidArgumentError, match="no column 'txt'; the columns are id, text"):
        jobs.fingerprint(df, "txt")
    with pytest.raises(fpdb.InvalidArgumentError, match="already a column"):
        jobs.fingerprint(df, "text", output="id")
    with pytest.raises(fpdb.InvalidArgumentError, match="'id' is of type int, and texts are of type string"):
        jobs.fingerprint(df, "id")


def test_columns_of_other_names_and_types_are_refused_before_a_task_begins(
    spark: Any, tmp_path: Path
) -> None:
    df = spark.createDataFrame([("https://a.example/", 7, 0.5)], "url string, fingerprint long, x double")
    fpdb.Db.create(tmp_path / "db").close()
    calls: list[Callable[[str], object]] = [
        lambda id: jobs.pairs(df, id_column=id, tasks=2),
        lambda id: jobs.build(df, tmp_path / "parts", 2, id_column=id),
        lambda id: jobs.batch(df, tmp_path / "db", id_column=id),
        lambda id: jobs.clusters(df, a_column="fingerprint", b_column=id),
    ]
    for call in calls:
        with pytest.raises(fpdb.InvalidArgumentError, match="no column 'id'; the columns are url, fing"):
            call("id")
        with pytest.raises(fpdb.InvalidArgumentError, match="'url' is of type string, and ids are whole"):
            call("url")
        with pytest.raises(fpdb.InvalidArgumentError, match="'x' is of type double.*monotonically"):
            call("x")
    with pytest.raises(fpdb.InvalidArgumentError, match="'url' is of type string, and fingerprints are"):
        jobs.pairs(df, fingerprint_column="url", id_column="fingerprint", tasks=2)


def test_batch_finds_what_one_database_finds(
    spark: Any, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints, ids = corpus.mixed(rng, K)
    stored = corpus.frame(spark, fingerprints, ids)
    parts = jobs.build(stored, tmp_path / "parts", 5)
    assert len(parts) == 5 and parts == jobs.parts(tmp_path / "parts")
    assert sum(part.entries for part in parts) == len(ids)
    asked = fingerprints[::9] ^ (np.uint64(1) << rng.integers(0, 64, len(ids[::9]), np.uint64))
    queries = corpus.frame(spark, asked, ids[::9])
    with corpus.database(tmp_path / "db", fingerprints, ids, K) as db:
        answers = db.query_batch(asked, K)
    query = np.repeat(ids[::9], np.diff(answers.offsets))
    expected = corpus.digest([query, answers.ids, answers.distances])
    for path in [tmp_path / "parts", tmp_path / "db"]:
        assert corpus.digest_of(jobs.batch(queries, path, K)) == expected
    monkeypatch.setattr("fpdb_engine.spark._batch.CLOSURE_QUERIES", 10)
    with pytest.raises(fpdb.InvalidArgumentError, match="scratch"):
        jobs.batch(queries, tmp_path / "parts")
    assert corpus.digest_of(jobs.batch(queries, tmp_path / "parts", scratch=tmp_path / "s")) == expected


def test_a_stored_corpus_is_read_as_a_data_frame(
    spark: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    fingerprints, ids = corpus.mixed(rng, K, 1000)
    jobs.build(corpus.frame(spark, fingerprints, ids), tmp_path / "parts", 3, max_distance=5)
    jobs.register(spark)
    table = spark.read.format("fpdb").load(str(tmp_path / "parts")).toArrow()
    assert table.num_rows == len(ids)
    found = [corpus.unsigned(table, name) for name in ("fingerprint", "id")]
    assert corpus.digest(found) == corpus.digest([fingerprints, ids])


def test_only_parts_that_a_build_committed_are_read(
    spark: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    fingerprints, ids = corpus.mixed(rng, K, 1000)
    rows = corpus.frame(spark, fingerprints, ids)
    folder = tmp_path / "parts"
    # An attempt of an earlier build that was killed.
    corpus.database(tmp_path / "killed", fingerprints[:10], ids[:10], K).close()
    shutil.copytree(tmp_path / "killed", folder / "part-killed.fpdb")
    with pytest.raises(fpdb.NotFoundError):
        jobs.parts(folder)
    jobs.build(rows, folder, 2)
    assert sum(part.entries for part in jobs.parts(folder)) == len(ids)
    assert not (folder / "part-killed.fpdb").exists()
    with pytest.raises(fpdb.AlreadyExistsError):
        jobs.build(rows, folder, 2)


def test_a_build_that_fails_commits_nothing_and_can_be_repeated(
    spark: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "parts"
    rows = spark.createDataFrame([(1, 5), (None, 6)], "id long, fingerprint long")
    (folder / "part-killed.fpdb").mkdir(parents=True)
    with pytest.raises(Exception, match="an id is null"):
        jobs.build(rows, folder, 2)
    # It frees the space before it needs more.
    assert not (folder / "part-killed.fpdb").exists()
    with pytest.raises(fpdb.NotFoundError):
        jobs.parts(folder)
    assert [part.entries for part in jobs.build(rows.where("id is not null"), folder, 2)] == [1]


@pytest.mark.parametrize(("column", "options"), [("long", {}), ("binary", {"similarity": 0.8})])
def test_no_rows_are_no_pairs_no_parts_and_no_answers(
    spark: Any, tmp_path: Path, column: str, options: dict[str, float]
) -> None:
    none = spark.createDataFrame([(1, None)], f"id long, fingerprint {column}")
    assert jobs.pairs(none, **options, tasks=2).collect() == []
    assert jobs.build(none, tmp_path / "parts", 2, **options) == jobs.parts(tmp_path / "parts") == []
    assert jobs.batch(none, tmp_path / "parts").collect() == []
    jobs.register(spark)
    assert spark.read.format("fpdb").load(str(tmp_path / "parts")).count() == 0


def test_a_database_is_moved_to_another_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fpdb_engine.spark import _parts

    def refuse(_self: Path, _to: Path) -> None:
        raise OSError(errno.EXDEV, "another file system")

    fingerprints = np.arange(5, dtype=np.uint64)
    corpus.database(tmp_path / "db", fingerprints, fingerprints, K).close()
    monkeypatch.setattr(Path, "rename", refuse)
    _parts.move(tmp_path / "db", tmp_path / "moved")
    monkeypatch.undo()
    with fpdb.ReadOnlyDb.open(tmp_path / "moved") as db:
        assert len(db) == 5 and not db.verify().errors


def test_the_first_of_two_builds_in_one_folder_wins(tmp_path: Path) -> None:
    from fpdb_engine.spark import _parts

    first = [jobs.Part(str(tmp_path / "part-1.fpdb"), 1)]
    _parts.commit(tmp_path, first)
    with pytest.raises(fpdb.AlreadyExistsError):
        _parts.commit(tmp_path, [jobs.Part(str(tmp_path / "part-2.fpdb"), 2)])
    assert jobs.parts(tmp_path) == first
    assert [file.name for file in tmp_path.iterdir()] == ["fpdb-parts.json"]


def test_what_a_second_attempt_wrote_is_removed(tmp_path: Path) -> None:
    from fpdb_engine.spark import _build

    for name in ["part-1.fpdb", "part-2.fpdb"]:
        (tmp_path / name).mkdir()
    _build._remove_others(tmp_path, [jobs.Part(str(tmp_path / "part-2.fpdb"), 2)])
    assert [file.name for file in tmp_path.iterdir()] == ["part-2.fpdb"]


def test_a_damaged_list_of_parts_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(fpdb.NotFoundError):
        jobs.parts(tmp_path)
    for text in ["{", "[]", "{}", '{"schema": "fpdb.parts/9", "parts": []}']:
        (tmp_path / "fpdb-parts.json").write_text(text)
        with pytest.raises(fpdb.CorruptionError):
            jobs.parts(tmp_path)
