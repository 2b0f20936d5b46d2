"""Runs the programs in examples/."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

REPOSITORY = EXAMPLES.parent.parent
# What follows the name of a program.
ARGUMENTS = {
    "evaluate": [
        REPOSITORY / "demo/documents.ndjson.gz",
        REPOSITORY / "tests/data/pairs_zh.tsv",
        *["--complete", "-k", "3"],
    ],
}

# The package that each needs, and the last lines that it prints.
EXPECTED = {
    "duckdb_table": ("duckdb", ["[('https://a.example/', 'https://b.example/', 0)]"]),
    "evaluate": (
        "numpy",
        [
            "default: 25 duplicates, 0 documents without fingerprint",
            " k  precision  recall  F1",
            " 0     1.0000  0.0400  0.0769",
            " 1     1.0000  0.2000  0.3333",
            " 2     1.0000  0.4400  0.6111",
            " 3     1.0000  0.8000  0.8889",
        ],
    ),
    "polars_frame": (
        "polars",
        [
            "[('https://a.example/', 0), ('https://b.example/', 0), ('https://c.example/', None)]",
            "['https://a.example/', 'https://c.example/']",
        ],
    ),
    "scrapy_spider": (
        "scrapy",
        ["fpdb/inserted 2", "fpdb/duplicate 1", "item_scraped_count 2"],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_example_prints_what_is_expected(name: str, tmp_path: Path) -> None:
    package, lines = EXPECTED[name]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    program = [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, ARGUMENTS.get(name, []))]
    ran = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "Warning" not in ran.stderr, ran.stderr
    assert ran.stdout.splitlines()[-len(lines) :] == lines


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == EXPECTED.keys()
