"""Intervals of accuracy, set size and information beyond the classes of the data."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import special, stats

from neuroextrap.stats import (
    average_accuracy_jackknife,
    implied_information,
    win_distribution,
)
from tests.stats.seam import (
    EXTRAPOLATION_METHODS,
    AccuracyExtrapolator,
    WinSample,
    measured_logit_error,
)


def nearest_center(n_classes, noise, seed, n_repeats=1):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_classes, 6))
    y = np.repeat(np.arange(n_classes), n_repeats)
    tests = centers[y] + noise * rng.normal(size=(len(y), 6))
    return -np.linalg.norm(tests[:, None] - centers, axis=2), y


def fitted(kind, n_classes=40, noise=0.6, seed=0, n_repeats=1):
    margins, y = nearest_center(n_classes, noise, seed, n_repeats)
    if kind == "ties":
        margins = np.round(2 * margins)
    if kind == "wins":
        return AccuracyExtrapolator().fit_wins(win_distribution(margins, y), len(y))
    return AccuracyExtrapolator().fit(margins, y)


@pytest.mark.parametrize("kind", ["scores", "ties", "wins"])
def test_intervals_hold_the_prediction_and_grow_with_the_level(kind):
    model = fitted(kind)
    sizes = np.r_[2, 5.5, 39.5, np.unique(np.geomspace(40, 400, 40))]
    predicted, ends = model.predict(sizes), []
    for level in (0.5, 0.9, 0.99):
        lower, upper = model.predict_interval(sizes, level)
        assert ((lower >= 0) & (lower <= predicted)).all()
        assert ((upper <= 1) & (upper >= predicted)).all()
        assert (np.diff(lower[3:]) <= 0).all()
        assert (np.diff(upper[3:]) <= 0).all()
        ends.append((lower, upper))
    for (low, high), (lower, higher) in pairwise(ends):
        assert (lower < low).all()
        assert (higher > high).all()


@pytest.mark.parametrize("kind", ["scores", "wins"])
def test_the_interval_is_the_one_of_its_formula(kind):
    """Factors .55, .3 and .004; five degrees of freedom; by hand at 2 K and 10 K."""
    model = fitted(kind)
    sizes = np.array([80.0, 400.0])
    logits = model.method_.logits(np.r_[40.0, sizes])
    growth = logits[:, 1:] - logits[:, :1]
    accuracy = model.sample_.wins[-1]
    error = np.sqrt(accuracy * (1 - accuracy) / 40)
    if kind == "scores":
        error = average_accuracy_jackknife(
            model.sample_.margins, model.sample_.y_true, 40
        )[1]
    variance = 0.55 * (error / (accuracy * (1 - accuracy))) ** 2
    variance = variance + 0.3 * growth.var(axis=0, ddof=1)
    variance = variance + 0.004 * np.log(sizes / 40) ** 2
    half = stats.t.ppf(0.95, 5) * np.sqrt(variance)
    center = special.logit(model.predict(sizes))
    lower, upper = model.predict_interval(sizes)
    np.testing.assert_allclose(lower, special.expit(center - half), rtol=1e-9)
    np.testing.assert_allclose(upper, special.expit(center + half), rtol=1e-9)


def test_without_scores_wins_have_their_binomial_error_and_one_vote_per_class():
    wins = np.array([0.1, 0.2, 0.3, 0.4])
    once, often = (WinSample(wins, n) for n in (4, 80))
    expected = np.sqrt(0.4 * 0.6 / 4) / (0.4 * 0.6)
    for sample in (once, often):
        np.testing.assert_allclose(
            measured_logit_error(sample, np.array([4])), expected
        )
    pairwise = wins @ (np.arange(4) / 3)
    spread = np.sqrt(wins @ (np.arange(4) / 3 - pairwise) ** 2 / 4)
    np.testing.assert_allclose(
        measured_logit_error(once, np.array([2])),
        spread / (pairwise * (1 - pairwise)),
    )


@pytest.mark.filterwarnings("ignore:the true class beats:UserWarning")
@pytest.mark.parametrize("n_repeats", [1, 5])
@pytest.mark.parametrize("kind", ["scores", "wins"])
def test_perfect_and_hopeless_samples_have_an_interval(kind, n_repeats):
    y = np.repeat(np.arange(20), n_repeats)
    margins = np.random.default_rng(0).normal(size=(len(y), 20))
    for sign in (1, -1):
        scores = margins.copy()
        scores[np.arange(len(y)), y] = 30 * sign
        model = AccuracyExtrapolator()
        if kind == "scores":
            model.fit(scores, y)
            assert (model.standard_error([20, 200]) > 0).all()
        else:
            model.fit_wins(win_distribution(scores, y), len(y))
        lower, upper = model.predict_interval([2, 20, 40, 200])
        assert (upper - lower > 1e-4).all()
        assert (lower[0], upper[0])[sign > 0] == (sign > 0)
        assert ((lower >= 0) & (upper <= 1)).all()


def test_a_classifier_at_chance_has_chance_inside():
    margins, y = np.random.default_rng(5).normal(size=(60, 60)), np.arange(60)
    sizes = np.array([2, 60, 120, 600])
    lower, upper = AccuracyExtrapolator().fit(margins, y).predict_interval(sizes)
    assert ((lower < 1 / sizes) & (upper > 1 / sizes)).all()


def test_more_classes_make_it_narrower():
    widths = []
    for n_classes in (10, 40, 160):
        sizes = np.array([4 * n_classes])
        lower, upper = fitted("scores", n_classes, 0.7).predict_interval(sizes)
        widths.append(np.diff(special.logit(np.r_[lower, upper]))[0])
    assert widths[0] > widths[1] > widths[2]


@pytest.mark.parametrize("kind", ["scores", "wins"])
def test_the_set_size_interval_is_where_the_ends_cross(kind):
    model = fitted(kind)
    goal = float(model.predict(60))
    lower, upper = model.set_size_interval(goal)
    assert lower < 60 < upper < 400
    np.testing.assert_allclose(model.predict_interval(upper)[1], goal, rtol=1e-6)
    below = average_accuracy_end(model, lower)
    assert below[0] >= goal >= below[1]
    inner = model.set_size_interval(goal, 0.5)
    assert lower < inner[0] < inner[1] < upper


def average_accuracy_end(model, size):
    """Lower end just below and just above a set size: it is stepped below K."""
    return model.predict_interval([np.floor(size), np.ceil(size)])[0]


def test_the_information_interval_is_implied_by_the_ends():
    model = fitted("scores")
    lower, upper = model.predict_interval([40, 200])
    found = model.information_interval([40, 200])
    for end, bits in zip((lower, upper), found, strict=True):
        expected = [
            implied_information(a, k) for a, k in zip(end, (40, 200), strict=True)
        ]
        np.testing.assert_allclose(bits, expected)
    nats = model.information_interval([40, 200], base=np.e)
    np.testing.assert_allclose(nats, np.array(found) * np.log(2))
    assert model.information_interval(80)[0].shape == ()


def test_beyond_what_was_calibrated_it_warns():
    model = fitted("scores")
    model.predict_interval([2, 400])
    with pytest.warns(UserWarning, match="calibrated up to 400 classes"):
        model.predict_interval(401)
    with pytest.warns(UserWarning, match="calibrated up to 400 classes"):
        model.information_interval(401)
    with pytest.warns(UserWarning, match="calibrated up to 400 classes"):
        assert model.set_size_interval(1e-5)[1] > 400
    few = fitted("scores", 5, n_repeats=3)
    with pytest.warns(UserWarning, match="calibrated for 8 classes or more, got 5"):
        few.predict_interval(10)


def test_three_classes_and_two_have_an_interval():
    for n_classes in (2, 3):
        model = fitted("scores", n_classes, 0.9, n_repeats=4)
        with pytest.warns(UserWarning, match="8 classes or more"):
            lower, upper = model.predict_interval([2, 10])
        assert (lower < upper).all()


def test_scalars_in_scalars_out():
    lower, upper = fitted("scores").predict_interval(100)
    assert lower.shape == upper.shape == ()


def test_arguments_out_of_range():
    model = AccuracyExtrapolator()
    with pytest.raises(ValueError, match="nothing was fitted yet"):
        model.predict_interval(10)
    model = fitted("scores")
    with pytest.raises(ValueError, match="confidence_level must lie strictly"):
        model.predict_interval(10, 1.0)
    with pytest.raises(ValueError, match="set_sizes"):
        model.predict_interval(1)
    with pytest.raises(ValueError, match="accuracy must lie strictly"):
        model.set_size_interval(0)
    with pytest.raises(ValueError, match="base must be"):
        model.information_interval(10, base=1)


@pytest.mark.parametrize("name", sorted(set(EXTRAPOLATION_METHODS) - {"auto"}))
def test_other_methods_have_no_calibrated_interval(name):
    model = AccuracyExtrapolator(name).fit(*nearest_center(20, 0.6, 0))
    with pytest.raises(ValueError, match="no calibrated interval; use method='auto'"):
        model.predict_interval(40)
