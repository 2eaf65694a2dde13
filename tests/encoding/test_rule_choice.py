"""rule="auto": the training data choose how responses are compared."""

import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

from neuroextrap.encoding import EncodingIdentification, RidgeEncoder
from tests.encoding.seam import (
    correlation_margins,
    deal_folds,
    mahalanobis_margins,
    response_covariance,
    separate_repeats,
)


def simulated(kind, n_stimuli=60, n_voxels=40, n_repeats=1, seed=0):
    """Features of each response, responses; "gain" or "correlated" noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_stimuli, 4))
    weights = rng.normal(size=(4, n_voxels))
    shown = np.repeat(np.arange(n_stimuli), n_repeats)
    rng.shuffle(shown)
    responses = features[shown] @ weights
    if kind == "gain":  # how strong a response is tells nothing
        responses *= np.exp(0.8 * rng.normal(size=(len(shown), 1)))
        responses += 2 * rng.normal(size=responses.shape)
    else:  # few patterns of noise, which a covariance knows
        patterns = rng.normal(size=(3, n_voxels))
        responses += 6 * rng.normal(size=(len(shown), 3)) @ patterns
        responses += 0.5 * rng.normal(size=responses.shape)
    return features[shown], responses


def fitted(kind, rule="auto", **options):
    X, Y = simulated(kind, n_stimuli=90)
    model = EncodingIdentification(encoder=Ridge(), rule=rule, **options)
    return model.fit(X[:60], Y[:60]).identify(X[60:], Y[60:])


@pytest.mark.parametrize(
    ("kind", "rule"), [("gain", "correlation"), ("correlated", "mahalanobis")]
)
def test_the_better_rule_is_chosen(kind, rule):
    found = fitted(kind)
    assert found.rule_ == rule
    other = {"gain": "mahalanobis", "correlated": "correlation"}[kind]
    named, worse = fitted(kind, rule), fitted(kind, other)
    np.testing.assert_array_equal(found.wins_, named.wins_)
    assert named.rule_ == rule
    accuracy = [each.region_scores_["accuracy"][0] for each in (found, worse)]
    assert accuracy[0] > accuracy[1] + 0.05
    assert f"rule={rule!r} was chosen by the training data" in " ".join(found.notes_)
    assert "was chosen" not in " ".join(named.notes_)


def naive_accuracy(X, Y, rule, n_folds=5):
    """Fold by fold, stimulus by stimulus, in the order of their first showing."""
    _, first, codes = np.unique(X, axis=0, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes.ravel()]
    n_candidates = (codes.max() + 1) // n_folds
    right = []
    for fold in deal_folds(codes.max() + 1, n_folds):
        names = fold[:n_candidates]
        others = ~np.isin(codes, names)
        model = EncodingIdentification(encoder=Ridge()).fit(X[others], Y[others])
        of = [X[others].tolist().index(row) for row in X[others].tolist()]
        rest, n_stimuli = separate_repeats(model.residuals_.astype(float), of)
        center = Y[others].mean(axis=0)
        shown = np.array([X[codes == name][0] for name in names])
        predictions = model.predict(shown) - center
        for place, name in enumerate(names):
            y = Y[codes == name].mean(axis=0)[np.newaxis] - center
            n_shown = np.sum(codes == name)
            if rule == "correlation":
                scale = np.sqrt(np.mean(rest**2, axis=0))
                margins = correlation_margins(y, predictions, scale)[0]
            else:
                sigma = response_covariance(rest, n_stimuli, n_shown)
                margins = mahalanobis_margins(y, predictions, sigma)[0]
            right.append(margins[place] > np.delete(margins, place).max())
    return np.mean(right)


@pytest.mark.parametrize(("n_stimuli", "n_repeats"), [(40, 1), (23, 3)])
def test_accuracy_in_the_note_is_that_of_a_plain_loop(n_stimuli, n_repeats):
    X, Y = simulated("gain", n_stimuli, 15, n_repeats)
    model = EncodingIdentification(encoder=Ridge(), rule="auto").fit(X, Y)
    new, responses = simulated("gain", 5, 15, seed=1)
    [note] = [
        each for each in model.identify(new, responses).notes_ if "was chosen" in each
    ]
    told = dict(re.findall(r"(mahalanobis|correlation) (\d\.\d+)", note))
    for rule in ("mahalanobis", "correlation"):
        assert float(told[rule]) == pytest.approx(naive_accuracy(X, Y, rule), abs=6e-4)


def test_regions_that_are_predicted_best_decide():
    """Many regions of noise, one that tells: its rule is taken."""
    X, Y = simulated("gain", 90, 20)
    noise = np.random.default_rng(2).normal(size=(90, 3000))
    regions = scipy.sparse.csr_array(np.kron(np.eye(151), np.ones((1, 20))) > 0)
    model = EncodingIdentification(encoder=RidgeEncoder(), rule="auto", regions=regions)
    model.fit(X[:60], np.c_[noise, Y][:60]).identify(X[60:], np.c_[noise, Y][60:])
    assert model.rule_ == "correlation"
    [note] = [each for each in model.notes_ if "was chosen" in each]
    assert "in the region that is predicted best" in note


def test_the_choice_is_kept_in_files(tmp_path):
    found = fitted("gain")
    found.to_directory(tmp_path / "out")
    again = EncodingIdentification.from_directory(tmp_path / "out")
    assert again.rule == "auto"
    assert again.rule_ == "correlation"
    np.testing.assert_array_equal(again.region_margins(0), found.region_margins(0))
    with pytest.raises(ValueError, match="has no posterior"):
        again.posterior(0)


def test_what_cannot_choose_is_refused():
    X, Y = simulated("gain")
    model = EncodingIdentification(encoder=Ridge(), rule="auto", cv=2)
    with pytest.raises(ValueError, match="needs 4 training stimuli or more"):
        model.fit(X[:3], Y[:3])


def test_runs_as_groups():
    X, Y = simulated("gain", 90)
    model = EncodingIdentification(encoder=RidgeEncoder(), rule="auto", cv=3)
    model.fit(X[:60], Y[:60], groups=np.repeat(np.arange(6), 10))
    assert model.identify(X[60:], Y[60:]).rule_ == "correlation"
