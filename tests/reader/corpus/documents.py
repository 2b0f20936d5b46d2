"""Documents."""

from functools import wraps

from fpdb_reader.conventions import PAGE
from fpdb_reader.leaf import DUPLICATES, REMOVED, SOME_STAMPS, STAMPS
from fpdb_reader.xxh3 import xxh3_64

from .case import FULL, USE, case, sound
from .leaf import Leaf
from .numbers import number, u16, u64
from .segment import PostingsParts, TableParts

NAMES, NAMES_FILE = "names-ring-3", "0000000006000000.docs"
# The documents 150, 151, which was removed, and 230 to 239.
UNIQUE, UNIQUE_FILE = "unique-half-2", "0000000008000000.docs"
TREE, TREE_LEAVES = "sketches-names", 13  # pages
EXPORT = ("export", "--documents")
(RECORDS, REMOVALS, DUPLICATE, STAMPED, GREATEST, KEY_BYTES, LEAF_PAGES, INNER_PAGES, DEPTH, ROOT, CHUNKS,
 FILTER) = range(0, 96, 8)


def set_meta(paged, **fields):
    """Changes fields of the meta."""
    for name, value in fields.items():
        at = globals()[name]
        paged.meta[at:at + 8] = u64(value)


def meta(condition, database=NAMES, words="the counts in the footer are contradictory", **fields):
    """A case of fields of the meta."""
    @case(condition, database, NAMES_FILE, words)
    def fields_of_the_meta(copy, file):
        set_meta(copy.paged(file), **fields)
    return fields_of_the_meta


for field in ("RECORDS", "KEY_BYTES", "LEAF_PAGES", "INNER_PAGES"):
    meta("15.1", **{field: 2**48})
meta("15.2", REMOVALS=209)
meta("15.3", DUPLICATE=209)
meta("15.4", STAMPED=209)
meta("15.5", LEAF_PAGES=0)
meta("15.6", FILTER=0)
meta("15.6", FILTER=2**32)
meta("15.7", DEPTH=1)
meta("15.7", TREE, DEPTH=0)
meta("15.8", TREE, DEPTH=65)
meta("15.9", TREE, ROOT=1)
meta("15.9", ROOT=1)
meta("15.10", CHUNKS=0)
meta("15.10", CHUNKS=209)


@case("15.11", NAMES, NAMES_FILE, "the length of the body does not match the counts in the footer")
def line_after_the_filter(copy, file):
    copy.paged(file).body += bytes(64)


@case("15.12", UNIQUE, UNIQUE_FILE, "the counts in the footer are contradictory")
def greatest_id_of_no_document(copy, file):
    only_removal(copy)
    set_meta(copy.paged(file), GREATEST=7)


@sound(UNIQUE)
def only_removal(copy):
    """Leaves only the removal of document 151 in the newest segment."""
    leaf = Leaf(copy.paged(UNIQUE_FILE).body, False, 64)
    leaf.count, leaf.flags, leaf.bitmaps = 1, REMOVED, {REMOVED: b"\1"}
    leaf.stamp_head, leaf.fingerprints, leaf.stamps = None, [], []
    leaf.shared, leaf.suffixes = [0], [b"".join(bytes([255, byte]) for byte in u64(151)[::-1])]
    leaf.length_width = 5
    leaf.write()
    set_meta(copy.paged(UNIQUE_FILE), RECORDS=1, STAMPED=0, GREATEST=0, KEY_BYTES=leaf.key_bytes())
    for part in range(2):
        TableParts(64, []).write(copy.paged(f"0000000008000000.t{part:02}"))
    PostingsParts([]).write(copy.paged("0000000008000000.ids"))
    copy.manifest["fingerprints of 1"] = copy.manifest["entries of 1"] = copy.manifest["documents of 1"] = 0
    copy.manifest["replaced of 1"] = 1


@case("15.13", NAMES, NAMES_FILE, "the symbol table is damaged", USE, EXPORT)
def symbol_of_9_bytes(copy, file):
    copy.paged(file).body[65] = 9


@case("15.13", NAMES, NAMES_FILE, "the symbol table is damaged", USE, EXPORT)
def symbol_of_0_bytes(copy, file):
    copy.paged(file).body[65] = 0


@case("15.14", NAMES, NAMES_FILE, "the symbol table is damaged", USE, EXPORT)
def byte_after_the_symbols(copy, file):
    copy.paged(file).body[PAGE - 1] = 1


def in_leaf(condition, words, found=USE):
    """A case in a leaf, whose parts the function changes."""
    def add(change):
        @case(condition, UNIQUE, UNIQUE_FILE, words, found, EXPORT)
        @wraps(change)
        def changed(copy, file):
            paged = copy.paged(file)
            leaf = Leaf(paged.body, False, 64)
            others = number(paged.meta[KEY_BYTES:KEY_BYTES + 8]) - leaf.key_bytes()
            change(leaf)
            leaf.write()
            set_meta(paged, KEY_BYTES=others + leaf.key_bytes())
        return change
    return add


def in_page(condition, words, at, data, database=UNIQUE, page=0):
    """A case of bytes at an offset of a leaf, or of an inner node, which follows the leaves and is read to find a name."""
    use = EXPORT if page < TREE_LEAVES else ("get", "100")
    @case(condition, database, UNIQUE_FILE if database == UNIQUE else NAMES_FILE, words, USE, use)
    def bytes_of_a_page(copy, file):
        start = PAGE * (1 + page) + at
        copy.paged(file).body[start:start + len(data)] = data
    return bytes_of_a_page


LEAF_VALUE = "a leaf has a value that is not allowed"
NODE_VALUE = "an inner node has a value that is not allowed"
for count in (0, 4097):
    in_page("15.15", LEAF_VALUE, 0, u16(count))
    in_page("15.16", NODE_VALUE, 0, u16(count), TREE, TREE_LEAVES)
for pages in (0, 34):
    in_page("15.17", LEAF_VALUE, 2, u16(pages))
in_page("15.17", LEAF_VALUE, 2, u16(2), TREE)
in_page("15.17", LEAF_VALUE, 2, u16(0), TREE, TREE_LEAVES)
for width_at in (5, 6):
    in_page("15.18", LEAF_VALUE, width_at, b"\x12")
in_page("15.18", LEAF_VALUE, 7, b"\x41", NAMES)
for width_at, width in ((4, b"\x12"), (5, b"\x12"), (6, b"\x41")):
    in_page("15.18", NODE_VALUE, width_at, width, TREE, TREE_LEAVES)
in_page("15.19", LEAF_VALUE, 4, b"\x1d")


@in_leaf("15.19", "the bitmaps of a leaf are contradictory")
def bitmap_of_stamps_without_stamps(leaf):
    leaf.flags ^= STAMPS
    leaf.stamp_head, leaf.stamps = None, []


in_page("15.20", "a leaf or inner node is cut short", 0, u16(4096) + u16(1) + bytes(3))


@in_leaf("15.21", "the bitmaps of a leaf are contradictory")
def bitmap_without_duplicates(leaf):
    leaf.flags |= DUPLICATES
    leaf.original_head = [0, 0]
    leaf.bitmaps[DUPLICATES] = bytes(2)


@in_leaf("15.21", "the bitmaps of a leaf are contradictory")
def bit_after_the_last_record(leaf):
    leaf.bitmaps[SOME_STAMPS][1] |= 128


@in_leaf("15.22", "the bitmaps of a leaf are contradictory")
def stamp_of_a_removed_document(leaf):
    leaf.bitmaps[SOME_STAMPS][0] |= 2
    leaf.stamps.insert(1, 0)


@in_leaf("15.23", "a key is not encoded correctly")
def code_255_at_the_end(leaf):
    leaf.suffixes[-1] = b"\xff"


@in_leaf("15.24", "a key is not encoded correctly")
def code_without_symbol(leaf):
    leaf.suffixes[-1] = b"\xfe"


@in_leaf("15.28", "a key is not an id")
def key_of_9_bytes(leaf):
    leaf.length_width = 2
    leaf.suffixes[-1] += leaf.suffixes[-1]


@in_leaf("15.29", "keys do not ascend, or share more than they say", FULL)
def keys_out_of_order(leaf):
    # The documents 234 and 235, which both have a stamp. Before them are 150, 151, which was removed, and 230 to 233.
    leaf.suffixes[6:8] = leaf.suffixes[7:5:-1]
    leaf.fingerprints[5:7] = leaf.fingerprints[6:4:-1]
    leaf.stamps[4:6] = leaf.stamps[5:3:-1]


@in_leaf("15.30", "keys do not ascend, or share more than they say", FULL)
def shared_length(leaf):
    leaf.length_width = 3
    leaf.shared[-1] = 6
    leaf.suffixes[-1] = b"\xff\0" + leaf.suffixes[-1]


@case("15.32", UNIQUE, UNIQUE_FILE, "a key is missing in the filter", FULL)
def filter_of_no_key(copy, file):
    copy.paged(file).body[-64:] = bytes(64)


@case("15.32", UNIQUE, UNIQUE_FILE, "a key is missing in the filter", FULL)
def filter_of_hashes_without_the_seed(copy, file):
    paged = copy.paged(file)
    lines = number(paged.meta[FILTER:FILTER + 8])
    bits = 0
    for identifier in (150, 151, *range(230, 240)):
        value = xxh3_64(u64(identifier)[::-1], 0)
        mixed = value * 0x9E3779B97F4A7C15 % 2**64
        line = (value >> 32) * lines >> 32
        for i in range(1, 7):
            bits |= 1 << 512 * line + (mixed >> 64 - 9 * i) % 512
    paged.body[-64 * lines:] = bits.to_bytes(64 * lines, "little")


@case("15.36", UNIQUE, UNIQUE_FILE, "the documents are not those that the footer says", FULL)
def number_of_stamps(copy, file):
    set_meta(copy.paged(file), STAMPED=8)


@case("2.7", UNIQUE, "0000000006000000.docs", "does not have the counts that the manifest says")
def duplicate_with_an_entry(copy, file):
    """The document 151, which the next segment removes, becomes a duplicate, but still has its entry."""
    paged = copy.paged(file)
    leaf = Leaf(paged.body, False, 64)
    at = leaf.bitmaps[DUPLICATES]
    earlier = sum(at[record // 8] >> record % 8 & 1 for record in range(151))
    at[151 // 8] |= 1 << 151 % 8
    leaf.originals.insert(earlier, 0)
    leaf.write()
    set_meta(paged, DUPLICATE=19)


@case("2.7", "sketches-unique", "0000000006000000.docs", "does not have the counts that the manifest says")
def original_without_an_entry(copy, file):
    """The last duplicate of a leaf becomes an original, but is no entry."""
    paged = copy.paged(file)
    leaf = Leaf(paged.body, False, 1824, 12)
    leaf.bitmaps[DUPLICATES][0] &= 0b0111
    leaf.originals.pop()
    leaf.write()
    set_meta(paged, DUPLICATE=17)
