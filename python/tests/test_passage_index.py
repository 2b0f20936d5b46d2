"""The index of passages that lasts."""

from __future__ import annotations

import os
from pathlib import Path

import fpdb_engine as fpdb
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")


def words(begin: int, end: int) -> str:
    return " ".join(f"word{n}" for n in range(begin, end))


def test_documents_are_found_after_the_index_was_closed_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "passages.fpdb"
    texts = [words(1000 * i, 1000 * i + 400) for i in range(30)]
    with fpdb.PassageIndex.create(path, min_words=50, durability="buffered") as index:
        index.insert(range(20), texts[:20])
        index.insert(np.arange(20, 30, dtype=np.uint64), pa.array(texts[20:]))
    with fpdb.PassageIndex.open(path) as index:
        assert index.min_words == 50 and 29 in index and 30 not in index
        for i in range(30):
            before = words(90_000, 90_100)
            text = f"{before} {words(1000 * i + 100, 1000 * i + 150)} {words(91_000, 91_050)}"
            [origin] = index.find(text)
            assert (origin.id, origin.places[0].begin > len(before)) == (i, True)
        assert len({origin.id for origin in index.find(" ".join(texts), limit=7)}) == 7


def test_of_pages_with_an_earlier_article_those_with_little_else_are_known(tmp_path: Path) -> None:
    article = words(0, 500)
    pages = [article, f"{article} {words(5000, 5100)}", f"{article} {words(6000, 7000)}", words(0, 100), None]
    with fpdb.PassageIndex.create(tmp_path / "passages.fpdb", seed=7) as index:
        found = index.insert_if_novel(range(5), pages, share=0.7)
        assert found.novel.tolist() == [True, False, True, False, True]
        assert found.decided.tolist() == [True, True, True, False, True]
        assert found.ids[[1, 3]].tolist() == [0, 0] and 0.7 <= found.shares[1] < 1
        assert index.remove([2, 1], [pages[2], pages[1]]).tolist() == [True, False]
        assert index.remove_all([0, 1]) == 1 and index.find(article) == []
        assert index.insert_if_novel([1], [article]).novel.tolist() == [True]
        index.compact()


def test_the_seed_is_random_unless_it_is_set_and_is_stored(tmp_path: Path) -> None:
    with fpdb.PassageIndex.create(tmp_path / "a.fpdb") as a, fpdb.PassageIndex.create(tmp_path / "b.fpdb") as b:
        assert a.seed != b.seed
    fpdb.PassageIndex.create(tmp_path / "c.fpdb", seed=2**64 - 1).close()
    with fpdb.PassageIndex.open(tmp_path / "c.fpdb") as index:
        assert index.seed == 2**64 - 1


def test_a_lone_surrogate_is_replaced_as_in_dedup(tmp_path: Path) -> None:
    text = f"\ud800 {words(0, 100)}"
    with fpdb.PassageIndex.create(tmp_path / "passages.fpdb") as index:
        index.insert([1], [text])
        assert [origin.share for origin in index.find(text)] == [1.0]


def test_a_page_that_was_edited_is_not_removed_with_its_new_text(tmp_path: Path) -> None:
    pages = [words(1000 * i, 1000 * i + 300) for i in range(100)]
    with fpdb.PassageIndex.create(tmp_path / "passages.fpdb", seed=7) as index:
        index.insert(range(100), pages)
        refused = 0
        for i, page in enumerate(pages):
            try:
                index.remove([i], [page.replace(f"word{1000 * i + 150} ", "other ")])
            except fpdb.InvalidArgumentError:
                refused += 1
                assert [origin.id for origin in index.find(page)] == [i]
        # The others have no window with the word, so the new text has the same ones.
        assert 40 < refused < 95
        assert sum(i in index for i in range(100)) == refused
        assert all(index.find(page) == [] for i, page in enumerate(pages) if i not in index)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(fpdb.InvalidArgumentError, match="14 to 1000"):
        fpdb.PassageIndex.create(tmp_path / "short.fpdb", min_words=5)
    fpdb.Db.create(tmp_path / "other.fpdb").close()
    with pytest.raises(fpdb.UnsupportedError, match="not an index of passages"):
        fpdb.PassageIndex.open(tmp_path / "other.fpdb")
    fpdb.PassageIndex.create(tmp_path / "index.fpdb").close()
    with pytest.raises(fpdb.UnsupportedError, match="PassageIndex in Python"):
        fpdb.Db.open(tmp_path / "index.fpdb")
    index = fpdb.PassageIndex.create(tmp_path / "passages.fpdb")
    index.insert([1], ["A text."])
    with pytest.raises(fpdb.InvalidArgumentError, match="1 ids and 2 texts"):
        index.insert([2], ["A text.", "Another text."])
    with pytest.raises(fpdb.InvalidArgumentError, match="in the index already"):
        index.insert([1], ["A text."])
    with pytest.raises(fpdb.InvalidArgumentError, match="share"):
        index.insert_if_novel([2], ["A text."], share=0)
    with pytest.raises(fpdb.LockedError):
        fpdb.PassageIndex.open(tmp_path / "passages.fpdb")
    index.close()
    index.close()
    with pytest.raises(fpdb.ClosedError, match="passages.fpdb was closed"):
        index.find("A text.")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_of_the_process_cannot_use_the_index(tmp_path: Path) -> None:
    with fpdb.PassageIndex.create(tmp_path / "passages.fpdb") as index:
        child = os.fork()
        if child == 0:
            try:
                index.find("A text.")
            except fpdb.ClosedError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_repair_names_the_texts_to_insert_again(tmp_path: Path) -> None:
    path, page = tmp_path / "passages.fpdb", 4096
    texts = [words(1000 * i, 1000 * i + 600) for i in range(400)]
    with fpdb.PassageIndex.create(path, seed=5, durability="buffered") as index:
        index.insert(range(400), texts)
        index.compact()
    [table] = path.glob("*.t00")
    good = table.read_bytes()
    lost = incomplete = 0
    for number in range(1, len(good) // page):
        damaged = bytearray(good)
        damaged[number * page + 70] ^= 1
        table.write_bytes(damaged)
        fixed = tmp_path / f"fixed-{number}"
        report = fpdb.repair(path, fixed)
        assert bool(report.losses) == bool(report.lost_texts or report.incomplete_texts)
        lost, incomplete = lost + len(report.lost_texts), incomplete + len(report.incomplete_texts)
        with fpdb.PassageIndex.open(fixed) as index:
            assert [id for id in range(400) if id not in index] == report.lost_texts
            index.remove_all(report.incomplete_texts)
            again = sorted(report.lost_texts + report.incomplete_texts)
            index.insert(again, [texts[id] for id in again])
            for id, text in enumerate(texts):
                [origin] = index.find(text)
                assert (origin.id, origin.share) == (id, 1)
    assert lost and incomplete
