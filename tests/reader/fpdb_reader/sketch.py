"""Sketch: six bits of each of 128 minima, as planes of one bit each; the number of features; parities."""

from .conventions import ones

BITS = 1824
PLANE = 128
PLANES = 6
GROUP = 8  # minima


def planes(sketch):
    """The planes of a sketch, the first of which has the lowest bit of each minimum."""
    return tuple(sketch >> at & (1 << PLANE) - 1 for at in range(0, PLANES * PLANE, PLANE))


def features(sketch):
    """The number of features."""
    return sketch >> PLANES * PLANE & (1 << 32) - 1


def parities(sketch):
    """The 1,024 parities, or a list of values, as a number."""
    return sketch >> PLANES * PLANE + 32


def order(sketch):
    """What sketches are sorted by."""
    words = parities(sketch).to_bytes(128, "little")
    return planes(sketch), features(sketch), [int.from_bytes(words[at:at + 8], "little") for at in range(0, 128, 8)]


def distance(a, b, bits):
    """The distance of two fingerprints of this width: differing bits, or differing minima of sketches."""
    if bits != BITS:
        return ones(a ^ b)
    differing = 0
    for plane in planes(a ^ b):
        differing |= plane
    return ones(differing)


def band(sketch, number, minima):
    """Band `number` of a sketch, with so many minima, as a number: its first bit is the highest."""
    bits, highest_first = 0, planes(sketch)[::-1]
    for minimum in range(GROUP * number, GROUP * number + minima):
        for plane in highest_first:
            bits = bits << 1 | plane >> minimum & 1
    return bits
