"""The database: what its segments and logs say together, and answers by a scan."""

from . import sketch
from .conventions import Damage, check
from .header import LOG, expect, file_name, numbered, read_header
from .leaf import Record
from .log import IS_ORIGINAL, WAS_DUPLICATE, WAS_ORIGINAL, Insert, Log, Remove
from .manifest import CHOSEN, NAMES, read_manifest
from .segment import Segment

ATTEMPTS = 16


class Database:
    """All live entries and documents of a database.

    `entries` is a set of (fingerprint, id), and `documents` maps each key to its record.
    """

    def __init__(self, folder):
        self.folder = folder
        for _ in range(ATTEMPTS):
            numbers = [numbered(path.name) for path in folder.iterdir()]
            self.manifest = read_manifest(folder)
            try:
                self.read(numbers)
                return
            except Damage:
                # The files of an older manifest may be gone.
                if read_manifest(folder).generation == self.manifest.generation:
                    raise
        raise TimeoutError("a writer replaces the manifest faster than this reader can read the files")

    def read(self, numbers):
        """Reads everything that the manifest names. `numbers` are those of the files before it was read."""
        check(all(number is None or number >> 24 <= self.manifest.generation for number in numbers), "20.3",
              "MANIFEST", "a file is newer: this is the manifest of an earlier time")
        self.read_segments()
        self.read_logs()
        for log in self.logs:
            for commit in log.durable():
                self.apply_commit(commit, log.where)
        self.check_originals()

    def read_segments(self):
        """Reads the segments, oldest first."""
        self.entries = set()
        self.documents = {}
        self.next_id = self.manifest.next_id
        for named in self.manifest.segments:
            self.add_segment(Segment(self.folder, self.manifest, named))

    def add_segment(self, segment):
        """Adds what a segment says to what the older ones say."""
        name = f"segment {segment.named.number:016x}"
        if self.manifest.is_of_sketches:
            self.remove_replaced(segment, name)
        for entry in segment.tombstones:
            check(entry in self.entries, "22.1", name, f"a tombstone removes {entry}, which is not live")
            self.entries.remove(entry)
        for entry in segment.entries:
            check(entry not in self.entries, "22.2", name, f"it holds {entry}, which is live already")
        self.entries.update(segment.entries)
        replaced = sum(record.key in self.documents for record in segment.records)
        check(replaced == segment.named.replaced, "2.6", name,
              f"it replaces {replaced} documents, and the manifest says {segment.named.replaced}")
        for record in segment.records:
            check(not record.removed or record.key in self.documents, "Segment", name,
                  f"it removes the document {record.key!r}, which does not exist")
            if self.manifest.kind_of_ids == NAMES and not record.removed:
                check(record.id < self.manifest.next_id, "18.33", "MANIFEST", "the next id is in use")
            self.put(record.key, None if record.removed else record)

    def remove_replaced(self, segment, name):
        """Removes the entries of the documents that a segment of sketches replaces or removes."""
        known = [self.documents[record.key] for record in segment.records if record.key in self.documents]
        replaced = {(record.fingerprint, record.id) for record in known if record.original is None}
        check(len(replaced) == segment.named.removed, "2.6", name,
              f"it replaces {len(replaced)} originals, and the manifest says {segment.named.removed}")
        self.entries -= replaced

    def put(self, key, record):
        """Replaces what is known about a document."""
        if record is None:
            self.documents.pop(key, None)
        else:
            self.documents[key] = record

    def read_logs(self):
        """Reads the logs, oldest first, whose commits must follow those in the segments and each other."""
        self.logs = []
        last = self.manifest.last_commit
        for named in self.manifest.logs:
            log = self.read_log(named)
            check(log.first_sequence == last, "19.6", log.where,
                  f"its commits follow commit {log.first_sequence} instead of {last}")
            last = log.sequence
            self.logs.append(log)

    def read_log(self, named):
        """Reads a log that the manifest names."""
        name = file_name(LOG, named.number)
        path = self.folder / name
        if not path.is_file():
            raise Damage("20.1", name, "the manifest names it, but it does not exist")
        data = path.read_bytes()
        header = read_header(data, name)
        expect(header, name, kind=LOG, part=0, number=named.number, nonce=named.nonce,
               bits=self.manifest.header.bits, database=self.manifest.header.database)
        return Log(data, header, name, named.end, self.manifest.kind_of_ids)

    def apply_commit(self, commit, where):
        """Applies the operations of a commit."""
        where = f"{where}, commit {commit.number}"
        for operation in commit.operations:
            if isinstance(operation, Insert):
                self.insert(tuple(operation), where)
            elif isinstance(operation, Remove):
                self.remove(tuple(operation), where)
            else:
                self.change(operation, where)

    def insert(self, entry, where):
        """Inserts an entry, which must not be live."""
        check(entry not in self.entries, "Log", where, f"it inserts {entry}, which is live")
        self.entries.add(entry)

    def remove(self, entry, where):
        """Removes an entry, which must be live."""
        check(entry in self.entries, "Log", where, f"it removes {entry}, which is not live")
        self.entries.remove(entry)

    def change(self, change, where):
        """Changes a document."""
        known = self.documents.get(change.key)
        was = 0 if known is None else WAS_ORIGINAL if known.original is None else WAS_DUPLICATE
        check(change.flags & (WAS_ORIGINAL | WAS_DUPLICATE) == was, "Log", where,
              f"it says something else about the document {change.key!r} before it")
        if self.manifest.kind_of_ids == NAMES:
            expected = self.next_id if known is None else known.id
            check(change.id == expected, "19.17", where, f"an assigned id is {change.id} instead of {expected}")
            self.next_id += known is None
        if was == WAS_ORIGINAL:
            check(change.before == known.fingerprint, "Log", where, "the original had another fingerprint")
            self.remove((known.fingerprint, known.id), where)
        if change.flags & IS_ORIGINAL:
            self.insert((change.fingerprint, change.id), where)
        removed = change.fingerprint is None
        record = Record(change.key, False, change.fingerprint, change.id, change.stamp, change.original)
        self.put(change.key, None if removed else record)

    def check_originals(self):
        """Checks that each original has exactly one live entry, and that there are no others."""
        if self.manifest.kind_of_ids == CHOSEN:
            return
        originals = {(record.fingerprint, record.id) for record in self.documents.values()
                     if record.original is None}
        check(originals == self.entries, "22.3", "the database",
              "the originals are not exactly the live entries")

    def query(self, fingerprint, distance=None):
        """The matches of a fingerprint as (distance, fingerprint, id), nearest first.

        Without a distance, the database's rule says what matches.
        """
        bits = self.manifest.bits

        def accepted(other):
            if distance is None:
                return self.manifest.index.matches(fingerprint, other)
            return sketch.distance(fingerprint, other, bits) <= distance
        found = [(sketch.distance(fingerprint, other, bits), other, identifier)
                 for other, identifier in self.entries if accepted(other)]
        return sorted(found, key=lambda match: (match[0], sketch.order(match[1]), match[2]))
