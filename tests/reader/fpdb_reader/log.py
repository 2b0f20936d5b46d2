"""Log: the record of recent commits."""

from collections import namedtuple

from .conventions import Cursor, Damage, check, crc32, u64
from .header import SIZE
from .manifest import CHOSEN, NAMES

START, COMMIT, WATERMARK = 1, 2, 3
LEAST, GREATEST = 28, 2**24
CONTINUES = 1

# Flags of a change.
WAS_ORIGINAL, WAS_DUPLICATE, IS_ORIGINAL, IS_DUPLICATE, HAS_STAMP, HAS_NAME = 1, 2, 4, 8, 16, 32

Frame = namedtuple("Frame", "at kind flags count sequence durable payload end")
# A commit is complete at offset `end` of the log.
Commit = namedtuple("Commit", "number end operations")
Insert = namedtuple("Insert", "fingerprint id")
Remove = namedtuple("Remove", "fingerprint id")
# `before` is the fingerprint of the original before, or None; `fingerprint` is None if the document was removed.
Change = namedtuple("Change", "key flags id before fingerprint stamp original")


class Log:
    """A checked log. `commits` are all complete commits, `durable` those that are known to be synced."""

    def __init__(self, data, header, where, known_end, kind_of_ids):
        self.data = data
        self.header = header
        self.where = where
        self.kind_of_ids = kind_of_ids
        self.known_end = known_end
        if known_end:
            check(known_end <= len(data), "19.19", where, "it is shorter than the manifest says")
            self.data = data[:known_end]
        self.commits = []
        self.synced = 0
        self.read_start()
        self.read_frames()
        if known_end:
            check(self.valid_end == known_end, "19.19", where,
                  f"it is valid up to {self.valid_end}, and the manifest says {known_end}")
        else:
            self.check_torn_tail()

    def durable(self):
        """The commits that a reader next to a writer takes."""
        return [commit for commit in self.commits if self.known_end or commit.end <= self.synced]

    def refuse_unless(self, condition, rule, at, what):
        """Raises Damage unless the condition holds."""
        check(condition, rule, f"{self.where}, frame at {at}", what)

    def frame_at(self, at):
        """The frame at an offset; None if there is no correct one."""
        length = int.from_bytes(self.data[at:at + 4], "little")
        if not LEAST <= length <= GREATEST or at + length > len(self.data):
            return None
        frame = self.data[at:at + length]
        if crc32(self.header.identity, u64(at), frame[:-4]) != int.from_bytes(frame[-4:], "little"):
            return None
        return Frame(at, frame[4], frame[5], int.from_bytes(frame[6:8], "little"),
                     int.from_bytes(frame[8:16], "little"), int.from_bytes(frame[16:24], "little"),
                     frame[24:-4], at + length)

    def read_start(self):
        """Reads the first frame."""
        start = self.frame_at(SIZE)
        self.refuse_unless(start is not None, "19.1", SIZE, "there is no correct frame")
        self.refuse_unless(start.kind == START, "19.2", SIZE, "it is not a Start")
        self.refuse_unless(len(start.payload) == 16 and start.flags == start.count == start.durable == 0,
                           "19.2", SIZE, "Start has fields that are not allowed")
        self.sequence = start.sequence
        self.first_sequence = start.sequence
        self.valid_end = self.frames_end = start.end

    def read_frames(self):
        """Reads commits and watermarks up to the first place without a correct frame."""
        self.unfinished = []
        while True:
            frame = self.frame_at(self.frames_end)
            if frame is None:
                return
            self.refuse_unless(frame.durable <= frame.at, "19.3", frame.at, "it is durable beyond its own offset")
            self.synced = max(self.synced, frame.durable)
            if frame.kind == WATERMARK:
                self.read_watermark(frame)
            else:
                self.refuse_unless(frame.kind == COMMIT, "19.4", frame.at, f"its kind {frame.kind} is not allowed")
                self.read_commit(frame)
            self.frames_end = frame.end

    def read_watermark(self, frame):
        """Checks a watermark."""
        self.refuse_unless(not self.unfinished, "19.7", frame.at, "a watermark is within a commit")
        self.refuse_unless(not frame.payload and frame.flags == frame.count == 0, "19.8", frame.at,
                           "a watermark has fields that are not allowed")
        self.refuse_unless(frame.sequence == self.sequence, "19.9", frame.at, "a watermark has another sequence")
        self.valid_end = frame.end

    def read_commit(self, frame):
        """Reads a frame of a commit."""
        self.refuse_unless(frame.flags in (0, CONTINUES), "19.5", frame.at, f"its flags are {frame.flags}")
        self.refuse_unless(frame.sequence == self.sequence + 1, "19.6", frame.at,
                           f"commit {frame.sequence} follows commit {self.sequence}")
        payload = Cursor(frame.payload, "19.10", f"{self.where}, frame at {frame.at}")
        self.unfinished += [self.read_operation(payload) for _ in range(frame.count)]
        payload.finish()
        if frame.flags == 0:
            self.commits.append(Commit(frame.sequence, frame.end, self.unfinished))
            self.sequence += 1
            self.unfinished = []
            self.valid_end = frame.end

    def read_operation(self, payload):
        """Reads an operation of the kind that the database has."""
        kind = payload.number(1)
        check(kind in (1, 2, 3), "19.11", payload.where, f"an operation has kind {kind}")
        if self.kind_of_ids != CHOSEN:
            check(kind == 2, "19.12", payload.where, f"an operation has kind {kind} instead of 2")
            return self.read_change(payload)
        check(kind in (1, 3), "19.12", payload.where, f"an operation has kind {kind}")
        entry = payload.number(self.header.bits // 8), payload.number(8)
        return Insert(*entry) if kind == 1 else Remove(*entry)

    def read_change(self, payload):
        """Reads a change of a document."""
        flags = payload.bounded(1, 0, 63, "19.14", "flags of a change")
        before, after = flags & 3, flags & 12
        check(before != 3 and after != 12 and before | after, "19.13", payload.where,
              f"a change has flags {flags}")
        check(after or not flags & HAS_STAMP, "19.13", payload.where, "there is a stamp without a document")
        check(bool(flags & HAS_NAME) == (self.kind_of_ids == NAMES), "19.12", payload.where,
              "a name is missing, or must not be there")
        identifier = payload.number(8)
        key = identifier.to_bytes(8, "big")
        if flags & HAS_NAME:
            key = payload.take(payload.bounded(4, 1, 65535, "19.15", "length of the name"))
            payload.text(key, "19.16", "name")
        size = self.header.bits // 8
        return Change(key, flags, identifier,
                      payload.number(size) if flags & WAS_ORIGINAL else None,
                      payload.number(size) if after else None,
                      payload.number(8) if flags & HAS_STAMP else None,
                      payload.number(8) if flags & IS_DUPLICATE else None)

    def check_torn_tail(self):
        """Checks that nothing proves that the bytes after the last correct frame were synced."""
        broken = self.frames_end
        for at in range(broken + 1, len(self.data) - LEAST + 1):
            if self.data[at + 4] not in (COMMIT, WATERMARK) or self.data[at + 5] > CONTINUES:
                continue
            durable = int.from_bytes(self.data[at + 16:at + 24], "little")
            if not broken < durable <= at:
                continue
            frame = self.frame_at(at)
            if frame is not None and frame.sequence >= self.sequence:
                raise Damage("19.18", self.where,
                             f"the bytes at {broken} were synced, as the frame at {at} says, but are damaged")
