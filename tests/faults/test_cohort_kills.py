"""A cohort that is killed: records describe results, a group is of one analysis."""

import json
import os
import subprocess
import sys

import pytest

from tests.faults.cohorts import NEW, OLD

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def program(fault, folder):
    """Return what was found after the kills of a kind."""
    words = [sys.executable, "-W", "ignore", "-m", "tests.faults.cohorts", fault]
    done = subprocess.run(
        [*words, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_record_is_that_of_the_results(tmp_path, tally):
    """Killed at moves into place, then refused, done again, or put into a group."""
    old, new, seen = float(OLD), float(NEW), set()
    found = program("participants", tmp_path)
    for number, dead, code, *states in found:
        assert dead
        if isinstance(states[0], str):  # a group
            said, record, results = states
            assert (code, results == new) == (2, True) or said
            assert record == results
            assert ("differ in radius" in said) == (results == new)
        else:
            record, results, others, of_others = states
            assert others == of_others == old
        assert record == results
        assert record in (old, new)
        assert record == (old if number == 0 else new) or code == 0
        seen.add(record)
    assert seen == {old, new}
    tally("participants killed while files take their places", len(found) // 3, mixed=0)


def test_films_go_on_after_a_kill(tmp_path, tally):
    found = program("films", tmp_path)
    for number, dead, code, status, *delays in found:
        assert dead
        assert (code, delays) == (0, [[3], [3]])
        assert status == ("done," if number == 0 else "skipped,")
    tally("films of participants killed while files take places", len(found), mixed=0)


def test_a_group_is_of_one_analysis(tmp_path, tally):
    found = program("groups", tmp_path)
    for number, dead, states in found:
        assert dead
        assert states == (["old"] if number == 0 else ["new"])
    tally("groups killed while files take their places", len(found), mixed=0)
