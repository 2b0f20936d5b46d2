"""Compares the second reader with fpdb.

    python3 tests/reader/check.py FPDB_TOOL          compares for the golden databases and fresh ones of every kind
    python3 tests/reader/check.py FPDB_TOOL DB ...   compares for these databases

The reader must find the same entries and documents as fpdb, and give the same answers to queries. Then single
bytes of the files are changed, and the reader must not give a wrong answer. If all checksums are right in spite
of the change, it must either refuse the database, or find the same as fpdb. (It may refuse more than fpdb does.)
"""

import random
import re
import sys
import tempfile
from itertools import chain
from pathlib import Path

import databases
import mutate
from fpdb_reader.database import Database
from fpdb_reader.manifest import CHOSEN, NAMES
from fpdb_reader.xxh3 import xxh3_64
from golden import golden_databases, in_order
from tool import Tool

SEED = 1
QUERIES = 30
COMPARISONS = 200_000  # of fingerprints per database and distance
CHANGES = 2  # per database
LARGE = 200_000  # bytes: a larger database is not changed


def main(program, folders):
    """Checks the given databases, or the golden ones and fresh ones."""
    check_hashes()
    rng = random.Random(SEED)
    changes = random.Random(SEED)
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=in_memory) as scratch:
        tool = Tool(program, scratch)
        made = named(map(Path, folders)) if folders else chain(named(golden_databases()),
                                                               databases.make_all(tool, rng))
        for name, folder in made:
            try:
                compare(tool, folder, rng)
                if Path(scratch) in folder.parents and size(folder) < LARGE:
                    check_changes(tool, folder, changes)
            except Exception:
                print(f"in the database {name}:", file=sys.stderr)
                raise
            print(f"the reader and fpdb agree on {name}")


def named(folders):
    """Each folder with its name."""
    return ((folder.name, folder) for folder in folders)


def check_hashes():
    """Compares the hashes in the document with the reader's."""
    document = Path(__file__).parents[2] / "storage-format.md"
    rows = re.findall(r"^\| (\d+) \| `0x([0-9a-f]{16})` \|$", document.read_text(encoding="utf-8"), re.M)
    assert len(rows) == 7, "the document has a hash for each range of lengths"
    seed = int.from_bytes(bytes(range(0xA0, 0xA8)), "little")
    for count, hash_value in rows:
        key = (bytes(range(256)) * 8)[:int(count)]
        equal(f"hashes of {count} bytes", [xxh3_64(key, seed)], [int(hash_value, 16)])


def compare(tool, folder, rng):
    """Compares what the reader and fpdb find in a database."""
    database = Database(folder)
    equal("entries", reader_entries(database), tool_entries(tool, folder))
    if database.manifest.kind_of_ids != CHOSEN:
        equal("documents", reader_documents(database), tool_documents(tool, folder))
    queries = make_queries(database, rng)
    for distance in (None, rng.randrange(10)):
        equal(f"answers within {distance}", [database.query(query, distance) for query in queries],
              tool_answers(tool, folder, queries, database.manifest.bits, distance))
    tool.run("verify", folder, "--level", "deep")


def equal(what, ours, theirs):
    """Raises an error unless both are the same."""
    if ours != theirs:
        difference = next((pair for pair in zip(ours, theirs) if pair[0] != pair[1]), "one is longer")
        raise AssertionError(f"the {what} differ: {len(ours)} of the reader, {len(theirs)} of fpdb; first "
                             f"{difference}")


def name_of(database, key):
    """The name or id that a key stands for."""
    return key.decode() if database.manifest.kind_of_ids == NAMES else int.from_bytes(key, "big")


def reader_entries(database):
    """All entries that the reader finds, with names if there are any."""
    if database.manifest.kind_of_ids != NAMES:
        return [(fingerprint, identifier, None) for fingerprint, identifier in in_order(database)]
    names = {record.id: name_of(database, key) for key, record in database.documents.items()}
    return [(fingerprint, identifier, names[identifier]) for fingerprint, identifier in in_order(database)]


def tool_entries(tool, folder):
    """All entries that fpdb finds."""
    return [(int(record["fingerprint"], 16), record["id"], record.get("name"))
            for record in tool.records("export", folder)]


def reader_documents(database):
    """All documents that the reader finds."""
    has_names = database.manifest.kind_of_ids == NAMES
    return [(name_of(database, key) if has_names else None, record.id, record.fingerprint, record.stamp,
             record.original) for key, record in sorted(database.documents.items())]


def tool_documents(tool, folder):
    """All documents that fpdb finds."""
    return [(record.get("name"), record["id"], int(record["fingerprint"], 16), record["stamp"],
             record["duplicate_of"] and record["duplicate_of"]["id"])
            for record in tool.records("export", folder, "--documents")]


def make_queries(database, rng):
    """Fingerprints, most of which are near an entry."""
    bits = database.manifest.bits
    entries = len(database.entries)
    count = min(QUERIES, entries, COMPARISONS // max(entries, 1))
    queries = [rng.getrandbits(bits) for _ in range(3)]
    for fingerprint, _ in rng.sample(sorted(database.entries), count):
        for _ in range(rng.randrange(6)):
            fingerprint ^= 1 << rng.randrange(bits)
        queries.append(fingerprint)
    return queries


def tool_answers(tool, folder, queries, bits, distance):
    """The answers of fpdb to all queries."""
    path = tool.input(databases.hexadecimal(query, bits) for query in queries)
    options = () if distance is None else ("-k", distance)
    records = tool.records("query", folder, path, "--from", "fp", *options)
    return [[(match["distance"], int(match["fingerprint"], 16), match["id"]) for match in record["matches"]]
            for record in records]


def size(folder):
    """The bytes of a database's files."""
    return sum(path.stat().st_size for path in folder.iterdir())


def check_changes(tool, folder, rng):
    """Changes bytes of a database, and sees that the reader does not give a wrong answer."""
    mutate.check_changed_bytes(folder, rng, CHANGES)
    for path, outcome in mutate.sealed_changes(folder, rng, CHANGES):
        if isinstance(outcome, Exception):
            continue
        try:
            compare(tool, folder, rng)
        except Exception as error:
            raise AssertionError(f"a byte of {path.name} was changed, which the reader accepts") from error


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
