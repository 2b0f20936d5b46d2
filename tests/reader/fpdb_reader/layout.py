"""Layout: the cells, and the bit order of each table."""

from .conventions import check


class Layout:
    """The cells, and how many tables there are, read from the manifest."""

    def __init__(self, cursor, bits, is_sketch):
        """Reads a layout of cells of `bits` bits altogether from the manifest's cursor."""
        self.name = cursor.string(1, 64, "6.1", "layout's name")
        self.bits = bits
        where = cursor.where
        check(all("!" <= letter <= "~" for letter in self.name), "6.2", where,
              "the layout's name has a character that is not from ! to ~")
        cells = cursor.bounded(1, 1, 64, "6.3", "number of cells")
        self.widths = list(cursor.take(cells))
        check(min(self.widths) >= 1, "6.4", where, "a cell has no bits")
        check(sum(self.widths) == bits, "6.5", where,
              f"cells of {self.widths} bits do not make up {bits} bits")
        self.tables = cursor.bounded(1, 0 if is_sketch else cells, cells, "6.6", "number of tables")
        for table in range(self.tables):
            order = list(cursor.take(cells))
            check(order == [*range(table, cells), *range(table)], "6.7", where,
                  f"the bit order {order} is not that of table {table}")

    def permute(self, table, fingerprint):
        """The fingerprint in a table's bit order."""
        front = sum(self.widths[:table])
        below = self.bits - front
        return fingerprint << front & (1 << self.bits) - 1 | fingerprint >> below
