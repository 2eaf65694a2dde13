"""Killed at any moment: nothing lost, nothing half, nothing different."""

import os

import pytest

from tests.faults.runs import KINDS, program
from tests.faults.seam import build_parser

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def check_changes(kind, step, folder, tally):
    """Kill at every `step`-th change of the file system."""
    counts = program("changes", kind, step, folder)
    n_kills = counts.pop("kills")
    tally(f"{kind} killed at changes of the file system", n_kills, **counts)
    assert counts["mixed"] == 0
    assert counts["old"] + counts["new"] == n_kills
    return counts


def test_a_few_kills_while_results_are_written(tmp_path, tally):
    counts = check_changes("searchlight", 14, tmp_path, tally)
    assert min(counts["old"], counts["new"]) >= 2


EXPECTED = {
    "kill": ["old", "new", "new"],
    "EXDEV": ["new"],
    "ENOSPC": ["old"],
    "EROFS": ["old"],
    "two at once": ["new"],
}
"""What is there after the faults: kills come before the list of moves, and after it."""


def test_every_command_meets_every_fault(tmp_path, tally):
    """The home of the process that makes the faults cannot be written, either."""
    found = program("moves", tmp_path)
    assert set(found) == set(KINDS)
    for kind, states in found.items():
        assert states == EXPECTED, kind
        tally(f"{kind}, faults of {', '.join(states)}", 7, old=3, new=4, mixed=0)


def test_a_check_writes_nothing(tmp_path, tally):
    found = program("check", tmp_path)
    assert found == {"code": 0, "same": True, "written": []}
    tally("checks that write nothing", 1, nothing=1)


def test_every_command_is_killed():
    """Those of cohorts are in another module, and a check writes nothing."""
    [action] = [a for a in build_parser()._actions if isinstance(a.choices, dict)]
    assert set(action.choices) == ({*KINDS} - {"report"}) | {"bids", "check"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_every_change_of_the_file_system(kind, tmp_path, tally):
    counts = check_changes(kind, 1, tmp_path, tally)
    assert min(counts["old"], counts["new"]) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_fifty_kills_at_random_moments(kind, tmp_path, tally):
    counts = program("random", kind, 50, tmp_path)
    n_kills = counts.pop("kills")
    tally(f"{kind} killed at random moments", n_kills, **counts)
    assert n_kills >= 50
    assert counts["mixed"] == counts["unlike"] == 0
    assert counts["resumed"] >= 10
