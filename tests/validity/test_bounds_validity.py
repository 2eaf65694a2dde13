"""Lower bounds miss at most as often as they say, and their rivals do miss.

By enumeration where that can be done; the simulations of `benchmarks/validity` cover
more designs.
"""

import math

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import (
    TestDesign,
    average_accuracy,
    average_bayes_accuracy_lower_bound,
    bayes_accuracy_lower_bound,
    win_distribution,
)

ALPHA = 0.05
N_DRAWS = [
    pytest.param(400, id="quick"),
    pytest.param(4000, id="full", marks=pytest.mark.slow),
]


def lower_bound(accuracy, n_classes, n_repeats, sizes, method):
    """Return the bound at the level tested here."""
    return average_bayes_accuracy_lower_bound(
        accuracy,
        n_classes=n_classes,
        n_repeats=n_repeats,
        set_sizes=sizes,
        confidence_level=1 - ALPHA,
        method=method,
    )


def good_bad_curves(n_classes, sizes):
    """Accuracy curves for every number of good classes, (K + 1, n_sizes).

    A good class is always identified; the bad ones all evoke the same response.
    """
    wins = np.zeros((n_classes + 1, n_classes))
    for good in range(n_classes + 1):
        bad = n_classes - good
        wins[good, -1] = good / n_classes
        wins[good, n_classes - bad :] += 1 / n_classes
    return average_accuracy(wins, sizes)


def good_bad_truth(share, sizes):
    """Average Bayes accuracy when a class is good with chance `share`."""
    return share + (1 - share**sizes) / sizes


@pytest.mark.parametrize("n_classes", [20, 100, 400])
@pytest.mark.parametrize("n_repeats", [1, 10])
@pytest.mark.parametrize("method", ["subgaussian", "hybrid"])
@pytest.mark.filterwarnings("ignore:the bound's margin")
def test_good_and_bad_classes_exactly(n_classes, n_repeats, method):
    sizes = np.array([2, 5, n_classes // 2, n_classes])
    bounds = lower_bound(
        good_bad_curves(n_classes, sizes), n_classes, n_repeats, sizes, method
    )
    for share in np.linspace(0.02, 0.98, 25):
        chances = stats.binom.pmf(np.arange(n_classes + 1), n_classes, share)
        misses = chances @ (bounds > good_bad_truth(share, sizes) + 1e-12)
        assert (misses <= ALPHA).all()


def test_a_bound_for_test_noise_alone_misses_good_and_bad_classes():
    n_classes = 100
    curve = good_bad_curves(n_classes, n_classes)
    fixed = bayes_accuracy_lower_bound(curve, n_classes=n_classes, n_repeats=10)
    chances = stats.binom.pmf(np.arange(n_classes + 1), n_classes, 0.5)
    assert chances @ (fixed > good_bad_truth(0.5, n_classes)) > 2 * ALPHA


def gaussian_curve(rng, n_classes, n_repeats, noise, sizes, dimension=10):
    """Classes are normal points, responses add normal noise."""
    points = rng.normal(size=(n_classes, dimension))
    y = np.repeat(np.arange(n_classes), n_repeats)
    seen = points[y] + noise * rng.normal(size=(len(y), dimension))
    margins = 2 * seen @ points.T - (points**2).sum(axis=1)
    return average_accuracy(win_distribution(margins, y), sizes)


def gaussian_truth(noise, sizes, dimension=10, n_draws=100_000):
    """Average Bayes accuracy: chances to beat one other class, to the k - 1."""
    rng = np.random.default_rng(99)
    points = rng.normal(size=(n_draws, dimension))
    seen = points + noise * rng.normal(size=(n_draws, dimension))
    own = ((seen - points) ** 2).sum(axis=1)
    beats = stats.ncx2.sf(own, dimension, (seen**2).sum(axis=1))
    return np.array([(beats ** (k - 1)).mean() for k in sizes])


@pytest.mark.parametrize("n_draws", N_DRAWS)
@pytest.mark.parametrize(("noise", "n_repeats"), [(1.0, 1), (0.5, 3)])
def test_gaussian_bayes(n_draws, noise, n_repeats):
    rng = np.random.default_rng(7)
    n_classes, sizes = 100, np.array([2, 5, 20, 100])
    curves = np.array(
        [
            gaussian_curve(rng, n_classes, n_repeats, noise, sizes)
            for _ in range(n_draws)
        ]
    )
    truth = gaussian_truth(noise, sizes)
    np.testing.assert_allclose(curves.mean(axis=0), truth, atol=0.01)
    for method in ("subgaussian", "hybrid"):
        bounds = lower_bound(curves, n_classes, n_repeats, sizes, method)
        assert ((bounds > truth).mean(axis=0) <= ALPHA).all()
    chebyshev = lower_bound(curves[:, -1], n_classes, n_repeats, 100, "chebyshev")
    assert (chebyshev > truth[-1]).mean() <= ALPHA
    bits = TestDesign(n_classes, n_repeats).best_information_bound(curves, sizes)
    true_bits = 5 * math.log2(1 + noise**-2)
    assert (bits > true_bits).mean() <= ALPHA
    # neither vacuous nor far from what the accuracies can tell
    assert bits.mean() > 0.3 * true_bits


@pytest.mark.parametrize("n_classes", [2, 8])
@pytest.mark.parametrize("n_repeats", [1, 12, 100])
@pytest.mark.parametrize("method", ["hoeffding", "kl", "clopper_pearson"])
def test_given_classes_exactly(method, n_classes, n_repeats):
    n_test = n_classes * n_repeats
    correct = np.arange(n_test + 1)
    bounds = bayes_accuracy_lower_bound(
        correct / n_test, n_classes=n_classes, n_repeats=n_repeats, method=method
    )
    worst = 0.0
    for accuracy in np.linspace(1 / n_classes, 0.999, 60):
        chances = stats.binom.pmf(correct, n_test, accuracy)
        worst = max(worst, chances @ (bounds > accuracy))
    assert worst <= ALPHA
    if n_test > 50:
        assert worst > 0.005  # within reach of its level, hence a test of it


@pytest.mark.parametrize("n_draws", N_DRAWS)
@pytest.mark.parametrize("repeats", [[12] * 8, [1, 2, 3, 4, 6, 8, 10, 12]])
def test_learned_classifier_on_one_split(n_draws, repeats):
    """Nearest centroids of one training set; the Bayes accuracy is that of truth."""
    rng = np.random.default_rng(8)
    centers = 0.8 * rng.normal(size=(8, 5))

    def accuracy(means, counts):
        y = np.repeat(np.arange(8), counts)
        points = centers[y] + rng.normal(size=(len(y), 5))
        scores = 2 * points @ means.T - (means**2).sum(axis=1)
        right = scores.argmax(axis=1) == y
        return (np.bincount(y, right) / counts).mean()

    bayes = accuracy(centers, np.full(8, 40_000))
    observed = [
        accuracy(centers + rng.normal(size=centers.shape) / 5, np.array(repeats))
        for _ in range(n_draws)
    ]
    equal = len(set(repeats)) == 1
    for method in ("hoeffding", "kl", "clopper_pearson")[: 3 if equal else 2]:
        bounds = bayes_accuracy_lower_bound(
            observed, n_classes=8, n_repeats=repeats, method=method
        )
        assert np.mean(bounds > bayes) <= ALPHA
