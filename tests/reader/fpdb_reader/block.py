"""Block: ascending fingerprints in a fixed number of bytes."""

from .conventions import check


def read_block(data, code, bits, where):
    """The fingerprints of a block in a Huffman code, in which the most significant bit comes first."""
    count = int.from_bytes(data[:2], "little")
    check(count > 0, "8.1", where, "its count is 0")
    size = len(data) * 8
    everything = int.from_bytes(data, "big")
    fingerprints = [int.from_bytes(data[2:2 + bits // 8], "little")]
    at = (2 + bits // 8) * 8
    differences = []
    for _ in range(count - 1):
        check(at < size, "8.4", where, "it ends in the middle of a fingerprint")
        difference, length = code.decode(top_bits(everything, size, at, 11))
        check(length > 0, "8.2", where, f"there is no codeword at bit {at}")
        differences.append(difference)
        at += length
    end = size
    for index, h in enumerate(differences):
        following = differences[index + 1] if index + 1 < len(differences) else h
        width = h - 1 if following < h else h
        end -= width
        check(at <= end, "8.4", where, "it ends in the middle of a fingerprint")
        below = top_bits(everything, size, end, width)
        if following < h:
            below = insert_zero(below, following)
        fingerprints.append(follow(fingerprints[-1], h, below, where))
    check(top_bits(everything, size, at, end - at) == 0, "9.1", where,
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
    check(predecessor >> h & 1 == 0, "8.3", where, f"bit {h} of a predecessor is 1")
    return (predecessor >> h | 1) << h | below
