"""The straight line in logits, and the default: a mean of opinions on that scale."""

from copy import copy

import numpy as np
import pytest
from scipy import special

from neuroextrap.stats import average_accuracy, win_distribution
from tests.stats.seam import (
    AccuracyExtrapolator,
    Auto,
    Gaussian,
    GaussianMixture,
    Logistic,
    Tail,
    WinSample,
    _auto,
)


def nearest_center(n_classes, noise, seed, n_repeats=1, n_dims=6):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_classes, n_dims))
    y = np.repeat(np.arange(n_classes), n_repeats)
    tests = centers[y] + noise * rng.normal(size=(len(y), n_dims))
    return -np.linalg.norm(tests[:, None] - centers, axis=2), y


def wins_of_curve(curve):
    """Win distribution of a curve A_2..A_K (A_1 is one): its differences of order K.

    A_k = sum_v w_v C(v, k - 1) / C(K - 1, k - 1), solved exactly for few classes.
    """
    n_classes = len(curve)
    v = np.arange(n_classes)
    design = special.comb(v, v[:, None]) / special.comb(n_classes - 1, v[:, None])
    return np.linalg.solve(design, curve)


@pytest.mark.parametrize("start", [0.1, 0.25, 0.5])
@pytest.mark.parametrize(("level", "slope"), [(2.0, -1.0), (3.0, -1.0), (2.0, -0.8)])
def test_logistic_is_exact_where_the_curve_is(start, level, slope):
    k = np.arange(2, 13)
    curve = np.r_[1.0, special.expit(level + slope * np.log(k - 1))]
    wins = wins_of_curve(curve)
    assert wins.min() > -1e-9
    wins = np.maximum(wins, 0) / np.maximum(wins, 0).sum()
    model = AccuracyExtrapolator("logistic", start=start).fit_wins(wins, 10**6)
    sizes = np.array([2, 5, 12, 30, 1e4])
    expected = special.expit(level + slope * np.log(sizes - 1))
    np.testing.assert_allclose(model.predict(sizes), expected, rtol=1e-5)


def test_logistic_is_the_least_squares_line_of_numpy():
    margins, y = nearest_center(40, 0.6, 0)
    model = AccuracyExtrapolator("logistic").fit(margins, y)
    k = np.arange(10, 41)
    curve = average_accuracy(win_distribution(margins, y), k)
    slope, level = np.polyfit(np.log(k - 1), special.logit(curve), 1)
    expected = special.expit(level + slope * np.log(399))
    np.testing.assert_allclose(model.predict(400), expected, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict(3), average_accuracy(win_distribution(margins, y), 3)
    )


def test_logistic_is_exact_at_chance_from_two_classes_on():
    for n_classes in (2, 3, 50):
        wins = np.full(n_classes, 1 / n_classes)
        model = AccuracyExtrapolator("logistic").fit_wins(wins, 10**6)
        np.testing.assert_allclose(model.predict([2, 100]), [0.5, 0.01], rtol=1e-6)


def test_logistic_never_rises_where_the_curve_is_perfect():
    model = AccuracyExtrapolator("logistic").fit_wins(np.eye(30)[-1], 300)
    predicted = model.predict([30, 300, 3e6])
    assert predicted[0] <= 1
    np.testing.assert_allclose(predicted[1:], 1 - 0.5 / 300)


def test_logistic_options_out_of_range():
    with pytest.raises(ValueError, match=r"start must lie strictly between 0 and 1"):
        AccuracyExtrapolator("logistic", start=1.0)


@pytest.mark.parametrize("kind", ["scores", "calibrated", "ties", "wins"])
def test_auto_is_the_mean_of_its_opinions_on_the_logit_scale(kind):
    """By hand, from the methods by name, at 2 K and beyond."""
    n_classes = 120 if kind == "calibrated" else 80
    margins, y = nearest_center(n_classes, 0.6, 1)
    if kind == "calibrated":  # levels a hair apart: scores without a smooth tail
        hair = 1e-6 * np.random.default_rng(0).normal(size=margins.shape)
        margins = np.round(1.5 * margins) + hair
    margins = np.round(2 * margins) if kind == "ties" else margins
    sample = WinSample.from_margins(margins, y)
    if kind == "wins":
        sample = WinSample(sample.wins, sample.n_test)
    sizes = n_classes * np.array([2.0, 10.0, 100.0])

    def logit(method):
        accuracy = method.fit(sample).accuracy(sizes)
        return special.logit(np.clip(accuracy, 0.5 / sizes, 1 - 0.5 / len(y)))

    gaussian = (logit(Gaussian()) + logit(GaussianMixture(loss="likelihood"))) / 2
    others = [logit(Logistic())]
    if kind in ("scores", "calibrated"):
        plain = Tail(calibrate=False).fit(sample).accuracy([n_classes])[0]
        observed = sample.wins[-1]
        misses = abs(plain - observed) > 2 * np.sqrt(
            observed * (1 - observed) / n_classes
        )
        assert misses == (kind == "calibrated")
        others.append(logit(Tail(calibrate=misses)))
    weight = n_classes / (n_classes + 10) / (len(others) + 1)
    weights = [np.full(3, weight), weight * np.array([1, 1, 10**-0.5])][: len(others)]
    mean = (1 - np.sum(weights, axis=0)) * gaussian
    mean += sum(w * logits for w, logits in zip(weights, others, strict=True))
    model = AccuracyExtrapolator()
    if kind == "wins":
        model.fit_wins(sample.wins, len(y))
    else:
        model.fit(margins, y)
    np.testing.assert_allclose(model.predict(sizes), special.expit(mean), rtol=1e-10)
    assert isinstance(model.method_, Auto)
    assert model.certificate_["converged"]
    direct = Auto().fit(sample)
    np.testing.assert_allclose(direct.accuracy(sizes), special.expit(mean), rtol=1e-10)


def test_auto_continues_the_measured_curve():
    """Measured up to K; what is missed there fades with log k until 2 K."""
    margins, y = nearest_center(100, 0.5, 13, n_dims=3)
    model = AccuracyExtrapolator().fit(margins, y)
    wins, mean = win_distribution(margins, y), model.method_._mean
    sizes = np.array([2, 7, 50, 99, 100])
    expected = average_accuracy(wins, sizes)
    np.testing.assert_allclose(model.predict(sizes), expected, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict(7.25), expected[1] + (average_accuracy(wins, 8) - expected[1]) / 4
    )
    missed = wins[-1] - mean(np.array([100.0]))[0]
    assert abs(missed) > 1e-4
    between = 100 * np.sqrt([1.0, 2.0, 4.0, 9.0])
    bridged = mean(between) + missed * np.array([1.0, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(model.predict(between), bridged, rtol=1e-12)
    assert (np.diff(model.predict(np.arange(2.0, 400.0, 0.5))) <= 0).all()


def test_auto_is_projected_as_every_method_is():
    """Running minima from two classes on; the measured curve never rises by itself."""
    margins, y = nearest_center(30, 0.5, 3)
    method = AccuracyExtrapolator().fit(margins, y).method_
    every = copy(method)
    every.monotone_to = 2
    for sizes in ([2.0, 7.5, 30, 31, 45.5, 300, 4000], [30.0], [29.0, 2.5], [900.0]):
        expected = every.projected_accuracy(np.array(sizes))
        found = method.projected_accuracy(np.array(sizes))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
def test_auto_works_from_two_classes_on(n_classes):
    margins, y = nearest_center(n_classes, 0.8, 2, n_repeats=5)
    for model in (
        AccuracyExtrapolator().fit(margins, y),
        AccuracyExtrapolator().fit_wins(win_distribution(margins, y), len(y)),
    ):
        predicted = model.predict([2, n_classes, 10 * n_classes, 1e6])
        assert np.isfinite(predicted).all()
        assert (np.diff(predicted) <= 0).all()


def test_auto_leaves_the_likelihood_out_where_there_are_too_many_classes(monkeypatch):
    sample = WinSample.from_margins(*nearest_center(60, 0.5, 1))
    assert Auto().fit(sample).members[1].loss == "likelihood"
    monkeypatch.setattr(_auto, "_LARGEST_LIKELIHOOD", 59)
    assert Auto().fit(sample).members[1].loss == "curve"
