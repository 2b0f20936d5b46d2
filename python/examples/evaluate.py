"""Measures what recipes find and miss in texts of your own, for each distance.

    python evaluate.py documents.ndjson pairs.tsv --recipe default --recipe words/1

Documents are lines of JSON with an id and a text. The list of pairs has a header and tabs between the columns id_a and
id_b (or base_id and variant_id), and either jaccard, a similarity from 0 to 1, or label, 1 for a duplicate and 0 for
a different text. Pairs between the two bounds are not counted. Recall is the share of duplicates within k bits,
precision the share of duplicates among the labelled pairs within k bits, F1 their harmonic mean.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from typing import Any, TextIO

import fpdb_engine as fpdb
import numpy as np

BITS = 64


def opened(path: str) -> TextIO:
    return gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")


def read_documents(path: str) -> dict[str, str]:
    with opened(path) as file:
        documents = map(json.loads, file)
        return {document["id"]: document["text"] for document in documents}


def read_pairs(path: str, numbers: dict[str, int]) -> Any:
    """Returns each pair once: the numbers of its documents, and their similarity."""
    pairs = {}
    with opened(path) as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            a, b = (row["id_a"], row["id_b"]) if "id_a" in row else (row["base_id"], row["variant_id"])
            pairs[tuple(sorted((numbers[a], numbers[b])))] = float(row["jaccard"] if "jaccard" in row else row["label"])
    return np.array([(a, b, similarity) for (a, b), similarity in pairs.items()])


def distances(a: Any, b: Any) -> Any:
    return np.unpackbits((a ^ b)[..., np.newaxis].view(np.uint8), axis=-1).sum(axis=-1)


def counts(values: Any) -> Any:
    """Returns the number of pairs within each distance."""
    return np.bincount(values, minlength=BITS + 1).cumsum()


def evaluate(texts: list[str], pairs: Any, recipe: str, options: argparse.Namespace) -> None:
    fingerprints, has_one = fpdb.fingerprint_batch(texts, recipe)
    a, b, similarity = pairs[:, 0].astype(int), pairs[:, 1].astype(int), pairs[:, 2]
    # A pair with a text that is too short is within no distance.
    reachable = has_one[a] & has_one[b]
    apart = distances(fingerprints[a], fingerprints[b])
    duplicate, different = similarity >= options.duplicate, similarity < options.different
    found, wrong = counts(apart[duplicate & reachable]), counts(apart[different & reachable])
    if options.complete:
        known = fingerprints[has_one]
        rows = (counts(distances(known[row], known[row + 1 :])) for row in range(len(known)))
        wrong = sum(rows) - counts(apart[~different & reachable])
    print(f"{recipe}: {duplicate.sum()} duplicates, {len(texts) - has_one.sum()} documents without fingerprint")
    print(" k  precision  recall  F1")
    for k in range(options.k + 1):
        precision = found[k] / max(found[k] + wrong[k], 1)
        recall = found[k] / max(duplicate.sum(), 1)
        f1 = 2 * found[k] / max(found[k] + wrong[k] + duplicate.sum(), 1)
        print(f"{k:2}  {precision:9.4f}  {recall:6.4f}  {f1:6.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("documents", help="NDJSON, plain or compressed with gzip")
    parser.add_argument("pairs")
    parser.add_argument("--recipe", action="append", help="may be given several times")
    parser.add_argument("-k", type=int, default=16, help="the largest distance to show")
    parser.add_argument("--duplicate", type=float, default=0.8, help="lowest similarity of a duplicate")
    parser.add_argument("--different", type=float, default=0.5, help="pairs below this similarity are different")
    parser.add_argument("--complete", action="store_true", help="pairs that are not listed are different")
    options = parser.parse_args()
    documents = read_documents(options.documents)
    pairs = read_pairs(options.pairs, {name: number for number, name in enumerate(documents)})
    for recipe in options.recipe or ["default"]:
        evaluate(list(documents.values()), pairs, recipe, options)


main()
