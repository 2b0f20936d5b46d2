"""What to remove from the documents of all ranks."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from datatrove.data import DocumentsPipeline
from datatrove.io import DataFolderLike, get_datafolder
from datatrove.pipeline.base import PipelineStep
from datatrove.utils.typeshelper import StatHints

from .. import Db, InvalidArgumentError, OutcomeKind
from ._common import RECORDS, SIMILARITY, SKETCH, U64, check

# Bytes of records that Clusters loads at a time, at least. Each bulk load makes a segment.
_PART = 48_000_000
# Most bytes of the first line of a file.
_LONGEST_HEADER = 4096
_FILE_NAME = re.compile(r"(\d{6})-of-(\d{6})\.fingerprints")


class Clusters(PipelineStep):
    """Decides which documents to remove, and writes that for datatrove's MinhashDedupFilter.

    Reads all files of Fingerprints, in one task. Of each cluster, the first document is kept, in the
    order of ranks and then of positions.

    Args:
        input_folder: folder with the files of Fingerprints
        output_folder: folder for the files that MinhashDedupFilter reads
        similarity: Jaccard similarity from which on documents are near-duplicates, from 0.5 to 1; by
            default 0.8 for sketches, which a similarity needs
        recall: share of the pairs of exactly this similarity that is found
        max_distance: instead of a similarity, bits that near-duplicates may differ in; by default 3 for
            fingerprints of 64 or 128 bits
        method: "keep-first" removes a document if one that is kept is a near-duplicate of it.
            "components" also removes a document that only a chain of near-duplicates connects with the
            first, as datatrove's MinhashDedupCluster does.
        save_cluster_id: write files for MinhashDedupFilter(load_cluster_ids=True)
        save_cluster_size: write files for MinhashDedupFilter(load_cluster_sizes=True)
        database: a folder for the database of all fingerprints, whose ids are 2**32 times the rank
            plus the position. It may be that of an earlier run over the same files. Without it, the
            database is in a temporary folder.
        against: a folder for a database of the documents of earlier data sets. Documents that are like one
            of these are removed too, and kept ones are added, under the namespace, the rank and the position.
            It is created if it is missing. A run can be repeated. Only with the method "keep-first", and
            without files of clusters.
        namespace: with against, a name of this data set
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
        against: str | os.PathLike[str] | None = None,
        namespace: str = "",
        memory: int | None = None,
    ) -> None:
        super().__init__()
        if max_distance is not None:
            check("default", max_distance)
        if method not in ("keep-first", "components"):
            raise InvalidArgumentError(
                f"method = {method!r}: expected 'keep-first' or 'components'"
            )
        if against is not None and not namespace:
            raise InvalidArgumentError(
                "against: give namespace too, a name of this data set, or the next one would replace it"
            )
        if against is not None and (
            method != "keep-first" or save_cluster_id or save_cluster_size or database is not None
        ):
            raise InvalidArgumentError(
                "against: leave out database and the files of clusters, and use the method 'keep-first'"
            )
        self.input_folder = get_datafolder(input_folder)
        self.output_folder = get_datafolder(output_folder)
        self.against = None if against is None else os.fspath(against)
        self.namespace = namespace
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
        options = self._options(first, files)
        if self.against is not None:
            with self.track_time():
                self._run_against(self.against, files, first["bits"], options)
            return
        with self.track_time(), tempfile.TemporaryDirectory(prefix="fpdb-datatrove-") as folder:
            path = self.database or os.path.join(folder, "clusters.fpdb")
            with Db.open_or_create(path, **options) as db:
                total = 0
                for values, ids in self._parts(files, first["bits"]):
                    if first["bits"] == SKETCH:
                        db.write(values, ids)
                    else:
                        db.bulk_load(values, ids)
                    total += len(ids)
                    self.stat_update(StatHints.total, value=len(ids))
                if len(db) != total:
                    raise InvalidArgumentError(
                        f"{path} has documents of other files: choose another folder, or remove it"
                    )
                found = db.clusters(method=self.method, memory=self.memory)
        self._write(list(files), found.offsets, found.ids)

    def _options(self, header: dict[str, Any], files: dict[int, str]) -> dict[str, Any]:
        """Returns the options of the database for the fingerprints of these files."""
        similarity, max_distance = self.similarity, self.max_distance
        if similarity is None and max_distance is None:
            if header["bits"] == SKETCH:
                similarity = SIMILARITY
            else:
                max_distance = 3
        bytes = sum(self.input_folder.size(name) for name in files.values())
        return {
            "bits": header["bits"],
            "expected_entries": bytes // RECORDS[header["bits"]].itemsize + 1,
            "custom_recipe": header["recipe"],
            "similarity": similarity,
            "recall": self.recall,
            "max_distance": max_distance,
            "durability": "buffered",
        }

    def _run_against(
        self, path: str, files: dict[int, str], bits: int, options: dict[str, Any]
    ) -> None:
        """Compares the documents with those of the database and with each other, in their order."""
        removed = earlier = 0
        with Db.open_or_create(path, **{**options, "ids": "names"}) as db:
            for number, name in files.items():
                values, ids = self._read(number, name, bits)
                position = ids & np.uint64(0xFFFFFFFF)
                own = f"{self.namespace}/{number:05d}/"
                names = [f"{own}{at}" for at in position.tolist()]
                outcomes = db.write(values, names=names, unless_near="rule", or_update="keep")
                is_removed = outcomes.kinds == OutcomeKind.DUPLICATE
                like = db.names(outcomes.ids[is_removed])
                prefix = f"{self.namespace}/"
                earlier += sum(not (other or "").startswith(prefix) for other in like)
                removed += len(like)
                self.stat_update(StatHints.total, value=len(ids))
                self._write_file(f"{number:06d}.remove", position[is_removed])
        self.stat_update("to_remove", value=removed)
        self.stat_update("like_earlier", value=earlier)

    def _header(self, number: int, name: str) -> dict[str, Any]:
        """Returns what a file says about its fingerprints."""
        with self.input_folder.open(name, "rb") as file:
            line = file.readline(_LONGEST_HEADER)
        try:
            header = json.loads(line)
            if line.endswith(b"\n") and header["bits"] in RECORDS and header["recipe"]:
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

    def _parts(self, files: dict[int, str], bits: int) -> Iterator[tuple[npt.NDArray[Any], U64]]:
        """Returns all fingerprints and ids, in parts of several files if these are small."""
        values: list[npt.NDArray[Any]] = []
        ids: list[U64] = []
        for number, name in files.items():
            more_values, more_ids = self._read(number, name, bits)
            values.append(more_values)
            ids.append(more_ids)
            if sum(map(len, ids)) * RECORDS[bits].itemsize >= _PART:
                yield np.concatenate(values), np.concatenate(ids)
                values, ids = [], []
        if values:
            yield np.concatenate(values), np.concatenate(ids)

    def _read(self, number: int, name: str, bits: int) -> tuple[npt.NDArray[Any], U64]:
        record = RECORDS[bits]
        with self.input_folder.open(name, "rb") as file:
            file.readline(_LONGEST_HEADER)
            content = file.read()
        if len(content) % record.itemsize:
            raise ValueError(f"{name} is truncated: run Fingerprints again for rank {number}")
        records = np.frombuffer(content, record)
        ids = records["position"].astype(np.uint64) | np.uint64(number << 32)
        return np.ascontiguousarray(records["fingerprint"]), ids

    def _write(
        self, ranks: list[int], offsets: npt.NDArray[np.int64], ids: U64
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
