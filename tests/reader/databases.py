"""Makes small databases of every kind, with fpdb-tool."""

import json
import shutil

from rotation import divide_log
from tool import Server

SKETCH = 1824  # bits

TABLES = [  # layout, bits, block size, filter bits, fingerprints
    ("single", 64, 128, 0, 900),
    ("single", 128, 4096, 0, 900),
    ("half-2", 64, 256, 8, 900),
    ("half-2", 128, 512, 16, 900),
    ("ring-3", 64, 1024, 8, 700),
    ("ring-3", 128, 128, 8, 700),
    ("ring:30/17/17", 64, 2048, 0, 700),
    ("ring-4", 64, 128, 32, 600),
    ("ring-4", 128, 4096, 8, 600),
    ("paper-4", 64, 128, 8, 600),
    ("paper-10", 64, 128, 1, 300),
    ("paper-10", 128, 256, 0, 300),
    ("paper-16", 64, 128, 0, 200),
    ("paper-20", 64, 128, 0, 150),
    ("paper-20", 128, 128, 8, 150),
]


def make_all(tool, random):
    """Yields the name and the folder of each database, when it is made."""
    for case in TABLES:
        name = "-".join(map(str, case)).replace("/", "+").replace(":", "-")
        yield name, make_tables(tool, random, tool.scratch / name, *case)
    for make in (empty, one_entry, several_ids, dense, alike, removals, compacted, names,
                 long_names, many_names, duplicates, unique_ids, similarity, many_sketches, merged, rebuilt):
        folder = tool.scratch / make.__name__
        make(tool, random, folder)
        yield make.__name__, folder
    yield from live_databases(tool, random)


def hexadecimal(fingerprint, bits=64):
    """A fingerprint with all its digits."""
    return f"0x{fingerprint:0{bits // 4}x}"


def fingerprints(random, bits, count):
    """Fingerprints of which every third is near an earlier one."""
    result = []
    for index in range(count):
        if index % 3 == 2:
            flips = random.randrange(1, 6)
            near = random.choice(result)
            for _ in range(flips):
                near ^= 1 << random.randrange(bits)
            result.append(near)
        else:
            result.append(random.getrandbits(bits))
    return result


def import_list(tool, folder, lines, *options):
    """Imports lines of fingerprints, which may have ids or names in the second column."""
    tool.run("import", folder, tool.input(lines), *options)


def make_tables(tool, random, folder, layout, bits, block_size, filter_bits, count):
    """A database of fingerprints with this layout, in two segments."""
    options = ("--layout", layout, "--bits", bits, "--block-size", block_size,
               "--filter-bits", filter_bits, "-k", 3)
    lines = [hexadecimal(value, bits) for value in fingerprints(random, bits, count)]
    import_list(tool, folder, lines, *options)
    import_list(tool, folder, lines[:20] + lines[5:9], "--first-id", count)
    return folder


def empty(tool, _, folder):
    """Nothing in it."""
    tool.run("create", folder, "--ids", "names", "--recipe", "pairs/1")


def one_entry(tool, random, folder):
    """A single entry, with the greatest id."""
    import_list(tool, folder, [f"{hexadecimal(random.getrandbits(64))},{2**64 - 1}"], "--id-column", 2)


def several_ids(tool, random, folder):
    """Fingerprints with several ids, some with very many."""
    lines = []
    for value in fingerprints(random, 64, 300):
        count = random.choice((1, 1, 1, 2, 5, 40))
        lines += [f"{hexadecimal(value)},{random.getrandbits(40)}" for _ in range(count)]
    import_list(tool, folder, lines, "--id-column", 2, "--layout", "half-2")


def dense(tool, random, folder):
    """Neighbouring numbers: blocks of thousands of fingerprints, and crowded slots."""
    start = random.getrandbits(62)
    lines = [hexadecimal(start + i) for i in range(12000)]
    import_list(tool, folder, lines, "--layout", "single", "--block-size", 4096)
    import_list(tool, folder, lines[:3000:2], "--first-id", 10**6)


def alike(tool, random, folder):
    """128-bit fingerprints with few different leading halves, so that slots are crowded."""
    halves = [random.getrandbits(64) for _ in range(5)]
    lines = [hexadecimal(random.choice(halves) << 64 | random.getrandbits(64), 128) for _ in range(2500)]
    import_list(tool, folder, lines, "--bits", 128, "--layout", "half-2")


def removals(tool, random, folder):
    """Several segments with tombstones; some removed entries are inserted again."""
    values = fingerprints(random, 64, 400)
    entries = [f"{hexadecimal(value)},{index}" for index, value in enumerate(values)]
    import_list(tool, folder, entries[:300], "--id-column", 2, "--layout", "ring-4")
    tool.run("remove", folder, "--from", "fp", tool.input(entries[0:200:7]))
    import_list(tool, folder, entries[:50:3] + entries[300:], "--id-column", 2)
    tool.run("remove", folder, "--from", "fp", tool.input(entries[100:400:11]))


def compacted(tool, random, folder):
    """One segment, after a compaction."""
    removals(tool, random, folder)
    tool.run("compact", folder)


def address(random):
    """The name of a page."""
    return f"https://{random.choice(('www.', ''))}example.{random.choice(('org', 'net'))}/" \
           f"{random.choice(('päge', 'article', '文章'))}/{random.randrange(10**6)}"


def names(tool, random, folder):
    """Documents with names, some updated, some removed, with and without stamps."""
    pages = sorted({address(random) for _ in range(700)})
    lines = [f"{hexadecimal(value)}\t{page}" for value, page in zip(fingerprints(random, 64, 700), pages)]
    tool.run("create", folder, "--ids", "names", "--layout", "half-2", "--filter-bits", 8)
    import_list(tool, folder, lines[:500], "--id-column", 2)
    tool.run("remove", folder, "--from", "names", tool.input(pages[:500:9]))
    changed = [f"{hexadecimal(random.getrandbits(64))}\t{page}" for page in pages[:60:2]]
    import_list(tool, folder, changed + lines[500:], "--id-column", 2)
    tool.run("remove", folder, "--from", "names", tool.input(pages[1:100:13]))


def long_names(tool, random, folder):
    """Names that take several pages, in leaves and as separators."""
    start = "".join(chr(random.randrange(0x4e00, 0x9000)) for _ in range(7000))
    pages = [start + str(number) for number in range(12)]
    pages += ["".join(chr(random.randrange(33, 127)) for _ in range(size)) for size in (1, 150, 65535, 9000, 4000)]
    pages += [start + "y" * 44535, "x"]
    tool.run("create", folder, "--ids", "names")
    commands = [("FP.UPSERT", page, hexadecimal(random.getrandbits(64))) for page in pages]
    with Server(tool, folder) as server:
        server.send(commands)
        server.send([("FP.FLUSH",)])
        shutil.copytree(folder, f"{folder}-copy")
    shutil.rmtree(folder)
    shutil.move(f"{folder}-copy", folder)


def many_names(tool, random, folder):
    """So many leaves that there are two levels of inner nodes, compacted."""
    lines = [f"{hexadecimal(random.getrandbits(64))}\t{random.getrandbits(3600):x}" for _ in range(1800)]
    tool.run("create", folder, "--ids", "names", "--layout", "single")
    import_list(tool, folder, lines, "--id-column", 2)
    tool.run("compact", folder)


def document_commands(random, bits, count):
    """Commands that insert, update and remove documents, of which some are remembered as duplicates."""
    pages = [address(random) for _ in range(count)]
    commands = []
    for page, value in zip(pages, fingerprints(random, bits, count)):
        stamp = ("STAMP", random.randrange(10**9)) if random.random() < 0.6 else ()
        commands.append(("FP.UPSERT", page, hexadecimal(value, bits), *stamp, "REMEMBER"))
        if random.random() < 0.1:
            commands.append(("FP.DEL", random.choice(pages)))
    return commands


def duplicates(tool, random, folder):
    """Documents that are remembered as duplicates, with stamps, in several segments."""
    tool.run("create", folder, "--ids", "names", "--bits", 128, "--layout", "ring-4", "-k", 6)
    with Server(tool, folder) as server:
        for _ in range(3):
            server.send(document_commands(random, 128, 200))
            server.send([("FP.FLUSH",)])
    tool.run("expire", folder, "--before", 10**8)


def unique_ids(tool, random, folder):
    """Documents with unique ids, some updated and some removed."""
    ids = [random.getrandbits(64) for _ in range(500)]
    lines = [f"{hexadecimal(value)},{number}" for value, number in zip(fingerprints(random, 64, 500), ids)]
    tool.run("create", folder, "--ids", "unique", "--layout", "ring-3")
    import_list(tool, folder, lines, "--id-column", 2)
    changed = [f"{hexadecimal(random.getrandbits(64))},{number}" for number in ids[:100:3]]
    import_list(tool, folder, changed, "--id-column", 2)
    tool.run("remove", folder, "--from", "names", tool.input(ids[:300:17]))


def texts(random, count):
    """NDJSON documents of random words, of which some are nearly alike."""
    words = ["".join(random.choice("abcdefghijklmnop") for _ in range(random.randrange(3, 9)))
             for _ in range(400)]
    written = []
    for index in range(count):
        text = [random.choice(words) for _ in range(50)]
        if index % 4 == 3:
            text = list(random.choice(written))
            text[random.randrange(50)] = "other"
        written.append(text)
        yield json.dumps({"id": f"text {index}", "text": " ".join(text)})


def similarity(tool, random, folder):
    """Sketches, in three segments, of which the last only removes."""
    pages = tool.input(texts(random, 300), "ndjson")
    tool.run("import", folder, pages, "--jaccard", 0.8, "--from", "ndjson")
    tool.run("dedup", folder, tool.input(texts(random, 100), "ndjson"), "--stamp", 5, "--print", "id")
    tool.run("remove", folder, "--name", "text 299")


def many_sketches(tool, random, folder):
    """So many leaves that their numbers take two bytes in the tables of bands; with updates and removals."""
    sketches = fingerprints(random, SKETCH, 11000)
    lines = [f"{hexadecimal(value, SKETCH)},{number}" for number, value in enumerate(sketches)]
    tool.run("create", folder, "--jaccard", 0.9, "--ids", "unique")
    import_list(tool, folder, lines, "--id-column", 2)
    changed = [f"{hexadecimal(random.getrandbits(SKETCH), SKETCH)},{number}" for number in range(0, 3000, 7)]
    import_list(tool, folder, changed, "--id-column", 2)
    tool.run("remove", folder, "--from", "names", tool.input(range(5, 1000, 11)))


def merged(tool, random, folder):
    """Two databases with names, merged."""
    parts = [f"{folder}-{index}" for index in range(2)]
    for part in parts:
        tool.run("import", part, tool.input(texts(random, 80), "ndjson"), "--from", "ndjson")
    tool.run("merge", *parts, "--out", folder)


def rebuilt(tool, random, folder):
    """A database with duplicates, written again with other options, and backed up."""
    duplicates(tool, random, f"{folder}-from")
    tool.run("rebuild", f"{folder}-from", "--out", f"{folder}-2", "--layout", "paper-4")
    tool.run("backup", f"{folder}-2", "--out", folder)


def live_databases(tool, random):
    """Databases as they are while a server writes: with a log only, and with segments and a log."""
    for kind, bits in (("user", 128), ("unique", 64), ("names", 64), ("names", SKETCH)):
        folder = tool.scratch / f"live-{kind}-{bits}"
        width = ("--jaccard", 0.8) if bits == SKETCH else ("--bits", bits)
        tool.run("create", folder, "--ids", kind, *width)
        with Server(tool, folder) as server:
            for state in ("log", "segment", "both"):
                if state == "segment":
                    server.send([("FP.FLUSH",)])
                else:
                    for command in live_commands(random, kind, bits):
                        server.send([command])
                copy = tool.scratch / f"{kind}-{bits}-{state}"
                shutil.copytree(folder, copy)
                yield copy.name, copy
        yield torn(copy)
        divided = tool.scratch / f"{kind}-{bits}-divided"
        shutil.copytree(tool.scratch / f"{kind}-{bits}-log", divided)
        divide_log(divided)
        yield divided.name, divided


def torn(folder):
    """A database whose last commit a crash has torn."""
    log = next(folder.glob("*.log"))
    log.write_bytes(log.read_bytes()[:-40])
    return f"{folder.name}-torn", folder


def live_commands(random, kind, bits):
    """Commands for a database with this kind of ids."""
    if kind == "names":
        return document_commands(random, bits, 40)
    commands = []
    for value in fingerprints(random, bits, 40):
        key, digits = random.randrange(100), hexadecimal(value, bits)
        commands.append(("FP.ADDNX", key, digits))
        if random.random() < 0.2:
            commands.append(("FP.DEL", key, digits))
    return commands
