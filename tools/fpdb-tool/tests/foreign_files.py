"""Compares what fpdb-tool reads from files of other programs with what they wrote.

Usage: foreign_files.py FPDB_TOOL, built with the cargo feature `parquet`. Needs pyarrow; polars,
duckdb, fastparquet, and pzstd are used if they are there.
"""

import csv
import importlib
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

TOOL = str(pathlib.Path(sys.argv[1]).resolve())
ROWS = 500


def text(seed):
    """A text that tables must quote, and that needs more than one page."""
    words = " ".join(f"w{(seed * 7919 + i * 104729) % 65521:x}" for i in range(40))
    return f'{words} "quoted, with" a\ttab\nand a line, ä 去 {seed % 7}'


TEXTS = [text(seed % 300) for seed in range(ROWS)]
TABLE = pa.table({"id": [f"doc {i}" for i in range(ROWS)], "text": TEXTS})


def read(path, *options):
    run = subprocess.run([TOOL, "fingerprint", path, *options], capture_output=True, text=True)
    assert run.returncode == 0, f"{path} {options}: {run.stderr}"
    return run.stdout


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"skipped: {name} is not installed")
        return None


def with_pyarrow(path):
    codecs = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
    encodings = [
        {"use_dictionary": True},
        {"use_dictionary": False},
        {"column_encoding": "DELTA_BYTE_ARRAY", "use_dictionary": False},
        {"column_encoding": "DELTA_LENGTH_BYTE_ARRAY", "use_dictionary": False},
    ]
    pages = [("1.0", 1 << 20), ("2.0", 1 << 20), ("1.0", 3000), ("2.0", 3000)]
    for codec, encoding, (version, size) in itertools.product(codecs, encodings, pages):
        pq.write_table(
            TABLE, path, compression=codec, data_page_version=version, data_page_size=size,
            row_group_size=200, write_page_checksum=size == 3000, **encoding,
        )  # fmt: skip
        yield f"pyarrow {codec} {encoding} {version} {size}"


def with_polars(path):
    if polars := module("polars"):
        frame = polars.from_arrow(TABLE)
        for codec in ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"]:
            frame.write_parquet(path, compression=codec, row_group_size=200)
            yield f"polars {codec}"


def with_duckdb(path):
    if duckdb := module("duckdb"):
        duckdb.register("documents", TABLE)
        for codec, version in itertools.product(
            ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4_raw"], ["V1", "V2"]
        ):
            duckdb.sql(
                f"COPY (SELECT * FROM documents) TO '{path}' (FORMAT parquet, COMPRESSION {codec}, "
                f"PARQUET_VERSION {version})"
            )
            yield f"duckdb {codec} {version}"


def with_fastparquet(path):
    if fastparquet := module("fastparquet"):
        frame = TABLE.to_pandas()
        for codec in ["UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4_RAW"]:
            fastparquet.write(path, frame, compression=codec, row_group_offsets=200)
            yield f"fastparquet {codec}"


def other_formats(folder, expected):
    """CSV as Excel writes it, and zstd as pzstd writes it."""
    path = f"{folder}/excel.csv"
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, dialect="excel")
        writer.writerows([["id", "text"], *zip(TABLE["id"].to_pylist(), TEXTS)])
    assert read(path) == expected, "Excel's CSV"
    if shutil.which("pzstd"):
        subprocess.run(["pzstd", "-q", f"{folder}/docs.ndjson"], check=True)
        assert read(f"{folder}/docs.ndjson.zst") == expected, "pzstd"
    else:
        print("skipped: pzstd is not installed")


def main():
    with tempfile.TemporaryDirectory() as folder:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in TABLE.to_pylist()]
        pathlib.Path(folder, "docs.ndjson").write_text("".join(lines), encoding="utf-8")
        expected = read(f"{folder}/docs.ndjson")
        assert expected.count("\n") == ROWS
        read_right = 0
        path = f"{folder}/table.parquet"
        for write in [with_pyarrow, with_polars, with_duckdb, with_fastparquet]:
            for name in write(path):
                assert read(path) == expected, name
                read_right += 1
        other_formats(folder, expected)
        print(f"{read_right} Parquet files are read right")


main()
