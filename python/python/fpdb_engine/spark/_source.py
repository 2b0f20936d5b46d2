"""A data source that reads the entries of databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from fpdb_engine import InvalidArgumentError, ReadOnlyDb

from ._arrow import fingerprint_column, longs
from ._parts import bits_of_parts, parts


def register(session: SparkSession) -> None:
    """Makes the format "fpdb" known to a session.

    session.read.format("fpdb").load(path) has one row per entry: fingerprint and id. The path is what
    build() made, or one database. Each database is one partition.
    """
    session.dataSource.register(FpdbDataSource)


class FpdbDataSource(DataSource):
    """The entries of databases, as columns fingerprint and id: fingerprints of 64 bits and ids of type long,
    others of type binary."""

    @classmethod
    def name(cls) -> str:
        return "fpdb"

    def schema(self) -> str:
        bits = bits_of_parts(parts(self._path()))
        return f"fingerprint {'long' if bits in (None, 64) else 'binary'}, id long"

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self._path())

    def _path(self) -> str:
        path = self.options.get("path")
        if not path:
            raise InvalidArgumentError("the format fpdb needs a path: load(path)")
        return path


class _Reader(DataSourceReader):
    def __init__(self, path: str) -> None:
        self.path = path

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(part.path) for part in parts(self.path)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        # Apache Spark reads one partition if there is none.
        if partition.value is None:
            return
        with ReadOnlyDb.open(partition.value, threads=1) as db:
            for fingerprints, ids in db.entries():
                yield pa.record_batch({"fingerprint": fingerprint_column(fingerprints), "id": longs(ids)})
