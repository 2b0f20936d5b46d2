"""Web pages and archives."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import fpdb_engine as fpdb
import pytest

PAGES = {
    "http://a.example/": "<nav><a href='/'>Home</a></nav><main><p>All about cats.</main>",
    "http://b.example/": "<main><p>中文</main>",
}


def record(kind: str, url: str, content_type: str, block: bytes) -> bytes:
    header = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nX-Mine: yes\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return header.encode() + block + b"\r\n\r\n"


def archive() -> list[bytes]:
    records = [record("warcinfo", "", "application/warc-fields", b"software: test\r\n")]
    for url, html in PAGES.items():
        response = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
        http = "application/http; msgtype=response"
        records.append(record("response", url, http, response + html.encode()))
    gone = b"HTTP/1.1 404 Not Found\r\n\r\n"
    records.append(record("response", "http://c.example/", "application/http", gone))
    return records


@pytest.fixture(params=["plain", "gzip"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "crawl.warc"
    parts = [gzip.compress(r) for r in archive()] if request.param == "gzip" else archive()
    path.write_bytes(b"".join(parts))
    return path


def test_pages_of_an_archive_are_read(path: Path) -> None:
    with fpdb.WarcPages(path) as pages:
        found = [(page.url, page.text, page.charset, page.extraction) for page in pages]
        assert found == [
            ("http://a.example/", "All about cats.", "UTF-8", "main/1"),
            ("http://b.example/", "中文", "UTF-8", "main/1"),
        ]
        assert pages.skipped == {"warcinfo": 1, "status_404": 1} and pages.errors == []
    with pytest.raises(fpdb.ClosedError):
        next(pages)
    with fpdb.WarcPages(str(path), extraction="strip") as pages:
        assert next(pages).text == "Home\nAll about cats."


def test_records_of_an_archive_are_read(path: Path) -> None:
    with fpdb.WarcRecords(path) as records:
        found = list(records)
    assert [r.kind for r in found] == ["warcinfo", "response", "response", "response"]
    assert found[0].offset == 0 < found[1].offset < found[2].offset
    first = found[1]
    assert first.header("x-mine") == "yes" and first.header("none") is None
    assert first.block.startswith(b"HTTP/1.1 200 OK") and not first.is_truncated
    page = first.page()
    assert page is not None and (page.text, page.offset) == ("All about cats.", first.offset)
    assert found[0].page() is None and found[3].page() is None


def test_archives_are_read_from_file_objects(path: Path) -> None:
    with path.open("rb") as file, fpdb.WarcPages(file) as pages:
        assert len(list(pages)) == 2
    with fpdb.WarcPages(io.BytesIO(path.read_bytes())) as pages:
        assert len(list(pages)) == 2

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise RuntimeError("the connection is gone")

    with pytest.raises(fpdb.IoError):
        fpdb.WarcPages(Broken())
    with pytest.raises(TypeError):
        fpdb.WarcPages(7)


def test_damage_is_noted_and_passed_over(tmp_path: Path) -> None:
    records = archive()
    records[1] = records[1].replace(b"HTTP/1.1 200 OK", b"HTTX/1.1 200 OK")
    path = tmp_path / "damaged.warc"
    path.write_bytes(b"".join(records))
    with fpdb.WarcPages(path) as pages:
        assert [page.url for page in pages] == ["http://b.example/"]
        assert len(pages.errors) == 1 and "http://a.example/" in pages.errors[0]


def test_html_is_extracted() -> None:
    html = PAGES["http://a.example/"]
    assert fpdb.extract_html(html) == fpdb.extract_html(html.encode()) == "All about cats."
    assert fpdb.extract_html(html, extraction="strip/1") == "Home\nAll about cats."
    gbk = "<p>中文".encode("gbk")
    assert fpdb.extract_html(gbk, content_type="text/html; charset=gbk") == "中文"
    assert fpdb.extract_html(b"<meta charset=big5><p>\xa4\xa4\xa4\xe5") == "中文"
    with pytest.raises(fpdb.InvalidArgumentError, match="no page: media_type"):
        fpdb.extract_html(b"%PDF", content_type="application/pdf")
    with pytest.raises(fpdb.InvalidArgumentError, match="best"):
        fpdb.extract_html(html, extraction="best")
    with pytest.raises(TypeError, match="bytes or str, not int"):
        fpdb.extract_html(7)
    with pytest.raises(UnicodeEncodeError):
        fpdb.extract_html("\ud800")


def test_iterators_say_what_they_read(tmp_path: Path) -> None:
    (tmp_path / "empty.warc").write_bytes(b"")
    with fpdb.WarcRecords(tmp_path / "empty.warc") as records:
        assert repr(records) == f"<fpdb_engine.WarcRecords {tmp_path}/empty.warc>"
