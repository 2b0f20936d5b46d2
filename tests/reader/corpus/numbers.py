"""Integers and checksums as bytes."""

from fpdb_reader.conventions import crc32, u64

__all__ = ["checksum", "number", "seal_header", "u16", "u32", "u64"]


def u16(number):
    """The two bytes of a number."""
    return number.to_bytes(2, "little")


def u32(number):
    """The four bytes of a number."""
    return number.to_bytes(4, "little")


def checksum(*parts):
    """The four bytes of a checksum."""
    return u32(crc32(*parts))


def number(data):
    """The number that bytes are."""
    return int.from_bytes(data, "little")


def seal_header(data):
    """Computes the checksums of a file header again."""
    data[12:16] = checksum(data[:12])
    data[60:64] = checksum(data[:60])
