"""Figures over time."""

import numpy as np
import pytest

from neuroextrap.plotting import plot_temporal_generalization, plot_time_course


def test_surviving_moments_are_marked():
    ax = plot_time_course(
        [0, 1, 2], [0.2, 0.8, 0.5], p_value=[0.5, 0.01, 0.05], chance=0.25
    )
    marks = next(line for line in ax.lines if line.get_label() == "p ≤ 0.05")
    np.testing.assert_array_equal(marks.get_xdata(), [1, 2])
    np.testing.assert_array_equal(marks.get_ydata(), [0.8, 0.5])


def test_rows_are_training_and_columns_test():
    scores = np.arange(9).reshape(3, 3) / 9
    p = np.where(scores > 0.5, 0.01, 1.0)
    ax = plot_temporal_generalization([0.0, 0.1, 0.2], scores, p_value=p)
    np.testing.assert_allclose(ax.collections[0].get_array(), scores)
    corners = ax.collections[0].get_coordinates()
    np.testing.assert_allclose(corners[0, 0], [-0.05, -0.05])
    # the second column of corners is later in the test, not in training
    np.testing.assert_allclose(corners[0, 1], [0.05, -0.05])
    assert len(ax.collections) == 2


def outline(p):
    """Ends of the lines around squares of two moments."""
    ax = plot_temporal_generalization([0, 1], np.eye(2), p_value=np.array(p))
    lines = [each.get_segments() for each in ax.collections[1:]]
    ends = np.round(np.array(lines[0] if lines else []), 9).tolist()
    return sorted(sorted(map(tuple, line)) for line in ends)


def test_a_line_surrounds_what_survives():
    assert outline([[1.0, 1.0], [1.0, 1.0]]) == []
    one = outline([[1.0, 0.01], [1.0, 1.0]])  # trained first, tested second
    corners = [(0.5, -0.5), (1.5, -0.5), (1.5, 0.5), (0.5, 0.5)]
    sides = [
        sorted(side) for side in zip(corners, corners[1:] + corners[:1], strict=True)
    ]
    assert one == sorted(sides)
    assert len(outline([[0.01, 0.01], [1.0, 1.0]])) == 6
    assert len(outline([[0.01, 0.01], [0.01, 0.01]])) == 8
    assert len(outline([[0.01, 1.0], [1.0, 0.01]])) == 8  # squares that share a corner


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_time_course([0, 1], [0.2]), "scores of shape"),
        (lambda: plot_temporal_generalization([0, 1], np.eye(3)), "scores of shape"),
        (lambda: plot_temporal_generalization([0, 1, 3], np.eye(3)), "in equal steps"),
        (lambda: plot_temporal_generalization([0], np.eye(1)), "two or more"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(ValueError, match=message):
        call()
