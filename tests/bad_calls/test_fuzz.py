"""Wrong arguments of everything public: a result, or one line that names one of them.

Nothing here asks for one particular message; what is asked is that no error of another
library, no hang and no traceback comes through.
"""

import decimal
import functools
import importlib
import inspect
import itertools
import logging
import pkgutil

import numpy as np
import pandas as pd
import pytest

import neuroextrap
from neuroextrap.cohorts import analyze_group, analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from tests.bad_calls.calls import refusal
from tests.bad_calls.good_calls import GOOD, NO_FILE, good_call
from tests.cohorts.conftest import make_dataset

NAN = float("nan")
MANY = 10**5
KINDS = (
    [NAN, np.inf, -np.inf, -1, 0, -0.5, 2.5, 1e308, MANY, 10**30, True, 1 + 2j],
    ["x", "5", b"5", None, [], ["a", "b"], [[1, 2], [3]], {"a": 1}, {1, 2}, len],
    [object(), slice(3), (i for i in "ab"), pd.NA, decimal.Decimal("0.5")],
    [
        *(np.array([NAN, NAN]), np.full((2, 3), np.inf), np.ones((0, 3))),
        *(np.array(0.5), np.ones((2, 2, 2)), np.array([1, None])),
        *(np.array([True, False]), np.array("x"), np.ones(3) * 1j),
        np.array(["2020-01-01"], "M8[D]"),
    ],
    [
        *(pd.Series([0.5, 0.4]), pd.DataFrame({"a": [0.5, 0.2]}), np.ma.masked),
        *(np.ma.masked_array([1.0, 2.0], [True, False]), np.datetime64("2020-01-01")),
    ],
)
EVERY = list(itertools.chain(*KINDS))
FEW = [NAN, -1, "x", b"5", None, [], [[1, 2], [3]], np.ones((2, 2, 2)), pd.NA]
LONG = {"n_permutations", "n_simulations", "n_classes", "n_runs", "n_draws", "n_bins"}
LONG |= {"n_splits", "n_bootstrap", "max_regions", "n_alphas", "n_orientations"}
OF_PAGES = {"dry_run", "report", "labels_img", "names", "bg_img"}
SOME_OR_EVERY = pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "every"]
)
CALLS = [(room, name) for room, calls in GOOD.items() for name in calls]


def test_everything_public_is_tried():
    rooms = {each.name for each in pkgutil.iter_modules(neuroextrap.__path__)}
    called = {"cohorts": {"analyze_participants", "analyze_group"}}
    for room in sorted(name for name in rooms if not name.startswith("_")):
        public = importlib.import_module(f"neuroextrap.{room}")
        names = {n for n in getattr(public, "__all__", ()) if callable(vars(public)[n])}
        tried = called.get(room) or set(GOOD.get(room, {}))
        assert names == tried, room


def told_of(function, tried, good, *, of_files=False):
    """Return what is wrong with calls in which one argument has a bad value.

    `tried` has the values of every argument.
    """
    names = [*tried, *(name.removesuffix("_img") for name in tried)]
    return {
        f"{argument}={bad!r:.60}": told
        for argument, values in tried.items()
        for bad in values
        if not (bad is MANY and argument in LONG)
        and (call := functools.partial(function, **good | {argument: bad}))
        and (told := refusal(call, *names, *[str(bad)] * of_files))
    }


def one_of_each_kind(turn):
    """Return a value of every kind, which ones by turns."""
    return [kind[turn % len(kind)] for kind in KINDS]


def test_all_values_have_their_turn():
    tried = itertools.chain(*(one_of_each_kind(turn) for turn in range(len(CALLS))))
    assert {id(each) for each in tried} == {id(each) for each in EVERY}


@SOME_OR_EVERY
@pytest.mark.parametrize("turn", range(len(CALLS)), ids=[name for _, name in CALLS])
@pytest.mark.filterwarnings("ignore")  # of few subjects
def test_arguments(turn, every, tmp_path, monkeypatch):
    """Every argument takes bad values; another one may be named for it.

    They are a value of each kind, by turns, and in ``make bad-calls`` every value.
    """
    monkeypatch.chdir(tmp_path)  # where folders of any name may be made
    function, parameters, good = good_call(*CALLS[turn])
    of_files = good == NO_FILE
    good = {} if of_files else good
    if not of_files:
        function(**good)
    tried = {
        argument: EVERY if every else one_of_each_kind(turn + place)
        for place, argument in enumerate(parameters)
    }
    assert not told_of(function, tried, good, of_files=of_files)


@SOME_OR_EVERY
@pytest.mark.filterwarnings("ignore")
def test_arguments_of_cohorts(tmp_path, every):
    make_dataset(tmp_path, ["01", "02"])
    logging.disable(logging.CRITICAL)  # one line a participant
    data, out = tmp_path / "derivatives" / "fmriprep", tmp_path / "out"
    good = {"analysis": IdentificationSearchLight(radius=4.0), "samples": "blocks"}
    good |= {"derivatives": data, "out": out, "confounds": ()}
    analyze_participants(**good, report=False)
    group = {"out": out, "report": False, "overwrite": True, "n_permutations": 9}
    dry = good | {"dry_run": True, "participants": ["01"]}
    tried = (analyze_participants, dry), (analyze_group, group)
    wrong = {}
    for function, given in tried:
        function(**given)
        names = set(inspect.signature(function).parameters) - OF_PAGES
        names = sorted(names)
        values = [FEW if every else FEW[i % 4 :: 4] for i in range(len(names))]
        wrong |= told_of(function, dict(zip(names, values, strict=True)), given)
    logging.disable(logging.NOTSET)
    assert not wrong
