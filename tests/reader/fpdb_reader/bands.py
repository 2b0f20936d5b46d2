"""Bands: a table that leads from one band of a sketch to leaves of documents."""

from .conventions import Cursor, check, round_up
from .sketch import band

REST = 16  # bits


def check_bands(paged, number, rule, leaves, entries):
    """Checks that the rows are those of band `number` of the originals in the leaves, by their pages."""
    where = paged.where
    meta = Cursor(paged.meta, "5.1", where)
    rows, bucket_bits, page_bytes = meta.number(4), meta.number(1), meta.number(1)
    check(bucket_bits <= 27, "21.1", where, f"{bucket_bits} bucket bits are too many")
    check(1 <= page_bytes <= 4, "21.2", where, f"page numbers of {page_bytes} bytes are not allowed")
    check(rows == entries, "21.3", where, f"there are {rows} rows for {entries} entries")
    found = read_rows(paged, rows, bucket_bits, page_bytes)
    for before, after in zip(found, found[1:]):
        check(before <= after, "21.7", where, "the rows do not ascend")
    check(all(page in leaves for _, _, page in found), "21.6", where, "a row refers to a page on which no leaf begins")
    check(bucket_bits == min(max(rows.bit_length() - 6, 0), 27), "21.9", where,
          f"{bucket_bits} bucket bits are not those for {rows} rows")
    check(found == derive_rows(number, rule.minima, leaves, bucket_bits), "21.9", where,
          "the rows are not those of the documents")


def read_rows(paged, rows, bucket_bits, page_bytes):
    """The bucket, rest and page of each row."""
    body = Cursor(paged.body, "21.4", paged.where, start=64)
    check(rows * (2 + page_bytes) + (4 << bucket_bits) <= len(paged.body), "21.4", paged.where,
          "the rows exceed the body")
    rests = [body.number(2) for _ in range(rows)]
    body.zeros(round_up(body.at, 64))
    pages = [body.number(page_bytes) for _ in range(rows)]
    body.zeros(round_up(body.at, 64))
    starts = [body.number(4) for _ in range((1 << bucket_bits) + 1)]
    body.finish()
    check(starts[0] == 0, "21.8", paged.where, "the directory does not begin with 0")
    check(starts[-1] == rows, "21.8", paged.where, "the directory does not end with the number of rows")
    found = []
    for bucket, (start, end) in enumerate(zip(starts, starts[1:])):
        check(start <= end <= rows, "21.5", paged.where, f"bucket {bucket} ends before it begins")
        found += [(bucket, rests[row], pages[row]) for row in range(start, end)]
    return found


def derive_rows(number, minima, leaves, bucket_bits):
    """The rows that stand for the originals in the leaves."""
    rows = []
    for page, leaf in leaves.items():
        for record in leaf.records:
            if not record.removed and record.original is None:
                at_the_top = band(record.fingerprint, number, minima) << 64 - 6 * minima
                leading = at_the_top >> 64 - bucket_bits - REST
                rows.append((leading >> REST, leading & 2**REST - 1, page))
    return sorted(rows)
