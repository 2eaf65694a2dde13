"""Scores with the wrong sign are told from chance, and named with their cure."""

import warnings

import numpy as np
import pytest

from neuroextrap.stats import (
    AccuracyExtrapolator,
    average_accuracy_interval,
    average_accuracy_jackknife,
    average_risk,
    implied_information_jackknife,
    win_distribution,
)
from tests.stats.seam import warn_if_reversed


def squared_distances(n_classes=20, n_repeats=4, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_classes, 8))
    y = np.repeat(np.arange(n_classes), n_repeats)
    responses = centers[y] + 0.5 * rng.normal(size=(len(y), 8))
    return ((responses[:, None] - centers) ** 2).sum(2), y


GIVEN_MARGINS = [
    win_distribution,
    lambda m, y: average_accuracy_jackknife(m, y, [2, 5]),
    lambda m, y: average_accuracy_interval(m, y, [2, 5]),
    lambda m, y: implied_information_jackknife(m, y, [2, 5]),
    lambda m, y: average_risk(m, y, 1 - np.eye(m.shape[1]), [2, 5]),
    lambda m, y: AccuracyExtrapolator("gaussian").fit(m, y),
]


@pytest.mark.parametrize("function", GIVEN_MARGINS)
def test_distances_given_as_margins_warn_and_name_the_cure(function):
    distances, y = squared_distances()
    with pytest.warns(UserWarning, match="put a minus before distances, divergences"):
        function(distances, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(-distances, y)


def test_wins_of_distances_warn_too():
    distances, y = squared_distances()
    with pytest.warns(UserWarning, match="far below chance"):
        wins = win_distribution(distances, y)
    with pytest.warns(UserWarning, match="far below chance"):
        AccuracyExtrapolator("gaussian").fit_wins(wins, len(y))


@pytest.mark.parametrize(
    ("n_classes", "n_repeats"), [(2, 1), (2, 30), (8, 1), (8, 12), (100, 1)]
)
def test_guesses_do_not_warn(n_classes, n_repeats):
    rng = np.random.default_rng(n_classes + n_repeats)
    y = np.repeat(np.arange(n_classes), n_repeats)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        win_distribution(rng.normal(size=(200, len(y), n_classes)), y)
        for margins in rng.normal(size=(200, len(y), n_classes)):
            win_distribution(margins, y)
        wins = win_distribution(np.zeros((len(y), n_classes)), y)
    np.testing.assert_allclose(wins, 1 / n_classes)


def test_regions_count_together():
    distances, y = squared_distances()
    noise = np.random.default_rng(1).normal(size=(3, *distances.shape))
    with pytest.warns(UserWarning, match="in 1 of 4 regions"):
        win_distribution(np.stack([distances, *noise]), y)
    # where another region is far above chance, the sign is right
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        win_distribution(np.stack([distances, -distances, *noise]), y)
        warn_if_reversed(np.full((3, 8), np.nan), 10)
