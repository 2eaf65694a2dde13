"""Nearest-neighbor margins against a search through the training samples."""

import numpy as np
import pytest

from neuroextrap.design._design import Labelings
from neuroextrap.margins.classifiers import _nearest_neighbor
from neuroextrap.margins.classifiers._nearest_neighbor import NearestNeighborMargins
from tests.margins.cases import K, correlated_regions, labels, unequal_design


def search(x, codes, design):
    rows = []
    for train, test in design.folds:
        squared = ((x[test][:, None] - x[train]) ** 2).sum(axis=2)
        nearest = [squared[:, codes[train] == label].min(axis=1) for label in range(K)]
        rows.append(-np.stack(nearest, axis=1))
    return np.concatenate(rows)


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

    design, codes, (x,) = unequal_design(), labels(1), correlated_regions((8,))
    kernel = NearestNeighborMargins()
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        fit = KNeighborsClassifier(1).fit(x[train], codes[0, train])
        ours = margins[rows, :, 0].argmax(axis=1)
        np.testing.assert_array_equal(ours, fit.predict(x[test]))


def test_batches_are_bit_identical(monkeypatch):
    design, codes, xs = unequal_design(), labels(9), correlated_regions((6, 40))
    kernel = NearestNeighborMargins()
    whole = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    whole = whole.reshape(len(design.test), K, 2, 9)
    monkeypatch.setattr(_nearest_neighbor, "LABELINGS", 2)
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
