"""hammingbird's streaming Index. It has no form on disk."""

from hammingbird import Index

from serve import serve


def build(rows, k):
    index = Index(d_bytes=8, k=k)
    index.add_batch(rows)
    return index


def query(index, row, _k):
    return index.query(row)


def positions(result):
    return (position for position, _distance in result)


serve(build, query, positions, lambda _index: 0)
