"""Parities: whether two documents are similar enough by their sketches."""

from collections import Counter
from functools import cache
from math import isqrt

from . import sketch
from .conventions import ones

LISTED = 25  # Most features whose values a sketch has.
UNSAMPLED = 2048  # Most features of level 0.
HALF = 512  # parities
ONE = 10000  # As a share.


def level(features):
    """Of 2^level features, one is sampled."""
    return (max(features - 1, 0) // UNSAMPLED).bit_length()


def listed(a):
    """The values of a document with few features."""
    data = sketch.parities(a).to_bytes(128, "little")
    return [int.from_bytes(data[at:at + 5], "little") for at in range(0, 5 * sketch.features(a), 5)]


def parities_at_level_0(a):
    """The parities of a document with at most 2,048 features."""
    if sketch.features(a) > LISTED:
        return sketch.parities(a)
    bits = 0
    for value in listed(a):
        bits ^= 1 << (value >> 8) % HALF + HALF * (value >> 17 & 1)
    return bits


@cache
def limit(similarity, margin, parities, sampled, differ):
    """How many parities may differ, in 64ths, and how much each minimum that differs counts of that."""
    log = parities.bit_length() - 2
    q2 = q4 = 1 << 62
    for _ in range(differ):
        q2 -= q2 >> log
        q4 -= q4 >> log - 1
    minima = (126 * (ONE - similarity) << 32) // ONE
    variance_of_minima = minima * ((128 << 32) - minima) // (128 << 32)
    expected = parities // 2 * ((1 << 62) - q2) >> 30
    square = q2 * q2 >> 62
    collisions = parities * parities * (q4 - square) + parities * ((1 << 62) - q4) >> 2
    variance = max(0, collisions + (sampled * differ * square >> 1)) >> 30
    per_error = 2 * differ * (q2 >> 30) * variance_of_minima * ONE * ONE
    weight = 0
    if per_error > 0:
        weight = min(4096, (64 * 126 * variance * (ONE * ONE - similarity * similarity) << 32) // per_error)
    error = isqrt(variance + (weight * weight * variance_of_minima >> 12) << 32)
    rounding = max(0, 64 - 4 * weight if sampled == 0 else 32 - weight // 2)
    return (64 * (expected + margin * error // 100) + weight * minima >> 32) + rounding, weight


class Limits:
    """When documents have a similarity, by their sketches."""

    def __init__(self, similarity, margin):
        self.similarity, self.margin = similarity, margin

    def accept(self, a, b):
        """Whether two documents are similar enough."""
        a, b = sorted((a, b), key=sketch.features)
        few, many = sketch.features(a), sketch.features(b)
        differ = (few + many) * (ONE - self.similarity) // (ONE + self.similarity)
        if many - few > differ:
            return False
        if many <= LISTED:
            a, b = Counter(listed(a)), Counter(listed(b))
            return ((a - b) + (b - a)).total() <= differ
        if few <= LISTED and many > UNSAMPLED:
            return False
        return self.accept_parities(a, b, differ)

    def accept_parities(self, a, b, differ):
        """The same, of documents at least one of which has so many features that its sketch has parities."""
        lower, higher = level(sketch.features(a)), level(sketch.features(b))
        if higher - lower > 1:
            return False
        if higher == 0:
            differing, parities = parities_at_level_0(a) ^ parities_at_level_0(b), 2 * HALF
        elif higher == lower:
            differing, parities = sketch.parities(a) ^ sketch.parities(b), 2 * HALF
        else:
            both = sketch.parities(b)
            differing, parities = (sketch.parities(a) ^ both ^ both >> HALF) % (1 << HALF), HALF
        count = ones(differing)
        if higher == 0:
            if count > differ:
                return False
            sampled = max(differ - (differ + sketch.features(a) + sketch.features(b)) % 2, 0)
        else:
            sampled = -(-differ >> higher)
        most, weight = limit(self.similarity, self.margin, parities, min(higher, 2), sampled)
        return 64 * count + weight * sketch.distance(a, b, sketch.BITS) <= most
