"""Mahalanobis margins against the quadratic form."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf, oas

from tests.analyses import encoding_covariance
from tests.encoding.seam import (
    COVARIANCES,
    EncodingMargins,
    ResponseRows,
    correlation_margins,
    mahalanobis_margins,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 5)), rng.normal(size=(9, 5)), rng.normal(size=(40, 5))


def test_equals_the_quadratic_form(data):
    Y, F, E = data
    sigma = E.T @ E / 40
    found = mahalanobis_margins(Y, F, sigma)
    for i in range(6):
        for j in range(9):
            d = Y[i] - F[j]
            assert found[i, j] == pytest.approx(-0.5 * d @ np.linalg.inv(sigma) @ d)


@pytest.mark.parametrize("n_features", [1, 31, 32, 33, 64, 150])
def test_equals_the_quadratic_form_in_any_number_of_blocks(n_features):
    rng = np.random.default_rng(n_features)
    Y, F = rng.normal(size=(7, n_features)), rng.normal(size=(4, n_features))
    E = rng.normal(size=(2 * n_features + 3, n_features))
    sigma = E.T @ E / len(E)
    given = sigma.copy()
    found = mahalanobis_margins(Y, F, sigma)
    D = Y[:, None] - F
    expected = -0.5 * np.einsum("ijv,vw,ijw->ij", D, np.linalg.inv(sigma), D)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_array_equal(sigma, given)


def test_differences_are_gaussian_log_likelihood_ratios(data):
    from scipy.stats import multivariate_normal

    Y, F, E = data
    sigma = E.T @ E / 40
    found = mahalanobis_margins(Y, F, sigma)
    logs = np.stack([multivariate_normal(f, sigma).logpdf(Y) for f in F], axis=1)
    np.testing.assert_allclose(found - found[:, :1], logs - logs[:, :1], atol=1e-9)


def test_a_large_common_offset_costs_no_digits(data):
    Y, F, E = data
    sigma = E.T @ E / 40
    shifted = mahalanobis_margins(Y + 1e6, F + 1e6, sigma)
    np.testing.assert_allclose(shifted, mahalanobis_margins(Y, F, sigma), rtol=1e-6)


@pytest.mark.parametrize("method", COVARIANCES)
def test_noise_covariances(data, method):
    E = data[2]
    found = COVARIANCES[method](E)
    expected = {
        "mahalanobis": encoding_covariance(E),
        "ledoit_wolf": ledoit_wolf(E, assume_centered=True)[0],
        "oas": oas(E, assume_centered=True)[0],
        "diagonal": np.diag((E**2).mean(axis=0)),
        "euclidean": np.eye(5),
    }
    np.testing.assert_allclose(found, expected[method], rtol=1e-12)


def test_margins_equal_the_function_region_by_region(data):
    Y, F, E = data
    repeats = np.array([1, 2, 3, 1, 1, 4])
    source = EncodingMargins(repeats)
    rows = ResponseRows(len(F), np.array([[len(Y), len(E), len(E)]]))
    xs = [np.concatenate([Y, F, E])[:, some] for some in ([0, 1, 2], [3, 4])]
    margins = source.margins(xs, rows)
    for region, some in enumerate(([0, 1, 2], [3, 4])):
        sigma = encoding_covariance(E[:, some])
        expected = mahalanobis_margins(Y[:, some], F[:, some], sigma)
        np.testing.assert_allclose(margins[:, :, region], expected)


def test_bad_input(data):
    Y, F, _ = data
    with pytest.raises(ValueError, match="covariance of 5 features is singular"):
        mahalanobis_margins(Y, F, np.ones((5, 5)) - np.eye(5))
    with pytest.raises(ValueError, match="must share the number of features"):
        mahalanobis_margins(Y, F[:, :4], np.eye(5))


def test_correlation_margins_are_pearson_correlations():
    rng = np.random.default_rng(0)
    Y, F = rng.normal(size=(4, 20)), rng.normal(size=(6, 20))
    scale = rng.uniform(0.5, 3, size=20)
    found = correlation_margins(Y, F, scale)
    expected = np.corrcoef(Y / scale, F / scale)[:4, 4:]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    residuals = scale * np.tile([[1.0], [-1.0]], (5, 20))
    rows = np.concatenate([Y, F, residuals]).astype(np.float32)
    kernel = EncodingMargins([1, 1, 2, 1], rule="correlation")
    margins = kernel.margins([rows], ResponseRows(6, np.array([[4, 10, 10]])))[..., 0]
    np.testing.assert_allclose(margins, expected, atol=1e-6)
    assert (correlation_margins(np.ones((1, 20)), F, np.ones(20)) == 0).all()
