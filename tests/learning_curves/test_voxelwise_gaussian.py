"""Microscopic models against their formulas."""

import numpy as np
import pytest
from scipy import stats
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from neuroextrap.learning_curves import VoxelwiseGaussian, information_learning_curve


def _data(seed=0):
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1, 2], 10)
    return rng.standard_normal((30, 6)) * rng.uniform(0.5, 2, 6) + y[:, None], y


@parametrize_with_checks([VoxelwiseGaussian(), VoxelwiseGaussian(variance="class")])
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


def test_likelihood_of_equation_4():
    X, y = _data()
    model = VoxelwiseGaussian().fit(X, y)
    means = np.array([X[y == g].mean(axis=0) for g in range(3)])
    sigma = np.sqrt(np.sum((X - means[y]) ** 2, axis=0) / (30 - 3))
    twin = [stats.norm.logpdf(X, mean, sigma).sum(axis=1) for mean in means]
    np.testing.assert_allclose(model.log_likelihood(X), np.transpose(twin), rtol=1e-12)


def test_class_variances_are_naive_bayes():
    X, y = _data()
    model = VoxelwiseGaussian(variance="class").fit(X, y)
    twin = GaussianNB(var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(model.variances_ * 9 / 10, twin.var_)
    twin.var_ = model.variances_  # its divisor is n, not n - 1
    np.testing.assert_allclose(
        model.predict_log_proba(X), twin.predict_log_proba(X), atol=1e-10
    )


def test_graded_design():
    """A line through the labels' values, fitted by least squares."""
    X, y = _data()
    design = {g: [1.0, float(g)] for g in range(3)}
    model = VoxelwiseGaussian(design).fit(X, y)
    slope, intercept = np.polyfit(y, X, 1)
    np.testing.assert_allclose(model.means_, intercept + np.outer(range(3), slope))
    residual = X - model.means_[y]
    np.testing.assert_allclose(model.variances_[0], np.sum(residual**2, axis=0) / 28)


def test_scored_by_the_learning_curve():
    rng = np.random.default_rng(1)
    y, groups = np.tile([0, 1], 24), np.repeat(np.arange(8), 6)
    X = rng.standard_normal((48, 20))
    X[:, 0] += 2 * y
    curve = information_learning_curve(
        X, y, groups, classifier=VoxelwiseGaussian(), n_splits=10, train_sizes=[2, 6]
    )
    assert 0 < curve.information[1].mean() < 1
    assert np.all(np.isfinite(curve.reproducibility[0]))


def test_input_is_checked():
    X, y = _data()
    with pytest.raises(ValueError, match="variance='full' must be"):
        VoxelwiseGaussian(variance="full").fit(X, y)
    with pytest.raises(ValueError, match=r"no row for the labels \[2\]"):
        VoxelwiseGaussian({0: [1, 0], 1: [1, 1]}).fit(X, y)
    with pytest.raises(ValueError, match="no residual degree of freedom"):
        VoxelwiseGaussian().fit(X[:3], y[:3])
    with pytest.raises(ValueError, match="has one sample"):
        VoxelwiseGaussian(variance="class").fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="one class"):
        VoxelwiseGaussian().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match=r"priors=.* must be positive"):
        VoxelwiseGaussian(priors=[0.5, 0.5, 0.5]).fit(X, y)
