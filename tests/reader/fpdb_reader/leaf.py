"""Leaf and inner node: the pages of a file of documents."""

from collections import namedtuple

from .conventions import PAGE, Cursor, bitmap, check, packed_numbers

REMOVED, DUPLICATES, STAMPS, SOME_STAMPS = 1, 2, 4, 8
LONGEST_KEY = 65535
MOST_RECORDS = 4096  # of a leaf, and most children of an inner node

# What a segment says about one document. `removed` records have only a key. `original` is None unless the
# document is a duplicate, and `stamp` is None without a stamp.
Record = namedtuple("Record", "key removed fingerprint id stamp original")

# `first` is the number of the first of the `pages` pages that a leaf or inner node takes.
Leaf = namedtuple("Leaf", "first pages records key_bytes")
Node = namedtuple("Node", "first pages children separators")


def read_leaf(body, start, end, number, symbols, has_names, bits):
    """The leaf that begins at page `number` of the leaves, which are at `start` to `end` of the body."""
    cursor = page_cursor(body, start, end, number, symbols.where, "leaf")
    count = cursor.bounded(2, 1, MOST_RECORDS, "15.15", "number of records")
    pages = cursor.bounded(2, 1, 33, "15.17", "number of pages")
    check(pages == 1 or count == 1, "15.17", cursor.where, "several records take more than one page")
    flags = cursor.bounded(1, 0, 15, "15.19", "flags")
    check(not flags & SOME_STAMPS or flags & STAMPS, "15.19", cursor.where,
          "some documents have stamps, but there are none")
    set_page_end(cursor, pages, end)
    shared_width, length_width = read_widths(cursor)
    id_column = column_head(cursor) if has_names else None
    original_column = column_head(cursor) if flags & DUPLICATES else None
    stamp_column = column_head(cursor) if flags & STAMPS else None
    removed, duplicates, stamped = read_bitmaps(cursor, count, flags)
    lengths = read_lengths(cursor, shared_width, length_width, count)
    documents = count - sum(removed)
    check(not has_names or documents > 0 or id_column == (0, 2**64 - 1), "Documents", cursor.where,
          "without documents, the least id is not 2^64 - 1")
    ids = read_column(cursor, id_column, documents)
    originals = read_column(cursor, original_column, sum(duplicates))
    stamps = read_column(cursor, stamp_column, sum(stamped))
    fingerprints = [cursor.number(bits // 8) for _ in range(documents)]
    keys = read_keys(cursor, lengths, symbols)
    cursor.zeros(cursor.end)
    key_bytes = (count * (shared_width + length_width) + 7) // 8 + sum(length for _, length in lengths)
    if not has_names:
        ids = [int.from_bytes(key, "big") for key, is_removed in zip(keys, removed) if not is_removed]
    records = make_records(zip(keys, removed, duplicates, stamped), fingerprints, ids, stamps, originals)
    return Leaf(number, pages, records, key_bytes)


def make_records(rows, fingerprints, ids, stamps, originals):
    """The records of a leaf. Each takes the next number of the columns that it has one in."""
    fingerprints, ids, stamps, originals = map(iter, (fingerprints, ids, stamps, originals))
    records = []
    for key, is_removed, is_duplicate, is_stamped in rows:
        if is_removed:
            records.append(Record(key, True, None, None, None, None))
        else:
            records.append(Record(key, False, next(fingerprints), next(ids),
                                  next(stamps) if is_stamped else None,
                                  next(originals) if is_duplicate else None))
    return records


def read_node(body, start, end, number, symbols):
    """The inner node that begins at page `number` of the inner nodes."""
    cursor = page_cursor(body, start, end, number, symbols.where, "inner node")
    count = cursor.bounded(2, 1, MOST_RECORDS, "15.16", "number of children")
    pages = cursor.bounded(2, 1, 33, "15.17", "number of pages")
    check(pages == 1 or count <= 2, "15.17", cursor.where, "more than two children take more than one page")
    set_page_end(cursor, pages, end)
    shared_width, length_width = read_widths(cursor)
    extra_width = cursor.bounded(1, 0, 64, "15.18", "width")
    first = cursor.number(8)
    lengths = read_lengths(cursor, shared_width, length_width, count - 1)
    children = [first + i + extra
                for i, extra in enumerate(packed_numbers(cursor, extra_width, count))]
    separators = read_keys(cursor, lengths, symbols)
    cursor.zeros(cursor.end)
    return Node(number, pages, children, separators)


def page_cursor(body, start, end, number, where, what):
    """A cursor over one page."""
    where = f"{where}, {what} at page {number}"
    at = start + number * PAGE
    check(at + PAGE <= end, "4.3", where, "there is no such page")
    return Cursor(body, "15.20", where, at, at + PAGE)


def set_page_end(cursor, pages, end):
    """Extends the cursor to all pages of the leaf or node, of which the first 4 bytes are read."""
    cursor.end += (pages - 1) * PAGE
    check(cursor.end <= end, "4.3", cursor.where, "its pages exceed their part of the body")


def read_widths(cursor):
    """The widths of shared lengths and of lengths."""
    return tuple(cursor.bounded(1, 0, 17, "15.18", "width") for _ in range(2))


def column_head(cursor):
    """The width and the least number of a column."""
    return cursor.bounded(1, 0, 64, "15.18", "width"), cursor.number(8)


def read_column(cursor, head, count):
    """The numbers of a column; none if there is no column."""
    if head is None:
        return []
    width, least = head
    return [(least + number) % 2**64 for number in packed_numbers(cursor, width, count)]


def read_bitmaps(cursor, count, flags):
    """Which records are of removed documents, of duplicates, and have a stamp."""
    removed, duplicates, stamped = (
        bitmap(cursor, count) if flags & flag else [False] * count
        for flag in (REMOVED, DUPLICATES, SOME_STAMPS))
    check(not any(is_removed and (duplicate or stamp)
                  for is_removed, duplicate, stamp in zip(removed, duplicates, stamped)),
          "15.22", cursor.where, "a bitmap overlaps the bitmap of removed documents")
    for flag, bits in ((REMOVED, removed), (DUPLICATES, duplicates), (SOME_STAMPS, stamped)):
        check(not flags & flag or any(bits), "15.21", cursor.where, "a bitmap is empty")
    if flags & STAMPS and not flags & SOME_STAMPS:
        stamped = [not is_removed for is_removed in removed]
    return removed, duplicates, stamped


def read_lengths(cursor, shared_width, length_width, count):
    """The shared length of each key, and the length of its encoded suffix."""
    numbers = packed_numbers(cursor, shared_width + length_width, count)
    return [(number >> length_width, number & (1 << length_width) - 1) for number in numbers]


def read_keys(cursor, lengths, symbols):
    """The front-coded keys, which must ascend."""
    keys = []
    before = b""
    for shared, length in lengths:
        check(shared <= len(before), "15.30", cursor.where, "a key shares more than the key before it has")
        suffix = symbols.decode(cursor.take(length))
        key = before[:shared] + suffix
        check(len(key) <= LONGEST_KEY, "15.25", cursor.where, f"a key has {len(key)} bytes")
        check(before < key, "15.29", cursor.where, "the keys do not ascend")
        check(suffix and (len(before) == shared or before[shared] != suffix[0]), "15.30", cursor.where,
              "a key shares another length than it says")
        keys.append(key)
        before = key
    return keys
