"""The examples in the documentation run."""

from __future__ import annotations

import doctest
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import fpdb_engine as fpdb
import numpy as np
import pytest
from fpdb_engine import _arrays, _errors, _native, _results


def examples() -> dict[str, str]:
    """Returns the documentation that has examples, by the name of what it documents."""
    documented: dict[str, object] = {}
    optional = [name for name in ("duckdb", "polars") if find_spec(name)]
    modules = [import_module(f"fpdb_engine.{name}") for name in optional]
    for module in (fpdb, _arrays, _errors, _native, _results, *modules):
        documented[module.__name__] = module
        for name, thing in vars(module).items():
            documented[name] = thing
            if isinstance(thing, type):
                documented |= {f"{name}.{member}": it for member, it in vars(thing).items()}
    texts = {name: getattr(it, "__doc__", None) or "" for name, it in documented.items()}
    # Those of numpy are not ours.
    numpys = ("np", "npt", "U64")
    return {n: t for n, t in texts.items() if ">>>" in t and n.split(".")[0] not in numpys}


@pytest.mark.parametrize("name", examples())
def test_examples_run(name: str, db: fpdb.Db, tmp_path: Path) -> None:
    # The tests of `_arrays` use its own names.
    names = vars(_arrays) | vars(fpdb) | {"db": db, "fpdb": fpdb, "np": np, "folder": tmp_path}
    test = doctest.DocTestParser().get_doctest(examples()[name], names, name, None, None)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    assert runner.run(test, out=report.append).failed == 0, "".join(report)


def test_everything_is_documented() -> None:
    for name in fpdb.__all__:
        thing = getattr(fpdb, name)
        assert name == "__version__" or thing.__doc__, name
        if isinstance(thing, type) and thing.__module__ == "fpdb_engine":
            for member, it in vars(thing).items():
                assert member.startswith("__") or it.__doc__, f"{name}.{member}"
