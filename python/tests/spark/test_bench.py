"""The benchmark of the jobs, with few rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "benches/spark.py"
SIZES = {
    "pairs": ["--pairs", "2e3", "--tasks", "2"],
    "similarity": ["--sketches", "2e3", "--sketch-tasks", "2"],
    "task": ["--corpora", "1e6", "--task-rows", "1e3"],
    "crowd": ["--crowds", "5e3", "--sketch-tasks", "2"],
    "stored": ["--stored", "2e3", "--sketches", "1e3", "--queries", "1e2"],
}


@pytest.mark.parametrize("part", SIZES)
def test_every_part_measures_and_prints_a_table(part: str, tmp_path: Path) -> None:
    pytest.importorskip("pysail", reason="the benchmark of the Spark jobs, because pysail is not installed")
    command = [sys.executable, BENCH, "--only", part, "--folder", tmp_path, *SIZES[part]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tables = [part.strip().splitlines() for part in done.stdout.split("\n\n") if part.strip().startswith("|")]
    assert tables, done.stdout
    for head, _, *rows in tables:
        assert rows and all(row.count("|") == head.count("|") for row in rows), done.stdout
