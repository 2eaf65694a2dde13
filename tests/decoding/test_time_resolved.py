"""Identification over time, against separate fits of every moment."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import LeaveOneGroupOut
from sklearn.neighbors import NearestCentroid

from neuroextrap import stats
from neuroextrap.decoding import (
    IdentificationSearchLight,
    cross_identification,
    temporal_generalization,
    time_resolved_identification,
)
from tests.analyses import searchlight_of

N_TIMES = 5
TIMES = np.array([-0.1, 0.0, 0.1, 0.2, 0.3])


@pytest.fixture(scope="module")
def recorded():
    """Four classes, told by six channels at the last three of five moments."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.repeat(np.arange(4), 2), 6), np.repeat(np.arange(6), 8)
    strength = np.array([0, 0, 1.0, 1.5, 1.5])
    patterns = rng.normal(size=(4, 6, 1))
    # what all classes share changes over time, as evoked responses do
    evoked = 2 * rng.normal(size=(1, 6, N_TIMES))
    trials = strength * patterns[y] + evoked + rng.normal(size=(48, 6, N_TIMES))
    return trials, y, runs


class Epochs:
    """What is asked of MNE's epochs."""

    def __init__(self, data):
        self.times = TIMES
        self._data = data

    def get_data(self):
        """Trials x channels x times."""
        return self._data


@pytest.mark.parametrize("estimator", ["nearest_centroid", "lda"])
@pytest.mark.parametrize("window", [1, 2])
def test_moments_equal_separate_fits(recorded, estimator, window):
    trials, y, runs = recorded
    light = IdentificationSearchLight(
        estimator=estimator, n_permutations=19, bounds=None
    )
    found = time_resolved_identification(
        light, trials, y, runs, times=TIMES, window=window
    )
    assert not hasattr(light, "region_scores_")
    assert len(found.times) == len(found.table) == N_TIMES - window + 1
    for moment, time in enumerate(found.times):
        assert time == pytest.approx(TIMES[moment : moment + window].mean())
        X = trials[:, :, moment : moment + window].reshape(len(y), -1)
        alone = clone(light).fit(X, y, runs).region_scores_
        row = found.table.iloc[moment]
        assert row["n_features"] == 6 * window
        for name in ("accuracy", "implied_information", "p_value"):
            assert row[name] == pytest.approx(alone[name][0], rel=1e-6)
    expected = stats.max_statistic_p_value(
        found.table["accuracy"], found.searchlight.null_maxima_
    )
    np.testing.assert_allclose(found.table["p_value_fwe"], expected)
    assert (found.table["p_value_fwe"] >= found.table["p_value"]).all()


def test_epochs_equal_arrays(recorded):
    trials, y, runs = recorded
    light = IdentificationSearchLight(bounds=None)
    epochs = time_resolved_identification(light, Epochs(trials), y, runs)
    arrays = time_resolved_identification(light, trials, y, runs, times=TIMES)
    np.testing.assert_array_equal(epochs.times, TIMES)
    assert epochs.table.equals(arrays.table)


def test_tiny_units_change_nothing(recorded):
    trials, y, runs = recorded
    light = IdentificationSearchLight(estimator="lda", n_permutations=9, bounds=None)
    for analyze in (time_resolved_identification, temporal_generalization):
        plain, tesla = (
            analyze(light, trials * scale, y, runs) for scale in (1.0, 2.0**-43)
        )
        first, second = (
            getattr(found, "scores", None) or found.table for found in (plain, tesla)
        )
        for name in ("accuracy", "p_value_fwe"):
            np.testing.assert_array_equal(first[name], second[name])


def test_one_channel_is_enough(recorded):
    trials, y, runs = recorded
    light = IdentificationSearchLight(bounds=None)
    found = time_resolved_identification(light, trials[:, :1], y, runs)
    assert found.table["accuracy"].notna().all()
    scores = temporal_generalization(light, trials[:, :1], y, runs).scores
    assert np.isfinite(scores["accuracy"]).all()


def naive_generalization(classifier, trials, y, runs):
    """Train at every moment, test at every other, with scikit-learn."""
    accuracy = np.zeros((N_TIMES, N_TIMES))
    folds = list(LeaveOneGroupOut().split(trials, y, runs))
    for t in range(N_TIMES):
        for train, test in folds:
            fitted = clone(classifier).fit(trials[train, :, t], y[train])
            for s in range(N_TIMES):
                said = fitted.predict(trials[test, :, s])
                accuracy[t, s] += np.mean(said == y[test]) / len(folds)
    return accuracy


@pytest.mark.parametrize(
    ("estimator", "classifier"),
    [
        ("nearest_centroid", NearestCentroid()),
        (LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis()),
    ],
)
def test_generalization_equals_scikit_learn(recorded, estimator, classifier):
    trials, y, runs = recorded
    light = IdentificationSearchLight(estimator=estimator, bounds=None)
    found = temporal_generalization(light, trials, y, runs, times=TIMES)
    expected = naive_generalization(classifier, trials, y, runs)
    np.testing.assert_allclose(found.scores["accuracy"], expected, atol=1e-6)
    # the shared response moves test points away from what was trained on
    assert expected[4, 4] > expected[4, 2] + 0.1


@pytest.mark.parametrize("within_runs", [None, "center"])
def test_the_diagonal_is_the_time_course(recorded, within_runs):
    trials, y, runs = recorded
    light = IdentificationSearchLight(
        n_permutations=29, bounds=None, within_runs=within_runs
    )
    course = time_resolved_identification(light, trials, y, runs)
    found = temporal_generalization(light, trials, y, runs)
    for name in ("accuracy", "implied_information", "p_value", "p_value_fwe", "z"):
        np.testing.assert_allclose(np.diag(found.scores[name]), course.table[name])
    np.testing.assert_array_equal(found.null_maxima, course.searchlight.null_maxima_)


def naive_exchange(trials, y, runs, names):
    """Accuracies among two after the names of the later moment were exchanged."""
    n_times = trials.shape[2]
    accuracy = np.full((n_times, n_times), np.nan)
    folds = list(LeaveOneGroupOut().split(trials, y, runs))
    for t, s in itertools.permutations(range(n_times), 2):
        trained, tested = (y, names[y]) if t < s else (names[y], y)
        right = []
        for train, test in folds:
            fitted = NearestCentroid().fit(trials[train, :, t], trained[train])
            away = cdist(trials[test, :, s], fitted.centroids_)
            own = np.take_along_axis(away, tested[test, np.newaxis], axis=1)
            right.append(np.mean((away > own).sum(axis=1) / 3))
        accuracy[t, s] = np.mean(right)
    return accuracy


def test_names_are_exchanged_off_the_diagonal(recorded):
    trials, y, runs = recorded
    trials = trials[:, :, 1:4]
    light = IdentificationSearchLight(n_permutations=23, bounds=None)
    found = temporal_generalization(light, trials, y, runs)
    every = np.array(
        [
            naive_exchange(trials, y, runs, np.array(names))
            for names in itertools.permutations(range(4))
        ]
    )
    off = ~np.eye(3, dtype=bool)
    pairwise = found.scores["pairwise_accuracy"]
    np.testing.assert_allclose(pairwise[off], every[0][off])
    every = ((every - every.mean(axis=0)) / every.std(axis=0)).round(9)
    maxima = np.nanmax(every, axis=(1, 2))
    np.testing.assert_allclose(np.sort(found.names_maxima), np.sort(maxima[1:]))
    p = (every >= every[0]).mean(axis=0)
    np.testing.assert_allclose(found.scores["p_value"][off], p[off])
    fwe = (maxima[:, None, None] >= every[0]).mean(axis=0)
    np.testing.assert_allclose(found.scores["p_value_fwe"][off], fwe[off])


@pytest.mark.parametrize(("n_classes", "signal"), [(2, 2.0), (6, 2.0)])
def test_unrelated_codes_are_not_called_shared(n_classes, signal):
    n_off, n_found, rng = 0, 0, np.random.default_rng(0)
    y, runs = np.tile(np.arange(n_classes), 12), np.repeat(np.arange(6), 2 * n_classes)
    for _ in range(6):
        trials = rng.normal(size=(len(y), 20, 4))
        trials += signal * rng.normal(size=(n_classes, 20, 4))[y]
        light = IdentificationSearchLight(n_permutations=99, bounds=None)
        scores = temporal_generalization(light, trials, y, runs).scores
        assert (np.diag(scores["p_value_fwe"]) <= 0.05).all()
        off = ~np.eye(4, dtype=bool)
        n_off += off.sum()
        n_found += (scores["p_value"][off] <= 0.05).sum()
        assert scores["p_value_fwe"][off].min() > 0.05
    assert n_found <= 0.1 * n_off


def renamed(trials, y, runs, names, moments):
    """Give classes the responses of others of their run at some moments."""
    changed = trials.copy()
    for run in np.unique(runs):
        rows = np.flatnonzero(runs == run)
        rows = rows[np.argsort(y[rows])]
        changed[np.ix_(rows, range(trials.shape[1]), moments)] = trials[
            np.ix_(rows[names], range(trials.shape[1]), moments)
        ]
    return changed


@pytest.mark.parametrize("between", [False, True])
def test_no_renaming_of_an_unrelated_code_is_preferred(between):
    """Exact by enumeration: of all 24 names of a code, k give a p of at most k / 24.

    Two codes last two moments each, or conditions have codes of their own.
    """
    rng = np.random.default_rng(2)
    y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    codes = 2 * rng.normal(size=(4, 8, 2))
    options, moments, code = {}, [2, 3], np.repeat(codes, 2, axis=2)[y]
    if between:  # every second run
        options = {"conditions": runs % 2, "train": 0, "test": 1}
        moments, which = range(4), (runs % 2)[:, np.newaxis, np.newaxis]
        code = np.where(which, codes[y][..., :1], codes[y][..., 1:])
    trials = code + rng.normal(size=(24, 8, 4))
    light = IdentificationSearchLight(n_permutations=23, bounds=None)
    smallest = []
    for names in itertools.permutations(range(4)):
        given = renamed(trials, y, runs, list(names), moments)
        if between:
            given = np.where(which, given, trials)
        p = temporal_generalization(light, given, y, runs, **options).scores
        p = p["p_value_fwe"]
        smallest.append(p.min() if between else p[:2, 2:].min())
    assert (np.sort(smallest) >= np.arange(1, 25) / 24 - 1e-12).all()
    assert min(smallest) <= 0.05


def test_a_single_moment_has_no_pair(recorded):
    trials, y, runs = recorded
    light = IdentificationSearchLight(n_permutations=9, bounds=None)
    found = temporal_generalization(light, trials[:, :, -1:], y, runs)
    assert found.scores["p_value_fwe"].tolist() == [[0.1]]
    assert len(found.names_maxima) == 0


def test_moments_without_variation_are_unknown(recorded):
    trials, y, runs = recorded
    trials = trials.copy()
    trials[:, :, 1] = 0.0  # such as the baseline's reference
    light = IdentificationSearchLight(n_permutations=9, bounds=None)
    scores = temporal_generalization(light, trials, y, runs).scores
    unknown = np.zeros((N_TIMES, N_TIMES), dtype=bool)
    unknown[1], unknown[:, 1] = True, True
    for values in scores.values():
        np.testing.assert_array_equal(np.isnan(values), unknown)


@pytest.mark.parametrize(
    "analyze", [time_resolved_identification, temporal_generalization]
)
@pytest.mark.parametrize(
    ("options", "change", "error", "message"),
    [
        ({}, {"trials": np.ones((48, 6))}, ValueError, r"trials has shape \(48, 6\)"),
        ({}, {"times": TIMES[:4]}, ValueError, r"times has shape \(4,\), trials has 5"),
        ({}, {"times": TIMES[::-1]}, ValueError, "times must increase"),
        ({}, {"searchlight": "lda"}, TypeError, "must be an IdentificationSearchLight"),
        ({"stride": 2}, {}, ValueError, "searchlight has stride=2, which"),
        ({"regions": np.eye(30)}, {}, ValueError, "searchlight has regions="),
    ],
)
def test_wrong_calls(recorded, analyze, options, change, error, message):
    trials, y, runs = recorded
    call = {"searchlight": searchlight_of(**options), "trials": trials}
    with pytest.raises(error, match=message):
        analyze(**call | {"y": y, "groups": runs} | change)


@pytest.mark.parametrize(("window", "error"), [(6, ValueError), (0.5, TypeError)])
def test_wrong_windows(recorded, window, error):
    trials, y, runs = recorded
    with pytest.raises(error, match="window"):
        time_resolved_identification(
            IdentificationSearchLight(), trials, y, runs, window=window
        )


def test_pairs_of_moments_are_not_whitened(recorded):
    trials, y, runs = recorded
    light = IdentificationSearchLight(noise_covariance=np.ones((50, 30)))
    with pytest.raises(ValueError, match="noise_covariance="):
        temporal_generalization(light, trials, y, runs)


def test_notes_say_which_question_a_p_value_answers():
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(3), 8), np.repeat(np.arange(8), 3)
    trials = rng.normal(size=(24, 4, 3))
    light = IdentificationSearchLight(n_permutations=19)
    found = temporal_generalization(light, trials, y, runs)
    assert any("class names exchanged between the two mom" in n for n in found.notes)
    assert any("3 classes can be paired in 6 ways only" in n for n in found.notes)
    light.set_params(n_permutations=0)
    notes = temporal_generalization(light, trials, y, runs).notes
    assert not any("diagonal" in note or "paired" in note for note in notes)
    assert not any("no lower bounds" in note for note in notes)  # none was asked for


def test_folds_that_train_and_test_on_different_conditions_say_so():
    y = np.tile(np.arange(4), 8)
    runs, condition = np.repeat(np.arange(4), 8), np.tile(np.repeat([0, 1], 4), 4)
    X = np.random.default_rng(0).normal(size=(32, 5))
    cross = [
        (
            np.flatnonzero((runs != run) & (condition == a)),
            np.flatnonzero((runs == run) & (condition != a)),
        )
        for run in range(4)
        for a in (0, 1)
    ]
    both = IdentificationSearchLight(n_permutations=19, bounds=None)
    groups = runs * 2 + condition
    for folds in (cross, cross[::2]):
        both.set_params(cv=folds).fit(X, y, groups=groups)
        assert any("not that the code is shared" in note for note in both.notes_)
    both.set_params(cv=None).fit(X, y, groups=runs)
    assert not any("code is shared" in note for note in both.notes_)


def two_conditions():
    """Six runs of two tasks: four classes with one code, at moments of each task."""
    rng = np.random.default_rng(0)
    y, task = np.tile(np.arange(4), 24), np.tile(np.repeat(["see", "imagine"], 4), 12)
    runs, codes = np.repeat(np.arange(6), 16), 2 * rng.normal(size=(4, 8))
    trials = rng.normal(size=(len(y), 8, 3))
    trials[:, :, 1] += np.where((task == "see")[:, np.newaxis], codes[y], 0)
    trials[:, :, 2] += np.where((task == "imagine")[:, np.newaxis], codes[y], 0)
    return trials, y, runs, task


def test_moments_of_two_conditions_equal_the_analysis_of_each_pair():
    trials, y, runs, task = two_conditions()
    light = IdentificationSearchLight(n_permutations=23)
    pair = {"train": "see", "test": "imagine"}
    found = temporal_generalization(light, trials, y, runs, conditions=task, **pair)
    every = []
    for t, s in itertools.product(range(3), repeat=2):
        moments = np.where(
            (task == "see")[:, np.newaxis], trials[..., t], trials[..., s]
        )
        one = IdentificationSearchLight(regions=np.ones((1, 8)), n_permutations=23)
        maps = cross_identification(one, moments, y, runs, task, **pair)
        for name in ("accuracy", "pairwise_accuracy", "p_value"):
            np.testing.assert_allclose(found.scores[name][t, s], maps[name], atol=1e-9)
        for name in ("train_to_test_accuracy", "test_to_train_accuracy"):
            np.testing.assert_allclose(found.scores[name][t, s], maps[name], atol=1e-9)
        every.append(maps.null_maxima_)
    np.testing.assert_allclose(found.names_maxima, np.max(every, axis=0), atol=1e-9)
    assert np.argmax(found.scores["accuracy"]) == 1 * 3 + 2
    assert found.scores["p_value"][1, 2] == 1 / 24
    assert any("sign_flip_test" in note for note in found.notes)


def test_conditions_need_their_names():
    trials, y, runs, task = two_conditions()
    light = IdentificationSearchLight()
    with pytest.raises(ValueError, match="give conditions="):
        temporal_generalization(light, trials, y, runs, train="see", test="imagine")
    with pytest.raises(ValueError, match="train=None is no condition"):
        temporal_generalization(light, trials, y, runs, conditions=task)


@pytest.mark.parametrize("option", [{"cv": 3}, {"statistic": "pairwise_accuracy"}])
def test_conditions_have_folds_and_a_statistic_of_their_own(option):
    trials, y, runs, task = two_conditions()
    light = IdentificationSearchLight(**option)
    pair = {"conditions": task, "train": "see", "test": "imagine"}
    with pytest.raises(ValueError, match=f"{next(iter(option))}=.* does not use"):
        temporal_generalization(light, trials, y, runs, **pair)
