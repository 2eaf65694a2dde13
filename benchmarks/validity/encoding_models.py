"""Encoding models of few conditions, their posteriors, and p-values in folds."""

import warnings

import numpy as np

from benchmarks.validity.permutation_tests import LEVEL, LOCAL
from benchmarks.validity.registry import FEW, Row, check, chosen
from benchmarks.validity.series import series
from neuroextrap.encoding import EncodingIdentification, RidgeEncoder
from neuroextrap.stats import average_accuracy, win_distribution

FAMILY = "Encoding models"
FINGER, SPEED = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
N_REPEATS = 8
RIVALS = {
    "rule='diagonal'": {"rule": "diagonal"},
    "rule='correlation'": {"rule": "correlation"},
    "averaged rows": {"averaged": True},
    "noise within conditions": {"within": True},
}


def smooth(rng, n_rows, factor):
    """Draw patterns that are smooth over voxels."""
    return rng.normal(size=(n_rows, len(factor))) @ factor.T


def fingers(rng, n_voxels, size=1.0):
    """Draw presses of five fingers at four speeds: features, responses, conditions."""
    place = 8 * rng.uniform(size=(n_voxels, 3))
    distance = np.square(place[:, None] - place).sum(axis=2)
    factor = np.linalg.cholesky(np.exp(-distance / 4.5) + 1e-3 * np.eye(n_voxels))
    speed = SPEED - 1.5
    X = np.c_[np.eye(5)[FINGER], speed, np.eye(5)[FINGER] * speed[:, None]]
    pattern = 0.5 * smooth(rng, 5, factor) + smooth(rng, 1, factor)
    mean = pattern[FINGER] * (1 + 0.25 * speed[:, None])
    mean += 0.5 * smooth(rng, 1, factor) * speed[:, None]
    mean += 0.25 * smooth(rng, 20, factor)  # of the condition alone
    shown = np.repeat(np.arange(20), N_REPEATS)
    noise = 0.3 * smooth(rng, 160, factor) + 0.35 * rng.normal(size=(160, n_voxels))
    noise += rng.normal(size=(160, 3)) @ smooth(rng, 3, factor)
    return X, mean[shown] + size * noise, shown


def embeddings(rng, n_stimuli, n_columns, n_voxels, signal):
    """Draw features whose spectrum falls like that of a network's layer; responses."""
    scale = np.arange(1, n_columns + 1) ** -0.5
    turn = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0]
    X = (rng.normal(size=(n_stimuli, n_columns)) * scale) @ turn
    mean = X @ rng.normal(size=(n_columns, n_voxels))
    place = 8 * rng.uniform(size=(n_voxels, 3))
    near = np.exp(-np.square(place[:, None] - place).sum(axis=2) / 4.5)
    factor = np.linalg.cholesky(0.5 * near + 0.5 * np.eye(n_voxels))
    noise = rng.normal(size=mean.shape) @ factor.T
    return X, np.sqrt(signal) * mean / mean.std() + np.sqrt(1 - signal) * noise


def plain_wins(X, Y, X_test, Y_test):
    """Return wins of a plain ridge regression and the Pearson correlation over voxels.

    One penalty for all voxels, by leaving out one stimulus.
    """
    (x, new), (y, tested) = _scaled(X, X_test), _scaled(Y, Y_test)
    u, d, v = np.linalg.svd(x, full_matrices=False)
    errors = {}
    for alpha in np.logspace(0, 7, 22):
        hat = u * (d**2 / (d**2 + alpha)) @ u.T + 1 / len(x)
        left_out = (y - hat @ y) / (1 - np.diag(hat))[:, np.newaxis]
        errors[np.square(left_out).mean()] = alpha
    predicted = new @ v.T * (d / (d**2 + errors[min(errors)])) @ u.T @ y
    margins = np.corrcoef(tested, predicted)[: len(tested), len(tested) :]
    return win_distribution(margins, np.arange(len(tested)))


def _scaled(train, test):
    """Scale columns by training means and standard deviations."""
    varies = np.ptp(train, axis=0) > 0
    mean, scale = train[:, varies].mean(axis=0), train[:, varies].std(axis=0)
    return (train[:, varies] - mean) / scale, (test[:, varies] - mean) / scale


@check(FAMILY, n_sets=60, quick=5, mistakes=6)
def stimuli_shown_once(rng, n_sets, *, mistake=False):
    """Accuracy among two lost by the default, of 54 stimuli shown once each.

    Against ten lines of numpy, and other rules; the standard error of one experiment
    is .05, and .03 may be lost. mistake: a penalty of its own for each voxel.
    """
    rivals = ("diagonal", "correlation")
    names = () if mistake else tuple(f"rule={rule!r}" for rule in rivals)
    lost = {name: [] for name in ("a plain ridge regression and correlation", *names)}
    encoder = RidgeEncoder(shared_samples=0) if mistake else None
    for _ in range(10 * n_sets if mistake else n_sets):
        X, Y = embeddings(rng, 81, 300, 400, 0.08)
        train, test = (X[:54], Y[:54]), (X[54:], Y[54:])
        found = [average_accuracy(plain_wins(*train, *test), [2])[0]]
        for rule in ("mahalanobis", *(() if mistake else rivals)):
            model = EncodingIdentification(encoder=encoder, rule=rule)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of few residuals
                model.fit(*train).identify(*test)
            found.append(model.region_scores_["pairwise_accuracy"][0])
        default = found.pop(1)
        for values, rival in zip(lost.values(), found, strict=True):
            values.append(rival - default)
    for name, values in lost.items():
        design = f"81 stimuli x 1, 400 voxels, 300 features, against {name}"
        yield Row("accuracy lost by the default", design, values, nominal=0.03)


def finger_accuracy(data, left_out, *, averaged=False, within=False, **options):
    """Train on three speeds; return the accuracy among the fingers at another."""
    X, Y, shown = data
    old, new = SPEED[shown] != left_out, np.flatnonzero(left_out == SPEED)
    train, responses = shown[old], Y[old]
    means = np.array([responses[train == c].mean(axis=0) for c in np.unique(train)])
    if within:
        rest = responses - means[np.searchsorted(np.unique(train), train)]
        options["noise_covariance"] = rest
    if averaged:
        train, responses = np.unique(train), means
    model = EncodingIdentification(encoder=RidgeEncoder(), repeats="keep", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of few residuals
        model.fit(X, responses, stimuli=train)
        model.identify(X[new], Y[~old], stimuli=np.searchsorted(new, shown[~old]))
    return model.region_scores_["accuracy"][0]


@check(FAMILY, n_sets=40, quick=5, mistakes=3)
def few_conditions(rng, n_sets, *, mistake=False):
    """Accuracy that the default loses; mistake: voxels taken to be independent.

    It is not to be below that of any rival by more than .03, less than half of the
    standard error of one experiment (40 responses, about two thirds right: .07).
    """
    for n_voxels in (60,) if mistake else (15, 60, 200, 400):
        names = ("noise within conditions",) if mistake else tuple(RIVALS)
        lost = {name: [] for name in names}
        options = RIVALS["rule='diagonal'"] if mistake else {}
        for _ in range(n_sets * 4 if mistake else n_sets):
            data, speed = fingers(rng, n_voxels), rng.integers(4)
            default = finger_accuracy(data, speed, **options)
            for name in names:
                rival = finger_accuracy(data, speed, **RIVALS[name])
                lost[name].append(rival - default)
        for name, values in lost.items():
            design = f"15 conditions x 8, {n_voxels} voxels, against {name}"
            yield Row("accuracy lost by the default", design, values, nominal=0.03)


DESIGNS = [  # training stimuli, their repeats, repeats of test stimuli, both as rows
    (300, 6, 6, True, True),
    (300, 6, 6, True, False),
    (300, 6, 6, False, True),
    (300, 6, 6, False, False),
    (100, 5, 6, True, True),
    (30, 1, 1, True, True),
    (200, 1, 1, True, True, 300),  # as many features
]


@check(FAMILY, n_sets=60, quick=5, mistakes=6)
def posteriors(rng, n_sets, *, mistake=False):
    """Mean largest posterior above accuracy; mistake: margins as they are."""
    few = [design for design in DESIGNS if design[0] <= 60]
    designs = few if mistake else chosen(DESIGNS, n_sets)
    for n_train, n_shown, n_tested, trained_rows, tested_rows, *wide in designs:
        n_columns = wide[0] if wide else 5
        n_voxels = 60 if wide or n_train < 60 else 12
        above = []
        for _ in range(n_sets):
            X = rng.normal(size=(n_train + 60, n_columns))
            W = rng.normal(size=(n_columns, n_voxels)) * np.sqrt(5 / n_columns)
            A, B = rng.normal(size=(2, n_voxels, n_voxels)) / np.sqrt(n_voxels)
            if n_train < n_voxels:  # noise that a few patterns dominate
                A, B = (
                    0 * A,
                    B * np.sqrt(n_voxels / np.arange(1, n_voxels + 1))[:, None],
                )
            mean = X @ W + 1.5 * rng.normal(size=(len(X), n_voxels)) @ A
            noise = 2.5 * rng.normal(size=(len(X), n_shown, n_voxels)) @ B
            Y, stimuli = mean[:, None] + noise, np.repeat(np.arange(len(X)), n_shown)
            old = stimuli < n_train
            diagonal = {} if n_train > 60 else {"rule": "diagonal"}
            model = EncodingIdentification(encoder=RidgeEncoder(), **diagonal)
            if trained_rows:
                model.fit(X, Y.reshape(-1, n_voxels)[old], stimuli=stimuli[old])
            else:
                model.fit(X[:n_train], Y[:n_train].mean(axis=1))
            if tested_rows:
                rows, shown = Y.reshape(-1, n_voxels)[~old], stimuli[~old] - n_train
                model.identify(X[n_train:], rows, stimuli=shown)
            else:
                said = n_shown if trained_rows else 1
                means = Y[n_train:].mean(axis=1)
                model.identify(X[n_train:], means, averaged=said)
            found = model.posterior(0)
            if mistake:
                margins = model.region_margins(0).astype(float)
                found = np.exp(margins - margins.max(axis=1, keepdims=True))
                found /= found.sum(axis=1, keepdims=True)
            right = found.argmax(axis=1) == model.test_codes_
            above.append(found.max(axis=1).mean() - right.mean())
        words = {True: "rows", False: "averages"}
        design = (
            f"{n_train} training stimuli x {n_shown} as {words[trained_rows]}, test x "
            f"{n_tested} as {words[tested_rows]}, {n_columns} features, {n_voxels} "
            "voxels"
        )
        yield Row("mean largest posterior above accuracy", design, above)
        if not mistake:
            below = -np.array(above)
            yield Row("accuracy above mean largest posterior", design, below)


@check(FAMILY, n_sets=200, quick=8, mistakes=24)
def stimuli_in_several_runs(rng, n_sets, *, mistake=False):
    """Test stimuli shown in runs of their half; mistake: exchanged between halves.

    Responses have the offset of their run and no relation to features, which differ
    between the halves.
    """
    half = np.repeat([0, 1], 8)
    shown = np.repeat(np.arange(16), 3)
    runs = np.tile([0, 1, 2], 16) + 3 * half[shown]
    for repeats in ("average",) if mistake else ("average", "keep"):
        local = []
        for _ in range(n_sets):
            # whatever is learned, the offsets of runs may agree with it or not
            X, W = rng.normal(size=(46, 4)), rng.normal(size=(4, 5))
            X[30:] += 3 * (half - 0.5)[:, None]
            model = EncodingIdentification(
                encoder=RidgeEncoder(alphas=[1.0], cv=3),
                repeats=repeats,
                n_permutations=39,
                statistic="pairwise_accuracy",
                random_state=rng,
            )
            model.fit(X[:30], X[:30] @ W + rng.normal(size=(30, 5)))
            offsets = rng.normal(size=(6, 5)) + (np.arange(6) >= 3)[:, None] * W.sum(0)
            Y = offsets[runs] + 2 * rng.normal(size=(48, 5))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                groups = None if mistake else runs
                model.identify(X[30:], Y, groups, stimuli=shown)
            local.append(float(model.region_scores_["p_value"][0] <= LEVEL))
        design = f"16 stimuli, each in three of six runs, repeats {repeats}"
        yield Row(LOCAL, design, local)


@check(FAMILY, n_sets=60, quick=5, mistakes=3)
def folds_of_stimuli(rng, n_sets, *, mistake=False):
    """Features without relation to responses; mistake: a film in free exchange."""
    n_stimuli, correlation = (60, 0.95) if mistake else (20, 0.0)
    few = mistake or n_sets < FEW
    rules = ("mahalanobis",) if few else ("mahalanobis", "auto")
    for rule in rules:
        local = []
        for _ in range(2 * n_sets if mistake else n_sets):
            X, Y = (series(rng, n_stimuli, correlation, n) for n in (8, 4))
            model = EncodingIdentification(
                encoder=RidgeEncoder(alphas=[1.0, 100.0], cv=3),
                cv=3,
                rule=rule,
                n_permutations=19,
                statistic="pairwise_accuracy",
                random_state=rng,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of wrong signs
                model.identify_folds(X, Y, groups=np.zeros(n_stimuli), n_folds=4)
            local.append(float(model.region_scores_["p_value"][0] <= LEVEL))
        yield Row(LOCAL, f"{n_stimuli} stimuli in 4 folds, rule {rule}", local)
