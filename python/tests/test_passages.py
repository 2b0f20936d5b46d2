"""Passages that stand in an earlier text, too."""

from __future__ import annotations

import random
import re
from functools import partial
from typing import Any

import fpdb_engine
import numpy as np
import pytest
from fpdb_engine import dedup, dedup_contained, dedup_lines, dedup_passages

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


def of_script(script: str, number: int, some: random.Random) -> list[str]:
    """Returns words that occur once: with spaces, of Han, or both."""
    latin = [f"w{some.randrange(10**9)} " for _ in range(number)]
    han = [chr(some.randrange(0x4E00, 0x9FA6)) + chr(some.randrange(0x4E00, 0x9FA6)) for _ in range(number)]
    return {"latin": latin, "han": han, "both": [it[n % 2] for n, it in enumerate(zip(latin, han))]}[script]


@pytest.mark.parametrize("script", ["latin", "han", "both"])
@pytest.mark.parametrize("as_column", [list, pa.array])
def test_a_quote_of_which_words_were_changed_is_one_span_with_gaps(script: str, as_column: Any) -> None:
    some = random.Random(2)
    article = of_script(script, 400, some)
    quote = list(article)
    # The first one is far from the others; the quote begins before and ends after them.
    changed = {60: "other ", 200: "", 230: quote[230] + "more and more ", 280: "one two three "}
    for place, word in changed.items():
        quote[place] = word
    before, after = ("".join(of_script(script, 90, some)) for _ in range(2))
    page = before + "".join(quote[20:350]) + after
    texts = ["Nothing. ", "".join(article), page, before[:60]]
    found = dedup_passages(as_column(texts), gaps=5, seed=7)
    [span] = found.spans(2)
    begin = len(before.encode())
    end = begin + len("".join(quote[20:350]).rstrip().encode())
    assert (span.begin, span.end, span.source) == (begin, end, 1)
    source = texts[1].encode()[span.source_begin : span.source_end].decode()
    assert source.strip() == "".join(article[20:350]).strip()
    changes = [page.encode()[begin:end].decode().split() for begin, end in found.changes(2)]
    assert changes == [["other"], [], ["more", "and", "more"], ["one", "two", "three"]]
    assert found.repeated().tolist() == [0, 0, end - begin, 0] and found.changes(1) == []
    # Without gaps there are runs.
    exact = dedup_passages(texts)
    assert sum(span.end - span.begin for span in exact.spans(2)) < 0.9 * (end - begin)
    assert len(exact.spans(2)) > 1 and len(exact.changes(2)) == 0


def test_gaps_lose_no_span_and_add_none_that_has_too_few_words() -> None:
    some, texts = random.Random(3), corpus()
    for row in range(20, 60):
        quote = (texts[row - 20] or "").split()
        texts[row] = " ".join([texts[row] or "", *(f"e{row}" if some.random() < 0.05 else it for it in quote)])
    exact, found = (dedup_passages(texts, min_words=14, gaps=gaps) for gaps in (0, 3))
    for row, text in enumerate(texts):
        spans = found.spans(row)
        assert spans == sorted(spans)
        for span in exact.spans(row):
            assert any(it.begin <= span.begin and span.end <= it.end for it in spans)
        for span in spans:
            words = {}
            for name, number, begin, end in (
                ("row", row, span.begin, span.end),
                ("source", span.source, span.source_begin, span.source_end),
            ):
                whole = (texts[number] or "").encode()[begin:end].decode()
                words[name] = re.findall(r"\w+", whole.lower())
            assert span.source < row
            assert len(set(words["row"]) & set(words["source"])) >= 14
            inner = [it for it in found.changes(row) if span.begin <= it[0] and it[1] <= span.end]
            if not inner:
                assert words["row"] == words["source"]
    assert len(found.changed[0]) > 5 and len(found) > 15


def test_texts_that_repeat_themselves_take_linear_time_with_gaps() -> None:
    # Each text has all windows of all others, and each window many times.
    texts = [f"buy now or never {'again ' * (row % 3)}" * 5000 for row in range(60)]
    found = dedup_passages(texts, gaps=5, seed=7)
    assert len(found) < 6000 and (found.repeated()[3:] > 0.99 * found.lengths[3:]).all()


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(fpdb_engine.InvalidArgumentError, match="14 to 1000"):
        dedup_passages(["a"], min_words=5)
    with pytest.raises(fpdb_engine.InvalidArgumentError, match="read only once"):
        dedup_passages(iter(["a"]))
    with pytest.raises(TypeError, match="row 1: a text must be a str"):
        dedup_passages(["a", 1])


@pytest.mark.parametrize("search", [partial(dedup_passages, min_words=14, gaps=5), dedup_contained], ids=["gaps", "contained"])
def test_progress_counts_the_texts_that_are_read_and_then_compared(search: Any) -> None:
    text = " ".join(f"word{word}" for word in range(200))
    texts = [f"{row} {text}" for row in range(100)]
    calls: list[tuple[int, int]] = []
    search(texts, progress=lambda done, total: calls.append((done, total)), threads=1)
    passes = 5 if search is not dedup_contained else 3
    assert {total for _, total in calls} == {passes * 100}
    assert calls == sorted(calls) and calls[-1][0] == passes * 100 and (passes - 1) * 100 in dict(calls)


def test_an_exception_of_progress_ends_the_search() -> None:
    def end(done: int, total: int | None) -> None:
        assert (done, total) == (2, 4)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dedup_passages(["a", "b"], progress=end)


def test_passages_of_an_earlier_collection_are_found_and_its_rows_have_none() -> None:
    def run(begin: int, end: int) -> str:
        return " ".join(f"word{n}" for n in range(begin, end))

    earlier = [run(0, 200), run(1000, 1200), run(0, 200)]
    changed = run(1050, 1150).replace("word1120", "another")
    texts = [run(50, 100), f"{run(5000, 5060)} {run(1100, 1160)}", run(5000, 5060), changed]
    for given in (earlier, pa.chunked_array([earlier[:1], earlier[1:]])):
        found = dedup_passages(texts, against=given)
        assert found.earlier == 3 and len(found.lengths) == 4
        assert [(span.source, span.begin) for row in range(3) for span in found.spans(row)] == [
            (0, 0),
            (1, len(run(5000, 5060)) + 1),
            (4, 0),
        ]
        [quote] = dedup_passages(texts, against=given, gaps=5, seed=7).spans(3)
        assert (quote.source, quote.begin, quote.end) == (1, 0, len(changed))
    with pytest.raises(fpdb_engine.InvalidArgumentError, match="iterator"):
        dedup_passages(texts, against=iter(earlier))


def thue_morse(count: int, x: str, y: str) -> str:
    return " ".join(y if bin(i).count("1") % 2 else x for i in range(count))


@pytest.mark.parametrize(("x", "y"), [("0", "1"), ("kalogadej", "retidex")])
def test_texts_that_were_made_to_collide_are_not_equal(x: str, y: str) -> None:
    # Their hashes are equal modulo 2^64, whatever the base is.
    a, b = thue_morse(1024, x, y), thue_morse(1024, y, x)
    assert len(dedup_lines([a, b])) == 0
    assert dedup_contained([a, b]).keep.tolist() == [True, True]
    common = " ".join(f"w{n}" for n in range(18))
    texts = [f"{common} {thue_morse(32, *pair)}" for pair in ((x, y), (y, x))]
    assert len(dedup_passages(texts)) == 0


def test_a_seed_gives_the_same_quotes_each_time() -> None:
    rng = random.Random(6)
    words = [f"w{rng.randrange(10**6)}" for _ in range(3000)]
    changed = [f"x{n}" if rng.random() < 0.06 else word for n, word in enumerate(words)]
    texts = [" ".join(words), " ".join(changed)]

    def find(seed: int) -> Any:
        found = dedup_passages(texts, gaps=3, seed=seed)
        return [found.row, found.begin, found.end]

    assert np.array_equal(find(7), find(7))
    assert any(not np.array_equal(find(7), find(seed)) for seed in range(20))


SENTENCE = "The mills were closed in spring because the new owners had found cheaper coal in the north of it"
HINDI = "यह पुरानी मिल वसंत में बंद हो गई थी क्योंकि नए मालिकों को उत्तर में सस्ता कोयला मिल गया था"
URDU = "پرانی چکی بہار میں بند ہو گئی تھی کیونکہ نئے مالکوں کو شمال میں سستا کوئلہ مل گیا تھا اور"


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (f"{HINDI}।", f"पहले की बात। {HINDI}। बाद की बात।", "पहले की बात। बाद की बात।"),
        (f"{URDU}۔", f"پہلے۔ {URDU}۔ بعد میں۔", "پہلے۔ بعد میں۔"),
        (f"{SENTENCE}.", f"Before it. _{SENTENCE}._ After it.", "Before it. After it."),
        (f"{SENTENCE}.", f"Before it. **{SENTENCE}.** After it.", "Before it. After it."),
        (SENTENCE, f"Before\r\n{SENTENCE}\r\nAfter", "Before\r\nAfter"),
        (SENTENCE, f"1. Before\n2. {SENTENCE}\n3. After", "1. Before\n3. After"),
        (f"{SENTENCE}.", f"\ud83d\ude00 é\udc80 Before it. {SENTENCE}. After it.", "\ud83d\ude00 é\udc80 Before it. After it."),
    ],
)
def test_whole_sentences_of_every_script_are_cut(source: str, text: str, expected: str) -> None:
    found = dedup_passages([source, text], min_words=15)
    assert found.cut(1, text) == expected and found.cut(0, source) == source


def test_rows_gaps_and_numbers_of_rows_that_make_no_sense_are_refused() -> None:
    texts = [SENTENCE, SENTENCE]
    with pytest.raises(TypeError, match="rows: expected a flag for each text, True or False, not values of int64"):
        dedup_passages(texts, rows=[0, 1])
    for gaps in (-1, 1.5, 10**9):
        with pytest.raises(fpdb_engine.InvalidArgumentError, match="gaps .*: expected a number of words from 0 to 1000"):
            dedup_passages(texts, gaps=gaps)  # type: ignore[arg-type]
    found = dedup_passages(texts, min_words=15)
    for method in (found.spans, found.changes, lambda row: found.cut(row, SENTENCE)):
        with pytest.raises(IndexError, match="row -1: rows are counted from 0 on"):
            method(-1)
