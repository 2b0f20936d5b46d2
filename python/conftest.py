"""Fixtures for the tests in tests/ and the examples in docstrings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import fpdb_engine as fpdb
import numpy as np
import pytest


@pytest.fixture
def db(tmp_path: Path) -> Iterator[fpdb.Db]:
    """A new database of 64 bits with user ids."""
    with fpdb.Db.create(tmp_path / "db", durability="buffered") as db:
        yield db


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers. FPDB_SEED chooses others."""
    return np.random.default_rng(int(os.environ.get("FPDB_SEED", "20261122")))
