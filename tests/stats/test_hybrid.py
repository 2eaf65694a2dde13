"""The hybrid bound against a direct search, and its published margins."""

import math

import numpy as np
import pytest
from scipy import optimize

from neuroextrap.stats import (
    average_bayes_accuracy_lower_bound,
    information_lower_bound,
)


def bound(accuracy, n_classes, n_repeats, **options):
    """Call at all classes."""
    arguments = {"set_sizes": n_classes, "method": "hybrid"} | options
    return average_bayes_accuracy_lower_bound(
        accuracy, n_classes=n_classes, n_repeats=n_repeats, **arguments
    )


def naive_bound(accuracy, n_classes, n_repeats, alpha=0.05):
    """Bisect in the candidate; minimize over the rate by brute force."""
    n_test = n_classes * n_repeats
    rates = np.geomspace(1e-4, 30, 40_000)

    def excess(candidate):
        gain = np.expm1(rates)
        theta = n_repeats * gain / (1 + candidate * gain)
        use = theta < 500
        theta = theta[use]
        psi = n_classes * np.minimum.reduce(
            [
                theta**2 / 8,
                candidate * (np.exp(theta) - 1 - theta),
                (1 - candidate) * theta**2,
            ]
        )
        moments = n_test * np.log1p(candidate * gain[use]) + psi
        return (moments - rates[use] * n_test * accuracy).min() - math.log(alpha)

    return optimize.brentq(excess, 1e-6, accuracy)


@pytest.mark.parametrize(
    ("n_classes", "n_repeats", "accuracy", "margin"),
    [
        (20, 1, 0.9, 0.366),
        (100, 1, 0.1, 0.076),
        (100, 1, 0.9, 0.150),
        (1000, 1, 0.99, 0.021),
        (100, 1, 0.99, 0.129),
        (100, 10, 0.5, 0.129),
        (1000, 1, 0.9, 0.046),
    ],
)
def test_published_margins(n_classes, n_repeats, accuracy, margin):
    value = bound(accuracy, n_classes, n_repeats)
    np.testing.assert_allclose(accuracy - value, margin, atol=5.1e-4)
    naive = naive_bound(accuracy, n_classes, n_repeats)
    np.testing.assert_allclose(value, naive, atol=2e-5)
    assert value <= naive + 1e-6


@pytest.mark.parametrize(
    ("n_classes", "n_repeats", "accuracy", "nats"),
    [
        (20, 1, 0.9, 1.58),
        (100, 1, 0.1, 0.013),
        (100, 1, 0.9, 4.33),
        (100, 10, 0.5, 1.62),
        (1000, 1, 0.99, 9.34),
        (50, 1, 1.0, 4.26),
        (10_000, 1, 1.0, 14.9),
    ],
)
def test_information_has_no_ceiling_at_log_k(n_classes, n_repeats, accuracy, nats):
    bits = information_lower_bound(
        accuracy,
        n_classes=n_classes,
        n_repeats=n_repeats,
        set_sizes=n_classes,
        method="hybrid",
    )
    np.testing.assert_allclose(bits * math.log(2), nats, rtol=5e-3, atol=5e-4)


def test_never_decreases_and_stays_below_the_accuracy():
    accuracy = np.linspace(0, 1, 301)
    values = bound(accuracy, 50, 3)
    assert (np.diff(values) >= 0).all()
    assert (values <= np.maximum(accuracy, 1 / 50)).all()


def test_counts_repeats_and_sizes():
    level = 1 - 0.05 / 12
    np.testing.assert_array_equal(
        bound(0.9, 100, 2, n_models=3, n_regions=4),
        bound(0.9, 100, 2, confidence_level=level),
    )
    unequal = np.repeat([2, 5], 50)
    np.testing.assert_array_equal(bound(0.9, 100, unequal), bound(0.9, 100, 2))
    folds = np.full((4, 100), 2)
    np.testing.assert_array_equal(bound(0.9, 100, folds), bound(0.9, 100, 2))
    values = bound([0.9, np.nan], 100, 2, set_sizes=[10, 50])
    assert values[0] == bound(0.9, 100, 2)
    assert np.isnan(values[1])


def test_warns_where_nothing_can_be_above_chance():
    with pytest.warns(UserWarning, match="leaves nothing above chance"):
        assert bound(1.0, 4, 1) == 0.25
