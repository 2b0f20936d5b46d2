"""Bands."""

from functools import wraps

from .case import FULL, USE, case, sound
from .numbers import number, u32

DATABASE, FILE = "sketches-many-leaves", "0000000003000000.b01"
OTHER_ROWS = "the bands do not match the sketches of the documents"
NOT_ALLOWED = "the footer of the bands has a value that is not allowed"
NOT_ASCENDING = "the rows of the bands do not ascend, or some are in no bucket"


class Bands:
    """The parts of a table of bands, to be changed before `write`."""

    def __init__(self, paged):
        self.paged = paged
        self.rows, self.bucket_bits, self.width = number(paged.meta[:4]), *paged.meta[4:6]
        at = 64
        self.rests = numbers(paged.body[at:at + 2 * self.rows], 2)
        at += -(-2 * self.rows // 64) * 64
        self.pages = numbers(paged.body[at:at + self.width * self.rows], self.width)
        at += -(-self.width * self.rows // 64) * 64
        self.starts = numbers(paged.body[at:], 4)

    def write(self):
        """Replaces body and meta."""
        del self.paged.body[64:]
        for column, size in ((self.rests, 2), (self.pages, self.width), (self.starts, 4)):
            self.paged.body += bytes(-len(self.paged.body) % 64)
            self.paged.body += b"".join(value.to_bytes(size, "little") for value in column)
        self.paged.meta[:] = u32(len(self.rests)) + bytes([self.bucket_bits, self.width])

    def row_with_next(self):
        """The first row that is followed by another one with another rest in its bucket."""
        return next(row for start, end in zip(self.starts, self.starts[1:]) for row in range(start, end - 1)
                    if self.rests[row] != self.rests[row + 1])


def numbers(data, size):
    """The numbers of this size that bytes consist of."""
    return [number(data[at:at + size]) for at in range(0, len(data), size)]


@sound(DATABASE)
def bands_again(copy):
    Bands(copy.paged(FILE)).write()


@sound(DATABASE)
def wider_pages(copy):
    bands = Bands(copy.paged(FILE))
    bands.width = 3
    bands.write()


def in_bands(condition, words, found="opening", use=()):
    """A case in a table of bands."""
    def add(change):
        @case(condition, DATABASE, FILE, words, found, use)
        @wraps(change)
        def changed(copy, file):
            bands = Bands(copy.paged(file))
            change(bands)
            bands.write()
        return change
    return add


@in_bands("21.1", NOT_ALLOWED)
def bucket_bits_28(bands):
    bands.bucket_bits = 28


@in_bands("21.2", NOT_ALLOWED)
def page_numbers_of_5_bytes(bands):
    bands.width = 5


@in_bands("21.3", "does not have the counts that the manifest says")
def row_too_many(bands):
    bands.rests.append(2**16 - 1)
    bands.pages.append(0)
    bands.starts[-1] += 1


@in_bands("21.4", "the length of the body does not match the counts in the footer")
def start_too_many(bands):
    bands.starts.append(bands.starts[-1])


@in_bands("21.5", "the directory of the bands refers to rows that they do not have", USE, ("pairs",))
def bucket_that_ends_before_it_begins(bands):
    bands.starts[1] = bands.starts[2] + 1


@in_bands("21.6", OTHER_ROWS, FULL)
def row_of_no_leaf(bands):
    bands.pages[5] = 200


@in_bands("21.7", NOT_ASCENDING, FULL)
def rows_out_of_order(bands):
    row = bands.row_with_next()
    for column in (bands.rests, bands.pages):
        column[row:row + 2] = column[row + 1], column[row]


@in_bands("21.8", NOT_ASCENDING, FULL)
def row_before_the_first_bucket(bands):
    bands.starts[0] = 1


@in_bands("21.9", OTHER_ROWS, FULL)
def band_of_no_original(bands):
    bands.rests[bands.row_with_next()] += 1


@in_bands("21.9", OTHER_ROWS, FULL)
def buckets_of_fewer_bits(bands):
    """The rows of two buckets are together, with the same leading bits, and so a bit less of each band."""
    buckets = list(zip(bands.starts, bands.starts[1:]))
    for bucket, (start, end) in enumerate(buckets):
        for row in range(start, end):
            bands.rests[row] = bands.rests[row] >> 1 | bucket % 2 << 15
    bands.starts = bands.starts[::2]
    bands.bucket_bits -= 1
    rows = sorted((bucket // 2, bands.rests[row], bands.pages[row])
                  for bucket, (start, end) in enumerate(buckets) for row in range(start, end))
    bands.rests, bands.pages = ([row[column] for row in rows] for column in (1, 2))
