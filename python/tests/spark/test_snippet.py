"""The snippet of the README."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import test_snippets


def test_the_snippet_runs_as_pasted(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"id": range(4), "text": test_snippets.TEXTS}), tmp_path / "texts.parquet")
    monkeypatch.chdir(tmp_path)
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda builder: spark)
    names: dict[str, Any] = {}
    exec(test_snippets.of_spark().replace('"texts.parquet"', f'"{tmp_path}/texts.parquet"'), names)
    assert [(row.a, row.b) for row in names["near"].collect()] == [(0, 1)]
    assert names["entries"].count() == 3
