"""Passages that stand in an earlier text, too."""

from __future__ import annotations

import random
import re
from typing import Any

import fpdb_engine
import numpy as np
import pytest
from fpdb_engine import dedup, dedup_passages

pa = pytest.importorskip("pyarrow")


def words(number: int, seed: int) -> list[str]:
    some = random.Random(seed)
    return [f"word{some.randrange(10**6)}" for _ in range(number)]


def corpus() -> list[str | None]:
    """Texts that quote each other: 14 words and more, and fewer."""
    some = random.Random(1)
    texts: list[list[str]] = []
    for seed in range(60):
        text = words(some.randrange(80), seed)
        for _ in range(some.randrange(4) if texts else 0):
            other = some.choice(texts)
            begin = some.randrange(len(other) + 1)
            text += other[begin : begin + some.randrange(40)] + words(some.randrange(5), some.randrange(10**6))
        texts.append(text)
    joined: list[str | None] = [some.choice([" ", ", ", "\n — "]).join(text).title() for text in texts]
    return [*joined, None, "", "née ß 日本"]


def by_brute_force(texts: list[str | None], min_words: int) -> list[set[int]]:
    """Returns which words of each text are in a run that an earlier text has."""
    seen: dict[tuple[str, ...], int] = {}
    found = []
    for row, text in enumerate(texts):
        cut = re.findall(r"\w+", (text or "").lower())
        runs = {begin: tuple(cut[begin : begin + min_words]) for begin in range(len(cut) - min_words + 1)}
        repeated = [begin for begin, run in runs.items() if seen.setdefault(run, row) < row]
        found.append({word for begin in repeated for word in range(begin, begin + min_words)})
    return found


@pytest.mark.parametrize("min_words", [14, 20])
def test_spans_cover_exactly_the_words_of_runs_that_an_earlier_text_has(min_words: int) -> None:
    texts = corpus()
    found = dedup_passages(texts, min_words=min_words)
    for row, expected in enumerate(by_brute_force(texts, min_words)):
        text = (texts[row] or "").encode()
        covered: set[int] = set()
        for span in found.spans(row):
            quote, source = text[span.begin : span.end], (texts[span.source] or "").encode()
            other = source[span.source_begin : span.source_end]
            assert span.source < row
            quoted = re.findall(r"\w+", quote.decode().lower())
            assert quoted == re.findall(r"\w+", other.decode().lower())
            first = len(re.findall(r"\w+", text[: span.begin].decode()))
            covered |= set(range(first, first + len(quoted)))
        assert covered == expected
    assert len(found) > 15


@pytest.mark.parametrize(
    "make",
    [
        lambda texts: np.array(texts, dtype=object),
        pa.array,
        lambda texts: pa.chunked_array([texts[:7], texts[7:]], pa.large_string()),
        lambda texts: pa.table({"text": pa.array(texts).cast(pa.string_view())})["text"],
    ],
)
def test_spans_are_the_same_for_all_kinds_of_columns_memory_and_threads(make: Any) -> None:
    texts = corpus()
    expected = dedup_passages(texts, min_words=14)
    found = dedup_passages(make(texts), min_words=14, memory=0, threads=1)
    for row in range(len(texts)):
        assert found.spans(row) == expected.spans(row)
    assert found.lengths.tolist() == [len((text or "").encode()) for text in texts]


def test_repeated_counts_each_byte_once_and_keep_drops_rows_with_little_else() -> None:
    texts = corpus()
    found = dedup_passages(texts, min_words=14)
    for row, repeated in enumerate(found.repeated().tolist()):
        assert repeated == len({at for span in found.spans(row) for at in range(span.begin, span.end)})
    for share in (0.0, 0.4, 1.0):
        left = (found.lengths - found.repeated()) / np.maximum(found.lengths, 1)
        assert found.keep(share).tolist() == ((left >= share) | (found.lengths == 0)).tolist()
    with pytest.raises(fpdb_engine.InvalidArgumentError, match="min_left 2"):
        found.keep(2)


def test_passages_of_rows_that_are_dropped_are_not_looked_for() -> None:
    text = " ".join(words(60, 1))
    texts = [text, text.upper(), f"{text} and {' '.join(words(80, 2))}"]
    alike = dedup(texts)
    assert alike.keep.tolist() == [True, False, True]
    for column in (texts, pa.array(texts)):
        found = dedup_passages(column, rows=alike.keep)
        assert found.row.tolist() == [2]
        assert found.of_source(0).tolist() == [2]
        assert found.lengths.tolist() == [len(texts[0]), 0, len(texts[2])]
    with pytest.raises(fpdb_engine.InvalidArgumentError, match="expected 3 flags"):
        dedup_passages(texts, rows=[True])


def test_cut_removes_whole_sentences_and_lines() -> None:
    quote = " ".join(words(12, 1)) + ". " + " ".join(words(30, 2)).capitalize() + "!"
    table = "| a | " + " ".join(words(20, 3)) + " | b |\n"
    texts = [
        f"Erste Überschrift. {quote} Ende.\n{table}",
        f"Vor {quote} Nach…\n",
        f"« {quote} » Ünd mehr.\n{table}",
        f"{table.strip()} c |\n",
        "\ud800 " + quote,
    ]
    found = dedup_passages(texts, min_words=14)
    cut = [found.cut(row, text) for row, text in enumerate(texts)]
    first = quote.split(". ")[0]
    # A sentence that begins before the passage stays, and a row of a table with another cell.
    assert cut == [texts[0], f"Vor {first}. Nach…\n", "» Ünd mehr.\n", texts[3], ""]


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(fpdb_engine.InvalidArgumentError, match="14 to 1000"):
        dedup_passages(["a"], min_words=5)
    with pytest.raises(fpdb_engine.InvalidArgumentError, match="read only once"):
        dedup_passages(iter(["a"]))
    with pytest.raises(TypeError, match="row 1: a text must be a str"):
        dedup_passages(["a", 1])


def test_an_exception_of_progress_ends_the_search() -> None:
    def end(done: int, total: int | None) -> None:
        assert (done, total) == (2, 4)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dedup_passages(["a", "b"], progress=end)
