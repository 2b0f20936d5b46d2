"""The golden databases: what the reader finds in them must be what the files beside them say."""

from pathlib import Path

from fpdb_reader.database import Database
from fpdb_reader.manifest import CHOSEN, NAMES

FOLDER = Path(__file__).parents[1] / "golden" / "databases"


def golden_databases():
    """Yields the folder of each golden database, after the reader has read it."""
    for listed in sorted(FOLDER.glob("*.tsv")):
        folder = listed.with_suffix("")
        lines = contents(Database(folder))
        expected = listed.read_text(encoding="utf-8").splitlines()
        different = [pair for pair in zip(lines, expected) if pair[0] != pair[1]]
        if different or len(lines) != len(expected):
            raise AssertionError(f"the golden database {folder.name} is read as {len(lines)} lines instead of "
                                 f"{len(expected)}; the first that differs: {different[:1]}")
        yield folder


def in_order(database):
    """The entries as fpdb lists them: by fingerprint, but those of sketches by the key of the document."""
    if not database.manifest.is_of_sketches:
        return sorted(database.entries)
    return [(record.fingerprint, record.id) for _, record in sorted(database.documents.items())
            if record.original is None]


def contents(database):
    """A line for each entry, and one for each document."""
    digits = database.manifest.bits // 4
    lines = [f"entry\t0x{fingerprint:0{digits}x}\t{identifier}"
             for fingerprint, identifier in in_order(database)]
    if database.manifest.kind_of_ids == CHOSEN:
        return lines
    for key, record in sorted(database.documents.items()):
        name = key.decode() if database.manifest.kind_of_ids == NAMES else "-"
        stamp, original = ("-" if number is None else number for number in (record.stamp, record.original))
        lines.append(f"document\t{name}\t0x{record.fingerprint:0{digits}x}\t{record.id}\t{stamp}\t{original}")
    return lines
