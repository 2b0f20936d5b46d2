"""Segment: an immutable set of entries, tombstones and documents; a few files."""

from .conventions import Damage, check, crc32
from .documents import Documents
from .header import DOCUMENTS, BANDS, POSTINGS, SPARE, TABLE, TOMBSTONES, expect, file_name, read_header
from .bands import check_bands
from .manifest import NAMES
from .paged import read_paged
from .postings import Postings
from .table import Table
from .tombstones import read_tombstones


class Segment:
    """A checked segment. `entries` are pairs of a fingerprint and an id."""

    def __init__(self, folder, manifest, named):
        self.folder = folder
        self.manifest = manifest
        self.named = named
        self.tombstones = []
        self.records = []
        if (SPARE, 0) in named.files:
            self.read_file(SPARE, 0)
        if manifest.is_of_sketches:
            self.read_sketches()
            return
        self.read_tables()
        self.read_entries()
        if (TOMBSTONES, 0) in named.files:
            self.tombstones = read_tombstones(self.read_file(TOMBSTONES, 0))
        check(len(self.tombstones) == named.removed, "2.4", self.name(TOMBSTONES),
              f"there are {len(self.tombstones)} tombstones, and the manifest says {named.removed}")
        if (DOCUMENTS, 0) in named.files:
            self.read_documents()

    def name(self, kind, part=0):
        """The name of one of the segment's files."""
        return file_name(kind, self.named.number, part)

    def read_file(self, kind, part):
        """Reads a file, and checks what all files of a segment have in common."""
        name = self.name(kind, part)
        length, checksum = self.named.files[kind, part]
        path = self.folder / name
        if not path.is_file():
            raise Damage("20.1", name, "the manifest names it, but it does not exist")
        data = path.read_bytes()
        check(len(data) == length, "2.1", name, f"it has {len(data)} bytes, and the manifest says {length}")
        header = read_header(data, name)
        expect(header, name, kind=kind, part=part, number=self.named.number, nonce=self.named.nonce,
               bits=self.manifest.header.bits, database=self.manifest.header.database)
        paged = read_paged(data, header, name)
        check(crc32(data) == checksum, "17.1", name, "the checksum of all its bytes is not the manifest's")
        return paged

    def read_tables(self):
        """Reads all tables, which must hold the same set."""
        layout = self.manifest.index.layout
        self.table0 = None
        for kind, part in self.named.files:
            if kind != TABLE:
                continue

            def order(fingerprint, part=part):
                return layout.permute(part, fingerprint)
            table = Table(self.read_file(kind, part))
            check(table.count == self.named.fingerprints, "2.2", table.where,
                  f"it has {table.count} fingerprints, and the manifest says {self.named.fingerprints}")
            self.table0 = self.table0 or table
            check(table.fingerprints() == sorted(map(order, self.table0.fingerprints())), "16.1", table.where,
                  "it holds another set than table 0")

    def read_entries(self):
        """Reads the postings."""
        postings = Postings(self.read_file(POSTINGS, 0), self.table0)
        check(postings.entries == self.named.entries, "2.3", postings.where,
              f"it has {postings.entries} ids, and the manifest says {self.named.entries}")
        self.entries = [(fingerprint, identifier)
                        for fingerprint, ids in zip(self.table0.fingerprints(), postings.ids)
                        for identifier in ids]

    def read_sketches(self):
        """Reads the documents, of which the originals are the entries, and checks the bands."""
        documents = self.read_documents()
        for kind, part in self.named.files:
            if kind == BANDS:
                check_bands(self.read_file(kind, part), part, self.manifest.index, documents.leaves, self.named.entries)
        self.entries = [(record.fingerprint, record.id) for record in self.records
                        if not record.removed and record.original is None]

    def read_documents(self):
        """Reads the documents."""
        documents = Documents(self.read_file(DOCUMENTS, 0), self.manifest.kind_of_ids == NAMES)
        check((documents.live, documents.removed) == (self.named.live, self.named.unlive), "2.5", documents.where,
              "the numbers of documents and removals are not the manifest's")
        expected = self.named.entries + documents.duplicates
        check(expected == documents.live or expected < documents.live and not self.manifest.is_of_sketches, "2.7",
              documents.where, "it does not have as many documents as the segment has entries and duplicates")
        self.records = documents.records
        return documents
