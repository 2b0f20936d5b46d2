"""Steps for datatrove pipelines that remove near-duplicates.

One process: NearDuplicateFilter compares each document with all earlier ones, and remembers them for
the next run.

    pipeline = [
        JsonlReader("input"),
        NearDuplicateFilter("corpus.fpdb", exclusion_writer=JsonlWriter("duplicates")),
        JsonlWriter("output"),
    ]
    LocalPipelineExecutor(pipeline, tasks=1).run()

Many ranks: Fingerprints writes a file per rank, Clusters reads them all in one process and decides
what to remove, and datatrove's own MinhashDedupFilter removes that. Give the first and the last
pipeline the same reader and the same number of tasks, so that documents have the same positions.

    LocalPipelineExecutor([JsonlReader("input"), Fingerprints("fingerprints")], tasks=8).run()
    LocalPipelineExecutor([Clusters("fingerprints", "remove")], tasks=1).run()
    LocalPipelineExecutor(
        [JsonlReader("input"), MinhashDedupFilter("remove"), JsonlWriter("output")], tasks=8
    ).run()
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from datatrove.data import Document, DocumentsPipeline
from datatrove.io import DataFolderLike, get_datafolder
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.writers.disk_base import DiskWriter
from datatrove.utils.logging import logger
from datatrove.utils.typeshelper import StatHints

from . import Db, InvalidArgumentError, NotFoundError, OutcomeKind, fingerprint, fingerprint_batch

__all__ = ["Clusters", "Fingerprints", "NearDuplicateFilter"]

# The files that Fingerprints writes, and Clusters reads, begin with a line of JSON that says what the
# fingerprints are. A record follows for each: its words, the high one first, and its position.
_RECORDS = {
    64: np.dtype([("fingerprint", "<u8"), ("position", "<u4")]),
    128: np.dtype([("fingerprint", "<u8", (2,)), ("position", "<u4")]),
}
# Fingerprints that Clusters loads at a time, at least. Each load makes a segment.
_PART = 4_000_000
_U64 = npt.NDArray[np.uint64]
# Most bytes of the first line of a file.
_LONGEST_HEADER = 4096
# The similarity of a new database.
_SIMILARITY = 0.8
_FILE_NAME = re.compile(r"(\d{6})-of-(\d{6})\.fingerprints")


class NearDuplicateFilter(BaseFilter):
    """Removes each document that is a near-duplicate of an earlier one, in one process.

    The folder of the database is created if there is none. A document is known by its id. If it is in
    the database already, from an earlier run, then it is not a duplicate of itself, and its fingerprint
    is updated; so an interrupted run can be repeated. But documents of two data sets must not have the
    same ids, as those have that datatrove makes of file names: the second one would replace the first,
    whose duplicates would pass from then on. So give each data set a namespace of its own. The statistics
    count the documents that were replaced by others as `replaced`, and a warning is logged.

    Dropped documents have the id of the earlier document in their metadata, as duplicate_of, and the
    number of bits that differ, as duplicate_distance. Documents with too little text for a fingerprint
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
        _check(recipe, 0 if max_distance is None else max_distance)
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
            [_text(doc) for doc in batch], self.recipe, bits=self._db.bits
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
                options["similarity"] = _SIMILARITY
        return Db.open_or_create(self.path, ids="names", recipe=self.recipe, **options)


class Fingerprints(PipelineStep):
    """Writes the fingerprints of the documents of a rank to a file, for Clusters.

    Documents with too little text have no fingerprint, and are never removed.

    Args:
        output_folder: folder for the files, local or remote
        recipe: how fingerprints are made of texts: a name of fpdb_engine.recipes()
        bits: width of the fingerprints, 128 or 64. A similarity needs 128.
        batch_size: documents that are fingerprinted together
    """

    type = "🫂 - DEDUP"
    name = "🔎 fpdb fingerprints"

    def __init__(
        self,
        output_folder: DataFolderLike,
        recipe: str = "default",
        *,
        bits: Literal[64, 128] = 128,
        batch_size: int = 1000,
    ) -> None:
        super().__init__()
        # Fails if there is no such recipe of this width.
        fingerprint("", recipe, bits=bits)
        if batch_size < 1:
            raise InvalidArgumentError(f"batch_size = {batch_size}: expected at least 1")
        self.output_folder = get_datafolder(output_folder)
        self.recipe = recipe
        self.bits = bits
        self.batch_size = batch_size

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> None:
        """Writes the file of a rank."""
        with self.output_folder.open(_file_name(rank, world_size), "wb") as file:
            header = {"bits": self.bits, "recipe": _full_name(self.recipe, self.bits)}
            file.write(json.dumps(header).encode() + b"\n")
            texts: list[str] = []
            position = 0
            for doc in data or ():
                self.stat_update(StatHints.total)
                texts.append(_text(doc))
                if len(texts) == self.batch_size:
                    file.write(self._records(texts, position))
                    position += len(texts)
                    texts = []
            file.write(self._records(texts, position))

    def _records(self, texts: list[str], position: int) -> bytes:
        with self.track_time("batch"):
            values, has_one = fingerprint_batch(texts, self.recipe, bits=self.bits)
        rows = np.flatnonzero(has_one)
        self.stat_update("too_short", value=len(texts) - len(rows))
        if position + len(texts) > 1 << 32:
            raise InvalidArgumentError("a rank can have at most 2**32 documents: use more ranks")
        records = np.empty(len(rows), _RECORDS[self.bits])
        records["fingerprint"] = values[rows]
        records["position"] = rows + position
        return records.tobytes()


class Clusters(PipelineStep):
    """Decides which documents to remove, and writes that for datatrove's MinhashDedupFilter.

    Reads all files of Fingerprints, in one task. Of each cluster, the first document is kept, in the
    order of ranks and then of positions.

    Args:
        input_folder: folder with the files of Fingerprints
        output_folder: folder for the files that MinhashDedupFilter reads
        similarity: Jaccard similarity from which on documents are near-duplicates, from 0.5 to 1; by
            default 0.8 for fingerprints of 128 bits
        recall: share of the pairs of exactly this similarity that is found
        max_distance: instead of a similarity, bits that near-duplicates may differ in; by default 3 for
            fingerprints of 64 bits
        method: "keep-first" removes a document if one that is kept is a near-duplicate of it.
            "components" also removes a document that only a chain of near-duplicates connects with the
            first, as datatrove's MinhashDedupCluster does.
        save_cluster_id: write files for MinhashDedupFilter(load_cluster_ids=True)
        save_cluster_size: write files for MinhashDedupFilter(load_cluster_sizes=True)
        database: a folder for the database of all fingerprints, whose ids are 2**32 times the rank
            plus the position. It may be that of an earlier run over the same files. Without it, the
            database is in a temporary folder.
        memory: bytes for pairs, 1 GiB by default
    """

    type = "🫂 - DEDUP"
    name = "🔎 fpdb clusters"

    def __init__(
        self,
        input_folder: DataFolderLike,
        output_folder: DataFolderLike,
        *,
        similarity: float | None = None,
        recall: float | None = None,
        max_distance: int | None = None,
        method: Literal["keep-first", "components"] = "keep-first",
        save_cluster_id: bool = False,
        save_cluster_size: bool = False,
        database: str | os.PathLike[str] | None = None,
        memory: int | None = None,
    ) -> None:
        super().__init__()
        if max_distance is not None:
            _check("default", max_distance)
        if method not in ("keep-first", "components"):
            raise InvalidArgumentError(
                f"method = {method!r}: expected 'keep-first' or 'components'"
            )
        self.input_folder = get_datafolder(input_folder)
        self.output_folder = get_datafolder(output_folder)
        self.similarity = similarity
        self.recall = recall
        self.max_distance = max_distance
        self.method: Literal["keep-first", "components"] = method
        self.save_cluster_id = save_cluster_id
        self.save_cluster_size = save_cluster_size
        self.database = None if database is None else os.fspath(database)
        self.memory = memory

    def run(self, data: DocumentsPipeline = None, rank: int = 0, world_size: int = 1) -> None:
        """Writes the files of all ranks."""
        if data is not None or world_size != 1:
            raise InvalidArgumentError("Clusters works without input and in one task")
        files = self._files()
        headers = {name: self._header(number, name) for number, name in files.items()}
        first = next(iter(headers.values()))
        for name, header in headers.items():
            if header != first:
                raise InvalidArgumentError(
                    f"{name} has fingerprints of {header['bits']} bits by the recipe {header['recipe']}, "
                    f"but the first file those of {first['bits']} bits by {first['recipe']}: they cannot "
                    "be compared, so run Fingerprints again"
                )
        with self.track_time(), tempfile.TemporaryDirectory(prefix="fpdb-datatrove-") as folder:
            path = self.database or os.path.join(folder, "clusters.fpdb")
            with Db.open_or_create(path, **self._options(first)) as db:
                total = 0
                for values, ids in self._parts(files, first["bits"]):
                    db.bulk_load(values, ids)
                    total += len(ids)
                    self.stat_update(StatHints.total, value=len(ids))
                if len(db) != total:
                    raise InvalidArgumentError(
                        f"{path} has documents of other files: choose another folder, or remove it"
                    )
                found = db.clusters(method=self.method, memory=self.memory)
        self._write(list(files), found.offsets, found.ids)

    def _options(self, header: dict[str, Any]) -> dict[str, Any]:
        """Returns the options of the database for the fingerprints of these files."""
        similarity, max_distance = self.similarity, self.max_distance
        if similarity is None and max_distance is None:
            if header["bits"] == 128:
                similarity = _SIMILARITY
            else:
                max_distance = 3
        return {
            "bits": header["bits"],
            "custom_recipe": header["recipe"],
            "similarity": similarity,
            "recall": self.recall,
            "max_distance": max_distance,
            "durability": "buffered",
        }

    def _header(self, number: int, name: str) -> dict[str, Any]:
        """Returns what a file says about its fingerprints."""
        with self.input_folder.open(name, "rb") as file:
            line = file.readline(_LONGEST_HEADER)
        try:
            header = json.loads(line)
            if line.endswith(b"\n") and header["bits"] in _RECORDS and header["recipe"]:
                return {"bits": header["bits"], "recipe": str(header["recipe"])}
        except (ValueError, TypeError, KeyError):
            pass
        raise ValueError(f"{name} is truncated: run Fingerprints again for rank {number}")

    def _files(self) -> dict[int, str]:
        """Returns the names of the files by rank."""
        files, worlds = {}, set()
        for name in self.input_folder.list_files():
            match = _FILE_NAME.fullmatch(name)
            if match:
                files[int(match[1])] = name
                worlds.add(int(match[2]))
        folder = self.input_folder.path
        if not files:
            raise FileNotFoundError(f"no files of Fingerprints in {folder}")
        if len(worlds) > 1:
            numbers = " and ".join(map(str, sorted(worlds)))
            raise InvalidArgumentError(
                f"files of Fingerprints with {numbers} tasks in {folder}: remove those of other runs"
            )
        missing = set(range(worlds.pop())) - set(files)
        if missing:
            raise FileNotFoundError(
                f"no file for rank {min(missing)} in {folder}: run Fingerprints again, which repeats "
                "the tasks that failed"
            )
        return dict(sorted(files.items()))

    def _parts(self, files: dict[int, str], bits: int) -> Iterator[tuple[_U64, _U64]]:
        """Returns all fingerprints and ids, in parts of several files if these are small."""
        values: list[_U64] = []
        ids: list[_U64] = []
        for number, name in files.items():
            more_values, more_ids = self._read(number, name, bits)
            values.append(more_values)
            ids.append(more_ids)
            if sum(map(len, ids)) >= _PART:
                yield np.concatenate(values), np.concatenate(ids)
                values, ids = [], []
        if values:
            yield np.concatenate(values), np.concatenate(ids)

    def _read(self, number: int, name: str, bits: int) -> tuple[_U64, _U64]:
        record = _RECORDS[bits]
        with self.input_folder.open(name, "rb") as file:
            file.readline(_LONGEST_HEADER)
            content = file.read()
        if len(content) % record.itemsize:
            raise ValueError(f"{name} is truncated: run Fingerprints again for rank {number}")
        records = np.frombuffer(content, record)
        ids = records["position"].astype(np.uint64) | np.uint64(number << 32)
        return np.ascontiguousarray(records["fingerprint"]), ids

    def _write(
        self, ranks: list[int], offsets: npt.NDArray[np.int64], ids: _U64
    ) -> None:
        sizes = np.diff(offsets)
        order = np.argsort(ids)
        is_first = np.zeros(len(ids), np.bool_)
        is_first[offsets[:-1]] = True
        is_first = is_first[order]
        cluster = np.repeat(np.arange(len(sizes)), sizes)[order]
        size = np.repeat(sizes, sizes)[order]
        ids = ids[order]
        position = ids & np.uint64(0xFFFFFFFF)
        self.stat_update("clusters", value=len(sizes))
        self.stat_update("duplicates", value=len(ids))
        self.stat_update("to_remove", value=len(ids) - len(sizes))
        limits = np.searchsorted(ids, np.array([*ranks, ranks[-1] + 1], np.uint64) << np.uint64(32))
        # A rank without duplicates has empty files: without any, datatrove would warn.
        for rank, begin, end in zip(ranks, limits, limits[1:], strict=False):
            part = slice(begin, end)
            removed = position[part][~is_first[part]]
            self._write_file(f"{rank:06d}.remove", removed)
            if self.save_cluster_id:
                self._write_file(f"{rank:06d}.clusters", position[part], cluster[part])
            if self.save_cluster_size:
                self._write_file(f"{rank:06d}.sizes", position[part], size[part])

    def _write_file(self, name: str, *columns: npt.NDArray[np.generic]) -> None:
        with self.output_folder.open(name, "wb") as file:
            file.write(np.stack(columns, 1).astype("<u4").tobytes())


def _file_name(rank: int, world_size: int) -> str:
    return f"{rank:06d}-of-{world_size:06d}.fingerprints"


def _full_name(recipe: str, bits: Literal[64, 128]) -> str:
    """Returns the name that a recipe is stored under, which an alias stands for."""
    with tempfile.TemporaryDirectory(prefix="fpdb-datatrove-") as folder:
        with Db.create(os.path.join(folder, "db"), bits=bits, recipe=recipe) as db:
            return db.recipe or recipe


def _check(recipe: str, max_distance: int) -> None:
    # Fails if there is no such recipe. An alias such as "default" is none of recipes().
    fingerprint("", recipe)
    if not 0 <= max_distance <= 12:
        raise InvalidArgumentError(f"max_distance = {max_distance}: expected 0 to 12")


def _text(doc: Document) -> str:
    # Text may have lone surrogates, which UTF-8 cannot encode.
    return doc.text.encode("utf-8", "replace").decode("utf-8")
