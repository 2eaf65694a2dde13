"""Random splits by subject."""

import numpy as np
import pytest

from tests.learning_curves.seam import check_train_sizes, draw_split


def test_every_subset_is_equally_likely():
    holds = np.ones((5, 2), dtype=bool)
    seen = [
        tuple(sorted(draw_split(1, 2, i, holds, twin=False)[:2])) for i in range(4000)
    ]
    counts = np.unique(seen, axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert np.sum((counts - 400) ** 2 / 400) < 27.9  # chi-square, 9 df, p = .001


def test_groups_are_never_on_both_sides():
    holds = np.ones((9, 2), dtype=bool)
    for i in range(20):
        order = draw_split(0, 4, i, holds, twin=True)
        assert sorted(order) == list(range(9))


def test_draws_lacking_a_class_are_thrown_away():
    holds = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    for i in range(50):
        order = draw_split(0, 2, i, holds, twin=True)
        for half in (order[:2], order[2:4]):
            assert holds[half].any(axis=0).all()


def test_streams_do_not_depend_on_one_another():
    holds = np.ones((12, 2), dtype=bool)
    orders = {
        tuple(draw_split(0, s, i, holds, twin=False)) for s in (2, 3) for i in range(9)
    }
    assert len(orders) == 18


def test_sizes():
    np.testing.assert_array_equal(check_train_sizes(None, 5), [2, 3, 4])
    np.testing.assert_array_equal(check_train_sizes([4, 1, 4], 5), [1, 4])
    np.testing.assert_array_equal(check_train_sizes(3, 5), [3])
    with pytest.raises(ValueError, match="needs at least 3"):
        check_train_sizes(None, 2)
    with pytest.raises(ValueError, match="between 1 and 4"):
        check_train_sizes([5], 5)


def test_impossible_splits():
    holds = np.array([[1, 0], [1, 0], [1, 1]], dtype=bool)
    with pytest.raises(ValueError, match=r"no 1 training groups .* pattern=None"):
        draw_split(0, 1, 0, holds, twin=True)
