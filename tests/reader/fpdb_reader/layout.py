"""Layout: the cells, and the bit order of each table."""

from .conventions import check


class Layout:
    """The bit orders, read from the manifest."""

    def __init__(self, cursor, bits):
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
        tables = cursor.bounded(1, 1, 64, "6.6", "number of tables")
        self.orders = [list(cursor.take(cells)) for _ in range(tables)]
        for order in self.orders:
            check(sorted(order) == list(range(cells)), "6.7", where,
                  f"the bit order {order} does not contain each cell once")
        check(self.orders[0] == list(range(cells)), "6.8", where, "table 0 is not in order")

    def tables(self):
        """The number of tables."""
        return len(self.orders)

    def permute(self, table, fingerprint):
        """The fingerprint in a table's bit order."""
        result = 0
        for cell in self.orders[table]:
            below = sum(self.widths[cell + 1:])
            value = fingerprint >> below & (1 << self.widths[cell]) - 1
            result = result << self.widths[cell] | value
        return result
