"""Discriminant margins against refits on every training fold, and scikit-learn."""

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
    _grams,
    _lda,
    ridge_penalty,
)
from tests.margins.twins import LDATwin, explained, noise_gaps


def refit(x, codes, design, penalty, frequency=False):
    """Scores from the pooled within-class scatter of each training fold."""
    rows = []
    for train, test in design.folds:
        a, y = x[train], codes[train]
        means = np.stack([a[y == label].mean(axis=0) for label in range(K)])
        within = (a - means[y]).T @ (a - means[y]) + penalty * np.eye(x.shape[1])
        shift = means - a.mean(axis=0)
        weights = np.linalg.solve(within, shift.T)
        scores = (x[test] - a.mean(axis=0)) @ weights
        scores -= 0.5 * np.sum(shift.T * weights, axis=0)
        if frequency:
            scores += np.log(np.bincount(y) / len(y)) / (len(y) - K)
        else:
            share = explained(a, penalty)
            scores -= 0.5 * noise_gaps(y) * share / (1.0 - share)
        rows.append(scores)
    return np.concatenate(rows)


@pytest.fixture
def double(monkeypatch):
    """No rounding to float32, whatever the penalty."""
    monkeypatch.setattr(_grams, "FLOAT32_PENALTY", np.inf)


@pytest.fixture(params=["class sums", "products"])
def solver(request, monkeypatch):
    """Both ways to the same margins."""
    take_path(monkeypatch, request.param)


@pytest.mark.usefixtures("double", "solver")
@pytest.mark.parametrize(
    ("sizes", "shrinkage"),
    [((60,), 0.05), ((5,), 5.0), *(((5, 60, 33, 1, 90), s) for s in ("auto", 0.05, 5))],
)
def test_equals_refits(sizes, shrinkage):
    design, codes, xs = unequal_design(), labels(2), correlated_regions(sizes)
    kernel = LDAMargins(shrinkage=shrinkage)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    assert margins.shape == (len(design.test), K, len(xs) * len(codes))
    column = 0
    for x in xs:
        penalty = ridge_penalty(x, shrinkage=shrinkage)
        for one in codes:
            expected = refit(x, one, design, penalty)
            size = np.abs(expected).max()
            np.testing.assert_allclose(
                margins[:, :, column], expected, rtol=0, atol=1e-10 * size
            )
            column += 1


def test_large_penalties_round_to_float32(monkeypatch):
    design, codes, xs = unequal_design(), labels(4), correlated_regions((5, 60))
    kernel = LDAMargins(priors="frequency")
    single = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    monkeypatch.setattr(_grams, "FLOAT32_PENALTY", np.inf)
    double = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, double.astype(np.float32))


@pytest.mark.usefixtures("solver")
def test_no_penalty_with_few_features():
    design, codes, (x,) = unequal_design(), labels(2), correlated_regions((6,))
    kernel = LDAMargins(shrinkage=0.0)
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    expected = refit(x, codes[0], design, 0.0)
    np.testing.assert_allclose(margins[:, :, 0], expected, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("double", "solver")
def test_frequency_priors():
    design, codes, (x,) = unequal_design(), labels(2), correlated_regions((60,))
    kernel = LDAMargins(shrinkage=0.5, priors="frequency")
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    penalty = ridge_penalty(x, shrinkage=0.5)
    for b, one in enumerate(codes):
        expected = refit(x, one, design, penalty, frequency=True)
        np.testing.assert_allclose(margins[:, :, b], expected, rtol=0, atol=1e-11)


@pytest.mark.usefixtures("double")
def test_decisions_are_those_of_scikit_learn():
    """Scaled margins plus log priors are its decisions up to a shared constant."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    design, codes, (x,) = unequal_design(), labels(1), correlated_regions((20,))
    y, kernel = codes[0], LDAMargins(shrinkage=0.3, priors="frequency")
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    penalty = ridge_penalty(x, shrinkage=0.3)
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        within = _FixedCovariance(penalty / len(train))
        theirs = LinearDiscriminantAnalysis(
            solver="lsqr", covariance_estimator=within
        ).fit(x[train], y[train])
        # its covariance is divided by N, that of our priors by N - K
        n, priors = len(train), np.log(np.bincount(y[train]) / len(train))
        ours = (margins[rows, :, 0] - priors / (n - K)) * n + priors
        decision = theirs.decision_function(x[test])
        difference = ours - decision
        np.testing.assert_allclose(
            difference - difference[:, :1], np.zeros_like(difference), atol=1e-8
        )


class _FixedCovariance:
    """Empirical covariance plus a fixed variance, as scikit-learn's protocol asks."""

    def __init__(self, variance):
        self.variance = variance

    def get_params(self, deep=True):
        return {"variance": self.variance}

    def set_params(self, **params):
        self.variance = params["variance"]
        return self

    def fit(self, x, y=None):
        self.covariance_ = np.cov(x.T, bias=True) + self.variance * np.eye(x.shape[1])
        return self


@pytest.mark.usefixtures("solver")
def test_unlabeled_batches_and_batches_are_bit_identical(monkeypatch):
    design, codes = unequal_design(), labels(40)
    xs = correlated_regions((60, 5, 33, 12, 61))
    kernel = LDAMargins()
    whole = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    whole = whole.reshape(*whole.shape[:2], len(xs), len(codes))
    for batch, chunk in ((3, 5), (1, 17), (1000, 40)):
        monkeypatch.setattr(_lda, "_BATCH", batch)
        for start in range(0, len(codes), chunk):
            part = slice(start, start + chunk)
            for s, x in enumerate(xs):
                state = kernel.prepare([x], design)
                alone = kernel.margins(state, Labelings(codes[part], K))
                np.testing.assert_array_equal(whole[:, :, s, part], alone)


@pytest.mark.usefixtures("double", "solver")
def test_two_classes_and_leave_one_out():
    n = 20
    everything = np.arange(n)
    folds = tuple((np.delete(everything, i), np.array([i])) for i in range(n))
    design = Design(folds, n, 2)
    rng = np.random.default_rng(5)
    x, codes = rng.standard_normal((n, 30)), np.repeat([[0, 1]], 10, axis=1)
    codes = np.repeat(codes, 2, axis=0)
    kernel = LDAMargins(shrinkage=0.2)
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, 2))
    penalty = ridge_penalty(x, shrinkage=0.2)
    for i, (train, _) in enumerate(folds):
        a, y = x[train], codes[0, train]
        means = np.stack([a[y == label].mean(axis=0) for label in (0, 1)])
        within = (a - means[y]).T @ (a - means[y]) + penalty * np.eye(30)
        direction = np.linalg.solve(within, means[1] - means[0])
        expected = (x[i] - means.mean(axis=0)) @ direction
        share, gaps = explained(a, penalty), noise_gaps(y)
        expected -= 0.5 * (gaps[1] - gaps[0]) * share / (1.0 - share)
        difference = margins[i, 1, 0] - margins[i, 0, 0]
        np.testing.assert_allclose(difference, expected, rtol=1e-9)


@pytest.mark.usefixtures("double")
def test_held_out_labels_never_enter():
    design = Design(((np.arange(30), np.arange(30, 40)),), 40, K)
    codes = labels(1)
    changed = codes.copy()
    changed[0, 30:] = changed[0, 30:][::-1]
    kernel = LDAMargins()
    state = kernel.prepare(correlated_regions((60,)), design)
    first = kernel.margins(state, Labelings(codes, K))
    second = kernel.margins(state, Labelings(changed, K))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)


def test_scatter_that_is_singular_within_classes():
    design = Design(((np.arange(30), np.arange(30, 40)),), 40, K)
    codes = labels(1)
    x = np.random.default_rng(0).standard_normal((40, 4))
    x[:, 0] = codes[0]  # no variance within a class
    kernel = LDAMargins(shrinkage=0.0)
    with pytest.raises(ValueError, match="within-class scatter is singular"):
        kernel.margins(kernel.prepare([x], design), Labelings(codes, K))


@pytest.mark.usefixtures("double")
def test_duplicated_collinear_and_constant_features():
    design, codes, (x,) = unequal_design(), labels(1), correlated_regions((30,))
    x = np.column_stack([x, x[:, :9], x[:, :5].sum(axis=1), np.full(40, 2.0)])
    kernel = LDAMargins(shrinkage=0.1)
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    expected = refit(x, codes[0], design, ridge_penalty(x, shrinkage=0.1))
    np.testing.assert_allclose(margins[:, :, 0], expected, rtol=0, atol=1e-11)


def test_bad_arguments():
    design, xs = unequal_design(), correlated_regions((60,))
    with pytest.raises(ValueError, match=r"priors=.* must be"):
        LDAMargins(priors="flat").prepare(xs, design)
    with pytest.raises(ValueError, match=r"shrinkage=.* must be"):
        LDAMargins(shrinkage="oas").prepare(xs, design)
    with pytest.raises(TypeError, match=r"shrinkage=.* must be"):
        LDAMargins(shrinkage=None).prepare(xs, design)
    kernel = LDAMargins()
    codes = labels(1)
    codes[0, design.folds[1][0]] = 0
    with pytest.raises(ValueError, match="missing in fold"):
        kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))


def test_repr_names_the_options():
    assert repr(LDAMargins()) == "LDAMargins(shrinkage='auto', priors='equal')"


@pytest.mark.usefixtures("solver")
def test_singular_scatter_is_refused():
    """Residuals of nothing: the moments have the rank of the class counts, one."""
    design, codes, (x,) = unequal_design(), labels(2), correlated_regions((30,))
    kernel = LDAMargins()
    state = kernel.prepare([x], design)
    (operators,) = state[2].operators
    operators.dense[:] = 0.0
    with pytest.raises(ValueError, match="singular or not finite"):
        kernel.margins(state, Labelings(codes, K))


@pytest.mark.usefixtures("double", "solver")
@pytest.mark.parametrize("n_classes", [2, 4, 7])
def test_any_number_of_classes_and_labelings_equals_refits(n_classes):
    """Odd and even numbers of classes; fewer and more labelings than go together."""
    design, rng = unequal_design(60, n_classes), np.random.default_rng(7)
    base, (x,) = np.arange(60) % n_classes, correlated_regions((70,), n=60)
    kernel = LDAMargins(shrinkage=0.3, priors="frequency")
    state = kernel.prepare([x], design)
    twin = LDATwin(ridge_penalty(x, shrinkage=0.3), "frequency")
    for n_labelings in (2, 70):
        codes = np.stack([rng.permutation(base) for _ in range(n_labelings)])
        margins = kernel.margins(state, Labelings(codes, n_classes))
        for b in (0, n_labelings - 1):
            expected = [
                twin.fit(x[train], codes[b, train]).margins(x[test])
                for train, test in design.folds
            ]
            expected, found = np.concatenate(expected), margins[:, :, b]
            expected = expected - expected[:, :1]
            np.testing.assert_allclose(found - found[:, :1], expected, atol=1e-10)


def test_margins_that_are_no_numbers_are_refused():
    design, codes, (x,) = unequal_design(), labels(5), correlated_regions((60,))
    kernel = LDAMargins()
    state = kernel.prepare([x], design)
    (operators,) = state[2].operators
    operators.inverses[1][0, 2, 0] = np.nan
    with pytest.raises(ValueError, match="singular or not finite"):
        kernel.margins(state, Labelings(codes, K))
