"""Sketch: six bits of each of 128 minima, as planes of one bit each."""

from .conventions import ones

BITS = 768
PLANE = 128
GROUP = 8  # minima


def planes(sketch):
    """The planes of a sketch, the first of which has the lowest bit of each minimum."""
    return tuple(sketch >> at & (1 << PLANE) - 1 for at in range(0, BITS, PLANE))


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
