"""Reads the tables of docs/benchmarks.md."""

import re


class Missing(Exception):
    """The document does not have what a picture shows."""


def section(text, heading):
    """The text below a heading, up to the next one of the same or a higher level."""
    found = re.search(rf"^(##+) {re.escape(heading)}\n", text, re.MULTILINE)
    if not found:
        raise Missing(f"no heading `{heading}`")
    rest = text[found.end():]
    end = re.search(rf"^#{{2,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[:end.start()] if end else rest


def tables(text, heading, *columns):
    """The tables of a section that have these columns. Each is the text of the section before it, and its rows as
    dictionaries."""
    below = section(text, heading)
    found = []
    for table in re.finditer(r"^\|.*\|\n\|[-:| ]+\|\n(?:\|.*\|\n)*", below, re.MULTILINE):
        head, _, *lines = [cells(line) for line in table[0].splitlines()]
        if set(columns) <= set(head):
            found.append((below[:table.start()], [row_with(head, line) for line in lines]))
    if not found:
        raise Missing(f"no table below `{heading}` has the columns {', '.join(f'`{name}`' for name in columns)}")
    return found


def cells(line):
    return [cell.strip() for cell in line[1:-1].split("|")]


def row_with(head, line):
    if len(line) != len(head):
        raise Missing(f"a row with {len(line)} cells, not {len(head)}: {' | '.join(line)}")
    return dict(zip(head, line))


def printed_tables(text, heading, *columns):
    """The same of tables that a program has printed, with at least two spaces between the columns. The first line of a
    printed block is what stands before its table."""
    found = []
    for block in re.finditer(r"^```text\n(.*)\n\n((?:.+\n)+)```$", section(text, heading), re.MULTILINE):
        head, *lines = [re.split(r"\s{2,}", line) for line in block[2].splitlines()]
        if set(columns) <= set(head):
            # Rows may end early.
            found.append((block[1], [dict(zip(head, line)) for line in lines]))
    if not found:
        raise Missing(f"nothing printed below `{heading}` has the columns {', '.join(f'`{name}`' for name in columns)}")
    return found


def row_of(rows, column, start):
    """The first row whose cell starts with these words."""
    for row in rows:
        if row[column].startswith(start):
            return row
    raise Missing(f"no row of the table with `{column}` starts with `{start}`")


def number(cell):
    """The number that a cell begins with."""
    found = re.match(r"[\d,]*\.?\d+", cell)
    if not found:
        raise Missing(f"`{cell}` is no number")
    return float(found[0].replace(",", ""))
