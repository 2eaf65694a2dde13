"""Information, its bounds and its regularization."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from neuroextrap.learning_curves import VoxelwiseGaussian, prediction_information
from tests.learning_curves.seam import (
    best_prior_weight,
    check_priors,
    label_entropy,
)


def mixed_with_prior(probabilities, priors, weight):
    """Predictions regularized towards the prior."""
    return (1 - weight) * np.asarray(probabilities) + weight * np.asarray(priors)


def prior_weight(probabilities, y, priors):
    """The most informative weight of the prior."""
    rows = np.arange(len(y))
    return best_prior_weight(np.asarray(probabilities)[rows, y] / np.take(priors, y))


def _predictions(n=40, k=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), size=n), rng.integers(k, size=n)


def test_information_is_the_mean_log_ratio():
    p, y = _predictions()
    priors = np.array([0.5, 0.3, 0.2])
    twin = np.mean([np.log2(p[t, g] / priors[g]) for t, g in enumerate(y)])
    assert prediction_information(p, y, priors=priors) == pytest.approx(twin)
    logs = np.log(p)
    assert prediction_information(logs, y, priors=priors, log=True) == pytest.approx(
        twin
    )
    nats = prediction_information(p, y, priors=priors, base=np.e)
    assert nats == pytest.approx(twin * np.log(2))


def test_named_classes_in_any_order():
    p, y = _predictions()
    names = np.array(["face", "cat", "house"])
    by_name = prediction_information(p, names[y], priors=[1 / 3] * 3, classes=names)
    assert by_name == prediction_information(p, y, priors=[1 / 3] * 3)


def test_perfect_predictions_reach_the_label_entropy():
    y = np.array([0, 0, 1, 2])
    priors = np.array([0.5, 0.25, 0.25])
    perfect = prediction_information(np.eye(3)[y], y, priors=priors)
    assert perfect == label_entropy(priors) == 1.5


def test_predicting_the_prior_tells_nothing():
    priors = np.array([0.7, 0.3])
    same = np.tile(priors, (5, 1))
    assert prediction_information(same, [0, 1, 0, 1, 1], priors=priors) == 0


def test_zero_posterior_is_minus_infinity_and_regularized_finite():
    p, priors = np.array([[1.0, 0.0], [0.5, 0.5]]), [0.5, 0.5]
    assert prediction_information(p, [1, 0], priors=priors) == -np.inf
    mixed = mixed_with_prior(p, priors, 0.25)
    assert prediction_information(mixed, [1, 0], priors=priors) == pytest.approx(-1)


def test_weight_bounds_the_loss_of_every_scan():
    p, y = _predictions()
    mixed = mixed_with_prior(p, [1 / 3] * 3, 0.1)
    each = np.log2(mixed[np.arange(len(y)), y] * 3)
    assert each.min() >= np.log2(0.1)


@pytest.mark.parametrize("seed", range(8))
def test_best_weight_against_a_numerical_search(seed):
    p, y = _predictions(seed=seed, n=12)
    y = np.where(np.arange(12) < seed, y, p.argmax(axis=1))
    priors = np.array([0.5, 0.3, 0.2])

    def loss(e):
        return -prediction_information(
            mixed_with_prior(p, priors, float(e)), y, priors=priors
        )

    best = prior_weight(p, y, priors)
    search = minimize_scalar(loss, bounds=(0, 1), method="bounded").fun
    assert loss(best) <= search + 1e-9
    assert -loss(best) >= 0


def test_best_weight_at_the_ends():
    right, wrong = np.eye(2)[[0, 1]], np.eye(2)[[1, 0]]
    assert prior_weight(right, [0, 1], [0.5, 0.5]) == 0.0
    assert prior_weight(wrong, [0, 1], [0.5, 0.5]) == 1.0
    tiny = [[1.0, 0.0], [1.0, 1e-320], [1.0, 0.0], [1.0, 0.0]]
    assert 0 < prior_weight(tiny, [0, 1, 0, 0], [0.5, 0.5]) < 1


def test_bayes_rule_without_underflow():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    model = VoxelwiseGaussian(priors=[0.8, 0.2]).fit(X, y)
    joint = np.exp(model.log_likelihood(X)) * [0.8, 0.2]
    twin = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), twin)
    far = model.log_likelihood(X + 1e3)
    assert far.max() < -1e5  # whose exponential is 0
    np.testing.assert_allclose(model.predict_proba(X + 1e3).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priors": [0.5, 0.5]}, r"priors of shape \(2,\) given; 3 classes"),
        ({"priors": [0.5, 0.5, 0.5]}, "must be positive and sum to 1"),
        ({"y": [0, 1]}, r"probabilities of shape \(40, 3\) given for 2 labels"),
        ({"y": np.full(40, 3)}, "y must hold column numbers 0..2"),
        ({"y": np.full(40, "z"), "classes": list("abc")}, "y holds the label .*'z'"),
        ({"classes": ["a", "b"]}, "2 classes given for probabilities of 3 columns"),
        ({"classes": ["a", "b", "a"]}, "classes holds 'a' more than once"),
    ],
)
def test_information_checks_its_input(options, message):
    p, y = _predictions()
    options = {"y": y, "priors": [1 / 3] * 3} | options
    with pytest.raises(ValueError, match=message):
        prediction_information(p, **options)


def test_other_functions_check_their_input():
    with pytest.raises(ValueError, match=r"priors=.* must be positive"):
        check_priors([1.0, 0.0], 2)
    with pytest.raises(ValueError, match="priors of shape"):
        check_priors([1.0], 2)
    with pytest.raises(ValueError, match="y must hold column numbers"):
        prediction_information([[1.0, 0.0]], ["a"], priors=[0.5, 0.5])
