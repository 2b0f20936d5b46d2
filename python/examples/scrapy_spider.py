"""Crawls a small site, and drops the page that is a near-duplicate of an earlier one.

    pip install Scrapy
    python scrapy_spider.py
"""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess

PAGES = {
    "/1": "Insert the disc, close the tray, and wait for the green light.",
    "/2": "Insert the disc; close the tray and wait for the green light!",
    "/3": "Remove the battery cover and take out the old battery.",
}


class Site(http.server.BaseHTTPRequestHandler):
    """A site on the loopback interface, so that the example needs no network."""

    def do_GET(self) -> None:
        body = f"<html><body><p>{PAGES.get(self.path, '')}</p></body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Pages(scrapy.Spider):
    name = "pages"
    custom_settings = {
        "ITEM_PIPELINES": {"fpdb_engine.scrapy.NearDuplicatePipeline": 300},
        "FPDB_PATH": "scrapy.fpdb",
        "FPDB_MAX_DISTANCE": 3,
        "FPDB_FIELD": "text",
        "FPDB_ID_FIELD": "url",
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
    }

    def parse(self, response: Any) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "text": " ".join(response.css("p::text").getall())}


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    process = CrawlerProcess()
    crawler = process.create_crawler(Pages)
    address = f"http://127.0.0.1:{server.server_address[1]}"
    process.crawl(crawler, start_urls=[address + path for path in PAGES])
    process.start()
    server.shutdown()

assert crawler.stats is not None
for name in ("fpdb/inserted", "fpdb/duplicate", "item_scraped_count"):
    print(name, crawler.stats.get_value(name))
