"""dedup with against: many runs, some of them repeated or interrupted, against a model that keeps all texts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import pytest
from fpdb_engine import _columns, _documents

WORDS = [f"w{number:04}" for number in range(3000)]


def document(rng: random.Random, words: int = 60) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def edited(rng: random.Random, text: str) -> str:
    """Replaces up to four words. With three, J is .82 for texts of 60 words; with four .77."""
    words = text.split()
    for place in rng.sample(range(len(words)), rng.randrange(5)):
        words[place] = f"e{rng.randrange(10**9)}"
    return " ".join(words)


class Interrupted(Exception):
    """Raised in the middle of a run."""


class Model:
    """What the outputs of all runs hold: the text of each document that was kept and has not given way."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.rng = path, random.Random(seed)
        self.texts: dict[str, str] = {}
        self.known: dict[str, str] = {}
        """All texts that any run has read, by name, for text_of."""
        self.pool = [document(self.rng) for _ in range(6)]

    def rows(self, run: str) -> tuple[list[str | None], list[str]]:
        """Returns the rows of a run: versions of pages, and pages that moved."""
        self.pool += [edited(self.rng, self.rng.choice(self.pool)) for _ in range(4)]
        ids = self.rng.sample([f"/{number}" for number in range(30)], self.rng.randrange(1, 16))
        texts: list[str | None] = [self.rng.choice(self.pool) for _ in ids]
        if self.rng.random() < 0.2:
            texts[self.rng.randrange(len(texts))] = None
        return texts, ids

    def options(self, run: str, rows: int) -> dict[str, Any]:
        earlier = sorted({name.partition("/")[0] for name in self.known} - {run})
        keep: Any = self.rng.choice(["first", "first", "longest", "least id", "scores"])
        if keep == "scores":
            keep = [self.rng.randrange(5) for _ in range(rows)]
        replaces = self.rng.sample(earlier, min(len(earlier), self.rng.randrange(3)))
        return {"keep": keep, "replaces": replaces, "verify": "all"}

    def dedup(self, run: str, texts: list[str | None], ids: list[str], options: dict[str, Any], stop: int = -1) -> Any:
        steps = iter(range(1000))

        def step(*_: Any) -> None:
            if next(steps) == stop:
                raise Interrupted

        def text_of(names: list[str]) -> list[str | None]:
            step()
            return [self.known.get(name) for name in names]

        self.known |= {f"{run}/{id}": text for id, text in zip(ids, texts) if text is not None}
        given: Any = (iter(texts), iter(ids)) if self.rng.random() < 0.5 else (texts, ids)
        return fpdb.dedup(*given, against=self.path, run=run, text_of=text_of, progress=step, **options)

    def check(self, run: str, texts: list[str | None], ids: list[str], found: fpdb.Deduplicated) -> None:
        for names in found.replaced.values():
            for name in names:
                self.texts.pop(name, None)
        self.texts = {name: text for name, text in self.texts.items() if not name.startswith(f"{run}/")}
        for row, (text, id) in enumerate(zip(texts, ids)):
            if found.keep[row] and text is not None:
                self.texts[f"{run}/{id}"] = text
        for row in (~found.keep).nonzero()[0].tolist():
            of = found.earlier.get(row, f"{run}/{ids[int(found.duplicate_of[row])]}")
            # What the row is like is kept in the end.
            similarity = fpdb.jaccard(texts[row] or "", self.texts[of])
            assert similarity >= 0.8 and found.similarity[row] == pytest.approx(similarity, abs=1e-6)
        with fpdb.ReadOnlyDb.open(self.path) as db:
            assert sorted(self.stored(db)) == sorted(self.texts)
        kept = list(self.texts.values())
        assert len(kept) == len(set(kept))

    def stored(self, db: fpdb.ReadOnlyDb) -> list[str]:
        ids = [id for _, some in db.entries() for id in some.tolist()]
        return [name for name in db.names(ids) if name]


@pytest.mark.parametrize("seed", range(12))
def test_dropped_rows_are_like_what_is_kept_and_the_database_holds_the_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(_columns, "CHUNK", 3)
    monkeypatch.setattr(_documents, "_NAMES", 2)
    model = Model(tmp_path / "db", seed)
    for number in range(8):
        run = f"run{number}"
        texts, ids = model.rows(run)
        options = model.options(run, len(ids))
        for _ in range(model.rng.randrange(3)):
            try:
                found = model.dedup(run, texts, ids, options, stop=model.rng.randrange(8))
            except Interrupted:
                continue
            model.check(run, texts, ids, found)
        found = model.dedup(run, texts, ids, options)
        model.check(run, texts, ids, found)
        if model.rng.random() < 0.4:
            # Some rows were filtered out since.
            chosen = [row for row in range(len(ids)) if model.rng.random() < 0.7]
            keep = options["keep"]
            options["keep"] = [keep[row] for row in chosen] if isinstance(keep, list) else keep
            texts, ids = [texts[row] for row in chosen], [ids[row] for row in chosen]
            model.check(run, texts, ids, model.dedup(run, texts, ids, options))


def run(path: Path, name: str, texts: list[str], ids: list[str], **options: Any) -> fpdb.Deduplicated:
    return fpdb.dedup(texts, ids, against=path, run=name, **options)


def names_in(path: Path) -> list[str | None]:
    with fpdb.ReadOnlyDb.open(path) as db:
        return sorted(db.names([id for _, some in db.entries() for id in some.tolist()]), key=str)


@pytest.mark.parametrize("order", ["forwards", "backwards"])
@pytest.mark.parametrize("form", [list, iter])
def test_a_page_that_moved_is_kept_although_its_old_address_has_another_page(
    tmp_path: Path, order: str, form: Any
) -> None:
    rng = random.Random(1)
    article, news = document(rng), document(rng)
    run(tmp_path, "october", [article], ["/latest"])
    rows = [(article, "/article"), (news, "/latest")]
    texts, ids = map(list, zip(*(rows if order == "forwards" else rows[::-1])))
    found = run(tmp_path, "november", form(texts), form(ids), replaces=["october"])
    assert found.keep.all() and list(found.replaced.values()) == [["october//latest"]]
    assert names_in(tmp_path) == ["november//article", "november//latest"]


def test_a_document_that_gave_way_drops_no_other_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (1, 4096):
        monkeypatch.setattr(_columns, "CHUNK", chunk)
        rng, path = random.Random(2), tmp_path / str(chunk)
        middle = document(rng, 100).split()
        best, last = middle[:], middle[:]
        best[:8], last[90:98] = [f"b{n}" for n in range(8)], [f"l{n}" for n in range(8)]
        texts = [" ".join(words) for words in (middle, best, last)]
        run(path, "a", texts[:1], ["middle"], keep=[5])
        known = {"a/middle": texts[0]}
        found = run(path, "b", texts[1:], ["best", "last"], keep=[9, 1], text_of=lambda names: map(known.get, names))
        assert found.keep.all() and found.replaced == {0: ["a/middle"]}


def test_a_page_that_changed_a_little_replaces_its_old_version(tmp_path: Path) -> None:
    rng = random.Random(3)
    old = document(rng, 100)
    new = old.replace(old.split()[50], "changed", 1)
    run(tmp_path, "october", [old], ["/a"])
    found = run(tmp_path, "november", [new], ["/a"], replaces=["october"])
    assert found.keep.all() and found.replaced == {0: ["october//a"]} and names_in(tmp_path) == ["november//a"]


def test_a_run_that_is_repeated_with_fewer_rows_leaves_nothing_behind(tmp_path: Path) -> None:
    rng = random.Random(4)
    a, b = document(rng), document(rng)
    run(tmp_path, "2026-11", [a, b], ["p", "q"])
    again = run(tmp_path, "2026-11", [a], ["p"])
    assert again.stored_before == 1 and names_in(tmp_path) == ["2026-11/p"]
    assert run(tmp_path, "2026-12", [b], ["k"]).keep.all()


def test_a_name_that_is_made_up_is_no_id_of_another_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    texts = [document(rng) for _ in range(4)]
    for chunk in (1, 2, 4096):
        monkeypatch.setattr(_columns, "CHUNK", chunk)
        found = run(tmp_path / str(chunk), "a", texts, ["x", "x", "x#1", "x#1"])
        assert found.keep.all() and found.stored_before == 0
        assert not run(tmp_path / str(chunk), "b", texts, ["p", "q", "r", "s"]).keep.any()


def test_a_run_that_is_repeated_with_lower_scores_has_these(tmp_path: Path) -> None:
    rng = random.Random(6)
    a, b = document(rng), document(rng)
    run(tmp_path, "a", [a, b], ["p", "q"], keep=[9, 9])
    run(tmp_path, "a", [a, b], ["p", "q"], keep=[1, 9])
    found = run(tmp_path, "b", [a, b], ["p", "q"], keep=[5, 5])
    assert found.keep.tolist() == [True, False] and found.replaced == {0: ["a/p"]}


def test_kept_features_are_those_of_this_run_and_these_words(tmp_path: Path) -> None:
    rng = random.Random(3)
    texts = [" ".join(f"w{rng.randrange(10**6)}" for _ in range(60)) for _ in range(30)]
    options: dict[str, Any] = {"against": tmp_path / "db"}
    fpdb.dedup(texts, range(30), run="a", **options)
    size = (tmp_path / "db-features" / "lists").stat().st_size
    fpdb.dedup(texts, range(30), run="a", **options)
    assert (tmp_path / "db-features" / "lists").stat().st_size == size, "what is known is not written again"
    with pytest.raises(fpdb.InvalidArgumentError, match="features of pairs/1, not of pairs/1, 5 words"):
        fpdb.dedup(texts, range(30), run="b", ngram=5, **options)
    # Sketches alone need none.
    fpdb.dedup([texts[0], f"{texts[1]} more"], ["x", "y"], run="c", verify=False, **options)
    found = fpdb.dedup([f"{text} other" for text in texts[:2]], ["x", "y"], run="d", **options)
    assert found.earlier == {0: "a/0", 1: "a/1"} and found.estimated == 0
    path = tmp_path / "db-features" / "lists"
    lists = bytearray(path.read_bytes())
    lists[-1] ^= 1
    path.write_bytes(lists)
    with pytest.raises(fpdb.CorruptionError, match="lists: the checksum is wrong"):
        fpdb.dedup([f"{texts[29]} once"], ["z"], run="e", **options)


def test_a_run_that_failed_can_be_repeated_at_once(tmp_path: Path) -> None:
    rng = random.Random(5)
    texts = [document(rng) for _ in range(5)]
    options: dict[str, Any] = {"against": tmp_path / "db", "run": "a"}
    # The error keeps the frames of the call, and what they hold.
    with pytest.raises(fpdb.InvalidArgumentError) as failed:
        fpdb.dedup(texts, range(4), **options)
    assert fpdb.dedup(texts, range(5), **options).keep.all()
    assert failed.value is not None
