"""Messages: progress now and then, warnings on one line, errors by file."""

import io
import logging
import warnings

import pytest

from neuroextrap.cli._console import _Calm, _Terminal, console, one_line


def _progress(text):
    return logging.LogRecord(
        "neuroextrap.margins._progress", logging.INFO, "", 0, text, None, None
    )


def test_errors_of_the_system_name_the_file():
    error = FileNotFoundError(2, "No such file or directory", "a.nii")
    assert one_line(error) == "a.nii: No such file or directory; check the path"
    assert one_line(ValueError("two\n  lines")) == "two lines"
    assert one_line(MemoryError()) == "MemoryError"


def test_progress_lines_are_thinned_but_the_last_is_kept():
    calm = _Calm()
    kept = [
        calm.filter(_progress(text))
        for text in ("1 of 9 (11%)", "2 of 9 (22%)", "9 of 9 (100%)")
    ]
    assert kept == [True, False, True]
    other = logging.LogRecord("neuroextrap", logging.INFO, "", 0, "x", None, None)
    assert calm.filter(other)


def test_a_terminal_rewrites_the_line():
    stream = io.StringIO()
    handler = _Terminal(stream)
    handler.emit(_progress("1 of 2 (50%)"))
    handler.emit(_progress("2 of 2 (100%)"))
    first, second = stream.getvalue().split("\r")
    assert first.startswith("1 of 2 (50%)")
    assert "\n" not in first
    assert second.endswith("\n")


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
