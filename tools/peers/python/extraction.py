"""Compares extractions with trafilatura and readability on pages whose text is known.

The pages are manuals in HTML, from Debian packages. Two kinds of truth are known:

* body: the element of the page that the generator of the manual fills with its text. The rest of the
  page is the same on all pages of the manual.
* source: the file that the generator read, without its markup (reStructuredText and AsciiDoc only).

The set "python, undeclared" has the pages of "python" without the attributes and elements by which
they declare where their content and their menus are.

Prints a table: per set of pages, the mean precision, recall and F1 of the words of the text (of
Chinese, the characters), counted with their numbers of occurrences.

    pip install trafilatura==2.3.1 readability-lxml==0.9
    apt-get download python3.11-doc git-doc debian-handbook debian-reference-en debian-reference-zh-cn
    for deb in *.deb; do dpkg -x "$deb" pages; done
    python3 extraction.py --tool target/release/fpdb-tool pages
"""

import argparse
import json
import logging
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import lxml.html
import readability
import trafilatura

# Per manual: its folder, the share of its pages to read, the elements that are the body, and the
# parts of them that belong to the navigation.
MANUALS = {
    "python": ("usr/share/doc/python3.11/html", 4, "//*[@role='main']", "//a[@class='headerlink']"),
    "python, undeclared": ("usr/share/doc/python3.11/html", 4, "//*[@role='main']", "//a[@class='headerlink']"),
    "git": ("usr/share/doc/git-doc", 2, "//*[@id='header'] | //*[@id='content']", None),
    "handbook en": ("usr/share/doc/debian-handbook/html/en-US", 1, "//body", "//*[@id='title'] | //ul[@class='docnav']"),
    "handbook zh": ("usr/share/doc/debian-handbook/html/zh-CN", 1, "//body", "//*[@id='title'] | //ul[@class='docnav']"),
    "reference en": ("usr/share/debian-reference", 1, "//body", "//*[@class='navheader'] | //*[@class='navfooter']"),
    "reference zh": ("usr/share/debian-reference", 1, "//body", "//*[@class='navheader'] | //*[@class='navfooter']"),
}
NAMES = {"reference en": ".en.html", "reference zh": ".zh-cn.html"}
WORD = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff]|[^\W\u2e80-\u9fff\uf900-\ufaff]+")


def undeclared(page):
    """The page with its landmarks made anonymous."""
    page = re.sub(rb' role="[^"]*"', b"", page)
    return re.sub(rb"<(/?)(nav|main|article|aside|footer|header)\b", rb"<\1div", page)


def words(text):
    return Counter(word.lower() for word in WORD.findall(text))


def body(page, chosen, left_out):
    """The text of the body, and the share of it in links."""
    tree = lxml.html.document_fromstring(page)
    for element in tree.xpath("//script | //style | //head" + (f" | {left_out}" if left_out else "")):
        element.drop_tree()
    elements = tree.xpath(chosen)
    linked = sum(len("".join(a.itertext())) for e in elements for a in e.xpath(".//a[@href]"))
    text = "\n".join(" ".join(e.itertext()) for e in elements)
    return text, linked / max(1, len("".join("".join(e.itertext()) for e in elements)))


def source(path):
    """The source of the page without its markup, or None."""
    rst = [parent / "_sources" / path.relative_to(parent).with_suffix(".rst.txt") for parent in path.parents]
    found = [file for file in [*rst, path.with_suffix(".txt")] if file.is_file()]
    if not found:
        return None
    text = found[0].read_text(errors="replace")
    text = re.sub(r"(?m)^ifn?def::.*|^endif::.*|^include::.*|^\.\. *(_|index::|module::|sectionauthor|toctree|highlight|audit-event|versionadded|versionchanged|currentmodule|moduleauthor|testsetup|only).*|^ *:[\w-]+:.*$", "", text)
    text = re.sub(r"\.\. (\w+::)", "", text)
    text = re.sub(r":[\w:+-]+:`[!~]?([^`<]*)(<[^`>]*>)?`", r" \1 ", text)
    text = re.sub(r"linkgit:([\w-]+)\[(\d)\]", r" \1 \2 ", text)
    return text


def readability_text(page):
    html = readability.Document(page).summary()
    return lxml.html.document_fromstring(html).text_content()


def tool_texts(tool, extraction, pages):
    """The texts of the pages, by path."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {str(Path(folder, f"{number}.html")): path for number, path in enumerate(pages)}
        for file, path in paths.items():
            Path(file).write_bytes(pages[path])
        command = [tool, "extract", "--extraction", extraction, "--quiet", folder]
        output = subprocess.run(command, check=True, capture_output=True).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    return {paths[line["id"]]: line["text"] for line in lines}


def score(found, truth):
    common = (found & truth).total()
    precision = common / max(1, found.total())
    recall = common / max(1, truth.total())
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def report(name, kind, truths, texts):
    for method, found in texts.items():
        scores = [score(words(found.get(path, "")), truth) for path, truth in truths.items()]
        means = [100 * sum(values) / len(scores) for values in zip(*scores)]
        worst = 100 * min(f1 for _, _, f1 in scores)
        print(f"| {name} | {kind} | {len(scores)} | {method} | " + " | ".join(f"{m:.1f}" for m in [*means, worst]) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="fpdb-tool", help="the program fpdb-tool")
    parser.add_argument("--only", action="store_true", help="without trafilatura and readability")
    parser.add_argument("pages", type=Path, help="the folder that the packages were unpacked to")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print("| pages | true text | number | method | precision | recall | F1 | lowest F1 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, (folder, step, chosen, left_out) in MANUALS.items():
        files = sorted((arguments.pages / folder).rglob("*" + NAMES.get(name, ".html")))[::step]
        pages = {str(file): file.read_bytes() for file in files}
        bodies = {path: body(page, chosen, left_out) for path, page in pages.items()}
        # Redirections and frames have no text.
        bodies = {path: found for path, found in bodies.items() if words(found[0]).total() >= 50}
        if "undeclared" in name:
            pages = {path: undeclared(page) for path, page in pages.items()}
        texts = {e: tool_texts(arguments.tool, e, pages) for e in ["main/1", "strip/1"]}
        if not arguments.only:
            texts["trafilatura"] = {p: trafilatura.extract(pages[p].decode(errors="replace")) or "" for p in bodies}
            texts["readability"] = {p: readability_text(pages[p].decode(errors="replace")) for p in bodies}
        articles = {path: words(text) for path, (text, linked) in bodies.items() if linked < 0.5}
        contents = {path: words(text) for path, (text, linked) in bodies.items() if linked >= 0.5}
        sources = {path: source(Path(path)) for path in articles}
        sources = {path: words(text) for path, text in sources.items() if text}
        for kind, truths in [("body", articles), ("source", sources), ("body, mostly links", contents)]:
            if truths:
                report(name, kind, truths, texts)


if __name__ == "__main__":
    main()
