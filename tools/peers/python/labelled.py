"""Compares extractions with trafilatura and readability on labelled pages of all kinds.

A set is a file of one JSON object per line, compressed with xz or not: `id`, `kind`, `html`, and `main` (the true
text) or `with` and `without` (pieces that the text must and must not have). Prints two tables:

* per set and kind of page: mean precision, recall and F1 of the words (of Chinese, the characters), the share of the
  pages whose 64-bit fingerprint is at most 3 bits from that of the true text, the share whose pairs of words have a
  Jaccard similarity of at least .8 with it, and the F1 of the pieces of all pages together; the seconds for the set;
* per set: the same article in two layouts. The true text of a page is put into the layouts of two other pages, in
  place of their own. Found: the share of these pairs within 3 bits, and with a Jaccard similarity of .8, and the mean
  distance. Confused: pairs of different articles in one layout that are within 3 bits.

    pip install trafilatura==2.3.1 readability-lxml==0.9
    python3 labelled.py --tool target/release/fpdb-tool SET.ndjson.xz ...
"""

import argparse
import itertools
import json
import logging
import lzma
import random
import re
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import lxml.html
import readability
import trafilatura

WORD = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff]|[^\W\u2e80-\u9fff\uf900-\ufaff]+")
EXTRACTIONS = ["main/1", "strip/1"]
# Of the second table: articles in two layouts, and articles in each layout.
COPIES, ARTICLES = 1000, 12


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


def readability_text(html):
    return lxml.html.document_fromstring(readability.Document(html).summary()).text_content()


def texts_of(method, tool, pages, folder):
    """The texts of pages by id, and the seconds that they took."""
    start = time.time()
    if method in EXTRACTIONS:
        found = tool_texts(tool, method, pages, folder)
    else:
        extract = {"trafilatura": trafilatura.extract, "readability": readability_text}[method]
        found = {}
        for name, html in pages.items():
            try:
                found[name] = extract(html) or ""
            except Exception:  # a page that a program cannot read has no text
                found[name] = ""
    return defaultdict(str, found), time.time() - start


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
    return f"{sum(values) / len(values):.2f}" if values else "-"


def report(name, pages, method, tool, folder):
    found, seconds = texts_of(method, tool, {page["id"]: page["html"] for page in pages}, folder)
    labelled = [page for page in pages if page.get("main")]
    kinds = defaultdict(list)
    for page in labelled:
        kinds["all"].append(page)
        kinds[page["kind"]].append(page)
    true = fingerprints(tool, {page["id"]: page["main"] for page in labelled}, folder)
    mine = fingerprints(tool, {page["id"]: found[page["id"]] for page in labelled}, folder)
    pieces = Counter()
    for page in pages:
        text = flat(found[page["id"]])
        pieces["right"] += sum(flat(piece) in text for piece in page["with"])
        pieces["wanted"] += len(page["with"])
        pieces["wrong"] += sum(flat(piece) in text for piece in page["without"])
    of_pieces = 2 * pieces["right"] / max(1, pieces["right"] + pieces["wrong"] + pieces["wanted"])
    for kind, of_kind in kinds.items() if len(kinds) > 2 else list(kinds.items())[:1]:
        scores = [score(found[page["id"]], page["main"]) for page in of_kind]
        means = " | ".join(f"{sum(values) / len(values):.3f}" for values in zip(*scores))
        close = share(near(true.get(page["id"]), mine.get(page["id"])) for page in of_kind)
        alike = share(jaccard(pairs(found[page["id"]]), pairs(page["main"])) >= 0.8 for page in of_kind)
        last = f"{of_pieces:.3f} | {seconds:.1f}" if kind == "all" else "|"
        print(f"| {name} | {kind} | {len(of_kind)} | {method} | {means} | {close} | {alike} | {last} |")
    if not labelled:
        print(f"| {name} | all | {len(pages)} | {method} | | | | | | {of_pieces:.3f} | {seconds:.1f} |")


def is_article(page):
    return bool(page.get("main")) and page["kind"] in ("article", "news")


def layout(page):
    """The page as a function of an article: its smallest element with most of the true text, filled with the article.

    There is none if the page has its text twice, since the other copy would stay.
    """
    try:
        tree = lxml.html.document_fromstring(page["html"])
    except (ValueError, lxml.etree.LxmlError):
        return None
    truth = Counter(words(page["main"]))
    place = None
    for element in tree.iter("body", "div", "section", "article", "main", "td"):
        inside = Counter(words(element.text_content()))
        if (inside & truth).total() >= 0.9 * truth.total():
            place = element
    if place is None or place.tag == "body":
        return None

    def clear():
        for child in list(place):
            place.remove(child)
        place.text = None

    clear()
    rest = " ".join(tree.xpath("//text()[not(ancestor::script or ancestor::style)]"))
    if len(pairs(rest) & pairs(page["main"])) > 0.5 * len(pairs(page["main"])):
        return None

    def fill(article):
        clear()
        for line in filter(None, article.split("\n")):
            paragraph = lxml.html.Element("p")
            paragraph.text = "".join(c for c in line if c >= " ")
            place.append(paragraph)
        return lxml.html.tostring(tree, encoding="unicode")

    return fill


def report_layouts(name, pages, method, tool, folder):
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
    found, _ = texts_of(method, tool, made, folder)
    prints = fingerprints(tool, found, folder)
    copies = [(f"{number} 0", f"{number} 1") for number in range(COPIES)]
    same = share(near(prints.get(a), prints.get(b)) for a, b in copies)
    alike = share(jaccard(pairs(found[a]), pairs(found[b])) >= 0.8 for a, b in copies)
    apart = [(prints[a] ^ prints[b]).bit_count() for a, b in copies if a in prints and b in prints]
    others = [
        (f"site {site} {a}", f"site {site} {b}")
        for site in range(len(fills))
        for a, b in itertools.combinations(range(ARTICLES), 2)
    ]
    confused = sum(near(prints.get(a), prints.get(b)) for a, b in others)
    mean = sum(apart) / max(1, len(apart))
    print(f"| {name} | {method} | {len(fills)} | {same} | {alike} | {mean:.1f} | {confused} of {len(others):,} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="fpdb-tool", help="the program fpdb-tool")
    parser.add_argument("--layouts", action="store_true", help="print the second table only")
    parser.add_argument("sets", type=Path, nargs="+", help="files of labelled pages")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    methods = [*EXTRACTIONS, "trafilatura", "readability"]
    sets = {}
    for path in arguments.sets:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
            sets[path.name.split(".")[0]] = [json.loads(line) for line in file]
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.layouts:
            print("| set | kind | pages | method | precision | recall | F1 | within 3 bits | J >= .8 | pieces F1 | seconds |")
            print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
            for name, pages in sets.items():
                for method in methods:
                    report(name, pages, method, arguments.tool, Path(folder))
            print()
        print("| set | method | layouts | found within 3 bits | found at J >= .8 | mean distance | confused |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for name, pages in sets.items():
            if sum(is_article(page) for page in pages) > 100:
                for method in methods:
                    report_layouts(name, pages, method, arguments.tool, Path(folder))


if __name__ == "__main__":
    main()
