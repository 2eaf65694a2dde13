"""Stimuli that are shown several times: features of each, once."""

import numpy as np
import pytest

from tests.cli.seam import unique_stimuli

NAMES = np.array(["b", "a", "b", "c", "a"])


def repeated(dtype=np.float32):
    """Features of three stimuli, in columns of very different sizes."""
    rng = np.random.default_rng(0)
    each = rng.normal(size=(3, 4)) * np.array([1e-6, 1.0, 1e4, 0.0])
    return each[[0, 1, 0, 2, 1]].astype(dtype)


def test_repeats_may_differ_by_rounding():
    """As products of matrices do, whose rounding depends on the rows beside a row."""
    features = repeated()
    other = np.nextafter(features, np.float32(np.inf), dtype=np.float32)
    features[2:] = np.where(features[2:] == 0, 0, other[2:])
    found, stimuli = unique_stimuli(features, NAMES)
    np.testing.assert_array_equal(found, features[[0, 1, 3]])
    np.testing.assert_array_equal(stimuli, [0, 1, 0, 2, 1])


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("value", [1e-3, np.nan, np.inf])
def test_repeats_that_differ_are_refused_by_name(column, value):
    features = repeated(float)
    features[4, column] += value * np.abs(features[:, column]).max()
    with pytest.raises(ValueError, match="stimulus 'a' has different features"):
        unique_stimuli(features, NAMES)
