"""Near-duplicates of earlier documents, in one process."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from datatrove.data import Document, DocumentsPipeline
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.writers.disk_base import DiskWriter
from datatrove.utils.logging import logger

from .. import Db, InvalidArgumentError, NotFoundError, OutcomeKind, fingerprint_batch
from ._common import SIMILARITY, check, text_of


class NearDuplicateFilter(BaseFilter):
    """Removes each document that is a near-duplicate of an earlier one, in one process.

    The folder of the database is created if there is none. A document is known by its id. If it is in
    the database already, from an earlier run, then it is not a duplicate of itself, and its fingerprint
    is updated; so an interrupted run can be repeated. But documents of two data sets must not have the
    same ids, as those have that datatrove makes of file names: the second one would replace the first,
    whose duplicates would pass from then on. So give each data set a namespace of its own. The statistics
    count the documents that were replaced by others as `replaced`, and a warning is logged.

    Dropped documents have the id of the earlier document in their metadata, as duplicate_of, and the
    distance of the fingerprints, as duplicate_distance. Documents with too little text for a fingerprint
    pass.

    Args:
        path: folder of the database
        recipe: how fingerprints are made of texts: a name of fpdb_engine.recipes()
        similarity: Jaccard similarity from which on documents are near-duplicates, from 0.5 to 1;
            by default that of the database, or 0.8 for a new one
        recall: share of the pairs of exactly this similarity that is found
        max_distance: instead of a similarity, bits that near-duplicates may differ in, from 0 to 12
        namespace: is put before each id
        exclusion_writer: optionally saves the dropped documents
        batch_size: documents that are fingerprinted and written together
    """

    name = "🔎 fpdb near-duplicates"

    def __init__(
        self,
        path: str | os.PathLike[str],
        recipe: str = "default",
        *,
        similarity: float | None = None,
        recall: float | None = None,
        max_distance: int | None = None,
        namespace: str = "",
        exclusion_writer: DiskWriter | None = None,
        batch_size: int = 1000,
    ) -> None:
        super().__init__(exclusion_writer, batch_size)
        check(recipe, 0 if max_distance is None else max_distance)
        self.path = os.fspath(path)
        self.recipe = recipe
        self.similarity = similarity
        self.recall = recall
        self.max_distance = max_distance
        self.namespace = namespace
        self._replaced = 0
        # Opened by run(), because steps are pickled.
        self._db: Db | None = None

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        """Returns whether to keep a document."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        """Returns which documents to keep."""
        if self._db is None:
            raise RuntimeError("NearDuplicateFilter filters only while run() has the database open")
        values, has_one = fingerprint_batch(
            [text_of(doc) for doc in batch], self.recipe, bits=self._db.bits
        )
        results: list[bool | tuple[bool, str]] = [True] * len(batch)
        rows = np.flatnonzero(has_one)
        self.stat_update("too_short", value=len(batch) - len(rows))
        if not len(rows):
            return results
        novel, ids, distances, kinds = self._db.write(
            values[rows],
            names=[f"{self.namespace}{batch[row].id}" for row in rows.tolist()],
            unless_near="rule",
            or_update="keep",
        )
        replaced = int(np.count_nonzero(kinds == OutcomeKind.UPDATED))
        self.stat_update("replaced", value=replaced)
        self._replaced += replaced
        duplicates = rows[~novel].tolist(), self._db.names(ids[~novel]), distances[~novel].tolist()
        for row, earlier, distance in zip(*duplicates, strict=True):
            batch[row].metadata["duplicate_of"] = earlier
            batch[row].metadata["duplicate_distance"] = distance
            results[row] = (False, "near_duplicate")
        return results

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Yields the documents that are kept."""
        if world_size != 1:
            raise InvalidArgumentError(
                f"NearDuplicateFilter works in one task, not in {world_size}: for many, use "
                "Fingerprints, Clusters and datatrove's MinhashDedupFilter"
            )
        with self._open() as self._db:
            try:
                yield from super().run(data, rank, world_size)
            finally:
                self._db = None
                if self._replaced:
                    logger.warning(
                        f"{self._replaced} documents replaced others with the same ids in {self.path}: "
                        "give each data set a namespace, unless it was visited again"
                    )

    def _open(self) -> Db:
        options: dict[str, Any] = {
            "similarity": self.similarity,
            "recall": self.recall,
            "max_distance": self.max_distance,
        }
        if self.similarity is None and self.max_distance is None:
            # What an existing database has been created for remains.
            try:
                return Db.open(self.path, ids="names", recipe=self.recipe)
            except NotFoundError:
                options["similarity"] = SIMILARITY
        return Db.open_or_create(self.path, ids="names", recipe=self.recipe, **options)
