"""Designs from splitters, and the mistakes they catch."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from tests.design.seam import (
    check_labelings,
    class_weights,
    code_labels,
    counts_of,
    folds_follow_labels,
    make_design,
    members,
    point_weights,
)

Y = np.tile([0, 1, 2], 4)
RUNS = np.repeat(np.arange(4), 3)


def test_memberships_and_counts_are_those_of_comparisons():
    first, second = np.random.default_rng(0).integers([[5], [4]], size=(2, 30))
    first[first == 2] = 3  # no row has code 2
    own = np.arange(7)[:, None] == first
    np.testing.assert_array_equal(members(first, 7).toarray(), own)
    together = [[(own[i] & (second == j)).sum() for j in range(4)] for i in range(5)]
    np.testing.assert_array_equal(counts_of(first, second), together)


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
        ({"cv": [([0, 1, 2], [2, 3])]}, "both training and test"),
        ({"cv": [([0, 1], [3, 4])]}, r"classes \[2\] .* no training sample in fold 1"),
        ({"cv": []}, "made no folds"),
        ({"cv": [([0, 1, 2], [])]}, "no training or no test"),
    ],
)
def test_impossible_designs_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_design(Y, 3, **options)


@pytest.mark.parametrize("name", ["groups", "blocks"])
def test_runs_and_blocks_of_other_samples_are_refused(name):
    given = {"groups": None, "blocks": None} | {name: RUNS[:5]}
    with pytest.raises(ValueError, match="give one entry for every sample"):
        code_labels(Y, None, **given)


@pytest.mark.parametrize("index", [-1, 12])
@pytest.mark.parametrize("part", ["train", "test"])
def test_indices_of_other_samples_are_refused(index, part):
    parts = {"train": np.arange(9), "test": np.arange(9, 12)}
    parts[part] = np.append(parts[part], index)
    with pytest.raises(ValueError, match=f"the {part} index {index}, samples are 0"):
        make_design(Y, 3, cv=[(parts["train"], parts["test"])])


@pytest.mark.parametrize("empty", [0, 1])
def test_folds_without_samples_are_refused(empty):
    fold = [np.arange(6), np.arange(6, 12)]
    fold[empty] = np.array([], dtype=int)
    with pytest.raises(ValueError, match="no training or no test samples"):
        make_design(Y, 3, cv=[tuple(fold)])


def test_masks_are_folds_too():
    masks = [(run != RUNS, run == RUNS) for run in range(4)]
    for one, other in zip(
        make_design(Y, 3, cv=masks).folds,
        make_design(Y, 3, groups=RUNS).folds,
        strict=True,
    ):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_an_integer_without_groups_makes_folds_from_the_labels():
    for _, test in make_design(np.sort(Y), 3, cv=4).folds:
        np.testing.assert_array_equal(np.sort(Y)[test], [0, 1, 2])


class Unsorted:
    """Refuses labels that are sorted, and does not look at others."""

    def split(self, X, y, groups=None):
        if (np.diff(y) >= 0).all():
            raise ValueError("sorted")
        return KFold(3).split(X)

    def get_n_splits(self, X=None, y=None, groups=None):
        return 3


@pytest.mark.parametrize(
    ("cv", "follow"),
    [(StratifiedKFold(2), True), (Unsorted(), True), (KFold(3), False)],
)
def test_folds_that_follow_some_orders_of_labels_follow_labels(cv, follow):
    mirrored = np.array([0, 1, 1, 2, 0, 2, 2, 0, 2, 1, 1, 0])  # the same from behind
    assert folds_follow_labels(mirrored, cv=cv) is follow


@pytest.mark.parametrize("with_units", [False, True])
def test_points_of_a_fold_weigh_as_their_classes_and_units(with_units):
    codes = np.array([0, 0, 1, 1, 1, 2, 0, 1, 1, 1, 0, 0, 2, 2])
    runs = np.array([0] * 6 + [1] * 4 + [2] * 4)  # class 2 is not tested in run 1
    units = np.array([0, 0, 1, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10])
    design = make_design(codes, 3, groups=runs)
    weights, repeats = point_weights(codes, design, units if with_units else None)
    units = units if with_units else np.arange(14)
    for fold, (_, test) in enumerate(design.folds):
        present = np.unique(codes[test])
        for label in range(3):
            own = np.unique(units[test][codes[test] == label])
            assert repeats[fold, label] == len(own)
        for point, weight in zip(test, weights[design.fold_slices[fold]], strict=True):
            size = np.count_nonzero(units[test] == units[point])
            share = 1 / len(present) / repeats[fold, codes[point]]
            assert weight == pytest.approx(share / size, rel=1e-12)


def test_permuted_labels_must_be_trainable():
    design = make_design(Y, 3, groups=RUNS)
    bad = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 1])
    with pytest.raises(ValueError, match="permuted labeling leaves a class"):
        check_labelings(np.stack([Y, bad]), design)
    check_labelings(Y[None], design)
    one = np.array([0, 0, 0, 1, 1, 1, 2, 1, 1, 2, 0, 1])  # class 2 trains once
    check_labelings(one[None], design)


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
