"""Compares dedup with datasketch on real texts, whose exact similarities are all computed.

`left` are the pairs of a similarity of at least 0.8 of which both texts were kept; `wrong` are dropped texts that are
less than 0.5, or less than 0.8, similar to any other. Similarities are those of sets of five words.

    target/python/bin/pip install datasketch
    target/python/bin/python python/benches/real_texts.py TEXTS.ndjson.gz...
"""

from __future__ import annotations

import sys
from typing import Any

import fpdb_engine as fpdb
import numpy as np
from dedup import similarities, texts_of, with_datasketch


def kept_by_datasketch(texts: list[str], folder: Any = None) -> Any:
    keep = np.ones(len(texts), np.bool_)
    # Without five words there is nothing to compare.
    rows = [row for row, text in enumerate(texts) if fpdb.jaccard(text, text, ngram=5) == 1]
    dropped = with_datasketch([texts[row] for row in rows], folder)
    keep[np.array(rows)[dropped]] = False
    return keep


def label(options: dict[str, Any]) -> str:
    written = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return f"with `{written}`" if written else "`fpdb_engine.dedup`"


def main() -> None:
    texts = list(texts_of(sys.argv[1:]))
    similar = similarities(texts)
    similar = np.maximum(similar, similar.T)
    print(f"{len(texts):,} texts, {np.count_nonzero(similar >= 0.8) // 2:,} pairs of J >= .8")
    options: list[dict[str, Any]] = [
        {},
        {"ngram": 5},
        {"recipe": "fives/1"},
        {"recipe": "fives/1", "recall": 0.98},
        {"recipe": "fives/1", "verify": False},
    ]
    programs = [(label(some), fpdb.dedup(texts, **some).keep) for some in options]
    programs.append(("datasketch, MinHash LSH 14 x 8", kept_by_datasketch(texts)))
    print("| program | dropped | left | wrong, < .5, < .8 |\n| --- | ---: | ---: | ---: |")
    for name, keep in programs:
        left = np.count_nonzero(similar[np.ix_(keep, keep)] >= 0.8) // 2
        nearest = similar[~keep].max(axis=1)
        wrong = ", ".join(f"{np.count_nonzero(nearest < limit):,}" for limit in (0.5, 0.8))
        print(f"| {name} | {np.count_nonzero(~keep):,} | {left} | {wrong} |")


if __name__ == "__main__":
    main()
