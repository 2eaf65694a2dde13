"""Accuracy curves: exact binomials, invariants, errors."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import average_accuracy
from tests.stats.seam import accuracy_weights, default_set_sizes


@pytest.mark.parametrize("n_classes", [2, 3, 7, 40])
def test_weights_are_exact_binomial_ratios(n_classes):
    sizes = np.arange(2, n_classes + 1)
    exact = [
        [float(Fraction(comb(v, k - 1), comb(n_classes - 1, k - 1))) for k in sizes]
        for v in range(n_classes)
    ]
    weights = accuracy_weights(n_classes, sizes)
    np.testing.assert_allclose(weights, exact, rtol=1e-13, atol=0)


def test_weights_of_a_hundred_thousand_classes():
    n_classes, v, k = 100_000, 99_990, 50_000
    exact = Fraction(comb(v, k - 1), comb(n_classes - 1, k - 1))
    weights = accuracy_weights(n_classes, [k])
    np.testing.assert_allclose(weights[v, 0], float(exact), rtol=1e-12)
    assert weights[-1, 0] == 1
    assert (weights[: k - 1, 0] == 0).all()


@pytest.mark.parametrize("n_classes", [50, 100_000])
@pytest.mark.parametrize("a", [0.5, 4.0])
def test_binomial_wins_of_beta_chances_in_closed_form(n_classes, a):
    # wins Binomial(K - 1, U) given U ~ Beta(a, 1): the curve is E U**(k - 1)
    v = np.arange(n_classes)
    wins = stats.betabinom.pmf(v, n_classes - 1, a, 1)
    sizes = default_set_sizes(n_classes)
    np.testing.assert_allclose(
        average_accuracy(wins / wins.sum(), sizes), a / (a + sizes - 1), rtol=1e-8
    )


def test_mean_wins_is_pairwise_accuracy():
    wins = np.random.default_rng(0).dirichlet(np.ones(9), size=5)
    np.testing.assert_allclose(average_accuracy(wins, 2), wins @ np.arange(9) / 8)


def test_all_classes_is_the_top_mass_and_curve_never_increases():
    wins = np.random.default_rng(1).dirichlet(np.ones(30), size=50)
    curve = average_accuracy(wins, np.arange(2, 31))
    np.testing.assert_array_equal(curve[:, -1], wins[:, -1])
    assert (np.diff(curve, axis=-1) <= 1e-15).all()


@pytest.mark.parametrize("n_rows", [1, 3, 64])
def test_rows_do_not_depend_on_their_neighbors(n_rows):
    wins = np.random.default_rng(2).dirichlet(np.ones(50), size=192)
    whole = average_accuracy(wins, [2, 7, 50])
    parts = [
        average_accuracy(wins[i : i + n_rows], [2, 7, 50])
        for i in range(0, len(wins), n_rows)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_many_sizes_in_several_parts(monkeypatch):
    wins = np.random.default_rng(3).dirichlet(np.ones(20), size=4)
    whole = average_accuracy(wins, np.arange(2, 21))
    monkeypatch.setattr("neuroextrap.stats._accuracy._MAX_WEIGHTS", 60)
    np.testing.assert_array_equal(average_accuracy(wins, np.arange(2, 21)), whole)


def test_shapes_and_missing_regions():
    wins = np.full((2, 3, 4), 0.25)
    wins[1, 2] = np.nan
    assert average_accuracy(wins, [2, 3]).shape == (2, 3, 2)
    curve = average_accuracy(wins, 4)
    assert curve.shape == (2, 3)
    assert np.isnan(curve).sum() == 1
    assert np.isnan(curve[1, 2])


@pytest.mark.parametrize("n_classes", [2, 5, 32, 33, 120, 100_000])
def test_default_set_sizes(n_classes):
    sizes = default_set_sizes(n_classes)
    assert sizes[0] == 2
    assert sizes[-1] == n_classes
    assert len(sizes) <= 32
    assert (np.diff(sizes) > 0).all()
    if n_classes <= 32:
        assert len(sizes) == n_classes - 1


@pytest.mark.parametrize("sizes", [1, 6, [2, 6], 2.5, [], [[2]], np.nan])
def test_refuses_set_sizes(sizes):
    with pytest.raises(ValueError, match="set_sizes must be"):
        average_accuracy(np.full(5, 0.2), sizes)


@pytest.mark.parametrize(
    "wins", [np.full(5, 0.3), [1.0], 1.0, [-0.5, 1.5], [np.nan, 1.0], [1.0, np.nan]]
)
def test_refuses_wins(wins):
    with pytest.raises(ValueError, match="wins must"):
        average_accuracy(wins, 2)


def test_refuses_numbers_of_classes():
    with pytest.raises(TypeError, match="n_classes must be an integer"):
        default_set_sizes(8.0)
    with pytest.raises(ValueError, match="n_classes must be an integer >= 2"):
        accuracy_weights(1, [2])
