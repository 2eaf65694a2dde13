"""Average risk against enumeration of subsets and of ways to break ties."""

import itertools

import numpy as np
import pytest

from neuroextrap.stats import average_accuracy, average_risk, win_distribution


def naive_risk(margins, y, cost, size):
    """Mean over subsets of the class-averaged cost, ties shared evenly."""
    tested = sorted(set(y))
    n_classes = margins.shape[1]
    total = count = 0.0
    for label in tested:
        for rest in itertools.combinations(
            sorted({*range(n_classes)} - {label}), size - 1
        ):
            subset = [label, *rest]
            points = margins[y == label][:, subset]
            top = points == points.max(axis=1, keepdims=True)
            paid = (top * cost[label, subset]).sum(axis=1) / top.sum(axis=1)
            total, count = total + paid.mean(), count + 1
    return total / count


@pytest.mark.parametrize("n_classes", range(2, 8))
@pytest.mark.parametrize("n_values", [1, 2, 4, 1000])
def test_equals_enumeration(n_classes, n_values):
    rng = np.random.default_rng(10 * n_classes + n_values)
    y = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(1, 4, n_classes)))
    margins = rng.integers(n_values, size=(len(y), n_classes)).astype(float)
    cost = rng.gamma(1, size=(n_classes, n_classes))
    np.fill_diagonal(cost, 0)
    sizes = np.arange(2, n_classes + 1)
    naive = [naive_risk(margins, y, cost, size) for size in sizes]
    np.testing.assert_allclose(average_risk(margins, y, cost, sizes), naive, rtol=1e-12)


def test_class_without_test_points_is_a_distractor_only():
    rng = np.random.default_rng(0)
    margins, y = rng.normal(size=(5, 4)), np.array([0, 2, 2, 3, 0])
    cost = 1 - np.eye(4)
    np.testing.assert_allclose(
        average_risk(margins, y, cost, 3), naive_risk(margins, y, cost, 3)
    )


def test_the_last_class_may_be_without_test_points_too():
    rng = np.random.default_rng(2)
    margins, y = rng.normal(size=(5, 4)), np.array([0, 2, 2, 1, 0])
    cost = 1 - np.eye(4)
    np.testing.assert_allclose(
        average_risk(margins, y, cost, 3), naive_risk(margins, y, cost, 3)
    )


def test_unit_cost_is_the_error_of_many_classes():
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(300), 2)
    margins = rng.normal(size=(600, 300)) + 2 * np.eye(300)[y]
    sizes = [2, 50, 300]
    np.testing.assert_allclose(
        average_risk(margins, y, 1 - np.eye(300), sizes),
        1 - average_accuracy(win_distribution(margins, y), sizes),
        rtol=1e-12,
    )


def test_one_size_has_no_axis():
    assert average_risk(np.eye(3), [0, 1, 2], 1 - np.eye(3), 2).shape == ()


@pytest.mark.parametrize(
    ("margins", "y", "cost", "message"),
    [
        (np.zeros((2, 3, 3)), [0, 1, 2], 1 - np.eye(3), "once per region"),
        (np.eye(3), [0, 1, 2], 1 - np.eye(2), r"cost must have shape \(3, 3\)"),
        (np.eye(3), [0, 1, 2], np.ones((3, 3)), "zero on the diagonal"),
        (np.eye(3), [0, 1, 2], np.eye(3) - 1, "not negative"),
        (np.eye(3), [0, 1, 2], np.full((3, 3), np.inf), "cost must be finite"),
        (np.full((3, 3), np.nan), [0, 1, 2], 1 - np.eye(3), "margins must be finite"),
    ],
)
def test_refuses(margins, y, cost, message):
    with pytest.raises(ValueError, match=message):
        average_risk(margins, y, cost, 2)


def test_refuses_sizes():
    with pytest.raises(ValueError, match="set_sizes must be whole"):
        average_risk(np.eye(3), [0, 1, 2], 1 - np.eye(3), 4)
