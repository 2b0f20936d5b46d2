"""Compares the second reader with fpdb for small random databases.

    python3 tests/reader/random_databases.py FPDB_TOOL [COUNT [SEED]]

makes COUNT databases of each kind, 10 by default, with the seeds from SEED on, 1 by default. They have few entries, so
10,000 of each kind take an hour. If one differs, its kind and seed are printed, from which it can be made again.
"""

import json
import random
import sys
import tempfile
import zlib
from pathlib import Path

from check import compare
from databases import SKETCH, fingerprints, hexadecimal, import_list
from tool import Server, Tool

LAYOUTS = ("single", "half-2", "ring-3", "ring-4", "paper-4", "paper-10", "paper-16", "paper-20")


def main(program, count=10, first=1):
    """Compares `count` databases of each kind."""
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    for make in (tables, documents, sketches, passages):
        for seed in range(first, first + count):
            with tempfile.TemporaryDirectory(dir=in_memory) as scratch:
                tool, rng = Tool(program, scratch), random.Random(seed)
                folder = tool.scratch / "database"
                try:
                    make(tool, rng, folder)
                    compare(tool, folder, rng)
                except Exception:
                    print(f"{make.__name__}, seed {seed}:", file=sys.stderr)
                    raise
        print(f"the reader and fpdb agree on {count} databases of {make.__name__}", flush=True)


def tables(tool, rng, folder):
    """Fingerprints in one to three segments."""
    bits = rng.choice((64, 128))
    options = ("--layout", rng.choice(LAYOUTS), "--bits", bits, "--block-size", 128 << rng.randrange(6),
               "--filter-bits", rng.choice((0, 1, 8, 16, 32)), "-k", rng.randrange(7))
    tool.run("create", folder, *options)
    lines = [f"{hexadecimal(value, bits)},{rng.choice((index, index % 7, rng.getrandbits(64)))}"
             for index, value in enumerate(clustered(rng, bits))]
    for _ in range(rng.randrange(1, 4)):
        import_list(tool, folder, some_of(rng, lines), "--id-column", 2)
        if rng.random() < 0.3:
            tool.run("remove", folder, "--from", "fp", tool.input(some_of(rng, lines)))
    if rng.random() < 0.2:
        tool.run("compact", folder)


def documents(tool, rng, folder):
    """Documents with names or unique ids: in segments, and in the log of a server that was killed."""
    live(tool, rng, folder, rng.choice((64, 128)), "--layout", rng.choice(LAYOUTS), "-k", rng.randrange(7))


def sketches(tool, rng, folder):
    """Documents with sketches, as the ones above."""
    live(tool, rng, folder, SKETCH, "--jaccard", rng.choice((0.5, 0.7, 0.8, 0.9, 0.99)))


def passages(tool, rng, folder):
    """An index of passages, of an export that nobody wrote: its windows are random."""
    bits, seed = rng.randrange(46, 64), rng.getrandbits(64)
    window = [value >> 64 - bits << 64 - bits for value in clustered(rng, 64)]
    entries = sorted({(value or 1 << 63, rng.getrandbits(rng.choice((3, 40)))) for value in window})
    header = {"schema": "fpdb.export/1", "bits": 64, "ids": "user", "next_id": None, "count": len(entries),
              "recipe": None, "extraction": None,
              "passages": {"min_words": rng.randrange(14, 1001), "bits": bits, "seed": seed},
              "layout": {"name": "single", "cells": [64], "orders": [[0]]},
              "rule": {"max_distance": 0, "similar": None}, "block_size": 128, "filter_bits": 8}
    lines = [json.dumps(header, separators=(",", ":"))]
    lines += [f'{{"id":{number},"fingerprint":"{value:#018x}"}}' for value, number in entries]
    written = "".join(f"{line}\n" for line in lines).encode()
    total = json.dumps({"count": len(entries), "crc32": f"{zlib.crc32(written):08x}"}, separators=(",", ":"))
    tool.run("import", "--all", folder, tool.input([*lines, total], "ndjson"))


def live(tool, rng, folder, bits, *options):
    """Documents that a server stored in `folder`, before it was killed."""
    kind = rng.choice(("names", "unique"))
    width = () if bits == SKETCH else ("--bits", bits)
    tool.run("create", folder, "--ids", kind, *width, *options)
    keys = [name_of(rng, kind) for _ in range(rng.randrange(1, 60))]
    values = clustered(rng, bits)
    with Server(tool, folder) as server:
        for _ in range(rng.randrange(1, 4)):
            server.send([command(rng, keys, values, bits) for _ in range(rng.randrange(60))])
            if rng.random() < 0.6:
                server.send([("FP.FLUSH",)])
    if rng.random() < 0.2:
        tool.run("compact", folder)


def command(rng, keys, values, bits):
    """A command that changes a document."""
    key = rng.choice(keys)
    if rng.random() < 0.15:
        return ("FP.DEL", key)
    stamp = ("STAMP", rng.getrandbits(rng.choice((5, 60)))) if rng.random() < 0.5 else ()
    remember = ("REMEMBER",) if rng.random() < 0.7 else ()
    return ("FP.UPSERT", key, hexadecimal(rng.choice(values), bits), *stamp, *remember)


def name_of(rng, kind):
    """A name or an id."""
    if kind == "unique":
        return rng.getrandbits(rng.choice((4, 64)))
    size = rng.choice((1, 3, 20, 20, 20, 300, 5000))
    return "".join(chr(rng.choice((rng.randrange(33, 127), rng.randrange(0x4e00, 0x9000)))) for _ in range(size))


def clustered(rng, bits):
    """Up to 150 fingerprints, of which some are near each other, equal, or share their leading bits."""
    values = fingerprints(rng, bits, rng.randrange(1, 100))
    start = rng.getrandbits(bits)
    return values + [start ^ rng.getrandbits(rng.choice((3, bits // 2))) for _ in range(rng.randrange(50))]


def some_of(rng, lines):
    """Some of these lines, at least one."""
    return rng.sample(lines, rng.randrange(1, len(lines) + 1))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
