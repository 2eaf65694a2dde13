"""Comparison of encoding models, ensembles, and single-voxel scores."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from sklearn.linear_model import Ridge

from neuroextrap import stats
from neuroextrap.encoding import (
    EncodingIdentification,
    compare_encoding_models,
    compare_encoding_models_pairwise,
    ensemble_size_curve,
)
from neuroextrap.stats import paired_sign_flip_test
from tests.encoding.seam import prediction_scores, win_chances


def _pair(e, columns=3, regions=None, n_test=24):
    """A model of all features and a model of few."""
    rows = slice(0, n_test)
    return [
        EncodingIdentification(encoder=e.encoder, regions=regions)
        .fit(e.train[:, :n], e.Y)
        .identify(e.test[rows, :n], e.Y_test[rows])
        for n in (8, columns)
    ]


def _outcomes(model, region, size):
    """Chance that each stimulus wins against size - 1 others, by enumeration."""
    found = model.region_margins(region)
    K = len(found)
    scores = np.empty(K)
    for i in range(K):
        others = [j for j in range(K) if j != i]
        sets = itertools.combinations(others, size - 1)
        scores[i] = np.mean([found[i, i] > found[i, list(s)].max() for s in sets])
    return scores


@pytest.mark.parametrize("statistic", ["accuracy", "pairwise_accuracy", 3])
def test_comparison_equals_enumeration_of_all_flips(experiment, statistic):
    members = scipy.sparse.csr_array(np.kron(np.eye(3), np.ones((1, 10))) > 0)
    first, second = _pair(experiment, regions=members, n_test=8)
    found = compare_encoding_models(
        first, second, statistic=statistic, n_permutations=255
    )
    size = {"accuracy": 8, "pairwise_accuracy": 2}.get(statistic, statistic)
    D = np.array(
        [_outcomes(first, r, size) - _outcomes(second, r, size) for r in range(3)]
    )
    np.testing.assert_allclose(found["accuracy_difference"], D.mean(1), atol=1e-9)
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    null = np.abs(D @ signs.T / 8)
    observed = np.abs(D.mean(axis=1))
    p = (null >= observed[:, None] - 1e-9).mean(axis=1)
    p_fwe = (null.max(axis=0) >= observed[:, None] - 1e-9).mean(axis=1)
    np.testing.assert_allclose(found["p_value"], p)
    np.testing.assert_allclose(found["p_value_fwe"], p_fwe)
    information = [m.region_scores_["implied_information"] for m in (first, second)]
    np.testing.assert_allclose(
        found["information_difference"], information[0] - information[1]
    )


def test_one_sided_direction_and_workers(experiment):
    first, second = _pair(experiment, columns=1)
    better = compare_encoding_models(first, second, two_sided=False, n_jobs=2)
    worse = compare_encoding_models(second, first, two_sided=False)
    assert better["p_value"][0] < 0.05 < worse["p_value"][0]
    assert better["accuracy_difference"] == -worse["accuracy_difference"]
    np.testing.assert_allclose(
        better["first_accuracy"], first.region_scores_["accuracy"]
    )


def _p_values(pair, n_sets, draw):
    """Compare two models n_sets times on responses and predictions drawn anew."""
    rng = np.random.default_rng(3)
    p = []
    for _ in range(n_sets):
        responses, *predictions = draw(rng)
        for model, drawn in zip(pair, predictions, strict=True):
            model.run_.rows[:24] = responses
            model.run_.rows[24:48] = drawn
        found = compare_encoding_models(
            *pair,
            statistic="pairwise_accuracy",
            n_permutations=39,
            random_state=rng,
        )
        p.append(found["p_value"][0])
    return np.array(p)


_SETS = pytest.mark.parametrize(
    "n_sets", [80, pytest.param(1500, marks=pytest.mark.slow)]
)


@_SETS
def test_comparison_has_its_size_when_outcomes_are_exchangeable(experiment, n_sets):
    """The second model is the first with the halves of the voxels swapped.

    Every response comes from one model or the other by the toss of a coin, so that
    swapping the halves of one response exchanges its two outcomes and no others.
    """
    first, second = pair = _pair(experiment)
    swap = np.roll(np.arange(30), 15)
    second.run_.rows[48:] = first.run_.rows[48:, swap]

    def draw(rng):
        one = 5 * rng.normal(size=(24, 30))
        truth = np.where(rng.random((24, 1)) < 0.5, one, one[:, swap])
        return truth + 15 * rng.normal(size=(24, 30)), one, one[:, swap]

    p = _p_values(pair, n_sets, draw)
    for level in (0.05, 0.2, 0.5):
        rate = np.mean(p <= level + 1e-12)
        assert abs(rate - level) < 4 * np.sqrt(level * (1 - level) / n_sets)


@_SETS
def test_comparison_is_conservative_for_models_that_differ_by_chance(
    experiment, n_sets
):
    """Other predictions favor other stimuli, which widens the null distribution."""

    def draw(rng):
        return rng.normal(size=(3, 24, 30))

    p = _p_values(_pair(experiment), n_sets, draw)
    for level in (0.05, 0.2, 0.5):
        rate = np.mean(p <= level + 1e-12)
        assert rate < level + 4 * np.sqrt(level * (1 - level) / n_sets)


def test_bad_comparisons(experiment):
    first, second = _pair(experiment)
    with pytest.raises(TypeError, match="second must be an EncodingIdentification"):
        compare_encoding_models(first, Ridge())
    with pytest.raises(ValueError, match="first and second are one model"):
        compare_encoding_models(first, first)
    with pytest.raises(ValueError, match="n_permutations must be an integer >= 1"):
        compare_encoding_models(first, second, n_permutations=0)
    shorter = _pair(experiment, n_test=20)[1]
    with pytest.raises(ValueError, match="identified other test points"):
        compare_encoding_models(first, shorter)
    e = experiment
    more = np.random.default_rng(0).normal(size=(2, 8))
    wider = EncodingIdentification(encoder=e.encoder).fit(e.train, e.Y)
    wider.identify(e.test, e.Y_test, distractors=more)
    with pytest.raises(ValueError, match="other regions or candidates"):
        compare_encoding_models(first, wider)
    moved = EncodingIdentification(encoder=e.encoder).fit(e.train, e.Y)
    moved.identify(e.test, e.Y_test[::-1])
    with pytest.raises(ValueError, match="identified other responses"):
        compare_encoding_models(first, moved)
    part = scipy.sparse.csr_array(np.arange(30)[None] < 9)
    other = _pair(e, regions=part)[0]
    with pytest.raises(ValueError, match="have other regions; use the same radius"):
        compare_encoding_models(first, other)


def in_folds(n_columns=(6, 2), seed=0, **options):
    """Two models in folds: features of both are among those of the responses."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6))
    Y = X @ rng.normal(size=(6, 12)) + 3 * rng.normal(size=(40, 12))
    return [
        EncodingIdentification(encoder=Ridge(), **options).identify_folds(X[:, :n], Y)
        for n in n_columns
    ]


def test_comparison_in_folds_is_corrected_and_says_so():
    full, poor = in_folds()
    maps = compare_encoding_models(full, poor, n_permutations=99)
    assert maps["accuracy_difference"][0] > 0.1
    assert maps["p_value"][0] <= 0.05
    assert [finding.name for finding in maps.findings_] == ["trained_on_tests"]
    assert "corrected for it as in Nadeau & Bengio" in maps.notes_[0]
    right, wrong = (
        win_chances(model.region_margins(0), model.test_codes_, 8)
        for model in (full, poor)
    )
    order = np.argsort(full.run_.test.stimuli)
    tested = paired_sign_flip_test(
        (right - wrong)[None, order] / 40, n_permutations=99, cross_validated=True
    )
    np.testing.assert_allclose(maps["p_value"], tested.p_value)
    other = in_folds(random_state=1)[0]
    with pytest.raises(ValueError, match="first and second were tested in other folds"):
        compare_encoding_models(full, other)
    pairs = compare_encoding_models_pairwise({"full": full, "poor": poor})
    assert "trained_on_tests" in {f.name for f in pairs["full", "poor"].findings_}


def test_a_test_set_is_not_compared_with_folds(experiment):
    e = experiment
    one = EncodingIdentification(encoder=e.encoder).fit(e.train, e.Y)
    one.identify(e.test, e.Y_test)
    folds = EncodingIdentification(encoder=e.encoder, rule="diagonal")
    folds.identify_folds(e.test, e.Y_test, n_folds=2)
    with pytest.raises(ValueError, match="first and second"):
        compare_encoding_models(one, folds)


@pytest.mark.slow
def test_comparison_in_folds_keeps_its_level():
    rng, n_sets = np.random.default_rng(0), 300
    rejected = 0
    for _ in range(n_sets):
        A, B = rng.normal(size=(2, 30, 4))
        Y = rng.normal(size=(30, 6))
        models = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of wrong signs, by chance
            for X in (A, B):
                model = EncodingIdentification(encoder=Ridge(10.0))
                models.append(model.identify_folds(X, Y))
        maps = compare_encoding_models(
            *models, statistic="pairwise_accuracy", n_permutations=99
        )
        rejected += maps["p_value"][0] <= 0.05
    assert scipy.stats.binom.sf(rejected - 1, n_sets, 0.05) > 1e-3


def test_what_else_two_models_differ_in_is_told(experiment):
    e = experiment

    def fitted(rows=slice(None), **options):
        model = EncodingIdentification(encoder=e.encoder, **options)
        return model.fit(e.train[rows], e.Y[rows]).identify(e.test, e.Y_test)

    plain = fitted()
    assert not compare_encoding_models(plain, fitted()).findings_
    for other, words in (
        (fitted(rule="correlation"), r"rule .mahalanobis and correlation"),
        (fitted(rule="diagonal"), r"rule .mahalanobis and diagonal"),
        (fitted(slice(100)), "training responses"),
    ):
        with pytest.warns(UserWarning, match=words):
            maps = compare_encoding_models(plain, other)
        [finding] = maps.findings_
        assert finding.name == "other_methods"
        assert finding.note in maps.notes_
        assert finding.effect.startswith("the difference may come from this")
    page = str(maps.generate_report())
    assert "but the difference may come from this" in page


def test_ensembles_of_everything_equal_the_whole(experiment):
    e = experiment
    whole = EncodingIdentification(encoder=e.encoder).fit(e.train, e.Y)
    whole.identify(e.test, e.Y_test)
    train, test = (e.train, e.Y), (e.test, e.Y_test)
    for vary, most in (("voxels", 30), ("features", 8)):
        curve = ensemble_size_curve(
            train, test, sizes=[1, most], vary=vary, encoder=e.encoder, n_draws=4
        )
        assert curve.accuracy.shape == curve.information.shape == (2, 4)
        np.testing.assert_allclose(
            curve.accuracy[1], whole.region_scores_["accuracy"][0], atol=1e-9
        )
        np.testing.assert_allclose(
            curve.information[1],
            whole.region_scores_["implied_information"][0],
            atol=1e-6,
        )
        assert curve.accuracy[0].mean() < curve.accuracy[1].mean()
    with pytest.raises(ValueError, match="sizes must be integers from 1 to 30"):
        ensemble_size_curve(train, test, sizes=[31], encoder=e.encoder)
    with pytest.raises(ValueError, match="vary='regions' must be one of"):
        ensemble_size_curve(train, test, sizes=[3], vary="regions")


def test_prediction_scores_equal_their_formulas():
    rng = np.random.default_rng(4)
    Y, noise = rng.normal(size=(20, 5)), rng.normal(size=(20, 5))
    F = 0.5 * Y + noise * np.array([0.1, 0.5, 1, 2, 5])
    groups = np.repeat([0, 1], 10)
    found = prediction_scores(Y, F, groups=groups, n_permutations=99)
    orders = stats.permute_labels(
        np.arange(20), groups=groups, n_permutations=99, random_state=0
    )
    r = np.array([np.corrcoef(Y[:, v], F[:, v])[0, 1] for v in range(5)])
    null = np.array(
        [[np.corrcoef(Y[:, v], F[o, v])[0, 1] for v in range(5)] for o in orders]
    )
    np.testing.assert_allclose(found["correlation"], r)
    np.testing.assert_allclose(
        found["r2"], 1 - ((Y - F) ** 2).sum(0) / ((Y - Y.mean(0)) ** 2).sum(0)
    )
    np.testing.assert_allclose(found["p_value"], (1 + (null >= r).sum(0)) / 100)
    maxima = null.max(axis=1)
    expected = (1 + (maxima[:, None] >= r).sum(axis=0)) / 100
    np.testing.assert_allclose(found["p_value_fwe"], expected)


def test_prediction_scores_of_constant_voxels_are_nan():
    Y = np.random.default_rng(5).normal(size=(12, 3))
    F = Y.copy()
    F[:, 1] = 2.0
    Y[:, 2] = 1.0
    found = prediction_scores(Y, F, n_permutations=19)
    assert np.isnan(found["correlation"]).tolist() == [False, True, True]
    assert np.isnan(found["r2"]).tolist() == [False, False, True]
    assert np.isnan(found["p_value_fwe"]).tolist() == [False, True, True]
    assert found["p_value_fwe"][0] == 0.05
    with pytest.raises(ValueError, match="must be finite"):
        prediction_scores(Y * np.nan, F)


def test_noise_ceiling_is_the_share_of_variance_that_a_perfect_model_explains():
    """Signal variance 1, noise variance 4 a response, four repeats: ceiling 1/2."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(20_000, 5))
    responses = signal[:, None] + 2 * rng.normal(size=(20_000, 4, 5))
    noise = responses.var(axis=1, ddof=1).mean(axis=0) / 4
    scores = prediction_scores(responses.mean(axis=1), signal, noise_variance=noise)
    np.testing.assert_allclose(scores["noise_ceiling"], 0.5, atol=0.05)
    np.testing.assert_allclose(scores["r2_normalized"], 1, atol=0.06)
    np.testing.assert_allclose(scores["correlation_normalized"], 1, atol=0.04)
    plain = prediction_scores(responses.mean(axis=1), signal)
    ceiling = 1 - noise / responses.mean(axis=1).var(axis=0, ddof=1)
    np.testing.assert_allclose(scores["noise_ceiling"], ceiling)
    np.testing.assert_allclose(scores["r2_normalized"], plain["r2"] / ceiling)


def test_no_signal_has_no_normalized_scores():
    rng = np.random.default_rng(0)
    Y, F = rng.normal(size=(2, 30, 4))
    scores = prediction_scores(Y, F, noise_variance=[9.0, 9, 9, 0])
    assert scores["noise_ceiling"].tolist() == [0, 0, 0, 1]
    assert np.isnan(scores["r2_normalized"]).tolist() == [True] * 3 + [False]
    assert scores["r2_normalized"][3] == scores["r2"][3]


def test_outcomes_of_repeats_that_are_kept_are_averaged(experiment):
    """A stimulus counts once, with the share of its repeats that were right."""
    e = experiment
    stimuli = np.r_[np.arange(24), np.arange(24), np.arange(7)]
    Y = e.Y_test[stimuli] + np.random.default_rng(1).normal(size=(55, 30))
    models = [
        EncodingIdentification(encoder=e.encoder, repeats="keep")
        .fit(e.train[:, :n], e.Y)
        .identify(e.test[:, :n], Y, stimuli=stimuli)
        for n in (8, 2)
    ]
    found = compare_encoding_models(*models, n_permutations=9)
    for model, name in zip(models, ("first", "second"), strict=True):
        margins = model.region_margins(0)
        right = margins.argmax(axis=1) == stimuli
        shares = [right[stimuli == s].mean() for s in range(24)]
        assert 0 < np.mean(shares) < 1
        np.testing.assert_allclose(found[f"{name}_accuracy"], [np.mean(shares)])
        np.testing.assert_allclose(model.region_scores_["accuracy"], np.mean(shares))


@pytest.mark.parametrize("repeats", ["average", "keep"])
def test_prediction_maps_know_the_noise_from_repeats(experiment, repeats):
    e = experiment
    stimuli = np.r_[np.arange(24), np.arange(24), np.arange(7)]
    Y = e.Y_test[stimuli] + np.random.default_rng(1).normal(size=(55, 30))
    model = EncodingIdentification(encoder=e.encoder, repeats=repeats).fit(e.train, e.Y)
    model.identify(e.test, Y, stimuli=stimuli)
    within = [Y[stimuli == s] - Y[stimuli == s].mean(axis=0) for s in range(24)]
    single = (np.concatenate(within) ** 2).sum(axis=0) / (55 - 24)
    means = np.stack([Y[stimuli == s].mean(axis=0) for s in range(24)])
    noise, shown = single, Y
    if repeats == "average":
        noise, shown = single * np.mean(1 / np.bincount(stimuli)), means
    expected = np.maximum(1 - noise / shown.var(axis=0, ddof=1), 0)
    found = model.prediction_maps()
    np.testing.assert_allclose(found["noise_ceiling"], expected, rtol=1e-4)
    alone = EncodingIdentification(encoder=e.encoder).fit(e.train, e.Y)
    assert set(alone.identify(e.test, e.Y_test).prediction_maps()) == {
        "r2",
        "correlation",
    }
