"""Jackknife intervals cover the average accuracy and information of the population."""

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import (
    average_accuracy_jackknife,
    implied_information,
    implied_information_jackknife,
)

SIZES = np.array([5, 10, 25, 49])


def sample(rng, n_classes, n_repeats, noise):
    """Margins of the Gaussian Bayes classifier in ten dimensions."""
    points = rng.normal(size=(n_classes, 10))
    y = np.repeat(np.arange(n_classes), n_repeats)
    seen = points[y] + noise * rng.normal(size=(len(y), 10))
    return 2 * seen @ points.T - (points**2).sum(axis=1), y


def truth(noise, n_draws=400_000):
    """Average accuracy of the population by chances to beat one other class."""
    rng = np.random.default_rng(99)
    points = rng.normal(size=(n_draws, 10))
    seen = points + noise * rng.normal(size=(n_draws, 10))
    beats = stats.ncx2.sf(((seen - points) ** 2).sum(1), 10, (seen**2).sum(1))
    return np.array([(beats ** (k - 1)).mean() for k in SIZES])


@pytest.mark.parametrize(
    ("n_draws", "slack"),
    [
        pytest.param(200, 0.03, id="quick"),
        pytest.param(1500, 0.0, id="full", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("n_repeats", [1, 10])
def test_coverage(n_draws, slack, n_repeats):
    # a quick run has a standard error of 0.015 about the coverage
    rng = np.random.default_rng(n_repeats)
    noise = np.sqrt(0.5)
    exact = truth(noise)
    exact_bits = implied_information(exact, SIZES)
    quantile = stats.t.ppf(0.975, 49)
    covered, naive, informed = [], [], []
    for _ in range(n_draws):
        margins, y = sample(rng, 50, n_repeats, noise)
        accuracy, error = average_accuracy_jackknife(margins, y, SIZES)
        covered.append(np.abs(accuracy - exact) <= quantile * error)
        binomial = np.sqrt(accuracy * (1 - accuracy) / len(y))
        naive.append(np.abs(accuracy - exact) <= quantile * binomial)
        bits, bits_error = implied_information_jackknife(margins, y, SIZES)
        informed.append(np.abs(bits - exact_bits) <= quantile * bits_error)
    coverage = np.append(np.mean(covered, axis=0), np.mean(informed))
    assert (coverage >= 0.90 - slack).all()
    assert (coverage <= 0.99 + slack / 3).all()
    if n_repeats == 10:  # the binomial error forgets that classes are sampled
        assert (np.mean(naive, axis=0)[2:] < 0.90).all()
