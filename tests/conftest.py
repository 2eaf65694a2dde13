"""Shared fixtures: where the real data are, and no silent skipping of them."""

import functools
import gc
import os
from pathlib import Path

import pytest


def _data_root():
    """Folder of real data sets: NEUROEXTRAP_DATA, else ../shared/data."""
    named = os.environ.get("NEUROEXTRAP_DATA")
    if named:
        return Path(named)
    return Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def real_data():
    """Return a function: data set's name -> its folder, or skip with a reason."""

    def folder(name):
        path = _data_root() / name
        if not path.is_dir():
            pytest.skip(
                f"real data {name!r} not found; set NEUROEXTRAP_DATA to the folder "
                "that holds it"
            )
        return path

    return folder


@pytest.fixture(scope="module")
def one_parser():
    """Make the parser of all commands once, not for every call."""
    from tests.seam import _main

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_main, "build_parser", functools.cache(_main.build_parser))
        yield


@pytest.fixture
def undrawn():
    """Pages have their words, tables and data, and pictures without a content."""
    from tests.reporting.undrawn import pages_undrawn

    with pages_undrawn():
        yield


def pytest_collection_finish():
    """Leave thousands of collected tests out of every later garbage collection."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Under CI, a skipped real-data test is a failure while the data are there."""
    if os.environ.get("CI") != "true" or not _data_root().is_dir():
        return
    skipped = session.config.stash.get(_SKIPPED, [])
    if skipped and exitstatus == 0:
        session.exitstatus = 1


_SKIPPED = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Remember which real-data tests were skipped."""
    outcome = yield
    if outcome.get_result().skipped and item.get_closest_marker("real_data"):
        item.config.stash.setdefault(_SKIPPED, []).append(item.nodeid)


def pytest_terminal_summary(terminalreporter):
    """Say why the session failed when real-data tests were skipped under CI."""
    skipped = terminalreporter.config.stash.get(_SKIPPED, [])
    if skipped and os.environ.get("CI") == "true" and _data_root().is_dir():
        terminalreporter.write_line(
            f"CI: {len(skipped)} real-data tests were skipped although "
            f"{_data_root()} exists: {', '.join(skipped)}"
        )
