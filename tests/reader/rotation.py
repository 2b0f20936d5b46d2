"""Divides the log of a database in two, as it is after the section Rotation of storage-format.md.

fpdb rotates a log when it is large, or ends it at once, so its tools do not leave a small database with two.
"""

from corpus.copy import Copy
from corpus.log import START, Frame, Log
from corpus.numbers import u64
from fpdb_reader.header import LOG, file_name


def divide_log(folder):
    """Moves the later half of the commits to a second log."""
    copy = Copy(folder)
    first = copy.manifest["log number 0"]
    log = copy.log(file_name(LOG, first))
    ends = [frame for frame in log.commits() if not frame.flags]
    last = ends[len(ends) // 2 - 1]
    end = log.offset(last) + len(last.sealed(log.header, 0))
    second = Log(log.header)
    second.header[24:32] = u64(first + 1)
    second.frames.append(Frame(START, last.sequence, 0, u64(first) + u64(end)))
    moved = log.frames.index(last) + 1
    moved, log.frames = log.frames[moved:], log.frames[:moved]
    start = len(second.sealed())
    for frame in moved:
        frame.durable = max(frame.durable - end + start, 0)
    second.frames += moved
    copy.opened[file_name(LOG, first + 1)] = second
    copy.manifest["log end 0"], copy.manifest["logs"] = end, 2
    copy.manifest.insert_after("log end 0", {"log number 1": u64(first + 1),
                                             "log nonce 1": copy.manifest.fields["log nonce 0"], "log end 1": u64(0)})
    copy.write(folder)
