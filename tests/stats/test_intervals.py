"""Intervals of curves and of implied information: limits, edges, coverage."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t

from neuroextrap.stats import (
    average_accuracy,
    average_accuracy_interval,
    average_accuracy_jackknife,
    gaussian_identification_accuracy,
    implied_information,
    implied_information_interval,
    win_distribution,
)


def experiment(rng, n_classes, n_repeats, spread):
    """Return margins and labels of classes drawn from six normal dimensions."""
    centers = spread * rng.normal(size=(n_classes, 6))
    y = np.repeat(np.arange(n_classes), n_repeats)
    responses = centers[y] + rng.normal(size=(len(y), 6))
    return 2 * responses @ centers.T - (centers**2).sum(axis=1), y


def test_interval_by_hand():
    margins, y = experiment(np.random.default_rng(0), 12, 3, 0.9)
    accuracy, error = average_accuracy_jackknife(margins, y, [2, 5, 12])
    lower, upper = average_accuracy_interval(margins, y, [2, 5, 12])
    half = t.ppf(0.975, 11) * error / (accuracy * (1 - accuracy))
    np.testing.assert_allclose(lower, expit(logit(accuracy) - half))
    np.testing.assert_allclose(upper, expit(logit(accuracy) + half))
    one = average_accuracy_interval(margins, y, 5)
    np.testing.assert_allclose(one, [lower[1], upper[1]])


def test_information_interval_holds_the_estimate():
    margins, y = experiment(np.random.default_rng(1), 12, 3, 0.9)
    sizes = np.arange(2, 13)
    bits = implied_information(
        average_accuracy(win_distribution(margins, y), sizes), sizes
    )
    lower, upper = implied_information_interval(margins, y, sizes)
    assert lower.shape == upper.shape == ()
    assert 0 < lower < bits < upper < np.inf
    # symmetric on its scale
    ends = gaussian_identification_accuracy(np.array([lower, bits, upper]), 12)
    np.testing.assert_allclose(np.diff(logit(ends), 2), 0, atol=1e-6)
    nats = implied_information_interval(margins, y, sizes, base=np.e)
    np.testing.assert_allclose(nats, np.multiply([lower, upper], np.log(2)))
    narrow = implied_information_interval(margins, y, sizes, confidence_level=0.5)
    assert lower < narrow[0] < narrow[1] < upper


@pytest.mark.filterwarnings("ignore:the true class beats:UserWarning")
def test_perfect_and_hopeless_curves_have_one_open_end():
    y = np.repeat(np.arange(6), 2)
    lower, upper = average_accuracy_interval(np.eye(6)[y], y, [2, 6])
    np.testing.assert_array_equal(upper, 1)
    assert ((lower > 0.1) & (lower < 0.9)).all()
    low_bits, high_bits = implied_information_interval(np.eye(6)[y], y, [2, 6])
    assert 0 <= low_bits < np.inf == high_bits
    lower, upper = average_accuracy_interval(-np.eye(6)[y], y, [2, 6])
    np.testing.assert_array_equal(lower, 0)
    assert ((upper > 0) & (upper < 1)).all()
    low_bits, high_bits = implied_information_interval(-np.eye(6)[y], y, [2, 6])
    assert low_bits == 0 < high_bits < np.inf


def coverage(n_sets, n_classes, n_repeats, spread):
    """Return how often both intervals hold the mean curve and its information."""
    rng = np.random.default_rng(7)
    sizes = np.array([2, n_classes // 2, n_classes])
    truth = np.zeros(3)
    for _ in range(10 * n_sets):
        wins = win_distribution(*experiment(rng, n_classes, 1, spread))
        truth += average_accuracy(wins, sizes) / (10 * n_sets)
    bits = implied_information(truth, sizes)
    held = np.zeros((n_sets, 4), dtype=bool)
    for row in held:
        margins, y = experiment(rng, n_classes, n_repeats, spread)
        lower, upper = average_accuracy_interval(margins, y, sizes)
        row[:3] = (lower <= truth) & (truth <= upper)
        lower, upper = implied_information_interval(margins, y, sizes)
        row[3] = lower <= bits <= upper
    return held.mean(axis=0)


@pytest.mark.parametrize(
    ("n_repeats", "spread"), [(10, 0.25), (1, 0.9), (10, 2.5), (1, 2.5)]
)
def test_few_classes_are_covered(n_repeats, spread):
    held = coverage(50, 6, n_repeats, spread)
    assert (held > 0.95 - 2 * np.sqrt(0.95 * 0.05 / 50)).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [6, 8, 20, 100])
@pytest.mark.parametrize("spread", [0.25, 0.9, 2.5])
@pytest.mark.parametrize("n_repeats", [1, 10])
def test_coverage(n_classes, n_repeats, spread):
    held = coverage(500, n_classes, n_repeats, spread)
    assert (held > 0.92).all()


def test_refuses_a_confidence_level():
    for interval in (average_accuracy_interval, implied_information_interval):
        with pytest.raises(ValueError, match="confidence_level must lie strictly"):
            interval(np.eye(4), np.arange(4), [2], confidence_level=95)
