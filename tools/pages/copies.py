"""Copies of labelled pages that mislead whoever trusts names or lengths, for fit.py.

Each copy of a page has one or two of these: no names of classes and identifiers; the first paragraphs of its article
only, with teasers, comments or a long list after it; boxes between its paragraphs, such as offers, registrations,
consents, captions and media lines; a panel that is not shown; program code; or no article at all.
"""

import hashlib
import html
import json
import re
from pathlib import Path
from random import Random

import lxml.html

from score import flat, words

# Kinds of pages that are articles, in the sets that we have.
ARTICLES = "article", "zh-news", "Chinese", "English", "Greek", "Polish", "Russian"
# Sentences of boxes, by language and kind.
BOXES = json.loads(Path(__file__).with_name("boxes.json").read_text(encoding="utf-8"))
ROOT = Path(__file__).resolve().parents[2]
NAMES = "box", "kx", "m-12", "css-a1", "teaser", "inner", "c3", "module", "part", ""
HIDDEN = "class=hide", "class='panel hidden'", "style='display:none'", "hidden", "class='modal d-none'", "aria-hidden=true"
# Elements that hold the text of articles, with most of it in paragraphs.
LEAST = 60


def anonymous(page):
    """A page whose classes and identifiers say nothing, but are as like each other as before."""

    def attribute(found):
        name = lambda word: f"q{int(hashlib.md5(word.group().encode()).hexdigest()[:8], 16)}"
        return found[1] + re.sub(r"[^\s\"']+", name, found[2])

    return re.sub(r"""(\s(?:class|id)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)""", attribute, page, flags=re.I)


def parsed(page):
    parser = lxml.html.HTMLParser(encoding="utf-8")
    return lxml.html.document_fromstring(page["html"].encode(), parser=parser)


def paragraphs(tree, truth):
    """The paragraphs of an article."""
    is_content = lambda text: len(text) >= LEAST and text in truth
    return [p for p in tree.iter("p") if is_content(flat(p.text_content()))]


def written(tree):
    return lxml.html.tostring(tree, encoding="unicode")


def fragment(text):
    return lxml.html.fragment_fromstring(text)


def shorten(found, random, most=5):
    """Drops the paragraphs of an article but for the first ones. Returns these."""
    kept = random.randint(1, most)
    for paragraph in found[kept:]:
        paragraph.drop_tree()
    return found[:kept]


def after(place, random, steps=3):
    """An element around a place, after which something can be put."""
    for _ in range(random.randint(1, steps)):
        parent = place.getparent()
        place = place if parent is None or parent.tag in ("body", "td", "html") else parent
    return place


def language(page, random):
    found = re.search(r"<html[^>]*\blang=[\"']?(\w\w)", page["html"], re.I)
    lang = found[1].lower() if found else {"zh-news": "zh", "Chinese": "zh", "Polish": "pl", "Russian": "ru", "Greek": "el"}.get(page["kind"], "en")
    return lang if lang in BOXES and random.random() < 0.8 else random.choice(sorted(BOXES))


def date(random):
    day, month, hour, minute = random.randint(1, 28), random.randint(1, 12), random.randint(10, 23), random.randint(10, 59)
    return random.choice((f"{day}.{month}.2012 {hour}:{minute}", f"2021-{month:02}-{day:02}", f"{month}/{day}/2019", f"{hour}:{minute}"))


def comments(lines, random):
    """Comments, which can be much more than the article."""
    tag, name = random.choice(("div", "li", "article", "section")), random.choice(("comment", "item", "c1", "reply", "member", "msg", "kommentar"))
    around = random.choice(("comments", "list", "talk", "c", "community", "guestbook", "opinie"))
    count = random.choice((4, 6, 9, 15, 30, 45))
    head = random.choice((f"<h3>{count} {random.choice(('comments', 'replies', 'Kommentare', 'Stimmen', 'opinii', '条评论', 'комментариев'))}</h3>", ""))
    dated, titled = random.random() < 0.6, random.random() < 0.3
    items = []
    for _ in range(count):
        text, other = (html.escape(line) for line in random.choices(lines, k=2))
        text = text[: random.choice((60, 90, 150, 300))]
        user = f"<a href=/u>{other[:9]}</a>" if random.random() < 0.7 else f"<b>{other[:9]}</b>"
        user += f" <span>{date(random)}</span>" if dated else ""
        user += f"<div><a href=r>{other[9:20]}</a></div>" if titled else ""
        items.append(f"<{tag} class={name}><div class=a>{user}</div><div class=b><p>{text}</p></div></{tag}>")
    return f"<div class={around}>{head}{''.join(items)}</div>"


def teasers(lines, random):
    """Teasers of other articles, or a list of things."""
    tag, count, is_long = random.choice(("div", "li", "article")), random.choice((4, 6, 9, 20)), random.random() < 0.6
    items = []
    if random.random() < 0.25:
        for _ in range(random.choice((30, 100, 400))):
            text = html.escape(random.choice(lines)[: random.randint(8, 40)])
            items.append(f"<li>{text}" if random.random() < 0.5 else f"<li><a href=x>{text}</a>")
        return f"<ul>{''.join(items)}</ul>"
    for _ in range(count):
        text, other = (html.escape(line) for line in random.choices(lines, k=2))
        title = f"<h3><a href=x>{other[:50]}</a></h3>" if random.random() < 0.8 else f"<a href=x>{other[:50]}</a>"
        body = f"<div class=b><p>{text}</p></div>" if is_long else f"<span>{text[:60]}</span>"
        foot = f"<span>{date(random)}</span>" if random.random() < 0.4 else ""
        items.append(f"<{tag} class=item>{title}{body}{foot}</{tag}>")
    return f"<div class=list>{''.join(items)}</div>"


def items(lines, random):
    """Like elements that are not the article."""
    is_comments, tag, name = random.random() < 0.4, random.choice(["div", "li"]), random.choice(["comment", "item", "c1"])
    items = []
    for _ in range(random.randint(4, 9)):
        text, other = (html.escape(line) for line in random.sample(lines, 2))
        date = f"{random.randint(1, 28)}.{random.randint(1, 12)}.2012 {random.randint(10, 23)}:{random.randint(10, 59)}"
        title = f"<h3><a href=x>{other[:50]}</a></h3>" if random.random() < 0.9 else f"<a href=x>{other[:50]}</a>"
        head = f"<div class=a>{other[:12]} {date}</div>" if is_comments else title
        items.append(f"<{tag} class={name}>{head}<div class=b><p>{text}</p></div></{tag}>")
    return f"<div class=list>{'<h3>' + lines[0][:12] + '</h3>' if is_comments else ''}{''.join(items)}</div>"


def box(page, random, kind=None):
    """A box between the paragraphs of an article, as a function that makes it again, with other words of a kind."""
    texts = BOXES[language(page, random)]
    kind = kind or random.choice(("offer", "offer", "register", "consent", "media", "coupon", "jobs"))
    name, tag = random.choice(NAMES), random.choice(("div", "div", "aside", "section"))
    sentences = texts[kind][:]
    random.shuffle(sentences)
    count = {"offer": random.randint(2, 6), "register": random.randint(2, 6), "consent": random.randint(1, 3)}.get(kind, 0)
    esc = html.escape
    if kind == "media":

        def make():
            seconds = f"{random.randint(0, 9):02}:{random.randint(10, 59)}"
            line = esc(random.choice(sentences).replace("{time}", seconds).replace("{date}", date(random)))
            return f"<{tag} class='{name}'><img src=x><p>{line}</p></{tag}>"

    elif kind in ("coupon", "jobs"):

        def make():
            items = "".join(f"<div class=i><a href=x>{esc(s.split(': ')[0])}</a><span>{esc(s.split(': ')[-1])}</span></div>" for s in random.choices(sentences, k=random.randint(3, 8)))
            return f"<{tag} class='{name}'>{items}</{tag}>"

    else:
        head = f"<h3>{esc(sentences[0])}</h3>" if random.random() < 0.6 else f"<p>{esc(sentences[0])}</p>"
        chosen = sentences[1 : count + 1]
        items = [f"<li>{esc(s)}</li>" if random.random() < 0.4 else f"<p>{esc(s)}</p>" for s in chosen]
        fields = "".join(f"<p>* {esc(f)}<input></p>" for f in texts["fields"]) if kind == "register" and random.random() < 0.5 else ""
        link = f"<p>{esc(texts['login'][0])} <a href=x>{esc(texts['login'][1])}</a></p>" if kind != "consent" and random.random() < 0.6 else ""
        hidden = random.choice(HIDDEN) if random.random() < (0.4 if kind == "register" else 0.1) else f"class='{name}'"
        text = f"<{tag} {hidden}>{head}{''.join(items)}{fields}{link}</{tag}>"
        make = lambda: text
    return make


def boxed(page, random):
    """An article with boxes between its paragraphs."""
    tree = parsed(page)
    found = paragraphs(tree, flat(page["main"]))
    if not found:
        return page["html"]
    if random.random() < 0.5:
        found = shorten(found, random, 6)
    for _ in range(random.randint(1, 2)):
        make = box(page, random)
        for paragraph in random.sample(found, min(len(found), random.choice((1, 1, 2, 3)))):
            place = fragment(make())
            place.tail, paragraph.tail = paragraph.tail, None
            paragraph.addnext(place)
    return written(tree)


def beside(page, lines, random, make):
    """An article with its first paragraphs only, and after it what is made of the lines of other pages."""
    tree = parsed(page)
    found = paragraphs(tree, flat(page["main"]))
    kept = shorten(found, random)
    if kept:
        after(kept[0], random).addnext(fragment(make(lines, random)))
    return written(tree)


def panelled(page, lines, random):
    """A short article with a panel that is not shown, or with help in one."""
    tree = parsed(page)
    found = paragraphs(tree, flat(page["main"]))
    kept = shorten(found, random, 3)
    if kept:
        texts = "".join(f"<p>{html.escape(line)}</p>" for line in random.choices(lines, k=random.randint(2, 9)))
        code = f"<pre>{html.escape(source(random)[:900])}</pre>" if random.random() < 0.4 else ""
        after(kept[-1], random, 4).addnext(fragment(f"<div {random.choice(HIDDEN)}><div class=section>{texts}{code}</div></div>"))
    return written(tree)


SOURCES = sorted(ROOT.glob("src/**/*.rs")) + sorted(ROOT.glob("tools/pages/*.py")) + sorted(ROOT.glob("crates/fpdb-text/src/**/*.rs"))


def source(random):
    """Lines of a program, or what a terminal shows of it."""
    lines = [line for line in random.choice(SOURCES).read_text(encoding="utf-8").split("\n") if line.strip()]
    start = random.randrange(max(1, len(lines) - 20))
    lines = lines[start : start + random.choice((5, 12, 30, 70))]
    if random.random() < 0.3:
        lines = [f"$ {line.strip()}" if random.random() < 0.3 else f"[{number:>4}] {line.strip()} ... {number * 7} ms" for number, line in enumerate(lines)]
    return "\n".join(lines)


def programmed(page, random):
    """An article with program code between its paragraphs, and its text with the code."""
    tree = parsed(page)
    found = paragraphs(tree, flat(page["main"]))
    if not found:
        return page
    found = shorten(found, random, 20)
    codes = []
    for paragraph in random.sample(found, min(len(found), random.randint(1, 3))):
        code = source(random)
        open, close = random.choice((("<pre>", "</pre>"), ("<pre><code>", "</code></pre>"), ("<div class=highlight><pre>", "</pre></div>"), ("<div class=x><pre class=q>", "</pre></div>")))
        paragraph.addnext(fragment(f"{open}{html.escape(code)}{close}"))
        codes.append(code)
    return page | {"html": written(tree), "main": page["main"] + "\n" + "\n".join(codes)}


def emptied(page):
    """A page without its article: its smallest element with most of it is empty. Nothing is left if that is all."""
    tree, truth = parsed(page), words(page["main"])
    wanted, place = set(zip(truth, truth[1:])), None
    for element in tree.iter("div", "section", "article", "main", "td"):
        inside = words(element.text_content())
        if len(wanted & set(zip(inside, inside[1:]))) >= 0.9 * len(wanted):
            place = element
    if place is None:
        return None
    for child in list(place):
        place.remove(child)
    place.text = None
    rest = words(" ".join(tree.xpath("//text()[not(ancestor::script or ancestor::style)]")))
    return None if len(wanted & set(zip(rest, rest[1:]))) > 0.3 * len(wanted) else written(tree)


def copies(page, lines):
    """The copies of a page. The first one counts more than a second."""
    random = Random(page["id"])
    if page["kind"] not in ARTICLES or not lines or random.random() < 0.3:
        yield page | {"html": anonymous(page["html"]), "copy": 1}
    else:
        text = beside(page, lines, random, items)
        yield page | {"html": text if random.random() < 0.5 else anonymous(text), "copy": 1}
    if page["kind"] not in ARTICLES or not lines:
        return
    choice = random.random()
    if choice < 0.25:
        yield page | {"html": boxed(page, random), "copy": 2}
    elif choice < 0.4:
        yield page | {"html": panelled(page, lines, random), "copy": 2}
    elif choice < 0.6:
        yield page | {"html": beside(page, lines, random, comments if random.random() < 0.6 else teasers), "copy": 2}
    elif choice < 0.8:
        yield programmed(page, random) | {"copy": 2}
    else:
        text = emptied(page)
        if text is not None:
            yield page | {"html": text, "main": "", "empty": True, "copy": 2}
