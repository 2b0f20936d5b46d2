"""An item pipeline for Scrapy that drops or tags items whose text is a near-duplicate.

In settings.py:

    ITEM_PIPELINES = {"fpdb_engine.scrapy.NearDuplicatePipeline": 300}
    FPDB_PATH = "crawl.fpdb"

The database remembers the items of earlier runs. An item is compared with all others, but not with
its own earlier version: a page that is crawled again passes, and its new fingerprint replaces the old
one.

| Setting | Default | Meaning |
| --- | --- | --- |
| FPDB_PATH | none | Folder of the database. It is created if there is none. Without this setting, the pipeline is disabled. |
| FPDB_FIELD | "text" | Field with the text to compare. |
| FPDB_ID_FIELD | "url" | Field that identifies the item, such as its URL. |
| FPDB_ACTION | "drop" | What becomes of a near-duplicate: "drop" raises DropItem, "tag" fills FPDB_TAG_FIELD. |
| FPDB_TAG_FIELD | "duplicate_of" | Field for the id of the earlier item. |
| FPDB_MAX_DISTANCE | that of the database, 3 for a new one | Bits that near-duplicates may differ in, at most 12. |
| FPDB_RECIPE | that of the database, "default" for a new one | Recipe that turns text into fingerprints. |
| FPDB_DURABILITY | "sync" | "sync" survives a loss of power, "buffered" a crash of the process. |

Statistics: `fpdb/inserted`, `fpdb/unchanged`, `fpdb/updated`, `fpdb/duplicate`,
`fpdb/duplicate/distance/N`; `fpdb/too_short` for texts with too few words for a fingerprint,
`fpdb/no_text` and `fpdb/no_id` for items without the fields. These three kinds pass.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.settings import BaseSettings

from . import Db, InvalidArgumentError, Outcome, fingerprint, recipes

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NearDuplicatePipeline"]

T = TypeVar("T")
logger = logging.getLogger(__name__)


class NearDuplicatePipeline:
    """Drops or tags items whose text is a near-duplicate of an earlier item's.

    Only one spider at a time can use a database.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings: BaseSettings = crawler.settings
        path = settings.get("FPDB_PATH")
        if not path:
            raise NotConfigured("FPDB_PATH is not set")
        if crawler.stats is None:
            raise NotConfigured("the crawler has no statistics")
        self.path: str = os.fspath(path)
        self.field = _field(settings, "FPDB_FIELD", "text")
        self.id_field = _field(settings, "FPDB_ID_FIELD", "url")
        self.tag_field = _field(settings, "FPDB_TAG_FIELD", "duplicate_of")
        self.action: str = settings.get("FPDB_ACTION", "drop")
        if self.action not in ("drop", "tag"):
            raise ValueError(f"FPDB_ACTION = {self.action!r}: expected 'drop' or 'tag'")
        self.durability: str = settings.get("FPDB_DURABILITY", "sync")
        if self.durability not in ("sync", "buffered"):
            raise ValueError(
                f"FPDB_DURABILITY = {self.durability!r}: expected 'sync' or 'buffered'"
            )
        self.max_distance = _integer(settings, "FPDB_MAX_DISTANCE")
        if self.max_distance is not None and not 0 <= self.max_distance <= 12:
            raise ValueError(f"FPDB_MAX_DISTANCE = {self.max_distance}: expected 0 to 12")
        self.recipe: str | None = settings.get("FPDB_RECIPE")
        self.stats = crawler.stats
        self._db: Db | None = None
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Returns the pipeline for a crawler, with its settings."""
        return cls(crawler)

    def open_spider(self) -> None:
        """Opens the database, or creates it."""
        recipe = self.recipe
        if recipe is None and not os.path.exists(self.path):
            recipe = "default"
        db = Db.open_or_create(
            self.path,
            ids="names",
            max_distance=self.max_distance,
            recipe=recipe,
            durability="buffered" if self.durability == "buffered" else "sync",
        )
        name, bits = db.recipe, db.bits
        if bits != 64 or name is None or name not in recipes():
            db.close()
            raise InvalidArgumentError(
                f"{self.path}: expected a database of 64 bits with one of the built-in recipes, not "
                f"of {bits} bits with the recipe {name}"
            )
        self._recipe: str = name
        self._db = db

    def close_spider(self) -> None:
        """Closes the database."""
        if self._db is not None:
            self._db.close()
            self._db = None

    async def process_item(self, item: Any) -> Any:
        """Returns the item, or raises DropItem for a near-duplicate."""
        adapter = ItemAdapter(item)
        text, key = adapter.get(self.field), adapter.get(self.id_field)
        if not isinstance(text, str):
            return self._pass_without(item, "no_text", self.field, text)
        if not isinstance(key, str) or not key:
            return self._pass_without(item, "no_id", self.id_field, key)
        outcome = await _in_thread(lambda: self._upsert(text, key))
        if outcome is None:
            self.stats.inc_value("fpdb/too_short")
            return item
        self.stats.inc_value(f"fpdb/{outcome[0].kind}")
        if outcome[0]:
            return item
        distance = outcome[0].distance
        self.stats.inc_value(f"fpdb/duplicate/distance/{distance}")
        if self.action == "drop":
            raise DropItem(f"near-duplicate of {outcome[1]}, {distance} bits apart: {key}")
        try:
            adapter[self.tag_field] = outcome[1]
        except KeyError as error:
            raise KeyError(
                f"{type(item).__name__} has no field {self.tag_field!r}, which FPDB_ACTION = 'tag' "
                "fills; add it, or set FPDB_TAG_FIELD to another one"
            ) from error
        return item

    def _upsert(self, text: str, key: str) -> tuple[Outcome, str | None] | None:
        """Returns what became of the item and the id of the one that it is a duplicate of, or None if
        the text is too short."""
        db = self._db
        assert db is not None, "open_spider() comes first"
        # Text may have lone surrogates, which UTF-8 cannot encode.
        text = text.encode("utf-8", "replace").decode("utf-8")
        value = fingerprint(text, self._recipe)
        if value is None:
            return None
        outcome = db.upsert_if_novel(value, key)
        return outcome, None if outcome else db.name(outcome.id)

    def _pass_without(self, item: Any, kind: str, field: str, value: Any) -> Any:
        self.stats.inc_value(f"fpdb/{kind}")
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(
                "%s passes unchecked, because its field %r is %s and not a string; more such items "
                "are counted in fpdb/%s",
                type(item).__name__,
                field,
                "missing" if value is None else f"of type {type(value).__name__}",
                kind,
            )
        return item


def _field(settings: BaseSettings, name: str, default: str) -> str:
    value = settings.get(name, default)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} = {value!r}: expected the name of a field")
    return value


def _integer(settings: BaseSettings, name: str) -> int | None:
    value = settings.get(name)
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {value!r}: expected an integer") from None


async def _in_thread(call: Callable[[], T]) -> T:
    """Runs a call in a thread, with any reactor, or without one."""
    try:
        from scrapy.utils.asyncio import run_in_thread
    except ImportError:
        # Scrapy before it had run_in_thread().
        from scrapy.utils.defer import maybe_deferred_to_future
        from twisted.internet.threads import deferToThread

        return await maybe_deferred_to_future(deferToThread(call))
    return await run_in_thread(call)
