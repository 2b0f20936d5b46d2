"""dedup_files: which files are read, and which are never written."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

INVALID = fpdb.InvalidArgumentError


def text(seed: int, words: int = 40) -> str:
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(5000)}" for _ in range(words))


def write(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()
    compress: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    }
    path.write_bytes(compress.get(path.suffix.lower(), bytes)(data))


def state_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_target_that_is_a_source_or_would_be_one_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "dump"
    for part in range(2):
        write(source / f"part-{part}.jsonl", [{"text": text(part)}, {"text": text(part)}])
    (source / "deep").mkdir()
    (tmp_path / "alias").symlink_to(source)
    (tmp_path / "inner").symlink_to(source / "deep")
    (tmp_path / "one.jsonl").symlink_to(source / "part-0.jsonl")
    os.link(source / "part-1.jsonl", tmp_path / "hard.jsonl")
    part = source / "part-0.jsonl"
    before = state_of(tmp_path)
    calls: list[tuple[Any, Any]] = [
        (source, source),
        (source, source / "kept"),
        (source, source / "deep" / "kept"),
        (source, source / "kept.jsonl"),
        (source, tmp_path / "alias"),
        (source, tmp_path / "alias" / "kept"),
        (tmp_path / "alias", source),
        (tmp_path / "alias", source / "kept"),
        (source, tmp_path / "inner"),
        (source, tmp_path / "inner" / "kept"),
        (source, tmp_path / "x" / ".." / "dump"),
        (source, f"file://{source}"),
        (f"file://{source}", source / "kept"),
        (part, part),
        (part, source),
        (part, tmp_path / "one.jsonl"),
        (source / "part-1.jsonl", tmp_path / "hard.jsonl"),
        ([tmp_path / "one.jsonl"], part),
        (f"{source}/*.jsonl", source / "kept.jsonl"),
        (f"{source}/*", source),
        (f"{source}/**/*.jsonl", source / "kept"),
        (f"{source}/part-*", source),
        (f"{tmp_path}/*/part-*.jsonl", tmp_path / "kept"),
    ]
    for sources, target in calls:
        with pytest.raises(INVALID, match="target: .* choose another folder"):
            fpdb.dedup_files(sources, target)
        assert state_of(tmp_path) == before, (sources, target)
    # What is beside the sources is no source.
    assert fpdb.dedup_files(source, tmp_path / "dump-kept").dropped == 2
    assert fpdb.dedup_files(f"{source}/*.jsonl", source / "kept").dropped == 2
    assert fpdb.dedup_files(f"{source}/part-?.jsonl", source / "kept.jsonl").dropped == 2


def test_every_file_of_a_folder_is_read_or_an_error_or_reported(tmp_path: Path) -> None:
    source = tmp_path / "many"
    names = ["a.jsonl", "b.JSONL", "c.jsonl.bz2", "d.ndjson.xz", "e.jsonl.GZ", "f.json.zst", "part-00000"]
    for number, name in enumerate(names):
        write(source / name, [{"text": text(number)}, {"text": text(0)}])
    write(source / "g.csv", ["text", text(10), text(0)])
    write(source / "h.TSV.xz", ["n\ttext", f"1\t{text(11)}"])
    for name in ("i.parquet", "j.PQ", "part-00001"):
        pq.write_table(pa.table({"text": [text(ord(name[-1])), text(0)]}), source / name)
    hidden = ["_SUCCESS", "_x.jsonl", ".part.crc", "README.md", "LICENSE", "_log/0.json"]
    for name in hidden:
        write(source / name, ["none"])
    found = fpdb.dedup_files(source, tmp_path / "kept")
    assert found.files is not None and found.files.read == 12 and sorted(found.files.left_out) == sorted(hidden)
    assert (len(found), found.files.with_text) == (23, 23)
    assert "files read: 12" in str(found) and "files left out: 6: " in str(found) and "rows with text: 23" in str(found)
    # Each kept row is in a file of the same name, and this can be read again.
    kept = fpdb.dedup_files(tmp_path / "kept", tmp_path / "again")
    assert len(kept) == len(found) - found.dropped == 12 and kept.dropped == 0
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == sorted(
        [*names, "g.csv", "h.TSV.xz", "i.parquet", "j.PQ", "part-00001"]
    )
    for name in ("c.txt", "d.jsonl.lz9", "e.arrow", "f.jsonl.tmp", "part-00002"):
        write(source / name, ["what is this"])
        with pytest.raises(INVALID, match=f"{name}: it is not known what is in this file; expected .parquet"):
            fpdb.dedup_files(source, tmp_path / "kept")
        with pytest.raises(INVALID, match=f"{name}: it is not known"):
            fpdb.dedup_files(source / name, tmp_path / "kept")
        (source / name).unlink()
    # A link to a file that is missing.
    (source / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    for sources in (source, source / "*.jsonl", tmp_path / "m*"):
        with pytest.raises(FileNotFoundError, match="gone.jsonl: broken link"):
            fpdb.dedup_files(sources, tmp_path / "kept")
    # What is left out, or does not match, may be anything; and links may lead in a circle.
    for name in ("README.md", "_x.jsonl", "_log/1.jsonl", ".git/HEAD"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).unlink(missing_ok=True)
        (source / "gone.jsonl").rename(source / name)
        assert fpdb.dedup_files(source, tmp_path / "kept").files.read == 12  # type: ignore[union-attr]
        (source / name).rename(source / "gone.jsonl")
    assert fpdb.dedup_files(source / "*.parquet", tmp_path / "kept").files.read == 1  # type: ignore[union-attr]
    (source / "gone.jsonl").unlink()
    (source / "_log" / "circle").symlink_to(source)
    assert fpdb.dedup_files(source, tmp_path / "kept").files.read == 12  # type: ignore[union-attr]


def test_a_column_that_no_row_has_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"url": "u", "doc": {"text": text(1), "date": 1}}] * 2)
    write(tmp_path / "empty.jsonl", [])
    write(tmp_path / "sparse.jsonl", [{"url": "u"}, {"doc": {}}, {"doc": {"text": None, "date": None}}])
    target = tmp_path / "out"
    ids: dict[str, Any] = {"against": tmp_path / "db", "run": "1"}
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ("txet", {}, "txet"),
        ("doc.txet", {}, "doc.txet"),
        ("url.text", {}, "url.text"),
        (["doc.text", "title"], {}, "title"),
        ("doc.text", {"keep": "daet"}, "daet"),
        ("doc.text", {"keep": "doc.daet"}, "doc.daet"),
        ("doc.text", {"id_column": "id", **ids}, "id"),
    ]
    for column, options, name in wrong:
        for sources in ([tmp_path / "a.jsonl"], [tmp_path / "empty.jsonl", tmp_path / "a.jsonl"]):
            with pytest.raises(INVALID, match=f"a.jsonl: no row has a column '{name}'; those of the first row are url, doc"):
                fpdb.dedup_files(sources, target, column, **options)
    assert not target.exists() and not (tmp_path / "db").exists()
    sources = [tmp_path / name for name in ("sparse.jsonl", "a.jsonl", "empty.jsonl")]
    found = fpdb.dedup_files(sources, target, "doc.text", keep="doc.date")
    assert found.keep.tolist() == [True] * 4 + [False] and found.files is not None
    assert found.files.without_text == [str(tmp_path / name) for name in ("sparse.jsonl", "empty.jsonl")]
    assert f"files without a text: 2: {tmp_path}/sparse.jsonl" in str(found)
    write(tmp_path / "a.csv", ["n,text", f"1,{text(1)}"])
    with pytest.raises(INVALID, match="a.csv has no column 'txet'; its columns are n, text"):
        fpdb.dedup_files(tmp_path / "a.csv", target, "txet")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_several_columns_are_compared_as_one(tmp_path: Path, kind: Any) -> None:
    questions = [text(1), text(1), text(2), None, text(1)]
    answers = ["yes it is so and no other way", "no it is not so in any way", "yes", None, "yes it is so and no other way"]
    rows = [{"q": q, "a": {"b": a}} for q, a in zip(questions, answers)]
    write(tmp_path / "two.jsonl", rows)
    inner = pa.StructArray.from_arrays([pa.array(answers).cast(kind)], ["b"])
    pq.write_table(pa.table({"q": pa.array(questions).cast(kind), "a": inner}), tmp_path / "two.parquet")
    write(tmp_path / "two.csv", ["q,b", *(f"{q or ''},{a or ''}" for q, a in zip(questions, answers))])
    for name, columns in (("two.jsonl", ["q", "a.b"]), ("two.parquet", ["q", "a.b"]), ("two.csv", ["q", "b"])):
        found = fpdb.dedup_files(tmp_path / name, tmp_path / "out", columns, similarity=0.95)
        assert found.keep.tolist() == [True, True, True, True, False], name


def test_bad_lines_are_an_error_or_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [{"text": text(1), "n": 1}, {"text": text(2), "n": 2}, {"text": text(1), "n": 3}]
    lines = [json.dumps(rows[0]), "{", json.dumps(rows[1]), "[1]", '{"text": 5}', json.dumps(rows[2]), '"text"']
    write(tmp_path / "a.jsonl", lines)
    write(tmp_path / "a.csv", ["n,text", f"1,{text(1)}", "2", f"2,{text(2)}", "3,4,5", f"3,{text(1)}"])
    for name, bad, message in (("a.jsonl", 4, "line 2: Expecting"), ("a.csv", 2, "line 3: 1 values for 2 columns")):
        with pytest.raises(INVALID, match=f"{name}, {message}"):
            fpdb.dedup_files(tmp_path / name, tmp_path / "out")
        for options in ({}, {"keep": "n"}, {"passages": "drop"}):
            found = fpdb.dedup_files(tmp_path / name, tmp_path / "kept", bad_lines="skip", **options)  # type: ignore[arg-type]
            assert len(found) == 3 and found.dropped == 1 and found.files is not None and found.files.bad_lines == bad
            assert f"lines left out: {bad}" in str(found)
            assert len((tmp_path / "kept" / name).read_bytes().splitlines()) == 2 + (name == "a.csv")
    with pytest.raises(INVALID, match="bad_lines 'no'"):
        fpdb.dedup_files(tmp_path / "a.jsonl", tmp_path / "out", bad_lines="no")  # type: ignore[arg-type]
    # The end of a quoted value is not known, so more than a line may be wrong.
    write(tmp_path / "b.csv", ["n,text", f'1,"{text(1)}', f"2,{text(2)}"])
    with pytest.raises(INVALID, match="b.csv, line 2: unexpected end of data"):
        fpdb.dedup_files(tmp_path / "b.csv", tmp_path / "out", bad_lines="skip")
    (tmp_path / "c.csv").write_bytes(b"text\nfine\n\xff\n")
    with pytest.raises(INVALID, match="c.csv, line 3: .*0xff"):
        fpdb.dedup_files(tmp_path / "c.csv", tmp_path / "out")


def test_rows_of_csv_keep_their_bytes(tmp_path: Path) -> None:
    quote = 'he said: "no", and left'
    rows = [
        "\ufeffid,text,note\r\n",
        f'1,"{quote.replace(chr(34), chr(34) * 2)} {text(1)}",a\r\n',
        f'2,"{text(2)}\n{text(3)}, and ""more""","x,y"\r\n',
        f"3,{text(2)} {text(3)} and more,c\n",
        f"4,{text(4, 200)},\n",
        "5,,e",
    ]
    (tmp_path / "a.csv").write_text("".join(rows), newline="")
    found = fpdb.dedup_files(tmp_path / "a.csv", tmp_path / "kept.csv")
    assert found.keep.tolist() == [True, True, False, True, True] and found.files and found.files.with_text == 4
    expected = "".join(rows[:3] + rows[4:]) + "\n"
    assert (tmp_path / "kept.csv").read_bytes().decode() == expected
    fpdb.dedup_files(tmp_path / "a.csv", tmp_path / "all.csv", annotate=True)
    # Again, over what is annotated.
    fpdb.dedup_files(tmp_path / "all.csv", tmp_path / "twice.csv", annotate=True)
    assert (tmp_path / "twice.csv").read_bytes() == (tmp_path / "all.csv").read_bytes()
    table = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text("utf-8-sig"), newline="")))
    assert [row["fpdb_keep"] for row in table] == ["true", "true", "false", "true", "true"]
    assert [row["fpdb_duplicate_of"] for row in table] == ["", "", "1", "", ""]
    assert table[1]["text"] == f'{text(2)}\n{text(3)}, and "more"' and table[1]["note"] == "x,y"
    # Several files become one, if they have the same columns.
    write(tmp_path / "b.csv", ["id,text,note", f"6,{text(6)},f"])
    sources = [tmp_path / "a.csv", tmp_path / "b.csv"]
    fpdb.dedup_files(sources, tmp_path / "one.csv")
    assert (tmp_path / "one.csv").read_bytes().decode() == expected + f"6,{text(6)},f\n"
    (tmp_path / "0.csv").touch()
    fpdb.dedup_files([tmp_path / "0.csv", *sources], tmp_path / "one.csv")
    assert (tmp_path / "one.csv").read_bytes().decode() == expected + f"6,{text(6)},f\n"
    write(tmp_path / "b.csv", ["id,text", f"6,{text(6)}"])
    with pytest.raises(INVALID, match="do not fit each other; choose a folder"):
        fpdb.dedup_files(sources, tmp_path / "one.csv")


def test_only_the_text_of_a_row_that_is_cut_is_written_anew(tmp_path: Path) -> None:
    quote = text(1, 30)
    long = f"{text(2)} that {quote} and {text(3)}"
    other = ' "price": 1.10,  "id": 12345678901234567890.5, "k": 1, "k": 2, "big": 1e400, "u": "\\u00e9é" '
    lines = [
        json.dumps({"text": f"{quote}."}),
        # The span has no whole sentence, so nothing is cut.
        '{"text" : "%s",%s}' % (long, other),
        '{ "text":"Before it. %s. After \\"it\\".",%s}' % (quote, other),
        '{"doc": {"text": "no"}, "text": "no", "text" : "Earlier then. %s."}' % quote,
    ]
    write(tmp_path / "cut.jsonl", lines)
    options: dict[str, Any] = {"passages": "cut", "min_words": 20, "similarity": 1.0}
    fpdb.dedup_files(tmp_path / "cut.jsonl", tmp_path / "kept.jsonl", **options)
    written = (tmp_path / "kept.jsonl").read_text().splitlines()
    assert written[:2] == lines[:2]
    assert written[2] == '{ "text":"Before it. After \\"it\\".",%s}' % other
    assert written[3] == '{"doc": {"text": "no"}, "text": "no", "text" : "Earlier then."}'
    rows = ["n;é,text", f'"1",{quote}.', f'"2","Before, ""it"". {quote}. After."', f"3,Then it was so. {quote}."]
    write(tmp_path / "cut.csv", rows)
    fpdb.dedup_files(tmp_path / "cut.csv", tmp_path / "kept.csv", **options)
    written = (tmp_path / "kept.csv").read_text().splitlines()
    assert written == [*rows[:2], '"2","Before, ""it"". After."', "3,Then it was so."]


def test_columns_that_exist_are_replaced(tmp_path: Path) -> None:
    texts = [text(1), text(1), text(2)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "n.parquet")
    write(tmp_path / "n.jsonl", [{"fpdb_keep": "old", "text": it, "n": 1.10} for it in texts])
    for kind in ("parquet", "jsonl"):
        for source, target in (("n", "once"), ("once", "twice")):
            options: dict[str, Any] = {"annotate": True, "passages": "mark", "min_words": 14}
            fpdb.dedup_files(tmp_path / f"{source}.{kind}", tmp_path / f"{target}.{kind}", **options)
        assert (tmp_path / f"twice.{kind}").read_bytes() == (tmp_path / f"once.{kind}").read_bytes()
    assert pq.read_table(tmp_path / "twice.parquet")["fpdb_keep"].to_pylist() == [True, False, True]
    line = (tmp_path / "twice.jsonl").read_text().splitlines()[1]
    assert line.startswith('{"fpdb_keep": false, "text"') and line.count("fpdb_keep") == 1 and '"n": 1.1,' in line


def test_endings_that_are_not_known_are_no_targets(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"text": text(1)}])
    (tmp_path / "old.v1").mkdir()
    for name in ("out.txt", "out.jsonl.bz", "out.parquet.gz", "out.v2"):
        with pytest.raises(INVALID, match=f"target: .*{name} has an ending that is not known; expected"):
            fpdb.dedup_files(tmp_path / "a.jsonl", tmp_path / name)
    for name in ("old.v1", "new.v1/", "out", "out.jsonl.bz2", "out.JSON"):
        fpdb.dedup_files(tmp_path / "a.jsonl", f"{tmp_path}/{name}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "new.v1", "old.v1", "out", "out.JSON", "out.jsonl.bz2"]
    assert bz2.decompress((tmp_path / "out.jsonl.bz2").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()
    with pytest.raises(INVALID, match="another format"):
        fpdb.dedup_files(tmp_path / "a.jsonl", tmp_path / "out.csv")


def test_patterns_are_those_of_a_shell_also_in_urls(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    names = ["a.jsonl", "b.jsonl", "x[1].jsonl", "deep/c.jsonl", "deep/more/d.jsonl", ".hidden.jsonl", ".git/e.jsonl"]
    for number, name in enumerate(names):
        write(tmp_path / "dump" / name, [{"text": text(number)}])
    memory = fsspec.filesystem("memory")
    memory.put(f"{tmp_path}/dump", "/patterns", recursive=True)
    patterns = {
        "*.jsonl": 3,
        "[ab].jsonl": 2,
        "[!a].jsonl": 1,
        "*[[]1].jsonl": 1,
        "*/*.jsonl": 1,
        "**/*.jsonl": 5,
        "deep/**/*.jsonl": 2,
        ".h*": 1,
        "**": 5,
        # Folders that match are read as a shell would pass them, and no file is read twice.
        "*": 5,
        "d*": 2,
        "**/*": 5,
        "deep/*": 2,
    }
    for base in (f"{tmp_path}/dump", "memory://patterns", f"file://{tmp_path}/dump"):
        for pattern, number in patterns.items():
            found = fpdb.dedup_files(f"{base}/{pattern}", tmp_path / "out.jsonl")
            assert len(found) == number, (base, pattern)
        with pytest.raises(FileNotFoundError, match="no file matches"):
            fpdb.dedup_files(f"{base}/*.parquet", tmp_path / "out.jsonl")
        with pytest.raises(FileNotFoundError, match="no file matches"):
            fpdb.dedup_files(f"{base}/deep[!x]c.jsonl", tmp_path / "out.jsonl")
        with pytest.raises(INVALID, match="this is no pattern"):
            fpdb.dedup_files(f"{base}/[z-a].jsonl", tmp_path / "out.jsonl")
        with pytest.raises(FileNotFoundError, match="there is no such file"):
            fpdb.dedup_files(f"{base}/no/*.jsonl", tmp_path / "out.jsonl")
        with pytest.raises(INVALID, match="choose another folder"):
            fpdb.dedup_files(f"{base}/*.jsonl", f"{base}/kept.jsonl")
    assert len(fpdb.dedup_files(f"{tmp_path}/dump/?.jsonl", tmp_path / "out.jsonl")) == 2
    fpdb.dedup_files("memory://patterns/*.jsonl", "memory://patterns-kept/one.jsonl")
    assert len(memory.cat("/patterns-kept/one.jsonl").splitlines()) == 3


MENU = "Home and more of this site"


def write_pages(folder: Path, ending: str) -> list[str]:
    """Writes pages with a menu, of which one has nothing else, and a copy of one."""
    pages = [f"{MENU}\n{text(seed)}" for seed in range(4)]
    pages += [f"{MENU}!\nto the top\nunder it all now\n", f"{MENU}\nTo the top", pages[0]]
    rows = [{"url": f"u{number}", "text": page} for number, page in enumerate(pages)]
    for part, some in enumerate((rows[:3], rows[3:])):
        path = folder / f"{part}{ending}"
        if ending == ".jsonl":
            write(path, some)
        elif ending == ".csv":
            write(path, ["url,text", *(f'{row["url"]},"{row["text"]}"' for row in some)])
        else:
            folder.mkdir(exist_ok=True)
            pq.write_table(pa.Table.from_pylist(some), path)
    return pages


def rows_of(folder: Path, ending: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted(folder.iterdir()):
        if ending == ".parquet":
            found += pq.read_table(path).to_pylist()
        elif ending == ".csv":
            found += csv.DictReader(io.StringIO(path.read_text(), newline=""))
        else:
            found += [json.loads(line) for line in path.read_text().splitlines()]
    return found


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_lines_that_many_pages_have_are_cut_or_marked_and_pages_made_of_them_dropped(
    tmp_path: Path, ending: str
) -> None:
    pages = write_pages(tmp_path / "in", ending)
    found = fpdb.dedup_files(tmp_path / "in", tmp_path / "cut", lines="cut")
    expected = fpdb.dedup_lines(pages, rows=[True] * 6 + [False])
    texts = [expected.cut(row, page) for row, page in enumerate(pages)]
    # The last but one had nothing else, and the last is a copy.
    assert found.keep.tolist() == [True] * 5 + [False] * 2 and "rows with passages: 5" in str(found)
    assert [row["text"] for row in rows_of(tmp_path / "cut", ending)] == texts[:5]
    assert texts[0] == pages[0] and texts[1] == text(1) and texts[4] == "to the top\nunder it all now\n"
    found = fpdb.dedup_files(tmp_path / "in", tmp_path / "drop", lines="drop", min_left=0.3)
    assert found.keep.tolist() == [True] * 5 + [False] * 2
    fpdb.dedup_files(tmp_path / "in", tmp_path / "mark", lines="mark", id_column="url")
    marked = [row["fpdb_lines"] for row in rows_of(tmp_path / "mark", ending)]
    marked = [json.loads(it) if isinstance(it, str) else it for it in marked]
    assert marked[:2] == [[], [{"begin": 0, "end": len(MENU) + 1, "source": 0, "source_id": "u0"}]]
    assert len(fpdb.dedup_files(tmp_path / "in", tmp_path / "most", lines="cut", most=6).passages or []) == 0
    wrong: list[dict[str, Any]] = [{"lines": "no"}, {"lines": "cut", "passages": "cut"}, {"lines": "cut", "column": ["text", "url"]}]
    for options in wrong:
        with pytest.raises(INVALID, match="lines"):
            fpdb.dedup_files(tmp_path / "in", tmp_path / "out", **options)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_rows_name_the_rows_that_they_are_like(tmp_path: Path, ending: str) -> None:
    write_pages(tmp_path / "in", ending)
    found = fpdb.dedup_files(tmp_path / "in", tmp_path / "all", id_column="url", annotate=True)
    ids = [row["fpdb_duplicate_id"] or None for row in rows_of(tmp_path / "all", ending)]
    assert ids == [None] * 6 + ["u0"]
    (example,) = found.examples()
    assert (example.row, example.id, example.of, example.of_id) == (6, "u6", 0, "u0")
    assert "row 6 (u6)</bdi> is like <bdi>row 0 (u0)" in found._repr_html_()
    # Ids of an earlier call do not stay beside the rows of a later one.
    fpdb.dedup_files(tmp_path / "all", tmp_path / "again", annotate=True)
    again = rows_of(tmp_path / "again", ending)
    assert [row.get("fpdb_duplicate_id") or None for row in again] == [None] * 7
    assert [row["fpdb_duplicate_of"] or None for row in again][:6] == [None] * 6


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_without_a_target_nothing_is_written(tmp_path: Path, ending: str) -> None:
    pages = write_pages(tmp_path / "in", ending)
    before = state_of(tmp_path)
    for options in ({}, {"passages": "cut", "min_words": 20}, {"lines": "cut"}, {"annotate": True}):
        dry = fpdb.dedup_files(tmp_path / "in", None, **options)  # type: ignore[arg-type]
        assert state_of(tmp_path) == before
        found = fpdb.dedup_files(tmp_path / "in", tmp_path / "out/", **options)  # type: ignore[arg-type]
        assert str(dry) == str(found) and dry.keep.tolist() == found.keep.tolist()
        (example,) = dry.examples()
        assert example.text and example.text.strip(".") in pages[6]
        for path in (tmp_path / "out").iterdir():
            path.unlink()
        (tmp_path / "out").rmdir()
    with pytest.raises(INVALID, match="against: the database changes"):
        fpdb.dedup_files(tmp_path / "in", None, against=tmp_path / "db", id_column="url", run="1")
    assert state_of(tmp_path) == before


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_kept_features_or_the_files_of_earlier_runs_tell_what_sketches_do_not(tmp_path: Path, ending: str) -> None:
    rng = random.Random(1)

    def words(number: int) -> str:
        return " ".join(f"w{rng.randrange(50_000)}" for _ in range(number))

    def store(folder: Path, texts: list[str]) -> None:
        rows = [{"url": n, "doc": it} for n, it in enumerate(texts)]
        if ending == ".parquet":
            folder.mkdir()
            pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
        else:
            write(folder / f"a{ending}", rows if ending == ".jsonl" else ["url,doc", *(f"{n},{it}" for n, it in enumerate(texts))])

    # J is .79 of any two.
    template = words(300)
    texts = [f"{template} {words(39)}" for _ in range(120)]
    store(tmp_path / "a", texts[:60])
    store(tmp_path / "b", texts[60:])
    for against in ("blind", "sure", "features"):
        options: dict[str, Any] = {"column": "doc", "id_column": "url", "against": tmp_path / against}
        assert fpdb.dedup_files(tmp_path / "a", tmp_path / f"kept-{against}", run="a", **options).keep.all()
        if against == "sure":
            options["text_of"] = {"a": tmp_path / "kept-sure"}
        if against != "features":
            shutil.rmtree(tmp_path / f"{against}-features")
        found = fpdb.dedup_files(tmp_path / "b", tmp_path / f"more-{against}", run="b", **options)
        assert found.keep.all() == (against != "blind") and (found.unsure > 0) == (against == "blind")
        assert found.files is not None and found.files.earlier_texts == (60 if against == "sure" else None)
        assert ("texts of earlier runs: 60" in str(found)) == (against == "sure")
    with pytest.raises(TypeError, match="text_of: expected a function, not dict"):
        fpdb.dedup(texts, range(120), against=tmp_path / "sure", run="c", text_of={"a": "kept"})  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_rows_of_files_that_stand_in_another_one_are_dropped(tmp_path: Path, ending: str) -> None:
    pages = write_pages(tmp_path / "in", ending)
    found = fpdb.dedup_files(tmp_path / "in", tmp_path / "out", contained=1.0)
    assert found.keep.tolist() == fpdb.dedup_contained(pages).keep.tolist() and found.dropped == 1
    assert len(rows_of(tmp_path / "out", ending)) == len(pages) - 1
    scores: dict[str, Any] = {"keep": "url", "annotate": True, "id_column": "url"}
    with pytest.raises(TypeError, match="keep: scores"):
        fpdb.dedup_files(tmp_path / "in", tmp_path / "out", contained=1.0, **scores)
    with pytest.raises(INVALID, match="similarity: not together with contained"):
        fpdb.dedup_files(tmp_path / "in", tmp_path / "out", contained=1.0, similarity=0.9)


def test_the_report_says_what_each_folder_lost(tmp_path: Path) -> None:
    for folder, seeds in (("a", (1, 2, 1)), ("b", (3,)), ("c/d", (1, 2, 4))):
        write(tmp_path / "in" / folder / "0.jsonl", [{"text": text(seed)} for seed in seeds])
    found = fpdb.dedup_files(tmp_path / "in", tmp_path / "out")
    base = tmp_path / "in"
    assert found.files is not None
    assert found.files.folders == {f"{base}/a": (3, 1), f"{base}/b": (1, 0), f"{base}/c/d": (3, 2)}
    assert f"dropped of {base}/c/d: 2 of 3\ndropped of {base}/a: 1 of 3\n" in str(found)
    # At another threshold, nobody knows of which folder the rows are.
    assert "dropped of" not in str(found.at(0.9)) and "files read: 3\n" in str(found.at(0.9))
    # What is cut to nothing counts, too.
    write(tmp_path / "in" / "b" / "0.jsonl", [{"text": text(1, 30)}])
    for option in ("drop", "cut"):
        found = fpdb.dedup_files(tmp_path / "in", tmp_path / "out", passages=option, min_words=20)  # type: ignore[arg-type]
        assert found.files is not None and found.files.folders[f"{base}/b"] == (1, 1)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_rows_of_files_are_compared_only_within_their_group(tmp_path: Path, ending: str) -> None:
    pages = [(text(1), "en"), (text(1), "fr"), (text(1), "en"), (text(2), "fr"), (text(1), "fr")]
    if ending == ".parquet":
        pq.write_table(pa.table({"text": [it for it, _ in pages], "lang": [it for _, it in pages]}), tmp_path / "a.parquet")
    elif ending == ".csv":
        write(tmp_path / "a.csv", ["text,lang", *(",".join(page) for page in pages)])
    else:
        write(tmp_path / "a.jsonl", [{"text": it, "lang": lang} for it, lang in pages])
    found = fpdb.dedup_files(tmp_path / f"a{ending}", tmp_path / f"kept{ending}", within="lang")
    assert found.duplicate_of.tolist() == [-1, -1, 0, -1, 1]
    with pytest.raises(INVALID, match="no.* column 'site'"):
        fpdb.dedup_files(tmp_path / f"a{ending}", None, within="site")
    with pytest.raises(TypeError, match="within: expected the name of a column"):
        fpdb.dedup_files(tmp_path / f"a{ending}", None, within=["en", "fr"])


@pytest.mark.parametrize("scores", [[3, None, 5], [3.5, float("nan"), 5.0], ["2026-01-01", "", "2026-02-01"], [2**60, None, 2**61]])
def test_rows_without_a_score_come_last_and_are_counted(tmp_path: Path, scores: list[Any]) -> None:
    texts = [text(1), text(1), text(1)]
    write(tmp_path / "a.jsonl", [{"text": it, "n": score} for it, score in zip(texts, scores)])
    for found in (
        fpdb.dedup(texts, keep=scores),
        fpdb.dedup_contained(texts, keep=scores),
        fpdb.dedup_files(tmp_path / "a.jsonl", None, keep="n"),
    ):
        assert found.keep.tolist() == [False, False, True] and found.unscored == 1
        assert "without a score, so after all others: 1" in str(found)
    assert fpdb.dedup(texts, keep=[3, 4, 5]).unscored == fpdb.dedup(texts, keep="longest").unscored == 0


def test_what_would_lose_something_is_refused(tmp_path: Path) -> None:
    for part, name in ((1, "dump10"), (2, "dump11")):
        write(tmp_path / name / "a.jsonl", [{"id": part, "text": text(part)}])
    options: dict[str, Any] = {"against": tmp_path / "db", "id_column": "id"}
    fpdb.dedup_files(tmp_path / "dump10", tmp_path / "kept", run="10", **options)
    with pytest.raises(INVALID, match="target: .*a.jsonl is one of the sources"):
        fpdb.dedup_files(tmp_path / "dump11", tmp_path / "kept", run="11", text_of={"10": tmp_path / "kept"}, **options)
    write(tmp_path / "a.csv", ["id,text", f"1,{text(1)}"])
    write(tmp_path / "b.tsv", ["id\ttext", f"2\t{text(2)}"])
    for sources, target in ((["a.csv", "b.tsv"], "mix.csv"), (["a.csv"], "kept.tsv")):
        with pytest.raises(INVALID, match="commas and tabs are not mixed"):
            fpdb.dedup_files([tmp_path / it for it in sources], tmp_path / target)
    write(tmp_path / "twice.csv", ["text,text", f"{text(1)},{text(2)}"])
    with pytest.raises(INVALID, match="twice.csv: several columns have the name text"):
        fpdb.dedup_files(tmp_path / "twice.csv", tmp_path / "out")
    write(tmp_path / "deep.jsonl", [{"text": text(1)}, "[" * 100_000])
    with pytest.raises(INVALID, match="deep.jsonl, line 2"):
        fpdb.dedup_files(tmp_path / "deep.jsonl", tmp_path / "out")
    assert len(fpdb.dedup_files(tmp_path / "deep.jsonl", tmp_path / "out", bad_lines="skip")) == 1


def test_a_text_that_only_a_dropped_row_has_drops_no_other(tmp_path: Path) -> None:
    first, second, third = text(1, 60), text(2, 55), text(3, 10)
    write(tmp_path / "in.jsonl", [{"text": it} for it in (first, f"{first} {second}", f"{second} {third}")])
    found = fpdb.dedup_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", passages="drop", min_left=0.6)
    assert found.keep.tolist() == [True, False, True]


def test_files_with_a_mark_of_their_byte_order_become_one(tmp_path: Path) -> None:
    for part in range(2):
        (tmp_path / f"{part}.jsonl").write_text("\ufeff" + json.dumps({"text": text(part)}) + "\n")
    fpdb.dedup_files(f"{tmp_path}/?.jsonl", tmp_path / "one.jsonl")
    assert (tmp_path / "one.jsonl").read_text().count("\ufeff") == 1


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_passages_of_earlier_runs_count_but_for_documents_that_give_way(tmp_path: Path, ending: str) -> None:
    def store(name: str, rows: dict[str, str]) -> None:
        (tmp_path / name).mkdir()
        table = [{"url": url, "doc": it} for url, it in rows.items()]
        if ending == ".parquet":
            pq.write_table(pa.Table.from_pylist(table), tmp_path / name / "a.parquet")
        else:
            lines = table if ending == ".jsonl" else ["url,doc", *(f"{url},{it}" for url, it in rows.items())]
            write(tmp_path / name / f"a{ending}", lines)

    quotes = [f"{text(seed, 60)}." for seed in range(3)]
    store("10", {"x": f"{text(10)}. {quotes[0]}", "y": f"{quotes[1]} {text(11, 70)}"})
    # Page y has changed, and keeps its quote; row b has one of x, and one of this run.
    new = {"a": f"{quotes[2]} {text(20)}.", "b": f"{quotes[0]} {text(21)}. {quotes[2]}", "y": f"{quotes[1]} {text(22, 70)}."}
    store("11", new)
    options: dict[str, Any] = {"column": "doc", "id_column": "url", "against": tmp_path / "db"}
    fpdb.dedup_files(tmp_path / "10", tmp_path / "kept-10", run="10", **options)
    options |= {"run": "11", "text_of": {"10": tmp_path / "kept-10"}}
    marked = fpdb.dedup_files(tmp_path / "11", tmp_path / "marked", passages="mark", **options)
    assert marked.keep.all() and marked.passages is not None and marked.passages.earlier == 2
    spans = [marked.passages.spans(row) for row in range(3)]
    places = [[(new[url][it.begin : it.end], it.source) for it in some] for url, some in zip(new, spans)]
    assert places == [[], [(quotes[0][:-1], 0), (quotes[2][:-1], 2)], [(quotes[1][:-1], 1)]]

    written = tmp_path / "marked" / f"a{ending}"
    if ending == ".parquet":
        column = pq.read_table(written)["fpdb_passages"].to_pylist()
    elif ending == ".jsonl":
        column = [json.loads(line)["fpdb_passages"] for line in written.read_text().splitlines()]
    else:
        column = [json.loads(row["fpdb_passages"]) for row in csv.DictReader(written.open())]
    sources = [[(it["source"], it["source_id"]) for it in some] for some in column]
    assert sources == [[], [(None, "10/x"), (0, "a")], [(None, "10/y")]]

    cut = fpdb.dedup_files(tmp_path / "11", tmp_path / "cut", passages="cut", replaces=["10"], **options)
    assert cut.replaced == {2: ["10/y"]} and cut.passages is not None
    assert [len(cut.passages.spans(row)) for row in range(3)] == [0, 2, 0], "the new version of y has its quote"
