"""Reads a database with the second reader, and prints what it holds.

    python3 tests/reader/read.py DB                  all entries
    python3 tests/reader/read.py DB documents        all documents
    python3 tests/reader/read.py DB query 0x1234 3   what is within 3 bits; by the database's rule without the 3
    python3 tests/reader/read.py DB fields FILE 7    the fields of block 7 of a file, with their offsets; without the 7,
                                                     those of its header and of what ends it
"""

import sys
from pathlib import Path

from fpdb_reader import fields
from fpdb_reader.conventions import Damage, InUse, OtherVersion
from fpdb_reader.database import Database


def main(arguments):
    """Prints what the arguments ask for."""
    if arguments[1:2] == ["fields"]:
        data = (Path(arguments[0]) / arguments[2]).read_bytes()
        block = fields.block(data, int(arguments[3]), arguments[2]) if len(arguments) > 3 else None
        for field in block or fields.ends(data, arguments[2]):
            print(*field, sep="\t")
        return
    database = Database(Path(arguments[0]))
    if arguments[1:2] == ["documents"]:
        for key, record in sorted(database.documents.items()):
            print(key, *record[2:], sep="\t")
    elif arguments[1:2] == ["query"]:
        distance = int(arguments[3]) if len(arguments) > 3 else None
        for match in database.query(int(arguments[2], 16), distance):
            print(f"{match[0]}\t{match[1]:#x}\t{match[2]}")
    else:
        for fingerprint, identifier in sorted(database.entries):
            print(f"{fingerprint:#x}\t{identifier}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1:])
    except (Damage, InUse, OtherVersion) as error:
        sys.exit(str(error))
