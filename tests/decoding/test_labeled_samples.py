"""What classifiers get to see: samples as given, or centered within runs."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from neuroextrap.decoding import (
    IdentificationScorer,
    IdentificationSearchLight,
    ensemble_information,
)


def samples(offset=0.0, seed=0, n_runs=6):
    """Four classes in each run, runs that differ by large offsets if asked."""
    rng = np.random.default_rng(seed)
    y, runs = np.tile(np.arange(4), n_runs), np.repeat(np.arange(n_runs), 4)
    X = rng.normal(size=(4, 12))[y] + rng.normal(size=(len(y), 12))
    return X + offset * rng.normal(size=(n_runs, 12))[runs], y, runs


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(random_state=0),  # it penalizes its intercept: the origin matters
        MultinomialNB(),  # it takes no negative numbers
        LogisticRegression(fit_intercept=False, max_iter=10_000),
        KNeighborsClassifier(3),
    ],
)
def test_scikit_learn_classifiers_do_as_outside(estimator):
    X, y, runs = samples()
    X = np.round(np.exp(X) + 20)  # counts, far from zero
    predicted = cross_val_predict(estimator, X, y, groups=runs, cv=LeaveOneGroupOut())
    light = IdentificationSearchLight(estimator=estimator, bounds="folds")
    light.fit(X, y, groups=runs)
    confusion = light.confusion_matrix(0)
    expected = np.zeros((4, 4))
    np.add.at(expected, (y, predicted), 1)
    if isinstance(estimator, KNeighborsClassifier):  # whose votes tie
        assert abs(np.trace(confusion) - np.trace(expected)) <= 4
    else:
        np.testing.assert_array_equal(confusion, expected)
    scorer = IdentificationScorer(estimator).fit(X, y, groups=runs)
    accuracy = light.region_scores_["accuracy"][0]
    assert scorer.score(X, y, groups=runs) == pytest.approx(accuracy)


def test_named_classifiers_are_indifferent_to_the_origin():
    X, y, runs = samples()
    for name in ("nearest_centroid", "lda", "ridge", "gaussian_nb"):
        near, far = (
            IdentificationSearchLight(estimator=name).fit(X + shift, y, groups=runs)
            for shift in (0.0, 50.0)
        )
        np.testing.assert_array_equal(near.wins_, far.wins_)


@pytest.mark.parametrize("how", ["center", "zscore"])
def test_within_runs_equals_doing_it_by_hand(how):
    X, y, runs = samples(offset=5)
    by_hand = X.copy()
    for run in np.unique(runs):
        rows = by_hand[runs == run]
        rows = rows - rows.mean(axis=0)
        by_hand[runs == run] = rows / (rows.std(axis=0) if how == "zscore" else 1)
    asked = IdentificationSearchLight(within_runs=how).fit(X, y, groups=runs)
    plain = IdentificationSearchLight().fit(by_hand, y, groups=runs)
    np.testing.assert_array_equal(asked.wins_, plain.wins_)


def test_run_offsets_hide_what_centering_shows():
    X, y, runs = samples(offset=30)
    raw = IdentificationSearchLight().fit(X, y, groups=runs)
    centered = IdentificationSearchLight(within_runs="center").fit(X, y, groups=runs)
    accuracy = [fitted.region_scores_["accuracy"][0] for fitted in (raw, centered)]
    assert accuracy[1] > accuracy[0] + 0.2


def test_ensembles_see_samples_centered_once():
    X, y, runs = samples(offset=30)
    light = IdentificationSearchLight(within_runs="center")
    table = ensemble_information(light, X, y, runs, n_voxels=[12], n_draws=2)
    fitted = light.fit(X, y, groups=runs)
    assert table["accuracy"].iloc[-1] == fitted.region_scores_["accuracy"][0]


def test_features_constant_within_a_run_have_no_zscore():
    X, y, runs = samples()
    X[runs == 2, 3] = 7.25
    light = IdentificationSearchLight(within_runs="zscore").fit(X, y, groups=runs)
    assert light.region_scores_["n_voxels"][0] == 11
    assert any("constant within a run" in note for note in light.notes_)


def test_within_runs_needs_runs_and_a_known_word():
    X, y, runs = samples()
    with pytest.raises(ValueError, match="within_runs='center' needs the run"):
        IdentificationSearchLight(within_runs="center", cv=2).fit(X, y)
    with pytest.raises(ValueError, match="within_runs='scale' must be one of"):
        IdentificationSearchLight(within_runs="scale").fit(X, y, groups=runs)


@pytest.mark.parametrize("exponent", [-100, -80, 60, 100])
@pytest.mark.parametrize("estimator", ["nearest_centroid", "gaussian_nb", "lda"])
def test_units_do_not_matter(exponent, estimator):
    """Samples of SD 1e-25 once gave exact chance."""
    X, y, runs = samples()
    options = {"estimator": estimator, "bounds": None}
    plain = IdentificationSearchLight(**options).fit(X, y, groups=runs)
    scaled = IdentificationSearchLight(**options)
    scaled.fit(np.ldexp(X, exponent), y, groups=runs)
    np.testing.assert_array_equal(plain.wins_, scaled.wins_)


def test_masked_and_complex_samples_are_refused():
    X, y, runs = samples()
    masked = np.ma.masked_greater(X, 1.0)
    with pytest.raises(TypeError, match="imgs is a masked array"):
        IdentificationSearchLight().fit(masked, y, groups=runs)
    with pytest.raises(TypeError, match="y is a masked array"):
        IdentificationSearchLight().fit(X, np.ma.masked_equal(y, 1), groups=runs)
    with pytest.raises(TypeError, match="imgs must be real numbers"):
        IdentificationSearchLight().fit(X + 0j, y, groups=runs)
    IdentificationSearchLight().fit(np.ma.masked_array(X), y, groups=runs)
