"""Symbol table: the code in which the keys of documents are written."""

from .conventions import check

ESCAPE = 255


class Symbols:
    """Decodes keys."""

    def __init__(self, cursor):
        """Reads the symbol table from a cursor."""
        self.where = cursor.where
        count = cursor.number(1)
        lengths = cursor.take(count)
        check(all(1 <= length <= 8 for length in lengths), "15.13", self.where,
              "a symbol does not have 1 to 8 bytes")
        self.symbols = [cursor.take(length) for length in lengths]

    def decode(self, data):
        """The string that an encoded suffix stands for."""
        if not self.symbols:
            return data
        result = bytearray()
        codes = iter(data)
        for code in codes:
            if code == ESCAPE:
                byte = next(codes, None)
                check(byte is not None, "15.23", self.where, "an encoded suffix ends with code 255")
                result.append(byte)
            else:
                check(code < len(self.symbols), "15.24", self.where, f"code {code} has no symbol")
                result += self.symbols[code]
        return bytes(result)
