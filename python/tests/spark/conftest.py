"""A session of Sail; of Apache Spark if FPDB_SPARK is "spark", or of its Spark Connect if "connect"."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The helpers of the other tests.
sys.path.insert(0, str(Path(__file__).parent.parent))

ENGINE = os.environ.get("FPDB_SPARK", "sail")
NEEDED = "pysail" if ENGINE == "sail" else "py4j"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A session with 2 cores."""
    pytest.importorskip(NEEDED, reason=f"the Spark jobs, because {NEEDED} is not installed")
    from pyspark.sql import SparkSession

    if ENGINE == "sail":
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer()
        server.start(background=True)
        _, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
    else:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("fpdb")
        local = "local[2]"
        builder = builder.remote(local) if ENGINE == "connect" else builder.master(local)
        builder = builder.config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.sql.execution.arrow.pyspark.enabled", "true")
        session = builder.getOrCreate()
    # For distinct and groupBy. The tests say how many tasks the jobs have.
    session.conf.set("spark.sql.shuffle.partitions", "4")
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    yield session
    session.stop()
    if ENGINE == "sail":
        server.stop()
