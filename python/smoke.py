"""The least that an installed package must do: remove a near-duplicate, remember it, and start the tool."""

import subprocess
import sys
import tempfile
from pathlib import Path

import fpdb_engine as fpdb

TEXTS = [
    "Insert the disc, close the tray, and wait for the green light before you press the button.",
    "Insert the disc; close the tray and wait for the green light before you press the button!",
    "Trains leave for the airport every ten minutes, until midnight, from platform number four.",
]
assert fpdb.dedup(TEXTS).keep.tolist() == [True, False, True]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "crawl.fpdb"
    with fpdb.Db.create(path, ids="names") as db:
        assert [bool(db.insert_if_novel(fpdb.fingerprint(text), text)) for text in TEXTS] == [True, False, True]
    with fpdb.ReadOnlyDb.open(path) as db:
        assert len(db.query(fpdb.fingerprint(TEXTS[1]), 3)) == 1
tool = [sys.executable, "-c", "from fpdb_engine._tool import main; main()", "--version"]
version = subprocess.run(tool, check=True, capture_output=True, text=True).stdout.strip()
assert version.startswith("fpdb-tool "), version
print(version, "on", sys.version)
