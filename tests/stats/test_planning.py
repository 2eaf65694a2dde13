"""Planning agrees with the bounds it plans for."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom

from neuroextrap.stats import (
    _planning,
    average_bayes_accuracy_lower_bound,
    required_classes,
    required_repeats,
)
from neuroextrap.stats._bound_methods import clopper_pearson_lower

pytestmark = pytest.mark.filterwarnings("ignore:the bound's margin:UserWarning")


@pytest.mark.parametrize("method", ["subgaussian", "hybrid", "chebyshev"])
@pytest.mark.parametrize("n_repeats", [1, 12])
def test_so_many_classes_reach_the_bound_and_one_fewer_do_not(method, n_repeats):
    n_classes = required_classes(0.8, 0.5, n_repeats=n_repeats, method=method)
    for number, reached in ((n_classes, True), (n_classes - 1, False)):
        bound = average_bayes_accuracy_lower_bound(
            0.8,
            n_classes=number,
            n_repeats=n_repeats,
            set_sizes=number,
            method=method,
        )
        assert (bound >= 0.5) == reached


def power_by_enumeration(n_test, accuracy, goal):
    counts = np.arange(n_test + 1.0)
    reached = clopper_pearson_lower(counts, n_test, 0.05) > goal
    return binom.pmf(counts, n_test, accuracy)[reached].sum()


@pytest.mark.parametrize(
    ("accuracy", "goal", "n_classes"),
    [(0.5, None, 8), (0.5, 0.4, 8), (0.9, 0.6, 3), (0.7, 0.5, 2)],
)
def test_so_many_repeats_have_the_power_and_fewer_do_not(accuracy, goal, n_classes):
    n_repeats = required_repeats(accuracy, goal, n_classes=n_classes)
    goal = 1 / n_classes if goal is None else goal
    powers = [
        power_by_enumeration(r * n_classes, accuracy, goal)
        for r in range(1, n_repeats + 1)
    ]
    assert powers[-1] >= 0.8
    assert all(power < 0.8 for power in powers[:-1])


def test_more_regions_need_more():
    one = required_repeats(0.5, n_classes=8)
    assert required_repeats(0.5, n_classes=8, n_regions=70_000) > one
    assert required_classes(0.9, 0.7, n_regions=70_000) > required_classes(0.9, 0.7)


def test_large_numbers_of_repeats_are_found():
    n_repeats = required_repeats(0.5, 0.49, n_classes=2)
    assert power_by_enumeration(2 * n_repeats, 0.5, 0.49) >= 0.8
    assert power_by_enumeration(2 * n_repeats - 100, 0.5, 0.49) < 0.8


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (required_classes, {"accuracy": 0.5, "bound": 0.6}, "must be proportions"),
        (required_classes, {"accuracy": 1.5, "bound": 0.6}, "must be proportions"),
        (required_classes, {"accuracy": 0.5, "bound": 0.5 - 1e-9}, "classes would be"),
        (required_repeats, {"accuracy": 0.1, "n_classes": 8}, "must be proportions"),
        (
            required_repeats,
            {"accuracy": 0.5, "bound": 0.5 - 1e-9, "n_classes": 8},
            "too close",
        ),
        (
            required_repeats,
            {"accuracy": 0.5, "n_classes": 8, "power": 1.0},
            "power must lie",
        ),
    ],
)
def test_impossible_wishes_are_refused(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(**arguments)


def test_the_search_goes_on_until_the_power_is_reached(monkeypatch):
    whole = required_repeats(0.5, 0.4, n_classes=8)
    monkeypatch.setattr(_planning, "_FEW_REPEATS", 2)
    assert required_repeats(0.5, 0.4, n_classes=8) == whole


def test_planning_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert required_classes(0.9, 0.7) == 75


def test_levels_at_which_the_bound_is_not_known_are_refused():
    options = {"n_classes": 8, "confidence_level": 0.7}
    with pytest.raises(
        ValueError, match=r"confidence_level=0.7 must be .* at most 0.25"
    ):
        required_repeats(0.5, **options)
    assert required_repeats(0.5, n_regions=2, **options) >= 1  # 0.3 / 2 is below
