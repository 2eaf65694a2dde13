"""A bar where somebody looks, lines in logs elsewhere, nothing unasked."""

import io
import logging
import sys
import types

import pytest

from tests.margins.seam import Progress, _execution


class _Screen(io.StringIO):
    def isatty(self):
        return True


def open_screen(monkeypatch):
    """Show standard error on a terminal; in the test itself, not while it is set up."""
    screen = _Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_a_terminal_shows_a_bar_and_no_lines(monkeypatch, caplog):
    screen = open_screen(monkeypatch)
    caplog.set_level(logging.INFO, "neuroextrap")
    progress = Progress(verbose=1, unit="subjects")
    for done in (1, 2, 4):
        progress(done, 4)
    assert "100%" in screen.getvalue()
    assert "4/4" in screen.getvalue()
    assert "subjects" in screen.getvalue()
    assert not caplog.records


def test_a_second_count_gets_a_bar_of_its_own(monkeypatch):
    screen = open_screen(monkeypatch)
    progress = Progress(verbose=1)
    progress(3, 3)
    progress(5, 5)
    assert "3/3" in screen.getvalue()
    assert "5/5" in screen.getvalue()


def test_nothing_is_shown_unasked(monkeypatch, caplog):
    screen = open_screen(monkeypatch)
    caplog.set_level(logging.INFO, "neuroextrap")
    Progress(verbose=0)(2, 2)
    assert screen.getvalue() == ""
    assert not caplog.records


def test_lines_elsewhere_are_apart_and_the_last_is_kept(caplog, monkeypatch):
    now = iter([0.0, 1.0, 20.0, 21.0, 22.0])
    monkeypatch.setattr(_execution.time, "monotonic", lambda: next(now))
    caplog.set_level(logging.INFO, "neuroextrap")
    progress = Progress(verbose=1)
    for done in (1, 2, 3, 4):
        progress(done, 4)
    assert [record.getMessage() for record in caplog.records] == [
        "2 of 4 regions (50%), 0:00:20 elapsed, 0:00:38 left",
        "4 of 4 regions (100%), 0:00:22 elapsed, 0:00:00 left",
    ]


@pytest.mark.parametrize(
    ("config", "expected"), [({"IPKernelApp": {}}, True), ({}, False)]
)
def test_a_notebook_is_told_from_a_shell(config, expected, monkeypatch):
    shell = types.SimpleNamespace(config=config)
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert _execution._in_notebook() is expected


def test_without_a_standard_error_lines_are_logged(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "neuroextrap")
    monkeypatch.setattr(sys, "stderr", None)
    Progress(verbose=1)(1, 1)
    assert len(caplog.records) == 1
