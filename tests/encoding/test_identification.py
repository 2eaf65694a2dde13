"""Identification through an encoding model, from arrays and from images."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neuroextrap import stats
from neuroextrap.encoding import (
    ElasticNetEncoder,
    EncodingIdentification,
    RidgeEncoder,
    ensemble_size_curve,
)
from tests.analyses import encoding_covariance, encoding_of
from tests.encoding.seam import mahalanobis_margins

FOLDS = KFold(5)


def _fit(e, **options):
    return encoding_of(encoder=e.encoder, **options).fit(e.train, e.Y)


def _naive(e, columns):
    """Margins written out for some voxels."""
    model = make_pipeline(StandardScaler(), Ridge())
    # features are scaled by all training stimuli, not fold by fold
    scaled = StandardScaler().fit_transform(e.train)
    E = e.Y - cross_val_predict(Ridge(), scaled, e.Y, cv=FOLDS)
    predicted = model.fit(e.train, e.Y).predict(e.test)
    sigma = encoding_covariance(E[:, columns])
    return mahalanobis_margins(e.Y_test[:, columns], predicted[:, columns], sigma)


def test_whole_path_equals_formulas(experiment):
    e = experiment
    members = np.zeros((3, 30), dtype=bool)
    members[0, :10] = members[1, 5:25] = members[2] = True
    regions = scipy.sparse.csr_array(members)
    model = _fit(e, regions=regions, cv=FOLDS).identify(e.test, e.Y_test)
    for region, row in enumerate(members):
        expected = _naive(e, np.flatnonzero(row))
        np.testing.assert_allclose(
            model.region_margins(region), expected, rtol=1e-3, atol=1e-2
        )
        wins = stats.win_distribution(expected, np.arange(24))
        np.testing.assert_allclose(model.wins_[region], wins, atol=1e-12)
        curve = stats.average_accuracy(wins, model.set_sizes_)
        np.testing.assert_allclose(model.accuracy_curve(region)[1], curve, atol=1e-12)
        scores = model.region_scores_
        assert scores["accuracy"][region] == pytest.approx(curve[-1])
        assert scores["implied_information"][region] == pytest.approx(
            float(stats.implied_information(curve, model.set_sizes_)), abs=1e-6
        )
    assert set(model.table_["name"]) == {"0", "1", "2"}


def test_prediction_keeps_the_intercept(experiment):
    e = experiment
    model = _fit(e)
    expected = make_pipeline(StandardScaler(), Ridge()).fit(e.train, e.Y)
    np.testing.assert_allclose(model.predict(e.test), expected.predict(e.test))


def test_identification_does_not_read_the_mean_of_the_test_responses(experiment):
    e = experiment
    shifted = _fit(e).identify(e.test, e.Y_test + 50.0)
    usual = _fit(e).identify(e.test, e.Y_test)
    # a shift is not absorbed: margins change, so nothing was centered on test data
    assert not np.allclose(shifted.region_margins(0), usual.region_margins(0))
    half = _fit(e).identify(e.test[:12], e.Y_test[:12])
    np.testing.assert_allclose(
        half.region_margins(0), usual.region_margins(0)[:12, :12], rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize("statistic", ["default", "accuracy"])
def test_permutation_p_value_equals_recount(experiment, statistic):
    e = experiment
    options = {} if statistic == "default" else {"statistic": statistic}
    model = _fit(e, n_permutations=99, **options)
    model.identify(e.test, e.Y_test, groups=np.repeat([0, 1], 12))
    found = model.region_margins(0)

    def value(codes):
        wins = stats.win_distribution(found, codes)
        if statistic == "accuracy":
            return wins[-1]
        curve = stats.average_accuracy(wins, np.arange(2, 25))
        return stats.implied_information(curve, np.arange(2, 25))

    orders = stats.permute_labels(
        np.arange(24), groups=np.repeat([0, 1], 12), n_permutations=99, random_state=0
    )
    null = [value(order) for order in orders]
    expected = (1 + np.sum(np.array(null) >= value(np.arange(24)) - 1e-12)) / 100
    assert model.region_scores_["p_value"][0] == expected
    np.testing.assert_allclose(model.null_maxima_, null, atol=1e-9)
    assert any("exact if the model" in note for note in model.notes_)


def test_free_permutation_is_warned_about(experiment):
    e = experiment
    with pytest.warns(UserWarning, match="no runs were given .* stimuli"):
        _fit(e, n_permutations=9).identify(e.test, e.Y_test)


@pytest.mark.slow
def test_pairing_test_has_its_size_when_responses_say_nothing():
    rng, n_sets = np.random.default_rng(1), 1000
    p = []
    for _ in range(n_sets):
        X, Y = rng.normal(size=(45, 3)), rng.normal(size=(45, 5))
        model = EncodingIdentification(
            encoder=Ridge(), n_permutations=19, statistic="pairwise_accuracy"
        )
        model.fit(X[:30], Y[:30]).identify(X[30:], Y[30:], groups=np.zeros(15))
        p.append(model.region_scores_["p_value"][0])
    # binomial band of four standard errors about .05 and .5
    for level in (0.05, 0.5):
        rate = np.mean(np.array(p) <= level + 1e-12)
        assert abs(rate - level) < 4 * np.sqrt(level * (1 - level) / n_sets)


def test_distractors_enlarge_the_set(experiment):
    e = experiment
    more = np.random.default_rng(5).normal(size=(40, 8)) * np.arange(1, 9) + 5
    model = _fit(e).identify(e.test, e.Y_test, distractors=more)
    assert model.wins_.shape == (1, 64)
    alone = _fit(e).identify(e.test, e.Y_test)
    np.testing.assert_allclose(
        model.region_margins(0)[:, :24], alone.region_margins(0), rtol=1e-4, atol=1e-3
    )
    assert any("no lower bounds" in note for note in model.notes_)
    assert "information_bound" not in model.region_scores_


def test_repeats_are_averaged_or_kept(experiment):
    e = experiment
    rng = np.random.default_rng(6)
    stimuli = np.r_[np.arange(24), np.arange(10)]
    noisy = e.Y_test[stimuli] + rng.normal(size=(34, 30))
    averaged = _fit(e).identify(e.test, noisy, stimuli=stimuli)
    means = np.stack([noisy[stimuli == s].mean(axis=0) for s in range(24)])
    by_hand = _fit(e).identify(e.test, means)
    np.testing.assert_allclose(averaged.wins_, by_hand.wins_, atol=1e-12)
    # no repeats in training: what an average is less noisy by is not known
    np.testing.assert_allclose(
        averaged.region_margins(0), by_hand.region_margins(0), rtol=1e-4
    )
    assert any("are averages of repeats, but" in note for note in averaged.notes_)
    assert not any("averages of repeats" in note for note in by_hand.notes_)
    kept = _fit(e, repeats="keep").identify(e.test, noisy, stimuli=stimuli)
    expected = stats.win_distribution(kept.region_margins(0), stimuli)
    np.testing.assert_allclose(kept.wins_[0], expected, atol=1e-12)
    assert kept.region_margins(0).shape == (34, 24)


def test_kept_repeats_move_together_under_permutation(experiment):
    e = experiment
    stimuli = np.tile(np.arange(24), 2)
    model = _fit(e, repeats="keep", n_permutations=50)
    model.identify(e.test, e.Y_test[stimuli], groups=np.zeros(48), stimuli=stimuli)
    codes = model.run_.plan.codes[:, :48]
    np.testing.assert_array_equal(codes[:, :24], codes[:, 24:])


def test_posterior_is_bayes_rule(experiment):
    e = experiment
    model = _fit(e).identify(e.test, e.Y_test)
    found = model.posterior(0)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    margins = model.region_margins(0).astype(float)
    # one temperature for all: log ratios of posteriors are differences of margins
    ratio = np.log(found[:, 1:5] / found[:, :1]) / (margins[:, 1:5] - margins[:, :1])
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-3)
    prior = np.arange(24.0)
    weighted = model.posterior(0, prior=prior)
    expected = found * prior
    np.testing.assert_allclose(
        weighted, expected / expected.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_elastic_net_residuals_are_cross_validated(experiment):
    e = experiment
    encoder = ElasticNetEncoder(n_alphas=10, eps=1e-3)
    model = EncodingIdentification(encoder=encoder).fit(e.train, e.Y)
    expected = e.Y - e.Y.mean(0) - model.encoder_.cv_predictions_
    np.testing.assert_allclose(model.residuals_, expected, atol=1e-4)


def test_supplied_noise_residuals_are_used(experiment):
    e = experiment
    E = np.random.default_rng(8).normal(size=(200, 30))
    model = _fit(e, noise_covariance=E).identify(e.test, e.Y_test)
    sigma = encoding_covariance(E - E.mean(axis=0))
    expected = mahalanobis_margins(e.Y_test, model.predict(e.test), sigma)
    np.testing.assert_allclose(model.region_margins(0), expected, rtol=1e-3)


def test_bad_voxels_are_left_out_and_told(experiment):
    e = experiment
    Y, Y_test = e.Y.copy(), e.Y_test.copy()
    Y[:, 3], Y[4, 7], Y_test[2, 9] = 1.0, np.nan, np.inf
    model = EncodingIdentification(encoder=e.encoder, cv=FOLDS).fit(e.train, Y)
    model.identify(e.test, Y_test)
    assert model.region_scores_["n_voxels"][0] == 27
    assert any("2 of 30 voxels were left out" in note for note in model.notes_)
    assert np.isnan(model.predict(e.test)[:, [3, 7]]).all()
    good = np.setdiff1d(np.arange(30), [3, 7, 9])
    np.testing.assert_allclose(
        model.region_margins(0), _naive(e, good), rtol=1e-3, atol=1e-2
    )


def test_extrapolation_to_huge_sets(experiment):
    e = experiment
    model = _fit(e).identify(e.test, e.Y_test)
    predicted = model.extrapolate([24, 10**10])
    assert predicted[24][0] == pytest.approx(
        model.region_scores_["accuracy"][0], abs=0.1
    )
    assert 0 <= predicted[10**10][0] <= predicted[24][0]
    size = model.extrapolator(0, "gaussian").set_size_at(accuracy=0.10)
    assert size > 24


@pytest.fixture
def brain():
    """Images of 6 x 5 x 4 voxels; a corner responds to the stimuli."""
    rng = np.random.default_rng(10)
    X, W = rng.normal(size=(130, 4)), rng.normal(size=(4, 8))
    data = rng.normal(size=(6, 5, 4, 130))
    data[:2, :2, :2] += (0.9 * X @ W).T.reshape(2, 2, 2, 130)
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    mask = nibabel.Nifti1Image(np.ones((6, 5, 4), dtype=np.int8), affine)
    image = nibabel.Nifti1Image(data.astype(np.float32), affine)
    return X, image, mask


def _run(image, rows):
    return image.slicer[..., rows]


def test_searchlight_maps_find_the_responsive_corner(brain, tmp_path):
    X, image, mask = brain
    model = EncodingIdentification(
        mask, RidgeCV(), radius=4.0, n_permutations=99, statistic="pairwise_accuracy"
    )
    model.fit(X[:100], _run(image, slice(0, 100)))
    model.identify(X[100:], _run(image, slice(100, 130)), groups=np.zeros(30))
    p = model.maps_["p_value_fwe"].get_fdata()
    assert p[0, 0, 0] <= 0.05
    assert (p[4:] > 0.05).mean() > 0.9
    accuracy = model.maps_["accuracy"].get_fdata()
    assert np.nanmax(accuracy[:2, :2, :2]) == np.nanmax(accuracy)
    assert model.table_ is None
    np.testing.assert_allclose(
        model.accuracy_curve((0.0, 0.0, 0.0))[1][-1], accuracy[0, 0, 0], rtol=1e-6
    )
    prediction = model.prediction_maps(n_permutations=99)
    assert prediction["p_value_fwe"].get_fdata()[:2, :2, :2].min() <= 0.05
    model.to_directory(tmp_path / "out")
    stored = nibabel.load(tmp_path / "out" / "p_value_fwe.nii.gz").get_fdata()
    np.testing.assert_allclose(stored, p, rtol=1e-6)
    about = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert about["classes"] == list(range(30))
    with pytest.raises(ValueError, match="overwrite"):
        model.to_directory(tmp_path / "out")


def test_atlas_regions_give_a_table(brain):
    X, image, mask = brain
    labels = np.zeros((6, 5, 4), dtype=np.int16)
    labels[:2, :2, :2], labels[4:] = 1, 2
    atlas = nibabel.Nifti1Image(labels, image.affine)
    model = EncodingIdentification(mask, RidgeCV(), labels_img=atlas)
    model.fit(X[:100], _run(image, slice(0, 100)))
    model.identify(X[100:], _run(image, slice(100, 130)))
    last = model.table_.groupby("name", sort=False).last()
    assert last["accuracy"].iloc[0] > 4 * last["accuracy"].iloc[1]
    assert np.isfinite(last["standard_error"]).all()


def test_mismatched_images_are_refused(brain):
    X, image, mask = brain
    model = EncodingIdentification(mask, RidgeCV())
    with pytest.raises(ValueError, match="imgs has 90 samples, features has 100"):
        model.fit(X[:100], _run(image, slice(0, 90)))
    model.fit(X[:100], _run(image, slice(0, 100)))
    other = nibabel.Nifti1Image(np.zeros((5, 5, 4, 30)), image.affine)
    with pytest.raises(ValueError, match="shape"):
        model.identify(X[100:], other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"save_null": "x.npy", "shard": "1/2", "n_permutations": 9},
            "save_null and shard do not go together",
        ),
        ({"noise_covariance": np.zeros((2, 30))}, "at least three observations"),
        ({"noise_covariance": np.full((9, 30), np.nan)}, "has NaN or infinity"),
    ],
)
def test_bad_parameters(experiment, options, message):
    with pytest.raises(ValueError, match=message):
        _fit(experiment, **options)


def test_bad_data(experiment):
    e = experiment
    model = EncodingIdentification(encoder=e.encoder)
    named = pd.DataFrame(e.train).assign(kind=pd.Categorical(["a"] * len(e.train)))
    with pytest.raises(TypeError, match=r"features must be .* in column kind\)"):
        model.fit(named, e.Y)
    with pytest.raises(ValueError, match="overflow in column 0"):
        model.fit(e.train * 1e160, e.Y)
    with pytest.raises(ValueError, match="no usable voxel"):
        model.fit(e.train, np.ones_like(e.Y))
    model.fit(e.train, e.Y).identify(e.test, e.Y_test)
    with pytest.raises(ValueError, match="give the region's index"):
        model.posterior((0.0, 0.0, 0.0))


def test_a_singular_covariance_is_told(experiment):
    e = experiment
    # identical products at every observation: nothing says to shrink
    E = np.tile([[1.0], [-1.0]], (2, 30))
    model = _fit(e, noise_covariance=E, rule="ledoit_wolf")
    with (
        pytest.raises(ValueError, match="covariance of 30 features is singular"),
        pytest.warns(UserWarning, match="up to 30 voxels rests on 4 residuals"),
    ):
        model.identify(e.test, e.Y_test)


def test_the_correlation_rule_where_residuals_are_few(experiment):
    e = experiment
    few = e.Y[:6] - e.Y[:6].mean(axis=0)
    with pytest.warns(UserWarning, match="rests on 6 residuals; rule='corr"):
        told = _fit(e, noise_covariance=few).identify(e.test, e.Y_test)
    assert any("rests on 6 residuals" in note for note in told.notes_)
    model = _fit(e, noise_covariance=few, rule="correlation")
    model.identify(e.test, e.Y_test)  # needs no covariance: no warning
    assert not any("residuals" in note for note in model.notes_)
    scale = few.std(axis=0)
    patterns = [
        (Y - e.Y.mean(axis=0)) / scale for Y in (e.Y_test, model.predict(e.test))
    ]
    expected = np.corrcoef(*patterns)[:24, 24:]
    np.testing.assert_allclose(model.region_margins(0), expected, atol=1e-5)
    with pytest.raises(ValueError, match="rule='correlation' has no posterior"):
        model.posterior(0)
    with pytest.raises(ValueError, match="rule='cosine' must be one of"):
        _fit(e, rule="cosine")


def test_bands_follow_the_columns_that_are_kept(experiment):
    """Columns that are constant in training are dropped, and their bands with them."""
    e = experiment
    bands = np.array(["a", "a", "b", "b", "a", "b", "a", "b"])
    constant = [2, 4]
    train, test = e.train.copy(), e.test.copy()
    train[:, constant] = test[:, constant] = 1.0
    encoder = RidgeEncoder(bands=bands, band_weights=5)
    model = EncodingIdentification(encoder=encoder).fit(train, e.Y)
    kept = np.delete(np.arange(8), constant)
    alone = RidgeEncoder(bands=bands[kept], band_weights=5)
    expected = EncodingIdentification(encoder=alone).fit(train[:, kept], e.Y)
    np.testing.assert_array_equal(model.encoder_.coef_, expected.encoder_.coef_)
    with pytest.raises(ValueError, match="bands has 6 entries, X has 8 features"):
        EncodingIdentification(encoder=alone).fit(e.train, e.Y)
    with pytest.raises(ValueError, match="bands has 8 entries, X has 6 features"):
        EncodingIdentification(encoder=encoder).fit(e.train[:, :6], e.Y)
    curve = ensemble_size_curve(
        (e.train, e.Y),
        (e.test, e.Y_test),
        sizes=[3],
        vary="features",
        encoder=encoder,
        n_draws=2,
    )
    assert curve.accuracy.shape == (1, 2)
