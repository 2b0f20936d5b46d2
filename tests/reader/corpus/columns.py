"""Columns."""

from functools import wraps

from .case import FULL, case, sound
from .numbers import u32

DATABASE, FILE = "user-similar", "0000000003000000.c01"
ROWS = 200  # at most, as many as fingerprints
OTHER_ROWS = "the columns do not match the fingerprints of table 0"
NOT_ALLOWED = "the footer of the columns has a value that is not allowed"


class Columns:
    """The parts of a table of columns, to be changed before `write`."""

    def __init__(self, paged):
        self.paged = paged
        self.rows, self.bucket_bits, self.width = int.from_bytes(paged.meta[:4], "little"), *paged.meta[4:6]
        at = 64
        self.keys = numbers(paged.body[at:at + 4 * self.rows], 4)
        at += -(-4 * self.rows // 64) * 64
        self.blocks = numbers(paged.body[at:at + self.width * self.rows], self.width)
        at += -(-self.width * self.rows // 64) * 64
        self.starts = numbers(paged.body[at:], 4)

    def write(self):
        """Replaces body and meta."""
        del self.paged.body[64:]
        for column, size in ((self.keys, 4), (self.blocks, self.width), (self.starts, 4)):
            self.paged.body += bytes(-len(self.paged.body) % 64)
            self.paged.body += b"".join(value.to_bytes(size, "little") for value in column)
        self.paged.meta[:] = u32(len(self.keys)) + bytes([self.bucket_bits, self.width])


def numbers(data, size):
    """The numbers of this size that bytes consist of."""
    return [int.from_bytes(data[at:at + size], "little") for at in range(0, len(data), size)]


@sound(DATABASE)
def columns_again(copy):
    Columns(copy.paged(FILE)).write()


def in_columns(condition, words, found="opening"):
    """A case in columns."""
    def add(change):
        @case(condition, DATABASE, FILE, words, found)
        @wraps(change)
        def changed(copy, file):
            columns = Columns(copy.paged(file))
            change(columns)
            columns.write()
        return change
    return add


@in_columns("21.1", NOT_ALLOWED)
def bucket_bits_28(columns):
    columns.bucket_bits = 28


@in_columns("21.2", NOT_ALLOWED)
def block_numbers_of_5_bytes(columns):
    columns.width = 5


@in_columns("21.3", "does not have the counts that the manifest says")
def row_too_many(columns):
    while len(columns.keys) <= ROWS:
        columns.keys.append(2**32 - 1)
        columns.blocks.append(0)
    columns.starts[-1] = len(columns.keys)


@in_columns("21.4", "the length of the body does not match the counts in the footer")
def start_too_many(columns):
    columns.starts.append(columns.starts[-1])


@in_columns("21.5", "the directory of the columns refers to rows that they do not have", FULL)
def bucket_that_ends_before_it_begins(columns):
    columns.starts[1] = columns.starts[2] + 1


@in_columns("21.6", OTHER_ROWS, FULL)
def row_of_no_block(columns):
    columns.blocks[5] = 17


@in_columns("21.7", "the rows of the columns do not ascend", FULL)
def rows_out_of_order(columns):
    row = next(at for at, end in zip(columns.starts, columns.starts[1:]) if end >= at + 2)
    for column in (columns.keys, columns.blocks):
        column[row:row + 2] = column[row + 1], column[row]


@in_columns("21.8", "the rows of the columns do not ascend, or some are in no bucket", FULL)
def row_before_the_first_bucket(columns):
    columns.starts[0] = 1


@in_columns("21.9", OTHER_ROWS, FULL)
def key_of_no_fingerprint(columns):
    columns.keys[0] -= 1
