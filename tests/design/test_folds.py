"""Designs from splitters, and the mistakes they catch."""

import numpy as np
import pytest

from neuroextrap.design._folds import (
    check_labelings,
    class_weights,
    fold_weightings,
    make_design,
)

Y = np.tile([0, 1, 2], 4)
RUNS = np.repeat(np.arange(4), 3)


def test_leave_one_group_out_is_the_default():
    design = make_design(Y, 3, groups=RUNS)
    assert [test.tolist() for _, test in design.folds] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
        [9, 10, 11],
    ]
    assert design.fold_of_test.tolist() == RUNS.tolist()


def test_an_integer_splits_whole_groups():
    design = make_design(Y, 3, groups=RUNS, cv=2)
    assert len(design.folds) == 2
    for train, test in design.folds:
        assert not set(RUNS[train]) & set(RUNS[test])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "groups is None"),
        ({"groups": np.zeros(12)}, "at least two groups"),
        ({"groups": RUNS[:5]}, "give one group"),
        ({"cv": [([0, 1, 2], [2, 3])]}, "both training and test"),
        ({"cv": [([0, 1], [3, 4])]}, r"classes 2 .* no training sample in fold 1"),
        ({"cv": []}, "made no folds"),
        ({"cv": [([0, 1, 2], [])]}, "no training or no test"),
    ],
)
def test_impossible_designs_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_design(Y, 3, **options)


def test_permuted_labels_must_be_trainable():
    design = make_design(Y, 3, groups=RUNS)
    bad = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 1])
    with pytest.raises(ValueError, match="permuted labeling leaves a class"):
        check_labelings(np.stack([Y, bad]), design)
    check_labelings(Y[None], design)
    one = np.array([0, 0, 0, 1, 1, 1, 2, 1, 1, 2, 0, 1])  # class 2 trains once
    check_labelings(one[None], design)


def test_fold_weightings_make_classes_equal_within_folds():
    codes = np.array([0, 0, 1, 0, 1, 1])
    design = make_design(codes, 2, groups=[0, 0, 0, 1, 1, 1])
    weightings, repeats = fold_weightings(codes, design)
    np.testing.assert_allclose(weightings[0], [0.25, 0.25, 0.5, 0, 0, 0])
    np.testing.assert_array_equal(repeats, [[2, 1], [1, 2]])


def test_one_training_sample_of_each_class_is_enough():
    y, runs = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    design = make_design(y, 2, groups=runs)
    check_labelings(np.array([y, [1, 0, 0, 1]]), design)
    with pytest.raises(ValueError, match="without training samples"):
        check_labelings(np.array([y, [0, 0, 1, 1]]), design)


def test_class_weights_make_present_classes_equal_in_every_labeling():
    y = np.random.default_rng(0).integers(0, 4, size=(9, 6))
    y[:, 0], y[:, 1], y[:, 2] = 0, 3, [0] * 5 + [1] * 4
    weights = class_weights(y, 5)
    for labels, found in zip(y.T, weights.T, strict=True):
        present, size = np.unique(labels, return_counts=True)
        own = dict(zip(present, size, strict=True))
        expected = [1 / len(present) / own[label] for label in labels]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
