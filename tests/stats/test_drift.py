"""The drift of implied information, best models, and slopes of information."""

import math

import numpy as np
import pytest

from neuroextrap.stats import (
    gaussian_identification_accuracy,
    implied_information,
    information_drift,
    min_information,
)
from neuroextrap.stats._extremal import min_information_standard_error


def test_no_drift_in_the_gaussian_limit():
    sizes = [2, 5, 20, 100]
    curves = gaussian_identification_accuracy([0.3, 2.0, 7.0], sizes)
    np.testing.assert_allclose(information_drift(curves, sizes), 0, atol=1e-8)


def test_slope_is_least_squares_on_doublings():
    sizes, curve = [2, 4, 16], np.array([0.9, 0.8, 0.4])
    bits = [implied_information(a, k) for a, k in zip(curve, sizes, strict=True)]
    expected = np.polyfit(np.log2(sizes), bits, 1)[0]
    np.testing.assert_allclose(information_drift(curve, sizes), expected)
    np.testing.assert_allclose(
        information_drift(curve, sizes, base=math.e), expected * math.log(2)
    )


def test_unresolved_sizes_are_left_out():
    sizes = [2, 4, 8, 16]
    full = information_drift([0.9, 0.7], [4, 8])
    values = information_drift(
        [[1.0, 0.9, 0.7, 0.05], [1, 1, 1, 0.9], [1, 1, 1, 1]], sizes
    )
    np.testing.assert_allclose(values, [full, np.nan, np.nan])
    assert np.isnan(information_drift([0.9, np.nan, 0.5, 0.4], sizes))


@pytest.mark.parametrize(
    ("curve", "sizes", "message"),
    [
        ([0.5], [2], "at least two sizes"),
        (0.5, 2, "at least two sizes"),
        ([0.5, 0.4], [2, 3, 4], "one value per set size"),
        ([0.5, -0.4], [2, 3], "accuracy must lie in"),
    ],
)
def test_drift_refuses(curve, sizes, message):
    with pytest.raises(ValueError, match=message):
        information_drift(curve, sizes)


@pytest.mark.parametrize("k", [2, 20, 1e6])
def test_information_error_is_the_finite_difference(k):
    accuracy = 1 / k + (1 - 1 / k) * np.array([0.01, 0.3, 0.7, 0.99])
    step = 1e-6 * accuracy * (1 - accuracy)
    slope = (
        min_information(accuracy + step, k) - min_information(accuracy - step, k)
    ) / (2 * step)
    np.testing.assert_allclose(
        min_information_standard_error(accuracy, 0.1, k), 0.1 * slope, rtol=1e-5
    )


def test_information_error_limits_and_refusals():
    values = min_information_standard_error([0.05, 0.02, 1, np.nan], 0.1, 20)
    np.testing.assert_array_equal(values, [0, 0, np.nan, np.nan])
    with pytest.raises(ValueError, match="standard_error must not be negative"):
        min_information_standard_error(0.5, -0.1, 20)
    with pytest.raises(ValueError, match="n_classes must be"):
        min_information_standard_error(0.5, 0.1, 1)
    with pytest.raises(ValueError, match="base must be"):
        min_information_standard_error(0.5, 0.1, 2, base=1)
    with pytest.raises(ValueError, match="accuracy must lie in"):
        min_information_standard_error(1.5, 0.1, 2)
