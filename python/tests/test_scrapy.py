"""Runs the pipeline in real spiders, which crawl a site on the loopback interface."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fpdb_engine as fpdb
import pytest

pytest.importorskip("scrapy", reason="Scrapy is not installed")

from fpdb_engine.scrapy import NearDuplicatePipeline  # noqa: E402
from scrapy.exceptions import NotConfigured  # noqa: E402
from scrapy.utils.test import get_crawler  # noqa: E402

DISC = "Insert the disc, close the tray, and wait for the green light before you press play."
PAGES = {
    "a": DISC,
    "b": DISC.replace(",", ";").upper(),
    "c": "Remove the battery cover, take out the old battery and insert the new one with care.",
    "d": "short",
}

SPIDER = """
import json, sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Item(scrapy.Item):
    url = scrapy.Field()
    text = scrapy.Field()
    duplicate_of = scrapy.Field()

class PageSpider(scrapy.Spider):
    name = "pages"
    settings, urls, out = json.loads(sys.argv[1])
    start_urls = urls

    def parse(self, response):
        name = response.url.rsplit("/", 1)[1]
        yield Item(url=name, text=response.css("p::text").get())

    def closed(self, reason):
        stats = self.crawler.stats.get_stats()
        with open(self.out, "w") as file:
            json.dump({k: v for k, v in stats.items() if isinstance(v, (int, str))}, file)

process = CrawlerProcess(PageSpider.settings | {
    "ITEM_PIPELINES": {"fpdb_engine.scrapy.NearDuplicatePipeline": 300},
    "TELNETCONSOLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "INFO",
})
process.crawl(PageSpider)
process.start()
"""


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[str, dict[str, str]]]:
    """Returns the address of a site, and its pages, which can be changed."""
    pages = dict(PAGES)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<html><body><p>{pages.get(self.path[1:], '')}</p></body></html>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", pages
        server.shutdown()


def crawl(
    address: str, names: str, folder: Path, **settings: Any
) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """Crawls pages one after the other; returns the statistics, the items that passed, and the log."""
    items, stats = folder / "items.jsonl", folder / "stats.json"
    items.unlink(missing_ok=True)
    settings |= {"FEEDS": {str(items): {"format": "jsonlines"}}}
    arguments = json.dumps([settings, [f"{address}/{name}" for name in names], str(stats)])
    ran = subprocess.run(
        [sys.executable, "-c", SPIDER, arguments], capture_output=True, text=True, timeout=60
    )
    assert stats.exists(), ran.stderr
    passed = items.read_text().splitlines() if items.exists() else []
    return json.loads(stats.read_text()), [json.loads(line) for line in passed], ran.stderr


def test_near_duplicates_are_dropped_also_after_a_restart(
    site: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    address, pages = site
    path = str(tmp_path / "crawl.fpdb")
    stats, items, log = crawl(address, "abd", tmp_path, FPDB_PATH=path)
    assert sorted(item["url"] for item in items) in (["a", "d"], ["b", "d"])
    assert stats["fpdb/inserted"] == stats["fpdb/duplicate"] == stats["fpdb/too_short"] == 1
    assert stats["fpdb/duplicate/distance/0"] == 1
    assert stats["item_dropped_count"] == 1
    assert "near-duplicate of" in log
    kept = next(item["url"] for item in items if item["url"] != "d")
    dropped = "ab".replace(kept, "")
    # After a restart, pages that were crawled before are not duplicates of themselves.
    stats, items, _ = crawl(address, f"{kept}{dropped}c", tmp_path, FPDB_PATH=path)
    assert sorted(item["url"] for item in items) == sorted([kept, "c"])
    assert stats["fpdb/unchanged"] == stats["fpdb/duplicate"] == stats["fpdb/inserted"] == 1
    # A page that has changed is updated, and its old text is free.
    original = pages[kept]
    pages[kept] = "Now this page says something else, about cooking potatoes in a large iron pot."
    try:
        stats, items, _ = crawl(address, kept, tmp_path, FPDB_PATH=path)
        assert stats["fpdb/updated"] == 1
        stats, items, _ = crawl(address, dropped, tmp_path, FPDB_PATH=path)
        assert stats["fpdb/inserted"] == 1
    finally:
        pages[kept] = original
    with fpdb.ReadOnlyDb.open(path) as db:
        assert len(db) == 3


def test_near_duplicates_are_tagged(site: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    settings = {
        "FPDB_PATH": str(tmp_path / "crawl.fpdb"),
        "FPDB_ACTION": "tag",
        "FPDB_MAX_DISTANCE": 6,
        "FPDB_DURABILITY": "buffered",
    }
    _, items, log = crawl(site[0], "ab", tmp_path, **settings)
    by_url = {item["url"]: item.get("duplicate_of") for item in items}
    assert by_url in ({"a": None, "b": "a"}, {"a": "b", "b": None}), log
    # An item class without the field says so.
    settings |= {"FPDB_TAG_FIELD": "other", "FPDB_PATH": str(tmp_path / "other.fpdb")}
    _, _, log = crawl(site[0], "ab", tmp_path, **settings)
    assert "Item has no field 'other'" in log


def test_the_pipeline_works_with_another_reactor(
    site: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    settings = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
    path = str(tmp_path / "crawl.fpdb")
    stats, items, _ = crawl(site[0], "ab", tmp_path, FPDB_PATH=path, **settings)
    assert stats["fpdb/inserted"] == stats["fpdb/duplicate"] == len(items) == 1


def test_items_without_the_fields_pass_and_are_counted(
    site: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    path = str(tmp_path / "crawl.fpdb")
    for setting, count in (("FPDB_FIELD", "no_text"), ("FPDB_ID_FIELD", "no_id")):
        stats, items, log = crawl(
            site[0], "ab", tmp_path, FPDB_PATH=path, **{setting: "absent"}
        )
        assert stats[f"fpdb/{count}"] == len(items) == 2
        assert log.count("'absent' is missing and not a string") == 1


def test_a_locked_database_stops_the_spider_with_a_clear_message(
    site: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "crawl.fpdb"
    with fpdb.Db.create(path, ids="names", recipe="default"):
        arguments = json.dumps([{"FPDB_PATH": str(path)}, [site[0]], str(tmp_path / "stats")])
        ran = subprocess.run(
            [sys.executable, "-c", SPIDER, arguments], capture_output=True, text=True, timeout=60
        )
        assert "LockedError" in ran.stderr


def pipeline(**settings: Any) -> NearDuplicatePipeline:
    return NearDuplicatePipeline.from_crawler(get_crawler(settings_dict=settings))


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("FPDB_ACTION", "delete", "expected 'drop' or 'tag'"),
        ("FPDB_DURABILITY", "none", "expected 'sync' or 'buffered'"),
        ("FPDB_MAX_DISTANCE", 13, "expected 0 to 12"),
        ("FPDB_MAX_DISTANCE", "three", "expected an integer"),
        ("FPDB_FIELD", "", "expected the name of a field"),
    ],
)
def test_wrong_settings_are_refused(
    tmp_path: Path, setting: str, value: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=f"{setting} = .*{message}"):
        pipeline(**{"FPDB_PATH": str(tmp_path / "db"), setting: value})


def test_without_a_path_the_pipeline_is_disabled() -> None:
    with pytest.raises(NotConfigured, match="FPDB_PATH"):
        pipeline()


def test_databases_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    opened = pipeline(FPDB_PATH=tmp_path / "db", FPDB_RECIPE="fives/1")
    opened.open_spider()
    opened.close_spider()
    with pytest.raises(fpdb.Error, match="recipe"):
        pipeline(FPDB_PATH=tmp_path / "db", FPDB_RECIPE="default").open_spider()
    with pytest.raises(fpdb.Error, match="distance"):
        pipeline(FPDB_PATH=tmp_path / "db", FPDB_MAX_DISTANCE=7).open_spider()
    # Without the settings, those of the database are used.
    opened = pipeline(FPDB_PATH=tmp_path / "db")
    opened.open_spider()
    opened.close_spider()
    fpdb.Db.create(tmp_path / "custom", ids="names", custom_recipe="mine").close()
    with pytest.raises(fpdb.InvalidArgumentError, match="mine"):
        pipeline(FPDB_PATH=tmp_path / "custom").open_spider()
    with pytest.raises(fpdb.Error, match="no-such"):
        pipeline(FPDB_PATH=tmp_path / "new", FPDB_RECIPE="no-such").open_spider()
