"""Naive Bayes margins against refits, and additive against whole regions."""

import numpy as np
import pytest

from tests.margins.cases import K, feature_margins, labels, unequal_design
from tests.margins.seam import (
    Design,
    GaussianNBMargins,
    Labelings,
    NearestCentroidMargins,
    _nearest_centroid,
)
from tests.margins.twins import GaussianNBTwin


def regions(sizes, n=40, seed=2):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, p)) * rng.uniform(0.1, 9, p) + 7.0 for p in sizes]


def refit(x, codes, design, floor):
    """Gaussian log densities from each training fold's means and variances."""
    rows = []
    for train, test in design.folds:
        scores = np.zeros((len(test), K))
        for label in range(K):
            members = x[train][codes[train] == label]
            variance = np.maximum(members.var(axis=0), floor * x.var(axis=0))
            z = (x[test] - members.mean(axis=0)) ** 2 / variance
            scores[:, label] = -0.5 * (z + np.log(variance)).sum(axis=1)
            scores[:, label] += np.log(len(members) / len(train))
        rows.append(scores)
    return np.concatenate(rows)


def equal_priors(x, codes, design):
    """Refit with equal priors, densities leveled."""
    rows = []
    for train, test in design.folds:
        twin = GaussianNBTwin(x.var(axis=0)).fit(x[train], codes[train])
        rows.append(twin.margins(x[test]))
    return np.concatenate(rows)


@pytest.mark.parametrize("floor", [0.0, 1e-3, 0.9])
def test_equals_refits(floor):
    design, codes, xs = unequal_design(), labels(4), regions((5, 1, 60))
    kernel = GaussianNBMargins(variance_floor=floor, priors="frequency")
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    assert margins.shape == (len(design.test), K, len(xs) * len(codes))
    column = 0
    for x in xs:
        for one in codes:
            expected = refit(x, one, design, floor)
            np.testing.assert_allclose(margins[:, :, column], expected, rtol=1e-9)
            column += 1


@pytest.mark.parametrize("power", [-15, 15])
def test_variances_of_any_size(power):
    """The product of 300 variances is far beyond what a number holds."""
    design, codes, (x,) = unequal_design(), labels(1), regions((300,))
    x *= 10.0**power
    kernel = GaussianNBMargins(priors="frequency")
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    expected = refit(x, codes[0], design, kernel.variance_floor)
    np.testing.assert_allclose(margins[:, :, 0], expected, rtol=1e-9)


def test_equal_priors():
    design, codes, (x,) = unequal_design(), labels(1), regions((6,))
    kernel = GaussianNBMargins()
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    expected = equal_priors(x, codes[0], design)
    np.testing.assert_allclose(margins[:, :, 0], expected, rtol=1e-9)


def test_priors_of_equal_classes_are_the_same_to_the_last_bit():
    x, codes = regions((6,), n=36)[0], np.tile(np.arange(K), (1, 12))
    samples = np.arange(36)
    folds = [(samples[part:], samples[:part]) for part in (9, 18)]
    design = Design(tuple(folds), 36, K)
    found = []
    for priors in ("equal", "frequency"):
        kernel = GaussianNBMargins(priors=priors)
        margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
        found.append((margins, kernel.constant(codes[0], design)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_features_and_constant_add_up_to_the_region():
    design, codes, (x,) = unequal_design(), labels(1), regions((30,))
    kernel = GaussianNBMargins()
    of_features = feature_margins(kernel, x.astype(np.float32), codes[0], design)
    assert of_features.shape == (30, len(design.test), K)
    assert of_features.dtype == np.float32
    for feature in (0, 13, 29):
        alone = equal_priors(x[:, [feature]], codes[0], design) + np.log(K)
        np.testing.assert_allclose(of_features[feature], alone, rtol=2e-5, atol=2e-5)
    whole = of_features.sum(axis=0) + kernel.constant(codes[0], design)
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    np.testing.assert_allclose(whole, margins[:, :, 0], rtol=1e-4)


@pytest.mark.parametrize("kernel", [GaussianNBMargins(), NearestCentroidMargins()])
def test_margins_of_some_folds_are_those_of_all(kernel, monkeypatch):
    design, codes, (x,) = unequal_design(), labels(1), regions((64,))
    whole = feature_margins(kernel, x, codes[0], design)
    monkeypatch.setattr(_nearest_centroid, "_FOLDS_AT_ONCE", 2)
    folds = [slice(0, 1), slice(1, len(design.folds))]
    parts = kernel.margins_of_folds(x, codes[0], design, folds)
    np.testing.assert_allclose(np.concatenate([*parts], axis=1), whole, rtol=1e-6)


def test_equals_scikit_learn():
    from sklearn.naive_bayes import GaussianNB

    design, codes, (x,) = unequal_design(), labels(1), regions((12,))
    kernel = GaussianNBMargins(variance_floor=0.0, priors="frequency")
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        fit = GaussianNB(var_smoothing=0.0).fit(x[train], codes[0, train])
        theirs = fit.predict_joint_log_proba(x[test])
        ours = margins[rows, :, 0] - 6.0 * np.log(2 * np.pi)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_a_constant_feature_adds_nothing():
    design, codes, (x,) = unequal_design(), labels(1), regions((5,))
    padded = np.column_stack([x, np.full(40, 3.0)])
    for floor in (0.0, 1e-3):
        kernel = GaussianNBMargins(variance_floor=floor)
        pair = [
            kernel.margins(kernel.prepare([z], design), Labelings(codes, K))
            for z in (x, padded)
        ]
        np.testing.assert_allclose(pair[0], pair[1], rtol=1e-12)
        of_features = feature_margins(kernel, padded, codes[0], design)
        assert (of_features[5] == 0).all()


def test_regions_and_batches_are_bit_identical():
    design, codes, xs = unequal_design(), labels(8), regions((5, 33, 12))
    kernel = GaussianNBMargins()
    state = kernel.prepare(xs, design)
    for start in (0, 4):
        batch = Labelings(codes[start : start + 4], K)
        together = kernel.margins(state, batch)
        for s, x in enumerate(xs):
            alone = kernel.margins(kernel.prepare([x], design), batch)
            np.testing.assert_array_equal(together[:, :, 4 * s : 4 * s + 4], alone)


def test_many_labelings_equal_one_at_a_time():
    design, codes, xs = unequal_design(), labels(70), regions((9,))
    kernel = GaussianNBMargins()
    state = kernel.prepare(xs, design)
    whole = kernel.margins(state, Labelings(codes, K))
    for b in (0, 63, 64, 69):
        one = kernel.margins(state, Labelings(codes[[b]], K))
        np.testing.assert_allclose(whole[:, :, [b]], one, rtol=1e-10)


def test_bad_arguments():
    design, codes, (x,) = unequal_design(), labels(1), regions((5,))
    with pytest.raises(ValueError, match=r"variance_floor=.* must be"):
        GaussianNBMargins(variance_floor=-1.0).prepare([x], design)
    with pytest.raises(ValueError, match=r"variance_floor=.* must be"):
        feature_margins(GaussianNBMargins(variance_floor=np.nan), x, codes[0], design)
    with pytest.raises(ValueError, match=r"priors=.* must be"):
        GaussianNBMargins(priors="flat").constant(codes[0], design)
    with pytest.raises(ValueError, match="each region must have shape"):
        GaussianNBMargins().prepare([x[:-1]], design)
    split = x.copy()
    split[:, 0] = codes[0]
    kernel = GaussianNBMargins(variance_floor=0.0)
    with pytest.raises(ValueError, match="does not vary within a class"):
        feature_margins(kernel, split, codes[0], design)
    with pytest.raises(ValueError, match="does not vary within a class"):
        kernel.margins(kernel.prepare([split], design), Labelings(codes, K))
    kernel, missing = GaussianNBMargins(), codes.copy()
    missing[0, design.folds[1][0]] = 0
    for call in (kernel.constant, lambda *a: feature_margins(kernel, x, *a)):
        with pytest.raises(ValueError, match="missing in fold"):
            call(missing[0], design)
    with pytest.raises(ValueError, match="missing in fold"):
        kernel.margins(kernel.prepare([x], design), Labelings(missing, K))


def test_repr_names_the_options():
    expected = "GaussianNBMargins(variance_floor=0.001, priors='equal')"
    assert repr(GaussianNBMargins()) == expected
