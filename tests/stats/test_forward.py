"""Forward testing: e-values and bounds against naive twins, and their guarantee."""

import math

import numpy as np
import pytest

from neuroextrap.stats import (
    e_value_false_discovery_rate,
    forward_bayes_accuracy_lower_bound,
    forward_e_value,
)
from tests.stats.seam import LAMBDAS, _forward


def naive_e_value(n_correct, n_units, accuracy, first_steps, unit_weights=None):
    """Go through orders, first steps and lambdas one by one."""
    terms = []
    for o in range(len(n_correct)):
        for first in first_steps:
            for rate in LAMBDAS:
                product = 1.0
                for t in range(first, len(n_correct[o])):
                    n = n_units[o][t]
                    n = n if unit_weights is None else 1 / unit_weights[o][t]
                    mean = (1 + (math.exp(rate) - 1) * accuracy) ** n
                    product *= math.exp(rate * n_correct[o][t]) / mean
                terms.append(product)
    return sum(terms) / len(terms)


def designs():
    rng = np.random.default_rng(5)
    equal = np.full((3, 4), 6)
    yield rng.integers(0, 7, (3, 4)).astype(float), equal, (0,), None
    yield rng.integers(0, 7, (3, 4)) / 2, equal, (1, 2), None
    uneven = rng.integers(4, 9, (2, 5))
    yield uneven * rng.uniform(size=(2, 5)), uneven, (0, 1, 4), None
    weights = 1.0 / uneven * rng.uniform(1, 1.5, size=uneven.shape)
    yield rng.uniform(size=(2, 5)) / weights, uneven, (0, 2), weights
    yield rng.uniform(size=(1, 3)), np.ones((1, 3), dtype=int), (0,), None


@pytest.mark.parametrize("design", list(designs()))
@pytest.mark.parametrize("accuracy", [0.0, 0.2, 0.75, 1.0])
def test_e_value_equals_the_naive_product(design, accuracy):
    n_correct, n_units, first_steps, weights = design
    value = forward_e_value(
        n_correct, n_units, accuracy, first_steps=first_steps, unit_weights=weights
    )
    expected = naive_e_value(n_correct, n_units, accuracy, first_steps, weights)
    np.testing.assert_allclose(value, expected, rtol=1e-10)


@pytest.mark.parametrize("design", list(designs()))
def test_bound_is_where_the_e_value_falls_to_its_goal(design):
    n_correct, n_units, first_steps, weights = design
    options = {"first_steps": first_steps, "unit_weights": weights}
    bound = forward_bayes_accuracy_lower_bound(
        n_correct, n_units, confidence_level=0.6, n_regions=2, **options
    )
    goal = 2 / 0.4
    if bound == 0:
        assert forward_e_value(n_correct, n_units, 0.0, **options) < goal
    else:
        at_bound = forward_e_value(n_correct, n_units, bound, **options)
        assert goal <= at_bound <= goal * (1 + 1e-5)


def test_regions_are_leading_axes_and_do_not_matter_to_one_another(monkeypatch):
    rng = np.random.default_rng(0)
    n_correct = rng.integers(0, 9, size=(2, 5, 3, 4)).astype(float)
    n_correct[1, 2] = np.nan
    together = forward_bayes_accuracy_lower_bound(n_correct, 8)
    monkeypatch.setattr("neuroextrap.stats._forward._BLOCK_NUMBERS", 50)
    np.testing.assert_array_equal(
        forward_bayes_accuracy_lower_bound(n_correct, 8), together
    )
    assert together.shape == (2, 5)
    assert np.isnan(together[1, 2])
    assert np.isnan(together).sum() == 1
    for i, j in np.ndindex(2, 5):
        alone = forward_bayes_accuracy_lower_bound(n_correct[i, j], 8)
        np.testing.assert_allclose(together[i, j], alone, rtol=1e-12)


def test_e_values_keep_the_shape_of_the_regions():
    n_correct = np.random.default_rng(1).integers(0, 9, size=(2, 5, 3, 4))
    together = forward_e_value(n_correct, 8, np.full((2, 5), 0.3))
    assert together.shape == (2, 5)
    one = forward_e_value(n_correct[1, 4], 8, 0.3)
    assert one.shape == ()
    assert together[1, 4] == pytest.approx(float(one), rel=1e-12)


def test_the_mean_of_unequal_units_is_at_most_one():
    """Of chances of success with one weighted mean, by the product over the units."""
    rng = np.random.default_rng(0)
    reached = 0
    for _ in range(2000):
        weights = rng.dirichlet(np.full(rng.integers(1, 9), rng.choice([0.3, 3, 100])))
        chances = rng.beta(0.3, 0.3, size=len(weights)).round(rng.integers(0, 6))
        accuracy, heaviest = weights @ chances, weights.max()
        for rate in LAMBDAS:
            growth = np.expm1(rate * weights / heaviest)
            mean = np.log1p(chances * growth).sum()
            most = np.log1p(accuracy * np.expm1(rate)) / heaviest
            assert mean <= most + 1e-9
            reached += mean > 0.999 * most > 0
    assert reached  # nothing smaller would do


def test_a_rare_class_costs_no_more_than_its_few_samples():
    """One of two classes once in a run: as two samples a run, not as a share of 16."""
    few = forward_bayes_accuracy_lower_bound(np.full((1, 12), 2.0), 2)
    many = forward_bayes_accuracy_lower_bound(
        np.full((1, 12), 2.0), 16, unit_weights=0.5
    )
    assert many == few > 0.8


def test_a_block_counts_once_however_many_scans_it_has():
    """The share of correct scans of a block is one unit, not as many as scans."""
    shares = np.array([[3.5, 3.75, 4.0]])  # of four blocks a run
    blocks = forward_bayes_accuracy_lower_bound(shares, 4)
    scans = forward_bayes_accuracy_lower_bound(shares * 10, 40)
    assert blocks < scans


def test_no_region_and_no_correct_outcome():
    assert forward_bayes_accuracy_lower_bound(np.empty((0, 2, 3)), 4).shape == (0,)
    assert forward_bayes_accuracy_lower_bound(np.zeros((2, 3)), 4) == 0


def forward_outcomes(outcomes, n_before):
    """Arrange one outcome a run, (..., n_runs), in its cyclic orders.

    Step t of order o tests run (o + n_before + t) modulo the number of runs.
    """
    n_runs = outcomes.shape[-1]
    steps = n_before + np.arange(n_runs - n_before)
    return outcomes[..., (np.arange(n_runs)[:, None] + steps) % n_runs]


@pytest.mark.parametrize("accuracy", [1 / 8, 0.5, 0.95])
def test_the_bound_exceeds_the_truth_no_more_often_than_allowed(accuracy):
    """The worst case: outcomes exactly Bernoulli, the same ones in every order."""
    rng = np.random.default_rng([2026, int(100 * accuracy)])
    runs = rng.binomial(8, accuracy, size=(4000, 12))
    n_correct = forward_outcomes(runs, 4)
    bound = forward_bayes_accuracy_lower_bound(n_correct, 8, first_steps=(0, 2))
    misses = (bound > accuracy).mean()
    assert misses <= 0.05
    assert bound.mean() > accuracy - 0.3  # and it is not empty


def test_adding_runs_after_looking_is_allowed_in_chronological_order():
    """Stop at the first run after which the e-value reaches 20: at most 5 in 100."""
    rng = np.random.default_rng(0)
    runs = rng.binomial(8, 1 / 8, size=(3000, 1, 30)).astype(float)
    reached = np.zeros(len(runs), dtype=bool)
    for n_runs in range(1, 31):
        reached |= forward_e_value(runs[..., :n_runs], 8, 1 / 8) >= 20
    assert 0 < reached.mean() <= 0.05


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_correct": [1.0, 2.0]}, "n_correct must have shape"),
        ({"n_correct": [[9.0]]}, "n_correct must lie between 0 and n_units"),
        ({"n_correct": [[-1.0]]}, "n_correct must lie between 0 and n_units"),
        ({"n_units": 0}, "n_units must be whole numbers"),
        ({"n_units": 2.5}, "n_units must be whole numbers"),
        ({"n_units": [8, 8]}, "n_units must broadcast"),
        ({"first_steps": (1,)}, r"integers of 0\.\.0"),
        ({"first_steps": (-1,)}, r"integers of 0\.\.0"),
        ({"first_steps": (0.5,)}, "first_steps must be one or more integers"),
        ({"first_steps": ()}, "first_steps must be one or more integers"),
        ({"unit_weights": 0.01}, "unit_weights must be the largest"),
        ({"unit_weights": 0.12}, "unit_weights must be the largest"),
        ({"unit_weights": 1.01}, "unit_weights must be the largest"),
        ({"confidence_level": 1.0}, "confidence_level must lie strictly"),
        ({"n_regions": 0}, "n_regions must be an integer"),
    ],
)
def test_bad_designs_are_refused(change, message):
    arguments = {"n_correct": [[4.0]], "n_units": 8} | change
    with pytest.raises(ValueError, match=message):
        forward_bayes_accuracy_lower_bound(**arguments)


def test_equal_weights_are_those_of_the_units():
    found = forward_e_value([[4.0, 3.0]], 5, 0.5, unit_weights=1 / 5)
    assert found == forward_e_value([[4.0, 3.0]], 5, 0.5)


def test_a_hypothesis_is_a_probability():
    with pytest.raises(ValueError, match="accuracy must lie between"):
        forward_e_value([[4.0]], 8, 1.5)


def test_false_discovery_rate_equals_the_definition():
    rng = np.random.default_rng(3)
    values = rng.exponential(10, size=40)
    rate = e_value_false_discovery_rate(values)
    for alpha in np.linspace(0.001, 0.999, 50):
        ordered = np.sort(values)[::-1]
        enough = [j for j in range(1, 41) if ordered[j - 1] >= 40 / (j * alpha)]
        reported = np.zeros(40, dtype=bool)
        if enough:
            reported = values >= ordered[max(enough) - 1]
        np.testing.assert_array_equal(rate <= alpha, reported)


def test_false_discovery_rate_leaves_unknown_regions_out():
    rate = e_value_false_discovery_rate([np.nan, 50.0, 0.0])
    np.testing.assert_array_equal(rate, [np.nan, 0.04, 1.0])
    with pytest.raises(ValueError, match="shape"):
        e_value_false_discovery_rate([[1.0]])
    with pytest.raises(ValueError, match="at least 0"):
        e_value_false_discovery_rate([-1.0])


def test_newton_stopped_early_bounds_from_below(monkeypatch):
    """However few steps there is time for, the bound holds, and more steps raise it."""
    rng = np.random.default_rng(9)
    n_correct = rng.binomial(8, 0.8, size=(30, 3, 4)).astype(float)
    n_units = np.full((3, 4), 8)
    full = forward_bayes_accuracy_lower_bound(n_correct, n_units)
    before = np.zeros(len(full))
    for n_steps in (1, 2, 4):
        monkeypatch.setattr(_forward, "_STEPS", n_steps)
        early = forward_bayes_accuracy_lower_bound(n_correct, n_units)
        assert (early <= full + 1e-9).all()
        assert (early >= before).all()
        before = early
    monkeypatch.setattr(_forward, "_STEPS", 1)
    early = forward_bayes_accuracy_lower_bound(n_correct, n_units)
    assert (early < full - 1e-6).any()  # one step is not enough here
