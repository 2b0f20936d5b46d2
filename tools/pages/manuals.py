"""Writes pages of manuals as sets for score.py, one file per manual. Their text is known.

The manuals are HTML from Debian packages. The true text of a page is that of the element that the generator of the
manual fills; the rest of the page is the same on all pages of the manual. The kind of a page whose text is mostly
links (a table of contents or an index) is "links". The set "python-undeclared" has the pages of "python" without the
attributes and elements by which they declare where their content and their menus are.

    apt-get download python3.11-doc git-doc debian-handbook debian-reference-en debian-reference-zh-cn
    for deb in *.deb; do dpkg -x "$deb" pages; done
    python3 manuals.py pages sets
"""

import json
import re
import sys
from pathlib import Path

import lxml.html

from score import words

# Per manual: its folder, the end of the names of its pages, the share of them to read, the elements that are the body,
# and the parts of them that belong to the navigation.
PYTHON = ("usr/share/doc/python3.11/html", ".html", 4, "//*[@role='main']", "//a[@class='headerlink']")
HANDBOOK = (".html", 1, "//body", "//*[@id='title'] | //ul[@class='docnav']")
REFERENCE = (1, "//body", "//*[@class='navheader'] | //*[@class='navfooter']")
MANUALS = {
    "python": PYTHON,
    "python-undeclared": PYTHON,
    "git": ("usr/share/doc/git-doc", ".html", 2, "//*[@id='header'] | //*[@id='content']", None),
    "handbook-en": ("usr/share/doc/debian-handbook/html/en-US", *HANDBOOK),
    "handbook-zh": ("usr/share/doc/debian-handbook/html/zh-CN", *HANDBOOK),
    "reference-en": ("usr/share/debian-reference", ".en.html", *REFERENCE),
    "reference-zh": ("usr/share/debian-reference", ".zh-cn.html", *REFERENCE),
}


def undeclared(page):
    """The page with its landmarks made anonymous."""
    page = re.sub(r' role="[^"]*"', "", page)
    return re.sub(r"<(/?)(nav|main|article|aside|footer|header)\b", r"<\1div", page)


def body(page, chosen, left_out):
    """The text of the body, and the share of it in links."""
    tree = lxml.html.document_fromstring(page)
    for element in tree.xpath("//script | //style | //head" + (f" | {left_out}" if left_out else "")):
        element.drop_tree()
    elements = tree.xpath(chosen)
    linked = sum(len("".join(a.itertext())) for e in elements for a in e.xpath(".//a[@href]"))
    text = "\n".join(" ".join(e.itertext()) for e in elements)
    return text, linked / max(1, len("".join("".join(e.itertext()) for e in elements)))


def labelled(name, pages, folder, ending, step, chosen, left_out):
    """The pages of a manual. Their ids, and so the copies that fit.py makes of them, do not depend on where the folder is."""
    for path in sorted((pages / folder).rglob("*" + ending))[::step]:
        page = path.read_bytes()
        text, linked = body(page, chosen, left_out)
        # Redirections and frames have no text.
        if len(words(text)) < 50:
            continue
        html = page.decode(errors="replace")
        yield {"id": f"pages/{path.relative_to(pages)}", "kind": "links" if linked >= 0.5 else "manual", "main": text, "with": [], "without": [],
               "html": undeclared(html) if name == "python-undeclared" else html}


def main():
    pages, sets = map(Path, sys.argv[1:])
    sets.mkdir(exist_ok=True)
    for name, manual in MANUALS.items():
        with open(sets / f"{name}.ndjson", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(page) + "\n" for page in labelled(name, pages, *manual))


if __name__ == "__main__":
    main()
