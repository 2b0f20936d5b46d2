"""FAISS' IndexBinaryMultiHash: a hash table for each of k + 1 blocks, one of which has no differing bit.

Its radius is exclusive, so it gets k + 1."""

import faiss

from serve import serve

faiss.omp_set_num_threads(1)


def build(rows, k):
    tables = k + 1
    index = faiss.IndexBinaryMultiHash(64, tables, min(64 // tables, 32))
    index.add(rows)
    return index


def query(index, row, k):
    return index.range_search(row.reshape(1, 8), k + 1)


def positions(result):
    _limits, _distances, labels = result
    return labels


serve(build, query, positions, lambda index: len(faiss.serialize_index_binary(index)))
