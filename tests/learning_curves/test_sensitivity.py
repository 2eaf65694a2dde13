"""Sensitivity maps against finite differences."""

import numpy as np
import pytest
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neuroextrap.learning_curves import (
    CanonicalVariates,
    VoxelwiseGaussian,
    sensitivity_map,
)
from tests.learning_curves.seam import sensitivity_factor

CLASSIFIERS = {
    "canonical": CanonicalVariates(n_components=4),
    "generalizable": CanonicalVariates(n_components=4, basis="generalizable"),
    "voxelwise": VoxelwiseGaussian(),
    "logistic": LogisticRegression(C=0.1),
    "lda": LinearDiscriminantAnalysis(),
    "sgd": SGDClassifier(loss="log_loss", alpha=0.1, random_state=0),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    "pca": make_pipeline(PCA(3), LogisticRegression(C=0.1)),
    "whitened": make_pipeline(PCA(3, whiten=True), LogisticRegression(C=0.1)),
}


def _data(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), 12)
    X = rng.standard_normal((len(y), 7)) * rng.uniform(0.5, 2, 7)
    X[:, 1] += y
    X[:, 4] += y == 1
    return X, np.array(["a", "b", "c", "d"])[y]


def _finite_differences(model, X, y, of, step=1e-5):
    """Central differences of the true label's posterior, voxel by voxel."""
    column = np.searchsorted(model.classes_, y)
    rows = np.arange(len(y))

    def value(shifted):
        p = model.predict_proba(shifted)[rows, column]
        return p if of == "posterior" else np.log(p)

    derivatives = [
        (value(X + step * unit) - value(X - step * unit)) / (2 * step)
        for unit in np.eye(X.shape[1])
    ]
    return np.mean(np.square(derivatives), axis=1)


@pytest.mark.parametrize("of", ["posterior", "log_posterior"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_equals_finite_differences(name, n_classes, of):
    X, y = _data(n_classes)
    model = CLASSIFIERS[name].fit(X, y)
    twin = _finite_differences(model, X, y, of)
    np.testing.assert_allclose(sensitivity_map(model, X, y, of=of), twin, rtol=1e-5)


@pytest.mark.parametrize("name", ["canonical", "logistic"])
def test_one_class_averages_over_its_own_samples(name):
    X, y = _data(3)
    model = CLASSIFIERS[name].fit(X, y)
    twin = _finite_differences(model, X[y == "b"], y[y == "b"], "posterior")
    np.testing.assert_allclose(sensitivity_map(model, X, y, label="b"), twin, rtol=1e-5)


def test_class_maps_average_to_the_map_of_all():
    X, y = _data(3)
    model = CanonicalVariates(n_components=4).fit(X, y)
    each = [sensitivity_map(model, X, y, label=g) for g in "abc"]
    np.testing.assert_allclose(np.mean(each, axis=0), sensitivity_map(model, X, y))


def test_two_classes_give_the_squared_eigenimage_up_to_a_factor():
    X, y = _data(2)
    model = CanonicalVariates(n_components=4).fit(X, y)
    ratio = sensitivity_map(model, X, y) / model.canonical_maps_[0] ** 2
    np.testing.assert_allclose(ratio, ratio[0])
    assert abs(ratio[0] - 1) > 0.1  # proportional, not equal


def test_the_three_definitions_differ():
    """The printed form is no rescaling of the definition."""
    X, y = _data(4)
    model = CanonicalVariates(n_components=4).fit(X, y)
    first = sensitivity_map(model, X, y)
    second = sensitivity_map(model, X, y, of="log_posterior")
    ratio = first / second
    assert ratio.max() / ratio.min() > 1.01


def test_constant_voxels_have_no_sensitivity():
    X, y = _data(3)
    X[:, 6] = 2.0
    model = VoxelwiseGaussian().fit(X, y)
    assert sensitivity_map(model, X, y)[6] == 0


def test_empty_canonical_space_is_insensitive():
    X, y = _data(3)
    model = CanonicalVariates(n_components=4, significance_level=1e-300).fit(X, y)
    np.testing.assert_array_equal(sensitivity_map(model, X, y), np.zeros(7))


class Tempered(LogisticRegression):
    """Posteriors that are no softmax of the scores."""

    def predict_proba(self, X):
        p = super().predict_proba(X) ** 0.5
        return p / p.sum(axis=1, keepdims=True)


WITHOUT_LINEAR_SCORES = {
    "naive Bayes": GaussianNB(),
    "voxelwise": VoxelwiseGaussian(variance="class"),
    "qda": QuadraticDiscriminantAnalysis(reg_param=0.2),
    "pipeline": make_pipeline(
        FastICA(3, random_state=0, max_iter=2000), LogisticRegression()
    ),
    "tempered": Tempered(),
    "tempered qda": make_pipeline(
        StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.2)
    ),
}


@pytest.mark.parametrize("of", ["posterior", "log_posterior"])
@pytest.mark.parametrize("name", WITHOUT_LINEAR_SCORES)
def test_classifiers_without_linear_scores_equal_finite_differences(name, of):
    X, y = _data(3)
    model = WITHOUT_LINEAR_SCORES[name].fit(X, y)
    twin = _finite_differences(model, X, y, of)
    np.testing.assert_allclose(sensitivity_map(model, X, y, of=of), twin, rtol=1e-5)


def test_classifiers_without_posteriors_are_refused():
    X, y = _data(3)
    with pytest.raises(TypeError, match="RidgeClassifier has no predict_proba"):
        sensitivity_map(RidgeClassifier().fit(X, y), X, y)


def test_refuses_bad_options():
    X, y = _data(3)
    model = CanonicalVariates(n_components=4).fit(X, y)
    with pytest.raises(ValueError, match="of='odds' must be"):
        sensitivity_map(model, X, y, of="odds")
    with pytest.raises(ValueError, match=r"y has .*'z'.*not fitted"):
        sensitivity_map(model, X, np.full(len(y), "z"))
    with pytest.raises(ValueError, match="label='z' has no sample"):
        sensitivity_map(model, X, y, label="z")


@pytest.mark.parametrize("name", ["canonical", "voxelwise", "logistic"])
def test_shape_of_the_map_survives_saturated_posteriors(name):
    """Closer to one than floating point numbers can say, the factor is still right."""
    X, y = _data(2)
    model = CLASSIFIERS[name].fit(X, y)
    right = model.predict(X) == y
    far = X[right] + 1e6 * (X[right] - X.mean(axis=0))
    far = far[model.predict(far) == y[right]]
    labels = model.predict(far)
    codes = np.searchsorted(model.classes_, labels)
    factor, log_scale = sensitivity_factor(model, far, codes, "posterior")
    np.testing.assert_array_equal(sensitivity_map(model, far, labels), 0)
    assert log_scale < -1000
    near = sensitivity_map(model, X, y)
    shape = np.sum(factor**2, axis=1)
    np.testing.assert_allclose(shape / shape.sum(), near / near.sum(), rtol=1e-6)
