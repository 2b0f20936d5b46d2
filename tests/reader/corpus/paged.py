"""The parts of a paged file."""

from fpdb_reader.conventions import PAGE
from fpdb_reader.paged import END_MARK, SUMS_PER_PAGE, TRAILER

from .numbers import checksum, number, seal_header, u32, u64


class Paged:
    """Header, body (from its offset in the file on, so that it begins with the header) and meta."""

    def __init__(self, data):
        body, meta = number(data[-TRAILER:-TRAILER + 8]), number(data[-TRAILER + 8:-TRAILER + 12])
        self.body = bytearray(data[:body])
        self.meta = bytearray(data[len(data) - TRAILER - meta:len(data) - TRAILER])
        self.header = self.body

    def sealed(self):
        """The bytes of the file."""
        seal_header(self.header)
        identity = bytes(self.header[16:56])
        sums = [checksum(identity, u64(index), self.body[at:at + PAGE])
                for index, at in enumerate(range(0, len(self.body), PAGE))]
        data = bytes(self.body)
        for index, first in enumerate(range(0, len(sums), SUMS_PER_PAGE)):
            page = b"".join(sums[first:first + SUMS_PER_PAGE])
            data += page + checksum(identity, u64(2**63 + index), page)
        covered = self.meta + u64(len(self.body)) + u32(len(self.meta))
        return data + covered + checksum(identity, u64(2**64 - 1), covered) + END_MARK


def seal_footer(data):
    """Computes the footer checksum again, for a trailer that says something else about the lengths."""
    end = len(data) - TRAILER
    meta = number(data[end + 8:end + 12])
    covered = data[max(end - meta, 0):end + 12]
    data[end + 12:end + 16] = checksum(bytes(data[16:56]), u64(2**64 - 1), covered)
