"""The picture of docs/design.md: the parts of fpdb, and the way of a query through them."""

from xml.sax.saxutils import escape

from .drawing import WIDTH, style, words

HEIGHT = 756
TITLE = "The parts, and the way of a query"
# Boxes: left, top, width, height, what is in the first line, and what is in the second.
BOXES = (
    (20, 56, 112, 44, "tool", ""),
    (142, 56, 112, 44, "Python", ""),
    (264, 56, 112, 44, "server", ""),
    (386, 56, 112, 44, "C", ""),
    (508, 56, 112, 44, "Spark", ""),
    (20, 116, 190, 66, "fpdb-web", "page to text"),
    (225, 116, 190, 66, "fpdb-text", "text to sketch"),
    (430, 116, 190, 66, "fpdb-dedup", "exact verdicts"),
    (36, 240, 270, 66, "db", "snapshots, writes"),
    (334, 240, 270, 66, "passages", "what texts repeat"),
    (36, 322, 270, 66, "query", "plan, then lookups"),
    (334, 322, 270, 66, "compaction, merge", "upkeep"),
    (36, 404, 270, 66, "log, memtable", "recent entries"),
    (334, 404, 270, 66, "segment", "all others, sorted"),
    (36, 486, 180, 66, "tables", "of fingerprints"),
    (230, 486, 180, 66, "bands", "of sketches"),
    (424, 486, 180, 66, "documents", "names, stamps"),
    (36, 568, 568, 44, "storage: files, checksums, pages in memory", ""),
)
ENGINE = (20, 198, 600, 430)
# The steps of a query: where each is marked, and what happens there.
STEPS = (
    (210, 116, "the text of a page"),
    (415, 116, "its fingerprint or sketch"),
    (306, 240, "a snapshot of the sources"),
    (306, 322, "a plan: which prefixes or bands"),
    (306, 404, "recent entries"),
    (216, 486, "filter, directory, one block"),
    (604, 486, "ids and names of matches"),
    (620, 116, "compared by all features"),
)


def svg():
    """The picture, which is drawn from what is above."""
    steps = [f"{number} {text}" for number, (_, _, text) in enumerate(STEPS, 1)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(TITLE)}</title>',
        f'<desc id="description">{escape(description(steps))}</desc>',
        f"<style>{style()}.box {{ fill: none; stroke-width: 2 }}\n.small {{ font-size: 17px }}\n"
        ".number { font-size: 17px; font-weight: 600; fill: #ffffff }\n</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        words(20, 36, TITLE, kind="title"),
        box(*ENGINE, 4),
        words(36, 226, "fpdb, the engine"),
    ]
    for left, top, width, height, name, about in BOXES:
        parts.append(box(left, top, width, height, 0))
        parts.append(words(left + width / 2, top + 29, name, "middle"))
        if about:
            parts.append(words(left + width / 2, top + 53, about, "middle", "small"))
    for number, (x, y, _) in enumerate(STEPS, 1):
        parts.append(f'<circle class="fill1" cx="{x - 14}" cy="{y + 4}" r="14"/>')
        parts.append(words(x - 14, y + 10, str(number), "middle", "number"))
    half = len(steps) // 2
    for place, step in enumerate(steps):
        column, row = divmod(place, half)
        parts.append(words(20 + 300 * column, 660 + 26 * row, step, kind="small"))
    return "\n".join((*parts, "</svg>\n"))


def box(left, top, width, height, series):
    return f'<rect class="box stroke{series}" x="{left}" y="{top}" width="{width}" height="{height}" rx="6"/>'


def description(steps):
    names = ", ".join(f"{name} ({about})" if about else name for *_, name, about in BOXES)
    return f"From top to bottom: {names}. The way of a query: {', '.join(steps)}."
