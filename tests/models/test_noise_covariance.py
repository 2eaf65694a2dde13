"""Shrunk noise covariance against the formula written out."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

from neuroextrap import encoding
from tests.models.seam import SchaeferStrimmerCovariance, schaefer_strimmer_covariance


def _naive(E):
    """Element by element."""
    n_samples, n_features = E.shape
    S = E.T @ E / n_samples
    numerator = denominator = 0.0
    for i in range(n_features):
        for j in range(n_features):
            if i != j:
                products = E[:, i] * E[:, j]
                spread = (products**2).sum() - products.sum() ** 2 / n_samples
                numerator += spread / (n_samples * (n_samples - 1))
                denominator += S[i, j] ** 2
    lam = float(np.clip(numerator / denominator, 0, 1))
    return (1 - lam) * S + lam * np.diag(np.diag(S)), lam


@pytest.mark.parametrize("n_samples", [5, 40, 400])
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_equals_the_formula(n_samples, correlation):
    rng = np.random.default_rng(n_samples)
    E = rng.normal(size=(n_samples, 7)) + correlation * rng.normal(size=(n_samples, 1))
    covariance, shrinkage = schaefer_strimmer_covariance(E)
    expected, lam = _naive(E)
    np.testing.assert_allclose(covariance, expected, rtol=1e-10, atol=1e-12)
    assert shrinkage == pytest.approx(lam, abs=1e-12)


def test_shrinkage_falls_with_samples_and_is_total_without_correlation():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(20, 20))
    few, many = (
        schaefer_strimmer_covariance(rng.normal(size=(n, 20)) @ mixing)[1]
        for n in (20, 2000)
    )
    assert 0 < many < few < 1
    assert schaefer_strimmer_covariance(rng.normal(size=(100, 20)))[1] > 0.8


def test_beats_the_sample_covariance_in_error():
    rng = np.random.default_rng(1)
    truth = 0.5 * np.eye(30) + 0.2
    root = np.linalg.cholesky(truth)
    losses = []
    for _ in range(20):
        E = rng.normal(size=(40, 30)) @ root.T
        shrunk = schaefer_strimmer_covariance(E)[0]
        losses.append([((c - truth) ** 2).sum() for c in (shrunk, E.T @ E / len(E))])
    assert np.mean(losses, axis=0)[0] < 0.9 * np.mean(losses, axis=0)[1]


def test_more_features_than_samples_is_positive_definite():
    E = np.random.default_rng(2).normal(size=(10, 50))
    covariance, shrinkage = schaefer_strimmer_covariance(E)
    assert 0 < shrinkage <= 1
    assert np.linalg.eigvalsh(covariance)[0] > 0


def test_one_feature_and_float32():
    E = np.random.default_rng(3).normal(size=(30, 1))
    covariance, shrinkage = schaefer_strimmer_covariance(E)
    assert shrinkage == 0
    np.testing.assert_allclose(covariance, [[np.mean(E**2)]])
    E = np.random.default_rng(4).normal(size=(300, 20)) + np.ones((1, 20))
    single, lam = schaefer_strimmer_covariance(E.astype(np.float32))
    double, expected = schaefer_strimmer_covariance(E)
    assert single.dtype == np.float32
    assert lam == pytest.approx(expected, rel=1e-3)
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-4)


def test_training_residuals_use_the_degrees_of_freedom():
    E = np.random.default_rng(5).normal(size=(30, 4))
    spent = np.array([0.0, 3.0, 5.0, 10.0])
    covariance, shrinkage = schaefer_strimmer_covariance(E, degrees_of_freedom=spent)
    for i in range(4):
        for j in range(4):
            scale = np.sqrt((30 - spent[i]) * (30 - spent[j]))
            factor = 1 if i == j else 1 - shrinkage
            expected = factor * E[:, i] @ E[:, j] / scale
            assert covariance[i, j] == pytest.approx(expected, rel=1e-10)


def test_degrees_of_freedom_make_training_residuals_unbiased():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 15))
    hat = X @ np.linalg.pinv(X)
    variances = [
        np.diag(
            schaefer_strimmer_covariance(E - hat @ E, degrees_of_freedom=[15.0] * 3)[0]
        )
        for E in rng.normal(size=(300, 40, 3))
    ]
    assert np.mean(variances) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("spent", [None, [0.0, 3.0, 5.0, 10.0]])
def test_class_equals_function(spent):
    E = np.random.default_rng(7).normal(size=(30, 4)) + 2
    model = SchaeferStrimmerCovariance(assume_centered=True, degrees_of_freedom=spent)
    expected, lam = schaefer_strimmer_covariance(E, degrees_of_freedom=spent)
    np.testing.assert_array_equal(model.fit(E).covariance_, expected)
    np.testing.assert_array_equal(model.location_, 0)
    assert model.shrinkage_ == lam
    model.set_params(assume_centered=False).fit(E)
    expected, lam = schaefer_strimmer_covariance(
        E - E.mean(axis=0), degrees_of_freedom=spent
    )
    np.testing.assert_array_equal(model.covariance_, expected)
    np.testing.assert_array_equal(model.location_, E.mean(axis=0))
    assert model.shrinkage_ == lam


def test_class_has_the_methods_of_scikit_learn_s_covariance_estimators():
    rng = np.random.default_rng(8)
    E = rng.normal(size=(60, 5)) + 1
    model = SchaeferStrimmerCovariance().fit(E)
    precision = np.linalg.inv(model.covariance_)
    np.testing.assert_allclose(model.precision_, precision, rtol=1e-10)
    lean = SchaeferStrimmerCovariance(store_precision=False).fit(E)
    assert lean.precision_ is None
    np.testing.assert_allclose(lean.get_precision(), precision, rtol=1e-10)
    centered = E - model.location_
    distances = np.einsum("ij,jk,ik->i", centered, precision, centered)
    np.testing.assert_allclose(model.mahalanobis(E), distances, rtol=1e-10)
    new = rng.normal(size=(20, 5)) + 1
    density = multivariate_normal(model.location_, model.covariance_)
    assert model.score(new) == pytest.approx(density.logpdf(new).mean())
    assert model.error_norm(model.covariance_) == 0


def test_names_of_earlier_versions_are_the_same_objects():
    assert encoding.ShrunkCovariance is encoding.SchaeferStrimmerCovariance
    assert encoding.shrunk_covariance is encoding.schaefer_strimmer_covariance


def test_bad_residuals():
    with pytest.raises(ValueError, match="n_samples >= 2"):
        schaefer_strimmer_covariance(np.ones((1, 3)))
    with pytest.raises(ValueError, match="NaN or infinite"):
        schaefer_strimmer_covariance([[np.nan, 1.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match=r"lie in \[0, 5\)"):
        schaefer_strimmer_covariance(np.ones((5, 2)), degrees_of_freedom=[1.0, 5.0])
    with pytest.raises(ValueError, match=r"must have shape \(2,\)"):
        schaefer_strimmer_covariance(np.ones((5, 2)), degrees_of_freedom=[1.0])


@parametrize_with_checks([SchaeferStrimmerCovariance()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
