"""A case: a change of a database, and how fpdb must find it."""

from collections import namedtuple

# At the latest when fpdb must find the damage. Verification must find all of it.
OPENING, USE, FULL, DEEP = "opening", "use", "full verification", "deep verification"

# `condition` is the number in the section Validity. `database` is the golden database that `change` changes.
# fpdb must name `file`, and say `words`. `use` is a command that fails if damage must be found by use.
Case = namedtuple("Case", "condition name database file words found use change")

CASES = []

# Changes after which a database is still valid, so that a case that goes on from there breaks only one condition.
SOUND = []


def case(condition, database, file, words, found=OPENING, use=("export",)):
    """Adds a case. The function changes a copy of the database and gets the name of the file, too."""
    def add(change):
        CASES.append(Case(condition, change.__name__, database, file, words, found, use, change))
        return change
    return add


def sound(database):
    """Adds a change that leaves the database valid."""
    def add(change):
        SOUND.append((database, change))
        return change
    return add
