"""Checks that fpdb and the second reader refuse invalid databases.

    python3 tests/reader/invalid.py FPDB_TOOL            breaks each condition of the section Validity
    python3 tests/reader/invalid.py FPDB_TOOL 15.9 ...   breaks only these

Each database is a golden one with a change that breaks one condition, under correct checksums. fpdb must find that
when it opens or uses the database, or by verification, and name the file and the fault. The reader must refuse the
database with the number of the condition.
"""

import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from corpus import conditions
from corpus.case import CASES, DEEP, OPENING, SOUND, USE
from corpus.copy import Copy
from fpdb_reader.conventions import Damage, InUse, OtherVersion
from fpdb_reader.database import Database
from golden import FOLDER

DONE, DAMAGED, ERROR, NEWER = 0, 1, 2, 4  # exit codes of fpdb-tool
OTHER_VERSION = ("1.3", "18.34")
NOT_DAMAGE = (*OTHER_VERSION, "18.20")


def main(program, only):
    """Checks all cases, or those of some conditions."""
    listed = conditions.listed()
    conditions.check_complete(listed, CASES)
    cases = [case for case in CASES if not only or case.condition in only]
    unchanged = [(database, lambda _: None) for database in sorted({case.database for case in cases})]
    for database, change in unchanged + SOUND:
        with changed(database, change) as folder:
            check_sound(program, folder)
    for case in cases:
        with changed(case.database, lambda copy, case=case: case.change(copy, case.file)) as folder:
            try:
                check_reader(folder, case)
                check_fpdb(program, folder, case)
            except Exception:
                print(f"in the case {case.name} of condition {case.condition}:", file=sys.stderr)
                raise
    check_feature_to_write(program)
    print(f"{len(cases)} databases that break {len({case.condition for case in cases})} of {len(listed)} conditions "
          "are refused")


@contextmanager
def changed(database, change):
    """The folder of a golden database after a change."""
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        copy = Copy(FOLDER / database)
        change(copy)
        copy.write(Path(folder))
        yield Path(folder)


def check_sound(program, folder):
    """The reader and fpdb must accept the database."""
    Database(folder)
    run(program, "verify", folder, "--level", "deep")


def check_reader(folder, case):
    """The reader must refuse the database because of the right condition."""
    try:
        Database(folder)
    except (Damage, InUse, OtherVersion) as error:
        assert error.rule == case.condition, f"the reader finds another fault, of {error.rule}: {error}"
        return
    raise AssertionError("the reader accepts the database")


def check_fpdb(program, folder, case):
    """fpdb must find the damage in time, and say what and where it is. Verification must find it in any case."""
    if case.found in (OPENING, USE):
        command, *options = ["stats"] if case.found == OPENING else case.use
        code = NEWER if case.condition in OTHER_VERSION else ERROR
        expect(case, run(program, command, folder, *options, code=code).stderr)
        if case.condition in NOT_DAMAGE:
            return
    level = "deep" if case.found == DEEP else "full"
    report = json.loads(run(program, "verify", folder, "--level", level, "--json", code=DAMAGED).stdout)
    messages = [error["message"] for error in report["errors"]]
    assert any(case.file in message for message in messages), f"verification does not name {case.file}: {messages}"
    if case.found not in (OPENING, USE):
        for message in messages[1:]:
            assert case.file in message, f"verification reports more: {message}"
        expect(case, messages[0])


def expect(case, message):
    """The message must name the file and say the words."""
    assert case.words in message, f"fpdb does not say {case.words!r}, but {message.strip()!r}"
    assert case.file in message, f"fpdb does not name {case.file}, but says {message.strip()!r}"


def check_feature_to_write(program):
    """A database with an unknown feature to write is read, but not written."""
    def change(copy):
        copy.manifest["features to write"] = 1 << 5
    with changed("user-half-2", change) as folder:
        check_sound(program, folder)
        message = run(program, "compact", folder, code=NEWER).stderr
        expected = ("to write this database, a program must know feature 5 of the file format, which is newer than "
                    "this build: use a newer fpdb")
        assert expected in message, message


def run(program, command, folder, *arguments, code=DONE):
    """Runs fpdb-tool, which must end with an exit code."""
    done = subprocess.run([program, command, str(folder), *arguments], capture_output=True, text=True)
    shown = f"fpdb-tool {command} {' '.join(arguments)}"
    assert done.returncode == code and "panicked" not in done.stderr, (
        f"{shown} ends with {done.returncode} instead of {code}: {done.stdout[:500]}{done.stderr}")
    return done


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
