"""The bound on the mean of subjects whose designs differ."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.stats.seam import (
    LAMBDAS,
    _largest_growth,
    subjects_accuracy_lower_bound,
)


def test_regions_share_the_error():
    rng = np.random.default_rng(0)
    designs = [(rng.binomial(8, 0.7, size=(9, 1, n)), 8, (0,)) for n in (4, 7)]
    at_once = subjects_accuracy_lower_bound(designs, n_regions=20)
    alone = subjects_accuracy_lower_bound(designs, confidence_level=1 - 0.05 / 20)
    np.testing.assert_allclose(at_once, alone, atol=1e-9)


def test_nearly_equal_designs_give_nearly_the_bound_of_one_design():
    rng = np.random.default_rng(0)
    counts = rng.binomial(8, 0.6, size=(6, 20, 3, 5)).astype(float)
    designs = [(own, 8, (0, 2)) for own in counts]
    one = subjects_accuracy_lower_bound(designs)
    longer = np.concatenate([counts[0], np.full((20, 3, 1), 5.0)], axis=-1)
    mixed = subjects_accuracy_lower_bound([(longer, 8, (0, 2)), *designs[1:]])
    np.testing.assert_allclose(mixed, one, atol=0.02)  # the table has steps of .001


@pytest.mark.parametrize("numbers", [(16.0, 40.0, 72.0), (1.0, 2.0, 3.0)])
@pytest.mark.parametrize("mean", [0.1, 0.45, 0.8])
def test_the_largest_growth_is_that_of_an_optimizer(mean, numbers):
    units = np.array(numbers)[:, None]
    bets = LAMBDAS[:, None] * (units.mean(axis=0) / units)[:, None]
    found = _largest_growth(units, bets)[round(mean * 1000), ::4, 0]
    for bet, value in zip(bets[:, ::4, 0].T, found, strict=True):

        def loss(beta, bet=bet):
            return -np.sum(units[:, 0] * np.log1p(np.expm1(bet) * beta))

        best = minimize(
            loss,
            np.full(3, mean),
            bounds=[(0, 1)] * 3,
            constraints={"type": "eq", "fun": lambda beta: beta.mean() - mean},
        )
        assert value == pytest.approx(-best.fun, rel=1e-4)


def test_the_bound_of_three_designs_is_a_product_of_e_values():
    """By the definition; no hit counts as none, and NaN touches its region alone."""
    rng = np.random.default_rng(4)
    designs = [
        (rng.integers(0, 9, size=(3, 2, n)).astype(float), 8, (0, 1)) for n in (3, 6, 9)
    ]
    designs[0][0][0, :, :2] = 0
    units = np.array([[8 * (n - first) for first in (0, 1)] for n in (3, 6, 9)])
    bets = LAMBDAS[:, None] * (units.mean(axis=0) / units)[:, None]
    largest = _largest_growth(units, bets)
    bound = subjects_accuracy_lower_bound(designs, n_regions=3)
    values = []
    for first in (0, 1):
        sums = np.stack([counts[0][:, first:].sum(axis=1) for counts, _, _ in designs])
        for rate in range(len(LAMBDAS)):
            own = np.exp(bets[:, rate, first, None] * sums).mean(axis=1)
            growth = largest[round(float(bound[0]) * 1000), rate, first]
            values.append(np.prod(own) / np.exp(growth))
    assert np.mean(values) >= 60 * (1 - 1e-9)
    assert np.mean(values) < 60 * 1.2  # the table of growths has steps of .001
    designs[1][0][2, 0, 0] = np.nan
    again = subjects_accuracy_lower_bound(designs, n_regions=3)
    np.testing.assert_array_equal(again, [*bound[:2], np.nan])


@pytest.mark.parametrize("accuracies", [(0.9, 0.3, 0.3), (0.3, 0.3, 0.9), (0.5,) * 3])
def test_the_plain_mean_is_bounded_whoever_has_more_runs(accuracies):
    """Also where those with more runs are better, whom a pooled mean overrates."""
    rng, runs = np.random.default_rng(0), (12, 3, 5)
    designs = [
        (rng.binomial(8, p, size=(4000, 1, n)).astype(float), 8, (0,))
        for p, n in zip(accuracies, runs, strict=True)
    ]
    bound = subjects_accuracy_lower_bound(designs)
    assert np.mean(bound > np.mean(accuracies)) <= 0.05
    assert np.median(bound) > np.mean(accuracies) - 0.3
