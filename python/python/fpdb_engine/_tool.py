"""The command-line tool."""

from __future__ import annotations

import signal
import sys

from ._native import run_tool


def main() -> None:
    """Runs fpdb-tool with the arguments of this process, and ends it with the tool's exit code."""
    # Python's own handler would wait until the tool has finished.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_tool(sys.argv))
