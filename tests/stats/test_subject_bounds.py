"""Bounds on the mean Bayes accuracy of subjects: naive twins and coverage."""

import functools

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as scipy_stats

from neuroextrap.stats import forward_bayes_accuracy_lower_bound
from tests.stats.seam import (
    LAMBDAS,
    population_accuracy_lower_bound,
    subjects_accuracy_lower_bound,
)


def of_one_design(n_correct, n_units, first_steps=(0,), **options):
    """Bound the mean of subjects (n_subjects, ...) who were tested alike."""
    designs = [(own, n_units, first_steps) for own in n_correct]
    return subjects_accuracy_lower_bound(designs, **options)


def test_the_population_bound_is_the_root_of_the_mean_wager():
    accuracy = np.random.default_rng(0).uniform(0.3, 0.9, size=(9, 3))
    bounds = population_accuracy_lower_bound(accuracy, n_regions=5)
    shares = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0]
    for voxel in range(3):

        def excess(mean, x=accuracy[:, voxel]):
            wagers = [np.prod(1 - c + c * x / mean) for c in shares]
            return np.average(wagers, weights=[1] * 8 + [8]) - 5 / 0.05

        expected = optimize.brentq(excess, 1e-3, 1)
        assert bounds[voxel] == pytest.approx(expected)


def _e_value(accuracy, mean):
    shares = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0]
    wagers = [np.prod(1 - c + c * accuracy / mean) for c in shares]
    return np.average(wagers, weights=[1] * 8 + [8])


def test_bounds_of_selected_regions_by_their_definition():
    """The largest k of n with k e-values of n / (.05 k), and bounds at this value."""
    rng = np.random.default_rng(4)
    means = np.array([0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.25, 0.25])
    accuracy = rng.normal(means, 0.06, size=(14, 8)).clip(0, 1)
    e_values = [_e_value(x, 0.25) for x in accuracy.T]
    [k] = [
        k
        for k in range(8, 0, -1)
        if sum(e >= 8 / (0.05 * k) for e in e_values) >= k
        and not any(
            sum(e >= 8 / (0.05 * more) for e in e_values) >= more
            for more in range(k + 1, 9)
        )
    ]
    assert 2 < k < 6
    bounds = population_accuracy_lower_bound(accuracy, chance=0.25)
    for x, e, bound in zip(accuracy.T, e_values, bounds, strict=True):
        expected = optimize.brentq(lambda m, x=x: _e_value(x, m) - 160 / k, 1e-3, 1)
        assert bound == pytest.approx(expected)
        assert (bound >= 0.25) == (e >= 160 / k)  # selected are those above chance
    at_once = population_accuracy_lower_bound(accuracy, n_regions=8)
    assert (bounds > at_once).all()
    spoilt = np.c_[accuracy, np.full(14, np.nan)]  # a region that nobody has
    found = population_accuracy_lower_bound(spoilt, chance=0.25)
    np.testing.assert_array_equal(found, [*bounds, np.nan])
    nothing = population_accuracy_lower_bound(np.full((14, 8), 0.25), chance=0.25)
    assert (nothing < 0.25).all()
    nearly = np.full((14, 8), 0.25)  # one of 8 has 120, between 160 / 2 and 160
    near = optimize.brentq(lambda a: _e_value(np.full(14, a), 0.25) - 120, 0.3, 1)
    nearly[:, 0] = near
    assert (population_accuracy_lower_bound(nearly, chance=0.25) < 0.25).all()
    alone = population_accuracy_lower_bound(np.full((3, 1), np.nan), chance=0.25)
    assert np.isnan(alone).all()


@functools.cache
def _bounds_of_counts(*counts):
    """Bounds of regions where so many subjects, of nine, have accuracy 1, else .1."""
    columns = [np.where(np.arange(9) < count, 1.0, 0.1) for count in counts]
    return population_accuracy_lower_bound(np.stack(columns, axis=1), chance=0.19)


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.1, 0.5), (0.4, 0.7)])
def test_an_expected_share_of_selected_bounds_is_wrong_by_enumeration(rates, copied):
    """All numbers of subjects, of nine, with accuracy 1 instead of .1, by region."""
    n, truth = 9, [0.1 + 0.9 * rate for rate in rates]
    wrong = total = 0.0
    for first in range(n + 1):
        for second in [first] if copied else range(n + 1):
            weight = scipy_stats.binom.pmf(first, n, rates[0])
            if not copied:
                weight *= scipy_stats.binom.pmf(second, n, rates[1])
            means = [truth[0]] * 2 if copied else truth
            bounds = _bounds_of_counts(first, second)
            selected = bounds >= 0.19
            share = np.mean((bounds > means)[selected]) if selected.any() else 0.0
            wrong, total = wrong + weight * share, total + weight
    assert total == pytest.approx(1)
    assert 0 < wrong <= 0.05


def test_one_subject_has_the_forward_bound():
    rng = np.random.default_rng(1)
    n_correct = rng.integers(3, 9, size=(1, 6, 4, 5))
    options = {"first_steps": (0, 2), "n_regions": 6}
    bounds = of_one_design(n_correct, 8, **options)
    expected = forward_bayes_accuracy_lower_bound(n_correct[0], 8, **options)
    np.testing.assert_allclose(bounds, expected, atol=1e-9)


def test_the_bound_of_these_subjects_is_a_product_of_e_values():
    rng = np.random.default_rng(2)
    n_correct = rng.integers(0, 9, size=(4, 3, 5))  # subjects, orders, steps
    bound = of_one_design(n_correct, 8, first_steps=(0, 2))
    values = []
    for rate in LAMBDAS:
        for first in (0, 2):
            n = 8 * (5 - first)
            product = 1.0
            for subject in n_correct:
                sums = subject[:, first:].sum(axis=1)
                cost = (1 - bound + bound * np.exp(rate)) ** n
                product *= np.mean(np.exp(rate * sums)) / cost
            values.append(product)
    assert np.mean(values) == pytest.approx(20, rel=1e-6)


def test_more_subjects_say_more_and_nothing_is_nan():
    few = population_accuracy_lower_bound(np.full((8, 2), 0.6))
    many = population_accuracy_lower_bound(np.full((32, 2), 0.6))
    assert (few > 0).all()
    assert (few < many).all()
    assert (many < 0.6).all()
    accuracy = np.full((8, 2), 0.6)
    accuracy[3, 1] = np.nan
    np.testing.assert_array_equal(
        np.isnan(population_accuracy_lower_bound(accuracy)), [False, True]
    )
    n_correct = np.full((5, 2, 1, 4), 6.0)
    n_correct[0, 1, 0, 0] = np.nan
    np.testing.assert_array_equal(np.isnan(of_one_design(n_correct, 8)), [False, True])
    assert population_accuracy_lower_bound(np.zeros(5)) == 0
    assert population_accuracy_lower_bound(np.ones(5)) < 1


@pytest.mark.parametrize("n_sets", [400, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("spread", ["none", "beta", "two kinds"])
def test_the_bounds_cover(spread, n_sets):
    rng = np.random.default_rng(3)
    n_subjects, n_trials = 12, 32
    true = {
        "none": np.full((n_subjects, n_sets), 0.3),
        "beta": rng.beta(3, 7, size=(n_subjects, n_sets)),
        "two kinds": np.where(rng.random((n_subjects, n_sets)) < 0.25, 0.75, 0.15),
    }[spread]
    outcomes = rng.binomial(n_trials // 4, np.repeat(true[..., None], 4, axis=-1))
    population = population_accuracy_lower_bound(outcomes.sum(axis=-1) / n_trials)
    these = of_one_design(outcomes[:, :, None], n_trials // 4)
    for bound, truth in ((population, 0.3), (these, true.mean(axis=0))):
        misses = int((bound > truth).sum())
        p = scipy_stats.binomtest(misses, n_sets, 0.05, alternative="greater").pvalue
        assert p > 1e-4, misses / n_sets
        assert np.median(bound) > 0.1  # it says something


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"accuracy must lie in \[0, 1\]"):
        population_accuracy_lower_bound([0.5, 1.5])
    with pytest.raises(ValueError, match="n_subjects"):
        population_accuracy_lower_bound(0.5)
    with pytest.raises(ValueError, match="n_orders, n_steps"):
        of_one_design([[1, 2]], 8)
    with pytest.raises(ValueError, match="between 0 and n_units"):
        of_one_design([[[9.0]]], 8)
    with pytest.raises(ValueError, match="integers of 0"):
        of_one_design([[[4.0]]], 8, first_steps=(1,))
    with pytest.raises(ValueError, match="same in every order"):
        of_one_design(np.zeros((2, 2, 2)), [[8, 8], [8, 7]])


def test_the_population_bound_is_near_students_limit_with_twenty_subjects():
    """At most .04 below the one-sided limit, for accuracies as labs have them."""
    accuracy = np.random.default_rng(0).normal(0.35, 0.08, size=(20, 400)).clip(0, 1)
    error = accuracy.std(axis=0, ddof=1) / 20**0.5
    limit = accuracy.mean(axis=0) - scipy_stats.t.isf(0.05, 19) * error
    bound = population_accuracy_lower_bound(accuracy)
    assert 0 < np.mean(limit - bound) < 0.04


@pytest.mark.parametrize("kind", ["two values", "like others", "rare zeros"])
def test_the_population_bound_covers_the_mean(kind):
    rng = np.random.default_rng(0)
    accuracy = {
        "two values": rng.choice([0.1, 0.6], size=(12, 4000)),
        "like others": rng.normal(0.4, 0.05, size=(12, 4000)),
        "rare zeros": np.where(rng.random((12, 4000)) < 0.05, 0.0, 0.4),
    }[kind]
    mean = {"two values": 0.35, "like others": 0.4, "rare zeros": 0.38}[kind]
    bound = population_accuracy_lower_bound(accuracy)
    assert np.mean(bound > mean) <= 0.05
