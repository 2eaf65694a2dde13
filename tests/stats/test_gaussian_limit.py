"""The Gaussian limit against quadrature, closed forms and reference constants."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from neuroextrap.stats import gaussian_identification_accuracy


def accuracy(shift, set_sizes):
    """Accuracy at a shift c instead of an information."""
    return gaussian_identification_accuracy(
        0.5 * np.square(shift), set_sizes, base=math.e
    )


@pytest.mark.parametrize("k", [2, 3, 20, 1e3, 1e6, 1e12, 1e18])
def test_no_information_is_chance(k):
    np.testing.assert_allclose(accuracy(0, k), 1 / k, rtol=1e-12)


@pytest.mark.parametrize("shift", [0.1, 1, 5, 12])
def test_two_classes_in_closed_form(shift):
    np.testing.assert_allclose(
        accuracy(shift, 2), special.ndtr(shift / np.sqrt(2)), rtol=1e-13
    )


def test_three_classes_in_closed_form():
    # all three orders of normal scores: bivariate normal with correlation 1/2
    shift = 1.3
    upper = np.array([shift, shift]) / np.sqrt(2)
    exact = stats.multivariate_normal.cdf(upper, cov=[[1, 0.5], [0.5, 1]])
    np.testing.assert_allclose(accuracy(shift, 3), exact, rtol=1e-5)


def test_reference_constants():
    np.testing.assert_allclose(
        accuracy([4, 7], 1e12), [1.0622489623e-3, 0.45622354148], rtol=1e-10
    )
    np.testing.assert_allclose(accuracy(2, 20), 0.5579895753, rtol=1e-9)
    np.testing.assert_allclose(accuracy(3.236254783, 1000), 0.5, rtol=1e-9)


@pytest.mark.parametrize("k", [5, 1000, 1e7])
@pytest.mark.parametrize("shift", [0.2, 3.0, 8.0])
def test_equals_adaptive_quadrature(k, shift):
    center = max(shift, special.ndtri(1 - 1 / k))
    exact, _ = integrate.quad(
        lambda z: stats.norm.pdf(z - shift) * math.exp((k - 1) * special.log_ndtr(z)),
        min(shift, center) - 10,
        center + 10,
        points=[shift, center],
        epsabs=0,
        epsrel=1e-13,
        limit=500,
    )
    np.testing.assert_allclose(accuracy(shift, k), exact, rtol=1e-12)


def test_grows_with_information_and_falls_with_size():
    grid = accuracy(np.linspace(0, 9, 50), np.geomspace(2, 1e12, 40))
    assert grid.shape == (50, 40)
    assert (np.diff(grid, axis=0) > 0).all()
    assert (np.diff(grid, axis=1) <= 0).all()


def test_batches_change_nothing(monkeypatch):
    shift, sizes = np.linspace(0, 5, 7), [2, 30, 500]
    whole = accuracy(shift, sizes)
    monkeypatch.setattr("neuroextrap.stats._gaussian_limit._BATCH", 4)
    np.testing.assert_array_equal(accuracy(shift, sizes), whole)


def test_extremes_units_and_shapes():
    values = gaussian_identification_accuracy([np.inf, np.nan, 1e5], 1000)
    np.testing.assert_array_equal(values, [1, np.nan, 1])
    np.testing.assert_allclose(
        gaussian_identification_accuracy(2.0, 9),
        gaussian_identification_accuracy(2 * math.log(2), 9, base=math.e),
    )
    assert gaussian_identification_accuracy(1.0, 2).shape == ()


@pytest.mark.parametrize(
    ("information", "sizes", "base", "message"),
    [
        (-0.1, 2, 2, "information must not be negative"),
        (1, 1.9, 2, "set_sizes must be at least 2"),
        (1, np.inf, 2, "set_sizes must be at least 2"),
        (1, 2, 1, "base must be"),
        (1, 2, np.nan, "base must be"),
    ],
)
def test_refuses(information, sizes, base, message):
    with pytest.raises(ValueError, match=message):
        gaussian_identification_accuracy(information, sizes, base=base)
