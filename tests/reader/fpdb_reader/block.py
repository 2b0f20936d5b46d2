"""Block: ascending fingerprints in a fixed number of bytes, in one of two codes."""

from .conventions import check

HUFFMAN, ELIAS_FANO = 0, 1


def read_block(data, code, bits, where):
    """The fingerprints of a block. `code` is a Huffman code, or None for an Elias-Fano block."""
    count = int.from_bytes(data[:2], "little")
    check(count > 0, "8.1", where, "its count is 0")
    if code is None:
        fingerprints = read_elias_fano(data, count, bits, where)
    else:
        fingerprints = read_huffman(data, count, code, bits, where)
    for before, after in zip(fingerprints, fingerprints[1:]):
        check(before < after, "9.1", where, "its fingerprints do not ascend")
    return fingerprints


def read_elias_fano(data, count, bits, where):
    """The fingerprints of an Elias-Fano block, in which the least significant bit comes first."""
    low = data[2]
    check(low <= bits - 7, "8.2", where, f"{low} low bits are too many")
    check(count > 1 or low == 0, "9.4", where, "a block of one fingerprint has low bits")
    first = int.from_bytes(data[3:3 + bits // 8], "little")
    start = (3 + bits // 8) * 8
    lows_start = len(data) * 8 - (count - 1) * low
    check(lows_start >= start, "8.3", where, "its lows exceed the block")
    everything = int.from_bytes(data, "little")
    upper = everything >> start & (1 << (lows_start - start)) - 1
    lows = everything >> lows_start
    fingerprints = [first]
    for quotient in read_quotients(upper, count - 1, first >> low, where):
        value = quotient << low | lows & (1 << low) - 1
        check(value < 1 << bits, "9.2", where, f"a fingerprint has more than {bits} bits")
        fingerprints.append(value)
        lows >>= low
    return fingerprints


def read_quotients(upper, count, quotient, where):
    """The quotients of all fingerprints but the first, whose quotient is given."""
    quotients = []
    quotient -= 1  # A one before the first zero would stand for a fingerprint less than the first.
    while len(quotients) < count:
        check(upper != 0, "8.4", where, "it has fewer quotients than its count says")
        zeros = (upper & -upper).bit_length() - 1
        quotient += zeros
        quotients.append(quotient)
        upper >>= zeros + 1
    check(upper == 0, "9.3", where, "bits are set after the last quotient")
    return quotients


def read_huffman(data, count, code, bits, where):
    """The fingerprints of a Huffman block, in which the most significant bit comes first."""
    size = len(data) * 8
    everything = int.from_bytes(data, "big")
    fingerprints = [int.from_bytes(data[2:2 + bits // 8], "little")]
    at = (2 + bits // 8) * 8
    differences = []
    for _ in range(count - 1):
        check(at < size, "8.7", where, "it ends in the middle of a fingerprint")
        difference, length = code.decode(top_bits(everything, size, at, 11))
        check(length > 0, "8.5", where, f"there is no codeword at bit {at}")
        differences.append(difference)
        at += length
    end = size
    for index, h in enumerate(differences):
        following = differences[index + 1] if index + 1 < len(differences) else h
        width = h - 1 if following < h else h
        end -= width
        check(at <= end, "8.7", where, "it ends in the middle of a fingerprint")
        below = top_bits(everything, size, end, width)
        if following < h:
            below = insert_zero(below, following)
        fingerprints.append(follow(fingerprints[-1], h, below, where))
    check(top_bits(everything, size, at, end - at) == 0, "9.3", where,
          "bits are set after the codewords")
    return fingerprints


def top_bits(everything, size, at, width):
    """`width` bits from bit `at` on, counted from the most significant of `size`; zeros beyond the end."""
    shift = size - at - width
    value = everything >> shift if shift >= 0 else everything << -shift
    return value & (1 << width) - 1


def insert_zero(number, place):
    """The number with a zero as its bit `place`; its bits from there on move up."""
    return number >> place << place + 1 | number & (1 << place) - 1


def follow(predecessor, h, below, where):
    """The fingerprint whose highest difference from its predecessor is bit h."""
    check(predecessor >> h & 1 == 0, "8.6", where, f"bit {h} of a predecessor is 1")
    return (predecessor >> h | 1) << h | below
