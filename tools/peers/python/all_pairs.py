"""Finds all pairs with a package, for the program that measures it.

Arguments: hammingbird or simhash-pybind, a file of distinct fingerprints (u64, little-endian), and the
distance. Prints a JSON object with the seconds and the number of pairs.
"""

import json
import sys
import time

import numpy


def hammingbird(fingerprints, k):
    """Of its three searches, the one that balances its blocks on skewed data."""
    from hammingbird import find_pairs_self_adaptive

    rows = fingerprints.view(numpy.uint8).reshape(-1, 8)
    return lambda: find_pairs_self_adaptive(rows, k)


def simhash_pybind(fingerprints, k):
    """With k + 2 blocks, which is faster than k + 1 and k + 3 at 3 million fingerprints."""
    from simhash import find_all

    return lambda: find_all(fingerprints, k + 2, k)


package, path, k = sys.argv[1:]
find = {"hammingbird": hammingbird, "simhash-pybind": simhash_pybind}[package]
search = find(numpy.fromfile(path, dtype="<u8"), int(k))
start = time.perf_counter()
pairs = search()
print(json.dumps({"seconds": time.perf_counter() - start, "pairs": len(pairs)}))
