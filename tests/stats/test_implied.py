"""Implied information against root finding on the exact curves."""

import math

import numpy as np
import pytest
from scipy import optimize

from neuroextrap.stats import (
    average_accuracy,
    gaussian_identification_accuracy,
    implied_information,
    resolution_information,
)
from tests.stats.seam import default_set_sizes


def naive_information(curve, sizes):
    """Scan the squared distance, then minimize it; bits."""

    def distance(shift):
        fitted = gaussian_identification_accuracy(shift**2 / 2, sizes, base=math.e)
        return np.square(curve - fitted).sum()

    grid = np.linspace(0, 14, 281)
    curves = gaussian_identification_accuracy(grid**2 / 2, sizes, base=math.e)
    nearest = int(np.argmin(np.square(curve - curves).sum(axis=1)))
    found = optimize.minimize_scalar(
        distance,
        bounds=(max(grid[nearest] - 0.05, 0), grid[nearest] + 0.05),
        method="bounded",
        options={"xatol": 1e-10},
    )
    shift = found.x if found.fun < distance(0.0) else 0.0
    return shift**2 / 2 / math.log(2)


@pytest.mark.parametrize("n_classes", [2, 8, 120])
def test_equals_direct_minimization(n_classes):
    rng = np.random.default_rng(n_classes)
    wins = rng.dirichlet(np.linspace(0.5, 2, n_classes), size=3)
    sizes = default_set_sizes(n_classes)
    curves = average_accuracy(wins, sizes)
    naive = [naive_information(curve, sizes) for curve in curves]
    # the naive minimum is only known to the square root of rounding error
    np.testing.assert_allclose(
        implied_information(curves, sizes), naive, atol=1e-6, rtol=1e-6
    )


@pytest.mark.parametrize("sizes", [[2], [2, 3, 5, 8], [2, 100, 1e5], [1e12]])
def test_inverts_the_curve(sizes):
    bits = np.concatenate([np.geomspace(1e-4, 1, 30), np.linspace(1, 25, 40)])
    if sizes == [1e12]:  # where accuracies are far above rounding error
        bits = np.linspace(10, 50, 40)
    curves = gaussian_identification_accuracy(bits, sizes)
    np.testing.assert_allclose(implied_information(curves, sizes), bits, rtol=1e-8)


def test_chance_and_below_are_zero():
    sizes = np.array([2, 4, 8])
    curves = np.stack([1 / sizes, 0.5 / sizes, np.zeros(3)])
    np.testing.assert_array_equal(implied_information(curves, sizes), 0)


def test_perfect_and_missing_curves():
    curves = np.array([[1.0, 1.0], [1.0, np.nan], [1.0, 0.99]])
    bits = implied_information(curves, [2, 8])
    assert bits[0] == np.inf
    assert np.isnan(bits[1])
    assert 5 < bits[2] < 30


def test_rows_do_not_depend_on_their_neighbors(monkeypatch):
    wins = np.random.default_rng(0).dirichlet(np.ones(20), size=100)
    sizes = default_set_sizes(20)
    curves = average_accuracy(wins, sizes)
    whole = implied_information(curves, sizes)
    monkeypatch.setattr("neuroextrap.stats._gaussian_limit._CURVES_AT_ONCE", 7)
    np.testing.assert_array_equal(implied_information(curves, sizes), whole)
    one = [implied_information(curve, sizes) for curve in curves]
    np.testing.assert_array_equal(one, whole)


def test_one_size_without_axis():
    bits = implied_information(np.array([[0.5, 0.9], [1.0, 0.7]]), 2)
    assert bits.shape == (2, 2)
    assert bits[0, 0] == 0
    assert bits[1, 0] == np.inf
    assert implied_information(0.9, 2).shape == ()
    np.testing.assert_allclose(
        implied_information(0.9, 2, base=math.e),
        implied_information(0.9, 2) * math.log(2),
    )


def test_resolution_is_half_a_point_lost_to_one_distractor():
    n_classes, n_test = 6, 30
    sizes = default_set_sizes(n_classes)
    wins = np.zeros(n_classes)
    wins[-1], wins[-2] = 1 - 0.5 / n_test, 0.5 / n_test
    np.testing.assert_allclose(
        resolution_information(n_classes, n_test, sizes),
        implied_information(average_accuracy(wins, sizes), sizes),
        rtol=1e-9,
    )


def test_resolution_has_the_unit_that_was_asked_for():
    nats = resolution_information(6, 30, [2, 6], base=math.e)
    bits = resolution_information(6, 30, [2, 6])
    np.testing.assert_allclose(nats, bits * math.log(2))


@pytest.mark.parametrize(
    ("curve", "sizes", "message"),
    [
        ([0.5, 1.1], [2, 3], "accuracy must lie in"),
        ([50.0], [2], "accuracy must lie in"),
        ([0.5, 0.4], [2, 3, 4], "one value per set size"),
        (0.5, [2], "one value per set size"),
        ([0.5], [1], "set_sizes must be"),
    ],
)
def test_refuses(curve, sizes, message):
    with pytest.raises(ValueError, match=message):
        implied_information(curve, sizes)


def test_refuses_base_and_counts():
    with pytest.raises(ValueError, match="base must be"):
        implied_information(0.9, 2, base=0)
    with pytest.raises(ValueError, match="n_test must be"):
        resolution_information(8, 0, [2])
    with pytest.raises(TypeError, match="n_classes must be"):
        resolution_information(8.5, 10, [2])
    with pytest.raises(ValueError, match="set_sizes must be whole"):
        resolution_information(8, 10, [2, 9])
