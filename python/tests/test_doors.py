"""The tool and the Python package decide alike."""

from __future__ import annotations

import json
import random
import subprocess
import sysconfig
from pathlib import Path

import fpdb_engine as fpdb
import numpy as np
import pytest

TOOL = str(Path(sysconfig.get_path("scripts")) / "fpdb-tool")
# So many rows are expected unless somebody says otherwise, in Python.
EXPECTED = 10_000_000


def with_copies(rng: random.Random, shared: list[str]) -> list[str]:
    """Returns texts of 60 words after the shared ones, and copies in which 0 to 11 words are replaced."""
    texts: list[list[str]] = []
    for row in range(1500):
        own = [f"w{rng.randrange(10**6)}" for _ in range(60)]
        if row % 2 and texts:
            own = rng.choice(texts)[len(shared) :]
            for place in rng.sample(range(60), rng.randrange(12)):
                own[place] = f"new{rng.randrange(10**6)}"
        texts.append([*shared, *own])
    return [" ".join(words) for words in texts]


@pytest.mark.parametrize("shared", [0, 90], ids=["texts of their own", "texts of a template"])
def test_python_a_database_and_the_tool_keep_the_same_rows(tmp_path: Path, shared: int) -> None:
    texts = with_copies(random.Random(5), [f"menu{word}" for word in range(shared)])
    ids = [str(row) for row in range(len(texts))]
    found = fpdb.dedup(texts)
    kept = np.flatnonzero(found.keep).tolist()
    assert 200 < found.dropped < 1000
    of = found.duplicate_of[~found.keep]
    exact = fpdb.jaccard_pairs(texts, np.flatnonzero(~found.keep), of)
    assert exact.min() >= 0.8 and np.allclose(exact, found.similarity[~found.keep])
    beside = fpdb.dedup(texts, ids=ids, against=tmp_path / "db", run="1", expected=EXPECTED)
    assert np.flatnonzero(beside.keep).tolist() == kept
    documents = tmp_path / "texts.ndjson"
    documents.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in zip(ids, texts)))
    command = [TOOL, "dedup", str(tmp_path / "crawl.fpdb"), str(documents), "--jaccard", "0.8", "--exact"]
    command += ["--expected", str(EXPECTED), "--print", "id"]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert [int(id) for id in printed.split()] == kept
