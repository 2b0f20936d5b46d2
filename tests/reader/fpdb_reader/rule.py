"""Match rule: which fingerprints are near-duplicates."""

from . import sketch
from .conventions import check

BY_DISTANCE, BY_BANDS = 0, 1
GROUPS = 16


class MatchRule:
    """The rule of a database whose fingerprints have this width, read from the manifest."""

    def __init__(self, cursor, layout, bits):
        self.bits = bits
        kind = cursor.bounded(1, BY_DISTANCE, BY_BANDS, "18.11", "kind of the match rule")
        check((kind == BY_BANDS) == (bits == sketch.BITS), "18.18", cursor.where,
              f"a match rule of kind {kind} is not for fingerprints of {bits} bits")
        self.bands = self.minima = 0
        if kind == BY_DISTANCE:
            self.distance = cursor.bounded(1, 0, 12 if bits == 64 else 10, "18.10", "max distance")
            return
        self.similarity = cursor.bounded(2, 5000, 10000, "18.12", "similarity")
        self.recall = cursor.bounded(2, 5000, 9990, "18.13", "recall")
        self.bands = cursor.bounded(1, 1, GROUPS, "18.14", "number of bands")
        self.minima = cursor.bounded(1, 1, sketch.GROUP, "18.15", "minima of a band")
        self.distance = cursor.bounded(1, 0, sketch.PLANE, "18.16", "distance of sketches")
        orders = [[(band + place) % GROUPS for place in range(GROUPS)] for band in range(self.bands)]
        check((layout.name, layout.widths, layout.orders) == (f"bands-{self.bands}", GROUPS * [sketch.GROUP], orders),
              "18.17", cursor.where, "the layout does not fit the bands")

    def matches(self, a, b):
        """Whether two fingerprints are near-duplicates."""
        if sketch.distance(a, b, self.bits) > self.distance:
            return False
        return self.bands == 0 or any(sketch.band(a, band, self.minima) == sketch.band(b, band, self.minima)
                                     for band in range(self.bands))
