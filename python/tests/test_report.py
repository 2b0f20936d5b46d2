"""The report of a deduplication as a file of HTML."""

from __future__ import annotations

import html.parser
import json
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pytest
from fpdb_engine._report import Example, Quoting

TAGS = set(
    "html head meta title style body main h1 h2 section p table tr td th svg rect line text div b bdi mark br small".split()
)
HOSTILE = '</p></td><script>alert(1)</script><img src=x onerror="alert(2)">&amp;\u202e "quoted" \'single\' <b>bold'


class Parsed(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def texts(hostile: str) -> list[str]:
    rng = random.Random(4)
    words = [f"w{number}" for number in range(2000)]
    found: list[str] = []
    for number in range(300):
        own = rng.choices(words, k=100)
        found.append(" ".join(own))
        if number % 3 == 0:
            own[rng.randrange(100)] = hostile
            found.append(" ".join(own))
        if number % 30 == 7:
            found.append(f"{found[-1][:300]} {hostile} {' '.join(rng.choices(words, k=200))}")
    return found


def written(found: fpdb.Deduplicated, path: Path) -> str:
    found.report(path)
    return path.read_text(encoding="utf-8")


def test_no_text_becomes_markup_and_nothing_is_loaded(tmp_path: Path) -> None:
    found = fpdb.dedup(texts(HOSTILE), passages=True)
    assert found.dropped > 50 and found.quoting and len(found.shown) == 20
    found.earlier[3] = HOSTILE
    found.shown.append(Example(3, HOSTILE, 0.9, HOSTILE, "other", HOSTILE, HOSTILE))
    report = written(found, tmp_path / "report.html")
    parsed = Parsed(report)
    assert set(parsed.tags) <= TAGS and not parsed.open and HOSTILE in parsed.text
    assert not {name for name, _ in parsed.attributes} & {"src", "href", "onerror", "onload", "action"}
    assert not re.search(r"https?:|url\(|@import|<script", report) and "default-src 'none'" in report
    assert set(Parsed(found._repr_html_()).tags) <= TAGS


def test_texts_that_are_not_known_or_have_lone_surrogates_are_shown(tmp_path: Path) -> None:
    start, quote = "\ud800 \ud83d\ude00 before ", " ".join(f"w{number}" for number in range(60))
    broken = [quote, f"{start}{quote} {quote[::-1]} after \udfff", "one two three \ud800 four five", "one two three \ud800 four five"]
    found = fpdb.dedup(broken, passages=True)
    assert found.dropped == 1 and [it.row for it in found.quoting] == [1]
    report = written(found, tmp_path / "report.html")
    assert f"\ufffd \U0001f600 before <mark>{quote}</mark> {quote[::-1][:79]}" in report
    # An iterator's texts are gone, and nothing is marked.
    gone = fpdb.dedup(iter(texts("other")))
    gone.shown[0] = gone.shown[0]._replace(text="left alone")
    pairs = written(gone, tmp_path / "report.html").partition("Least similar pairs")[2]
    assert "left alone" in pairs and "<small>not known</small>" in pairs and "<b>" not in pairs


def test_lines_that_a_row_repeats_itself_are_named(tmp_path: Path) -> None:
    with (tmp_path / "in.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": it}) + "\n" for it in ("Home\nonce upon a time\nHome", "Home\nthe end"))
    found = fpdb.dedup_files(tmp_path / "in.jsonl", None, lines="mark")
    report = Parsed(written(found, tmp_path / "report.html")).text
    assert "also earlier in this row" in report and "also in row 0" in report


def test_a_report_says_what_the_result_says(tmp_path: Path) -> None:
    found = fpdb.dedup(texts("other"), passages=True)
    report = Parsed(written(found, tmp_path / "report.html")).text
    assert all(f"{name}{value}" in report for name, value in found.figures())
    for threshold in (0.8, 0.9, 0.98, 1):
        at = found.at(threshold)
        kept = len(at) - at.dropped
        assert f"{threshold:g}{kept:,}{at.dropped:,}{kept / len(at):.1%}" in report
    for example in found.shown:
        assert f"row {example.row} is like row {example.of}" in report and (example.text or "") in report
    spans = found.passages.spans(found.quoting[0].row) if found.passages is not None else []
    assert spans and found.quoting[0].text[spans[0].begin : spans[0].end][:100] in report
    bars = re.findall(r"<title>([\d.]+) to ([\d.]+): ([\d,]+)</title>", found._repr_html_())
    assert sum(int(count.replace(",", "")) for _, _, count in bars) == found.dropped
    # Files are read for the same texts.
    with (tmp_path / "in.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": it}) + "\n" for it in texts("other"))
    files = fpdb.dedup_files(tmp_path / "in.jsonl", None, passages="mark", min_words=50)
    assert [it.row for it in files.quoting] == [it.row for it in found.quoting]
    assert files.quoting[0].text == found.quoting[0].text and found.at(0.9).quoting == []


@pytest.mark.parametrize("rows", [0, 10, 1_000_000])
def test_a_report_is_small_for_any_number_of_rows(tmp_path: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    of = np.where(rng.random(rows) < 0.5, rng.integers(0, max(rows, 1), rows), -1)
    similarity = np.where(of >= 0, rng.uniform(0.8, 1, rows), np.nan).astype(np.float32)
    found: Any = fpdb.Deduplicated(keep=of < 0, duplicate_of=of, similarity=similarity, threshold=0.8)
    long = "long " * 100_000
    found.shown.extend(Example(row, row, 0.8, "a" * 240, "b" * 240) for row in range(min(rows, 20)))
    spans = [fpdb.Span(begin, begin + 5000, 0, 0, 5000) for begin in range(0, 400_000, 10_000)]
    found.quoting.extend(Quoting(row, long, spans) for row in range(min(rows, 10)))
    assert len(written(found, tmp_path / "report.html")) < 100_000


def test_a_browser_shows_it_on_a_narrow_screen(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    written(fpdb.dedup(texts(HOSTILE + "x" * 200), passages=True), tmp_path / "report.html")
    (tmp_path / "frame.html").write_text(
        "<iframe id=it src=report.html width=400 height=700 style='border:0'></iframe><p id=out></p><script>"
        "it.onload = () => { const root = it.contentDocument.documentElement; out.textContent ="
        " `width ${root.scrollWidth} of ${it.clientWidth}, ${it.contentDocument.querySelectorAll('rect').length} bars` }"
        "</script>",
        encoding="utf-8",
    )
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    command += ["--virtual-time-budget=5000", f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "frame.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    size = re.search(r"width (\d+) of (\d+), (\d+) bars", shown)
    assert size is not None, shown
    assert int(size[1]) <= int(size[2]) == 400 and int(size[3]) > 0
