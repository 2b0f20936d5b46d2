"""Results as HTML: parts for notebooks, and a whole document that a person looks at."""

from __future__ import annotations

import collections
import html
import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _columns

if TYPE_CHECKING:
    from ._passages import Span
    from ._report import Deduplicated, Example, Quoting

# Clusters, and thresholds, that a report lists.
_CLUSTERS, _THRESHOLDS = 20, 11
# Bars of a histogram.
_BARS = 50
# Characters of a text around a passage, of a passage, and passages of a text.
_AROUND, _PASSAGE, _PASSAGES = 80, 300, 5

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #68707c; --line: #d8dde3; --bar: #2f6fb3;
  --mark: #ffe08a; --only: #cfe4ff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --paper: #15181c; --faint: #9aa3ae; --line: #333a43;
  --bar: #6aa7e8; --mark: #6b5400; --only: #17406e; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p.about { color: var(--faint); max-width: 44rem; }
table { border-collapse: collapse; max-width: 100%; }
td, th { padding: .2rem 1rem .2rem 0; text-align: left; border-bottom: 1px solid var(--line); overflow-wrap: anywhere;
  vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
svg { display: block; width: 100%; max-width: 44rem; height: auto; }
.pair { border-top: 1px solid var(--line); padding: .6rem 0; }
.texts { display: flex; gap: 1.5rem; } .texts p { flex: 1 1 0; margin: .3rem 0; min-width: 0; overflow-wrap: anywhere; }
.texts b { background: var(--only); font-weight: inherit; } mark { background: var(--mark); color: inherit; }
@media (max-width: 40rem) { .texts { display: block; } }
"""


def document(found: Deduplicated, title: str) -> str:
    """Returns a document without anything that is loaded from elsewhere. No text becomes markup."""
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        _table((name, value) for name, value in found.figures()),
        _similarities(found),
        _thresholds(found),
        _clusters(found),
        _pairs(found),
        _passages(found),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def notebook(found: Deduplicated) -> str:
    """Returns the figures, the histogram and a few examples."""
    pairs = "".join(pair(example) for example in found.examples())
    return _table(found.figures()) + histogram(found) + (f"<table>{pairs}</table>" if pairs else "")


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = (f"<tr><td>{html.escape(name)}</td><td class=number>{html.escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{''.join(lines)}</table>"


def _section(title: str, about: str, *parts: str) -> str:
    return f"<section><h2>{title}</h2><p class=about>{about}</p>{''.join(parts)}</section>"


def histogram(found: Deduplicated) -> str:
    """Returns the number of dropped rows by their similarity as an image; nothing if no row was dropped.

    >>> histogram(dedup(["a b c d e f g"] * 3)).count("<rect")
    1
    """
    similarity = found.similarity[~np.isnan(found.similarity)].astype(np.float64)
    if not len(similarity):
        return ""
    threshold = found.threshold
    low = math.floor(min(float(similarity.min()), threshold) * 20 - 1e-6) / 20
    low = min(max(low, 0.0), 0.95)
    counts, edges = np.histogram(similarity, _BARS, (low, 1.0))
    width, height, margin, most = 480, 160, 20, int(counts.max())

    def x(value: float) -> float:
        return margin + (width - 2 * margin) * (value - low) / (1 - low)

    bars = "".join(
        f'<rect x="{x(begin):.1f}" y="{height - 140 * count / most:.1f}" width="{max(x(end) - x(begin) - 1, 1):.1f}" '
        f'height="{140 * count / most:.1f}" fill="var(--bar, #2f6fb3)"><title>{begin:.3f} to {end:.3f}: {count:,}</title></rect>'
        for count, begin, end in zip(counts.tolist(), edges.tolist(), edges[1:].tolist())
        if count
    )
    ticks = "".join(
        f'<text x="{x(value):.1f}" y="{height + 16}" text-anchor="middle" font-size="13" fill="currentColor">{value:.2f}</text>'
        for value in np.linspace(low, 1, 6).tolist()
    )
    at = x(threshold)
    line = f'<line x1="{at:.1f}" x2="{at:.1f}" y1="6" y2="{height}" stroke="currentColor" stroke-dasharray="4 3"/>'
    label = f"dropped rows by similarity; at most {most:,} in a bar; the threshold is {threshold:g}"
    return (
        f'<svg viewBox="0 0 {width} {height + 24}" width="{width}" role="img" aria-label="{label}"><title>{label}</title>'
        f'{bars}<line x1="{margin}" x2="{width - margin}" y1="{height}" y2="{height}" stroke="currentColor"/>{line}{ticks}</svg>'
    )


def _similarities(found: Deduplicated) -> str:
    image = histogram(found)
    about = f"The similarity of each dropped row to what it is like. The dashed line is the threshold, {found.threshold:g}."
    return image and _section("Similarities of dropped rows", about, image)


def _thresholds(found: Deduplicated) -> str:
    """Lists how many rows stay at higher thresholds."""
    similarity = found.similarity[~np.isnan(found.similarity)]
    if not len(similarity) or found.threshold >= 1:
        return ""
    kept = len(found) - found.dropped
    thresholds = np.unique([found.threshold, *np.linspace(found.threshold, 1, _THRESHOLDS)[1:].round(3)])
    rows = []
    for threshold in thresholds.tolist():
        # Estimates may be below the threshold that decided.
        back = np.count_nonzero(similarity < np.float32(threshold)) if threshold > found.threshold else 0
        stay = kept + int(back)
        cells = (f"{threshold:g}", f"{stay:,}", f"{len(found) - stay:,}", f"{stay / max(len(found), 1):.1%}")
        rows.append("<tr>" + "".join(f"<td class=number>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th class=number>{name}</th>" for name in ("threshold", "kept", "dropped", "share kept"))
    about = "How many rows would stay at a higher threshold, if the dropped rows that are less similar than that came back."
    return _section("Rows by threshold", about, f"<table><tr>{head}</tr>{''.join(rows)}</table>")


def _clusters(found: Deduplicated) -> str:
    dropped = found.duplicate_of >= 0
    rows, counts = np.unique(found.duplicate_of[dropped], return_counts=True)
    earlier = collections.Counter(found.earlier.values())
    largest = np.argsort(-counts, kind="stable")[:_CLUSTERS]
    sizes = [(count, f"row {row:,}") for row, count in zip(rows[largest].tolist(), counts[largest].tolist())]
    sizes += [(count, name) for name, count in earlier.most_common(_CLUSTERS)]
    if not sizes:
        return ""
    sizes.sort(key=lambda it: -it[0])
    lines = "".join(
        f"<tr><td>{html.escape(name)}</td><td class=number>{count:,}</td></tr>" for count, name in sizes[:_CLUSTERS]
    )
    about = "Kept rows and documents of earlier runs, and how many dropped rows are like each."
    return _section("Largest clusters", about, f"<table><tr><th>kept</th><th class=number>dropped</th></tr>{lines}</table>")


def _pairs(found: Deduplicated) -> str:
    if not found.shown:
        return ""
    pairs = "".join(
        f'<div class=pair>{_about(example)}<div class=texts><p dir="auto">{a}</p><p dir="auto">{b}</p></div></div>'
        for example in found.shown
        for a, b in [marked(example.text, example.other)]
    )
    about = "Dropped rows on the left, and what each is like. Words that only one of the two parts has are marked."
    return _section("Least similar pairs", about, pairs)


def _about(example: Example) -> str:
    of = _named(example.of, example.of_id) if isinstance(example.of, int) else html.escape(example.of)
    return f"{_named(example.row, example.id)} is like {of}<br>similarity {example.similarity:.2f}"


def _named(row: int, id: str | None) -> str:
    return f"row {row:,}" + ("" if id is None else f" ({html.escape(id)})")


def pair(example: Example) -> str:
    """Returns a row of a table."""
    a, b = marked(example.text, example.other)
    cells = "".join(f'<td style="text-align:left">{text}</td>' for text in (a, b))
    return f"<tr><td>{_about(example)}</td>{cells}</tr>"


def marked(a: str | None, b: str | None) -> tuple[str, str]:
    """Returns both texts as HTML, with the words in bold that only one of them has, if both are known.

    >>> marked("one <two> three", "one two four")
    ('one &lt;two&gt; <b>three</b>', 'one two <b>four</b>')
    """
    if a is None or b is None:
        return tuple("<small>not known</small>" if text is None else html.escape(text) for text in (a, b))  # type: ignore[return-value]
    words = [set(re.findall(r"\w+", text.lower())) for text in (a, b)]

    def mark(text: str, others: set[str]) -> str:
        parts = re.split(r"(\w+)", text)
        is_other = [part[:1].isalnum() and part.lower() not in others for part in parts]
        return "".join(
            f"<b>{html.escape(part)}</b>" if other else html.escape(part) for part, other in zip(parts, is_other)
        )

    return mark(a, words[1]), mark(b, words[0])


def _passages(found: Deduplicated) -> str:
    if not found.quoting:
        return ""
    about = "The rows of which the most stands elsewhere, too. This is marked."
    return _section("Repeated text", about, *(_quoting(it, found.keep) for it in found.quoting))


def _quoting(quoting: Quoting, keep: Any) -> str:
    """Returns what a row repeats, with a little of the text around each passage or line."""
    # Spans are places in what was compared.
    data = (_columns.without_surrogates([quoting.text])[0][0] or "").encode()
    spans = _apart(quoting.spans)
    parts = []
    for begin, end, source in spans[:_PASSAGES]:
        before, passage, after = (_decoded(data, *place) for place in ((0, begin), (begin, end), (end, len(data))))
        if len(passage) > _PASSAGE:
            passage = f"{passage[: _PASSAGE // 2]} ... {passage[-_PASSAGE // 2 :]}"
        around = f"{'...' if len(before) > _AROUND else ''}{before[-_AROUND:]}", after[:_AROUND] + "..." * (len(after) > _AROUND)
        shown = f"{html.escape(around[0])}<mark>{html.escape(passage)}</mark>{html.escape(around[1])}"
        row = source - quoting.earlier
        where = "earlier in this row" if row == quoting.row else f"in row {row:,}" if row >= 0 else "in an earlier text"
        parts.append(f'<p dir="auto">{shown}<br><small>also {where}</small></p>')
    more = f"<p>and {len(spans) - _PASSAGES:,} more</p>" if len(spans) > _PASSAGES else ""
    dropped = "" if keep[quoting.row] else ", which is dropped"
    return f"<div class=pair>row {quoting.row:,}{dropped}{''.join(parts)}{more}</div>"


def _apart(spans: Iterable[Span]) -> list[tuple[int, int, int]]:
    """Joins spans that overlap: the begin, the end and the first source of each."""
    found: list[tuple[int, int, int]] = []
    for span in spans:
        if found and span.begin < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], span.end), found[-1][2])
        else:
            found.append((span.begin, span.end, span.source))
    return found


def _decoded(data: Any, begin: int, end: int) -> str:
    return str(data[begin:end].decode(errors="replace"))
