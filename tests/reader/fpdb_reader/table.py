"""Table: all fingerprints of a segment in one bit order, in blocks, with a directory and a filter."""

from .block import read_block
from .conventions import Cursor, check
from .huffman import HuffmanCode
from .prefix_filter import PrefixFilter

SLOT = 64
KEYS_PER_SLOT = 26
PARTS = 30
CROWDED = 0xffff


class Table:
    """A checked table. `blocks` has a list of fingerprints, in the table's bit order, for each block."""

    def __init__(self, paged):
        """Reads all blocks, and checks directory and filter with their fingerprints."""
        self.where = paged.where
        self.bits = paged.header.bits
        self.read_meta(paged.meta)
        self.split_body(paged.body)
        self.check_slots()
        self.check_directory()
        self.check_lookups()
        self.filter.check_made_of(self.fingerprints(), self.bits)

    def read_meta(self, meta):
        """Reads the meta, and makes the Huffman code."""
        fields = Cursor(meta, "5.1", self.where)
        self.count = fields.number(8)
        self.block_count = fields.number(8)
        self.block_size = fields.number(4)
        self.depth = fields.number(4)
        self.overflow_count = fields.number(8)
        self.words = fields.number(8)
        check(fields.number(1) == 0, "10.2", self.where, "its block code is unknown")
        self.code = HuffmanCode(list(fields.take(self.bits)), self.where)
        self.zeros = fields.number(1)
        self.check_meta()

    def check_meta(self):
        """Checks that the fields of the meta are within their bounds."""
        check(self.block_size in (128, 256, 512, 1024, 2048, 4096), "10.1", self.where,
              f"the block size {self.block_size} is not allowed")
        check(self.block_count < 2**32, "10.3", self.where, f"{self.block_count} blocks are too many")
        check(self.block_count <= self.count, "10.7", self.where, "there are more blocks than fingerprints")
        check(self.block_count > 0 or self.count == 0, "10.8", self.where,
              "there are no blocks, but fingerprints")
        check(self.depth <= 64, "10.4", self.where, f"the filter depth {self.depth} is too great")
        check(self.words < 2**32, "10.6", self.where, f"{self.words} filter words are too many")
        check(self.zeros < self.bits, "10.13", self.where, f"{self.zeros} zero bits are too many")
        check(self.words == 0 or self.depth > 0, "10.5", self.where, "a filter has depth 0")

    def split_body(self, body):
        """Reads the parts of the body."""
        self.slot_count = slots_for(self.block_count)
        parts = Cursor(body, "10.12", self.where, start=64)
        parts.zeros(self.block_size)
        self.blocks = []
        for index in range(self.block_count):
            where = f"{self.where}, block {index}"
            divided = read_block(parts.take(self.block_size), self.code, self.bits, where)
            check(max(divided) >> self.bits - self.zeros == 0, "9.2", where, "a number has too many bits")
            self.blocks.append([number << self.zeros for number in divided])
        self.slots = [parts.take(SLOT) for _ in range(self.slot_count)]
        size = self.bits // 8
        self.overflow = [parts.number(size) for _ in range(self.bounded_overflow(parts, size))]
        self.filter = PrefixFilter(parts.take(8 * self.words), self.depth, self.where)
        parts.finish()
        self.check_order()

    def bounded_overflow(self, parts, size):
        """The number of overflow keys, which must be within the body."""
        check(self.overflow_count * size <= parts.end - parts.at, "10.12", self.where,
              "the overflow keys exceed the body")
        return self.overflow_count

    def fingerprints(self):
        """All fingerprints in the table's bit order, ascending."""
        return [fingerprint for block in self.blocks for fingerprint in block]

    def check_order(self):
        """Checks that the blocks follow each other."""
        for before, after in zip(self.blocks, self.blocks[1:]):
            check(before[-1] < after[0], "11.1", self.where,
                  "a block's first fingerprint is not greater than the previous block's last one")
        total = sum(len(block) for block in self.blocks)
        check(total == self.count, "11.4", self.where,
              f"the blocks have {total} fingerprints instead of {self.count}")

    def check_slots(self):
        """Checks that no slot refers to what does not exist."""
        for index, data in enumerate(self.slots):
            where = f"{self.where}, slot {index}"
            earlier, mark, end, in_overflow = (int.from_bytes(data[at:at + 4], "little") for at in (0, 4, 8, 12))
            if mark & 0xffff == CROWDED:
                check(earlier <= end, "10.11", where, "it ends before it begins")
                check(in_overflow + end - earlier <= len(self.overflow), "10.10", where,
                      "it refers to keys that the overflow does not have")
            else:
                end = earlier + sum(data[at:at + 2] != b"\xff\x7f" for at in range(4, SLOT, 2))
            check(end <= self.block_count, "10.9", where, "it refers to blocks that the table does not have")

    def check_directory(self):
        """Checks that directory and overflow are those derived from the block keys."""
        slots, overflow = derive_directory([block[-1] for block in self.blocks], self.bits)
        for index, (found, derived) in enumerate(zip(self.slots, slots)):
            check(found == derived, "11.2", self.where,
                  f"slot {index} of the directory is not derived from the block keys")
        check(self.overflow == overflow, "11.2", self.where, "the overflow is not derived from the block keys")

    def blocks_for(self, fingerprint):
        """The numbers of the blocks that may have a fingerprint, by the directory."""
        slot, part = place(fingerprint, self.bits, self.slot_count)
        data = self.slots[slot]
        earlier, mark, end, in_overflow = (int.from_bytes(data[at:at + 4], "little") for at in (0, 4, 8, 12))
        if mark == CROWDED:
            keys = self.overflow[in_overflow:in_overflow + end - earlier]
            number = earlier + sum(key < fingerprint for key in keys)
            return range(number, number + 1)
        parts = [int.from_bytes(data[at:at + 2], "little") for at in range(4, SLOT, 2)]
        less = sum(other < part for other in parts)
        not_greater = sum(other <= part for other in parts)
        return range(earlier + less, earlier + not_greater + 1)

    def check_lookups(self):
        """Checks that the directory leads to the first, a middle and the last fingerprint of each block."""
        for number, block in enumerate(self.blocks):
            for fingerprint in (block[0], block[len(block) // 2], block[-1]):
                check(number in self.blocks_for(fingerprint), "11.2", self.where,
                      f"the directory does not lead to {fingerprint:#x}")


def slots_for(blocks):
    """The number of slots of a directory."""
    return max(1, -(-blocks // KEYS_PER_SLOT))


def place(fingerprint, bits, slots):
    """The slot and the part of a fingerprint."""
    product = (fingerprint >> bits - 64) * slots
    return product >> 64, min((product & 2**64 - 1) >> 49, 0x7ffe)


def derive_directory(block_keys, bits):
    """The slots and the overflow that follow from the block keys."""
    keys = [[] for _ in range(slots_for(len(block_keys)))]
    for key in block_keys:
        keys[place(key, bits, len(keys))[0]].append(key)
    slots, overflow, earlier = [], [], 0
    for slot_keys in keys:
        parts = [place(key, bits, len(keys))[1] for key in slot_keys]
        if is_crowded(parts):
            slots.append(crowded_slot(earlier, len(slot_keys), len(overflow)))
            overflow += slot_keys
        else:
            slots.append(plain_slot(earlier, parts))
        earlier += len(slot_keys)
    return slots, overflow


def is_crowded(parts):
    """Whether a slot's keys are in the overflow."""
    return len(parts) > PARTS or any(parts.count(part) > 2 for part in parts)


def plain_slot(earlier, parts):
    """The bytes of a slot that is not crowded."""
    filled = parts + [0x7fff] * (PARTS - len(parts))
    return earlier.to_bytes(4, "little") + b"".join(part.to_bytes(2, "little") for part in filled)


def crowded_slot(earlier, own, overflow):
    """The bytes of a crowded slot."""
    numbers = (earlier, CROWDED, earlier + own, overflow)
    return b"".join(number.to_bytes(4, "little") for number in numbers) + bytes(48)
