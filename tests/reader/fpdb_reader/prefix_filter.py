"""Prefix filter: a Bloom filter over the leading bits of a table's fingerprints."""

from .conventions import check

MASK = 2**64 - 1


class PrefixFilter:
    """A filter of no words says nothing."""

    def __init__(self, data, depth, where):
        self.words = [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]
        self.depth = depth
        self.where = where

    def check_made_of(self, fingerprints, bits):
        """Checks that exactly the bits for the fingerprints of the table are set."""
        expected = [0] * len(self.words)
        for fingerprint in fingerprints if self.words else []:
            word, set_bits = prefix_bits(fingerprint, bits, self.depth, len(expected))
            expected[word] |= set_bits
        check(self.words == expected, "11.3", self.where,
              "the filter does not have exactly the bits for the fingerprints")


def prefix_bits(fingerprint, bits, depth, words):
    """The word of a fingerprint of `bits` bits in a filter, and the bits that it sets there."""
    value = prefix_hash(fingerprint >> bits - depth, depth)
    return (value >> 32) * words >> 32, sum({1 << (value >> 6 * i) % 64 for i in range(4)})


def prefix_hash(prefix, depth):
    """The hash of a prefix of `depth` bits."""
    a = prefix << 64 - depth
    b = a ^ rotl(a, 5) ^ rotl(a, 24)
    c = b ^ rotl(b, 34) ^ rotl(b, 35)
    return c ^ rotl(c, 12) ^ rotl(c, 50)


def rotl(value, count):
    """64 bits, rotated left."""
    return (value << count | value >> 64 - count) & MASK
