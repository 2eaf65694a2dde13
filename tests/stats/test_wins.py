"""Win distributions against drawing every tie, and what they refuse."""

import itertools

import numpy as np
import pytest

from neuroextrap.stats import average_accuracy, win_distribution


def naive_wins(margins, y_true):
    """Average over classes of the mean over points of uniform ties."""
    n_classes = margins.shape[1]
    per_class = []
    for label in sorted(set(y_true)):
        rows = []
        for t in np.flatnonzero(y_true == label):
            own = margins[t, label]
            beaten = sum(m < own for m in margins[t])
            ties = sum(m == own for m in margins[t]) - 1
            row = np.zeros(n_classes)
            row[beaten : beaten + ties + 1] = 1 / (ties + 1)
            rows.append(row)
        per_class.append(np.mean(rows, axis=0))
    return np.mean(per_class, axis=0)


def subset_accuracy(margins, y_true, size):
    """Mean over all subsets of the class-averaged accuracy, ties shared."""
    n_classes = margins.shape[1]
    accuracies = []
    for subset in itertools.combinations(range(n_classes), size):
        per_class = []
        for label in subset:
            points = margins[y_true == label][:, list(subset)]
            top = points == points.max(axis=1, keepdims=True)
            per_class.append((top[:, subset.index(label)] / top.sum(axis=1)).mean())
        accuracies.append(np.mean(per_class))
    return np.mean(accuracies)


@pytest.mark.parametrize("n_classes", range(2, 8))
@pytest.mark.parametrize("n_values", [2, 3, 1000])
def test_equals_enumeration_of_all_subsets(n_classes, n_values):
    rng = np.random.default_rng(n_classes * n_values)
    repeats = rng.integers(1, 4, size=n_classes)
    y = rng.permutation(np.repeat(np.arange(n_classes), repeats))
    margins = rng.integers(n_values, size=(len(y), n_classes)).astype(float)
    wins = win_distribution(margins, y)
    np.testing.assert_allclose(wins, naive_wins(margins, y), atol=1e-15)
    for size in range(2, n_classes + 1):
        np.testing.assert_allclose(
            average_accuracy(wins, size), subset_accuracy(margins, y, size), atol=1e-14
        )


def test_class_without_test_points_is_a_distractor_only():
    rng = np.random.default_rng(0)
    margins, y = rng.normal(size=(6, 5)), np.array([0, 0, 0, 1, 3, 3])
    np.testing.assert_allclose(win_distribution(margins, y), naive_wins(margins, y))


def test_leading_axes_broadcast():
    rng = np.random.default_rng(1)
    margins = rng.integers(4, size=(3, 2, 10, 5)).astype(float)
    y = rng.integers(5, size=10)
    whole = win_distribution(margins, y)
    assert whole.shape == (3, 2, 5)
    for i, j in np.ndindex(3, 2):
        np.testing.assert_array_equal(whole[i, j], win_distribution(margins[i, j], y))


def test_labels_broadcast_too():
    rng = np.random.default_rng(2)
    margins, y = rng.normal(size=(10, 5)), rng.integers(5, size=(4, 10))
    whole = win_distribution(margins, y)
    for labels, wins in zip(y, whole, strict=True):
        np.testing.assert_array_equal(wins, win_distribution(margins, labels))


@pytest.mark.parametrize("repeats", [[3, 3, 3, 3], [1, 3, 7, 2]])
def test_order_of_points_changes_no_digit(repeats):
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(4), repeats)
    margins = rng.integers(3, size=(len(y), 4)).astype(float)
    wins = win_distribution(margins, y)
    for _ in range(20):
        order = rng.permutation(len(y))
        np.testing.assert_array_equal(win_distribution(margins[order], y[order]), wins)


@pytest.mark.parametrize("n_classes", [2, 3, 8, 97])
def test_constant_classifier_is_at_chance(n_classes):
    y = np.arange(n_classes).repeat(3)
    wins = win_distribution(np.zeros((len(y), n_classes)), y)
    sizes = np.arange(2, n_classes + 1)
    np.testing.assert_allclose(average_accuracy(wins, sizes), 1 / sizes, rtol=1e-13)
    assert average_accuracy(wins, n_classes) == 1 / n_classes


def test_float32_margins_keep_their_ties():
    margins = np.array([[0.1, 0.1, 0.0]], dtype=np.float32)
    np.testing.assert_array_equal(win_distribution(margins, [0]), [0, 0.5, 0.5])


@pytest.mark.parametrize(
    ("margins", "y", "message"),
    [
        (np.array([[0.0, np.nan]]), [0], "margins must be finite"),
        (np.array([[0.0, np.inf]]), [0], "margins must be finite"),
        (np.zeros((3, 1)), [0, 0, 0], "margins must have shape"),
        (np.zeros((0, 3)), [], "margins must have shape"),
        (np.zeros(3), [0], "margins must have shape"),
        (np.zeros((3, 3)), [0, 1], "one label per test point"),
        (np.zeros((2, 3)), [0, 3], "column numbers"),
        (np.zeros((2, 3)), [-1, 0], "column numbers"),
        (np.zeros((2, 3)), [0.5, 0], "column numbers"),
        (np.zeros((2, 3)), ["a", "b"], "column numbers"),
    ],
)
def test_refuses(margins, y, message):
    with pytest.raises(ValueError, match=message):
        win_distribution(margins, y)
