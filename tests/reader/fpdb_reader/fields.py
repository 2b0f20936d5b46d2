"""The fields of a file with their offsets, as far as it is not damaged: for people who look at bytes."""

from .block import top_bits
from .conventions import check
from .header import DOCUMENTS, BANDS, POSTINGS, TABLE, TOMBSTONES, read_header
from .huffman import HuffmanCode
from .paged import TRAILER, read_footer

HEADER = {"magic": 8, "major": 2, "minor": 2, "version checksum": 4, "kind": 1, "width": 1, "part": 2, "reserved": 4,
          "file number": 8, "database id": 16, "nonce": 8, "reserved too": 4, "header checksum": 4}
METAS = {
    TABLE: {"count": 8, "blocks": 8, "block size": 4, "filter depth": 4, "overflow keys": 8, "filter words": 8,
            "block code": 1},
    BANDS: {"rows": 4, "bucket bits": 1, "page bytes": 1},
    POSTINGS: {"entries": 8, "id groups": 8, "heads": 8},
    TOMBSTONES: {"records": 8},
    DOCUMENTS: dict.fromkeys(["records", "removed", "duplicates", "stamped", "greatest id", "key bytes", "leaf pages",
                              "inner pages", "depth", "root", "chunks", "filter blocks"], 8),
}
END = {"body length": 8, "meta length": 4, "footer checksum": 4, "end mark": 8}


def ends(data, where):
    """The fields of the header and, of a paged file, of the meta and the trailer."""
    yield from bytewise(data, 0, HEADER)
    header = read_header(data, where)
    if header.kind in METAS:
        meta = len(data) - TRAILER - read_footer(data, header, where)[1]
        sizes = dict(METAS[header.kind])
        if header.kind == TABLE:
            sizes.update({f"code length of h = {h}": 1 for h in range(header.bits)})
            sizes["zero bits"] = 1
        yield from bytewise(data, meta, sizes)
        yield from bytewise(data, len(data) - TRAILER, END)


def bytewise(data, at, sizes):
    """Fields of whole bytes, one after another: where each is, its name, and its value."""
    for name, size in sizes.items():
        field = data[at:at + size]
        yield f"{at}", name, f"{field.hex(' ')} = {int.from_bytes(field, 'little')}"
        at += size


def block(data, number, where):
    """The fields of a block of a table. Bits are counted from the most significant one of each byte."""
    header = read_header(data, where)
    check(header.kind == TABLE, "Files", where, "it is no table")
    meta = len(data) - TRAILER - read_footer(data, header, where)[1]
    blocks, size = (int.from_bytes(data[meta + at:meta + end], "little") for at, end in ((8, 16), (16, 20)))
    check(number < blocks, "Files", where, f"it has {blocks} blocks, from 0 on")
    code = HuffmanCode(list(data[meta + 41:meta + 41 + header.bits]), where)
    begin = (number + 1) * size
    yield from bytewise(data, begin, {"count": 2, "first fingerprint, permuted, without zero bits": header.bits // 8})
    bits = int.from_bytes(data[begin:begin + size], "big")

    def field(at, width, name):
        value = top_bits(bits, 8 * size, at, width)
        return f"{begin + at // 8}, bits {at % 8}+{width}", name, f"{value:0{width}b}" if width else "nothing"

    at, end, symbols = 16 + header.bits, 8 * size, []
    for index in range(1, int.from_bytes(data[begin:begin + 2], "little")):
        h, length = code.decode(top_bits(bits, 8 * size, at, 11))
        check(length > 0 and at + length <= end, "8.2", where, f"fingerprint {index} has no codeword")
        yield field(at, length, f"codeword of fingerprint {index}, h = {h}")
        symbols.append(h)
        at += length
    for index, h in enumerate(symbols):
        width = h - (index + 1 < len(symbols) and symbols[index + 1] < h)
        end -= width
        check(at <= end, "8.4", where, f"fingerprint {index + 1} ends in the middle")
        yield field(end, width, f"bits of fingerprint {index + 1} below h")
