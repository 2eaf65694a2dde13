"""A cohort that is killed: records describe results, a group is of one analysis."""

import os

import pytest

from tests.faults.cohorts import NEW, OLD
from tests.faults.runs import program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_a_record_is_that_of_the_results(tmp_path, tally):
    """Killed at moves into place, then refused, done again, or put into a group."""
    old, new, seen = float(OLD), float(NEW), set()
    found = program("participants", tmp_path, of="cohorts")
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
    found = program("films", tmp_path, of="cohorts")
    for number, dead, code, status, *delays in found:
        assert dead
        assert (code, delays) == (0, [[3], [3]])
        assert status == ("done," if number == 0 else "skipped,")
    tally("films of participants killed while files take places", len(found), mixed=0)


def test_a_group_is_of_one_analysis(tmp_path, tally):
    found = program("groups", tmp_path, of="cohorts")
    for number, dead, states in found:
        assert dead
        assert states == (["old"] if number == 0 else ["new"])
    tally("groups killed while files take their places", len(found), mixed=0)


def test_disks_that_are_full_or_others(tmp_path, tally):
    found = program("disks", tmp_path, of="cohorts")
    old, new = float(OLD), float(NEW)
    assert found == [
        ["ENOSPC", "participant", 1, True, 2, old, old],
        ["ENOSPC", "group", 2, True, 1, old, old],
        ["EXDEV", "participant", 0, False, 0, new, new],
        ["EXDEV", "group", 0, True, 0, old, old],
    ]
    tally("participants and groups on full disks, and on others", 4, old=2, new=2)


def test_two_that_begin_at_once(tmp_path, tally):
    """As jobs of a cluster do: in a folder that is not there, of two participants."""
    new = float(NEW)
    found = program("together", tmp_path, of="cohorts")
    assert found[:7] == [0, 0, True, *[new] * 4]
    # the page of all says how many seconds each took
    assert found[7:] in ([0, 0, ["index.html"], True], [0, 0, [], True])
    tally("participants, and groups, that begin at once", 4, whole=4)
