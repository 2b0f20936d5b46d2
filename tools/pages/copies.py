"""Copies of labelled pages that mislead whoever trusts names, lengths or single signs, for fit.py to fit trees to.

A copy is without the names of classes and identifiers, so that names alone never decide; or has the first paragraphs of an
article only, and teasers or comments after it, so that lengths do not; or has things between and after its paragraphs that
are not part of it, and code, which is; or is a small page of some lines of the text with such things; or has these lines as
the posts of a forum; or lacks the article, as the page is or as a small page.
"""

import hashlib
import html
import re
from collections import defaultdict
from random import Random

import lxml.html

from score import flat, layout, site

# Kinds of pages that are articles, in the sets that we have.
ARTICLES = "article", "zh-news", "Chinese", "English", "Greek", "Polish", "Russian"
# Kinds of pages of which some are threads of forums, in which the posts are content.
THREADS = "forum", "cleaneval"
BLOCKS = "p", "li", "div", "span", "td", "h2", "h3", "h4", "dd"


def anonymous(page):
    """A page whose classes and identifiers say nothing, but are as like each other as before."""

    def attribute(found):
        name = lambda word: f"q{int(hashlib.md5(word.group().encode()).hexdigest()[:8], 16)}"
        return found[1] + re.sub(r"[^\s\"']+", name, found[2])

    return re.sub(r"""(\s(?:class|id)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)""", attribute, page, flags=re.I)


def tree_of(page):
    return lxml.html.document_fromstring(page["html"].encode(), parser=lxml.html.HTMLParser(encoding="utf-8"))


class Lines:
    """Lines of pages: of their articles, of what surrounds these, and of their code."""

    def __init__(self, pages):
        self.articles, self.prose, self.short = [], [], []
        for page in pages:
            self.articles += [line[:300] for line in page["main"].split("\n") if len(line) >= 60][:20]
            truth, seen = flat(page["main"]), set()
            for element in tree_of(page).iter(*BLOCKS):
                text = flat(element.text or "")
                if text in truth or text in seen or any(parent.tag in ("a", "script") for parent in element.iterancestors()):
                    continue
                seen.add(text)
                # Characters of Chinese say more than letters do.
                size = len(text) + sum(c >= "\u2e80" for c in text)
                if size >= 40:
                    self.prose.append(text[:300])
                elif size >= 8:
                    self.short.append(text)
        self.short = self.short or self.prose or [line[:30] for line in self.articles]
        self.prose = self.prose or self.short


def code_of(pages):
    """Program code of manuals and posts."""
    found = [element.text_content() for page in pages if "<pre" in page["html"] for element in tree_of(page).iter("pre")]
    return [text for text in found if text.count("\n") >= 4 and len(text) <= 6000]


def escape(text):
    return html.escape("".join(c for c in text if c >= " " or c == "\n"))


def shortened(page, lines, random):
    """An article with its first paragraphs only, and after it teasers or comments with the lines of other pages."""
    tree, truth = tree_of(page), flat(page["main"])
    is_content = lambda text: len(text) >= 60 and text in truth
    paragraphs = [p for p in tree.iter("p") if is_content(flat(p.text_content()))]
    for paragraph in paragraphs[random.randint(1, 5) :]:
        paragraph.drop_tree()
    if paragraphs:
        outer(paragraphs[0], random).addnext(lxml.html.fragment_fromstring(beside(lines, random)))
    return lxml.html.tostring(tree, encoding="unicode")


def outer(place, random):
    """The paragraph, or an element around it."""
    for _ in range(random.randint(1, 3)):
        parent = place.getparent()
        place = place if parent is None or parent.tag in ("body", "td") else parent
    return place


def date_of(random):
    day, month, year = random.randint(1, 28), random.randint(1, 12), random.randint(2005, 2026)
    return random.choice([f"{day}.{month}.{year}", f"{year}-{month:02}-{day:02}", f"{month}/{day}/{year}", f"{year}年{month}月{day}日"])


def beside(lines, random):
    """Like elements that are not the article."""
    is_comments, tag, name = random.random() < 0.4, random.choice(["div", "li"]), random.choice(["comment", "item", "c1"])
    items = []
    for _ in range(random.randint(4, 9)):
        text, other = (escape(line) for line in random.sample(lines.articles, 2))
        date = f"{date_of(random)} {random.randint(10, 23)}:{random.randint(10, 59)}"
        title = f"<h3><a href=x>{other[:50]}</a></h3>" if random.random() < 0.9 else f"<a href=x>{other[:50]}</a>"
        head = f"<div class=a>{other[:12]} {date}</div>" if is_comments else title
        items.append(f"<{tag} class={name}>{head}<div class=b><p>{text}</p></div></{tag}>")
    return f"<div class=list>{'<h3>' + escape(lines.short[0]) + '</h3>' if is_comments else ''}{''.join(items)}</div>"


def post_style(random):
    """One of several manners of showing comments or the posts of a forum."""
    tag, name = random.choice(["div", "li", "article"]), random.choice(["comment", "m", "column", "post"])
    link, time = random.choice(["a href=/u", "span", "b"]), random.choice(["span", "time", "div"])
    item = random.choice(["<p>TEXT</p>", "<div class=t>TEXT</div>", "<div class=t><p>TEXT</p></div>"])
    return tag, name, link, time, item


def post(style, who, when, text):
    tag, name, link, time, item = style
    head = f"<{link}>{who}</{link.split(' ')[0]}> <{time}>{when}</{time}>"
    return f"<{tag} class={name}><div>{head}</div>{item.replace('TEXT', text)}</{tag}>"


def comments(lines, random):
    """Comments in several manners, often more than the article."""
    style = post_style(random)
    items = []
    for _ in range(random.choice([3, 6, 12, 30])):
        text, other = (escape(line) for line in random.sample(lines.articles, 2))
        items.append(post(style, other.split(" ")[0][:12], date_of(random), text))
    around = "ul" if style[0] == "li" else "div"
    return f"<section><h3>{len(items)} {escape(random.choice(lines.short))}</h3><{around}>{''.join(items)}</{around}></section>"


def coupons(lines, random):
    """Offers, jobs or events: like elements of short lines."""
    two = "<a href=/g>ONE</a>", "<a href=/g><span>ONE</span></a><span>TWO</span><span>THREE</span>", "<span>ONE</span><p>TWO</p>"
    item, tag = random.choice([*two, "<a href=/g>ONE: TWO</a>", "<b>ONE</b> TWO", "<a href=/g>ONE</a> <em>THREE</em>"]), random.choice(["div", "li"])
    items = []
    for _ in range(random.randint(3, 10)):
        one, two, three = (escape(random.choice(lines.short)) for _ in range(3))
        text = item.replace("ONE", one[:30]).replace("TWO", two).replace("THREE", three if random.random() < 0.5 else date_of(random))
        items.append(f"<{tag} class=z2>{text}</{tag}>")
    head = f"<h3>{escape(random.choice(lines.short))}</h3>" if random.random() < 0.5 else ""
    around = "ul" if tag == "li" else "div"
    return f"<div class=z1>{head}<{around}>{''.join(items * random.choice([1, 1, 2]))}</{around}></div>"


def offer(lines, random):
    """A box of a heading and lines that ask for something."""
    around = random.choice(["div class=u1", "section", "aside", "figure", "div class=b9"])
    texts = [escape(line) for line in random.sample(lines.prose * 4, random.randint(2, 4))]
    head = random.choice(["<h3>HEAD</h3>", "<strong>HEAD</strong>", "<p>HEAD</p>", "<h4>HEAD</h4>", ""]).replace("HEAD", escape(random.choice(lines.short)))
    body = random.choice(["<p>TEXT</p>", "<p>TEXT</p>", "<div>TEXT</div>", "<label><input type=checkbox> TEXT</label>", "<li>TEXT</li>"])
    link = f" <a href=/in>{escape(random.choice(lines.short))}</a>" if random.random() < 0.5 else ""
    return f"<{around}>{head}{''.join(body.replace('TEXT', text) for text in texts)}{link}</{around.split(' ')[0]}>"


def media(lines, random, kind):
    """A picture, video or sound with a line about it, in one of several manners."""
    minutes, word = f"{random.randint(0, 59):02}:{random.randint(0, 59):02}", escape(random.choice(lines.short))
    parts = [minutes + random.choice([" min", " min.", "", " h"]), date_of(random), word]
    parts = random.sample(parts, random.randint(1, 3))
    line = random.choice([" | ", " · ", " • ", "｜", " / ", ", ", ". ", " "]).join(parts)
    line = random.choice([line, line, f"{word}: {minutes}", f"{word} {date_of(random)}", f"{minutes} {word}"])
    caption = escape(random.choice(lines.short + lines.prose))
    thing = [
        f"<div class=m><img src=1.jpg><p>{line}</p></div>",
        f"<div class=m><video src=v></video><p>{caption}</p><p>{line}</p></div>",
        f"<div class=m><img src=1.jpg><p>{caption}</p><p>{line}</p></div>",
        f"<div class=m><div class=v><iframe src=v></iframe></div><span>{line}</span></div>",
        f"<figure><img src=1.jpg><figcaption>{caption}</figcaption></figure><p class=d>{line}</p>",
        f"<figure><audio src=a></audio><div>{line}</div></figure>",
        f"<p class=d>{line}</p>",
        f"<div class=b><p class=s>{line}</p><p class=a>{word[:24]}</p></div>",
    ][kind % 8]
    return f"<div class=mod>{thing}</div>" if kind % 3 == 0 else thing


def pre(text, random):
    around = random.choice(["<pre>CODE</pre>", "<pre><code>CODE</code></pre>", "<div class=highlight><pre>CODE</pre></div>", "<figure><pre>CODE</pre></figure>"])
    return around.replace("CODE", escape(text))


def interrupted(page, lines, code, random):
    """An article with things between its paragraphs and after them, and what its text is then."""
    tree, truth, main = tree_of(page), flat(page["main"]), page["main"]
    is_content = lambda text: len(text) >= 40 and text in truth
    paragraphs = [p for p in tree.iter("p") if is_content(flat(p.text_content()))]
    if len(paragraphs) < 2:
        return None

    def add(place, text):
        for element in reversed(lxml.html.fragments_fromstring(text)):
            place.addnext(element)

    if random.random() < 0.3 and code:
        for _ in range(random.randint(1, 2)):
            text = random.choice(code)
            add(random.choice(paragraphs[1:] or paragraphs), pre(text, random))
            main += "\n" + text
    chance = random.random()
    if chance < 0.7:
        kind, places = random.randrange(24), random.sample(paragraphs[:-1] or paragraphs, min(random.randint(1, 4), max(1, len(paragraphs) - 1)))
        same = random.random() < 0.3
        thing = ""
        for place in places:
            if not thing or not same:
                thing = media(lines, random, kind) if chance < 0.4 else offer(lines, random)
            add(place, thing)
    if random.random() < 0.7:
        thing = random.choice([coupons, coupons, comments, comments, offer, beside, beside])(lines, random)
        add(paragraphs[-1] if random.random() < 0.5 else outer(paragraphs[-1], random), thing)
    return page | {"html": lxml.html.tostring(tree, encoding="unicode"), "main": main}


def ticker(lines, random):
    """A table of headlines, each with a time or a date."""
    when = lambda: random.choice([f"{random.randint(0, 23):02}:{random.randint(0, 59):02}", date_of(random)])
    rows = [f"<tr><td>{when()}</td><td><a href=/n>{escape(random.choice(lines.articles)[:80])}</a></td></tr>" for _ in range(random.randint(4, 20))]
    return f"<table class=t4>{''.join(rows)}</table>"


def in_elements(line, style):
    """A line of an article. Short ones are headings, items of lists and the like, which belong to it, too."""
    return style.replace("TEXT", escape(line))


def some_of(page, random):
    """Successive lines of the text of a page. Those of an article have at least one long one."""
    found = [line for line in page["main"].split("\n") if line.strip()]
    if page["kind"] not in ARTICLES:
        return found[: random.randint(3, 20)]
    start = random.choice([0, 0, random.randrange(max(1, len(found)))])
    wanted, chosen = random.choice([1, 2, 2, 3, 4, 6, 10]), []
    for line in found[start:]:
        chosen.append(line)
        wanted -= len(line) >= 60
        if wanted == 0:
            break
    return chosen if any(len(line) >= 60 for line in chosen) else []


def paragraphs_of(chosen, random):
    """These lines as HTML, in one of several manners."""
    long = random.choice(["<p>TEXT</p>"] * 6 + ["<div>TEXT</div>", "<x-p><p>TEXT</p></x-p>", "<p><span>TEXT</span></p>", "TEXT<br><br>"])
    kinds = ["<h3>TEXT</h3>", "<p>TEXT</p>", "<div>TEXT</div>", "<ul><li>TEXT</ul>", "<p><b>TEXT</b></p>", "TEXT<br>"]
    short = random.sample(kinds, 2)
    return [in_elements(line, long if len(line) >= 60 else random.choice(short)) for line in chosen]


def added(lines, code, random):
    """A list or program code that belongs to an article, as HTML and as lines of text."""
    if random.random() < 0.5 or not code:
        parts = [part.strip() for part in re.split("[,，、;]", random.choice(lines.articles)) if len(part) > 2][:8]
        item = random.choice(["<li>", "<li><p>"])
        return f"<ul>{''.join(item + escape(part) for part in parts)}</ul>", parts
    text = random.choice(code)
    return pre(text, random), [text]


def not_content(lines, random):
    """Something that is not part of an article."""
    kinds = [comments, comments, beside, beside, coupons, ticker, offer]
    kind = random.choice([*kinds, None])
    return kind(lines, random) if kind else media(lines, random, random.randrange(24))


def surroundings(lines, random):
    """A menu and a footer."""
    link = lambda: f"<a href=/m>{escape(random.choice(lines.short)[:20])}</a>"
    items = [link() for _ in range(random.randint(3, 9))]
    listed = "".join(f"<li>{item}</li>" for item in items)
    menu = ["", f"<nav><ul>{listed}</ul></nav>", f"<ul>{listed}</ul>", f"<div class=m>{' | '.join(items)}</div>"]
    notice = escape(random.choice(lines.prose))
    footer = ["", f"<footer>{link()} <p>{notice}</p></footer>", f"<div class=f>{link()} {link()}</div>", f"<p class=f>{notice}</p>"]
    return random.choice(menu), random.choice(footer)


def bare(page, lines, code, random):
    """A small page: some lines of an article, and little else but a menu and things that are not part of it."""
    chosen = some_of(page, random)
    if not chosen:
        return None
    texts = paragraphs_of(chosen, random)
    if len(texts) >= 2 and random.random() < 0.3:
        thing = offer(lines, random) if random.random() < 0.5 else media(lines, random, random.randrange(24))
        texts.insert(random.randint(1, len(texts) - 1), thing)
    if random.random() < 0.4:
        text, more = added(lines, code, random)
        texts.append(text)
        chosen = chosen + more
    menu, footer = surroundings(lines, random)
    title = escape(random.choice(lines.short)[:60])
    # Sometimes the last part is outside of the elements around the others.
    last = texts.pop() if len(texts) >= 2 and random.random() < 0.2 else ""
    article = random.choice(["", "", f"<h1>{title}</h1>", f"<h2>{title}</h2>"]) + "".join(texts)
    after = not_content(lines, random) if random.random() < 0.85 else ""
    if random.random() < 0.3 and not last:
        article, after = article + after, ""
    if random.random() < 0.15:
        panel = pre(random.choice(code), random) if random.random() < 0.4 and code else not_content(lines, random)
        after += f"<div {random.choice(['class=hide', 'style=display:none', 'hidden'])}>{panel}</div>"
    for _ in range(random.randint(0, 3)):
        around = random.choice(["div", "div", "div", "article", "section", "main"])
        article = f"<{around} class=w{random.randint(0, 9)}>{article}</{around}>"
    after = f"<div class=v>{after}</div>" if random.random() < 0.5 else after
    text = f"<html><head><title>{title}</title></head><body>{menu}{article}{last}{after}{footer}</body></html>"
    return page | {"html": text, "main": "\n".join(chosen)}


def thread(page, lines, random):
    """A page of a forum: its posts look like comments, but there is no article beside them."""
    texts = [line for line in page["main"].split("\n") if len(line) >= 40][: random.choice([3, 6, 12, 30])]
    if len(texts) < 3:
        return None
    style, items, main = post_style(random), [], []
    for text in texts:
        who, when = random.choice(lines.articles).split(" ")[0][:12], date_of(random)
        items.append(post(style, escape(who), when, escape(text)))
        main += [f"{who} {when}", text]
    menu, footer = surroundings(lines, random)
    title = escape(random.choice(lines.short)[:60])
    heading = random.choice(["", f"<h1>{title}</h1>", f"<h2>{title}</h2>"])
    text = f"<html><head><title>{title}</title></head><body>{menu}<div>{heading}{''.join(items)}</div>{footer}</body></html>"
    return page | {"html": text, "main": "\n".join(main)}


def hollow(page, lines, random):
    """A small page that lacks the article that it may promise: a menu, other things, and a footer."""
    menu, footer = surroundings(lines, random)
    title = escape(random.choice(lines.short)[:60])
    things = [random.choice([beside, coupons, ticker, offer])(lines, random) for _ in range(random.randint(0, 2))]
    article = random.choice(["", "<div id=app></div>", "<main></main>", "<div class=w1></div>", f"<h1>{title}</h1>"])
    about = escape(page["main"][:200]).replace('"', "")
    head = f'<meta property=og:type content=article><meta name=description content="{about}">' if random.random() < 0.5 else ""
    notice = f"<p>{escape(random.choice(lines.prose))}</p>" if random.random() < 0.3 else ""
    text = f"<html><head><title>{title}</title>{head}</head><body>{menu}{article}{''.join(things)}{notice}{footer}</body></html>"
    return page | {"html": text}


def others(page, lines, code, random):
    """The copies with other text than the page, or with more or less of it, by their kinds."""
    is_article = page["kind"] in ARTICLES
    for _ in range(2 if is_article else 0):
        found = interrupted(page, lines, code, random)
        if found:
            found["html"] = anonymous(found["html"]) if random.random() < 0.3 else found["html"]
            yield "interrupted", found
    for _ in range(2 if is_article else 1):
        found = bare(page, lines, code, random)
        if found:
            yield "bare", found
    fill = layout(page) if is_article else None
    if fill:
        yield "empty", page | {"html": fill("")}
    found = thread(page, lines, random) if page["kind"] in THREADS else None
    if found:
        yield "thread", found


def copies(sets):
    """The copies of all pages with a known text, as pairs of the name of the set and a page."""
    kinds = defaultdict(list)
    for name, pages in sets.items():
        for page in pages:
            if page.get("main"):
                kinds[name, page["kind"] if name == "daniel" else ""].append(page)
    code = code_of([page for pages in sets.values() for page in pages if page.get("main")])
    last = []
    for (name, _), pages in kinds.items():
        lines = Lines(pages)
        for page in pages:
            random = Random(page["id"])
            is_article = page["kind"] in ARTICLES
            plain = page["html"]
            text = shortened(page, lines, random) if is_article and random.random() < 0.7 else plain
            text = text if text != plain and random.random() < 0.5 else anonymous(text)
            yield name, page | {"html": text, "copy": "short", "host": site(page)}
            for kind, found in others(page, lines, code, random):
                yield name, found | {"copy": kind, "host": site(page)}
            if is_article:
                last.append((name, hollow(page, lines, random) | {"copy": "hollow", "host": site(page)}))
    yield from last
