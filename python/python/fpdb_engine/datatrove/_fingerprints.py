"""The fingerprints of the documents of a rank."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Literal

import numpy as np
from datatrove.data import DocumentsPipeline
from datatrove.io import DataFolderLike, get_datafolder
from datatrove.pipeline.base import PipelineStep
from datatrove.utils.typeshelper import StatHints

from .. import Db, InvalidArgumentError, fingerprint, fingerprint_batch
from ._common import RECORDS, SKETCH, text_of


class Fingerprints(PipelineStep):
    """Writes the fingerprints of the documents of a rank to a file, for Clusters.

    Documents with too little text have no fingerprint, and are never removed.

    Args:
        output_folder: folder for the files, local or remote
        recipe: how fingerprints are made of texts: a name of fpdb_engine.recipes()
        bits: 1824 for sketches, which a similarity needs; or the width of fingerprints, 64 or 128, for a
            distance in bits
        batch_size: documents that are fingerprinted together
    """

    type = "🫂 - DEDUP"
    name = "🔎 fpdb fingerprints"

    def __init__(
        self,
        output_folder: DataFolderLike,
        recipe: str = "default",
        *,
        bits: Literal[64, 128, 1824] = SKETCH,
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
                texts.append(text_of(doc))
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
        records = np.empty(len(rows), RECORDS[self.bits])
        records["fingerprint"] = values[rows]
        records["position"] = rows + position
        return records.tobytes()


def _file_name(rank: int, world_size: int) -> str:
    return f"{rank:06d}-of-{world_size:06d}.fingerprints"


def _full_name(recipe: str, bits: int) -> str:
    """Returns the name that a recipe is stored under, which an alias stands for."""
    with tempfile.TemporaryDirectory(prefix="fpdb-datatrove-") as folder:
        with Db.create(os.path.join(folder, "db"), bits=bits, recipe=recipe) as db:
            return db.recipe or recipe
