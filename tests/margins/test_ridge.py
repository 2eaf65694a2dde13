"""Ridge margins against refits on every training fold."""

from itertools import pairwise

import numpy as np
import pytest

from tests.margins.cases import (
    K,
    correlated_regions,
    labels,
    take_path,
    unequal_design,
)
from tests.margins.seam import (
    Design,
    Labelings,
    LDAMargins,
    RidgeMargins,
    _grams,
    ledoit_wolf_intensity,
    ridge_penalty,
)
from tests.margins.twins import explained, noise_gaps

N = 30


@pytest.fixture(params=["class sums", "products"])
def solver(request, monkeypatch):
    """Both ways to the same margins."""
    take_path(monkeypatch, request.param)


def predict(x, codes, design, penalty):
    """Fit ridge on one-hot labels of the training samples, fold by fold."""
    rows = []
    for train, test in design.folds:
        y = np.eye(codes.max() + 1)[codes[train]]
        center = x[train].mean(axis=0)
        a = x[train] - center
        weights = np.linalg.solve(
            a.T @ a + penalty * np.eye(x.shape[1]), a.T @ (y - y.mean(axis=0))
        )
        rows.append((x[test] - center) @ weights + y.mean(axis=0))
    return np.concatenate(rows)


def refit(x, codes, design, penalty):
    """Margins in which classes of any size weigh the same, about their mean.

    The inverse of the total scatter is taken between points and class means, both
    about the unweighted mean of the classes. What less noisy means gain is taken off.
    """
    rows = []
    for train, test in design.folds:
        a, y = x[train], codes[train]
        means = np.stack([a[y == label].mean(axis=0) for label in np.unique(y)])
        middle = means.mean(axis=0)
        scatter = (a - a.mean(axis=0)).T @ (a - a.mean(axis=0))
        inverse = np.linalg.inv(scatter + penalty * np.eye(x.shape[1]))
        scores = (x[test] - middle) @ inverse @ (means - middle).T
        scores -= noise_gaps(y) * explained(a, penalty) / len(means)
        rows.append(scores * len(train) / len(means))
    return about_mean(np.concatenate(rows))


def about_mean(margins):
    """Margins without what the classes share, on which no decision depends."""
    margins = np.asarray(margins, dtype=float)
    return margins - margins.mean(axis=1, keepdims=True)


def balanced_design(n_runs=5):
    """Runs of two samples of each class, left out one or two at a time."""
    runs, n = np.repeat(np.arange(n_runs), 2 * K), 2 * K * n_runs
    tests = [np.flatnonzero(runs == run) for run in range(n_runs)]
    tests.append(np.flatnonzero(runs < 2))
    return Design(tuple((np.setdiff1d(np.arange(n), t), t) for t in tests), n, K)


def balanced_labels(n_labelings, n_runs=5):
    rng, runs = np.random.default_rng(1), np.tile(np.arange(K), (n_runs, 2))
    return np.stack([rng.permuted(runs, axis=1).ravel() for _ in range(n_labelings)])


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("shrinkage", ["auto", 1e-4, 3.0])
@pytest.mark.parametrize("sizes", [(5,), (40,), (5, 40, 25, 1, 60)])
def test_equals_refits(sizes, shrinkage):
    design, codes, xs = unequal_design(N), labels(4, N), correlated_regions(sizes, N)
    tolerance = 1e-9 if shrinkage == 1e-4 else 2e-5  # float64, float32
    kernel = RidgeMargins(shrinkage=shrinkage)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    assert margins.shape == (len(design.test), K, len(xs) * len(codes))
    column = 0
    for x in xs:
        penalty = ridge_penalty(x, shrinkage=shrinkage)
        for one in codes:
            expected = refit(x, one, design, penalty)
            np.testing.assert_allclose(
                about_mean(margins[:, :, column]), expected, rtol=0, atol=tolerance
            )
            column += 1


@pytest.mark.parametrize("n_classes", [2, 5, 6])
@pytest.mark.parametrize("path", ["class sums", "products", "growing folds"])
def test_rare_classes_equal_refits(n_classes, path, monkeypatch):
    """Classes of one training sample, a frequent one, and training sets that grow."""
    take_path(monkeypatch, path)
    monkeypatch.setattr(_grams, "FLOAT32_PENALTY", np.inf)
    rng, n = np.random.default_rng(3), 40
    codes = np.zeros((20, n), dtype=int)
    for one in codes:
        one[: 2 * n_classes] = rng.permutation(np.tile(np.arange(n_classes), 2))
        one[-6:] = rng.integers(n_classes, size=6)
    codes[:, :n_classes] = np.arange(n_classes)
    edges = [n_classes, 15, 29, n]
    folds = [(np.arange(a), np.arange(a, b)) for a, b in pairwise(edges)]
    if path != "growing folds":
        samples, tests = np.arange(n), [np.arange(n_classes, 21), np.arange(20, n, 2)]
        folds = [(np.setdiff1d(samples, test), test) for test in tests]
    design, xs = Design(tuple(folds), n, n_classes), correlated_regions((60, 4), n)
    kernel = RidgeMargins(shrinkage=0.3)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, n_classes))
    for s, x in enumerate(xs):
        penalty = ridge_penalty(x, shrinkage=0.3)
        for b in (0, 7, 19):
            expected = refit(x, codes[b], design, penalty)
            found = about_mean(margins[:, :, 20 * s + b])
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("shrinkage", ["auto", 1e-4])
def test_equal_classes_have_the_predicted_indicators(shrinkage):
    design, codes = balanced_design(), balanced_labels(3)
    xs = correlated_regions((5, 40), N)
    tolerance = 1e-9 if shrinkage == 1e-4 else 2e-5  # float64, float32
    kernel = RidgeMargins(shrinkage=shrinkage)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    for s, x in enumerate(xs):
        penalty = ridge_penalty(x, shrinkage=shrinkage)
        for b, one in enumerate(codes):
            found, expected = margins[:, :, 3 * s + b], predict(x, one, design, penalty)
            np.testing.assert_allclose(
                about_mean(found), about_mean(expected), rtol=0, atol=tolerance
            )
            # and these are the margins that weigh classes equally
            centered = refit(x, one, design, penalty)
            np.testing.assert_allclose(expected - 1 / K, centered, rtol=0, atol=1e-8)


@pytest.mark.usefixtures("solver")
def test_equal_and_unequal_classes_mix():
    """The margins of a labeling depend on no other one."""
    design, xs = balanced_design(), correlated_regions((40, 5), N)
    equal, unequal = balanced_labels(4), labels(4, N)
    codes = np.stack([*unequal[:2], *equal, *unequal[2:]])
    kernel, mixed = RidgeMargins(), Labelings(codes, K)
    state = kernel.prepare(xs, design)
    margins = kernel.margins(state, mixed).reshape(len(design.test), K, 2, 8)
    for part, columns in ((equal, [2, 3, 4, 5]), (unequal, [0, 1, 6, 7])):
        alone = kernel.margins(kernel.prepare(xs, design), Labelings(part, K))
        alone = alone.reshape(len(design.test), K, 2, 4)
        np.testing.assert_array_equal(margins[..., columns], alone)


@pytest.mark.parametrize("sizes", [(6, 4), (3, 1), (9, 1), (6, 2, 2)])
def test_unequal_classes_cost_no_power(sizes):
    """As accurate as scikit-learn's with class weights, and better than chance."""
    from sklearn.linear_model import RidgeClassifier

    rng, n_runs, p, n_regions = np.random.default_rng(4), 8, 30, 8
    y = np.tile(np.repeat(np.arange(len(sizes)), sizes), n_runs)
    runs = np.repeat(np.arange(n_runs), sum(sizes))
    folds = [(np.flatnonzero(runs != r), np.flatnonzero(runs == r)) for r in set(runs)]
    design = Design(tuple(folds), len(y), len(sizes))
    xs = rng.normal(size=(n_regions, len(y), p))
    xs += 0.35 * rng.normal(size=(n_regions, len(sizes), p))[:, y]
    kernel, truth = RidgeMargins(), y[design.test]
    state = kernel.prepare(list(xs), design)
    margins = kernel.margins(state, Labelings(y[None], len(sizes)))

    def accuracy(chosen):
        return np.mean([(chosen[truth == c] == c).mean() for c in set(y)])

    ours = [accuracy(one) for one in margins.argmax(axis=1).T]
    theirs = []
    for x in xs:
        model = RidgeClassifier(alpha=ridge_penalty(x), class_weight="balanced")
        chosen = [model.fit(x[a], y[a]).predict(x[b]) for a, b in folds]
        theirs.append(accuracy(np.concatenate(chosen)))
    error = np.std(np.subtract(ours, theirs)) / n_regions**0.5
    assert np.mean(ours) > np.mean(theirs) - 0.02 - 2 * error
    spread = np.std(ours) / n_regions**0.5
    assert np.mean(ours) > 1 / len(sizes) + 5 * spread


@pytest.mark.usefixtures("solver")
def test_two_unequal_classes_are_told_apart_as_by_lda(monkeypatch):
    """Of two classes both have the same direction, and the threshold halfway."""
    monkeypatch.setattr(_grams, "FLOAT32_PENALTY", np.inf)
    rng = np.random.default_rng(5)
    codes = np.stack([rng.permutation(np.repeat([0, 1], [25, 15])) for _ in range(4)])
    design, xs = unequal_design(40, 2), correlated_regions((60, 5))
    signs = []
    for kernel in (RidgeMargins(), LDAMargins()):
        margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, 2))
        signs.append(margins.argmax(axis=1))
    np.testing.assert_array_equal(*signs)


def test_float32_only_where_the_penalty_is_large():
    design, codes, xs = unequal_design(N), labels(2, N), correlated_regions((40,), N)
    for shrinkage, dtype in ((1.0, np.float32), (1e-3, np.float64)):
        kernel = RidgeMargins(shrinkage=shrinkage)
        margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
        assert margins.dtype == dtype


@pytest.mark.parametrize("shrinkage", [0.015, "auto"])
def test_float32_predicts_as_float64(monkeypatch, shrinkage):
    """Just above the penalty at which float32 is allowed, and at the default."""
    design, codes = unequal_design(N), labels(200, N)
    rng = np.random.default_rng(6)
    # features as correlated as neighboring voxels
    x = np.cumsum(rng.standard_normal((30, 40)), axis=1)
    kernel = RidgeMargins(shrinkage=shrinkage)
    single = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    monkeypatch.setattr(_grams, "FLOAT32_PENALTY", np.inf)
    double = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_array_equal(single.argmax(axis=1), double.argmax(axis=1))


def test_no_penalty_with_few_features_is_least_squares():
    design, codes, xs = unequal_design(N), labels(2, N), correlated_regions((4, 17), N)
    kernel = RidgeMargins(shrinkage=0.0)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    for s, x in enumerate(xs):
        for b, one in enumerate(codes):
            expected, found = refit(x, one, design, 0.0), margins[:, :, 2 * s + b]
            np.testing.assert_allclose(about_mean(found), expected, atol=1e-8)


def test_held_out_labels_never_enter():
    design = Design(((np.arange(20), np.arange(20, 30)),), 30, K)
    codes = labels(1, N)
    changed = codes.copy()
    changed[0, 20:] = changed[0, 20:][::-1]
    kernel = RidgeMargins()
    for size in (40, 5):
        state = kernel.prepare(correlated_regions((size,), N), design)
        first = kernel.margins(state, Labelings(codes, K))
        second = kernel.margins(state, Labelings(changed, K))
        if size == 40:  # the dense form has exact zeros there
            np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, second, atol=1e-6)


def test_batches_of_regions_and_of_labelings_are_bit_identical():
    design, codes = unequal_design(N), labels(8, N)
    xs = correlated_regions((40, 5, 33, 12, 61), N)
    kernel = RidgeMargins()
    whole = kernel.prepare(xs, design)
    batches = [Labelings(codes[i : i + 4], K) for i in (0, 4)]
    for batch in batches:
        together = kernel.margins(whole, batch)
        for s, x in enumerate(xs):
            alone = kernel.margins(kernel.prepare([x], design), batch)
            np.testing.assert_array_equal(together[:, :, 4 * s : 4 * s + 4], alone)


def test_equals_scikit_learn_ridge():
    from sklearn.linear_model import Ridge

    design, codes = balanced_design(), balanced_labels(1)
    (x,) = correlated_regions((40,), N)
    kernel = RidgeMargins(shrinkage=1e-3)
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    penalty = ridge_penalty(x, shrinkage=1e-3)
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        fit = Ridge(alpha=penalty).fit(x[train], np.eye(K)[codes[0, train]])
        np.testing.assert_allclose(margins[rows, :, 0], fit.predict(x[test]), atol=1e-8)


@pytest.mark.parametrize("shape", [(20, 50), (60, 7), (12, 2), (9, 1)])
def test_intensity_equals_scikit_learn(shape):
    from sklearn.covariance import ledoit_wolf_shrinkage

    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape) * rng.uniform(0.1, 3, shape[1]) + 5
    centered = x - x.mean(axis=0)
    ours = ledoit_wolf_intensity(centered @ centered.T, shape[1])
    np.testing.assert_allclose(ours, ledoit_wolf_shrinkage(x), atol=1e-10)


def test_automatic_penalty_is_the_ledoit_wolf_estimate_up_to_scale():
    from sklearn.covariance import ledoit_wolf

    (x,) = correlated_regions((12,), N)
    covariance, intensity = ledoit_wolf(x)
    centered = x - x.mean(axis=0)
    ours = centered.T @ centered + ridge_penalty(x) * np.eye(12)
    np.testing.assert_allclose(ours * (1 - intensity) / len(x), covariance, atol=1e-9)


def test_duplicated_and_constant_features_do_no_harm():
    design, codes, (x,) = unequal_design(N), labels(1, N), correlated_regions((10,), N)
    x = np.column_stack([x, x[:, :4], np.ones(len(x))])
    kernel = RidgeMargins(shrinkage=0.1)
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    penalty = ridge_penalty(x, shrinkage=0.1)
    expected = refit(x, codes[0], design, penalty)
    np.testing.assert_allclose(about_mean(margins[:, :, 0]), expected, atol=2e-6)


@pytest.mark.parametrize(
    ("shrinkage", "error", "match"),
    [
        ("lw", ValueError, r"shrinkage=.* must be"),
        (-1.0, ValueError, r"shrinkage=.* must be"),
        (np.inf, ValueError, r"shrinkage=.* must be"),
        (True, TypeError, r"shrinkage=.* must be"),
        (None, TypeError, r"shrinkage=.* must be"),
        (0.0, ValueError, r"shrinkage=.* must be > 0 when"),
    ],
)
def test_bad_shrinkage(shrinkage, error, match):
    with pytest.raises(error, match=match):
        RidgeMargins(shrinkage=shrinkage).prepare(
            correlated_regions((40,), N), unequal_design(N)
        )
    with pytest.raises(error, match=match):
        ridge_penalty(correlated_regions((40,), N)[0], shrinkage=shrinkage)


def test_bad_regions():
    design = unequal_design(N)
    with pytest.raises(ValueError, match="each region must have shape"):
        RidgeMargins().prepare([np.ones((29, 3))], design)
    with pytest.raises(ValueError, match="each region must have shape"):
        RidgeMargins().prepare([np.ones((30, 0))], design)
    with pytest.raises(ValueError, match="must vary"):
        RidgeMargins().prepare([np.ones((30, 3))], design)
    with pytest.raises(ValueError, match="must vary"):
        ridge_penalty(np.full((30, 3), np.nan))
    (x,) = correlated_regions((5,), N)
    with pytest.raises(ValueError, match="collinear"):
        RidgeMargins(shrinkage=0.0).prepare([np.column_stack([x, x])], design)


def test_class_missing_from_training():
    design, codes = unequal_design(N), labels(1, N)
    train, test = design.folds[0]
    codes[0, train] = np.where(codes[0, train] == 2, 1, codes[0, train])
    codes[0, test] = 2
    kernel = RidgeMargins()
    state = kernel.prepare(correlated_regions((5,), N), design)
    with pytest.raises(ValueError, match="missing in fold 1"):
        kernel.margins(state, Labelings(codes, K))


def test_repr_names_the_option():
    assert repr(RidgeMargins(shrinkage=0.5)) == "RidgeMargins(shrinkage=0.5)"
