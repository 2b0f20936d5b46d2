#!/usr/bin/env python3
"""Makes system calls of a real process fail, with strace, and checks what is left on disk.

A writer makes a fixed number of operations. In each run one of its system calls fails, or every one
from then on; afterwards the database must open and have every acknowledged operation. After an
interrupted call (EINTR), the writer must also finish. Run: tools/power/syscalls.py --runs 2000
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import common

CALLS = ("write", "fsync", "openat", "read", "mmap", "renameat,rename,renameat2", "unlinkat,unlink")
ERRORS = ("EIO", "ENOSPC", "EDQUOT", "EMFILE", "EINTR")
# Calls that Linux may interrupt before they did anything.
INTERRUPTIBLE = ("write", "fsync", "openat", "read")
OPERATIONS = 150
# Calls without a path that the dynamic linker makes, roughly.
FIRST = {"read": 20, "mmap": 40}


def trace(program, folder, calls, injection):
    """Runs a writer under strace. Returns its status, its acknowledged operations and the trace."""
    env = dict(
        os.environ, FPDB_CRASH_WRITER=folder, FPDB_CRASH_OPERATIONS=str(OPERATIONS), RUST_BACKTRACE="0"
    )
    inject = ["-e", f"inject={calls}:{injection}"] if injection else []
    with tempfile.NamedTemporaryFile(mode="r") as output:
        result = subprocess.run(
            ["strace", "-f", "-o", output.name, "-e", f"trace={calls}", *inject,
             program, "--exact", "kill::writer", "--nocapture"],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )
        lines = output.read().splitlines()
    numbers = [common.acknowledged(line) for line in result.stdout.splitlines()]
    return result, max((n for n in numbers if n), default=0), lines


def one(program, calls, number, error, lasting, folder):
    """Returns what is wrong, or None."""
    shutil.rmtree(folder, ignore_errors=True)
    injection = f"error={error}:when={number}{'+' if lasting else ''}"
    result, operations, lines = trace(program, folder, calls, injection)
    if error == "EINTR" and result.returncode != 0:
        return f"the writer failed:\n{result.stdout[-1500:]}"
    if not any("(INJECTED)" in line for line in lines):
        return None
    if not os.path.isdir(folder):
        return None if operations == 0 else "the folder is gone"
    return common.check(program, folder, operations)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="runs in all")
    args, random = common.arguments(parser)
    missing = [tool for tool in ("strace", "cargo") if shutil.which(tool) is None]
    if missing:
        print("skipped: this machine lacks " + ", ".join(missing))
        sys.exit(77)
    program = common.driver()
    failures, runs = [], 0
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        folder = os.path.join(work, "db")
        counts, firsts = {}, {}
        for calls in CALLS:
            shutil.rmtree(folder, ignore_errors=True)
            result, operations, lines = trace(program, folder, calls, None)
            assert result.returncode == 0 and operations == OPERATIONS, result.stdout
            lines = [line for line in lines if "resumed" not in line and "(" in line]
            # The calls before the first one on the folder belong to the start of the process.
            counts[calls] = len(lines)
            first = next((n for n, line in enumerate(lines, 1) if work in line), None)
            firsts[calls] = first or min(FIRST.get(calls, 1), len(lines))
        while runs < args.runs:
            calls, error = random.choice(CALLS), random.choice(ERRORS)
            lasting = random.random() < 0.3 and error != "EINTR"
            if error == "EINTR" and calls not in INTERRUPTIBLE:
                continue
            number = random.randint(firsts[calls], counts[calls])
            problem = one(program, calls, number, error, lasting, folder)
            runs += 1
            if problem:
                failures.append(f"{error} of {calls} number {number}, lasting: {lasting}\n{problem}")
                print(failures[-1], flush=True)
    print(f"{runs} runs with failing system calls, {len(failures)} with violations")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
