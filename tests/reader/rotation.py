"""Divides the log of a database in two, as it is after the section Rotation of storage-format.md.

fpdb rotates a log when it is large, or ends it at once, so its tools do not leave a small database with two.
"""

from fpdb_reader.conventions import crc32, u64
from fpdb_reader.database import Database
from fpdb_reader.header import LOG, SIZE, file_name

START = 44  # bytes of the frame


def divide_log(folder):
    """Moves the later half of the commits to a second log."""
    log = Database(folder).logs[0]
    middle = log.commits[len(log.commits) // 2 - 1]
    number = log.header.number + 1
    header = bytearray(log.data[:SIZE])
    header[24:32] = u64(number)
    header[60:] = crc32(header[:60]).to_bytes(4, "little")
    second = bytes(header) + frame(header, SIZE, 1, u64(middle.number) + u64(0),
                                   u64(log.header.number) + u64(middle.end))
    at = middle.end
    while at < log.frames_end:
        moved = log.frame_at(at)
        durable = max(moved.durable - middle.end + SIZE + START, 0)
        head = log.data[at + 5:at + 16] + u64(durable)
        second += frame(header, len(second), moved.kind, head[3:], moved.payload, head[:3])
        at = moved.end
    (folder / file_name(LOG, log.header.number)).write_bytes(log.data[:middle.end])
    (folder / file_name(LOG, number)).write_bytes(second)
    name_logs(folder / "MANIFEST", log.header, middle.end, number)


def frame(header, at, kind, numbers, payload, flags_and_count=bytes(3)):
    """The frame at an offset of the log with this header."""
    length = 28 + len(payload)
    data = length.to_bytes(4, "little") + bytes([kind]) + flags_and_count + numbers + payload
    return data + crc32(header[16:56], u64(at), data).to_bytes(4, "little")


def name_logs(path, header, end, number):
    """Names the second log in the manifest, and the end of the first."""
    data = path.read_bytes()
    nonce = u64(header.nonce)
    at = data.index(u64(header.number) + nonce)
    logs = (2).to_bytes(4, "little") + u64(header.number) + nonce + u64(end) + u64(number) + nonce + u64(0)
    data = data[:at - 4] + logs + data[at + 24:-4]
    path.write_bytes(data + crc32(data).to_bytes(4, "little"))
