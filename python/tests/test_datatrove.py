"""Runs the steps in real datatrove pipelines."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest

pytest.importorskip("datatrove", reason="datatrove is not installed")

from datatrove.data import Document  # noqa: E402
from datatrove.executor import LocalPipelineExecutor  # noqa: E402
from datatrove.pipeline.dedup.minhash import MinhashDedupFilter  # noqa: E402
from datatrove.pipeline.readers import JsonlReader  # noqa: E402
from datatrove.pipeline.writers import JsonlWriter  # noqa: E402
from fpdb_engine.datatrove import Clusters, Fingerprints, NearDuplicateFilter  # noqa: E402

WORDS = "disc tray light play battery cover remove insert wait press open close green red".split()


def texts(rng: np.random.Generator, count: int) -> list[str]:
    """Returns texts of which many are copies with other punctuation or one more word."""
    found: list[str] = ["short", "!"]
    while len(found) < count:
        text = " ".join(rng.choice(WORDS, 60).tolist())
        if len(found) > 5 and rng.random() < 0.4:
            text = found[int(rng.integers(2, len(found)))]
            text += rng.choice(["!", " again", ""])
        found.append(text)
    return found


@pytest.fixture
def documents(rng: np.random.Generator, tmp_path: Path) -> list[list[dict[str, str]]]:
    """Three files of documents in the folder `input`, which are the input of three ranks."""
    (tmp_path / "input").mkdir()
    every = texts(rng, 300)
    files = []
    for number in range(3):
        part = [
            {"id": f"doc-{number}-{i}", "text": text} for i, text in enumerate(every[number::3])
        ]
        lines = "".join(json.dumps(document) + "\n" for document in part)
        (tmp_path / "input" / f"{number}.jsonl").write_text(lines)
        files.append(part)
    return files


def execute(folder: Path, *steps: Any, tasks: int = 1) -> None:
    """Runs a pipeline. Ranks run one after the other, in this process."""
    number = len(list(folder.glob("logs-*")))
    LocalPipelineExecutor(
        pipeline=list(steps), tasks=tasks, workers=1, logging_dir=str(folder / f"logs-{number}")
    ).run()


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the documents that JsonlWriter wrote, by id."""
    found = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            document = json.loads(line)
            found[document["id"]] = document
    return found


def expected(files: list[list[dict[str, str]]], k: int = 3) -> dict[str, str]:
    """Returns what is a duplicate of what, by the rule of insert_if_novel: a loop over everything."""
    kept: list[tuple[str, int]] = []
    dropped = {}
    for document in (document for part in files for document in part):
        value = fpdb.fingerprint(document["text"])
        if value is None:
            continue
        near = [((value ^ other).bit_count(), id) for id, other in kept]
        near = [match for match in near if match[0] <= k]
        if near:
            dropped[document["id"]] = min(near, key=lambda match: match[0])[1]
        else:
            kept.append((document["id"], value))
    return dropped


def test_the_filter_drops_near_duplicates_and_names_the_earlier_document(
    documents: list[list[dict[str, str]]], tmp_path: Path
) -> None:
    def run(out: str) -> None:
        execute(
            tmp_path,
            JsonlReader(str(tmp_path / "input")),
            NearDuplicateFilter(
                tmp_path / "corpus.fpdb",
                max_distance=3,
                exclusion_writer=JsonlWriter(str(tmp_path / f"{out}-dropped")),
                batch_size=7,
            ),
            JsonlWriter(str(tmp_path / out)),
        )

    run("first")
    dropped = read(tmp_path / "first-dropped")
    wanted = expected(documents)
    assert len(wanted) > 50
    assert dropped.keys() == wanted.keys()
    everything = {document["id"] for part in documents for document in part}
    assert read(tmp_path / "first").keys() == everything - wanted.keys()
    by_id = {document["id"]: document["text"] for part in documents for document in part}
    for id, document in dropped.items():
        metadata = document["metadata"]
        assert metadata["filter_reason"] == "near_duplicate"
        ours, theirs = fpdb.fingerprint(by_id[id]), fpdb.fingerprint(by_id[metadata["duplicate_of"]])
        assert ours is not None and theirs is not None
        assert (ours ^ theirs).bit_count() == metadata["duplicate_distance"] <= 3
    # Repeating a run gives the same, because documents are not duplicates of themselves.
    run("second")
    assert read(tmp_path / "second").keys() == read(tmp_path / "first").keys()
    # The next run knows the corpus.
    for part in documents:
        for document in part:
            document["id"] = f"new-{document['id']}"
    (tmp_path / "input" / "0.jsonl").write_text(json.dumps(documents[0][5]) + "\n")
    (tmp_path / "input" / "1.jsonl").unlink()
    (tmp_path / "input" / "2.jsonl").unlink()
    run("third")
    assert list(read(tmp_path / "third-dropped")) == [documents[0][5]["id"]]


def words(seed: int, changed: int = 0) -> str:
    rng = random.Random(seed)
    text = [f"w{rng.randrange(1000)}" for _ in range(100)]
    return " ".join(text[: 100 - changed] + [f"changed{seed}{n}" for n in range(changed)])


def filtered(step: NearDuplicateFilter, *texts: str) -> list[str]:
    documents = [Document(text, f"000.jsonl/{row}") for row, text in enumerate(texts)]
    return [document.id for document in step.run(iter(documents))]


def test_a_new_database_is_for_a_similarity_and_an_existing_one_stays_as_it_is(
    tmp_path: Path,
) -> None:
    assert filtered(NearDuplicateFilter(tmp_path / "new"), words(1), words(1, 3)) == ["000.jsonl/0"]
    with fpdb.Db.open(tmp_path / "new") as db:
        assert (db.bits, db.similarity) == (1824, 0.8)
    fpdb.Db.create(tmp_path / "old", ids="names", recipe="default", max_distance=6).close()
    assert filtered(NearDuplicateFilter(tmp_path / "old"), words(1), words(1)) == ["000.jsonl/0"]
    assert filtered(NearDuplicateFilter(tmp_path / "old", max_distance=6), words(1)) == ["000.jsonl/0"]
    with pytest.raises(fpdb.InvalidArgumentError, match="was requested, but the database has distance 6"):
        filtered(NearDuplicateFilter(tmp_path / "old", similarity=0.9), words(1))


def test_a_second_data_set_with_the_same_ids_is_counted_or_has_a_namespace(tmp_path: Path) -> None:
    first, second = NearDuplicateFilter(tmp_path / "db"), NearDuplicateFilter(tmp_path / "db")
    filtered(first, words(1), words(2))
    filtered(second, words(3), words(4))
    assert first.stats["replaced"].total == 0 and second.stats["replaced"].total == 2
    for namespace, seeds in [("a/", (1, 2)), ("b/", (3, 4))]:
        step = NearDuplicateFilter(tmp_path / "named", namespace=namespace)
        filtered(step, *(words(seed) for seed in seeds))
        assert step.stats["replaced"].total == 0
    third = NearDuplicateFilter(tmp_path / "named", namespace="c/")
    assert filtered(third, *(words(seed) for seed in (1, 2, 3, 4))) == []


@pytest.mark.parametrize("method", ["keep-first", "components"])
def test_many_ranks_remove_with_datatroves_own_filter(
    documents: list[list[dict[str, str]]],
    tmp_path: Path,
    method: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that two files are loaded together, and one alone.
    monkeypatch.setattr("fpdb_engine.datatrove._clusters._PART", 150)
    reader = JsonlReader(str(tmp_path / "input"))
    fingerprints = Fingerprints(str(tmp_path / "fingerprints"), bits=64, batch_size=8)
    execute(tmp_path, reader, fingerprints, tasks=3)
    clusters = Clusters(
        str(tmp_path / "fingerprints"),
        str(tmp_path / "remove"),
        method=method,
        save_cluster_id=True,
        save_cluster_size=True,
        database=tmp_path / "all.fpdb",
    )
    execute(tmp_path, clusters)
    execute(
        tmp_path,
        JsonlReader(str(tmp_path / "input")),
        MinhashDedupFilter(
            str(tmp_path / "remove"),
            exclusion_writer=JsonlWriter(str(tmp_path / "dropped")),
            load_cluster_ids=True,
            load_cluster_sizes=True,
        ),
        JsonlWriter(str(tmp_path / "output")),
        tasks=3,
    )
    kept, dropped = read(tmp_path / "output"), read(tmp_path / "dropped")
    everything = {document["id"] for part in documents for document in part}
    assert kept.keys() | dropped.keys() == everything
    wanted = expected(documents)
    if method == "keep-first":
        assert dropped.keys() == wanted.keys()
    else:
        assert dropped.keys() >= wanted.keys()
    # A cluster has one document that is kept, and the size that datatrove reads.
    members: dict[int, list[dict[str, Any]]] = {}
    for document in [*kept.values(), *dropped.values()]:
        members.setdefault(document["metadata"]["minhash_cluster_id"], []).append(document)
    for document in members.pop(-1):
        assert document["id"] in kept
        assert document["metadata"]["minhash_cluster_size"] == 1
    for cluster in members.values():
        assert sum(document["id"] in kept for document in cluster) == 1
        assert {document["metadata"]["minhash_cluster_size"] for document in cluster} == {
            len(cluster)
        }


def test_a_rank_without_documents_or_duplicates_has_empty_lists(tmp_path: Path) -> None:
    step = Fingerprints(str(tmp_path / "fingerprints"))
    step.run(iter([Document(" ".join(WORDS), "a")]), 0, 2)
    step.run(iter([]), 1, 2)
    Clusters(str(tmp_path / "fingerprints"), str(tmp_path / "remove")).run()
    assert {path.name: path.read_bytes() for path in (tmp_path / "remove").iterdir()} == {
        "000000.remove": b"",
        "000001.remove": b"",
    }


def test_clusters_by_similarity_can_be_run_again_but_not_mixed(tmp_path: Path) -> None:
    def fingerprints(name: str, *texts: str) -> str:
        folder = str(tmp_path / name)
        documents = [Document(text, str(row)) for row, text in enumerate(texts)]
        Fingerprints(folder).run(iter(documents))
        return folder

    first = fingerprints("first", words(1), words(2), words(1, 3))
    for out in ("a", "b"):
        Clusters(first, str(tmp_path / out), database=tmp_path / "db").run()
        removed = np.frombuffer((tmp_path / out / "000000.remove").read_bytes(), "<u4")
        assert removed.tolist() == [2]
    with fpdb.Db.open(tmp_path / "db") as db:
        assert (db.bits, db.similarity, len(db)) == (1824, 0.8, 3)
    second = fingerprints("second", words(5))
    with pytest.raises(fpdb.InvalidArgumentError, match="documents of other files"):
        Clusters(second, str(tmp_path / "c"), database=tmp_path / "db").run()


def test_many_ranks_are_compared_with_earlier_data_sets(tmp_path: Path) -> None:
    def dump(name: str, *ranks: list[str]) -> list[list[int]]:
        folder = str(tmp_path / name)
        for rank, texts in enumerate(ranks):
            documents = [Document(text, "id") for text in texts]
            Fingerprints(folder).run(iter(documents), rank, len(ranks))
        found = []
        # The second run repeats the first.
        for out in ("a", "b"):
            step = Clusters(folder, f"{folder}-{out}", against=tmp_path / "db", namespace=name)
            step.run()
            files = sorted((tmp_path / f"{name}-{out}").iterdir())
            assert [file.name for file in files] == [f"{rank:06d}.remove" for rank in range(len(ranks))]
            found.append([np.frombuffer(file.read_bytes(), "<u4").tolist() for file in files])
            counts = (step.stats["to_remove"].total, step.stats["like_earlier"].total)
        assert found[0] == found[1]
        return [*found[0], list(counts)]

    first = dump("2026-10", [words(1), "short", words(1, 2)], [words(2), words(1, 3)])
    assert first == [[2], [1], [2, 0]]
    second = dump("2026-11", [words(3), words(2, 2)], [words(4)], [words(3, 2), words(1)])
    assert second == [[1], [], [0, 1], [3, 2]]
    # The same database serves the other ways.
    step = NearDuplicateFilter(tmp_path / "db", namespace="2026-12/")
    assert filtered(step, words(3), words(5)) == ["000.jsonl/1"]
    again = fpdb.dedup([words(5), words(6)], ["x", "y"], against=tmp_path / "db", run="2027-01")
    assert again.earlier == {0: "2026-12/000.jsonl/1"}
    with pytest.raises(fpdb.InvalidArgumentError, match="give namespace too"):
        Clusters(str(tmp_path), str(tmp_path), against=tmp_path / "db")
    with pytest.raises(fpdb.InvalidArgumentError, match="leave out database"):
        Clusters(str(tmp_path), str(tmp_path), against="x", namespace="y", save_cluster_id=True)


def test_missing_and_truncated_files_are_reported(tmp_path: Path) -> None:
    folder, out = tmp_path / "fingerprints", str(tmp_path / "remove")
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match="no files of Fingerprints"):
        Clusters(str(folder), out).run()
    step = Fingerprints(str(folder))
    for rank in (0, 1):
        step.run(iter([]), rank, 3)
    header = (folder / "000000-of-000003.fingerprints").read_bytes()
    with pytest.raises(FileNotFoundError, match="no file for rank 2"):
        Clusters(str(folder), out).run()
    for content in (header + bytes(13), header[:-1], b"", b"[]\n", b'{"bits": 64}\n', bytes(9999)):
        (folder / "000002-of-000003.fingerprints").write_bytes(content)
        with pytest.raises(ValueError, match="truncated: run Fingerprints again for rank 2"):
            Clusters(str(folder), out).run()
    for other in (Fingerprints(str(folder), bits=64), Fingerprints(str(folder), "pairs-short/1")):
        other.run(iter([]), 2, 3)
        with pytest.raises(fpdb.InvalidArgumentError, match="they cannot be compared"):
            Clusters(str(folder), out).run()
    (folder / "000000-of-000001.fingerprints").write_bytes(b"")
    with pytest.raises(fpdb.InvalidArgumentError, match="with 1 and 3 tasks"):
        Clusters(str(folder), out).run()


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(fpdb.InvalidArgumentError, match="no-such"):
        NearDuplicateFilter(tmp_path / "db", recipe="no-such")
    with pytest.raises(fpdb.InvalidArgumentError, match="expected 0 to 12"):
        NearDuplicateFilter(tmp_path / "db", max_distance=13)
    with pytest.raises(fpdb.InvalidArgumentError, match="expected at least 1"):
        Fingerprints(str(tmp_path), batch_size=0)
    with pytest.raises(fpdb.InvalidArgumentError, match="expected 'keep-first' or"):
        Clusters(str(tmp_path), str(tmp_path), method="all")  # type: ignore[arg-type]
    with pytest.raises(fpdb.InvalidArgumentError, match="in one task"):
        Clusters(str(tmp_path), str(tmp_path)).run(world_size=2)
    step = NearDuplicateFilter(tmp_path / "db")
    with pytest.raises(fpdb.InvalidArgumentError, match="for many, use Fingerprints"):
        list(step.run(iter([]), 0, 2))
    with pytest.raises(RuntimeError, match="only while run"):
        step.filter(Document("text", "id"))
    # Executors pickle the steps.
    assert pickle.loads(pickle.dumps(step)).path == step.path


def test_text_that_is_no_unicode_passes_through(tmp_path: Path) -> None:
    documents = [Document(" ".join(WORDS) + " \ud800", id) for id in "ab"]
    step = NearDuplicateFilter(tmp_path / "db")
    assert [document.id for document in step.run(iter(documents))] == ["a"]
