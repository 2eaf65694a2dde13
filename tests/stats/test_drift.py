"""The drift of implied information, best models, and slopes of information."""

import math

import numpy as np
import pytest

from neuroextrap.stats import (
    gaussian_identification_accuracy,
    implied_information,
    information_drift,
)


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
