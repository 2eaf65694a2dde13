"""Canonical variates against textbook formulas and scikit-learn."""

import numpy as np
import pytest
from scipy import linalg, stats
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.models.seam import CanonicalVariates, leading_svd


def _subjects(n_subjects=6, n_features=300, n_classes=3, repeats=2, shift=1.0, seed=0):
    """Scans of several subjects, subject means removed."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.repeat(np.arange(n_classes), repeats), n_subjects)
    groups = np.repeat(np.arange(n_subjects), n_classes * repeats)
    means = shift * rng.standard_normal((n_classes, n_features))
    X = means[y] + rng.standard_normal((len(y), n_features))
    for group in range(n_subjects):
        X[groups == group] -= X[groups == group].mean(axis=0)
    return X, y, groups


def _twin_posteriors(X, y, X_test, n_components):
    """Textbook: singular vectors, W, B, generalized eigenvectors, Bayes."""
    _, _, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    basis = right[:n_components].T
    q, q_test = (X - X.mean(axis=0)) @ basis, (X_test - X.mean(axis=0)) @ basis
    labels = np.unique(y)
    within = sum(
        (q[y == g] - q[y == g].mean(0)).T @ (q[y == g] - q[y == g].mean(0))
        for g in labels
    )
    between = sum(
        np.sum(y == g) * np.outer(q[y == g].mean(0), q[y == g].mean(0)) for g in labels
    )
    # eigh scales L' (W / (N - K)) L = I
    _, vectors = linalg.eigh(between, within / (len(y) - len(labels)))
    L = vectors[:, ::-1][:, : min(len(labels) - 1, n_components)]
    density = np.stack(
        [
            np.mean(y == g)
            * np.exp(-0.5 * np.sum((q_test @ L - q[y == g].mean(0) @ L) ** 2, axis=1))
            for g in labels
        ],
        axis=1,
    )
    return density / density.sum(axis=1, keepdims=True), L, basis, within


@parametrize_with_checks(
    [CanonicalVariates(), CanonicalVariates(basis="generalizable")]
)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


def test_posteriors_equal_the_textbook():
    X, y, _ = _subjects(shift=0.2)
    test = X[:12] + 0.1
    model = CanonicalVariates(n_components=5).fit(X[12:], y[12:])
    expected, *_ = _twin_posteriors(X[12:], y[12:], test, 5)
    np.testing.assert_allclose(model.predict_proba(test), expected, atol=1e-12)


def test_log_odds_equal_lda_in_the_reduced_space():
    """Up to the divisor of the covariance, which differs between its versions."""
    X, y, _ = _subjects(shift=0.2, n_classes=4)
    model = CanonicalVariates(n_components=6).fit(X, y)
    reduced = (X - X.mean(axis=0)) @ model.basis_.T
    lda = LinearDiscriminantAnalysis(solver="svd").fit(reduced, y)
    ours, theirs = model.decision_function(X), lda.decision_function(reduced)
    ours, theirs = np.diff(ours, axis=1), np.diff(theirs, axis=1)
    ratio = np.sum(ours * theirs) / np.sum(theirs**2)
    np.testing.assert_allclose(ours, ratio * theirs, atol=1e-9)
    assert min(abs(ratio - 1), abs(ratio - (len(y) - 4) / len(y))) < 1e-9


def test_within_class_covariance_is_the_identity():
    X, y, _ = _subjects(shift=0.3)
    model = CanonicalVariates(n_components=5).fit(X, y)
    c = model.transform(X)
    residual = c - np.stack([c[y == g].mean(axis=0) for g in np.unique(y)])[y]
    covariance = residual.T @ residual / (len(y) - 3)
    np.testing.assert_allclose(covariance, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(
        model.class_means_, [c[y == g].mean(axis=0) for g in range(3)], atol=1e-10
    )


def test_canonical_maps_are_the_eigenimages():
    X, y, _ = _subjects(shift=0.3)
    model = CanonicalVariates(n_components=5).fit(X, y)
    _, L, basis, _ = _twin_posteriors(X, y, X, 5)
    twin = (basis @ L).T
    signs = np.sign(np.sum(twin * model.canonical_maps_, axis=1))
    np.testing.assert_allclose(model.canonical_maps_, twin * signs[:, None], atol=1e-9)


def test_same_results_in_rotated_coordinates():
    """The property on which the fast learning curve rests."""
    X, y, _ = _subjects(shift=0.2)
    *_, right = np.linalg.svd(X, full_matrices=False)
    Z = X @ right.T
    train, test = np.arange(12, len(y)), np.arange(12)
    full = CanonicalVariates(n_components=5).fit(X[train], y[train])
    small = CanonicalVariates(n_components=5).fit(Z[train], y[train])
    np.testing.assert_allclose(
        small.predict_log_proba(Z[test]), full.predict_log_proba(X[test]), atol=1e-10
    )
    np.testing.assert_allclose(
        small.canonical_maps_ @ right, full.canonical_maps_, atol=1e-10
    )
    projected = np.abs(X[test] @ full.basis_.T)
    np.testing.assert_allclose(np.abs(Z[test] @ small.basis_.T), projected, atol=1e-10)


def test_bartlett_p_values_against_scipy():
    X, y, _ = _subjects(shift=0.15, n_classes=4)
    model = CanonicalVariates(n_components=5).fit(X, y)
    r = model.canonical_correlations_
    for k, p in enumerate(model.p_values_):
        statistic = -(len(y) - 1 - (5 + 4) / 2) * np.log(np.prod(1 - r[k:] ** 2))
        expected = stats.chi2.sf(statistic, (5 - k) * (4 - 1 - k))
        assert p == pytest.approx(expected, rel=1e-9)


def test_bartlett_size_without_signal():
    rng = np.random.default_rng(5)
    y = np.tile([0, 1, 2], 20)
    hits = [
        CanonicalVariates(n_components=4).fit(rng.standard_normal((60, 4)), y).p_values_
        for _ in range(400)
    ]
    assert abs(np.mean(np.array(hits)[:, 0] < 0.05) - 0.05) < 0.03


def test_no_significant_direction_leaves_the_priors():
    X, y, _ = _subjects(shift=0.0)
    model = CanonicalVariates(n_components=3, significance_level=1e-6).fit(X, y)
    assert model.canonical_maps_.shape == (0, 300)
    np.testing.assert_allclose(model.predict_proba(X), 1 / 3)


def test_significance_keeps_the_real_direction():
    rng = np.random.default_rng(2)
    y = np.tile([0, 1, 2, 3], 30)
    X = rng.standard_normal((120, 6))
    X[:, 0] += 3 * (y >= 2)  # one direction separates two pairs of classes
    model = CanonicalVariates(n_components=6, significance_level=0.01).fit(X, y)
    assert model.canonical_maps_.shape[0] == 1


def test_generalizable_values_against_refits():
    X, y, groups = _subjects(n_subjects=5, n_features=80)
    model = CanonicalVariates(n_components=4, basis="generalizable").fit(X, y, groups)
    squares = np.zeros(4)
    for g in np.unique(groups):
        others = np.linalg.svd(X[groups != g], full_matrices=False)[2][:4]
        squares += np.sum((X[groups == g] @ others.T) ** 2, axis=0)
    np.testing.assert_allclose(model.singular_values_, np.sqrt(squares), rtol=1e-9)


def test_generalizable_basis_matches_test_variance():
    """Test projections have the variance of training ones; with plain SVD, less."""
    ratio = {"svd": [], "generalizable": []}
    for seed in range(20):
        X, y, groups = _subjects(n_subjects=12, n_features=400, shift=0.3, seed=seed)
        train = groups < 8
        for basis, found in ratio.items():
            model = CanonicalVariates(n_components=6, basis=basis)
            model.fit(X[train], y[train], groups[train])
            test_variance = np.mean((X[~train] @ model.basis_.T) ** 2, axis=0)
            found.append(test_variance / (model.singular_values_**2 / train.sum()))
    assert np.mean(ratio["svd"]) < 0.6
    assert abs(np.mean(ratio["generalizable"]) - 1) < 0.15


def test_default_number_of_components():
    X, y, groups = _subjects(n_subjects=6, repeats=2)
    assert CanonicalVariates().fit(X, y).n_components_ == 10
    assert CanonicalVariates().fit(X, y, groups).n_components_ == 6
    assert CanonicalVariates().fit(X[:, :2], y).n_components_ == 2


def test_too_many_components_are_lowered_with_a_warning():
    X, y, _ = _subjects(n_subjects=2, n_classes=5, repeats=1)
    with pytest.warns(UserWarning, match="n_components=5 lowered to 4"):
        model = CanonicalVariates(n_components=5).fit(X, y)
    assert model.n_components_ == 4
    with pytest.warns(
        UserWarning, match="n_components=30 lowered to 4: that is what 10"
    ):
        CanonicalVariates(n_components=30).fit(X, y)


def test_priors_move_the_posterior_odds():
    X, y, _ = _subjects(n_classes=2, shift=0.1)
    even = CanonicalVariates(n_components=3).fit(X, y).predict_log_proba(X)
    skew = clone(CanonicalVariates(n_components=3, priors=[0.2, 0.8])).fit(X, y)
    moved = skew.predict_log_proba(X)
    np.testing.assert_allclose(
        (moved - even)[:, 1] - (moved - even)[:, 0], np.log(4), atol=1e-10
    )


def test_far_samples_keep_finite_log_posteriors():
    X, y, _ = _subjects(shift=1.0)
    model = CanonicalVariates(n_components=4).fit(X, y)
    assert np.all(np.isfinite(model.predict_log_proba(1e8 * X)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 2.5}, "n_components=2.5 must be a positive integer"),
        ({"priors": [0.5, 0.5]}, r"priors of shape \(2,\) given; 3 classes"),
        ({"priors": [0.5, 0.6, 0.1]}, r"priors=.* must be positive and sum to 1"),
        ({"priors": [0.5, 0.5, 0.0]}, r"priors=.* must be positive and sum to 1"),
    ],
)
def test_options_are_checked(options, message):
    X, y, _ = _subjects(n_features=20)
    with pytest.raises(ValueError, match=message):
        CanonicalVariates(**options).fit(X, y)


def test_data_are_checked():
    X, y, groups = _subjects(n_features=20)
    with pytest.raises(ValueError, match="one class"):
        CanonicalVariates().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="no within-class degree of freedom"):
        CanonicalVariates().fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match=r"groups has shape \(3,\), y has \(36,\)"):
        CanonicalVariates().fit(X, y, groups[:3])
    noiseless = np.eye(3)[y]
    with pytest.raises(ValueError, match="do not vary within"):
        CanonicalVariates().fit(noiseless, y)


@pytest.mark.parametrize("shape", [(40, 300), (300, 40)])
@pytest.mark.parametrize("decay", [2.0, 30.0, 1e5])
def test_few_leading_vectors_equal_the_full_decomposition(shape, decay):
    """Also where inner products would lose them and everything is decomposed."""
    rng = np.random.default_rng(0)
    left = np.linalg.qr(rng.standard_normal((shape[0], 40)))[0]
    right = np.linalg.qr(rng.standard_normal((shape[1], 40)))[0]
    values = np.concatenate([np.geomspace(7 * decay, 7, 6), np.linspace(1, 0.5, 34)])
    X = left * values @ right.T
    found = leading_svd(X, 6)
    np.testing.assert_allclose(found[1], values[:6], rtol=1e-10)
    for vectors, truth in ((found[0], left), (found[2].T, right)):
        cosines = np.abs(np.sum(vectors * truth[:, :6], axis=0))
        np.testing.assert_allclose(cosines, 1, atol=1e-10)
    assert leading_svd(np.zeros(shape), 6)[1].shape == (0,)
