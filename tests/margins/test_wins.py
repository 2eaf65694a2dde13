"""Batched counting against the one-labeling reference."""

import numpy as np
import pytest

from neuroextrap.design._folds import class_weights
from neuroextrap.margins._wins import (
    beaten_and_tied,
    best_share,
    rank_tables,
    win_histogram,
)
from neuroextrap.stats import win_distribution


def _random_case(n_test, n_classes, n_batch, *, levels, seed=0):
    """Margins with ties (few levels) and unbalanced labels."""
    rng = np.random.default_rng(seed)
    margins = rng.integers(levels, size=(n_test, n_classes, n_batch)).astype(float)
    y = rng.integers(n_classes, size=(n_test, n_batch))
    y[:n_classes] = np.arange(n_classes)[:, None]
    return margins, y


@pytest.mark.parametrize("levels", [1, 3, 10**6])
@pytest.mark.parametrize("n_classes", [2, 5, 20, 130])  # counts of 8 bits, and more
def test_batched_wins_equal_the_reference(n_classes, levels):
    margins, y = _random_case(n_classes + 20, n_classes, 7, levels=levels)
    weights = class_weights(y, n_classes)
    wins = win_histogram(*beaten_and_tied(margins, y), weights, n_classes)
    for b in range(7):
        expected = win_distribution(margins[:, :, b], y[:, b])
        np.testing.assert_allclose(wins[b], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n_classes", [3, 17])
def test_one_weight_for_all_equals_weights_of_a_balanced_design(n_classes):
    rng = np.random.default_rng(1)
    y = np.tile(np.arange(n_classes), 4)[:, None].repeat(6, axis=1)
    margins = rng.integers(4, size=(len(y), n_classes, 6)).astype(float)
    counts = beaten_and_tied(margins, y)
    weighted = win_histogram(*counts, class_weights(y, n_classes), n_classes)
    counted = win_histogram(*counts, 1 / len(y), n_classes)
    np.testing.assert_allclose(counted, weighted, rtol=0, atol=1e-14)


def test_classes_without_test_points_are_distractors_only():
    margins = np.array([[[2.0], [1.0], [3.0]], [[0.0], [1.0], [-1.0]]])
    y = np.array([[0], [1]])
    wins = win_histogram(*beaten_and_tied(margins, y), class_weights(y, 3), 3)
    np.testing.assert_allclose(wins, [[0, 0.5, 0.5]])


def test_nan_margins_are_refused():
    margins = np.zeros((2, 3, 1))
    margins[0, 0] = np.nan
    with pytest.raises(ValueError, match="margins contain NaN"):
        beaten_and_tied(margins, np.zeros((2, 1), dtype=int))
    with pytest.raises(ValueError, match="margins contain NaN"):
        rank_tables(margins[:, :, 0])


@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_rank_tables_hold_the_counts_of_every_possible_truth(levels):
    margins, _ = _random_case(15, 6, 1, levels=levels, seed=2)
    beaten, tied = rank_tables(margins[:, :, 0])
    for label in range(6):
        y = np.full((15, 1), label)
        expected_beaten, expected_tied = beaten_and_tied(margins, y)
        np.testing.assert_array_equal(beaten[:, label], expected_beaten[:, 0])
        np.testing.assert_array_equal(tied[:, label], expected_tied[:, 0])


def test_weights_count_classes_equally():
    y = np.array([[0], [0], [0], [1]])
    np.testing.assert_allclose(class_weights(y, 2)[:, 0], [1 / 6, 1 / 6, 1 / 6, 1 / 2])


@pytest.mark.parametrize("levels", [1, 3, 10**6])
@pytest.mark.parametrize("n_classes", [2, 5, 20])
def test_the_best_class_is_the_last_column_of_the_wins(n_classes, levels):
    margins, y = _random_case(40, n_classes, 7, levels=levels)
    counts = beaten_and_tied(margins, y)
    for weights in (class_weights(y, n_classes), np.full((40, 1), 1 / 40), 1 / 40):
        expected = win_histogram(*counts, weights, n_classes)[:, -1]
        found = best_share(margins, y, weights)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_no_best_class_is_found_among_nan():
    margins, y = _random_case(10, 3, 2, levels=5)
    margins[4, 1, 1] = np.nan
    with pytest.raises(ValueError, match="contain NaN"):
        best_share(margins, y, 0.1)
