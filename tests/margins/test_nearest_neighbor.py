"""Nearest-neighbor margins against a search through the training samples."""

from itertools import combinations

import numpy as np
import pytest

from tests.margins.cases import K, correlated_regions, labels, unequal_design
from tests.margins.seam import Design, Labelings, NearestNeighborMargins
from tests.margins.twins import NearestNeighborTwin


def search(x, codes, design):
    rows = []
    for train, test in design.folds:
        rows.append(NearestNeighborTwin().fit(x[train], codes[train]).margins(x[test]))
    return np.concatenate(rows)


def test_unequal_classes_are_drawn_equally_often():
    """The mean over all subsets of two samples of either class, one by one."""
    x = np.random.default_rng(0).standard_normal((7, 3))
    codes, design = (
        np.array([0, 0, 0, 0, 1, 1, 0]),
        Design(((np.arange(6), [6]),), 7, 2),
    )
    kernel = NearestNeighborMargins()
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes[None], 2))
    squared = ((x[6] - x) ** 2).sum(axis=1)
    of_pairs = [squared[list(pair)].min() for pair in combinations(range(4), 2)]
    expected = -np.mean(of_pairs), -squared[4:6].min()
    np.testing.assert_allclose(margins[0, :, 0], expected, rtol=1e-12)


def test_equals_a_search():
    design, codes, xs = unequal_design(), labels(5), correlated_regions((6, 50, 1))
    kernel = NearestNeighborMargins()
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    assert margins.shape == (len(design.test), K, 15)
    column = 0
    for x in xs:
        for one in codes:
            expected = search(x, one, design)
            np.testing.assert_allclose(margins[:, :, column], expected, atol=1e-11)
            column += 1


def test_predictions_are_those_of_scikit_learn():
    from sklearn.neighbors import KNeighborsClassifier

    codes, (x,) = np.arange(40)[None] % 4, correlated_regions((8,))
    folds = [(np.delete(np.arange(40), t), t) for t in np.split(np.arange(40), 5)]
    design, kernel = Design(tuple(folds), 40, 4), NearestNeighborMargins()
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, 4))
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        fit = KNeighborsClassifier(1).fit(x[train], codes[0, train])
        ours = margins[rows, :, 0].argmax(axis=1)
        np.testing.assert_array_equal(ours, fit.predict(x[test]))


def test_batches_are_bit_identical():
    design, codes, xs = unequal_design(), labels(9), correlated_regions((6, 40))
    kernel = NearestNeighborMargins()
    whole = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    whole = whole.reshape(len(design.test), K, 2, 9)
    for s, x in enumerate(xs):
        state = kernel.prepare([x], design)
        for start in (0, 3, 6):
            part = slice(start, start + 3)
            alone = kernel.margins(state, Labelings(codes[part], K))
            np.testing.assert_array_equal(whole[:, :, s, part], alone)


def test_bad_arguments():
    design, codes, (x,) = unequal_design(), labels(1), correlated_regions((6,))
    kernel = NearestNeighborMargins()
    with pytest.raises(ValueError, match="each region must have shape"):
        kernel.prepare([x[:-1]], design)
    codes[0, design.folds[2][0]] = 1
    with pytest.raises(ValueError, match="missing in fold"):
        kernel.margins(kernel.prepare([x], design), Labelings(codes, K))


def test_repr():
    assert repr(NearestNeighborMargins()) == "NearestNeighborMargins()"
