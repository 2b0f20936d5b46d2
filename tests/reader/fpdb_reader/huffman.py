"""Huffman code: the prefix code of a table for its values of h."""

from .conventions import check

LONGEST = 11


class HuffmanCode:
    """Decodes codewords."""

    def __init__(self, lengths, where):
        """Makes the codewords from the lengths for h = 0, 1, ..."""
        check(max(lengths) <= LONGEST, "7.1", where, f"a codeword has more than {LONGEST} bits")
        symbols = sorted((length, h) for h, length in enumerate(lengths) if length)
        total = sum(1 << LONGEST - length for length, _ in symbols)
        check(not symbols or total == 1 << LONGEST or [length for length, _ in symbols] == [1], "7.2", where,
              "the lengths of the codewords do not fit together")
        # For each number of 11 bits, the h whose codeword it begins with, and the codeword's length.
        self.begins = [(0, 0)] * (1 << LONGEST)
        at = 0
        for length, h in symbols:
            size = 1 << LONGEST - length
            self.begins[at:at + size] = [(h, length)] * size
            at += size

    def decode(self, eleven_bits):
        """The h and the length of the codeword at the beginning of 11 bits; length 0 if there is none."""
        return self.begins[eleven_bits]
