"""Codes, blocks and tables."""

from functools import wraps

from fpdb_reader.table import crowded_slot

from .blocks import block, codewords
from .case import FULL, USE, case, sound
from .numbers import u16, u32, u64
from .segment import Single, TableParts

DATABASE, FILE = "distance-12", "0000000007000000.t00"
FINGERPRINTS = [1 << 40 | step for step in (3, 5, 9, 77, 1000, 1001, 5000, 2**30)]
BLOCKS = [FINGERPRINTS[:3], FINGERPRINTS[3:5], FINGERPRINTS[5:]]
SPREAD = [[1, 2], [1 << 60], [3 << 60, 3 << 60 | 1]]
# Three keys with the same part.
CROWDED = [[1 << 40], [1 << 40 | 7], [1 << 40 | 9, 1 << 40 | 11]]


for all_blocks in (BLOCKS, SPREAD, CROWDED, [[5], [9, 10]], []):
    @sound(DATABASE)
    def table_of_these_blocks(copy, blocks=all_blocks):
        Single(copy, blocks).write()


for most in (1, 30, 63):
    @sound(DATABASE)
    def table_without_zero_bits(copy, zeros=most):
        shifted = [[number << zeros & 2**64 - 1 for number in block] for block in ([1, 2, 3], [5, 8], [2**33])]
        blocks = [[1 << 63]] if zeros == 63 else shifted
        segment = Single(copy, blocks, zeros=zeros)
        segment.table.add_filter(64, 8)
        segment.write()


@sound(DATABASE)
def table_with_filter(copy):
    segment = Single(copy, BLOCKS)
    segment.table.add_filter(64, 8)
    segment.write()


def in_table(condition, words, found="opening", blocks=BLOCKS, use=("export",)):
    """A case in a table with these blocks. The function changes the segment before it is written."""
    def add(change):
        @case(condition, DATABASE, FILE, words, found, use)
        @wraps(change)
        def changed(copy, _):
            segment = Single(copy, blocks)
            change(segment)
            segment.write()
            for at, patch in getattr(segment, "patches", {}).items():
                copy.paged(FILE).meta[at:at + len(patch)] = patch
        return change
    return add


@in_table("7.1", "a code length is 12, the longest allowed is 11")
def code_length_12(segment):
    segment.table.lengths[0] = 12


@in_table("7.2", "the code lengths do not form a complete prefix code")
def code_with_too_many_symbols(segment):
    segment.table.lengths[63] = 1


@in_table("7.2", "the code lengths do not form a complete prefix code", blocks=[[5], [9]])
def symbol_of_2_bits(segment):
    segment.table.lengths[63] = 2


def patch_block(segment, number, at, data):
    """Changes bytes of a block."""
    block = segment.table.blocks[number]
    segment.table.blocks[number] = block[:at] + data + block[at + len(data):]


@in_table("8.1", "the block has no fingerprints", USE)
def block_of_0(segment):
    patch_block(segment, 1, 0, u16(0))


@in_table("8.2", "the block has an invalid codeword", USE, blocks=[[0, 1], [16, 17]])
def codeword_1_of_a_single_symbol(segment):
    patch_block(segment, 1, 10, b"\x80")


@in_table("8.3", "the fingerprints do not ascend in the blocks from this one on", USE,
          blocks=[[0, 2], [18, 19]])
def bit_of_predecessor(segment):
    block = segment.table.blocks[0]
    segment.table.blocks[0] = block[:2] + u64(2) + block[10:]


@in_table("8.4", "the block's fingerprints do not fit into it", USE)
def block_that_ends_in_a_fingerprint(segment):
    patch_block(segment, 1, 0, u16(2000))


@in_table("9.1", "bits are set between codewords and remaining bits", FULL)
def bit_after_codewords(segment):
    patch_block(segment, 0, 90, b"\1")


@in_table("9.2", "a fingerprint of the block has too many bits", FULL, blocks=[[8, 16], [24]])
def number_with_a_bit_more(segment):
    segment.table = TableParts(64, segment.blocks, zeros=3)
    segment.table.blocks[1] = block([3 | 1 << 61], 64, 128, {})


NOT_ALLOWED = "the table's footer has a value that is not allowed"


@in_table("10.1", NOT_ALLOWED)
def block_size_64(segment):
    segment.table.size = 64
    words = codewords(segment.table.lengths)
    segment.table.blocks = [block([fingerprint], 64, 64, words) for fingerprint in (1, 3, 5)]


@in_table("10.2", "block code 1")
def code_1(segment):
    segment.patches = {40: b"\1"}


@in_table("10.4", NOT_ALLOWED)
def filter_depth_65(segment):
    segment.table.add_filter(64, 2)
    segment.table.depth = 65


@in_table("10.5", NOT_ALLOWED)
def filter_depth_0(segment):
    segment.table.add_filter(64, 2)
    segment.table.depth = 0


@in_table("10.7", NOT_ALLOWED)
def count_below_blocks(segment):
    segment.table.count = 2


@in_table("10.8", NOT_ALLOWED, blocks=[])
def count_without_blocks(segment):
    segment.table.count = 1


NO_SUCH_BLOCKS = "the directory refers to blocks that the table does not have"


@in_table("10.9", NO_SUCH_BLOCKS, USE, blocks=SPREAD, use=("query", f"{3 << 60 | 1:#x}"))
def slot_after_the_last_block(segment):
    segment.table.slots[0] = u32(1) + segment.table.slots[0][4:]


@in_table("10.9", NO_SUCH_BLOCKS, USE, blocks=CROWDED)
def crowded_slot_after_the_last_block(segment):
    segment.table.overflow.append(2 << 40)
    segment.table.slots[0] = crowded_slot(0, 4, 0)


@in_table("10.10", "the directory refers to keys that the overflow does not have", USE, blocks=CROWDED)
def slot_after_the_last_key(segment):
    segment.table.slots[0] = crowded_slot(0, 3, 1)


@in_table("10.11", NO_SUCH_BLOCKS, USE, blocks=CROWDED)
def slot_that_ends_before_it_begins(segment):
    segment.table.slots[0] = crowded_slot(2, 0, 0)[:8] + u32(1) + bytes(52)


@in_table("10.12", "the length of the body does not match the counts in the footer")
def word_after_the_filter(segment):
    segment.patches = {24: u64(1)}


@in_table("10.13", NOT_ALLOWED)
def zero_bits_64(segment):
    segment.table.zeros = 64


@in_table("11.1", "the fingerprints do not ascend from the previous block to this one", FULL,
          blocks=[[3, 9], [5, 20], [30]])
def blocks_that_overlap(_):
    pass


DIRECTORY = "the directory does not match the blocks"


@in_table("11.2", DIRECTORY, FULL, blocks=SPREAD)
def part_of_a_key(segment):
    slot = segment.table.slots[0]
    segment.table.slots[0] = slot[:4] + u16(1) + slot[6:]


@in_table("11.2", DIRECTORY, FULL, blocks=CROWDED)
def key_in_the_overflow(segment):
    segment.table.overflow[1] += 1


@in_table("11.3", "the prefix filter has a bit that no fingerprint sets", FULL)
def bit_too_many_in_the_filter(segment):
    segment.table.add_filter(64, 8)
    segment.table.words[0] ^= 1 << (~segment.table.words[0] & -~segment.table.words[0]).bit_length() - 1


@in_table("11.3", "the prefix filter rules out a fingerprint that the table holds", FULL)
def bit_missing_in_the_filter(segment):
    segment.table.add_filter(64, 1)
    segment.table.words[0] &= segment.table.words[0] - 1


@in_table("11.4", "the blocks do not hold as many fingerprints as the table's footer says", FULL)
def count_of_one_more(segment):
    segment.table.count += 1
