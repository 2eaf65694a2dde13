"""Ctrl-C and SIGTERM: one line, an exit code that tells, and nothing left."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from neuroextrap.cli import _searchlight as command
from neuroextrap.cli import main
from neuroextrap.cli._termination import Terminated, ending_on_sigterm
from neuroextrap.margins._null import null_file
from tests.faults.runs import make_inputs, words_of

# runs the command line, and says when it begins
_BEGINNING = """
import sys
from neuroextrap.cli import main
print("begun", flush=True)
sys.exit(main(sys.argv[1:]))
"""
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with inputs."""
    root = tmp_path_factory.mktemp("inputs")
    make_inputs(root)
    return root


@pytest.mark.parametrize("number", CODES, ids=["int", "term"])
def test_a_signal_is_one_line_and_leaves_no_file(
    root, tmp_path, monkeypatch, capsys, number
):
    def run(args):
        with null_file(tmp_path / "null.npy", 2, 2):
            signal.raise_signal(number)
            pytest.fail("the signal was lost")

    monkeypatch.setattr(command, "run", run)
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
@pytest.mark.parametrize("number", CODES, ids=["int", "term"])
def test_signals_at_any_time_leave_nothing(root, tmp_path, tally, number):
    for count in range(10):
        out = tmp_path / str(count)
        words = words_of("searchlight", root, out)
        words[words.index("200")] = "20000"
        words += ["--save-null", str(tmp_path / "null.npy")]
        words += ["--n-jobs", str(1 + count % 2)]
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _BEGINNING, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.3 + 0.8 * count)
        process.send_signal(number)
        errors = process.communicate(timeout=120)[1]
        assert process.returncode == CODES[number], errors
        assert len(errors.splitlines()) == 1, errors
        assert list(tmp_path.iterdir()) == []
    name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
    tally(f"ended by {name}", 10, said_in_one_line=10, left_nothing=10)
