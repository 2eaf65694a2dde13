"""The ridge encoder against scikit-learn, one target at a time."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.models.seam import BandGradient, RidgeEncoder, _ridge

ALPHAS = np.logspace(-1, 4, 6)


def _data(n_samples=60, n_features=20, n_targets=5, seed=0):
    """Correlated features far from zero, targets of several signal strengths."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_features, n_features)) / np.sqrt(n_features)
    X = rng.normal(size=(n_samples, n_features)) @ mixing
    signal = X @ rng.normal(size=(n_features, n_targets))
    noise = rng.normal(size=signal.shape) * np.logspace(-1, 2, n_targets)
    return X + 50, signal + noise - 30


def _naive(X, y, splits):
    """Scikit-learn's grid search of one target."""
    search = GridSearchCV(
        Ridge(solver="svd"),
        {"alpha": ALPHAS},
        cv=splits,
        scoring="neg_mean_squared_error",
    )
    return search.fit(X, y)


@pytest.mark.parametrize(
    ("n_features", "grouped"), [(20, False), (47, True), (150, True)]
)
def test_equals_grid_search_target_by_target(n_features, grouped):
    X, Y = _data(n_features=n_features)
    groups = np.random.default_rng(1).integers(12, size=len(X)) if grouped else None
    cv = GroupKFold(5) if grouped else KFold(5)
    splits = list(cv.split(X, groups=groups))
    encoder = RidgeEncoder(ALPHAS, cv=cv, shared_samples=0)
    encoder.fit(X, Y, groups=groups)
    for v, y in enumerate(Y.T):
        naive = _naive(X, y, splits)
        errors = -naive.cv_results_["mean_test_score"]
        np.testing.assert_allclose(encoder.cv_error_[v], errors, rtol=1e-7)
        assert encoder.alpha_[v] == naive.best_params_["alpha"]
        best = naive.best_estimator_
        np.testing.assert_allclose(encoder.coef_[v], best.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(encoder.predict(X)[:, v], best.predict(X), rtol=1e-7)
        for train, test in splits:
            fold = Ridge(naive.best_params_["alpha"], solver="svd").fit(
                X[train], y[train]
            )
            np.testing.assert_allclose(
                encoder.cv_predictions_[test, v], fold.predict(X[test]), rtol=1e-7
            )
    assert len(np.unique(encoder.alpha_)) > 1  # a penalty per target


def test_leaving_one_out_equals_generalized_cross_validation():
    X, Y = _data()
    encoder = RidgeEncoder(ALPHAS, cv=KFold(len(X)), shared_samples=0).fit(X, Y)
    reference = RidgeCV(ALPHAS, alpha_per_target=True).fit(X, Y)
    np.testing.assert_array_equal(encoder.alpha_, reference.alpha_)
    np.testing.assert_allclose(encoder.coef_, reference.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_features", [20, 150])
def test_blocks_of_targets_change_nothing(n_features, monkeypatch):
    X, Y = _data(n_features=n_features)
    whole = RidgeEncoder().fit(X, Y)
    monkeypatch.setattr(_ridge, "_BLOCK_SIZE", 2 * max(X.shape))
    parts = RidgeEncoder().fit(X, Y)
    np.testing.assert_array_equal(parts.alpha_, whole.alpha_)
    for name in ("coef_", "intercept_", "cv_error_", "cv_predictions_"):
        np.testing.assert_allclose(
            getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("n_features", [20, 150])
def test_single_precision_agrees_with_double(n_features):
    X, Y = _data(n_features=n_features)
    double = RidgeEncoder(ALPHAS).fit(X, Y)
    single = RidgeEncoder(ALPHAS).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.coef_.dtype == single.cv_predictions_.dtype == np.float32
    np.testing.assert_allclose(single.cv_error_, double.cv_error_, rtol=2e-3)
    np.testing.assert_array_equal(single.alpha_, double.alpha_)
    difference = single.predict(X.astype(np.float32)) - double.predict(X)
    assert np.abs(difference).max() < 1e-3 * Y.std()


@pytest.mark.parametrize("n_features", [20, 150])
def test_the_unit_of_features_does_not_matter(n_features):
    X, Y = _data(n_features=n_features)
    one, other = RidgeEncoder().fit(X, Y), RidgeEncoder().fit(1000 * X, Y)
    np.testing.assert_allclose(other.alpha_, 1e6 * one.alpha_)
    np.testing.assert_allclose(other.predict(1000 * X), one.predict(X), rtol=1e-7)


def test_repeats_are_kept_together():
    """A stimulus shown eight times, many features, no signal: no penalty can help."""
    rng = np.random.default_rng(0)
    stimuli = np.repeat(np.arange(30), 8)
    X = rng.normal(size=(30, 200))[stimuli]
    Y = rng.normal(size=(30, 20))[stimuli] + 0.5 * rng.normal(size=(240, 20))
    order = rng.permutation(240)
    X, Y, stimuli = X[order], Y[order], stimuli[order]
    leaky, grouped = RidgeEncoder().fit(X, Y), RidgeEncoder().fit(X, Y, groups=stimuli)
    assert np.median(leaky.alpha_) < 1e-2 * np.median(grouped.alpha_)
    assert np.mean((Y - leaky.cv_predictions_) ** 2) < 0.5 * Y.var()
    assert np.mean((Y - grouped.cv_predictions_) ** 2) > 0.95 * Y.var()


def test_folds_that_leave_out_levels_are_warned_about():
    """Five fingers at three speeds, listed by finger; contiguous folds."""
    finger, speed = np.repeat(np.arange(5), 3), np.tile(np.arange(3.0), 5)
    X = np.c_[np.eye(5)[finger], speed]
    Y = np.random.default_rng(0).normal(size=(15, 2))
    with pytest.warns(UserWarning, match="leaves out a whole level of a feature in ea"):
        RidgeEncoder(cv=KFold(5)).fit(X, Y)
    rare = np.c_[X, np.eye(15)]  # each of the last features in one row only
    for cv, features in ((5, X), (KFold(2), rare), (KFold(5), rare[:, 5:])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            RidgeEncoder(cv=cv).fit(features, Y)


# scikit-learn says it less plainly
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_folds_that_split_groups_are_warned_about():
    X, Y = _data()
    groups = np.arange(60) % 12
    with pytest.warns(UserWarning, match=r"trains on groups that it tests in 5 of 5"):
        RidgeEncoder(cv=KFold(5)).fit(X, Y, groups=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RidgeEncoder(cv=GroupKFold(4)).fit(X, Y, groups=groups)


@pytest.mark.parametrize("shared_samples", [15.0, 60.0, 1e6])
def test_errors_of_all_targets_count_as_further_samples(shared_samples):
    """By a loop over targets and penalties; so many samples make one penalty of all."""
    X, Y = _data()
    Y[:, 0] *= 1e6  # the units of a target do not matter
    own = RidgeEncoder(ALPHAS, shared_samples=0).fit(X, Y)
    encoder = RidgeEncoder(ALPHAS, shared_samples=shared_samples).fit(X, Y)
    np.testing.assert_array_equal(encoder.cv_error_, own.cv_error_)
    relative = own.cv_error_ / Y.var(axis=0)[:, np.newaxis]
    for v, errors in enumerate(relative):
        losses = [
            error + shared_samples / 60 * np.mean([r[a] for r in relative])
            for a, error in enumerate(errors)
        ]
        assert encoder.alpha_[v] == ALPHAS[np.argmin(losses)]
    if shared_samples == 1e6:
        assert len(np.unique(encoder.alpha_)) == 1
    alone = RidgeEncoder(ALPHAS, shared_samples=shared_samples).fit(X, Y[:, :1])
    assert alone.alpha_[0] == own.alpha_[0]
    with pytest.raises(ValueError, match="shared_samples=-1 must be 0 or more"):
        RidgeEncoder(shared_samples=-1).fit(X, Y)


def test_few_samples_predict_better_together():
    """54 stimuli, of which each voxel alone tells its penalty badly; and without."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(254, 200)) * np.arange(1, 201) ** -0.5
    gain, n_voxels = [], 60
    for signal in (0.0, 0.2):
        mean = X @ rng.normal(size=(200, n_voxels))
        noise = rng.normal(size=mean.shape)
        Y = np.sqrt(signal) * mean / mean.std() + np.sqrt(1 - signal) * noise
        errors = [
            np.square(encoder.fit(X[:54], Y[:54]).predict(X[54:]) - Y[54:]).mean()
            for encoder in (RidgeEncoder(), RidgeEncoder(shared_samples=0))
        ]
        gain.append(errors[1] - errors[0])
    assert min(gain) > 0.01


def test_equal_errors_choose_the_largest_penalty():
    X, _ = _data()
    encoder = RidgeEncoder(ALPHAS).fit(X, np.ones((60, 2)))
    np.testing.assert_array_equal(encoder.alpha_, ALPHAS[-1])
    np.testing.assert_allclose(encoder.predict(X), 1)


@pytest.mark.parametrize("alphas", [[0.0, 1.0], [-1.0], [np.inf], [], [np.nan]])
def test_bad_penalties(alphas):
    with pytest.raises(ValueError, match=r"alphas=.* must be positive, finite"):
        RidgeEncoder(alphas).fit(*_data())


def test_bad_folds():
    X, Y = _data()
    with pytest.raises(ValueError, match="cv=5 folds need at least 5 groups"):
        RidgeEncoder().fit(X, Y, groups=np.arange(60) % 3)
    with pytest.raises(ValueError, match="each of the 60 samples exactly once"):
        RidgeEncoder(cv=ShuffleSplit(3, random_state=0)).fit(X, Y)


@parametrize_with_checks([RidgeEncoder(cv=2)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


BAND_WEIGHTS = [[1, 1, 1], [8, 1, 1], [1, 8, 1], [1, 0, 0], [0, 0.1, 1]]


def _banded_data(n_features, n_samples=60, seed=0):
    """Features of three bands in a mixed order, targets driven by other bands each."""
    X, _ = _data(n_samples, n_features)
    rng = np.random.default_rng(seed)
    bands = np.array(["a", "b", "c"])[np.arange(n_features) % 3]
    drive = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    weights = drive[:, np.arange(n_features) % 3].T * rng.normal(size=(n_features, 5))
    signal = (X - X.mean(axis=0)) @ weights
    return X, signal / signal.std(axis=0) + rng.normal(size=signal.shape), bands


def _errors(X, Y, splits):
    """Mean squared errors of every penalty and target, (6, n_targets)."""
    errors = np.zeros((len(ALPHAS), Y.shape[1]))
    for row, alpha in zip(errors, ALPHAS, strict=True):
        for train, test in splits:
            fitted = Ridge(alpha, solver="svd").fit(X[train], Y[train])
            row += np.square(fitted.predict(X[test]) - Y[test]).mean(axis=0)
    return errors / len(splits)


@pytest.mark.parametrize(("n_features", "grouped"), [(21, True), (150, False)])
def test_bands_equal_grid_searches_of_scaled_features(n_features, grouped):
    X, Y, bands = _banded_data(n_features)
    groups = np.random.default_rng(1).integers(12, size=len(X)) if grouped else None
    cv = GroupKFold(5) if grouped else KFold(5)
    splits = list(cv.split(X, groups=groups))
    encoder = RidgeEncoder(ALPHAS, cv, bands=bands, band_weights=BAND_WEIGHTS)
    encoder.fit(X, Y, groups=groups)
    assert encoder.bands_.tolist() == ["a", "b", "c"]
    rows = np.array(BAND_WEIGHTS) / np.sum(BAND_WEIGHTS, axis=1)[:, None]
    scales = np.sqrt(rows)[:, np.searchsorted(encoder.bands_, bands)]
    errors = np.array([_errors(X * scale, Y, splits) for scale in scales])
    chosen = set()
    for v, y in enumerate(Y.T):
        best, penalty = np.unravel_index(errors[..., v].argmin(), errors.shape[:2])
        row, scale, alpha = rows[best], scales[best], ALPHAS[penalty]
        chosen.add(tuple(row))
        np.testing.assert_allclose(encoder.band_weights_[v], row)
        assert encoder.alpha_[v] == alpha
        np.testing.assert_allclose(encoder.cv_error_[v], errors[best, :, v], rtol=1e-6)
        ridge = Ridge(alpha, solver="svd").fit(X * scale, y)
        predicted = encoder.predict(X)[:, v]
        np.testing.assert_allclose(predicted, ridge.predict(X * scale), rtol=1e-6)
        coef = ridge.coef_ * scale
        np.testing.assert_allclose(encoder.coef_[v], coef, rtol=1e-5, atol=1e-8)
        for train, test in splits:
            fold = Ridge(alpha, solver="svd").fit(X[train] * scale, y[train])
            expected = fold.predict(X[test] * scale)
            got = encoder.cv_predictions_[test, v]
            np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert len(chosen) > 1  # weights per target


@pytest.mark.parametrize("n_features", [21, 150])
def test_gradients_are_those_of_differences(n_features):
    """Of the error, which is that of ridge regressions of scaled features."""
    X, Y, bands = _banded_data(n_features)
    codes, splits = np.unique(bands, return_inverse=True)[1], list(KFold(5).split(X))
    search = BandGradient(X - X.mean(axis=0), codes, splits)
    point, y = np.log([0.5, 0.02, 0.1]), Y[:, 3]
    residuals = search.residuals(point, y)
    gradient = 2 * search.jacobian(point, y).T @ residuals
    scaled, total = X * np.exp(point / 2)[codes], 0.0
    for train, test in splits:
        fold = Ridge(1.0).fit(scaled[train], y[train])
        total += np.square(y[test] - fold.predict(scaled[test])).mean() / 5
    assert residuals @ residuals == pytest.approx(total, rel=1e-8)
    for band in range(3):
        step = 1e-5 * np.eye(3)[band]
        ends = [search.residuals(point + sign * step, y) for sign in (1, -1)]
        slope = (ends[0] @ ends[0] - ends[1] @ ends[1]) / 2e-5
        assert gradient[band] == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("n_features", [24, 240])
def test_gradients_find_weights_that_draws_do_not(n_features):
    """Twelve bands, two of which matter to each target, in new samples."""
    rng = np.random.default_rng(0)
    X, bands = rng.normal(size=(300, n_features)), np.arange(n_features) % 12
    drive = np.array([(bands == v) | (bands == 11 - v) for v in range(4)]).T
    signal = X @ (drive * rng.normal(size=drive.shape))
    Y = signal + 0.7 * signal.std(axis=0) * rng.normal(size=signal.shape)
    found = {}
    for n_steps in (0, 5):
        encoder = RidgeEncoder(bands=bands, band_weights=10, gradient_steps=n_steps)
        encoder.fit(X[:120], Y[:120])
        rest = signal[120:] - encoder.predict(X[120:])
        found[n_steps] = np.square(rest).mean(axis=0) / signal.var(axis=0)
        best = encoder.cv_error_.min(axis=1)
        errors = np.square(Y[:120] - encoder.cv_predictions_).mean(axis=0)
        np.testing.assert_allclose(errors, best, rtol=1e-6)
        found[n_steps, "cv"] = best
        np.testing.assert_allclose(encoder.band_weights_.sum(axis=1), 1)
        for v, row in enumerate(encoder.band_weights_):  # as without a kernel
            scale = np.sqrt(row)[bands]
            ridge = Ridge(encoder.alpha_[v]).fit(X[:120] * scale, Y[:120, v])
            expected = ridge.predict(X[120:] * scale)
            np.testing.assert_allclose(encoder.predict(X[120:])[:, v], expected)
    assert (found[5, "cv"] < found[0, "cv"]).all()
    assert found[5].mean() < 0.8 * found[0].mean()


def test_gradients_of_folds_with_gaps():
    """Rows that a fold neither trains on nor tests are left out of its error."""
    X, Y, bands = _banded_data(21)
    codes = np.unique(bands, return_inverse=True)[1]
    splits = [(np.setdiff1d(tr, te[0] - 1), te) for tr, te in KFold(5).split(X)]
    search = BandGradient(X, codes, splits)
    point, y = np.log([0.5, 0.02, 0.1]), Y[:, 3]
    predictions = search.improved(y, np.exp(point), 0)[2]
    scaled = X * np.exp(point / 2)[codes]
    for train, test in splits:
        expected = Ridge(1.0).fit(scaled[train], y[train]).predict(scaled[test])
        np.testing.assert_allclose(predictions[test], expected, rtol=1e-7)


@pytest.mark.parametrize("n_features", [21, 150])
def test_equal_weights_are_plain_ridge(n_features):
    X, Y, bands = _banded_data(n_features)
    plain = RidgeEncoder().fit(X, Y)
    equal = RidgeEncoder(bands=bands, band_weights=1).fit(X, Y)
    np.testing.assert_allclose(equal.alpha_ * 3, plain.alpha_)
    np.testing.assert_allclose(equal.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(equal.cv_error_, plain.cv_error_, rtol=1e-9)
    one = RidgeEncoder(bands=np.zeros(n_features)).fit(X, Y)
    np.testing.assert_array_equal(one.coef_, plain.coef_)
    np.testing.assert_array_equal(one.band_weights_, np.ones((5, 1)))


def test_blocks_and_other_targets_do_not_change_banded_ridge(monkeypatch):
    X, Y, bands = _banded_data(150)
    whole = RidgeEncoder(bands=bands, band_weights=12).fit(X, Y)
    assert len(np.unique(whole.band_weights_, axis=0)) > 1
    alone = RidgeEncoder(bands=bands, band_weights=12).fit(X, Y[:, 3])
    monkeypatch.setattr(_ridge, "_BLOCK_SIZE", 2 * max(X.shape))
    parts = RidgeEncoder(bands=bands, band_weights=12).fit(X, Y)
    np.testing.assert_array_equal(parts.band_weights_, whole.band_weights_)
    np.testing.assert_array_equal(alone.band_weights_[0], whole.band_weights_[3])
    for name in ("coef_", "intercept_", "cv_error_", "cv_predictions_"):
        values = getattr(whole, name)
        np.testing.assert_allclose(getattr(parts, name), values, rtol=1e-9, atol=1e-12)


def test_bands_find_the_features_that_matter():
    """Thirty features among three hundred: a penalty of their own predicts better."""
    rng = np.random.default_rng(0)
    bands = np.repeat(["signal", "noise"], [30, 270])
    X = rng.normal(size=(400, 300))
    Y = X[:, :30] @ rng.normal(size=(30, 8)) + 4 * rng.normal(size=(400, 8))
    fits = [RidgeEncoder(bands=b).fit(X[:150], Y[:150]) for b in (bands, None)]
    banded, plain = (np.mean((Y[150:] - f.predict(X[150:])) ** 2) for f in fits)
    assert banded < 0.85 * plain
    assert np.median(fits[0].band_weights_[:, 1]) > 0.9


def test_draws_depend_on_the_seed_alone():
    X, Y, bands = _banded_data(21)
    first, same, other = (
        RidgeEncoder(bands=bands, band_weights=5, random_state=seed).fit(X, Y)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.coef_, same.coef_)
    assert (first.band_weights_ != other.band_weights_).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bands": ["a"] * 20}, "bands has 20 entries, X has 21 features"),
        ({"bands": [None] * 21}, "bands has None in row 0"),
        ({"band_weights": 0}, "band_weights=0 must be a whole number of at least 1"),
        ({"band_weights": True}, "band_weights=True must be a whole number"),
        ({"band_weights": [[1, 2]]}, r"rows of 3 finite weights .* shape \(1, 2\)"),
        ({"band_weights": [[1, 2, -1]]}, "of at least 0"),
        ({"band_weights": [[1, 2, 1], [0, 0, 0]]}, "all weights of row 1 are 0"),
    ],
)
def test_bad_bands(options, message):
    X, Y, bands = _banded_data(21)
    with pytest.raises(ValueError, match=message):
        RidgeEncoder(**{"bands": bands, **options}).fit(X, Y)
