"""dedup_files: files of Parquet and JSON lines."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TEXTS = ["One two three four five six", "one TWO three four five six!", "too short", None, "a b c d e f"]
KEPT = [True, False, True, True, True]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if path.suffix == ".zst":
        data = pa.compress(data, "zstd", asbytes=True)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def read_lines(path: Path) -> list[Any]:
    with pa.input_stream(str(path), compression="detect") as stream:
        return [json.loads(line) for line in stream.read().splitlines()]


def test_parquet_files_become_one_without_near_duplicates(tmp_path: Path) -> None:
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for number, file in enumerate(files):
        ids = [f"{number}-{row}" for row in range(5)]
        pq.write_table(pa.table({"text": TEXTS, "id": ids}), file, row_group_size=2)
    target = tmp_path / "kept.parquet"
    found = fpdb.dedup_files(files, target)
    assert found.keep.tolist() == [*KEPT, False, False, False, True, False]
    assert pq.read_table(target)["id"].to_pylist() == ["0-0", "0-2", "0-3", "0-4", "1-3"]
    assert [(it.row, it.of, it.text, it.other) for it in found.examples(1)] == [(1, 0, TEXTS[1], TEXTS[0])]
    assert fpdb.dedup_files(str(files[0]), target, ngram=3).keep.tolist() == KEPT
    against = tmp_path / "db"
    for file, kept in [(files[0], 4), (files[1], 1), (files[0], 4)]:
        fpdb.dedup_files(file, target, against=against, id_column="id", run=file.stem)
        assert pq.read_metadata(target).num_rows == kept
    assert {file.name for file in tmp_path.glob("*parquet*")} == {"a.parquet", "b.parquet", "kept.parquet"}


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the open files of the process")
def test_what_comparing_took_is_given_back_before_passages_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fpdb_engine import _files

    source, scratch = tmp_path / "a.parquet", tmp_path / "scratch"
    # More than one chunk, so that there is a database.
    texts = [" ".join(f"{row}-{word}" for word in range(10)) for row in range(5000)]
    pq.write_table(pa.table({"text": texts, "id": [str(row) for row in range(5000)]}), source)
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    calls = 0

    def searched(*arguments: Any, **options: Any) -> fpdb.Passages:
        nonlocal calls
        calls += 1
        unnamed = [os.readlink(file) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
        assert not [file for file in unnamed if file.startswith(str(scratch))]
        assert not list(scratch.iterdir())
        return fpdb.dedup_passages(*arguments, **options)

    monkeypatch.setattr(_files, "dedup_passages", searched)
    against = {"against": tmp_path / "db", "id_column": "id", "run": "one"}
    both: list[dict[str, Any]] = [{}, against]
    for options in both:
        found = fpdb.dedup_files(source, tmp_path / "kept.parquet", passages="mark", **options)
        assert found.keep.all()
    assert calls == 2


def test_wrong_parquet_files_are_refused(tmp_path: Path) -> None:
    file, other, target = (tmp_path / f"{name}.parquet" for name in ("file", "other", "target"))
    pq.write_table(pa.table({"text": TEXTS}), file)
    pq.write_table(pa.table({"text": TEXTS, "n": range(5)}), other)
    numbers, twice = tmp_path / "numbers.parquet", tmp_path / "twice.parquet"
    pq.write_table(pa.table({"text": TEXTS, "n": ["a"] * 5}), numbers)
    pq.write_table(pa.table([pa.array(TEXTS)] * 2, ["text", "text"]), twice)
    invalid = fpdb.InvalidArgumentError
    calls: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: fpdb.dedup_files([], target), invalid, "there are no files"),
        (lambda: fpdb.dedup_files(file, file), invalid, "is one of the sources"),
        (lambda: fpdb.dedup_files(file, target, "body"), invalid, "no column 'body'; its columns are text"),
        (lambda: fpdb.dedup_files(file, target, []), invalid, "column: give at least one"),
        (lambda: fpdb.dedup_files(file, target, "text.body"), invalid, "no column 'text.body'"),
        (lambda: fpdb.dedup_files([file, other, numbers], target), invalid, "choose a folder as target"),
        (lambda: fpdb.dedup_files(file, tmp_path / "a.jsonl"), invalid, "another format than the sources"),
        (lambda: fpdb.dedup_files([file, file], tmp_path / "out"), invalid, "would be written twice"),
        (lambda: fpdb.dedup_files(file, tmp_path), invalid, "is one of the sources"),
        (lambda: fpdb.dedup_files(file, file / "out"), OSError, "out"),
        (lambda: fpdb.dedup_files(twice, target), invalid, "several columns have the name text"),
        (lambda: fpdb.dedup_files(tmp_path / "no", target), FileNotFoundError, "no"),
        (lambda: fpdb.dedup_files(other, target, "n"), TypeError, "strings, not an Arrow array of int64"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    # Nothing was written, neither a file nor a database.
    options: dict[str, Any] = {"id_column": "n", "against": tmp_path / "db", "run": "1"}
    with pytest.raises(OSError, match="out"):
        fpdb.dedup_files(other, file / "out", **options)
    assert not target.exists() and not (tmp_path / "db").exists() and not list(tmp_path.glob("*unfinished"))


def test_ids_of_parquet_files_are_values_of_any_type(tmp_path: Path) -> None:
    file, target = tmp_path / "file.parquet", tmp_path / "kept.parquet"
    texts = [" ".join(f"{row}-{word}" for word in range(9)) for row in range(2)]
    columns: dict[str, tuple[Any, list[str]]] = {
        "strings": (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        "categories": (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        "signed": (pa.array([-1, 2], pa.int8()), ["-1", "2"]),
        "unsigned": (pa.array([2**64 - 1, 0], pa.uint64()), ["18446744073709551615", "0"]),
        "decimals": (pa.array([Decimal("1.50"), Decimal("2.25")]), ["1.50", "2.25"]),
        "dates": (pa.array([date(2026, 1, 1), date(2026, 1, 2)]), ["2026-01-01", "2026-01-02"]),
    }
    pq.write_table(pa.table({"text": texts, **{name: values for name, (values, _) in columns.items()}}), file)
    for name, (_, ids) in columns.items():
        fpdb.dedup_files(file, target, against=tmp_path / name, id_column=name, run="1")
        with fpdb.Db.open(tmp_path / name) as db:
            assert db.names(np.arange(2)) == [f"1/{id}" for id in ids], name


def test_damaged_parquet_files_are_refused_by_their_names(tmp_path: Path) -> None:
    whole, target = tmp_path / "whole.parquet", tmp_path / "kept.parquet"
    pq.write_table(pa.table({"text": TEXTS}), whole, write_page_checksum=True, compression="none")
    content = whole.read_bytes()
    cuts = [content[:length] for length in (0, 4, 100, len(content) // 2, len(content) - 1)]
    # It is also in statistics, which nobody reads.
    flipped = content.replace(b"too short", b"too shorT", 1)
    encrypted = b"PARE" + content[4:-4] + b"PARE"
    for number, damaged in enumerate([*cuts, flipped, encrypted, b"this is text, and no table of any kind"]):
        file = tmp_path / f"damaged-{number}.parquet"
        file.write_bytes(damaged)
        with pytest.raises((pa.ArrowException, OSError), match=file.name):
            fpdb.dedup_files([whole, file], target)
    assert not any("kept" in file.name for file in tmp_path.iterdir())


def test_folders_and_patterns_give_a_file_for_each(tmp_path: Path) -> None:
    source, target = tmp_path / "dump", tmp_path / "kept"
    for number in range(3):
        (source / f"day={number}").mkdir(parents=True)
        table = pa.table({"n": [number] * 5, "text": TEXTS, "view": pa.array(TEXTS, pa.string_view())})
        table = table.replace_schema_metadata({"who": "me"})
        options: dict[str, Any] = {"compression": ["zstd", "gzip", "snappy"][number], "row_group_size": 2}
        pq.write_table(table, source / f"day={number}" / "part.parquet", **options)
    (source / "_SUCCESS").touch()
    pq.write_metadata(table.schema, source / "_metadata")
    found = fpdb.dedup_files(source, target)
    assert found.keep.tolist() == [*KEPT, *[False, False, False, True, False] * 2]
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*.*")) == [
        f"day={number}/part.parquet" for number in range(3)
    ]
    for number, compression in enumerate(["ZSTD", "GZIP", "SNAPPY"]):
        with pq.ParquetFile(target / f"day={number}" / "part.parquet") as file:
            assert file.metadata.row_group(0).column(0).compression == compression
            assert file.schema_arrow.equals(table.schema, check_metadata=True)
            assert file.metadata.num_row_groups == (3 if number == 0 else 1)
            assert file.read()["view"].to_pylist() == file.read()["text"].to_pylist()
    pattern = fpdb.dedup_files(f"{source}/**/*.parquet", tmp_path / "one.parquet", annotate=True)
    assert pattern.keep.tolist() == found.keep.tolist()
    rows = pq.read_table(tmp_path / "one.parquet")
    assert rows["fpdb_keep"].to_pylist() == found.keep.tolist()
    assert rows["fpdb_duplicate_of"].to_pylist()[:7] == [None, 0, None, None, None, 0, 0]
    assert rows["fpdb_similarity"].to_pylist()[:2] == [None, 1] and rows["n"].to_pylist() == [0] * 5 + [1] * 5 + [2] * 5


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".ndjson.zst"])
def test_lines_of_json_keep_their_bytes_and_their_compression(tmp_path: Path, ending: str) -> None:
    rows = [{"n": n, "doc": {"body": text, "title": None if n else "é è ê ë"}} for n, text in enumerate(TEXTS)]
    for number in range(2):
        write_lines(tmp_path / "in" / f"{number}{ending}", [{"id": f"{number}-{row['n']}", **row} for row in rows])
    found = fpdb.dedup_files(tmp_path / "in", tmp_path / "out", ["doc.title", "doc.body"])
    assert found.keep.tolist() == [True, True, *KEPT[2:], *[False, False, False, True, False]]
    assert read_lines(tmp_path / "out" / f"1{ending}") == [{"id": "1-3", **rows[3]}]
    expected = [{"id": f"0-{row['n']}", **row} for row in rows]
    assert read_lines(tmp_path / "out" / f"0{ending}") == expected
    if ending == ".jsonl":
        assert (tmp_path / "out" / f"0{ending}").read_bytes() == (tmp_path / "in" / f"0{ending}").read_bytes()
    options: dict[str, Any] = {"against": tmp_path / "db", "id_column": "id"}
    fpdb.dedup_files(tmp_path / "in" / f"0{ending}", tmp_path / "out", "doc.body", run="a", **options)
    one = tmp_path / f"one{ending}"
    fpdb.dedup_files(tmp_path / "in" / f"1{ending}", one, "doc.body", run="b", annotate=True, **options)
    first, second, *_ = read_lines(one)
    assert first["fpdb_earlier"] == "a/0-0" and not first["fpdb_keep"] and first["doc"] == rows[0]["doc"]
    assert second["fpdb_similarity"] == 1


def test_wrong_lines_of_json_are_refused_by_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "file.jsonl"
    for line, message in (
        ("{", "line 3: Expecting"),
        ("[]", "line 3: expected an object, not list"),
        ('{"text": 5}', "line 3: a text must be a string, not int"),
    ):
        file.write_text('{"text": "a"}\n\n' + line + "\n")
        with pytest.raises((ValueError, TypeError), match=f"file.jsonl, {message}"):
            fpdb.dedup_files(file, tmp_path / "out")
    file.write_text('{"text": "a b c d e f"}\n{}\n{"text": null}')
    fpdb.dedup_files(file, tmp_path / "out", annotate=True)
    assert [row["fpdb_keep"] for row in read_lines(tmp_path / "out" / "file.jsonl")] == [True] * 3


def test_files_with_other_columns_become_one(tmp_path: Path) -> None:
    kinds: list[Any] = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
    for number, kind in enumerate(kinds[:2]):
        columns = {"text": pa.array([f"{text} {number} a b c" for text in TEXTS], kind), "n": pa.array(range(5))}
        order = list(columns) if number else list(columns)[::-1]
        pq.write_table(pa.table({name: columns[name] for name in order}), tmp_path / f"{number}.parquet")
    fpdb.dedup_files(f"{tmp_path}/?.parquet", tmp_path / "one.parquet", similarity=1.0)
    assert pq.read_table(tmp_path / "one.parquet")["n"].to_pylist() == [0, 2, 3, 4] * 2


def test_scores_dates_and_lengths_choose_rows_of_files(tmp_path: Path) -> None:
    days = [date(2026, 1, day) for day in (1, 2, 3, 4, 5)]
    file = tmp_path / "file.parquet"
    pq.write_table(pa.table({"text": TEXTS, "day": days, "id": [*"edcba"]}), file)
    write_lines(tmp_path / "file.jsonl", [{"text": text, "score": n} for n, text in enumerate(TEXTS)])
    for source, keep in ((file, "day"), (file, "longest"), (tmp_path / "file.jsonl", "score")):
        assert fpdb.dedup_files(source, tmp_path / "out", keep=keep).keep.tolist() == [False, *KEPT[2:], True]
    assert fpdb.dedup_files(file, tmp_path / "out", keep="least id", id_column="id").keep.tolist()[:2] == [False, True]
    with pytest.raises(fpdb.InvalidArgumentError, match="no column 'dya'"):
        fpdb.dedup_files(file, tmp_path / "out", keep="dya")


def test_other_file_systems_are_read_and_written(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    write_lines(tmp_path / "file.jsonl.gz", [{"text": text} for text in TEXTS])
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "file.parquet")
    memory = fsspec.filesystem("memory")
    memory.put(f"{tmp_path}/file.parquet", "/dump/a.parquet")
    memory.put(f"{tmp_path}/file.jsonl.gz", "/dump/b.jsonl.gz")
    found = fpdb.dedup_files("memory://dump", "memory://kept")
    assert found.keep.tolist() == [*KEPT, False, False, False, True, False]
    assert pq.read_table("/kept/a.parquet", filesystem=memory).num_rows == 4
    assert gzip.decompress(memory.cat("/kept/b.jsonl.gz")) == b'{"text": null}\n'
    assert fpdb.dedup_files(f"file://{tmp_path}/file.parquet", f"file://{tmp_path}/out").keep.tolist() == KEPT
    assert pq.read_metadata(tmp_path / "out" / "file.parquet").num_rows == 4


def test_parquet_files_without_rows_give_one_without_rows(tmp_path: Path) -> None:
    file, target = tmp_path / "file.parquet", tmp_path / "kept.parquet"
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), file)
    assert len(fpdb.dedup_files(file, target)) == 0
    assert pq.read_table(target).schema == pa.schema({"text": pa.string()})


QUOTE = "The mills were closed in spring because the new owners had found cheaper coal in the north."
# A near-duplicate, a page with a quote, one that is little else, one that is nothing else, and one without a text.
NEWS = [QUOTE, QUOTE.upper(), f"Über uns. {QUOTE} That was all. More.", f"{QUOTE} So.", f"So {QUOTE[4:]}", None]
SPAN = {"begin": 11, "end": 101, "source": 0}


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
@pytest.mark.parametrize("column", ["text", "doc.body"])
def test_passages_of_files_are_marked_cut_or_dropped(tmp_path: Path, ending: str, column: str) -> None:
    source, target = tmp_path / f"news{ending}", tmp_path / f"kept{ending}"
    rows = [{"n": n, "text": it} if column == "text" else {"n": n, "doc": {"a": 1, "body": it}} for n, it in enumerate(NEWS)]
    if ending == ".jsonl":
        write_lines(source, rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), source, row_group_size=4)

    def read() -> tuple[list[int], list[Any], list[Any]]:
        found = pq.read_table(target).to_pylist() if ending == ".parquet" else read_lines(target)
        texts = [row["text"] if column == "text" else row["doc"]["body"] for row in found]
        return [row["n"] for row in found], texts, [row.get("fpdb_passages") for row in found]

    options: dict[str, Any] = {"min_words": 15}
    found = fpdb.dedup_files(source, target, column, passages="mark", similarity=0.99, **options)
    kept = [0, 2, 3, 4, 5]
    assert found.keep.tolist() == [n in kept for n in range(6)]
    numbers, texts, spans = read()
    assert (numbers, texts) == (kept, [NEWS[n] for n in kept])
    assert spans[:2] == [[], [SPAN]] and [len(it) for it in spans[2:]] == [1, 1, 0]
    assert "rows with passages: 3" in str(found) and "bytes in passages: 2" in str(found)
    found = fpdb.dedup_files(source, target, column, passages="cut", similarity=0.99, **options)
    assert read()[:2] == ([0, 2, 3, 4, 5], [QUOTE, "Über uns. That was all. More.", "So.", NEWS[4], None])
    found = fpdb.dedup_files(source, target, column, passages="drop", similarity=0.99, min_left=0.2, **options)
    assert read()[:2] == ([0, 2, 5], [NEWS[0], NEWS[2], None])
    assert found.keep.tolist() == [True, False, True, False, False, True]
    fpdb.dedup_files(source, target, column, passages="mark", annotate=True, **options)
    assert read()[0] == list(range(6)) and read()[2][1:3] == [[], [SPAN]]


def test_rows_of_which_nothing_is_left_are_dropped(tmp_path: Path) -> None:
    first, second = (" ".join(f"w{n}" for n in range(begin, begin + 20)) + ". " for begin in (0, 100))
    # An escape of a lone surrogate, beside characters that are not escaped, and beside some that are.
    texts = [first + second, second + "\\n", f"{second}é \\ud800", f"{second}\\u00e8 \\ud800"]
    (tmp_path / "in.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    found = fpdb.dedup_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", passages="cut", min_words=15, similarity=1.0)
    assert found.keep.tolist() == [True, False, True, True]
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert lines == [f'{{"text": "{text}"}}' for text in (texts[0], "é \\ud800", "\\u00e8 \\ud800")]
    for wrong in ({"passages": "no"}, {"passages": "cut", "column": ["text", "title"]}):
        with pytest.raises(fpdb.InvalidArgumentError, match="passages"):
            fpdb.dedup_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", **wrong)


# Writes texts of 2,000 bytes, many of them near-duplicates, and prints the peak of memory before and after.
MEMORY = """
import random, resource, sys
import pyarrow as pa, pyarrow.parquet as pq
import fpdb_engine as fpdb

rng = random.Random(1)
words = [f"word{n:04}" for n in range(5000)]
pool = [" ".join(rng.choices(words, k=500)) for _ in range(500)]
with pq.ParquetWriter("in.parquet", pa.schema({"text": pa.string()})) as writer:
    for _ in range(int(sys.argv[1]) // 1000):
        texts = [f"{rng.choice(pool)[:1000]} {rng.random()} {rng.choice(pool)[:1000]}" for _ in range(1000)]
        writer.write_batch(pa.record_batch({"text": texts}))
fpdb.dedup_files("in.parquet", "out.parquet")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_grows_by_bytes_per_row_not_by_texts(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        program = [sys.executable, "-c", MEMORY, str(rows)]
        ran = subprocess.run(program, cwd=tmp_path, check=True, capture_output=True, text=True)
        return int(ran.stdout) * 1024

    few, many = peak(20_000), peak(80_000)
    # The other texts have 120 MB. Each row takes 13 bytes in the result and 10 for comparing. Up to 131,072 recent ones
    # take at most 300 more in the database, and features of earlier rows 8 MB; searches and allocators keep the rest.
    assert many - few < 60_000 * (13 + 10 + 300) + (24 << 20), (few, many)


# Rows that share one text are decoded a few at a time; the peak is printed in megabytes above that before.
SHARED = """
import resource
import pyarrow as pa, pyarrow.parquet as pq
import fpdb_engine as fpdb

text = " ".join(f"w{n}" for n in range(200_000))
texts = pa.DictionaryArray.from_arrays(pa.array([0] * 450, pa.int32()), pa.array([text]))
pq.write_table(pa.table({"n": range(450), "text": texts}), "in.parquet", store_schema=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fpdb.dedup_files("in.parquet", "out.parquet", threads=1)
assert pq.read_table("out.parquet")["n"].to_pylist() == [0]
assert pq.read_table("out.parquet")["text"].to_pylist() == [text]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


def test_texts_that_many_rows_share_are_not_decoded_all_at_once(tmp_path: Path) -> None:
    program = [sys.executable, "-c", SHARED]
    ran = subprocess.run(program, cwd=tmp_path, check=True, capture_output=True, text=True)
    # The 450 texts have 620 MB. 64 of them are decoded before it is known how large they are.
    assert int(ran.stdout) < 400
