"""Serves an index to the program that measures it: builds it, then answers batches of queries.

Arguments: a file of fingerprints (u64, little-endian) and the distance. Prints one JSON object when
the index is built; then, for each JSON array of queries on a line of standard input, an object for
each query and one for the batch. A query's time is that of one call of the package from Python.
"""

import json
import os
import sys
import time

import numpy


def rows(fingerprints):
    """Returns each fingerprint as 8 bytes."""
    return numpy.ascontiguousarray(fingerprints, dtype="<u8").view(numpy.uint8).reshape(-1, 8)


def resident():
    """Returns the bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def write(**fields):
    print(json.dumps(fields), flush=True)


def serve(build, query, positions, disk_bytes):
    """build(rows, k) -> index; query(index, row, k) -> result; positions(result) -> list of int;
    disk_bytes(index) -> its serialised size, or 0."""
    k = int(sys.argv[2])
    data = rows(numpy.fromfile(sys.argv[1], dtype="<u8"))
    before = resident()
    start = time.perf_counter()
    index = build(data, k)
    seconds = time.perf_counter() - start
    held = resident() - before
    write(build_s=seconds, disk_bytes=disk_bytes(index), ram_bytes=held)
    for line in sys.stdin:
        for row in rows(json.loads(line)):
            start = time.perf_counter_ns()
            result = query(index, row, k)
            ns = time.perf_counter_ns() - start
            write(ns=ns, found=[int(position) for position in positions(result)])
