"""The pictures of docs/benchmarks.md and docs/design.md. `tools/figures --pictures` draws them, those of figures from the
tables of the former."""

import re

from . import parts
from .document import Missing, number, printed_tables, row_of, tables
from .drawing import GREY, Axis, Picture

# MinHash as datatrove does it by default, and as the table of programs has it: bands of so many values each.
BANDS, ROWS = 14, 8
# A column of the tables that compare whole programs on copies of texts.
FOUND = "found at J = .7 to .8, .8 to .9, .9 to 1"


def draw(text):
    """The pictures of a document, by their file names."""
    return {"query-time.svg": query_time(text).svg(), "block-size.svg": block_size(text).svg(),
            "similarity.svg": similarity(text).svg(), "cost.svg": cost(text).svg(), "parts.svg": parts.svg()}


def query_time(text):
    peers = (("fpdb half-2", "fpdb"), ("mih-rs", "mih-rs"), ("lmdb", "LMDB"), ("gaoya", "LSH in memory (gaoya)"))
    times = {name: query_times(text, peer) for peer, name in peers}
    picture = Picture(
        "Time of a query, by the number of entries", described("Median microseconds per query", times, power_of_two),
        Axis("entries: random fingerprints of 64 bits, k = 3", 2**15.6, 2**23.4,
             [(2**exponent, f"2^{exponent}") for exponent in (16, 18, 20, 22)], is_log=True),
        Axis("microseconds, median", 0.14, 250, [(value, f"{value}") for value in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)],
             is_log=True),
        right=120)
    for series, (name, points) in enumerate(times.items()):
        picture.line(series, points)
        picture.points(series, points)
        label_end(picture, series, name, points)
    return picture


def query_times(text, peer):
    """The number of entries and the median of each comparison on random fingerprints in which a program took part."""
    points = []
    for before, rows in tables(text, "Comparison with other programs", "peer", "p50 us"):
        caption = re.fullmatch(r"(\d+) uniform fingerprints, k = 3\b.*", before.strip().splitlines()[-1])
        points += [(int(caption[1]), number(row["p50 us"])) for row in rows if caption and row["peer"] == peer]
    if not points:
        raise Missing(f"no comparison on uniform fingerprints at k = 3 has the peer `{peer}`")
    return sorted(points)


def label_end(picture, series, name, points):
    """Names a series right of its last point, or above its only one, where no other line crosses the name."""
    text = f"{name} {rounded(points[-1][1])}"
    if len(points) == 1:
        picture.label(series, points[0], text, dx=0, dy=-15, anchor="middle")
    else:
        picture.label(series, points[-1], text)


def block_size(text):
    sizes = {}
    for caption, rows in printed_tables(text, "Ratios", "code", "bits"):
        bits = {row["code"]: number(row["bits"]) for row in rows}
        blocks = [(int(size[1]), value / 8) for code, value in bits.items()
                  if (size := re.fullmatch(r"blocks of (\d+) B", code))]
        sizes[collection(caption)] = blocks, number(row_of(rows, "code", "entropy bound")["bits"]) / 8
    # Curves from top to bottom.
    sizes = dict(sorted(sizes.items(), key=lambda item: -item[1][1]))
    curves = {name: blocks for name, (blocks, _) in sizes.items()}
    bounds = ", ".join(f"{name} {bound:.2f}" for name, (_, bound) in sizes.items())
    ticks = [size for size, _ in next(iter(curves.values()))]
    picture = Picture(
        "A table's size, by the size of its blocks",
        described("Bytes per fingerprint in one table", curves, str) + f" Entropy bounds: {bounds}. Raw: 8 bytes.",
        Axis("bytes of a block (default 128)", ticks[0] * 0.85, ticks[-1] * 1.15, [(size, str(size)) for size in ticks],
             is_log=True),
        Axis("bytes per fingerprint; dashed: entropy bound", 3.8, 8.2, [(size, str(size)) for size in range(4, 9)]),
        left=44, right=166)
    for series, (name, (blocks, bound)) in enumerate(sizes.items()):
        picture.line(series, [(ticks[0], bound), (ticks[-1], bound)], is_dashed=True)
        picture.line(series, blocks)
        picture.points(series, blocks)
        picture.label(series, blocks[-1], name)
    picture.line(GREY, [(ticks[0], 8), (ticks[-1], 8)])
    picture.label(GREY, (ticks[-1], 8), "raw")
    return picture


def collection(caption):
    """A short name for the fingerprints that a printed table is about."""
    found = re.match(r"(\d+) fingerprints of 64 bits, (random|list)", caption)
    if not found:
        raise Missing(f"`{caption}` does not say how many fingerprints there are")
    count = int(found[1])
    if found[2] == "list":
        return f"{count:,} real"
    return f"{power_of_two(count)} random" if count & (count - 1) == 0 else f"{count / 1e9:.0f} x 10^9"


def similarity(text):
    column = "found at .71, .75, .8, .9"
    _, rows = tables(text, "Search by similarity", "n", "bands", column)[0]
    points = list(zip((0.71, 0.75, 0.8, 0.9), (float(share) for share in rows[-1][column].split(","))))
    curve = [(at / 100, 1 - (1 - (at / 100) ** ROWS) ** BANDS) for at in range(50, 101)]
    name = f"MinHash, {BANDS} bands of {ROWS}"
    picture = Picture(
        "Share of the pairs found, by similarity",
        described("Share found", {"fpdb at 0.8": points, f"{name} (computed)": curve[::10]}, lambda x: f"{x:.2f}"),
        Axis("Jaccard similarity of a pair", 0.5, 1, [(at / 10, f".{at}" if at < 10 else "1") for at in range(5, 11)]),
        Axis("of pairs that are so similar", 0, 1, [(share / 4, f"{share * 25} %") for share in range(5)]), left=88)
    picture.line(1, curve)
    picture.line(0, points, is_dashed=True)
    picture.points(0, points)
    picture.label(1, curve[27], name, dx=-16, anchor="end")
    picture.label(0, (0.8, 0.5), "fpdb, similarity 0.8", dx=4)
    return picture


def cost(text):
    measured, published = measured_costs(text), published_costs(text)
    costs = measured | published
    low, high = 10, 100_000
    picture = Picture(
        "To remove the near-duplicates of 10^6 texts",
        "Processor seconds per million texts. Measured here: " + listed(measured) + ". Published by others, of larger texts: "
        + listed(published) + ".",
        Axis("", low, high, [(10**power, f"{10**power:,}") for power in (1, 3, 5)], is_log=True),
        Axis("processor seconds; squares: their publisher's figures", -0.6, len(costs) - 0.4, []), left=258, right=90)
    for place, (name, seconds) in enumerate(costs.items()):
        series, y = int(name in published), len(costs) - 1 - place
        picture.line(series, [(low, y), (seconds, y)], is_dashed=True)
        picture.points(series, [(seconds, y)])
        picture.label(series, (low, y), name, dx=-12, anchor="end")
        picture.label(series, (seconds, y), rounded(seconds))
    return picture


def measured_costs(text):
    """The processor's seconds for 10^6 texts, each from the table with the most texts in which the program is."""
    names = {"fpdb, fives/1": "with `recipe='fives/1'`", "fpdb": "`fpdb_engine.dedup`", "rensa": "rensa",
             "datasketch": "datasketch", "datatrove": "datatrove"}
    found = {}
    for before, rows in sorted(tables(text, "Search by similarity", "program", "processor s", FOUND),
                               key=lambda table: texts(table[0]), reverse=True):
        for name, start in names.items():
            for row in rows:
                if row["program"].startswith(start):
                    found.setdefault(name, number(row["processor s"]) * 1e6 / texts(before))
    if missing := names.keys() - found.keys():
        raise Missing(f"no table with `processor s` and `{FOUND}` has the program {', '.join(sorted(missing))}")
    return {name: found[name] for name in names}


def texts(before):
    """How many texts a table is about: the last number of texts before it."""
    counts = re.findall(r"([\d,]+) (?:such )?texts", before)
    if not counts:
        raise Missing("nothing before a table of programs says of how many texts it is")
    return number(counts[-1])


def published_costs(text):
    columns = "published", "documents", "cores", "seconds"
    _, rows = tables(text, "Published costs", *columns)[0]
    return {row["published"]: number(row["cores"]) * number(row["seconds"]) * 1e6 / number(row["documents"]) for row in rows}


def described(what, series, name_of_x):
    """The figures of some series in words, for those who cannot see them."""
    parts = ("; ".join(f"{name}: " + ", ".join(f"{y:.3g} at {name_of_x(x)}" for x, y in points)
                       for name, points in series.items()))
    return f"{what}. {parts}."


def listed(costs):
    return ", ".join(f"{name} {rounded(seconds)}" for name, seconds in costs.items())


def power_of_two(count):
    return f"2^{count.bit_length() - 1}"


def rounded(value):
    """Two digits, because the third one is noise."""
    return f"{float(f'{value:.1e}'):,.10g}"
