"""Label-free preparation of scans."""

import numpy as np
import pytest

from tests.learning_curves.seam import balanced_scans, center_groups, scale_scans


def test_group_means_vanish_and_one_group_does_not_touch_another():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((12, 5)), np.repeat(["b", "a", "c"], 4)
    centered = center_groups(X, groups)
    for name in "abc":
        np.testing.assert_allclose(centered[groups == name].mean(axis=0), 0, atol=1e-15)
    moved = X.copy()
    moved[groups == "a"] += 100
    np.testing.assert_array_equal(
        center_groups(moved, groups)[groups != "a"], centered[groups != "a"]
    )


def test_centering_refuses_single_scans():
    with pytest.raises(ValueError, match=r"group .*7.* has one scan"):
        center_groups(np.ones((3, 2)), [1, 1, 7])


def test_scaled_scans_have_mean_one():
    X = np.random.default_rng(0).uniform(1, 5, (4, 9))
    np.testing.assert_allclose(scale_scans(X).mean(axis=1), 1)
    np.testing.assert_allclose(scale_scans(3 * X), scale_scans(X))


def test_scaling_refuses_centered_scans():
    X = np.random.default_rng(0).standard_normal((4, 1000))
    with pytest.raises(ValueError, match="clearly positive"):
        scale_scans(X - X.mean(axis=1, keepdims=True))


def test_balanced_subset():
    y, groups = np.array(list("abbbaabab")), np.repeat([1, 2], [5, 4])
    rows = balanced_scans(y, groups, per_label=2)
    np.testing.assert_array_equal(rows, [0, 1, 2, 4, 5, 6, 7, 8])
    with pytest.raises(ValueError, match=r"group .*1.* has 2 scans labeled .*'a'"):
        balanced_scans(y, groups, per_label=3)
