"""Generalized Pareto tails: formulas, calibration, known tails, refusals."""

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import permutation_p_value, tail_p_value
from neuroextrap.stats._tail_p_value import (
    _CRITICAL,
    _SHAPE,
    anderson_darling,
    fit_moments,
    survival,
)


@pytest.mark.parametrize("shape", [-0.5, -0.1, 0.0, 0.2])
def test_survival_is_the_generalized_pareto(shape):
    x = np.linspace(0, 1.9, 20)
    np.testing.assert_allclose(
        survival(x, 1.0, np.array(shape)),
        stats.genpareto.sf(x, shape),
        atol=1e-15,
        rtol=1e-7,
    )


@pytest.mark.parametrize("shape", [-0.5, 0.0, 0.15])
def test_moments_invert_the_distribution(shape):
    excess = stats.genpareto.ppf((np.arange(200_000) + 0.5) / 200_000, shape, scale=3)
    scale, fitted = fit_moments(excess[:, np.newaxis])
    np.testing.assert_allclose([scale[0], fitted[0]], [3, shape], atol=0.03)


def test_anderson_darling_equals_its_definition():
    # n times the integral of (F_n - F)**2 / (F (1 - F)) dF
    x = np.sort(np.random.default_rng(0).exponential(size=15))
    grid = (np.arange(2_000_000) + 0.5) / 2_000_000
    empirical = np.searchsorted(stats.expon.cdf(x), grid, side="right") / 15
    naive = 15 * np.mean((empirical - grid) ** 2 / (grid * (1 - grid)))
    value = anderson_darling(x[:, np.newaxis], np.ones(1), np.zeros(1))
    np.testing.assert_allclose(value, naive, rtol=1e-4)


@pytest.mark.parametrize("shape", [-0.25, 0.0, 0.1])
@pytest.mark.parametrize("n", [50, 250])
def test_good_fits_are_rejected_at_about_one_in_twenty(shape, n):
    rng = np.random.default_rng(n)
    excess = np.sort(stats.genpareto.rvs(shape, size=(n, 3000), random_state=rng), 0)
    scale, fitted = fit_moments(excess)
    statistic = anderson_darling(excess, scale, fitted)
    rejected = np.mean(statistic >= np.interp(fitted, _SHAPE, _CRITICAL))
    assert 0.01 < rejected < 0.08


def test_bad_fits_are_rejected():
    rng = np.random.default_rng(1)
    excess = np.sort(rng.lognormal(0, 0.2, size=(250, 500)), axis=0)
    scale, fitted = fit_moments(excess)
    statistic = anderson_darling(excess, scale, fitted)
    assert np.mean(statistic >= np.interp(fitted, _SHAPE, _CRITICAL)) > 0.95


@pytest.mark.parametrize(
    ("null", "start"),
    [(stats.norm(), 0.9), (stats.expon(), 0.751), (stats.gumbel_r(), 0.751)],
    ids=["normal", "exponential", "gumbel"],
)
def test_small_p_values_are_right_on_average(null, start):
    truth = np.array([1e-2, 1e-3])
    scores = null.isf(truth)
    values = null.rvs(size=(1000, 300), random_state=np.random.default_rng(2))
    fits = [tail_p_value(scores, column, start=start) for column in values.T]
    assert np.mean([good for _, good in fits]) > 0.99
    np.testing.assert_allclose(
        np.mean([p for p, _ in fits], axis=0) / truth, 1, atol=0.2
    )


def test_only_small_p_values_are_replaced_and_never_increase():
    null = np.random.default_rng(3).normal(size=999)
    scores = np.linspace(-3, 12, 400)
    p, good = tail_p_value(scores, null)
    assert good
    plain = permutation_p_value(scores, null[:, np.newaxis])
    large = plain >= 0.10
    np.testing.assert_array_equal(p[large], plain[large])
    assert (np.diff(p[~large]) <= 0).all()
    assert p.min() == 1e-6
    assert (p[scores > null.max()] < 1e-3).all()


def test_columns_are_fitted_alone():
    rng = np.random.default_rng(4)
    null, score = rng.normal(size=(500, 2, 3)), np.full((2, 3), 2.5)
    score[0, 1] = np.nan
    p, good = tail_p_value(score, null)
    assert p.shape == good.shape == (2, 3)
    assert np.isnan(p[0, 1])
    for i, j in np.ndindex(2, 3):
        alone, one_good = tail_p_value(score[i, j], null[:, i, j])
        np.testing.assert_array_equal([alone, one_good], [p[i, j], good[i, j]])


@pytest.mark.parametrize(
    "null", [np.arange(600) % 3, np.zeros(500), np.arange(20.0), np.arange(20_000) % 3]
)
def test_without_a_fit_the_permutation_p_value_stays(null):
    p, good = tail_p_value([100.0, 0.5], null)
    assert not good
    np.testing.assert_array_equal(p, permutation_p_value([100.0, 0.5], null[:, None]))


@pytest.mark.parametrize(
    ("score", "null", "message"),
    [
        (1.0, [], "at least one permutation"),
        ([1.0, 2.0], np.ones((50, 3)), "broadcast"),
        ([1.0, 2.0], np.ones((50, 1)), "null_scores must have shape"),
        (1.0, [np.inf] * 50, "null_scores must be finite"),
        (1.0, [np.nan] * 50, "null_scores hold NaN"),
    ],
)
def test_refuses(score, null, message):
    with pytest.raises(ValueError, match=message):
        tail_p_value(score, null)


def test_refuses_start():
    with pytest.raises(ValueError, match="start must lie strictly"):
        tail_p_value(1.0, np.arange(50.0), start=1)
