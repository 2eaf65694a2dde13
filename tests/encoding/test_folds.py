"""Identification fold by fold against a loop over folds."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
from sklearn.linear_model import Ridge

from neuroextrap.analysis import Keep
from neuroextrap.encoding import EncodingIdentification, RidgeEncoder
from tests.analyses import series
from tests.encoding.seam import EncodingMargins


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
        train = np.flatnonzero(~tested)
        train = train[np.argsort(names[order[train]], kind="stable")]
        by_hand.fit(X[order[train]], responses[train])
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


@pytest.mark.parametrize("rule", ["mahalanobis", "auto"])
def test_the_order_of_responses_decides_nothing(rule):
    """Penalties are chosen by folds of stimuli, whatever the rows of the responses."""
    X, Y = _data(24)
    order = np.random.default_rng(5).permutation(24)
    encoder = RidgeEncoder(alphas=[1.0, 30.0, 1000.0], cv=3)
    given = {"encoder": encoder, "rule": rule, "cv": 3, "n_permutations": 1}
    straight, mixed = (EncodingIdentification(**given) for _ in range(2))
    straight.identify_folds(X, Y, groups=np.zeros(24), n_folds=4)
    mixed.identify_folds(X, Y[order], stimuli=order, groups=np.zeros(24), n_folds=4)
    np.testing.assert_allclose(mixed.wins_, straight.wins_, rtol=1e-9)
    np.testing.assert_allclose(
        mixed.region_margins(0), straight.region_margins(0), rtol=1e-9
    )


def test_folds_are_read_back(tmp_path):
    X, Y = _data(24)
    model = EncodingIdentification(encoder=Ridge()).identify_folds(X, Y, n_folds=3)
    model.to_directory(tmp_path / "out")
    again = EncodingIdentification.from_directory(tmp_path / "out")
    np.testing.assert_array_equal(again.region_margins(0), model.region_margins(0))
    np.testing.assert_array_equal(again.test_stimuli_, model.test_stimuli_)
    for name, values in model.prediction_maps().items():
        np.testing.assert_array_equal(again.prediction_maps()[name], values)


def test_what_folds_do_not_have_is_refused(tmp_path):
    X, Y = _data()
    given = {"encoder": Ridge(), "n_permutations": 9}
    model = EncodingIdentification(**given, exchange="shifts")
    with pytest.raises(ValueError, match="exchange='shifts' must be 'rows' in folds"):
        model.identify_folds(X, Y)
    kept = Keep(save_null=tmp_path / "null.npy")
    with pytest.raises(ValueError, match=r"save_null=.* must be None in folds"):
        EncodingIdentification(**given, keep=kept).identify_folds(X, Y)
    full = EncodingIdentification(encoder=Ridge()).identify_folds(X, Y)
    with pytest.raises(ValueError, match="were tested in folds"):
        full.prediction_maps(n_permutations=9)


@pytest.mark.parametrize("repeats", ["average", "keep"])
def test_permutations_in_folds_are_analyses_of_exchanged_stimuli(repeats):
    """Each permuted statistic is that of a whole analysis, everything fitted anew."""
    X, Y = _data(20, noise=20.0)
    shown = np.random.default_rng(3).permutation(np.r_[np.arange(20), np.arange(7)])
    Y = Y[shown] + np.random.default_rng(4).normal(size=(27, 12))
    runs = shown % 2
    regions = scipy.sparse.csr_array(np.kron(np.eye(3), np.ones((1, 4))) > 0)
    encoder = RidgeEncoder(alphas=[1.0, 100.0], cv=3)
    options = {"encoder": encoder, "regions": regions, "repeats": repeats}
    options |= {"cv": 3, "statistic": "pairwise_accuracy"}
    model = EncodingIdentification(**options, n_permutations=5, random_state=5)
    model.identify_folds(X, Y, stimuli=shown, groups=runs, n_folds=4)
    exchange = model.run_.exchange
    assert len(exchange.codes) == model.n_permutations_ == 5
    null = []
    for codes in exchange.codes:
        np.testing.assert_array_equal(codes % 2, runs)  # within runs
        assert (codes != shown).any()
        assert len(set(zip(codes, shown, strict=True))) == 20  # repeats move together
        other = EncodingIdentification(**options, random_state=5)
        other.identify_folds(X, Y, stimuli=codes, n_folds=4)
        null.append(other.region_scores_["pairwise_accuracy"])
    observed = EncodingIdentification(**options, random_state=5)
    observed.identify_folds(X, Y, stimuli=shown, n_folds=4)
    score = observed.region_scores_["pairwise_accuracy"]
    np.testing.assert_array_equal(model.region_scores_["pairwise_accuracy"], score)
    null = np.array(null)
    np.testing.assert_allclose(model.null_maxima_, null.max(axis=1), atol=1e-12)
    expected = (1 + (null >= score - 1e-12).sum(axis=0)) / 6
    np.testing.assert_allclose(model.region_scores_["p_value"], expected)
    expected = (1 + (null.max(axis=1)[:, None] >= score - 1e-12).sum(axis=0)) / 6
    np.testing.assert_allclose(model.region_scores_["p_value_fwe"], expected)
    assert any("before anything is fitted" in note for note in model.notes_)


@pytest.mark.slow
def test_p_values_in_folds_have_their_level():
    rng, n_sets = np.random.default_rng(8), 400
    p_values = []
    for _ in range(n_sets):
        X, Y = rng.normal(size=(20, 8)), rng.normal(size=(20, 4))
        encoder = RidgeEncoder(alphas=[1.0, 100.0], cv=3)
        model = EncodingIdentification(
            encoder=encoder, n_permutations=19, cv=3, statistic="pairwise_accuracy"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of wrong signs, by chance
            model.identify_folds(X, Y, groups=np.zeros(20), n_folds=4)
        p_values.append(model.region_scores_["p_value"][0])
    # exact: at most .05, .25 and .5 of them are so small
    for level in (0.05, 0.25, 0.5):
        count = np.sum(np.array(p_values) <= level + 1e-9)
        assert scipy.stats.binom.sf(count - 1, n_sets, level) > 1e-4


def test_signal_in_folds_is_found_and_read_back(tmp_path):
    X, Y = _data(24)
    regions = scipy.sparse.csr_array(np.kron(np.eye(4), np.ones((1, 3))) > 0)
    options = {"encoder": Ridge(), "regions": regions, "n_permutations": 19, "cv": 2}
    groups = np.zeros(24)
    whole = EncodingIdentification(**options, n_jobs=2)
    whole.identify_folds(X, Y, groups=groups, n_folds=2)
    assert (whole.region_scores_["p_value_fwe"] == 0.05).all()
    whole.to_directory(tmp_path / "out")
    again = EncodingIdentification.from_directory(tmp_path / "out")
    np.testing.assert_array_equal(again.null_maxima_, whole.null_maxima_)
    for part in (1, 2):
        model = EncodingIdentification(**options, shard=f"{part}/2")
        model.identify_folds(X, Y, groups=groups, n_folds=2)
        model.to_directory(tmp_path / f"part{part}")
    parts = [tmp_path / "part1", tmp_path / "part2"]
    first, second = (EncodingIdentification.from_directory(part) for part in parts)
    merged = first.merge(second)
    np.testing.assert_array_equal(merged.null_maxima_, whole.null_maxima_)
    options["n_permutations"] = 1
    with pytest.warns(UserWarning, match="no runs were given"):
        EncodingIdentification(**options).identify_folds(X, Y, n_folds=2)


def test_a_film_in_folds_is_marked():
    rng = np.random.default_rng(0)
    rows = series(rng, 120, 9, 0.95)
    model = EncodingIdentification(encoder=Ridge(), n_permutations=9)
    with pytest.warns(UserWarning, match="give exchange='shifts'"):
        model.identify_folds(rows[:, :4], rows[:, 4:], groups=np.zeros(120))


def test_auto_chooses_in_every_fold_by_its_training_data():
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(60, 4)), rng.normal(size=(4, 40))
    gain = np.exp(0.8 * rng.normal(size=(60, 1)))
    Y = gain * (X @ W) + 2 * rng.normal(size=(60, 40))
    given = {"encoder": Ridge(), "rule": "auto"}
    model = EncodingIdentification(**given).identify_folds(X, Y)
    margins = model.region_margins(0)
    rules = []
    for fold in range(5):
        rows = slice(12 * fold, 12 * fold + 12)
        test = model.test_stimuli_[rows]
        train = np.setdiff1d(np.arange(60), test)
        one = EncodingIdentification(**given).fit(X[train], Y[train])
        rules.append(one.identify(X[test], Y[test]).rule_)
        np.testing.assert_allclose(
            margins[rows], one.region_margins(0), rtol=1e-3, atol=1e-3
        )
    assert "correlation" in rules
    [note] = [note for note in model.notes_ if "chose, in each fold" in note]
    assert note.endswith(", ".join(rules))
    assert set(model.rule_.split(",")) == set(rules)


def test_folds_of_different_rules_are_kept_apart():
    X, Y = _data()
    models = {
        rule: EncodingIdentification(encoder=Ridge(), rule=rule).identify_folds(X, Y)
        for rule in ("mahalanobis", "correlation")
    }
    run = models["mahalanobis"].run_
    rules = ["correlation", "mahalanobis", "mahalanobis", "correlation", "correlation"]
    mixed = EncodingMargins(run.test.repeats, ",".join(rules))
    found = mixed.margins([run.rows], run.test.layout)[:, :, 0]
    for fold, rule in enumerate(rules):
        rows = slice(8 * fold, 8 * fold + 8)
        np.testing.assert_allclose(found[rows], models[rule].region_margins(0)[rows])


def test_folds_that_cannot_be():
    X, Y = _data(10)
    model = EncodingIdentification(encoder=Ridge())
    with pytest.raises(ValueError, match="6 folds of 10 stimuli leave fewer than two"):
        model.identify_folds(X, Y, n_folds=6)
    with pytest.raises(ValueError, match=r"1 stimuli have no response .first: row 9"):
        model.identify_folds(X, Y, stimuli=np.r_[0:9, 0])
    with pytest.raises(ValueError, match="candidates 0 and 9 have identical features"):
        model.identify_folds(np.vstack([X[:9], X[:1]]), Y)


@pytest.mark.parametrize("n_sets", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_accuracy_in_folds_is_at_chance_without_signal(n_sets):
    rng = np.random.default_rng(7)
    accuracy = []
    for _ in range(n_sets):
        X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 4))
        model = EncodingIdentification(encoder=Ridge(10.0), cv=2)
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
