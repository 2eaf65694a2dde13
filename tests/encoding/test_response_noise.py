"""Misfit and noise told apart by the repeats of training stimuli."""

import numpy as np
import pytest
from scipy.special import polygamma, softmax
from scipy.stats import gmean
from sklearn.covariance import OAS

from neuroextrap.encoding import EncodingIdentification, RidgeEncoder
from tests.encoding.seam import (
    COVARIANCES,
    deal_folds,
    mahalanobis_margins,
    paired_in_blocks,
    response_covariance,
    separate_repeats,
    temperature,
)


def factorial(n_levels=4, n_values=5, n_repeats=8, n_voxels=28, seed=0):
    """Conditions of two factors, listed level by level: features, responses, rows."""
    rng = np.random.default_rng(seed)
    value = np.tile(np.arange(n_values), n_levels)
    level = np.repeat(np.arange(n_levels), n_values)
    gain = np.log(2.0) * level
    X = np.column_stack([np.eye(n_values)[value], gain])
    pattern = rng.normal(size=(n_values, n_voxels))
    signal = (1 + 0.5 * gain[:, None]) * (
        pattern[value] + 2 * rng.normal(size=n_voxels)
    )
    signal += 0.7 * rng.normal(size=signal.shape)  # of the condition alone
    rows = np.repeat(np.arange(len(X)), n_repeats)
    Y = signal[rows] + 2 * rng.normal(size=(len(rows), n_voxels))
    return X, Y, rows, level


def accuracy_of_new_level(order, n_repeats=8, seed=0, **options):
    """Train without the last level, on conditions listed in some order."""
    X, Y, rows, level = factorial(n_repeats=n_repeats, seed=seed)
    new = np.flatnonzero(level == level.max())
    old = np.concatenate([np.flatnonzero(rows == c) for c in order if c not in new])
    model = EncodingIdentification(encoder=RidgeEncoder(), repeats="keep", **options)
    model.fit(X[rows[old]], Y[old])
    tested = np.isin(rows, new)
    model.identify(X[new], Y[tested], stimuli=np.searchsorted(new, rows[tested]))
    return model.region_scores_["accuracy"][0]


@pytest.mark.parametrize("n_repeats", [8, 1])
def test_accuracy_does_not_hinge_on_the_order_of_conditions(n_repeats):
    """Folds that leave out one value each would hide what the values differ in."""
    by_level = np.arange(20)
    orders = {
        "by level": by_level,
        "by value": by_level.reshape(4, 5).T.ravel(),
        "at random": np.random.default_rng(1).permutation(20),
    }
    found = {
        name: np.mean([accuracy_of_new_level(o, n_repeats, seed) for seed in range(4)])
        for name, o in orders.items()
    }
    diagonal = np.mean(
        [
            accuracy_of_new_level(by_level, n_repeats, seed, rule="diagonal")
            for seed in range(4)
        ]
    )
    # four simulations of 5 * n_repeats responses
    error = np.sqrt(diagonal * (1 - diagonal) / (4 * 5 * n_repeats))
    for accuracy in found.values():
        assert accuracy >= diagonal - 3 * error


def test_contiguous_folds_of_the_user_stay():
    """Who gives folds in order gets them: they hide what the values differ in."""
    from sklearn.model_selection import GroupKFold

    X, Y, rows, level = factorial()
    old = level[rows] < 3
    given = {"y": Y[old], "groups": rows[old]}
    with pytest.warns(UserWarning, match="leaves out a whole level of a feature"):
        dealt = RidgeEncoder(cv=GroupKFold(5)).fit(X[rows[old]], **given)
    drawn = RidgeEncoder(cv=5).fit(X[rows[old]], **given)
    misfit = [np.mean((Y[old] - e.cv_predictions_) ** 2) for e in (dealt, drawn)]
    assert misfit[0] > 1.1 * misfit[1]


def test_separated_repeats_are_an_orthogonal_transform():
    rng = np.random.default_rng(0)
    stimuli = rng.permutation(np.repeat([3, 5, 9, 11], [1, 2, 7, 12]))
    E = rng.normal(size=(22, 3))
    rows, n_stimuli = separate_repeats(E, stimuli)
    transform, _ = separate_repeats(np.eye(22), stimuli)
    assert n_stimuli == 4
    np.testing.assert_allclose(transform @ transform.T, np.eye(22), atol=1e-12)
    np.testing.assert_allclose(transform @ E, rows, atol=1e-12)
    for row, name in zip(rows, [3, 5, 9, 11], strict=False):
        of = E[stimuli == name]
        np.testing.assert_allclose(row, np.sqrt(len(of)) * of.mean(axis=0))
    deviations = np.concatenate(
        [E[stimuli == s] - E[stimuli == s].mean(axis=0) for s in (3, 5, 9, 11)]
    )
    within = rows[4:].T @ rows[4:]
    np.testing.assert_allclose(within, deviations.T @ deviations, atol=1e-12)


def test_without_repeats_residuals_stay_as_they_are():
    E = np.random.default_rng(0).normal(size=(30, 3))
    for stimuli in (None, np.arange(30), np.arange(30) % 21):
        rows, n_stimuli = separate_repeats(E, stimuli)
        assert rows is E
        assert n_stimuli == 30
    for method in COVARIANCES:
        found = response_covariance(E, 30, 4, method)
        np.testing.assert_array_equal(found, COVARIANCES[method](E))


@pytest.mark.parametrize("repeats", [1, 3, 5, 20])
def test_covariance_of_an_average_is_misfit_and_its_share_of_the_noise(repeats):
    """Known misfit and noise, many stimuli of five repeats."""
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(2, 4, 4))
    misfit = rng.normal(size=(30_000, 4)) @ A
    stimuli = np.repeat(np.arange(30_000), 5)
    E = misfit[stimuli] + rng.normal(size=(len(stimuli), 4)) @ B
    rows, n_stimuli = separate_repeats(E, stimuli)
    found = response_covariance(rows, n_stimuli, repeats)
    expected = A.T @ A + B.T @ B / repeats
    np.testing.assert_allclose(found, expected, atol=0.03 * np.abs(expected).max())


@pytest.mark.parametrize("method", COVARIANCES)
def test_misfit_is_never_negative(method):
    """Noise alone: the covariance of an average of many is still positive definite."""
    rng = np.random.default_rng(3)
    rows, n_stimuli = separate_repeats(rng.normal(size=(60, 8)), np.arange(60) % 20)
    noise = COVARIANCES[method](rows[n_stimuli:])
    for repeats in (1, 3, 4, 100):
        found = response_covariance(rows, n_stimuli, repeats, method)
        assert np.linalg.eigvalsh(found).min() > 0
        if repeats > 3 and method != "euclidean":
            rest = np.linalg.eigvalsh(found - noise / repeats)
            assert rest.min() > -1e-10


def test_copies_of_a_response_are_no_repeats():
    """Rows that were merely written twice have no noise between them."""
    E = np.random.default_rng(5).normal(size=(4000, 3)) @ [
        [2, 1, 0],
        [0, 1, 1],
        [0, 0, 3],
    ]
    stimuli = np.repeat(range(len(E)), 2)
    rows, n_stimuli = separate_repeats(np.repeat(E, 2, axis=0), stimuli)
    for repeats in (1, 2, 8):
        found = response_covariance(rows, n_stimuli, repeats)
        expected = COVARIANCES["mahalanobis"](E)
        np.testing.assert_allclose(found, expected, rtol=0.01, atol=0.01)


def stimuli_towards_noise(residuals, noise):
    """Shrunk by scikit-learn's OAS, in units of the noise with variances of their own.

    Logarithms of variances that a normal sample spreads are drawn to their mean.
    """
    n_rows, p = residuals.shape
    ratios = [np.mean(residuals[:, v] ** 2) / noise[v, v] for v in range(p)]
    spread, by_chance = np.var(np.log(ratios)), polygamma(1, n_rows / 2)
    excess = 0 if spread <= by_chance else 1 - by_chance / spread
    scale = np.diag(np.array(ratios / gmean(ratios)) ** (excess / 2))
    root = np.linalg.cholesky(scale @ noise @ scale)
    white = np.linalg.solve(root, residuals.T).T
    S = OAS(assume_centered=True).fit(white).covariance_
    S = (n_rows * S + p * np.mean(white**2) * np.eye(p)) / (n_rows + p)
    return root @ S @ root.T


def test_logarithms_of_variances_spread_as_said():
    values = np.random.default_rng(0).chisquare(7, size=100_000)
    assert np.var(np.log(values)) == pytest.approx(polygamma(1, 7 / 2), rel=0.02)


@pytest.mark.parametrize(("n_conditions", "n_voxels"), [(5, 20), (40, 6), (40, 1)])
@pytest.mark.parametrize("method", ["mahalanobis", "ledoit_wolf"])
def test_covariance_of_stimuli_is_shrunk_towards_that_of_noise(
    n_conditions, n_voxels, method
):
    rng = np.random.default_rng(8)
    A, B = rng.normal(size=(2, n_voxels, n_voxels))
    stimuli = np.repeat(np.arange(n_conditions), 4)
    A[0] *= 9  # variances of misfit differ
    E = rng.normal(size=(n_conditions, n_voxels))[stimuli] @ A
    E += rng.normal(size=E.shape) @ B
    rows, _ = separate_repeats(E, stimuli)
    noise = COVARIANCES[method](rows[n_conditions:])
    of_stimuli = stimuli_towards_noise(rows[:n_conditions], noise)
    for repeats in (1, 4):
        found = response_covariance(rows, n_conditions, repeats, method)
        expected = of_stimuli / 4 + (1 / repeats - 1 / 4) * noise
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    found = response_covariance(rows[:, ::-1], n_conditions, 9, method)
    again = response_covariance(rows, n_conditions, 9, method)[::-1, ::-1]
    np.testing.assert_allclose(found, again, rtol=1e-7)


def test_stimuli_are_told_apart_by_the_shape_of_noise_within_them():
    """Better than by misfit shrunk to its diagonal, or by the noise alone."""
    rng = np.random.default_rng(0)
    shown, true, gained = np.repeat(np.arange(40), 4), np.arange(100) % 10, []
    for _ in range(100):
        scale = (50 / np.arange(1, 51))[:, None] ** 0.7
        A, B = scale * rng.normal(size=(2, 50, 50))
        F, misfit = rng.normal(size=(10, 50)), rng.normal(size=(10, 50)) @ A
        E = rng.normal(size=(40, 50))[shown] @ A + rng.normal(size=(160, 50)) @ B
        Y = (6 * F + misfit)[true] + rng.normal(size=(100, 50)) @ B
        rows, _ = separate_repeats(E, shown)
        noise = COVARIANCES["mahalanobis"](rows[40:])
        diagonal = COVARIANCES["mahalanobis"](rows[:40]) / 4 + 3 / 4 * noise
        found = [
            mahalanobis_margins(Y, 6 * F, covariance).argmax(axis=1) == true
            for covariance in (response_covariance(rows, 40, 1), diagonal, noise)
        ]
        gained.append(found[0].mean() - np.mean(found[1:], axis=1))
    assert (np.mean(gained, axis=0) > [0.02, 0.05]).all()


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_a_voxel_without_noise_hides_no_other(noise):
    """One of 20 voxels differs between stimuli only: the others tell them apart."""
    rng = np.random.default_rng(0)
    shown, right = np.repeat(np.arange(20), 4), []
    for _ in range(20):
        F, size = rng.normal(size=(40, 20)), np.ones(20)
        size[0] = noise
        E = 0.3 * rng.normal(size=(20, 20))[shown] + size * rng.normal(size=(80, 20))
        Y = F + 0.3 * rng.normal(size=F.shape) + size * rng.normal(size=F.shape)
        rows, _ = separate_repeats(E, shown)
        for some in (slice(None), slice(1, None)):
            sigma = response_covariance(rows[:, some], 20, 1)
            margins = mahalanobis_margins(Y[:, some], F[:, some], sigma)
            right.append(np.mean(margins.argmax(axis=1) == np.arange(40)))
    assert np.mean(right[::2]) > np.mean(right[1::2]) > 0.8


def calibration(train, test, seeds=3, n_shown=6):
    """Accuracy and mean largest posterior where misfit and noise are Gaussian."""
    right, confidence = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, W = rng.normal(size=(400, 5)), rng.normal(size=(5, 12))
        A, B = rng.normal(size=(2, 12, 12)) / np.sqrt(12)
        mean = X @ W + 1.5 * rng.normal(size=(400, 12)) @ A
        Y = mean[:, None] + 2.5 * rng.normal(size=(400, n_shown, 12)) @ B
        stimuli = np.repeat(np.arange(400), n_shown)
        model = EncodingIdentification(encoder=RidgeEncoder())
        if train == "rows":
            old = stimuli < 300
            model.fit(X[stimuli[old]], Y.reshape(-1, 12)[old])
        else:
            model.fit(X[:300], Y[:300].mean(axis=1))
        if test == "rows":
            new = stimuli >= 300
            shown = stimuli[new] - 300
            model.identify(X[300:], Y.reshape(-1, 12)[new], stimuli=shown)
        else:
            shown = n_shown if train == "rows" else 1
            model.identify(X[300:], Y[300:].mean(axis=1), averaged=shown)
        posterior = model.posterior(0)
        right.append(posterior.argmax(axis=1) == np.arange(100))
        confidence.append(posterior.max(axis=1))
    return np.mean(right), np.mean(confidence)


@pytest.mark.parametrize(
    ("train", "test"),
    [(train, test) for train in ("rows", "averages") for test in ("rows", "averages")],
)
def test_posteriors_are_calibrated(train, test):
    accuracy, confidence = calibration(train, test)
    assert 0.5 < accuracy < 0.95
    assert confidence == pytest.approx(accuracy, abs=0.05)


def test_averages_are_averages_whoever_makes_them():
    """Rows averaged by the package, or before and said so: the same margins."""
    X, Y, rows, _ = factorial()
    old, new = rows < 15, np.arange(15, 20)
    model = EncodingIdentification(encoder=RidgeEncoder()).fit(X[rows[old]], Y[old])
    means = np.array([Y[rows == stimulus].mean(axis=0) for stimulus in new])
    model.identify(X[new], Y[~old], stimuli=rows[~old] - 15)
    margins = model.region_margins(0), model.posterior(0)
    model.identify(X[new], means, averaged=8)
    np.testing.assert_allclose(model.region_margins(0), margins[0], rtol=1e-5)
    np.testing.assert_allclose(model.posterior(0), margins[1], rtol=1e-4)
    with pytest.raises(ValueError, match="averaged"):
        model.identify(X[new], means, averaged=0)


@pytest.mark.parametrize(("n_residuals", "noise"), [(40, 2.0), (250, 1.5)])
def test_posteriors_are_calibrated_where_the_covariance_is_wrong(n_residuals, noise):
    """Correlated noise of 60 voxels, taken to be independent."""
    right, confidence, plain = [], [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, W = rng.normal(size=(n_residuals + 60, 4)), rng.normal(size=(4, 60))
        mixing = noise * rng.normal(size=(60, 60)) / np.arange(1, 61)[:, None] ** 0.5
        Y = X @ W + rng.normal(size=(len(X), 60)) @ mixing
        model = EncodingIdentification(encoder=RidgeEncoder(), rule="diagonal")
        model.fit(X[:n_residuals], Y[:n_residuals])
        model.identify(X[n_residuals:], Y[n_residuals:])
        found = model.posterior(0)
        right.append(found.argmax(axis=1) == np.arange(60))
        confidence.append(found.max(axis=1))
        plain.append(softmax(model.region_margins(0), axis=1).max(axis=1))
    assert 0.1 < np.mean(right) < 0.9
    assert np.mean(confidence) == pytest.approx(np.mean(right), abs=0.05)
    if n_residuals == 40:
        assert np.mean(plain) > np.mean(right) + 0.1


def test_temperature_is_that_of_known_scales():
    """Exact covariance: one; margins of other units are made right."""
    rng = np.random.default_rng(0)
    predictions, codes = rng.normal(size=(40, 5)), rng.integers(40, size=4000)
    Y = predictions[codes] + rng.normal(size=(4000, 5))
    margins = -0.5 * ((Y[:, None] - predictions) ** 2).sum(axis=-1)
    assert temperature(margins, codes, 5) == pytest.approx(1, abs=0.05)
    for unit in (1e-6, 1e4):
        expected = pytest.approx(unit, rel=0.05)
        assert temperature(unit * margins, codes, 5) == expected
    far = 1e8 * margins  # of candidates that are never confused
    far[np.arange(4000), codes] = margins[np.arange(4000), codes]
    assert temperature(far, codes, 5) == pytest.approx(1, rel=0.05)
    assert temperature(margins[:3], codes[:3], 5) == 1


def test_temperature_is_of_training_responses_identified_without_them():
    """Twin: encoder and covariance of nine tenths, made by public means."""
    rng = np.random.default_rng(6)
    X, W = rng.normal(size=(50, 6)), rng.normal(size=(6, 10))
    Y = X @ W + 3 * rng.normal(size=(50, 10))
    model = EncodingIdentification(encoder=RidgeEncoder()).fit(X[:30], Y[:30])
    model.identify(X[30:], Y[30:])
    margins = []
    for fold in deal_folds(30, 10, 0):
        rest = np.setdiff1d(np.arange(30), fold)
        part = EncodingIdentification(encoder=RidgeEncoder()).fit(X[rest], Y[rest])
        for stimulus in fold:  # and all but one of the candidates of the test
            among = np.r_[stimulus, np.arange(31, 50)]
            part.identify(X[among[:1]], Y[[stimulus]], distractors=X[among[1:]])
            margins.append(part.region_margins(0))
    learned = temperature(np.concatenate(margins), np.zeros(30, dtype=int), 10)
    expected = softmax(model.region_margins(0) / learned, axis=1)
    np.testing.assert_allclose(model.posterior(0), expected, rtol=1e-4)


def test_temperature_of_folds_is_of_the_other_folds():
    rng = np.random.default_rng(7)
    X, W = rng.normal(size=(60, 6)), rng.normal(size=(6, 10))
    Y = X @ W + 3 * rng.normal(size=(60, 10))
    model = EncodingIdentification(encoder=RidgeEncoder())
    model.identify_folds(X, Y, n_folds=3)
    margins, fold = model.region_margins(0), np.repeat(np.arange(3), 20)
    for number in range(3):
        others = fold != number
        learned = temperature(margins[others], model.test_codes_[others], 10)
        expected = softmax(margins[~others] / learned, axis=1)
        np.testing.assert_allclose(model.posterior(0)[~others], expected, rtol=1e-4)


def test_training_responses_are_averaged_as_test_responses_are():
    """Blocks of as many repeats; what is left over of a stimulus is not used."""
    Y = np.arange(9.0)[:, None]
    codes = np.array([1, 0, 1, 1, 0, 1, 1, 2, 1])
    paired = paired_in_blocks(Y, codes, 2)
    found = sorted(
        zip(paired.codes, paired.responses[:, 0], paired.repeats, strict=True)
    )
    assert found == [(0, 2.5, 2), (1, 1.0, 2), (1, 4.0, 2), (1, 7.0, 2), (2, 7.0, 1)]


def test_unequal_repeats_have_each_their_covariance():
    rng = np.random.default_rng(4)
    X, W = rng.normal(size=(50, 3)), rng.normal(size=(3, 6))
    rows = np.repeat(np.arange(40), 3)
    Y = (X @ W + rng.normal(size=(50, 6)))[rows] + rng.normal(size=(120, 6))
    model = EncodingIdentification(encoder=RidgeEncoder()).fit(X[rows], Y)
    shown = np.repeat(np.arange(10), [1, 1, 2, 2, 3, 3, 3, 9, 9, 1])
    new = (X @ W)[40:][shown] + rng.normal(size=(len(shown), 6))
    model.identify(X[40:], new, stimuli=shown)
    residuals, n_stimuli = separate_repeats(model.residuals_, rows)
    for stimulus, row in enumerate(model.region_margins(0)):
        sigma = response_covariance(residuals, n_stimuli, np.sum(shown == stimulus))
        difference = new[shown == stimulus].mean(axis=0) - model.predictions_
        expected = -0.5 * np.sum(difference.T * np.linalg.solve(sigma, difference.T), 0)
        np.testing.assert_allclose(row, expected, rtol=1e-3)
    assert not any("averages of repeats" in note for note in model.notes_)


@pytest.mark.parametrize("repeats", ["average", "keep"])
@pytest.mark.parametrize("n_averaged", [1, 4])
def test_single_responses_beside_averages_in_training_are_told(n_averaged, repeats):
    """Their posteriors are too certain: of .21 that are right, .62 are claimed."""
    rng = np.random.default_rng(3)
    X, W = rng.normal(size=(120, 6)), rng.normal(size=(6, 20))
    noise = 6 * rng.normal(size=(120, 4, 20))
    Y = (X @ W)[:, np.newaxis] + noise
    model = EncodingIdentification(encoder=RidgeEncoder(), repeats=repeats)
    model.fit(X[:80], Y[:80, :n_averaged].mean(axis=1))
    shown = np.repeat(np.arange(40), 4)
    model.identify(X[80:], Y[80:].reshape(160, 20), stimuli=shown)
    told = any("too certain" in note for note in model.notes_)
    assert told == (repeats == "keep" and n_averaged == 4)
    if repeats == "keep":
        posterior = model.posterior(0)
        right = np.mean(posterior.argmax(axis=1) == shown)
        assert (posterior.max(axis=1).mean() - right > 0.1) == told
