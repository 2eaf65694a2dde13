"""Files of compiled loops that another version of the package has left behind."""

import importlib.util
import os
import pickle
import pkgutil
import sys
import time

import numba
import pytest
from numba.core.dispatcher import Dispatcher

import neuroextrap
from tests.seam import _compiling

LOOP = """
from numba import njit
from neuroextrap._compiling import bundle

Pair = bundle("{0} {1}")


@njit(cache=True)
def total(pair):
    return pair.{0} + 2 * pair.{1}
"""


@pytest.fixture
def loaded(monkeypatch):
    """Return a function that loads the module of a file, as another process would."""
    return lambda path: _load(path, monkeypatch)


def _load(path, monkeypatch):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


def test_arguments_may_be_called_otherwise_than_in_an_earlier_version(tmp_path, loaded):
    path = tmp_path / "loops.py"
    for names in (("first", "second"), ("a", "b")):
        path.write_text(LOOP.format(*names))
        loops = loaded(path)
        assert loops.total(loops.Pair(1, 3)) == 7
        assert list(tmp_path.glob("__pycache__/*.nbi"))
        vars(_compiling).pop("__".join(names))


CALLED = """
from numba import njit


@njit(cache=True)
def called(x):
    return x + {}
"""
CALLING = """
from numba import njit
from called_loops import called


@njit(cache=True)
def total(x):
    return 2 * called(x)
"""


@pytest.mark.parametrize("kept", ["sources/__pycache__", "kept/sources_*"])
def test_a_loop_is_compiled_again_where_one_that_it_calls_has_changed(
    kept, tmp_path, loaded, monkeypatch
):
    if kept.startswith("kept"):
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    folder = tmp_path / "sources"
    folder.mkdir()
    called, calling = folder / "called_loops.py", folder / "calling_loops.py"
    source = str(folder / "__init__.py")
    calling.write_text(CALLING)
    for number in (1, 2):
        called.write_text(CALLED.format(number))
        _compiling.forget_outdated(source)
        loaded(called)
        assert loaded(calling).total(1) == 2 * (1 + number)
    compiled = sorted(tmp_path.glob(f"{kept}/*.nb?"))
    assert len(compiled) == 4
    _compiling.forget_outdated(source)
    os.utime(called, (time.time() + 1000,) * 2)  # from a clock that is ahead
    _compiling.forget_outdated(source)
    assert sorted(tmp_path.glob(f"{kept}/*.nb?")) == compiled
    os.utime(called)
    _compiling.forget_outdated(source)
    assert not list(tmp_path.glob(f"{kept}/*.nb?"))
    _compiling.forget_outdated(str(tmp_path / "elsewhere" / "__init__.py"))


def test_types_that_this_version_does_not_know_are_found():
    known = pickle.loads(b"cneuroextrap._compiling\nformerly__called\n.")
    assert known._fields == ("formerly", "called")
    with pytest.raises(AttributeError, match="no attribute 'formerly'"):
        _ = _compiling.formerly


def test_loops_call_those_of_their_folder_with_bundles():
    found = pkgutil.walk_packages(neuroextrap.__path__, "neuroextrap.")
    modules = [vars(importlib.import_module(module.name)) for module in found]
    modules = {m["__name__"]: m.values() for m in modules if _loops(m.values())}
    for name, values in modules.items():
        folders = {loop.__module__.rpartition(".")[0] for loop in _loops(values)}
        assert folders == {name.rpartition(".")[0]}
    types = [
        each
        for values in modules.values()
        for each in values
        if isinstance(each, type) and issubclass(each, tuple)
    ]
    assert len(types) > 10
    assert {each.__module__ for each in types} == {"neuroextrap._compiling"}


def _loops(values):
    return [each for each in values if isinstance(each, Dispatcher)]
