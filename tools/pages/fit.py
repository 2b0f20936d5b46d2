"""Fits the trees of main/1 to labelled pages, and writes them into crates/fpdb-web/src/content/weights.

A folder holds sets as score.py reads them. Each page has the same weight, and in it a block has one that grows with
its length. Copies of the pages that mislead (copies.py) count less. The crate's own test `write_blocks` says what the
trees can ask of each block and of each page, so that nothing is computed twice in different ways. The second forest is
fitted to first scores of pages of other sites, because it must not trust them too much, and so is the forest that says
whether a page has content at all: to these pages, and to copies without their articles.

    pip install numpy catboost==1.2.10 lxml
    python3 fit.py FOLDER
    python3 fit.py --whole FOLDER
    python3 fit.py --held-out texts.ndjson FOLDER
    python3 fit.py --held-out texts.ndjson --oracles FOLDER FOLDER

The first command writes all trees. The second writes the trees for whole pages only:
after a change of what is known of whole pages, those for blocks can stay. The third also writes the text that each page has
if the trees are fitted to the pages of other sites: five times to four fifths of the sites. To score them: `score.py
--program "held-out=cat texts.ndjson" FOLDER`. The last also writes what texts were possible with the same blocks: those that
are labelled as content (`labels.ndjson`), and those above the threshold of the page that gives the best F1
(`thresholds.ndjson`).
"""

import argparse
import hashlib
import json
import os
import subprocess
import tempfile
from bisect import bisect_left
from collections import defaultdict
from pathlib import Path

import numpy
from catboost import CatBoostClassifier

from copies import copies
from score import flat, read, score, site, words

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "crates/fpdb-web/src/content/weights"
FOLDS = 5
# The questions of a tree: those of blocks and those of pages, of which there are fewer.
DEPTH, DEPTH_OF_PAGES = 6, 5
RATE = 0.12
# The trees of the forests: those of the first and second scores of blocks, and of the scores of pages.
TREES = 150, 150, 60
# Blocks that weigh less are left out at random, and the others weigh this, so that fitting takes minutes.
LEAST = 0.03
# Pages of few, but important, sets count more, and so do blocks with pieces.
WEIGHT = defaultdict(lambda: 1, zh=3, cleaneval=2) | dict.fromkeys(("git", "reference-en", "reference-zh"), 0.3)
PIECE = 0.12
COPY = {"short": 0.35, "interrupted": 0.18, "bare": 0.05, "thread": 0.25, "empty": 0, "hollow": 0}
# Copies that lack their article, and how much the copies count among whole pages.
WITHOUT = "empty", "hollow"
COPY_OF_PAGE = {"short": 0.3, "interrupted": 0.3, "bare": 0.1, "thread": 0.1, "empty": 1, "hollow": 0.3}
# The score of a page below which it has no content. It is so low that hardly any page with content is lost.
EMPTY = -3.3


def increasing(places):
    """The longest sequence of places (i, j) in which both rise. They are sorted by i, and then by falling j."""
    tails, last, before = [], [], []
    for number, (_, j) in enumerate(places):
        at = bisect_left(tails, j)
        before.append(last[at - 1] if at else None)
        tails[at : at + 1], last[at : at + 1] = [j], [number]
    number = last[-1] if last else None
    while number is not None:
        yield places[number]
        number = before[number]


def aligned(page, truth):
    """Which words of a page are those of the true text: in the same order, and in any."""
    size = min(3, len(truth))
    places = defaultdict(list)
    for j in range(len(truth) - size + 1):
        places[tuple(truth[j : j + size])].append(j)
    at, anywhere = [None] * len(page), [False] * len(page)
    candidates = []
    for i in range(len(page) - size + 1):
        found = places.get(tuple(page[i : i + size]), [])
        if found:
            anywhere[i : i + size] = [True] * size
        if len(found) <= 6:
            candidates += [(i, j) for j in reversed(found)]
    for i, j in increasing(candidates):
        at[i : i + size] = range(j, j + size)
    for step, order in ((1, range(1, len(page))), (-1, range(len(page) - 2, -1, -1))):
        for i in order:
            j = at[i - step]
            if at[i] is None and j is not None and 0 <= j + step < len(truth) and truth[j + step] == page[i]:
                at[i] = j + step
    return [place is not None for place in at], anywhere


def labels(blocks, page):
    """For each block, 1 if it is content, 0 if not, and -1 if that is not known."""
    if page.get("copy") in WITHOUT:
        return [0] * len(blocks)
    if not page.get("main"):
        has = lambda text, pieces: any(flat(piece) in text for piece in pieces)
        return [0 if has(text, page["without"]) else 1 if has(text, page["with"]) else -1 for text in map(flat, blocks)]
    lines = {" ".join(words(line)) for line in page["main"].split("\n")}
    of_blocks = [words(block) for block in blocks]
    inside, anywhere = aligned([word for block in of_blocks for word in block], words(page["main"]))
    found, seen, start = [], set(), 0
    for block in of_blocks:
        end, text = start + len(block), " ".join(block)
        ordered, any_order = (sum(part[start:end]) / max(1, len(block)) for part in (inside, anywhere))
        start = end
        is_new = text not in seen
        if not block or len(block) < 12 and 0.35 <= ordered < 0.6:
            found.append(-1)
        elif ordered >= 0.5 or len(block) >= 8 and any_order >= 0.75 and is_new:
            found.append(1)
            seen.add(text)
        elif text in lines and is_new:
            found.append(1 if len(block) > 2 else -1)
        else:
            found.append(0)
    return found


class Pages:
    """Labelled pages, in the folder in which the crate's test exchanges files with this program."""

    def __init__(self, sets, folder):
        self.folder = folder
        pages = [(name, page) for name, pages in sets.items() for page in pages]
        self.pages = pages + list(copies(sets))
        self.write("pages", ({"id": page["id"], "html": page["html"]} for _, page in self.pages))
        lines, values = self.run()
        self.blocks = blocks = [line["blocks"] for line in lines]
        self.starts = numpy.cumsum([0, *map(len, blocks)])
        # The values before the features of the block itself say what is around it.
        around = int((folder / "around").read_text())
        self.features = values[:, around:].copy()
        self.labels = numpy.array([label for (_, page), texts in zip(self.pages, blocks) for label in labels(texts, page)])
        hosts = [page.get("host") or site(page) for _, page in self.pages]
        self.folds_of_pages = numpy.array([hashlib.sha1(host.encode()).digest()[0] % FOLDS for host in hosts])
        self.folds = numpy.repeat(self.folds_of_pages, numpy.diff(self.starts))
        self.weights = numpy.concatenate([self.weigh(*item) for item in enumerate(blocks)])
        self.weights[self.labels < 0] = 0

    def weigh(self, number, texts):
        name, page = self.pages[number]
        if not page.get("main"):
            return numpy.full(len(texts), PIECE)
        sizes = numpy.array([len(text.encode()) for text in texts], float)
        content = sizes[self.labels[self.starts[number] : self.starts[number + 1]] == 1].sum()
        weight = WEIGHT[name] * (COPY[page["copy"]] if "copy" in page else 1)
        return weight * numpy.minimum(1, (sizes / max(200, content)) ** 0.8)

    def write(self, name, values):
        (self.folder / name).write_text("".join(json.dumps(value) + "\n" for value in values))

    def run(self):
        """The lines and the values that the crate's test writes."""
        command = ["cargo", "test", "--release", "--quiet", "-p", "fpdb-web", "--lib", "--", "--ignored", "write_blocks"]
        environment = os.environ | {"FPDB_FIT": str(self.folder.resolve())}
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, env=environment)
        lines = [json.loads(line) for line in open(self.folder / "blocks", encoding="utf-8")]
        count = sum(len(line["blocks"]) for line in lines)
        return lines, numpy.fromfile(self.folder / "values", "<i2").reshape(count, -1)

    def give(self, name, scores):
        """Gives scores to the crate's test, in place of those that it would compute."""
        scores = numpy.clip(numpy.round(scores * 1000), -8000, 8000).astype(int)
        self.write(name, (part.tolist() for part in numpy.split(scores, self.starts[1:-1])))

    def fit(self, values, trees, chosen):
        random = numpy.random.default_rng(0).random(len(self.weights))
        chosen = chosen & (random * LEAST < self.weights)
        weights = numpy.maximum(self.weights, LEAST)
        return model(trees, RATE, 0.3, DEPTH).fit(values[chosen], self.labels[chosen], sample_weight=weights[chosen])

    def of_other_sites(self, values, trees):
        """The score of each block by trees that were fitted to the other folds."""
        scores = numpy.zeros(len(self.labels))
        for fold in range(FOLDS):
            held = self.folds == fold
            scores[held] = self.fit(values, trees, ~held).predict(values[held], prediction_type="RawFormulaVal")
        return scores


class Whole:
    """What is known of whole pages, for the trees that say whether they have content."""

    def __init__(self, pages, lines):
        self.values = numpy.array([line["whole"] for line in lines], "<i2")
        self.folds = pages.folds_of_pages
        self.labels = numpy.array([page.get("copy") not in WITHOUT for _, page in pages.pages]).astype(int)
        self.weights = numpy.array([self.weigh(page, line["text"]) for (_, page), line in zip(pages.pages, lines)])

    @staticmethod
    def weigh(page, text):
        """A page of which little is found need not be kept."""
        weight = COPY_OF_PAGE[page["copy"]] if "copy" in page else 1
        if page.get("copy") in WITHOUT or not page.get("main"):
            return weight
        f1 = score(text, page["main"])[2]
        return 0 if f1 < 0.3 else f1 * weight

    def fit(self, chosen):
        chosen = chosen & (self.weights > 0)
        return model(TREES[2], 0.1, 0.4, DEPTH_OF_PAGES).fit(self.values[chosen], self.labels[chosen], sample_weight=self.weights[chosen])

    def of_other_sites(self):
        scores = numpy.zeros(len(self.labels))
        for fold in range(FOLDS):
            held = self.folds == fold
            scores[held] = self.fit(~held).predict(self.values[held], prediction_type="RawFormulaVal")
        return scores - EMPTY


def oracles(pages, scores):
    """The texts of pages by their labels, and by the scores above the threshold that gives the best F1."""
    for number, (_, page) in enumerate(pages.pages):
        if not page.get("main") or "copy" in page:
            continue
        start, end = pages.starts[number : number + 2]
        text = lambda kept: "\n".join(block for block, is_kept in zip(pages.blocks[number], kept) if is_kept)
        levels = numpy.round(scores[start:end], 1)
        texts = [text(levels >= least) for least in numpy.unique(levels)] or [""]
        best = max(texts, key=lambda found: score(found, page["main"])[2])
        yield page["id"], text(pages.labels[start:end] == 1), best


def model(trees, rate, share, depth):
    return CatBoostClassifier(
        iterations=trees, depth=depth, learning_rate=rate, l2_leaf_reg=3, border_count=64, bootstrap_type="Bernoulli",
        subsample=0.7, rsm=share, random_seed=0, verbose=False, allow_writing_files=False, thread_count=1,
    )  # fmt: skip


def trees(model, folder, least=0):
    """The trees as text: an expression of Rust for each. The least score becomes 0."""
    path = folder / "model.json"
    model.save_model(str(path), format="json")
    model = json.loads(path.read_text())
    scale, (bias,) = model["scale_and_bias"]
    for number, tree in enumerate(model["oblivious_trees"]):
        # Values are whole numbers, so one is above a border if it is above the whole part of it.
        questions = [(s["float_feature_index"], int(numpy.floor(s["border"]))) for s in tree["splits"]]
        questions += [(0, 32767)] * (DEPTH - len(questions))
        parts = [round(1000 * (scale * value + (bias - least if number == 0 else 0))) for value in tree["leaf_values"]]
        parts += [0] * (2**DEPTH - len(parts))
        yield f"    Tree {{ questions: {[*questions]}, parts: {parts} }},\n".replace("), (", "), (")


def write_weights(name, model, folder, least=0):
    """Writes the trees of a forest into the file of its name, in place of those that are there."""
    path = WEIGHTS / f"{name}.rs"
    head, _, rest = path.read_text().partition("= &[\n")
    _, _, tail = rest.rpartition("];")
    path.write_text(f"{head}= &[\n{''.join(trees(model, folder, least))}];{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whole", action="store_true", help="write only the trees that say whether a page has content")
    parser.add_argument("--held-out", type=Path, metavar="FILE", help="write the texts of pages by trees that were fitted to other sites")
    parser.add_argument("--oracles", type=Path, metavar="FOLDER", help="write the best texts that can be made of the same blocks")
    parser.add_argument("folder", type=Path, help="a folder of labelled pages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pages = Pages(read(options.folder), Path(folder))
        pages.give("first", pages.of_other_sites(pages.features, TREES[0]))
        _, terms = pages.run()
        scores = pages.of_other_sites(terms, TREES[1])
        pages.give("second", scores)
        pages.write("page", ([0] for _ in pages.pages))
        lines, _ = pages.run()
        whole = Whole(pages, lines)
        if options.held_out:
            pages.write("page", ([round(1000 * score)] for score in whole.of_other_sites()))
            lines, _ = pages.run()
            texts = ({"id": page["id"], "text": line["text"]} for (_, page), line in zip(pages.pages, lines) if "copy" not in page)
            options.held_out.write_text("".join(json.dumps(text) + "\n" for text in texts))
        if options.oracles:
            options.oracles.mkdir(exist_ok=True)
            found = list(oracles(pages, scores))
            for name, column in (("labels", 1), ("thresholds", 2)):
                texts = (json.dumps({"id": row[0], "text": row[column]}) + "\n" for row in found)
                (options.oracles / f"{name}.ndjson").write_text("".join(texts))
        write_weights("whole", whole.fit(numpy.full(len(whole.labels), True)), Path(folder), EMPTY)
        if not options.whole:
            everything = numpy.full(len(pages.labels), True)
            write_weights("first", pages.fit(pages.features, TREES[0], everything), Path(folder))
            write_weights("second", pages.fit(terms, TREES[1], everything), Path(folder))


if __name__ == "__main__":
    main()
