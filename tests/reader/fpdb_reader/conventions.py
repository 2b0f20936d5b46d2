"""Conventions: integers, bits, checksums, and how damage is reported."""

import zlib

PAGE = 4096
MASK64 = 2**64 - 1


class Damage(Exception):
    """A file is invalid. `rule` is the number of the condition in the section Validity.

    For what that section does not list, because a reader need not find it, it is the title of another section.
    """

    def __init__(self, rule, where, what):
        super().__init__(f"{where}: {what} (rule {rule})")
        self.rule = rule


class OtherVersion(Exception):
    """The file is sound, but of a version that this reader does not know."""

    def __init__(self, rule, message):
        super().__init__(message)
        self.rule = rule


class InUse(Exception):
    """A backup, merge or rebuild has not finished this database."""

    rule = "18.20"


def check(condition, rule, where, what):
    """Raises Damage unless the condition holds."""
    if not condition:
        raise Damage(rule, where, what)


def crc32(*parts):
    """The CRC-32 of the concatenation of the parts."""
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def u64(number):
    """The eight bytes of a number."""
    return number.to_bytes(8, "little")


def round_up(number, unit):
    """The least multiple of the unit that is not less than the number."""
    return -(-number // unit) * unit


def ones(number):
    """How many bits of the number are set."""
    return bin(number).count("1")


class Cursor:
    """Reads fields one after another from `data`, and refuses to read beyond its end.

    `rule` is the number of the condition that the data end where the fields do.
    """

    def __init__(self, data, rule, where, start=0, end=None):
        self.data = data
        self.at = start
        self.end = len(data) if end is None else end
        self.rule = rule
        self.where = where

    def take(self, size):
        """The next bytes."""
        check(0 <= size <= self.end - self.at, self.rule, self.where,
              f"{size} bytes at offset {self.at} exceed the end at {self.end}")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        """The next integer of this many bytes."""
        return int.from_bytes(self.take(size), "little")

    def bounded(self, size, least, greatest, rule, what):
        """The next integer, which must be within the bounds."""
        value = self.number(size)
        check(least <= value <= greatest, rule, self.where,
              f"{what} is {value}, not from {least} to {greatest}")
        return value

    def string(self, least, greatest, rule, what):
        """The next string."""
        return self.text(self.take(self.bounded(4, least, greatest, rule, f"length of the {what}")), rule, what)

    def text(self, data, rule, what):
        """A string with these bytes."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise Damage(rule, self.where, f"the {what} is not UTF-8") from None

    def zeros(self, until, rule="Conventions"):
        """Zeros up to an offset."""
        check(not any(self.take(until - self.at)), rule, self.where,
              f"bytes before offset {until} are not zero")

    def finish(self):
        """Nothing is left over."""
        check(self.at == self.end, self.rule, self.where,
              f"{self.end - self.at} bytes are left over at offset {self.at}")


def low_bits_first(data, first_bit, width, count):
    """Numbers of `width` bits each, packed from the least significant bit of each byte up."""
    numbers = []
    for bit in range(first_bit, first_bit + width * count, width) if width else [0] * count:
        value = int.from_bytes(data[bit // 8:(bit + width + 7) // 8], "little")
        numbers.append((value >> bit % 8) & ((1 << width) - 1))
    return numbers


def packed_numbers(cursor, width, count, rule="Conventions"):
    """A column of numbers, in as many entire bytes as it needs."""
    data = cursor.take((width * count + 7) // 8)
    unused = len(data) * 8 - width * count
    check(unused == 0 or data[-1] >> (8 - unused) == 0, rule, cursor.where,
          f"unused bits before offset {cursor.at} are set")
    return low_bits_first(data, 0, width, count)


def bitmap(cursor, count):
    """A bitmap: for each record, whether its bit is set."""
    return [bit == 1 for bit in packed_numbers(cursor, 1, count, "15.21")]
