"""What is promised about other kinds of interpreters."""

import sys
import sysconfig

import fpdb_engine as fpdb
import pytest


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has the lock")
def test_import_turns_the_lock_of_the_interpreter_on():
    assert fpdb.fingerprint("Trains leave for the airport every ten minutes.") is not None
    assert sys._is_gil_enabled()


def test_subinterpreter_refuses_the_package():
    interpreters = pytest.importorskip("concurrent.interpreters", reason="Python 3.14 is the first to have them")
    interpreter = interpreters.create()
    try:
        with pytest.raises(interpreters.ExecutionFailed, match="ImportError"):
            interpreter.exec("import fpdb_engine._native")
    finally:
        interpreter.close()
