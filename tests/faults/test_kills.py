"""Killed at any moment: nothing lost, nothing half, nothing different."""

import os

import pytest

from tests.faults.runs import KINDS, program

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
