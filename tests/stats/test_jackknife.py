"""Leave-one-class-out curves against deleting the class from the data."""

import math

import numpy as np
import pytest

from neuroextrap.stats import (
    average_accuracy,
    average_accuracy_jackknife,
    implied_information,
    implied_information_jackknife,
    win_distribution,
)
from tests.stats.seam import (
    jackknife_error,
    leave_one_class_out_accuracy,
    lost_point_error,
)


def naive_curves(margins, y, sizes):
    """Delete each class's column and test points, relabel, recompute."""
    curves = []
    for left in range(margins.shape[1]):
        kept = y != left
        rest = np.delete(margins[kept], left, axis=1)
        labels = y[kept] - (y[kept] > left)
        curves.append(average_accuracy(win_distribution(rest, labels), sizes))
    return np.array(curves)


@pytest.mark.parametrize("n_classes", [3, 4, 12])
@pytest.mark.parametrize("n_values", [1, 2, 5, 1000])
def test_equals_deleting_the_class(n_classes, n_values):
    rng = np.random.default_rng(n_classes + n_values)
    y = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(1, 4, n_classes)))
    margins = rng.integers(n_values, size=(len(y), n_classes)).astype(float)
    sizes = np.arange(2, n_classes)
    np.testing.assert_allclose(
        leave_one_class_out_accuracy(margins, y, sizes),
        naive_curves(margins, y, sizes),
        atol=1e-13,
    )


def test_class_without_test_points_leaves_as_a_distractor():
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 1, 3, 3, 3])
    margins = rng.integers(3, size=(6, 5)).astype(float)
    np.testing.assert_allclose(
        leave_one_class_out_accuracy(margins, y, [2, 4]),
        naive_curves(margins, y, [2, 4]),
    )


def test_error_by_hand_and_value_at_all_classes():
    rng = np.random.default_rng(1)
    y = np.arange(10)
    margins = rng.normal(size=(10, 10)) + np.eye(10)
    accuracy, error = average_accuracy_jackknife(margins, y, [2, 9, 10])
    np.testing.assert_array_equal(
        accuracy, average_accuracy(win_distribution(margins, y), [2, 9, 10])
    )
    curves = naive_curves(margins, y, [2, 9])
    expected = np.sqrt(0.9 * ((curves - curves.mean(0)) ** 2).sum(0))
    np.testing.assert_allclose(error, [*expected, expected[1]], rtol=1e-10)


@pytest.mark.parametrize("n_classes", [3, 4, 12])
def test_floor_is_the_jackknife_of_half_a_lost_point(n_classes):
    """A test point that ties with one distractor loses half of itself to it."""
    y = np.repeat(np.arange(n_classes), 2)
    margins = np.eye(n_classes)[y]
    margins[0, 1] = 1.0
    sizes = np.arange(2, n_classes)
    naive = jackknife_error(naive_curves(margins, y, sizes))
    floor = lost_point_error(sizes, n_classes, len(y))
    np.testing.assert_allclose(naive, floor)
    _, error = average_accuracy_jackknife(np.eye(n_classes)[y], y, sizes)
    np.testing.assert_allclose(error, floor)


def test_one_size_has_no_axis():
    rng = np.random.default_rng(2)
    margins, y = rng.normal(size=(8, 4)), np.repeat(np.arange(4), 2)
    assert leave_one_class_out_accuracy(margins, y, 2).shape == (4,)
    accuracy, error = average_accuracy_jackknife(margins, y, 4)
    assert accuracy.shape == error.shape == ()


def test_of_a_mean_is_the_classical_error():
    x = np.random.default_rng(3).normal(size=20)
    without = (x.sum() - x) / 19
    np.testing.assert_allclose(jackknife_error(without), x.std(ddof=1) / math.sqrt(20))


def test_information_refits_every_curve():
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(9), 3)
    margins = rng.normal(size=(27, 9)) + 1.5 * np.eye(9)[y]
    sizes = np.arange(2, 10)
    bits, error = implied_information_jackknife(margins, y, sizes)
    curve = average_accuracy(win_distribution(margins, y), sizes)
    np.testing.assert_array_equal(bits, implied_information(curve, sizes))
    without = implied_information(naive_curves(margins, y, sizes[:-1]), sizes[:-1])
    np.testing.assert_allclose(error, jackknife_error(without), rtol=1e-8)
    nats, nats_error = implied_information_jackknife(margins, y, sizes, base=math.e)
    np.testing.assert_allclose([nats, nats_error], np.log(2) * np.array([bits, error]))


def test_information_of_more_or_fewer_test_points_than_classes():
    """Rows are test points and columns classes, never the other way round."""
    rng = np.random.default_rng(5)
    margins = rng.normal(size=(5, 8)) + np.eye(8)[:5]
    sizes = np.arange(2, 9)
    bits, error = implied_information_jackknife(margins, np.arange(5), sizes)
    curve = average_accuracy(win_distribution(margins, np.arange(5)), sizes)
    assert bits == implied_information(curve, sizes)
    curves = naive_curves(margins, np.arange(5), sizes[:-1])
    expected = jackknife_error(implied_information(curves, sizes[:-1]))
    np.testing.assert_allclose(error, expected, rtol=1e-8)
    with pytest.raises(ValueError, match="set_sizes"):
        implied_information_jackknife(margins, np.arange(5), [2, 9])


def test_perfect_curve_has_no_finite_error():
    bits, error = implied_information_jackknife(np.eye(4), np.arange(4), [2, 3])
    assert bits == np.inf
    assert np.isnan(error)


@pytest.mark.parametrize(
    "function",
    [
        leave_one_class_out_accuracy,
        average_accuracy_jackknife,
        implied_information_jackknife,
    ],
)
@pytest.mark.parametrize(
    ("margins", "y", "sizes", "message"),
    [
        (np.eye(2), [0, 1], [2], "at least 3 classes"),
        (np.ones((2, 3)), [0, 0], [2], "at least 3 classes, 2 of them"),
        (np.ones((2, 3, 3)), [0, 1, 2], [2], "once per region"),
        (np.full((3, 3), np.nan), [0, 1, 2], [2], "margins must be finite"),
        (np.eye(3), [0, 1], [2], "one label per test point"),
        (np.eye(3), [0, 1, 2], [4], "set_sizes must be whole"),
    ],
)
def test_refuses(function, margins, y, sizes, message):
    with pytest.raises(ValueError, match=message):
        function(margins, y, sizes)


def test_other_refusals():
    with pytest.raises(ValueError, match=r"set_sizes must be whole numbers of 2\.\.2"):
        leave_one_class_out_accuracy(np.eye(3), [0, 1, 2], [3])
    with pytest.raises(ValueError, match="base must be"):
        implied_information_jackknife(np.eye(3), [0, 1, 2], [2], base=1)
    with pytest.raises(ValueError, match="values must have shape"):
        jackknife_error([1.0])
