"""Messages: progress now and then, warnings on one line, errors by file."""

import io
import logging
import os
import re
import sys
import warnings

import pytest

from tests.cli.seam import Progress, _console, console, one_line


def test_errors_of_the_system_name_the_file():
    error = FileNotFoundError(2, "No such file or directory", "a.nii")
    assert one_line(error) == "a.nii: No such file or directory; check the path"
    assert one_line(ValueError("two\n  lines")) == "two lines"
    assert one_line(MemoryError()) == "MemoryError"


class _Screen(io.StringIO):
    """A terminal that remembers what was written."""

    def isatty(self):
        return True


def test_messages_on_a_terminal_leave_the_bar_whole(monkeypatch):
    screen = _Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    logger = logging.getLogger("neuroextrap.tests")
    with console():
        progress = Progress(verbose=1)
        progress(1, 2)
        logger.warning("few classes")
        progress(2, 2)
    lines = re.split(r"[\r\n]+", screen.getvalue())
    assert "warning: few classes" in lines
    assert any("100%" in line and "2/2" in line for line in lines)


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line_without_source(capsys):
    with console():
        warnings.warn("few\nclasses", stacklevel=1)
    assert capsys.readouterr().err == "warning: few classes\n"


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        ({"quiet": True}, "warning"),
        ({}, "info warning"),
        ({"verbose": True}, "debug info warning"),
    ],
)
def test_quiet_and_verbose_choose_the_level(options, levels, capsys):
    logger = logging.getLogger("neuroextrap.tests")
    with console(**options):
        logger.debug("debug")
        logger.info("info")
        logger.warning("warning")
    words = capsys.readouterr().err.replace("warning: ", "").split()
    assert " ".join(words) == levels


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "from \u22120.5 to 1 bit, in Stra\u00dfe/\u0142"),
        ("cp1252", "from -0.5 to 1 bit, in Stra\u00dfe/\\u0142"),
        ("ascii", "from -0.5 to 1 bit, in Stra\\xdfe/\\u0142"),
    ],
)
def test_results_are_said_in_the_characters_of_the_terminal(
    encoding, expected, monkeypatch
):
    screen = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", screen)
    _console.say("from \N{MINUS SIGN}0.5 to 1 bit, in Stra\u00dfe/\u0142")
    said = screen.buffer.getvalue().decode(encoding)
    assert said == expected + os.linesep
