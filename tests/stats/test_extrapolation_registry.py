"""What every extrapolation method must do, asked of the whole registry."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from neuroextrap.stats import average_accuracy, win_distribution
from tests.stats.seam import (
    EXTRAPOLATION_METHODS,
    AccuracyExtrapolator,
    ExtrapolationMethod,
)

NAMES = sorted(EXTRAPOLATION_METHODS)
WINS_ONLY = [n for n in NAMES if not EXTRAPOLATION_METHODS[n].needs_scores]
SCORED = [n for n in NAMES if EXTRAPOLATION_METHODS[n].needs_scores]
WITH_CDF = [n for n in NAMES if EXTRAPOLATION_METHODS[n].has_cdf]
PAST_RANGE = [n for n in NAMES if EXTRAPOLATION_METHODS[n].reliable_factor == 2]


def nearest_center(n_classes, noise, seed, n_repeats=1):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_classes, 6))
    y = np.repeat(np.arange(n_classes), n_repeats)
    tests = centers[y] + noise * rng.normal(size=(len(y), 6))
    return -np.linalg.norm(tests[:, None] - centers, axis=2), y


def beta_margins(n_classes, a, seed):
    """Scores whose win probability is Beta(a, 1), distractors uniform."""
    rng = np.random.default_rng(seed)
    margins = rng.random((n_classes, n_classes))
    margins[np.arange(n_classes), np.arange(n_classes)] = rng.beta(a, 1, n_classes)
    return margins, np.arange(n_classes)


def test_the_walk_for_developers_names_what_methods_declare():
    walks = Path(__file__).parents[2] / "docs" / "developers" / "walks.rst"
    _, _, step = walks.read_text("utf-8").partition("predicts in another way;")
    declared = re.findall(r"``(\w+)``", step.partition("declare")[0])
    assert declared
    assert [name for name in declared if not hasattr(ExtrapolationMethod, name)] == []


def test_the_registry_holds_the_methods_of_the_contract():
    assert set(NAMES) >= {
        "auto",
        "exponential",
        "gaussian",
        "gaussian_mixture",
        "kde_bcv",
        "kde_ucv",
        "logistic",
        "moment",
        "monotone_mple",
        "mple",
        "pitman_yor",
        "radial_basis",
        "spline",
        "tail",
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_method_is_registered_documented_and_named_to_users(name):
    method = EXTRAPOLATION_METHODS[name]
    assert issubclass(method, ExtrapolationMethod)
    assert method.name == name
    assert method.__doc__ != ExtrapolationMethod.__doc__
    assert f'"{name}"' in AccuracyExtrapolator.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_a_method_without_a_distribution_says_so(name):
    if not EXTRAPOLATION_METHODS[name].has_cdf:
        model = AccuracyExtrapolator(name).fit(*nearest_center(20, 0.5, 1))
        with pytest.raises(ValueError, match="has no distribution of U"):
            model.conditional_accuracy_cdf(0.5)
        with pytest.raises(ValueError, match="has no distribution of U"):
            EXTRAPOLATION_METHODS[name]().cdf(0.5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("noise", [0.3, 0.8, 5.0])
def test_predictions_lie_in_the_unit_interval_and_never_increase(name, noise):
    model = AccuracyExtrapolator(name).fit(*nearest_center(60, noise, 1))
    sizes = np.unique(np.geomspace(2, 120, 60))
    predicted = model.predict(sizes)
    assert ((predicted >= 0) & (predicted <= 1)).all()
    assert (np.diff(predicted) <= 1e-12).all()
    far = np.r_[sizes, np.geomspace(121, 1e15, 50)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        predicted = model.predict(far)
    assert ((predicted >= 0) & (predicted <= 1)).all()
    assert (np.diff(predicted) <= 1e-12).all()


@pytest.mark.parametrize("name", [n for n in WINS_ONLY if n != "gaussian"])
def test_beta_win_probabilities_are_followed(name):
    """U ~ Beta(a, 1) gives A_k = a / (a + k - 1); twice K, averaged over data."""
    n_classes, a, sizes = 80, 9.0, np.array([20, 80, 160])
    truth = a / (a + sizes - 1)
    found = [
        AccuracyExtrapolator(name).fit(*beta_margins(n_classes, a, s)).predict(sizes)
        for s in range(6)
    ]
    bias = np.mean(found, axis=0) - truth
    allowed = 3 * np.std(found, axis=0, ddof=1) / np.sqrt(len(found)) + 0.03
    assert (np.abs(bias) < allowed).all(), bias


@pytest.mark.parametrize("name", [*SCORED, "auto"])
def test_gaussian_classes_are_followed_by_the_methods_that_see_scores(name):
    sizes = np.array([100, 400])
    found, truth = [], []
    for seed in range(4):
        margins, y = nearest_center(400, 0.35, seed)
        truth.append(average_accuracy(win_distribution(margins, y), sizes))
        few = np.ix_(y[:100], y[:100])
        found.append(
            AccuracyExtrapolator(name).fit(margins[few], y[:100]).predict(sizes)
        )
    # smoothing makes the kernel densities lose where the scores say win
    allowed = 0.25 if name.startswith("kde") else 0.06
    assert (np.abs(np.mean(found, axis=0) - np.mean(truth, axis=0)) < allowed).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_classifier_without_information_stays_at_chance(name):
    margins, y = np.random.default_rng(3).normal(size=(300, 60)), np.arange(300) % 60
    predicted = AccuracyExtrapolator(name).fit(margins, y).predict([2, 60, 120])
    np.testing.assert_allclose(predicted, [1 / 2, 1 / 60, 1 / 120], atol=0.04)


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_classifier_is_at_chance_exactly_where_it_is_seen(name):
    margins, y = np.zeros((60, 60)), np.arange(60)
    with warnings.catch_warnings():
        if EXTRAPOLATION_METHODS[name].continuous_scores:
            warnings.filterwarnings("ignore", ".*takes scores to be continuous")
        predicted = AccuracyExtrapolator(name).fit(margins, y).predict([2, 60])
    np.testing.assert_allclose(predicted * [2, 60], 1, rtol=2e-3, atol=0.02)


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_classifier_stays_perfect(name):
    margins = np.random.default_rng(0).normal(size=(55, 55))
    np.fill_diagonal(margins, 30)
    predicted = AccuracyExtrapolator(name).fit(margins, np.arange(55)).predict([2, 55])
    np.testing.assert_allclose(predicted, 1.0, atol=0.03)


@pytest.mark.filterwarnings("ignore:the true class beats:UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_hopeless_classifier_is_never_above_chance(name):
    """Non-decreasing densities end at chance; the others follow it below."""
    margins = np.random.default_rng(0).normal(size=(55, 55))
    np.fill_diagonal(margins, -30)
    predicted = AccuracyExtrapolator(name).fit(margins, np.arange(55)).predict([2, 55])
    assert (predicted < np.array([0.5, 1 / 55]) + 0.001).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_test_points_and_classes_does_not_matter(name):
    margins, y = nearest_center(60, 0.6, 5)
    order = np.random.default_rng(0).permutation(60)
    options = {"bandwidths": [0.5]} if name == "radial_basis" else {}
    options |= {"basis": 3} if name == "moment" else {}
    first = AccuracyExtrapolator(name, **options).fit(margins, y)
    second = AccuracyExtrapolator(name, **options).fit(margins[order], y[order])
    np.testing.assert_allclose(
        first.predict([60, 110]), second.predict([60, 110]), atol=1e-6
    )


@pytest.mark.parametrize("name", NAMES)
def test_fitting_twice_gives_the_same_digits(name):
    margins, y = nearest_center(60, 0.6, 6)
    first = AccuracyExtrapolator(name).fit(margins, y).predict([10, 100])
    second = AccuracyExtrapolator(name).fit(margins, y).predict([10, 100])
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", WINS_ONLY)
def test_wins_alone_are_enough(name):
    margins, y = nearest_center(60, 0.6, 7)
    wins = win_distribution(margins, y)
    model = AccuracyExtrapolator(name).fit_wins(wins, 60)
    near = model.predict([2, 60])
    np.testing.assert_allclose(near, average_accuracy(wins, [2, 60]), atol=0.03)


@pytest.mark.parametrize("name", SCORED)
def test_wins_alone_are_refused_where_scores_are_needed(name):
    with pytest.raises(ValueError, match="needs the scores, got wins only"):
        AccuracyExtrapolator(name).fit_wins(np.full(10, 0.1), 10)


@pytest.mark.parametrize("name", NAMES)
def test_methods_that_take_scores_to_be_continuous_warn_where_they_tie(name):
    margins, y = nearest_center(60, 0.6, 12)
    tied = np.round(2 * margins)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AccuracyExtrapolator(name).fit(margins, y)
        assert not caught
        AccuracyExtrapolator(name).fit(tied, y)
    told = [str(w.message) for w in caught]
    assert len(told) == name.startswith("kde")
    assert all("takes scores to be continuous" in t for t in told)
    assert all("use method='auto'" in t for t in told)


@pytest.mark.parametrize("name", WITH_CDF)
def test_the_distribution_of_win_probabilities_gives_the_curve(name):
    """A_k = 1 - (k - 1) int D(u) u^(k-2) du, by midpoints in u."""
    margins, y = nearest_center(60, 0.7, 8)
    options = {"basis": 2} if name == "moment" else {}
    model = AccuracyExtrapolator(name, **options).fit(margins, y)
    u = (np.arange(200_000) + 0.5) / 200_000
    cdf = np.concatenate([model.conditional_accuracy_cdf(v) for v in np.split(u, 50)])
    for k in (2, 10, 60):
        from_cdf = 1 - (k - 1) * np.mean(cdf * u ** (k - 2))
        expected = model.method_.accuracy(np.array([k]))[0]
        slack = 0.0
        if name == "radial_basis":  # its weights need not sum to one
            slack = 1 - float(model.method_.weights_.sum())
        assert abs(from_cdf - slack - expected) < 1e-4


@pytest.mark.parametrize(
    "name", [n for n in WITH_CDF if n not in ("moment", "radial_basis")]
)
def test_the_distribution_of_win_probabilities_is_a_distribution(name):
    model = AccuracyExtrapolator(name).fit(*nearest_center(60, 0.7, 9))
    cdf = model.conditional_accuracy_cdf(np.linspace(0, 1, 301))
    assert (np.diff(cdf) >= -1e-12).all()
    assert cdf[0] >= 0
    np.testing.assert_allclose(cdf[-1], 1, atol=1e-9)


@pytest.mark.parametrize("name", ["spline", "monotone_mple"])
def test_monotone_densities_have_a_convex_distribution(name):
    model = AccuracyExtrapolator(name).fit(*nearest_center(60, 0.7, 10))
    cdf = model.conditional_accuracy_cdf(np.linspace(0, 0.999, 400))
    assert (np.diff(cdf, 2) > -1e-10).all()


@pytest.mark.parametrize("name", PAST_RANGE)
def test_predictions_past_the_identified_range_warn(name):
    model = AccuracyExtrapolator(name).fit(*nearest_center(60, 0.7, 11))
    model.predict([120])
    with pytest.warns(UserWarning, match="not identified beyond about 120 classes"):
        model.predict([121])


@pytest.mark.parametrize("name", NAMES)
def test_two_classes_either_work_or_say_how_many_are_needed(name):
    margins, y = (
        np.array([[1.0, 0.0], [0.3, 0.5], [0.9, 0.2], [0.1, 0.7]]),
        [0, 1, 1, 0],
    )
    model = AccuracyExtrapolator(name)
    if name in SCORED:
        with pytest.raises(ValueError, match=r"at least [34] classes"):
            model.fit(margins, y)
    else:
        assert abs(model.fit(margins, y).predict([2])[0] - 0.5) < 0.05


@pytest.mark.parametrize("name", NAMES)
def test_bad_scores_are_refused_before_any_work(name):
    model = AccuracyExtrapolator(name)
    margins = np.random.default_rng(0).normal(size=(10, 10))
    for bad in (np.nan, np.inf):
        spoilt = margins.copy()
        spoilt[3, 4] = bad
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.fit(spoilt, np.arange(10))
    with pytest.raises(ValueError, match="2 classes"):
        model.fit(margins[:, :1], np.zeros(10, int))
    with pytest.raises(ValueError, match=r"n_test, n_classes\), got 3"):
        model.fit(margins[None], np.arange(10))
