"""Documents with names: inner nodes, locator, and names."""

from functools import wraps
from pathlib import Path

from fpdb_reader.conventions import PAGE, low_bits_first, round_up

from .case import FULL, USE, case, sound
from .documents import CHUNKS, EXPORT, NAMES, NAMES_FILE, TREE, TREE_LEAVES, Leaf, set_meta
from .leaf import column
from .numbers import number, u64
from .segment import PostingsParts, TableParts

def one_document(copy, encoded, symbols=b"\0"):
    """Leaves one document in the database: its fingerprint and id are 0, and this is its encoded name."""
    for name in ("log number 0", "log nonce 0", "log end 0"):
        del copy.manifest.fields[name]
    del copy.files["0000000004000000.log"]
    for part in range(3):
        TableParts(64, [[0]]).write(copy.paged(f"0000000006000000.t{part:02}"))
    PostingsParts([[[0]]]).write(copy.paged("0000000006000000.ids"))
    paged = copy.paged(NAMES_FILE)
    leaf = Leaf(paged.body, True, 64)
    leaf.count, leaf.flags, leaf.id_head = 1, 0, [0, 0]
    leaf.original_head = leaf.stamp_head = None
    leaf.bitmaps, leaf.ids, leaf.originals, leaf.stamps = {}, [0], [], []
    leaf.fingerprints, leaf.shared, leaf.suffixes = [bytes(8)], [0], [encoded]
    leaf.shared_width, leaf.length_width = 0, len(encoded).bit_length()
    leaf.pages = -(-(50 + len(encoded)) // PAGE)
    del paged.body[64:]
    paged.body += symbols + bytes(PAGE - 64 - len(symbols))
    leaf.write()
    # A chunk with id 0, after one number for each page of which there is more than one, and a filter with all bits.
    paged.body += column([0], (leaf.pages - 1).bit_length())
    paged.body += bytes(-len(paged.body) % 8) + u64(0) + u64(1) + u64(0)
    paged.body += bytes(-len(paged.body) % 64) + 64 * b"\xff"
    set_meta(paged, RECORDS=1, REMOVALS=0, DUPLICATE=0, STAMPED=0, GREATEST=0, KEY_BYTES=leaf.key_bytes(),
             LEAF_PAGES=leaf.pages, INNER_PAGES=0, DEPTH=0, ROOT=0, CHUNKS=1, FILTER=1)
    for name, value in (("logs", 0), ("fingerprints of 0", 1), ("entries of 0", 1), ("documents of 0", 1)):
        copy.manifest[name] = value


@sound(NAMES)
def name_of_1_byte(copy):
    one_document(copy, b"a")


@sound(NAMES)
def name_of_65528_bytes(copy):
    one_document(copy, bytes(8191), b"\1\10aaaaaaaa")


@case("15.25", NAMES, NAMES_FILE, "a key is not encoded correctly", USE, EXPORT)
def name_of_65536_bytes(copy, _):
    one_document(copy, bytes(8192), b"\1\10aaaaaaaa")


@case("15.27", NAMES, NAMES_FILE, "a name is not valid UTF-8", USE, EXPORT)
def name_of_byte_255(copy, _):
    one_document(copy, b"\xff")


def in_locator(condition, words, found=FULL, database=NAMES, use=EXPORT):
    """A case in a locator. The function gets the column of page numbers, and the chunks, and changes them."""
    def add(change):
        @case(condition, database, NAMES_FILE, words, found, use)
        @wraps(change)
        def changed(copy, file):
            paged = copy.paged(file)
            leaves, inner, chunks = (number(paged.meta[at:at + 8]) for at in (48, 56, CHUNKS))
            pages_at = PAGE * (1 + leaves + inner)
            chunks_at = round_up(pages_at + (208 * (leaves - 1).bit_length() + 7) // 8, 8)
            pages, all_chunks = paged.body[pages_at:chunks_at], paged.body[chunks_at:chunks_at + 24 * chunks]
            change(pages, all_chunks)
            paged.body[pages_at:chunks_at + 24 * chunks] = pages + all_chunks
        return change
    return add


LISTED = (Path(__file__).parents[2] / "golden" / "databases" / f"{TREE}.tsv").read_text(encoding="utf-8")
DOCUMENT_1 = next(fields[1] for fields in map(str.split, LISTED.splitlines()) if fields[0] == "entry" and fields[2] == "1")


@in_locator("15.26", "the locator names a leaf without the id", USE, TREE, ("query", DOCUMENT_1, "-k", "0"))
def other_leaf_of_each_id(pages, _):
    numbers = low_bits_first(pages, 0, 4, 208)
    pages[:104] = column([(number + 1) % TREE_LEAVES for number in numbers], 4)


@in_locator("15.33", "the locator does not name the leaf of an id")
def other_id(_, chunks):
    # Ids 64 and 1000000 * 64: the last chunk has another number.
    chunks[-24:-16] = u64(10**6)


@in_locator("15.34", "the locator does not name the leaf of an id")
def chunks_out_of_order(_, chunks):
    chunks[:8], chunks[24:32] = chunks[24:32], chunks[:8]


@in_locator("15.35", "the chunks of the locator are contradictory")
def number_of_ids_before_a_chunk(_, chunks):
    chunks[40] ^= 1


@in_locator("15.35", "the chunks of the locator are contradictory")
def id_too_many(_, chunks):
    chunks[-16 + 7] |= 128


@case("15.31", TREE, NAMES_FILE, "the inner nodes do not lead to the leaf of a key", FULL)
def separator(copy, file):
    body = copy.paged(file).body
    node = PAGE * (1 + TREE_LEAVES)
    at = node + len(body[node:node + PAGE].rstrip(b"\0")) - 1
    body[at] ^= 1


@case("15.37", NAMES, NAMES_FILE, "two documents have the same id", FULL)
def id_twice(copy, file):
    leaf = Leaf(copy.paged(file).body, True, 64)
    leaf.ids[1] = leaf.ids[0]
    leaf.write()
