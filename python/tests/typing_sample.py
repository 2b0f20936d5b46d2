"""A program that uses the types as callers do. mypy checks it; nothing runs it."""

from __future__ import annotations

from typing_extensions import assert_type

import fpdb_engine as fpdb
import numpy as np
import numpy.typing as npt


def crawl(path: str, pages: list[tuple[str, str]]) -> list[str]:
    novel = []
    with fpdb.Db.create(path, ids="names", recipe="default", durability="buffered") as db:
        assert_type(db, fpdb.Db)
        for url, text in pages:
            outcome = db.insert_text_if_novel(text, url)
            assert_type(outcome, fpdb.Outcome | None)
            if outcome:
                novel.append(url)
            elif outcome is not None:
                assert_type(db.name(outcome.id), str | None)
        assert_type(db.stats()["segments"][0]["files"], dict[str, int])
    return novel


def search(path: str, fingerprints: npt.NDArray[np.uint64]) -> None:
    with fpdb.ReadOnlyDb.open(path) as db:
        assert_type(db, fpdb.ReadOnlyDb)
        offsets, ids, distances = db.query_batch(fingerprints, 3)
        assert_type(offsets, npt.NDArray[np.int64])
        assert_type(ids, npt.NDArray[np.uint64])
        assert_type(distances, npt.NDArray[np.uint8])
        assert_type(db.query(7), list[fpdb.Match])
        for a, b, _ in db.pairs(3, expand=True):
            assert_type(a, npt.NDArray[np.uint64])
            assert_type(b, npt.NDArray[np.uint64])
        assert_type(db.clusters(3).offsets, npt.NDArray[np.int64])
        with db.snapshot() as snapshot:
            assert_type(snapshot, fpdb.Snapshot)
    with fpdb.Db.open(path) as db, fpdb.ReadOnlyDb.open(path) as reader:
        assert_type(db, fpdb.Db)
        novel, ids, distances, kinds = db.write(fingerprints, fingerprints, unless_near=3)
        assert_type(novel, npt.NDArray[np.bool_])
        assert_type(kinds, npt.NDArray[np.uint8])
        assert_type(db.write(texts=["a", None], names=["b", "c"]), fpdb.Outcomes)
        assert_type(db.query_batch(texts=["a", None]), fpdb.Answers)
        assert_type(db.bulk_load(reader.entries()), fpdb.LoadReport)


def refused(db: fpdb.Db, reader: fpdb.ReadOnlyDb) -> None:
    db.query("7")  # type: ignore[arg-type]
    db.write([7], [1], or_update="forget")  # type: ignore[arg-type]
    db.insert(7, 1.0)  # type: ignore[arg-type]
    reader.insert(7, 1)  # type: ignore[attr-defined]
    fpdb.Db.create("path", ids="uuid")  # type: ignore[arg-type]
    fpdb.fingerprint(b"bytes")  # type: ignore[call-overload]
    fpdb.dedup(5)  # type: ignore[arg-type]


def archive(path: str) -> dict[str, int | None]:
    try:
        with fpdb.WarcPages(path) as pages:
            return {page.url: fpdb.fingerprint(page.text) for page in pages}
    except fpdb.NotFoundError as error:
        assert_type(error.path, str | None)
        assert_type(error.is_retryable, bool)
        return {}
