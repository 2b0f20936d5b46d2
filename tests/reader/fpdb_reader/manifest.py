"""Manifest: the file that says which segments and logs are live."""

from collections import namedtuple

from . import sketch
from .conventions import Cursor, Damage, InUse, OtherVersion, check, crc32
from .header import DOCUMENTS, BANDS, MANIFEST, POSTINGS, SIZE, SPARE, TABLE, TOMBSTONES, expect, read_header
from .index import Index

CHOSEN, NAMES, UNIQUE = range(3)
WRITERS = 1

Windows = namedtuple("Windows", "min_words bits seed")
Session = namedtuple("Session", "nonce last")
Log = namedtuple("Log", "number nonce end")
# `files` has the length and checksum of each file, by its kind and part.
Segment = namedtuple("Segment", "number nonce oldest newest fingerprints entries removed files live unlive replaced")


class Manifest:
    """A checked manifest."""

    def __init__(self, data):
        self.refuse_unless(len(data) <= 2**26, "18.3", "it is longer than 64 MiB")
        self.header = read_header(data, "MANIFEST")
        expect(self.header, "MANIFEST", kind=MANIFEST, part=0, number=0, nonce=0)
        check(len(data) >= SIZE + 4 and crc32(data[:-4]) == int.from_bytes(data[-4:], "little"), "18.1",
              "MANIFEST", "its checksum is wrong")
        self.fields = Cursor(data, "18.2", "MANIFEST", SIZE, len(data) - 4)
        self.read_features()
        self.read_settings()
        self.read_state()
        self.sessions = [Session(self.number(8), self.number(8)) for _ in range(self.counted(16))]
        self.logs = [Log(self.number(8), self.number(8), self.number(8)) for _ in range(self.counted(24))]
        segments = self.counted(92)
        self.refuse_unless(segments <= 65536, "18.26", "there are more than 65,536 segments")
        self.segments = [self.read_segment() for _ in range(segments)]
        self.read_extensions()
        self.fields.finish()
        self.check_numbers()
        if self.unfinished:
            raise InUse("MANIFEST: a backup, merge or rebuild has not finished this database")

    def number(self, size):
        """The next integer."""
        return self.fields.number(size)

    def refuse_unless(self, condition, rule, what):
        """Raises Damage unless the condition holds."""
        check(condition, rule, "MANIFEST", what)

    def counted(self, least_size):
        """The number of the elements that follow, each of at least this size."""
        return self.fields.bounded(4, 0, (self.fields.end - self.fields.at) // least_size,
                                   "18.2", "number of elements")

    def read_features(self):
        """Refuses a database with features that this reader does not know. It knows none."""
        to_read = self.number(8)
        self.number(8)  # To write.
        if to_read:
            raise OtherVersion("18.34", f"MANIFEST: the database has the features {to_read:#x}, and this reader "
                               "knows none")

    def read_extensions(self):
        """Reads which programs wrote the database, and passes over the other extensions."""
        tags, self.writers = [], None
        for _ in range(self.counted(8)):
            tags.append(self.number(4))
            content = self.fields.take(self.counted(1))
            if tags[-1] == WRITERS:
                self.writers = writers_of(content)
        self.refuse_unless(tags == sorted(set(tags)), "18.32", "the tags of the extensions do not ascend")

    def read_settings(self):
        """Reads the settings, which never change."""
        fields = self.fields
        self.kind_of_ids = fields.bounded(1, CHOSEN, UNIQUE, "18.4", "kind of ids")
        self.recipe = fields.string(0, 255, "18.9", "recipe")
        self.extraction = fields.string(0, 255, "18.9", "extraction")
        self.bits = self.header.bits
        self.is_of_sketches = self.bits == sketch.BITS
        self.refuse_unless(not self.is_of_sketches or self.kind_of_ids != CHOSEN, "18.8",
                           "sketches have no documents")
        self.windows = self.read_windows() if fields.bounded(1, 0, 1, "18.37", "purpose") else None
        self.index = Index(fields, self.bits)
        is_exact = self.bits == 64 and self.kind_of_ids == CHOSEN and self.index.distance == 0
        self.refuse_unless(self.windows is None or is_exact, "18.40",
                           "an index of passages has 64 bits, a max distance of 0, and ids that the user chose")

    def read_windows(self):
        """How the windows of an index of passages are hashed."""
        min_words = self.fields.bounded(2, 14, 1000, "18.38", "min words")
        bits = self.fields.bounded(1, 46, 63, "18.39", "bits of windows")
        return Windows(min_words, bits, self.number(8))

    def read_state(self):
        """Reads the counters."""
        self.generation = self.number(8)
        self.session = self.number(8)
        self.unfinished = self.fields.bounded(1, 0, 1, "18.19", "unfinished")
        self.next_id = self.number(8)
        self.last_commit = self.number(8)
        self.flushed = self.number(8)
        self.compacted = self.number(8)
        self.refuse_unless(self.generation < 2**40, "18.22", "the generation is 2^40 or more")
        self.refuse_unless(max(self.next_id, self.last_commit, self.flushed, self.compacted) < 2**63, "18.23",
                           "a counter is 2^63 or more")
        self.refuse_unless(self.next_id == 0 or self.kind_of_ids == NAMES, "18.21",
                           "there is a next id without names")

    def read_segment(self):
        """Reads what the manifest says about a segment."""
        number, nonce, oldest, newest, fingerprints, entries, removed = (self.number(8) for _ in range(7))
        self.refuse_unless(max(fingerprints, entries, removed) < 2**48, "18.27", "a count is 2^48 or more")
        if self.is_of_sketches:
            places = [(BANDS, part) for part in range(self.index.bands)]
        else:
            places = [(TABLE, part) for part in range(self.index.layout.tables())] + [(POSTINGS, 0)]
        files = {place: self.read_file(True) for place in places}
        for kind in (TOMBSTONES, DOCUMENTS):
            found = self.read_file(False)
            if found:
                files[kind, 0] = found
        if self.is_of_sketches:
            self.refuse_unless((TOMBSTONES, 0) not in files and fingerprints == entries, "18.18",
                               "a segment has tombstones, or other numbers of sketches and entries")
            self.refuse_unless((DOCUMENTS, 0) in files, "18.29", "a segment of sketches has no documents")
        else:
            self.refuse_unless(((TOMBSTONES, 0) in files) == (removed > 0), "2.4",
                               "there are tombstones without a file, or the reverse")
        live = unlive = replaced = 0
        if (DOCUMENTS, 0) in files:
            self.refuse_unless(self.kind_of_ids != CHOSEN, "Segment",
                               "there are documents without names or unique ids")
            live, unlive, replaced = (self.number(8) for _ in range(3))
            self.refuse_unless(max(live, unlive, replaced) < 2**48, "18.27", "a count is 2^48 or more")
        spare = self.read_file(False)
        if spare:
            files[SPARE, 0] = spare
        return Segment(number, nonce, oldest, newest, fingerprints, entries, removed, files, live, unlive, replaced)

    def read_file(self, required):
        """The length and checksum of a file; None if there is none."""
        length, checksum = self.number(8), self.number(4)
        if length == 0:
            self.refuse_unless(checksum == 0, "18.28", "a file of length 0 has a checksum")
            self.refuse_unless(not required, "18.29", "a table, bands or the postings have length 0")
            return None
        return length, checksum

    def check_numbers(self):
        """Checks lengths, generations, file numbers, and the ends of logs."""
        lengths = [length for segment in self.segments for length, _ in segment.files.values()]
        self.refuse_unless(sum(lengths) < 2**56, "18.36", "the files have 2^56 bytes or more")
        numbers = [element.number for element in self.logs + self.segments]
        self.refuse_unless(len(set(numbers)) == len(numbers), "18.31", "a file number occurs twice")
        for number in numbers:
            self.refuse_unless(number >> 24 < self.generation, "18.30",
                               f"file {number:016x} is not from an earlier generation")
        ages = [age for segment in self.segments for age in (segment.oldest, segment.newest + 1)]
        self.refuse_unless(ages == sorted(ages) and all(s.oldest <= s.newest for s in self.segments), "18.35",
                           "the segments are not in the order of their age")
        for session in self.sessions:
            self.refuse_unless(session.last < self.generation, "18.24",
                               "an earlier session did not end earlier")
        for log in self.logs[:-1]:
            self.refuse_unless(log.end != 0, "18.25", "a log other than the last has no end")


def read_manifest(folder):
    """Reads the manifest of a database."""
    path = folder / "MANIFEST"
    if not path.exists():
        raise Damage("20.2", "MANIFEST", "there is no such file")
    return Manifest(path.read_bytes())


def writers_of(content):
    """The programs that created and last wrote the database, or None if the content has another form."""
    try:
        cursor = Cursor(content, "Compatibility", "extension 1")
        writers = [cursor.string(0, len(content), "Compatibility", "program") for _ in range(2)]
        cursor.finish()
    except Damage:
        return None
    return writers
