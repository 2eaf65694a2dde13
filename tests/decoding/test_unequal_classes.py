"""Classes of unequal size: no named classifier loses by more samples of one of them."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from neuroextrap.decoding import IdentificationSearchLight
from tests.decoding.seam import Design, Labelings, resolve_classifier

N_RUNS, N_FEATURES, N_REGIONS = 8, 100, 80
BATCHED = "nearest_centroid", "gaussian_nb", "lda", "ridge", "qda", "nearest_neighbor"


def samples(counts, seed=0):
    rng = np.random.default_rng(seed)
    y = np.tile(np.repeat(np.arange(len(counts)), counts), N_RUNS)
    means = 0.17 * rng.normal(size=(len(counts), N_REGIONS * N_FEATURES))
    X = means[y] + rng.normal(size=(len(y), means.shape[1]))
    return X, y, np.repeat(np.arange(N_RUNS), sum(counts))


@cache
def fit(name, counts):
    X, y, runs = samples(counts)
    regions = np.kron(np.eye(N_REGIONS), np.ones((1, N_FEATURES)))
    light = IdentificationSearchLight(
        regions=scipy.sparse.csr_array(regions), bounds=None, estimator=name
    )
    return light.fit(X, y, groups=runs)


def accuracy(name, counts):
    return fit(name, counts).region_scores_["accuracy"].mean()


@pytest.mark.parametrize("name", BATCHED)
def test_more_samples_of_one_class_do_no_harm(name):
    balanced = accuracy(name, (1, 1))
    assert balanced > 0.55
    assert accuracy(name, (9, 1)) > balanced - 0.02
    assert accuracy(name, (1, 6, 1)) > accuracy(name, (1, 1, 1)) - 0.02


def test_both_classes_are_found_among_noise():
    """Neither the frequent class nor the rare one is said too often."""
    for name in BATCHED:
        light = fit(name, (9, 1))
        counts = sum(light.confusion_matrix(region) for region in range(N_REGIONS))
        said = counts[:, 1] / counts.sum(axis=1)  # of either class
        assert 0.35 < said.mean() < 0.65


@pytest.mark.parametrize("n_classes", [2, 3])
def test_support_vectors_and_logistic_regression_are_weighted(n_classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), [24, 12, 12][:n_classes])
    X = rng.normal(size=(len(y), 5)) + np.eye(n_classes, 5)[y]
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    weights = (len(train) / n_classes / np.bincount(y[train]))[y[train]]
    design = Design(((train, test),), len(y), n_classes)

    def margins(name):
        kernel = resolve_classifier(name)
        state = kernel.prepare([X], design)
        return kernel.margins(state, Labelings(y[None], n_classes))[:, :, 0]

    theirs = LinearSVC(random_state=0, max_iter=10_000).fit(X[train], y[train], weights)
    expected = theirs.decision_function(X[test])
    found = margins("svc")
    np.testing.assert_array_equal(found if n_classes > 2 else found[:, 1], expected)
    model = resolve_classifier("logistic").estimator
    assert isinstance(model, LogisticRegressionCV)
    own = model.fit(X[train], y[train] == 1, weights).decision_function(X[test])
    np.testing.assert_array_equal(margins("logistic")[:, 1], own)


def finding(estimator, counts=(3, 1)):
    X, y, runs = samples(counts)
    light = IdentificationSearchLight(estimator=estimator, bounds=None)
    found = light.fit(X[:, :20], y, groups=runs).findings_
    return [(f.grade, f.seen) for f in found if f.name == "unequal_classes"]


@pytest.mark.filterwarnings("ignore:.*in the same order:UserWarning")
def test_what_may_favor_the_frequent_class_is_told():
    for estimator in ("ridge", "svc", SVC(class_weight="balanced")):
        assert finding(estimator) == [("note", 3.0)]
    assert finding(SVC(class_weight="balanced"), (2, 2)) == []
    for estimator in (SVC(), make_pipeline(StandardScaler(), SVC())):
        with pytest.warns(UserWarning, match="may favor the frequent ones"):
            assert finding(estimator) == [("doubtful", 3.0)]
