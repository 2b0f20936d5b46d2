"""Scores programs that extract the text of web pages, on labelled pages.

A set is a file of one JSON object per line, compressed with xz or not: `id`, `kind`, `html`, and `main` (the true
text) or `with` and `without` (pieces that the text must and must not have). A folder stands for all sets in it. A
program is a command that reads lines of `{"id", "html"}` and writes lines of `{"id", "text"}`. Prints tables:

* per set: mean precision, recall and F1 of the words (of Chinese, the characters), the share of the pages whose 64-bit
  fingerprint is at most 3 bits from that of the true text, the share whose pairs of words have a Jaccard similarity of
  at least .8 with it, the F1 of the pieces of all pages together, the pairs of different articles of one site within 3
  bits, and the seconds of processor time; then F1 and both shares for each kind of page;
* with --layouts: the same article in two layouts. The true text of a page is put into the layouts of two other pages, in
  place of their own. Found: the share of these pairs within 3 bits, and with a Jaccard similarity of .8, and the mean
  distance. Confused: pairs of different articles in one layout that are within 3 bits. This is done twice: in place of all
  that the element around the article holds, and in place of the blocks of the article only, so that boxes and captions
  between its paragraphs stay;
* with --emptied: pages without their articles, as a page is that scripts fill. Near: the pairs of pages of one site that
  are within 3 bits, which would be called duplicates. Without: the pages that have no text, as they should;
* with --code: the pages with at least five lines of code in their true text. Kept: the mean share of these lines that the
  extracted text has.

    pip install lxml
    python3 score.py --tool target/release/fpdb-tool --program legible="target/release/readers legible" FOLDER
"""

import argparse
import itertools
import json
import lzma
import random
import re
import resource
import shlex
import subprocess
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import lxml.html

WORD = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff]|[^\W\u2e80-\u9fff\uf900-\ufaff]+")
EXTRACTIONS = ["main/1", "strip/1"]
# Of the second table: articles in two layouts, and articles in each layout.
COPIES, ARTICLES = 1000, 12
# Elements that can be blocks of an article.
BLOCKS = "p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "td", "th", "dt", "dd", "figcaption", "div", "section", "article"


def words(text):
    return [word.lower() for word in WORD.findall(text)]


def pairs(text):
    found = words(text)
    return set(zip(found, found[1:]))


def jaccard(a, b):
    return len(a & b) / max(1, len(a | b))


def score(found, truth):
    found, truth = Counter(words(found)), Counter(words(truth))
    common = (found & truth).total()
    return common / max(1, found.total()), common / max(1, truth.total()), 2 * common / max(1, found.total() + truth.total())


def flat(text):
    return re.sub(r"\s+", " ", text).strip()


def tool_texts(tool, extraction, pages, folder):
    """The texts that the tool extracts from pages, by id. One thread."""
    path = folder / "pages.warc"
    names = list(pages)
    with open(path, "wb") as archive:
        for number, html in enumerate(pages.values()):
            html = html.encode()
            archive.write(f"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: {number}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(html)}\r\n\r\n".encode())
            archive.write(html + b"\r\n\r\n")
    command = [tool, "extract", "--threads", "1", "--quiet", "--extraction", extraction, path]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {names[int(page["id"])]: page["text"] for page in map(json.loads, output.split("\n")[:-1])}


def texts_of(method, options, pages, folder):
    """The texts of pages by id, and the seconds of processor time that they took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if method in EXTRACTIONS:
        found = tool_texts(options.tool, method, pages, folder)
    else:
        lines = "".join(json.dumps({"id": name, "html": html}) + "\n" for name, html in pages.items())
        run = subprocess.run(shlex.split(options.programs[method]), check=True, input=lines, stdout=subprocess.PIPE, text=True)
        found = {page["id"]: page["text"] for page in map(json.loads, run.stdout.split("\n")[:-1])}
    return defaultdict(str, found), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def fingerprints(tool, texts, folder):
    path = folder / "texts.ndjson"
    path.write_text("".join(json.dumps({"id": k, "text": t}) + "\n" for k, t in texts.items()))
    output = subprocess.run([tool, "fingerprint", "--json", path], capture_output=True, text=True).stdout
    lines = (json.loads(line) for line in output.split("\n") if line)
    return {line["id"]: int(line["fingerprint"], 16) for line in lines if line.get("fingerprint")}


def near(a, b):
    return a is not None and b is not None and (a ^ b).bit_count() <= 3


def share(values):
    values = list(values)
    return f"{sum(values) / len(values):.3f}" if values else "-"


def site(page):
    """The host of a page, as far as the page or its id tells."""
    found = re.search(r"(?:[\w-]+\.)+[a-z]{2,}", page["id"]) or re.search(
        r"""(?:rel=["']?canonical["']?[^>]*href|og:url["'][^>]*content)=["']?https?://([^/"'> ]+)""", page["html"]
    )
    return found.group(found.lastindex or 0).lower().removeprefix("www.") if found else page["id"]


def confused(pages, prints):
    """The pairs of different articles of one site: how many are within 3 bits, and all."""
    sites = defaultdict(list)
    for page in pages:
        sites[page["site"]].append((prints.get(page["id"]), pairs(page["main"])))
    others = [
        near(a[0], b[0])
        for articles in sites.values()
        for a, b in itertools.combinations(articles[:200], 2)
        if jaccard(a[1], b[1]) < 0.3
    ]
    return sum(others), len(others)


def pieces_f1(pages, found):
    counts = Counter()
    for page in pages:
        text = flat(found[page["id"]])
        counts["right"] += sum(flat(piece) in text for piece in page["with"])
        counts["wanted"] += len(page["with"])
        counts["wrong"] += sum(flat(piece) in text for piece in page["without"])
    return 2 * counts["right"] / max(1, counts["right"] + counts["wrong"] + counts["wanted"])


def measures(pages, found, true, mine):
    """The words, and the shares within 3 bits and with J >= .8."""
    scores = [score(found[page["id"]], page["main"]) for page in pages]
    close = share(near(true.get(page["id"]), mine.get(page["id"])) for page in pages)
    alike = share(jaccard(pairs(found[page["id"]]), pairs(page["main"])) >= 0.8 for page in pages)
    return *map(share, zip(*scores)), close, alike


def report(name, pages, options, folder):
    """Prints the tables of a set."""
    labelled = [page for page in pages if page.get("main")]
    kinds = defaultdict(list)
    for page in labelled:
        kinds[page["kind"]].append(page)
        page["site"] = site(page)
    true = fingerprints(options.tool, {page["id"]: page["main"] for page in labelled}, folder)
    print(f"\n{name}, {len(pages)} pages\n")
    print("| program | precision | recall | F1 | within 3 bits | J >= .8 | pieces F1 | confused | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    of_kinds = []
    for method in [*EXTRACTIONS, *options.programs]:
        found, seconds = texts_of(method, options, {page["id"]: page["html"] for page in pages}, folder)
        if not labelled:
            print(f"| {method} | | | | | | {pieces_f1(pages, found):.3f} | | {seconds:.1f} |", flush=True)
            continue
        mine = fingerprints(options.tool, {page["id"]: found[page["id"]] for page in labelled}, folder)
        all_of = " | ".join(measures(labelled, found, true, mine))
        same, others = confused(labelled, mine)
        print(f"| {method} | {all_of} | | {same} of {others:,} | {seconds:.1f} |", flush=True)
        for kind, of_kind in kinds.items():
            of_kinds.append(f"| {kind} ({len(of_kind)}) | {method} | " + " | ".join(measures(of_kind, found, true, mine)[2:]) + " |")
    if len(kinds) > 1:
        print("\n| kind (pages) | program | F1 | within 3 bits | J >= .8 |\n| --- | --- | --- | --- | --- |")
        print("\n".join(sorted(of_kinds)))


def is_article(page):
    return bool(page.get("main")) and page["kind"] in ("article", "news")


def around_article(page):
    """The tree of a page, and the smallest element in it with most of the true text: None if that is the whole page."""
    try:
        tree = lxml.html.document_fromstring(page["html"])
    except (ValueError, lxml.etree.LxmlError):
        return None, None
    truth = Counter(words(page["main"]))
    place = None
    for element in tree.iter("body", "div", "section", "article", "main", "td"):
        inside = Counter(words(element.text_content()))
        if (inside & truth).total() >= 0.9 * truth.total():
            place = element
    return tree, None if place is None or place.tag == "body" else place


def holds(tree, page, share):
    """Whether a tree still has this share of the true text."""
    rest = " ".join(tree.xpath("//text()[not(ancestor::script or ancestor::style)]"))
    return len(pairs(rest) & pairs(page["main"])) > share * len(pairs(page["main"]))


def layout(page):
    """The page as a function of an article: its smallest element with most of the true text, filled with the article.

    There is none if the page has its text twice, since the other copy would stay.
    """
    tree, place = around_article(page)
    if place is None:
        return None

    def clear():
        for child in list(place):
            place.remove(child)
        place.text = None

    clear()
    if holds(tree, page, 0.5):
        return None

    def fill(article):
        clear()
        for line in lines_of(article):
            place.append(paragraph(line))
        return lxml.html.tostring(tree, encoding="unicode")

    return fill


def lines_of(article):
    return ["".join(c for c in line if c >= " ") for line in article.split("\n") if line]


def paragraph(line, attributes=()):
    element = lxml.html.Element("p", dict(attributes))
    element.text = line
    return element


def blocks_of_article(place, page):
    """The innermost blocks with words that the true text has in the same order."""
    triples = lambda found: list(zip(found, found[1:], found[2:]))
    truth, lines = set(triples(words(page["main"]))), {" ".join(words(line)) for line in page["main"].split("\n")}
    for element in list(place.iter(*BLOCKS)):
        found = words(element.text_content())
        if not found or any(words(inner.text_content()) for inner in element.iterdescendants(*BLOCKS)):
            continue
        of_block = triples(found)
        if " ".join(found) in lines or len(found) >= 6 and sum(triple in truth for triple in of_block) >= 0.7 * len(of_block):
            yield element


def layout_with_boxes(page):
    """The page as a function of an article that stands in place of the blocks of its own one, and in as many places.

    There is none if much of the own article stays, such as text that no block holds alone, or if it is one paragraph.
    """
    tree, place = around_article(page)
    if place is None:
        return None
    blocks = list(blocks_of_article(place, page))
    paragraphs = [block for block in blocks if block.tag == "p"]
    places, added = [], []
    for block in blocks:
        if block in paragraphs:
            places.append((lxml.etree.Comment(""), dict(block.attrib)))
            block.addprevious(places[-1][0])
        block.drop_tree()
    if len(places) < 2 or holds(tree, page, 0.1):
        return None

    def fill(article):
        while added:
            added.pop().drop_tree()
        lines = lines_of(article)
        for number, (mark, attributes) in enumerate(places):
            start, end = (at * len(lines) // len(places) for at in (number, number + 1))
            for line in reversed(lines[start:end]):
                added.append(paragraph(line, attributes))
                mark.addnext(added[-1])
        return lxml.html.tostring(tree, encoding="unicode")

    return fill


# How much of the article's element an article in it takes the place of.
LAYOUTS = {"taken out": layout, "left in place": layout_with_boxes}


def report_layouts(name, pages, method, options, folder, boxes, layout):
    rng = random.Random(1)
    articles = list(filter(is_article, pages))
    fills = [fill for fill in map(layout, rng.sample(articles, min(200, len(articles)))) if fill]
    chosen = [page["main"] for page in articles if len(words(page["main"])) >= 100]
    made = {}
    for number in range(COPIES):
        article = rng.choice(chosen)
        for copy, fill in enumerate(rng.sample(fills, 2)):
            made[f"{number} {copy}"] = fill(article)
    for site, fill in enumerate(fills):
        for number, article in enumerate(rng.sample(chosen, ARTICLES)):
            made[f"site {site} {number}"] = fill(article)
    # The scripts of a page have data of its own article, which some programs take for the text.
    made = {name: re.sub(r"<script\b.*?</script>", "", page, flags=re.S | re.I) for name, page in made.items()}
    found, _ = texts_of(method, options, made, folder)
    prints = fingerprints(options.tool, found, folder)
    copies = [(f"{number} 0", f"{number} 1") for number in range(COPIES)]
    same = share(near(prints.get(a), prints.get(b)) for a, b in copies)
    alike = share(jaccard(pairs(found[a]), pairs(found[b])) >= 0.8 for a, b in copies)
    apart = [(prints[a] ^ prints[b]).bit_count() for a, b in copies if a in prints and b in prints]
    others = [
        (f"site {site} {a}", f"site {site} {b}")
        for site in range(len(fills))
        for a, b in itertools.combinations(range(ARTICLES), 2)
    ]
    equal = sum(near(prints.get(a), prints.get(b)) for a, b in others)
    mean = sum(apart) / max(1, len(apart))
    print(f"| {name} | {boxes} | {method} | {len(fills)} | {same} | {alike} | {mean:.1f} | {equal} of {len(others):,} |", flush=True)


def report_emptied(name, pages, method, options, folder):
    sites, emptied = defaultdict(list), {}
    for page in pages:
        if page.get("main"):
            sites[site(page)].append(page)
    of_sites = {host: same[:6] for host, same in sites.items() if len(same) > 1}
    for host, same in of_sites.items():
        for number, page in enumerate(same):
            fill = layout(page)
            if fill:
                emptied[f"{host} {number}"] = fill("")
    found, _ = texts_of(method, options, emptied, folder)
    prints = fingerprints(options.tool, found, folder)
    names = [[f"{host} {number}" for number in range(len(same)) if f"{host} {number}" in emptied] for host, same in of_sites.items()]
    pairs_of_sites = [pair for same in names for pair in itertools.combinations(same, 2)]
    close = sum(near(prints.get(a), prints.get(b)) for a, b in pairs_of_sites)
    without = sum(not found[page] for page in emptied)
    print(f"| {name} | {method} | {close} of {len(pairs_of_sites):,} | {without} of {len(emptied)} |", flush=True)


def code_lines(page):
    """The lines of code that belong to the true text: those of elements whose white space is kept."""
    try:
        tree = lxml.html.document_fromstring(page["html"].encode(), parser=lxml.html.HTMLParser(encoding="utf-8"))
    except (ValueError, lxml.etree.LxmlError):
        return []
    truth = flat(page["main"])
    lines = {flat(line) for element in tree.iter("pre") for line in element.text_content().split("\n")}
    return [line for line in lines if len(line) >= 8 and line in truth]


def report_code(name, pages, method, options, folder):
    lines = {page["id"]: code_lines(page) for page in pages if page.get("main")}
    with_code = {page["id"]: page["html"] for page in pages if len(lines.get(page["id"], [])) >= 5}
    found, _ = texts_of(method, options, with_code, folder)
    texts = {page: flat(found[page]) for page in with_code}
    kept = [sum(line in texts[page] for line in lines[page]) / len(lines[page]) for page in with_code]
    print(f"| {name} | {method} | {len(kept)} | {share(kept)} |", flush=True)


def read(path):
    """The pages of a set, or of all sets in a folder, by the names of the sets."""
    paths = sorted(path.glob("*.ndjson*")) if path.is_dir() else [path]
    sets = {}
    for path in paths:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
            sets[path.name.split(".")[0]] = [json.loads(line) for line in file]
    return sets


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="fpdb-tool", help="the program fpdb-tool")
    parser.add_argument("--program", action="append", default=[], metavar="NAME=COMMAND", help="another program")
    parser.add_argument("--layouts", action="store_true", help="print the table of layouts only")
    parser.add_argument("--emptied", action="store_true", help="print the table of pages without their articles only")
    parser.add_argument("--code", action="store_true", help="print the table of lines of code only")
    parser.add_argument("sets", type=Path, nargs="+", help="files of labelled pages, or folders of such files")
    options = parser.parse_args()
    options.programs = dict(program.split("=", 1) for program in options.program)
    sets = {name: pages for path in options.sets for name, pages in read(path).items()}
    with tempfile.TemporaryDirectory() as folder:
        if options.emptied:
            print("| set | method | near | without text |\n| --- | --- | --- | --- |")
            for name, pages in sets.items():
                for method in [*EXTRACTIONS, *options.programs]:
                    report_emptied(name, pages, method, options, Path(folder))
            return
        if options.code:
            print("| set | method | pages | kept |\n| --- | --- | --- | --- |")
            for name, pages in sets.items():
                for method in [*EXTRACTIONS, *options.programs]:
                    report_code(name, pages, method, options, Path(folder))
            return
        if not options.layouts:
            for name, pages in sets.items():
                report(name, pages, options, Path(folder))
            return
        print("| set | boxes | method | layouts | found within 3 bits | found at J >= .8 | mean distance | confused |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for name, pages in sets.items():
            if sum(is_article(page) for page in pages) > 100:
                for boxes, of_page in LAYOUTS.items():
                    for method in [*EXTRACTIONS, *options.programs]:
                        report_layouts(name, pages, method, options, Path(folder), boxes, of_page)


if __name__ == "__main__":
    main()
