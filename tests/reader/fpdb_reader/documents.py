"""Documents: what a segment says about documents, in a B-tree with a locator and a filter."""

from .conventions import MASK64, PAGE, Cursor, check, ones, packed_numbers, round_up
from .leaf import read_leaf, read_node
from .symbols import Symbols
from .xxh3 import xxh3_64

LINE = 64
CHUNK = 24


class Documents:
    """A checked file of documents. `records` are in the order of their keys."""

    def __init__(self, paged, has_names):
        self.where = paged.where
        self.body = paged.body
        self.bits = paged.header.bits
        self.seed = int.from_bytes(paged.header.database[:8], "little")
        self.has_names = has_names
        self.read_meta(paged.meta)
        self.split_body()
        self.read_leaves()
        self.check_tree()
        self.check_records()
        self.check_locator()
        self.check_filter()

    def refuse_unless(self, condition, rule, what):
        """Raises Damage unless the condition holds."""
        check(condition, rule, self.where, what)

    def read_meta(self, meta):
        """Reads the meta and checks its bounds."""
        fields = Cursor(meta, "5.1", self.where)
        (self.count, self.removed, self.duplicates, self.stamped, self.greatest, self.key_bytes,
         self.leaf_pages, self.inner_pages, self.depth, self.root, self.chunks,
         self.lines) = (fields.number(8) for _ in range(12))
        for value in (self.count, self.key_bytes, self.leaf_pages, self.inner_pages):
            self.refuse_unless(value < 2**48, "15.1", "a count is 2^48 or more")
        self.refuse_unless(self.removed <= self.count, "15.2", "there are more removals than records")
        self.live = self.count - self.removed
        self.refuse_unless(self.duplicates <= self.live, "15.3", "there are more duplicates than documents")
        self.refuse_unless(self.stamped <= self.live, "15.4", "there are more stamps than documents")
        self.refuse_unless((self.count == 0) == (self.leaf_pages == 0), "15.5",
                           "there are records without leaves, or the reverse")
        self.refuse_unless((self.count == 0) == (self.lines == 0) and self.lines < 2**32, "15.6",
                           "there are records without a filter, or the reverse, or it is too large")
        self.refuse_unless((self.inner_pages == 0) == (self.depth == 0), "15.7",
                           "there are inner nodes without a depth, or the reverse")
        self.refuse_unless(self.depth <= 64, "15.8", f"the depth is {self.depth}")
        pages = self.inner_pages if self.depth else max(self.leaf_pages, 1)
        self.refuse_unless(self.root < pages, "15.9", "there is no root page")
        has_chunks = self.has_names and self.live > 0
        self.refuse_unless((self.chunks > 0) == has_chunks and self.chunks <= self.live, "15.10",
                           f"there are {self.chunks} chunks")
        self.refuse_unless(self.live > 0 or self.greatest == 0, "15.12", "there is a greatest id of no document")

    def split_body(self):
        """Finds the parts of the body, and reads all but leaves and inner nodes."""
        self.leaves_end = PAGE * (1 + self.leaf_pages)
        self.inner_end = self.leaves_end + PAGE * self.inner_pages
        head = Cursor(self.body, "15.11", self.where, 64)
        self.symbols = Symbols(head)
        head.zeros(PAGE, "15.14")
        rest = Cursor(self.body, "15.11", self.where, min(self.inner_end, len(self.body)))
        self.leaf_of_each = []
        self.chunk_list = []
        if self.has_names:
            width = max(self.leaf_pages - 1, 0).bit_length()
            self.leaf_of_each = packed_numbers(rest, width, self.live)
            rest.zeros(round_up(rest.at, 8))
            self.refuse_unless(self.chunks * CHUNK <= rest.end - rest.at, "15.11", "the chunks exceed the body")
            self.chunk_list = [tuple(rest.number(8) for _ in range(3)) for _ in range(self.chunks)]
        rest.zeros(round_up(rest.at, LINE))
        self.filter = rest.take(LINE * self.lines)
        rest.finish()

    def read_leaves(self):
        """Reads all leaves from first to last."""
        self.leaves = {}
        page = 0
        while page < self.leaf_pages:
            leaf = read_leaf(self.body, PAGE, self.leaves_end, page, self.symbols, self.has_names, self.bits)
            self.leaves[page] = leaf
            page += leaf.pages
        self.records = [record for leaf in self.leaves.values() for record in leaf.records]
        for before, after in zip(self.records, self.records[1:]):
            self.refuse_unless(before.key < after.key, "15.29", "the keys do not ascend")

    def check_tree(self):
        """Checks that the inner nodes lead to all leaves, and that each key is found."""
        self.inner_seen = 0
        found = []
        if self.count:
            self.descend(self.root if self.depth else 0, self.depth, b"", None, found)
        self.refuse_unless(found == list(self.leaves), "15.31", "the inner nodes do not lead to all leaves in order")
        self.refuse_unless(self.inner_seen == self.inner_pages, "Documents",
                           "there are inner nodes without a way to them")

    def descend(self, page, level, least, beyond, found):
        """Visits what is below a node whose keys are from `least` to before `beyond`."""
        if level == 0:
            self.refuse_unless(page in self.leaves, "15.31", f"no leaf begins at page {page}")
            keys = [record.key for record in self.leaves[page].records]
            self.refuse_unless(least <= keys[0] and (beyond is None or keys[-1] < beyond), "15.31",
                               f"a key of the leaf at page {page} is not found through the inner nodes")
            found.append(page)
            return
        node = read_node(self.body, self.leaves_end, self.inner_end, page, self.symbols)
        self.inner_seen += node.pages
        self.refuse_unless(self.inner_seen <= self.inner_pages, "Documents", "an inner node has several parents")
        bounds = [least] + node.separators + [beyond]
        for child, low, high in zip(node.children, bounds, bounds[1:]):
            self.refuse_unless(level == 1 or child < page, "Documents", "a child does not come before its parent")
            self.descend(child, level - 1, low, high, found)

    def check_records(self):
        """Checks that the counts match the records, and that keys are of the right kind."""
        for record in self.records:
            self.check_key(record)
        documents = [record for record in self.records if not record.removed]
        counts = (len(self.records), len(self.records) - len(documents),
                  sum(record.original is not None for record in documents),
                  sum(record.stamp is not None for record in documents),
                  max((record.id for record in documents), default=0),
                  sum(leaf.key_bytes for leaf in self.leaves.values()))
        self.refuse_unless(counts == (self.count, self.removed, self.duplicates, self.stamped, self.greatest,
                                      self.key_bytes), "15.36", "the counts do not match the records")

    def check_key(self, record):
        """Checks that a key is of the right kind."""
        if not self.has_names:
            self.refuse_unless(len(record.key) == 8 or record.removed, "15.28", "a key is not an id of 8 bytes")
            return
        try:
            record.key.decode("utf-8")
        except UnicodeDecodeError:
            self.refuse_unless(False, "15.27", "a name is not UTF-8")

    def check_locator(self):
        """Checks that each id is found by way of the locator, and nothing else."""
        located = []
        if not self.has_names:
            return
        before, last = 0, -1
        for number, bits, stored_before in self.chunk_list:
            self.refuse_unless(last < number, "15.34", "the chunks do not ascend")
            self.refuse_unless(bits != 0 and stored_before == before, "15.35", f"chunk {number} does not match")
            last = number
            located += [64 * number + i for i in range(64) if bits >> i & 1]
            before += ones(bits)
        expected = sorted((record.id, page) for page, leaf in self.leaves.items()
                          for record in leaf.records if not record.removed)
        self.refuse_unless(len(located) == len(self.leaf_of_each), "15.35", "the chunks do not match the documents")
        ids = [identifier for identifier, _ in expected]
        self.refuse_unless(len(set(ids)) == len(ids), "15.37", "two documents have the same id")
        for identifier, page in zip(located, self.leaf_of_each):
            self.refuse_unless(identifier not in ids or (identifier, page) in expected, "15.26",
                               f"the locator leads to a leaf without the id {identifier}")
        self.refuse_unless(located == ids, "15.33", "an id is not found by way of the locator")

    def check_filter(self):
        """Checks that the filter rules out no key."""
        for record in self.records:
            self.refuse_unless(self.may_have(record.key), "15.32", f"the filter rules out the key {record.key[:80]!r}")

    def may_have(self, key):
        """False if the file has no record with this key."""
        value = xxh3_64(key, self.seed)
        line = (value >> 32) * self.lines >> 32
        mixed = value * 0x9E3779B97F4A7C15 & MASK64
        bits = int.from_bytes(self.filter[LINE * line:LINE * (line + 1)], "little")
        return all(bits >> (mixed >> 64 - 9 * i) % 512 & 1 for i in range(1, 7))
