"""The parts of leaves and inner nodes."""

from fpdb_reader.conventions import PAGE, low_bits_first
from fpdb_reader.leaf import DUPLICATES, REMOVED, SOME_STAMPS, STAMPS

from .numbers import number, u16, u64


class Parts:
    """Reads parts one after another."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        """The next bytes."""
        self.at += size
        return bytes(self.data[self.at - size:self.at])

    def number(self, size):
        """The next number."""
        return number(self.take(size))

    def column(self, width, count):
        """The next column."""
        return low_bits_first(self.take((width * count + 7) // 8), 0, width, count)


def column(numbers, width):
    """The bytes of a column."""
    packed = sum(value << width * place for place, value in enumerate(numbers))
    return packed.to_bytes((width * len(numbers) + 7) // 8, "little")


class Leaf:
    """The parts of a leaf, to be changed before `write`."""

    def __init__(self, body, has_names, bits, page=0):
        self.body, self.at = body, PAGE * (1 + page)
        parts = Parts(body[self.at:])
        self.count, self.pages, self.flags = parts.number(2), parts.number(2), parts.number(1)
        self.shared_width, self.length_width = parts.number(1), parts.number(1)
        self.id_head, self.original_head, self.stamp_head = (
            [parts.number(1), parts.number(8)] if there else None
            for there in (has_names, self.flags & DUPLICATES, self.flags & STAMPS))
        self.bitmaps = {flag: bytearray(parts.take((self.count + 7) // 8)) if self.flags & flag else None
                        for flag in (REMOVED, DUPLICATES, SOME_STAMPS)}
        lengths = parts.column(self.shared_width + self.length_width, self.count)
        self.shared = [value >> self.length_width for value in lengths]
        sizes = [value & (1 << self.length_width) - 1 for value in lengths]
        live = self.count - self.set_bits(REMOVED)
        stamped = self.set_bits(SOME_STAMPS) if self.flags & SOME_STAMPS else live
        self.ids, self.originals, self.stamps = (
            parts.column(head[0], count) if head else []
            for head, count in ((self.id_head, live), (self.original_head, self.set_bits(DUPLICATES)),
                                (self.stamp_head, stamped)))
        self.fingerprints = [parts.take(bits // 8) for _ in range(live)]
        self.suffixes = [parts.take(size) for size in sizes]

    def set_bits(self, flag):
        """How many bits of a bitmap are set."""
        return sum(bin(byte).count("1") for byte in self.bitmaps[flag] or b"")

    def key_bytes(self):
        """The bytes of lengths and suffixes."""
        return len(self.lengths()) + sum(map(len, self.suffixes))

    def lengths(self):
        """The column of lengths."""
        return column([shared << self.length_width | len(suffix)
                       for shared, suffix in zip(self.shared, self.suffixes)], self.shared_width + self.length_width)

    def write(self):
        """Replaces the leaf in the body."""
        data = u16(self.count) + u16(self.pages) + bytes([self.flags, self.shared_width, self.length_width])
        columns = ((self.id_head, self.ids), (self.original_head, self.originals), (self.stamp_head, self.stamps))
        data += b"".join(bytes([head[0]]) + u64(head[1]) for head, _ in columns if head)
        data += b"".join(bitmap for bitmap in self.bitmaps.values() if bitmap is not None) + self.lengths()
        data += b"".join(column(numbers, head[0]) for head, numbers in columns if head)
        data += b"".join(self.fingerprints) + b"".join(self.suffixes)
        size = -(-len(data) // PAGE) * PAGE
        self.body[self.at:self.at + size] = data + bytes(size - len(data))
