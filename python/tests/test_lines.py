"""Lines and paragraphs that many texts have, and repetition within texts."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import fpdb_engine
import numpy as np
import pytest
from fpdb_engine import dedup_lines, repetition

pa = pytest.importorskip("pyarrow")


def corpus() -> list[str]:
    """Texts of lines that many of them have, with other case and punctuation."""
    some = random.Random(1)
    lines = ["Home | About", "Subscribe!", "日本語の本", "---", "née été", *[""] * 20, *(f"Line {n} of all" for n in range(20))]
    changes: list[Any] = [str, str.upper, lambda it: f"* {it}.", lambda it: f"{it}\r"]
    return ["\n".join(some.choice(changes)(some.choice(lines)) for _ in range(some.randrange(12))) for _ in range(300)]


def units_of(text: str, unit: str) -> list[str]:
    blank = r"(?:[\r\t ]*(?:\n|\Z))+"
    pattern = r".*?(?:\n|\Z)" if unit == "line" else rf"\A{blank}|.*?(?:\n{blank}|\Z)"
    return [it[0] for it in re.finditer(pattern, text, re.DOTALL)]


def words_of(unit: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-zà-ÿ0-9]+|[\u3040-\u9fff]", unit.lower()))


@pytest.mark.parametrize("unit", ["line", "paragraph"])
@pytest.mark.parametrize(("most", "min_words"), [(1, 1), (5, 1), (1, 3)])
def test_one_copy_stays_of_what_many_texts_have(unit: Any, most: int, min_words: int) -> None:
    texts = corpus()
    counts = Counter(words for text in texts for words in {words_of(it) for it in units_of(text, unit)})
    first: dict[tuple[str, ...], tuple[int, int, int]] = {}
    expected = []
    for row, text in enumerate(texts):
        end = 0
        for it in units_of(text, unit):
            begin, end, words = end, end + len(it.encode()), words_of(it)
            if words and len(words) >= min_words and counts[words] > most:
                place = first.setdefault(words, (row, begin, end))
                if place != (row, begin, end):
                    expected.append((row, begin, end, *place))
    # The first copy may be in another chunk.
    for column in (texts, pa.chunked_array([texts[:30], texts[30:31], texts[31:]])):
        found = dedup_lines(column, unit=unit, most=most, min_words=min_words)
        columns = (found.row, found.begin, found.end, found.source, found.source_begin, found.source_end)
        assert list(zip(*(column.tolist() for column in columns))) == expected
        assert found.lengths.tolist() == [len(text.encode()) for text in texts]
    assert len(expected) > 10
    for row, text in enumerate(texts):
        data = text.encode()
        for span in reversed(found.spans(row)):
            data = data[: span.begin] + data[span.end :]
        assert found.cut(row, text) == data.decode()


def test_rows_that_are_dropped_have_no_lines() -> None:
    found = dedup_lines(["a b", "a b\nc", "a b\n\ud800"], rows=[False, True, True])
    assert [(span.begin, span.source) for row in range(3) for span in found.spans(row)] == [(0, 1)]
    assert dedup_lines([]).spans(0) == []
    for options in ({"unit": "word"}, {"most": 0}, {"rows": [True]}):
        with pytest.raises(fpdb_engine.InvalidArgumentError):
            dedup_lines(["a"] * 2, **options)


def test_repetition_is_what_gopher_measures() -> None:
    texts = ["One line.\n\nOne line.\n\nAnother one\n", "spam " * 100, "", None, "Nothing is said twice here."]
    found = repetition(pa.array(texts))
    assert np.allclose(found.lines, [1 / 3, 0, 0, 0, 0]) and np.allclose(found.paragraphs, found.lines)
    assert np.allclose(found.line_bytes[0], 10 / 34) and np.allclose(found.paragraph_bytes[0], 11 / 34)
    assert found.top.shape == (5, 3) and found.repeated.shape == (5, 6)
    assert np.allclose(found.top[1], 499 / 500) and np.allclose(found.repeated[1], (499 - np.arange(5, 11)) / 500, atol=0.01)
    assert found.keep().tolist() == [False, False, True, True, True]
    assert len(repetition([]).lines) == 0
