"""Every snippet of the documentation runs as a reader would paste it, and has the right types."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "docs" / "coming-from.md"]
TEXTS = [
    "Insert the disc, close the tray, and wait for the green light.",
    "Insert the disc; close the tray and wait for the green light!",
    "Remove the battery cover and take out the old battery.",
    "Too short.",
]


def snippets() -> dict[str, str]:
    """Returns the snippets of Python without prompts, by what is said of them."""
    found = {}
    for page in PAGES:
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
            if ">>>" not in code:
                found[f"{page.stem}-{number}"] = code
    return found


def skip_without(code: str) -> None:
    for name in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with the files that the snippets read."""
    import json

    import pyarrow as pa
    import pyarrow.parquet as pq

    urls = [f"https://{name}.example/" for name in "abcd"]
    pq.write_table(pa.table({"id": range(4), "url": urls, "text": TEXTS}), tmp_path / "texts.parquet")
    (tmp_path / "input").mkdir()
    for number in range(2):
        lines = [json.dumps({"text": text}) for text in TEXTS[number::2]]
        (tmp_path / "input" / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(folder: Path, code: str, **environment: str) -> str:
    program = [sys.executable, "-c", code]
    # Nothing is looked for on the network.
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), **environment}
    ran = subprocess.run(program, cwd=folder, env=variables, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert not re.search(r"(?:User|Deprecation|Future)Warning", ran.stderr) or "pyspark" in code, ran.stderr
    return ran.stdout


# What some print, or leave behind.
PRINTED = {
    "README-0": ["rows: 2", "kept: 1"],
    "README-datasets": ["https://a.example/\nhttps://c.example/\nhttps://d.example/\n"],
    "coming-from-0": ["0.81 0.8 0.86"],
    "coming-from-4": ["['first']"],
    "coming-from-6": ["stored 0"],
}


@pytest.mark.parametrize("name", snippets())
def test_snippets_run_as_pasted(name: str, inputs: Path) -> None:
    code = snippets()[name]
    skip_without(code)
    if "pyspark" in code:
        pytest.skip("tests/spark runs it")
    printed = run(inputs, code)
    key = "README-datasets" if "load_dataset" in code and name.startswith("README") else name
    for part in PRINTED.get(key, []):
        assert part in printed
    if 'JsonlWriter("output")' in code:
        assert len(list((inputs / "output").glob("*.jsonl.gz"))) >= 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_with_prompts_run_without_pytest(page: Path) -> None:
    """pytest gives names to examples that a reader does not have."""
    ran = subprocess.run([sys.executable, "-m", "doctest", str(page)], capture_output=True, text=True)
    assert ran.returncode == 0 and not ran.stdout, ran.stdout + ran.stderr


def programs() -> Iterator[tuple[str, str]]:
    """Returns all snippets of the documentation as programs."""
    for name, code in snippets().items():
        yield name, code
    prompts = (ROOT / "README.md").read_text()
    yield "prompts", doctest.script_from_examples(prompts)


def test_snippets_have_the_right_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    files = []
    for name, code in programs():
        file = tmp_path / f"{name.replace('-', '_')}.py"
        file.write_text(code)
        files.append(str(file))
    options = ["--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache")]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def settings() -> list[tuple[float, float, float, list[float]]]:
    """Returns the rows of the table of settings."""
    rows = re.findall(r"^\| ([\d.]+) % \| ([\d.]+) \| ([\d.]+) \| (.*) \|$", PAGES[0].read_text(), re.MULTILINE)
    return [
        (float(share), float(fives), float(pairs), [float(s) for s in re.findall(r"similarity=([\d.]+)", text)])
        for share, fives, pairs, text in rows
    ]


def test_the_table_of_settings_is_right(tmp_path: Path) -> None:
    assert len(settings()) == 6
    words = [f"w{number}" for number in range(20_000)]
    for share, fives, pairs, similarities in settings():
        step = 100 / share
        places = {round(step * number) for number in range(1, int(len(words) / step))}
        other = ["changed" + word if place in places else word for place, word in enumerate(words)]
        texts = " ".join(words), " ".join(other)
        assert fpdb.jaccard(*texts, ngram=5) == pytest.approx(fives, abs=0.01)
        assert fpdb.jaccard(*texts) == pytest.approx(pairs, abs=0.01)
        for similarity in similarities:
            path = tmp_path / f"{share}-{similarity}"
            fpdb.Db.create(path, similarity=similarity, recipe="fives/1").close()


def test_links_work_on_other_sites() -> None:
    for page in PAGES[:1]:
        links = re.findall(r"\]\(([^)]*)\)", page.read_text())
        assert links and all(link.startswith("https://") for link in links), links
    main = "https://github.com/fpdb/fpdb/blob/main/"
    for page in PAGES:
        for link in re.findall(rf"\({main}([^)#]*)", page.read_text()):
            assert (ROOT.parent / link).exists(), link


def of_spark() -> Any:
    return next(code for code in snippets().values() if "pyspark" in code)
