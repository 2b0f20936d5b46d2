"""The frames of a log."""

from fpdb_reader.header import SIZE

from .numbers import checksum, number, seal_header, u16, u32, u64

START, COMMIT, WATERMARK = 1, 2, 3


class Frame:
    """The fields of a frame."""

    def __init__(self, kind, sequence, durable=0, payload=b"", flags=0, count=0):
        self.kind, self.flags, self.count = kind, flags, count
        self.sequence, self.durable, self.payload = sequence, durable, bytearray(payload)

    def sealed(self, header, at):
        """The bytes of the frame at an offset of the log."""
        data = (u32(28 + len(self.payload)) + bytes([self.kind, self.flags]) + u16(self.count) + u64(self.sequence)
                + u64(self.durable) + self.payload)
        return data + checksum(header[16:56], u64(at), data)


class Log:
    """Header and frames, the first of which is the Start."""

    def __init__(self, data):
        self.header = bytearray(data[:SIZE])
        self.frames = []
        at = SIZE
        while at < len(data):
            end = at + number(data[at:at + 4])
            head = data[at:at + 24]
            self.frames.append(Frame(head[4], number(head[8:16]), number(head[16:24]), data[at + 24:end - 4],
                                     head[5], number(head[6:8])))
            at = end

    def commits(self):
        """The frames of commits."""
        return [frame for frame in self.frames if frame.kind == COMMIT]

    def offset(self, frame):
        """Where a frame begins."""
        before = self.frames[:self.frames.index(frame)]
        return SIZE + sum(28 + len(other.payload) for other in before)

    def end_with_watermark(self):
        """Adds a frame that says that all frames before it are synced, so that readers take them."""
        end = SIZE + sum(28 + len(frame.payload) for frame in self.frames)
        self.frames.append(Frame(WATERMARK, max(frame.sequence for frame in self.frames), end))

    def sealed(self):
        """The bytes of the log."""
        seal_header(self.header)
        data = bytes(self.header)
        for frame in self.frames:
            data += frame.sealed(self.header, len(data))
        return data
