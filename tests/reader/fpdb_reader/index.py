"""Index: how near-duplicates are found, and which fingerprints are some."""

from . import sketch
from .conventions import check
from .layout import Layout
from .parities import Limits

TABLES, BANDS = 0, 1
GROUPS = 16
ONE = 10000  # As a share.


class Index:
    """The index of a database whose fingerprints have this width, read from the manifest."""

    def __init__(self, cursor, bits):
        self.bits = bits
        kind = cursor.bounded(1, TABLES, BANDS, "18.11", "kind of the index")
        check((kind == BANDS) == (bits == sketch.BITS), "18.17", cursor.where,
              f"an index of kind {kind} is not for fingerprints of {bits} bits")
        self.bands = self.minima = 0
        self.limits = None
        if kind == TABLES:
            self.read_tables(cursor)
        else:
            self.read_bands(cursor)

    def read_tables(self, cursor):
        """Reads what the tables of fingerprints are like."""
        self.block_size = cursor.bounded(4, 128, 4096, "18.5", "block size")
        check(self.block_size & self.block_size - 1 == 0, "18.5", cursor.where, "the block size is no power of two")
        cursor.bounded(1, 0, 0, "18.6", "block code")
        self.filter_bits = cursor.bounded(4, 0, 32, "18.7", "filter bits")
        self.layout = Layout(cursor, self.bits)
        self.distance = cursor.bounded(1, 0, self.bits, "18.10", "max distance")

    def read_bands(self, cursor):
        """Reads what the bands of sketches are like."""
        self.similarity = cursor.bounded(2, 0, ONE, "18.12", "similarity")
        self.recall = cursor.bounded(2, 0, ONE, "18.13", "recall")
        self.bands = cursor.bounded(1, 1, GROUPS, "18.14", "number of bands")
        self.minima = cursor.bounded(1, 1, sketch.GROUP, "18.15", "minima of a band")
        self.distance = cursor.bounded(1, 0, sketch.PLANE, "18.16", "distance of sketches")
        self.limits = Limits(self.similarity, cursor.number(2))

    def matches(self, a, b):
        """Whether two fingerprints are near-duplicates."""
        if sketch.distance(a, b, self.bits) > self.distance:
            return False
        if self.bands == 0:
            return True
        share_band = any(sketch.band(a, band, self.minima) == sketch.band(b, band, self.minima)
                         for band in range(self.bands))
        return share_band and self.limits.accept(a, b)
