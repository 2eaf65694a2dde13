"""Ctrl-C and SIGTERM: one line, an exit code that tells, and nothing left."""

import os
import signal
import threading

import pytest

from neuroextrap.cli import main
from tests.faults.runs import make_inputs, program, words_of
from tests.faults.seam import Terminated, ending_on_sigterm, null_file
from tests.faults.seam import _searchlight_command as command

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with inputs."""
    root = tmp_path_factory.mktemp("inputs")
    make_inputs(root)
    return root


@pytest.mark.parametrize("number", CODES, ids=["int", "term"])
def test_a_signal_is_one_line_and_leaves_no_file(
    root, tmp_path, monkeypatch, capsys, request, number
):
    def run(args):
        with null_file(tmp_path / "null.npy", 2, 2):
            signal.raise_signal(number)
            pytest.fail("the signal was lost")

    monkeypatch.setattr(command, "run", run)
    # a shell starts what runs in the background without it
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, ignored))
    before = signal.getsignal(signal.SIGTERM)
    words = words_of("searchlight", root, tmp_path / "out")
    assert main(words) == CODES[number]
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("ed; no results were written")
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_handlers_of_others_and_other_threads_are_left_alone(monkeypatch):
    def other(number, frame):
        """Do nothing."""

    before = signal.signal(signal.SIGTERM, other)
    try:
        with ending_on_sigterm():
            assert signal.getsignal(signal.SIGTERM) is other
    finally:
        signal.signal(signal.SIGTERM, before)
    raised = []

    def work():
        try:
            with ending_on_sigterm():
                raised.append(signal.getsignal(signal.SIGTERM))
        except ValueError as error:  # handlers cannot be set in a thread
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert raised == [before]


def test_results_that_stand_are_said_to(monkeypatch, root, tmp_path, capsys):
    def run(args):
        raise Terminated("the results had been written")

    monkeypatch.setattr(command, "run", run)
    assert main(words_of("searchlight", root, tmp_path / "out")) == 143
    assert "terminated; the results had been written" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_at_any_time_leave_nothing(tmp_path, tally, name):
    counts = program("signals", name, 10, tmp_path)
    tally(f"ended by {name}", **counts)
    assert counts["left_nothing"] == counts["said_in_one_line"] == 10
