"""Columns: a table that leads to the blocks of table 0."""

from .conventions import Cursor, check, round_up

KEY_BITS = 32


def check_columns(paged, order, table0):
    """Checks that the rows are those of table 0's fingerprints. `order` permutes a fingerprint."""
    where = paged.where
    meta = Cursor(paged.meta, "5.1", where)
    rows, bucket_bits, block_bytes = meta.number(4), meta.number(1), meta.number(1)
    check(bucket_bits <= 27, "21.1", where, f"{bucket_bits} bucket bits are too many")
    check(1 <= block_bytes <= 4, "21.2", where, f"block numbers of {block_bytes} bytes are not allowed")
    check(rows <= table0.count, "21.3", where, "there are more rows than fingerprints")
    found = read_rows(paged, rows, bucket_bits, block_bytes)
    for before, after in zip(found, found[1:]):
        check(before < after, "21.7", where, "the rows do not ascend")
    check(all(block < table0.block_count for _, _, block in found), "21.6", where,
          "a row refers to a block that table 0 does not have")
    check(found == derive_rows(table0, order, bucket_bits), "21.9", where,
          "the rows are not those of table 0's fingerprints")


def read_rows(paged, rows, bucket_bits, block_bytes):
    """The bucket, key and block of each row."""
    body = Cursor(paged.body, "21.4", paged.where, start=64)
    check(rows * (4 + block_bytes) + (4 << bucket_bits) <= len(paged.body), "21.4", paged.where,
          "the rows exceed the body")
    keys = [body.number(4) for _ in range(rows)]
    body.zeros(round_up(body.at, 64))
    blocks = [body.number(block_bytes) for _ in range(rows)]
    body.zeros(round_up(body.at, 64))
    starts = [body.number(4) for _ in range((1 << bucket_bits) + 1)]
    body.finish()
    check(starts[0] == 0, "21.8", paged.where, "the directory does not begin with 0")
    check(starts[-1] == rows, "21.8", paged.where, "the directory does not end with the number of rows")
    found = []
    for bucket, (start, end) in enumerate(zip(starts, starts[1:])):
        check(start <= end <= rows, "21.5", paged.where, f"bucket {bucket} ends before it begins")
        found += [(bucket, keys[row], blocks[row]) for row in range(start, end)]
    return found


def derive_rows(table0, order, bucket_bits):
    """The rows that stand for the fingerprints of table 0."""
    rows = set()
    for number, block in enumerate(table0.blocks):
        for fingerprint in block:
            leading = order(fingerprint) >> table0.bits - bucket_bits - KEY_BITS
            rows.add((leading >> KEY_BITS, leading & 2**KEY_BITS - 1, number))
    return sorted(rows)
