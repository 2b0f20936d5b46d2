"""Paged files: the outer structure of tables, bands, postings, tombstones and documents."""

from collections import namedtuple

from .conventions import PAGE, check, crc32, u64

END_MARK = bytes.fromhex("8f6670656e640d1a")
TRAILER = 24
LONGEST_META = 4072
SUMS_PER_PAGE = 1023

# A checked file: the header, the body (with the header), and the meta.
Paged = namedtuple("Paged", "where header body meta")


def read_paged(data, header, where):
    """Checks the footer and the checksums of all pages, and returns body and meta."""
    body_length, meta_length = read_footer(data, header, where)
    check_pages(data, body_length, header, where)
    meta_start = len(data) - TRAILER - meta_length
    return Paged(where, header, data[:body_length], data[meta_start:len(data) - TRAILER])


def read_footer(data, header, where):
    """Checks the footer, and returns the lengths of body and meta."""
    check(len(data) >= TRAILER and data[-8:] == END_MARK, "3.1", where, "it does not end with the end mark")
    trailer = data[-TRAILER:]
    body_length = int.from_bytes(trailer[:8], "little")
    meta_length = int.from_bytes(trailer[8:12], "little")
    check(meta_length <= min(len(data) - TRAILER, LONGEST_META), "3.3", where, "the meta is too long")
    covered = data[len(data) - TRAILER - meta_length:len(data) - TRAILER + 12]
    check(crc32(header.identity, u64(2**64 - 1), covered) == int.from_bytes(trailer[12:16], "little"),
          "3.2", where, "the footer checksum is wrong")
    check(body_length >= 64, "3.4", where, f"the body has only {body_length} bytes")
    check(body_length + sums_length(body_length) + meta_length + TRAILER == len(data), "3.5", where,
          "body, page sums, meta and trailer do not make up the file")
    return body_length, meta_length


def sums_length(body_length):
    """The bytes that the page sums of a body take."""
    pages = -(-body_length // PAGE)
    return 4 * (pages + -(-pages // SUMS_PER_PAGE))


def check_pages(data, body_length, header, where):
    """Checks the page sums and, with them, the pages."""
    pages = -(-body_length // PAGE)
    at = body_length
    for index, first in enumerate(range(0, pages, SUMS_PER_PAGE)):
        count = min(SUMS_PER_PAGE, pages - first)
        sums, own = data[at:at + 4 * count], data[at + 4 * count:at + 4 * count + 4]
        check(crc32(header.identity, u64(2**63 + index), sums) == int.from_bytes(own, "little"), "4.2", where,
              f"the checksum of checksum page {index} is wrong")
        for page in range(first, first + count):
            content = data[page * PAGE:min((page + 1) * PAGE, body_length)]
            stored = int.from_bytes(sums[4 * (page - first):4 * (page - first) + 4], "little")
            check(crc32(header.identity, u64(page), content) == stored, "4.1", where,
                  f"the checksum of page {page} is wrong")
        at += 4 * count + 4
