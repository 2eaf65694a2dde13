"""Identification fold by fold against a loop over folds."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.encoding import (
    EncodingIdentification,
    RidgeEncoder,
    compare_encoding_models,
)


def _data(n_stimuli=40, n_voxels=12, noise=3.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_stimuli, 6)) * np.arange(1, 7) + 2
    Y = X @ rng.normal(size=(6, n_voxels)) + noise * rng.normal(
        size=(n_stimuli, n_voxels)
    )
    return X, Y + 50


@pytest.mark.parametrize(
    ("rule", "tolerance"), [("mahalanobis", 1e-3), ("correlation", 1e-5)]
)
def test_folds_equal_a_loop(rule, tolerance):
    X, Y = _data(43)  # three are left over
    model = EncodingIdentification(encoder=RidgeEncoder(), rule=rule)
    model.identify_folds(X, Y, n_folds=4)
    margins, wins = [], []
    for fold in range(4):
        test = model.test_stimuli_[10 * fold : 10 * fold + 10]
        train = np.setdiff1d(np.arange(43), test)
        one = EncodingIdentification(encoder=RidgeEncoder(), rule=rule)
        one.fit(X[train], Y[train]).identify(X[test], Y[test])
        margins.append(one.region_margins(0))
        wins.append(one.wins_)
        shift = Y[train].mean(axis=0) - Y.mean(axis=0)
        rows = slice(10 * fold, 10 * fold + 10)
        predicted = model.predictions_[rows] + shift
        np.testing.assert_allclose(predicted, one.predictions_, rtol=1e-4)
    found = model.region_margins(0)
    np.testing.assert_allclose(
        found, np.concatenate(margins), rtol=tolerance, atol=0.01
    )
    np.testing.assert_allclose(model.wins_, np.mean(wins, axis=0), atol=1e-9)
    assert len(set(model.test_stimuli_)) == 40
    assert model.test_codes_.tolist() == 4 * list(range(10))
    assert model.wins_.shape == (1, 10)
    assert any("3 of 43 stimuli were trained on only" in n for n in model.notes_)
    assert any("no lower bounds" in note for note in model.notes_)
    assert "average_bayes_accuracy_bound" not in model.region_scores_


def test_repeats_stay_in_their_fold_and_names_stay_names():
    X, Y = _data()
    rng = np.random.default_rng(1)
    order = rng.permutation(np.repeat(np.arange(40), 3))
    responses = Y[order] + rng.normal(size=(120, 12))
    names = np.array([f"image{i}" for i in range(40)])
    table = pd.DataFrame(X, index=names)
    model = EncodingIdentification(encoder=RidgeEncoder())
    model.identify_folds(table, responses, stimuli=names[order])
    by_hand = EncodingIdentification(encoder=RidgeEncoder())
    for fold in range(5):
        rows = slice(8 * fold, 8 * fold + 8)
        test = [names.tolist().index(name) for name in model.test_stimuli_[rows]]
        tested = np.isin(order, test)
        by_hand.fit(X[order[~tested]], responses[~tested])
        shown = [test.index(stimulus) for stimulus in order[tested]]
        by_hand.identify(X[test], responses[tested], stimuli=shown)
        found = model.region_margins(0)[rows]
        expected = by_hand.region_margins(0)[np.argsort(by_hand.test_codes_)]
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=0.02)
    assert sorted(model.test_stimuli_) == sorted(names)
    kept = EncodingIdentification(encoder=RidgeEncoder(), repeats="keep")
    kept.identify_folds(table, responses, stimuli=names[order])
    assert kept.region_margins(0).shape == (120, 8)
    assert sorted(kept.test_stimuli_) == sorted(names[order])


def test_folds_are_read_back(tmp_path):
    X, Y = _data(24)
    model = EncodingIdentification(encoder=Ridge()).identify_folds(X, Y, n_folds=3)
    model.to_directory(tmp_path / "out")
    again = EncodingIdentification.from_directory(tmp_path / "out")
    np.testing.assert_array_equal(again.region_margins(0), model.region_margins(0))
    np.testing.assert_array_equal(again.test_stimuli_, model.test_stimuli_)
    for name, values in model.prediction_maps().items():
        np.testing.assert_array_equal(again.prediction_maps()[name], values)


def test_no_test_is_made_of_folds():
    X, Y = _data()
    model = EncodingIdentification(encoder=Ridge(), n_permutations=9)
    with pytest.raises(ValueError, match="n_permutations=9 must be 0 in folds"):
        model.identify_folds(X, Y)
    full, poor = (
        EncodingIdentification(encoder=Ridge()).identify_folds(X[:, -n:], Y)
        for n in (6, 1)
    )
    with pytest.raises(ValueError, match="were tested in folds"):
        compare_encoding_models(full, poor)
    with pytest.raises(ValueError, match="were tested in folds"):
        full.prediction_maps(n_permutations=9)


def test_folds_that_cannot_be():
    X, Y = _data(10)
    model = EncodingIdentification(encoder=Ridge())
    with pytest.raises(ValueError, match="6 folds of 10 stimuli leave fewer than two"):
        model.identify_folds(X, Y, n_folds=6)
    with pytest.raises(ValueError, match=r"1 stimuli have no response .first: row 9"):
        model.identify_folds(X, Y, stimuli=np.r_[0:9, 0])
    with pytest.raises(ValueError, match="candidates 0 and 9 have identical features"):
        model.identify_folds(np.vstack([X[:9], X[:1]]), Y)


@pytest.mark.parametrize("n_sets", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_accuracy_in_folds_is_at_chance_without_signal(n_sets):
    rng = np.random.default_rng(7)
    accuracy = []
    for _ in range(n_sets):
        X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 4))
        model = EncodingIdentification(encoder=Ridge(10.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of wrong signs, by chance
            model.identify_folds(X, Y)
        accuracy.append(model.region_scores_["accuracy"][0])
    error = np.std(accuracy) / np.sqrt(n_sets)
    assert abs(np.mean(accuracy) - 1 / 8) < 4 * error


def test_folds_are_drawn_at_random_by_the_seed():
    """Stimuli listed by category: no fold is a category."""
    X, Y = _data(40)
    category = np.repeat(np.arange(5), 8)
    found = {}
    for seed in (0, 1):
        model = EncodingIdentification(encoder=Ridge(), random_state=seed)
        again = EncodingIdentification(encoder=Ridge(), random_state=seed)
        model.identify_folds(X, Y)
        again.identify_folds(X, Y)
        np.testing.assert_array_equal(model.test_stimuli_, again.test_stimuli_)
        np.testing.assert_array_equal(model.wins_, again.wins_)
        found[seed] = model.test_stimuli_.tolist()
        assert sorted(found[seed]) == list(range(40))
        for fold in category[model.test_stimuli_].reshape(5, 8):
            assert len(set(fold)) > 2
    assert found[0] != found[1]
