"""Planning agrees with the bounds it plans for."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import binom

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.stats import (
    average_bayes_accuracy_lower_bound,
    required_classes,
    required_repeats,
)
from tests.margins.seam import MarginKernel
from tests.stats.seam import clopper_pearson_lower

pytestmark = pytest.mark.filterwarnings("ignore:the bound's margin:UserWarning")


@pytest.mark.parametrize("method", ["subgaussian", "hybrid", "chebyshev"])
@pytest.mark.parametrize("n_repeats", [1, 12])
def test_so_many_classes_reach_the_bound_and_fewer_do_not(method, n_repeats):
    """Classes are identified always or never, or all of them alike."""
    options = {"n_repeats": n_repeats, "method": method}
    n_classes = required_classes(0.9, 0.5, analysis="split", **options)
    rng = np.random.default_rng(1)
    for number, enough in ((n_classes, True), (int(0.75 * n_classes), False)):
        easy = rng.binomial(number, 0.9, size=300) / number
        alike = rng.binomial(number * n_repeats, 0.9, size=300) / (number * n_repeats)
        for accuracy in (easy, alike) if enough else (easy,):
            values, times = np.unique(accuracy, return_counts=True)
            bound = average_bayes_accuracy_lower_bound(
                values[:, np.newaxis], n_classes=number, set_sizes=[number], **options
            )
            reached = times[bound.ravel() >= 0.5].sum() / 300
            assert reached > 0.74 if enough else reached < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [2, 6])
def test_classes_that_share_distractors_cost_little_power(n_features):
    rng = np.random.default_rng(n_features)
    spread = {2: 21.0, 6: 2.75}[n_features]  # accuracy .9

    def accuracy(n_classes):
        means = spread * rng.normal(size=(n_classes, n_features))
        x = means + rng.normal(size=means.shape)
        far = ((x[:, None] - means) ** 2).sum(axis=-1)
        return (far.argmin(axis=1) == np.arange(n_classes)).mean()

    n_classes = required_classes(0.9, 0.7, analysis="split")
    found = np.array([accuracy(n_classes) for _ in range(3000)])
    assert found.mean() == pytest.approx(0.9, abs=0.005)
    bound = average_bayes_accuracy_lower_bound(
        found[:, np.newaxis], n_classes=n_classes, n_repeats=1, set_sizes=[n_classes]
    )
    assert (bound >= 0.7).mean() > 0.72


class Oracle(MarginKernel):
    """A classifier that needs no training: a region's features are its margins."""

    name = "oracle"
    as_given = True

    def prepare(self, xs, design):
        return xs, design

    def margins(self, state, labelings):
        xs, design = state
        return np.stack([x[design.test] for x in xs for _ in labelings.codes], axis=-1)


def searchlight_power(n_repeats, n_regions, analysis, n_runs, accuracy, goal):
    """Return how often the searchlight's bound reaches a goal, region by region."""
    n_classes = 4
    split = analysis == "split"
    y = np.tile(np.repeat(np.arange(n_classes), n_repeats), n_runs + split)
    runs = np.repeat(np.arange(n_runs + split), n_classes * n_repeats)
    rng = np.random.default_rng(5)
    said = (y[:, None] + rng.integers(1, n_classes, (len(y), n_regions))) % n_classes
    said = np.where(rng.random(said.shape) < accuracy, y[:, None], said)
    light = IdentificationSearchLight(
        regions=scipy.sparse.kron(np.eye(n_regions), np.ones((1, n_classes))).tocsr(),
        estimator=Oracle(),
        cv=[(np.flatnonzero(runs == 0), np.flatnonzero(runs == 1))] if split else None,
        bounds="folds" if analysis == "folds" else "auto",
    )
    x = np.eye(n_classes)[said].reshape(len(y), -1).astype(np.float32)
    bound = light.fit(x, y, groups=runs).region_scores_["bayes_accuracy_bound"]
    return (bound >= goal).mean()


# of independent outcomes, one experiment in two hundred says so by chance
@pytest.mark.filterwarnings("ignore:accuracy differs between runs")
@pytest.mark.parametrize(
    "n_regions",
    [
        pytest.param(300, id="quick"),
        pytest.param(2500, id="full", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("analysis", "n_runs"),
    [("forward", 3), ("forward", 8), ("forward", 26), ("folds", 5), ("split", None)],
)
def test_the_searchlight_has_the_power_that_was_planned(analysis, n_runs, n_regions):
    plan = {"analysis": analysis, "n_runs": n_runs}
    n_repeats = required_repeats(0.7, 0.5, n_classes=4, **plan)
    arguments = n_regions, analysis, n_runs or 1, 0.7, 0.5
    error = 3 * np.sqrt(0.8 * 0.2 / n_regions)
    assert searchlight_power(n_repeats, *arguments) >= 0.8 - error - 0.01
    if n_repeats > 1:
        assert searchlight_power(n_repeats - 1, *arguments) < 0.8 + error + 0.01


def power_by_enumeration(n_test, accuracy, goal):
    counts = np.arange(n_test + 1.0)
    reached = clopper_pearson_lower(counts, n_test, 0.05) > goal
    return binom.pmf(counts, n_test, accuracy)[reached].sum()


@pytest.mark.parametrize(
    ("accuracy", "goal", "n_classes"),
    [(0.5, None, 8), (0.5, 0.4, 8), (0.9, 0.6, 3), (0.7, 0.5, 2)],
)
def test_so_many_repeats_have_the_power_and_fewer_do_not(accuracy, goal, n_classes):
    n_repeats = required_repeats(accuracy, goal, n_classes=n_classes, analysis="split")
    goal = 1 / n_classes if goal is None else goal
    powers = [
        power_by_enumeration(r * n_classes, accuracy, goal)
        for r in range(1, n_repeats + 1)
    ]
    assert powers[-1] >= 0.8
    assert all(power < 0.8 for power in powers[:-1])


def test_more_regions_need_more():
    for plan in ({"analysis": "split"}, {"analysis": "forward", "n_runs": 5}):
        one = required_repeats(0.5, n_classes=8, **plan)
        assert required_repeats(0.5, n_classes=8, n_regions=70_000, **plan) > one
        one = required_classes(0.9, 0.7, **plan)
        assert required_classes(0.9, 0.7, n_regions=70_000, **plan) > one


def test_large_numbers_of_repeats_are_found():
    n_repeats = required_repeats(0.5, 0.49, n_classes=2, analysis="split")
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
            "more than",
        ),
        (
            required_repeats,
            {"accuracy": 0.5, "n_classes": 8, "power": 1.0},
            "power must lie",
        ),
        (
            required_repeats,
            {
                "accuracy": 0.5,
                "bound": 0.49,
                "n_classes": 8,
                "analysis": "forward",
                "n_runs": 9,
            },
            "repeats would be needed",
        ),
        (
            required_repeats,
            {"accuracy": 0.5, "n_classes": 8, "analysis": "forwards"},
            "'forwards' must be one of",
        ),
        (
            required_classes,
            {"accuracy": 0.5, "bound": 0.4, "analysis": "folds"},
            "with n_runs for",
        ),
        (
            required_classes,
            {"accuracy": 0.5, "bound": 0.4, "n_runs": 4},
            "without for 'split'",
        ),
    ],
)
def test_impossible_wishes_are_refused(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(**{"analysis": "split"} | arguments)


def test_the_analysis_has_to_be_said():
    with pytest.raises(TypeError, match="'analysis'"):
        required_repeats(0.5, n_classes=8)


def test_planning_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert required_classes(0.9, 0.7, analysis="split") == 97


def test_levels_at_which_the_bound_is_not_known_are_refused():
    options = {"n_classes": 8, "confidence_level": 0.7, "analysis": "split"}
    with pytest.raises(
        ValueError, match=r"confidence_level=0.7 must be .* at most 0.25"
    ):
        required_repeats(0.5, **options)
    assert required_repeats(0.5, n_regions=2, **options) >= 1  # 0.3 / 2 is below
