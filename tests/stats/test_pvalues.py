"""p-values against counting."""

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import (
    binomial_p_value,
    max_statistic_p_value,
    permutation_p_value,
)


def test_counts_ties_as_at_least_as_large():
    assert permutation_p_value(2.0, [1, 2, 3, 2]) == 4 / 5
    assert permutation_p_value(9.0, [1, 2, 3, 2]) == 1 / 5
    assert permutation_p_value(0.0, [0.0] * 99) == 1


def test_permutation_broadcasts_and_keeps_missing():
    rng = np.random.default_rng(0)
    score, null = rng.normal(size=(3, 4)), rng.normal(size=(20, 3, 4))
    score[0, 0] = np.nan
    null[:, 0, 0] = np.nan
    p = permutation_p_value(score, null)
    assert np.isnan(p[0, 0])
    assert p[1, 2] == (1 + sum(null[:, 1, 2] >= score[1, 2])) / 21
    one_null = permutation_p_value(score[1], null[:, 1, 1:2])
    assert one_null.shape == (4,)


def test_maximum_counts_over_regions():
    scores = np.array([[0.1, 0.5], [0.9, np.nan]])
    maxima = np.array([0.5, 0.4, 0.9, 0.2])
    np.testing.assert_array_equal(
        max_statistic_p_value(scores, maxima), [[1, 3 / 5], [2 / 5, np.nan]]
    )
    assert max_statistic_p_value(1.0, maxima).shape == ()


@pytest.mark.parametrize(("n_test", "n_classes"), [(20, 2), (24, 8), (96, 3)])
def test_binomial_is_the_upper_tail(n_test, n_classes):
    correct = np.arange(n_test + 1)
    exact = stats.binom.sf(correct - 1, n_test, 1 / n_classes)
    np.testing.assert_allclose(
        binomial_p_value(correct, n_test, n_classes), exact, rtol=1e-10
    )
    assert np.isnan(binomial_p_value(np.nan, n_test, n_classes))


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        (permutation_p_value, (1.0, []), ValueError, "at least one permutation"),
        (permutation_p_value, (1.0, 2.0), ValueError, "at least one permutation"),
        (permutation_p_value, ([1, 2], np.ones((5, 3))), ValueError, "broadcast"),
        (permutation_p_value, (1.0, [np.nan, 1]), ValueError, "null_scores hold NaN"),
        (max_statistic_p_value, (1.0, []), ValueError, "at least one permutation"),
        (max_statistic_p_value, (1, np.ones((2, 2))), ValueError, "null_maxima must"),
        (max_statistic_p_value, (1, [np.nan]), ValueError, "must not hold NaN"),
        (binomial_p_value, (3, 21, 2), ValueError, "multiple of n_classes"),
        (binomial_p_value, (3.5, 20, 2), ValueError, "n_correct must be whole"),
        (binomial_p_value, (21, 20, 2), ValueError, "n_correct must be whole"),
        (binomial_p_value, (-1, 20, 2), ValueError, "n_correct must be whole"),
        (binomial_p_value, (1, 20.0, 2), TypeError, "n_test must be"),
        (binomial_p_value, (1, 20, 1), ValueError, "n_classes must be"),
    ],
)
def test_refuses(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)
