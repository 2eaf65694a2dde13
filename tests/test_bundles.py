"""Files of compiled loops that another version of the package has left behind."""

import importlib.util
import pickle
import pkgutil

import pytest
from numba.core.dispatcher import Dispatcher

import neuroextrap
from tests.seam import _bundles

LOOP = """
from numba import njit
from neuroextrap._bundles import bundle

Pair = bundle("{0} {1}")


@njit(cache=True)
def total(pair):
    return pair.{0} + 2 * pair.{1}
"""


def test_files_of_another_version_do_not_harm(tmp_path):
    """Arguments of a loop that is kept in a file are called otherwise from now on."""
    for names in (("first", "second"), ("a", "b")):
        path = tmp_path / "loops.py"
        path.write_text(LOOP.format(*names))
        spec = importlib.util.spec_from_file_location("loops", path)
        loops = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loops)
        assert loops.total(loops.Pair(1, 3)) == 7
        assert list(tmp_path.glob("__pycache__/*.nbi"))
        vars(_bundles).pop("__".join(names))  # as in another process


def test_types_that_this_version_does_not_know_are_found():
    known = pickle.loads(b"cneuroextrap._bundles\nformerly__called\n.")
    assert known._fields == ("formerly", "called")
    with pytest.raises(AttributeError, match="no attribute 'formerly'"):
        _ = _bundles.formerly


def test_all_named_tuples_of_loops_are_bundles():
    found = pkgutil.walk_packages(neuroextrap.__path__, "neuroextrap.")
    modules = [vars(importlib.import_module(module.name)) for module in found]
    types = [
        each
        for names in modules
        if any(isinstance(each, Dispatcher) for each in names.values())
        for each in names.values()
        if isinstance(each, type) and issubclass(each, tuple)
    ]
    assert len(types) > 10
    assert {each.__module__ for each in types} == {"neuroextrap._bundles"}
