"""fpdb-tool as a script of the package."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import fpdb_engine as fpdb
import pytest

TOOL = str(Path(sysconfig.get_path("scripts")) / "fpdb-tool")


def run(*args: str, input: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *args], input=input, capture_output=True, text=True, timeout=60)


def test_the_tool_reads_what_python_wrote(tmp_path: Path) -> None:
    assert shutil.which(TOOL)
    with fpdb.Db.create(tmp_path / "db") as db:
        db.insert(0x2C2A1290908A898A, 17)
    found = run("query", db.path, "0x2c2a1290908a898b", "-k", "3")
    assert found.returncode == 0 and "17" in found.stdout, found.stderr


def test_exit_codes_are_kept(tmp_path: Path) -> None:
    assert run("--version").stdout.startswith("fpdb-tool ")
    missing = run("query", str(tmp_path / "none"), "0x1")
    assert missing.returncode == 2 and "none" in missing.stderr and missing.stdout == ""
    with fpdb.Db.create(tmp_path / "db") as db:
        assert run("query", db.path, "0x1", "--exit-status").returncode == 1
        assert run("compact", db.path).returncode == 3


def test_a_pipe_that_is_closed_is_no_error(tmp_path: Path) -> None:
    command = f"'{TOOL}' --help | true"
    ended = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_ctrl_c_ends_the_tool(tmp_path: Path) -> None:
    command = [TOOL, "dedup", str(tmp_path / "db"), "--from", "ndjson", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) in (-signal.SIGINT, 130)


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert fpdb.__version__ == version("fpdb-engine")
    assert run("--version").stdout.split()[1] == fpdb.__version__
    assert sys.version_info >= (3, 10)
