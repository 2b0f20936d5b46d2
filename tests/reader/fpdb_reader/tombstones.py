"""Tombstones: the entries of older segments that a segment removes."""

from .conventions import Cursor, check


def read_tombstones(paged):
    """The removed entries, ascending."""
    meta = Cursor(paged.meta, "5.1", paged.where)
    count = meta.number(8)
    size = paged.header.bits // 8
    check(64 + count * (size + 8) == len(paged.body), "14.1", paged.where,
          "the body is not exactly header and records")
    records = Cursor(paged.body, "14.1", paged.where, start=64)
    entries = [(records.number(size), records.number(8)) for _ in range(count)]
    for before, after in zip(entries, entries[1:]):
        check(before < after, "14.2", paged.where, "the records do not ascend")
    return entries
