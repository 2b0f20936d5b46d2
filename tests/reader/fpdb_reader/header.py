"""Files, and the header with which they begin."""

import re
from collections import namedtuple

from .conventions import Damage, OtherVersion, check, crc32

MAGIC = bytes.fromhex("8f667064620d0a1a")
MAJOR = 1
SIZE = 64

MANIFEST, LOG, TABLE, POSTINGS, TOMBSTONES, DOCUMENTS, BANDS, SPARE = range(1, 9)

# What a file says about itself. `identity` is bytes 16 to 56, which is the beginning of all checksums.
Header = namedtuple("Header", "kind bits part number database nonce identity")


def file_name(kind, number, part=0):
    """The name of a numbered file."""
    ending = {LOG: "log", TABLE: f"t{part:02}", POSTINGS: "ids", TOMBSTONES: "del",
              DOCUMENTS: "docs", BANDS: f"b{part:02}", SPARE: "spare"}[kind]
    return f"{number:016x}.{ending}"


def numbered(name):
    """The number of a log or of a segment's file from its name; None for other files."""
    match = re.fullmatch(r"([0-9a-f]{16})\.(log|ids|del|docs|spare|[tb][0-9]{2,})", name)
    return int(match[1], 16) if match else None


def read_header(data, where):
    """Reads and checks the header. Whether it is the expected one is checked by `expect`."""
    check(len(data) >= SIZE, "1.1", where, "it is too short for a header")
    check(data[:8] == MAGIC, "1.1", where, "it does not begin with the magic")
    check(crc32(data[:12]) == int.from_bytes(data[12:16], "little"), "1.2", where,
          "the version checksum is wrong")
    major, minor = int.from_bytes(data[8:10], "little"), int.from_bytes(data[10:12], "little")
    if major != MAJOR:
        raise OtherVersion("1.3", f"{where}: the format version is {major}.{minor}, and this reader knows only "
                           f"{MAJOR}.x")
    check(crc32(data[:60]) == int.from_bytes(data[60:64], "little"), "1.4", where,
          "the header checksum is wrong")
    check(not any(data[20:24]) and not any(data[56:60]), "1.5", where, "a reserved field is not zero")
    header = Header(
        kind=data[16],
        bits=8 * data[17],
        part=int.from_bytes(data[18:20], "little"),
        number=int.from_bytes(data[24:32], "little"),
        database=data[32:48],
        nonce=int.from_bytes(data[48:56], "little"),
        identity=data[16:56],
    )
    check(MANIFEST <= header.kind <= SPARE, "1.6", where, f"its kind {header.kind} is unknown")
    check(header.bits in (64, 128, 1824), "1.7", where, f"its fingerprints have {header.bits} bits")
    return header


CONDITIONS = {"kind": "1.6", "bits": "1.7", "part": "1.8", "number": "1.9", "database": "1.10", "nonce": "1.11"}


def expect(header, where, **fields):
    """Checks that the header has the identity that the file's place requires."""
    for name, value in fields.items():
        found = getattr(header, name)
        if found != value:
            raise Damage(CONDITIONS[name], where, f"the {name} in its header is {found!r} instead of {value!r}")
