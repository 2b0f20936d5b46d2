"""Writes tables and postings, from fingerprints in blocks and their ids."""

from fpdb_reader.conventions import round_up
from fpdb_reader.prefix_filter import prefix_bits
from fpdb_reader.table import derive_directory

from .blocks import block, codewords, differences
from .numbers import u16, u32, u64


class TableParts:
    """The parts of a table, to be changed before `write`. The code has all lengths that the blocks need."""

    def __init__(self, bits, blocks, size=128, zeros=0):
        self.bits, self.size, self.zeros = bits, size, zeros
        divided = [[fingerprint >> zeros for fingerprint in fingerprints] for fingerprints in blocks]
        self.lengths = lengths_for(divided, bits)
        words = codewords(self.lengths)
        self.blocks = [block(numbers, bits, size, words) for numbers in divided]
        self.count = sum(map(len, blocks))
        self.slots, self.overflow = derive_directory([fingerprints[-1] for fingerprints in blocks], bits)
        self.depth, self.words = 0, []
        self.fingerprints = [fingerprint for fingerprints in blocks for fingerprint in fingerprints]

    def add_filter(self, depth, words):
        """Adds a filter."""
        self.depth, self.words = depth, words * [0]
        for fingerprint in self.fingerprints:
            word, bits = prefix_bits(fingerprint, self.bits, depth, words)
            self.words[word] |= bits

    def write(self, paged):
        """Replaces the body and the meta of a paged file."""
        overflow = b"".join(key.to_bytes(self.bits // 8, "little") for key in self.overflow)
        paged.body[64:] = (bytes(self.size - 64) + b"".join(self.blocks) + b"".join(self.slots) + overflow
                           + b"".join(map(u64, self.words)))
        paged.meta[:] = (u64(self.count) + u64(len(self.blocks)) + u32(self.size) + u32(self.depth)
                         + u64(len(self.overflow)) + u64(len(self.words)) + bytes([0])
                         + bytes(self.lengths) + bytes([self.zeros]))


def lengths_for(blocks, bits):
    """A code in which each h of the blocks has a codeword."""
    needed = sorted({h for block in blocks for h in differences(block)})
    depth = max(len(needed) - 1, 0).bit_length()
    lengths = bits * [0]
    for place, h in enumerate(needed):
        # The first ones get the codewords that are left over.
        lengths[h] = depth - (place < 2**depth - len(needed)) if len(needed) > 1 else 1
    return lengths


class PostingsParts:
    """The parts of postings with one section, to be changed before `write`."""

    def __init__(self, groups):
        """`groups` has for each block a list of the ids of each fingerprint."""
        lists = [ids for group in groups for ids in group]
        self.ids = [identifier for ids in lists for identifier in ids]
        self.entries, self.groups = len(self.ids), len(groups)
        self.base = min(self.ids, default=0)
        self.width = (max(self.ids, default=0) - self.base).bit_length()
        self.ends = [sum(map(len, groups[:index + 1])) for index in range(len(groups))]
        self.firsts = None
        if len(lists) < len(self.ids):
            self.firsts = [place == 0 for ids in lists for place in range(len(ids))]
        self.start, self.gap, self.samples = 64, 0, None

    def data(self):
        """The data of the section."""
        data = b"".join(map(u32, self.ends))
        if self.firsts:
            count = len(self.ids)
            samples = self.samples
            if samples is None:
                samples = [sum(self.firsts[:512 * (index + 1)]) for index in range((count - 1) // 512)]
            data += u64(count) + b"".join(map(u32, samples))
            bits = sum(first << place for place, first in enumerate(self.firsts))
            data += bits.to_bytes(round_up(count, 64) // 8, "little")
        stored = sum(identifier - self.base << self.width * place for place, identifier in enumerate(self.ids))
        return data + stored.to_bytes((self.width * len(self.ids) + 7) // 8, "little")

    def head(self):
        """The head of the section."""
        width = self.width | (128 if self.firsts else 0)
        return u64(self.base) + self.start.to_bytes(6, "little") + u16(0) + bytes([width]) + bytes(47)

    def write(self, paged):
        """Replaces the body and the meta of a paged file."""
        paged.body[64:] = bytes(self.gap) + self.data()
        paged.body += bytes(-len(paged.body) % 64)
        heads = len(paged.body)
        if self.groups:
            paged.body += self.head()
        paged.meta[:] = u64(self.entries) + u64(self.groups) + u64(heads)


class Single:
    """The last segment of a database with one table, to be changed before `write`."""

    def __init__(self, copy, blocks, ids=None, zeros=0):
        """Without ids, they are ascending numbers that no older segment has."""
        self.copy = copy
        self.last = copy.manifest["segments"] - 1
        self.blocks = blocks
        if ids is None:
            numbers = iter(range(10**6, 2 * 10**6))
            ids = [[[next(numbers)] for _ in block] for block in blocks]
        self.table = TableParts(64, blocks, zeros=zeros)
        self.postings = PostingsParts(ids)

    def write(self):
        """Replaces the files, and what the manifest says about them."""
        name = f"{self.copy.manifest[f'number of {self.last}']:016x}"
        self.table.write(self.copy.paged(f"{name}.t00"))
        self.postings.write(self.copy.paged(f"{name}.ids"))
        self.copy.manifest[f"fingerprints of {self.last}"] = self.table.count
        self.copy.manifest[f"entries of {self.last}"] = self.postings.entries
