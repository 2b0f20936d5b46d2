"""The fields of a manifest."""

from fpdb_reader.header import SIZE

from .numbers import checksum, number, seal_header, u64


class Manifest:
    """All fields by their names in the document, in order; those of elements have a number after the name.

    A field of several bytes that is changed to a number keeps its size.
    """

    def __init__(self, data):
        self.header = bytearray(data[:SIZE])
        self.fields = {}
        self.data, self.at = data, SIZE
        self.read_settings()
        self.read_state()
        for segment in range(self.take("segments", 4)):
            self.read_segment(segment)
        self.take("extensions", 4)
        self.take("all extensions", len(data) - 4 - self.at)

    def take(self, name, size):
        """Reads the next field, and returns it as a number."""
        self.fields[name] = self.data[self.at:self.at + size]
        self.at += size
        return number(self.fields[name])

    def take_all(self, sizes, ending=""):
        """Reads fields of these sizes."""
        for name, size in sizes.items():
            self.take(name + ending, size)

    def read_settings(self):
        """Reads the fields up to the index."""
        self.take_all({"features to read": 8, "features to write": 8, "kind of ids": 1})
        for name in ("recipe", "extraction"):
            self.take(name, self.take(f"length of {name}", 4))
        if self.take("purpose", 1) == 1:
            self.take_all({"min words": 2, "bits of windows": 1, "seed": 8})
        self.bands = self.tables = 0
        if self.take("kind of index", 1) == 1:
            self.take_all({"similarity": 2, "recall": 2})
            self.bands = self.take("bands", 1)
            self.take_all({"minima": 1, "max distance": 1, "margin": 2})
        else:
            self.read_tables()
            self.take("max distance", 1)

    def read_tables(self):
        """Reads the fields of an index of tables."""
        self.take_all({"block size": 4, "block code": 1, "filter bits": 4})
        self.take("layout's name", self.take("length of layout's name", 4))
        cells = self.take("cells", 1)
        self.take("widths", cells)
        self.tables = self.take("tables", 1)
        for table in range(self.tables):
            self.take(f"bit order {table}", cells)

    def read_state(self):
        """Reads the fields up to the segments."""
        self.take_all({"generation": 8, "session": 8, "unfinished": 1, "next id": 8, "last commit": 8,
                       "bytes flushed": 8, "bytes compacted": 8})
        for session in range(self.take("earlier sessions", 4)):
            self.take_all({"session nonce": 8, "session last": 8}, f" {session}")
        for log in range(self.take("logs", 4)):
            self.take_all({"log number": 8, "log nonce": 8, "log end": 8}, f" {log}")

    def read_segment(self, segment):
        """Reads the fields of a segment."""
        files = [f"bands {band}" for band in range(self.bands)]
        if not self.bands:
            files = [f"table {table}" for table in range(self.tables)] + ["postings"]
        files += ["tombstones", "documents"]
        ending = f" of {segment}"
        self.take_all({name: 8 for name in ("number", "nonce", "oldest", "newest", "fingerprints", "entries", "tombstones")}, ending)
        for file in files:
            length = self.take(f"length of {file}{ending}", 8)
            self.take(f"checksum of {file}{ending}", 4)
        if length:
            self.take_all({"documents": 8, "removals": 8, "replaced": 8}, ending)
        self.take_all({f"length of spare{ending}": 8, f"checksum of spare{ending}": 4})

    def __getitem__(self, name):
        """A field as a number."""
        return number(self.fields[name])

    def __setitem__(self, name, value):
        """Changes a field to a number or to bytes."""
        if isinstance(value, int):
            value = value.to_bytes(len(self.fields[name]), "little")
        self.fields[name] = value

    def insert_after(self, name, fields):
        """Inserts fields after another one."""
        items = list(self.fields.items())
        at = list(self.fields).index(name) + 1
        self.fields = dict(items[:at] + list(fields.items()) + items[at:])

    def name_file(self, before, after):
        """Changes length and checksum of a file. A log has none."""
        old = u64(len(before)), checksum(before)
        for name in [name for name in self.fields if name.startswith("length of ") and " of " in name[10:]]:
            of_file = name.replace("length", "checksum", 1)
            if (self.fields[name], self.fields[of_file]) == old:
                self.fields[name], self.fields[of_file] = u64(len(after)), checksum(after)

    def sealed(self):
        """The bytes of the manifest."""
        seal_header(self.header)
        data = bytes(self.header) + b"".join(self.fields.values())
        return data + checksum(data)
