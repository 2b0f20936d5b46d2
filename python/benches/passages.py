"""Compares dedup_passages and dedup_lines with what people use: datatrove's sentences and a suffix array.

Each program runs in a process of its own, on the same texts, in one thread. `found` are the bytes that it would remove.
The seconds of processor time do not include reading the texts.

The suffix array is that of pydivsufsort, with its LCP array: all substrings of so many bytes that occurred before, or
in an earlier text. The programs that text-dedup and datatrove call for this are not packages, and build the array in
parts that they merge.

    target/python/bin/pip install pydivsufsort spacy
    target/python/bin/python python/benches/passages.py TEXTS.ndjson.gz [PROGRAM...]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
from dedup import texts_of

# For each row, the places of bytes to remove.
Places = list[tuple[int, int, int]]


def places_of(found: fpdb.Passages) -> Places:
    return list(zip(found.row.tolist(), found.begin.tolist(), found.end.tolist()))


def with_passages(texts: list[str], **options: Any) -> Places:
    return places_of(fpdb.dedup_passages(texts, threads=1, **options))


def with_lines(texts: list[str], **options: Any) -> Places:
    return places_of(fpdb.dedup_lines(texts, threads=1, **options))


def with_sentences(texts: list[str]) -> Places:
    from datatrove.data import Document
    from datatrove.pipeline.dedup import SentenceDedupFilter, SentenceDedupSignature, SentenceFindDedups
    from datatrove.pipeline.dedup.sentence_dedup import SentDedupConfig

    removed: Places = []

    class Noted(SentenceDedupFilter):
        def remove_dup_sentences(self, doc: Any, du_lines: Any) -> Any:
            kept = super().remove_dup_sentences(doc, du_lines)
            removed.append((int(doc.id), 0, len(doc.text.encode()) - len(kept[0].encode())))
            return kept

    config = SentDedupConfig(only_dedup_in_index=False, min_doc_words=0, min_num_sentences=0)
    documents = [Document(text=text, id=str(row)) for row, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        signatures, found = f"{folder}/s", f"{folder}/f"
        SentenceDedupSignature(signatures, config=config).run(iter(documents))
        SentenceFindDedups(signatures, found, config=config).run()
        for _ in Noted(found, config=config).run(iter(documents)):
            pass
    return removed


def with_suffix_array(texts: list[str], length: int, earlier: bool = False) -> Places:
    from pydivsufsort import divsufsort, kasai

    # A byte that is in no text ends each.
    data = np.frombuffer(bytearray(b"\xff".join(text.encode() for text in texts)), np.uint8)
    ends = np.cumsum([len(text.encode()) + 1 for text in texts])
    suffixes = divsufsort(data)
    # Suffixes that begin with the same substring, and where, or in which text, it occurs first.
    group = np.cumsum(np.append(True, kasai(data, suffixes)[:-1] < length)) - 1
    places = np.searchsorted(ends, suffixes, "right") if earlier else suffixes
    first = np.full(group[-1] + 1, len(data))
    np.minimum.at(first, group, places)
    begins = suffixes[first[group] < places]
    covered = np.zeros(len(data) + 1, np.int32)
    np.add.at(covered, begins, 1)
    np.add.at(covered, np.minimum(begins + length, len(data)), -1)
    inside = (np.cumsum(covered[:-1]) > 0) & (data != 0xFF)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]]))).reshape(-1, 2)
    return [(0, begin, end) for begin, end in edges.tolist()]


PROGRAMS: dict[str, Callable[[list[str]], Places]] = {
    "passages, 50 words": with_passages,
    "passages, 50 words, gaps=5": partial(with_passages, gaps=5),
    "passages, 16 words": partial(with_passages, min_words=16),
    "lines": with_lines,
    "paragraphs": partial(with_lines, unit="paragraph"),
    "datatrove, 3 sentences": with_sentences,
    "suffix array, 300 bytes": partial(with_suffix_array, length=300),
    "suffix array, 300 bytes of an earlier text": partial(with_suffix_array, length=300, earlier=True),
    "suffix array, 100 bytes": partial(with_suffix_array, length=100),
    "suffix array, 100 bytes of an earlier text": partial(with_suffix_array, length=100, earlier=True),
}


def child(name: str, paths: list[str]) -> None:
    texts = list(texts_of(paths))
    before = resource.getrusage(resource.RUSAGE_SELF)
    places = PROGRAMS[name](texts)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ends: dict[int, int] = {}
    found = 0
    for row, begin, end in sorted(places):
        found += max(0, end - max(begin, ends.get(row, 0)))
        ends[row] = max(end, ends.get(row, 0))
    print(json.dumps([cpu, (after.ru_maxrss - before.ru_maxrss) / 1e3, found]))


def main() -> None:
    if sys.argv[1] == "--child":
        child(sys.argv[2], sys.argv[3:])
        return
    paths = [path for path in sys.argv[1:] if Path(path).exists()]
    names = [name for name in sys.argv[1:] if name not in paths] or list(PROGRAMS)
    size = sum(len(text.encode()) for text in texts_of(paths))
    print(f"{size / 1e6:.1f} MB\n| program | processor s | memory MB | found, % of the bytes |\n| --- | --- | --- | --- |")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for name in names:
        command = [sys.executable, __file__, "--child", name, *paths]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment).stdout
        cpu, memory, found = json.loads(output.strip().splitlines()[-1])
        print(f"| {name} | {cpu:.2f} | {memory:.0f} | {100 * found / size:.2f} |", flush=True)


if __name__ == "__main__":
    main()
