"""The extrapolator itself: errors, standard errors, set sizes at a level."""

from copy import deepcopy

import numpy as np
import pytest

from neuroextrap.stats import win_distribution
from tests.stats.seam import AccuracyExtrapolator, LeftOut, Tail, WinSample


def noisy_margins(n_classes, strength, seed, n_repeats=1):
    y = np.repeat(np.arange(n_classes), n_repeats)
    margins = np.random.default_rng(seed).normal(size=(len(y), n_classes))
    margins[np.arange(len(y)), y] += strength
    return margins, y


def test_scalar_in_scalar_out():
    model = AccuracyExtrapolator("gaussian").fit(*noisy_margins(20, 1.5, 0))
    assert model.predict(100).shape == ()
    assert model.predict([100]).shape == (1,)
    assert model.standard_error(100).shape == ()


def test_repr_is_the_call():
    model = AccuracyExtrapolator("tail", fraction=0.2)
    assert repr(model) == "AccuracyExtrapolator(method='tail', fraction=0.2)"
    assert repr(AccuracyExtrapolator()) == "AccuracyExtrapolator(method='auto')"


@pytest.mark.parametrize("n_repeats", [1, 3])
@pytest.mark.parametrize("name", ["gaussian", "gaussian_mixture", "kde_ucv"])
def test_standard_error_equals_refits_without_each_class(name, n_repeats):
    margins, y = noisy_margins(12, 1.5, 1, n_repeats)
    model = AccuracyExtrapolator(name).fit(margins, y)
    sizes, refits = [12, 100], []
    for c in range(12):
        rows = y != c
        labels = y[rows] - (y[rows] > c)
        fewer = np.delete(margins[rows], c, axis=1)
        refits.append(AccuracyExtrapolator(name).fit(fewer, labels).predict(sizes))
    expected = np.sqrt(
        11 / 12 * np.sum((refits - np.mean(refits, axis=0)) ** 2, axis=0)
    )
    np.testing.assert_allclose(model.standard_error(sizes), expected, rtol=1e-4)


def test_standard_error_leaves_out_groups_when_there_are_many_classes():
    margins, y = noisy_margins(30, 1.5, 2)
    model = AccuracyExtrapolator("gaussian").fit(margins, y)
    refits = []
    for group in range(10):
        kept = np.flatnonzero(np.arange(30) % 10 != group)
        fewer = AccuracyExtrapolator("gaussian").fit(
            margins[np.ix_(kept, kept)], np.arange(27)
        )
        refits.append(fewer.predict(300))
    expected = np.sqrt(9 / 10 * np.sum((refits - np.mean(refits)) ** 2))
    np.testing.assert_allclose(model.standard_error(300, max_refits=10), expected)


def test_standard_error_leaves_the_fit_alone_and_keeps_its_method():
    """51 classes: leaving one out must not switch the rule for few classes."""
    margins, y = noisy_margins(51, 1.5, 3)
    model = AccuracyExtrapolator().fit(margins, y)
    before, members = model.predict([51, 500]), len(model.method_.members)
    assert (model.standard_error([51, 500], max_refits=5) > 0).all()
    np.testing.assert_array_equal(model.predict([51, 500]), before)
    assert len(model.method_.members) == members


def test_candidates_without_test_points_leave_as_distractors_only():
    margins, _ = noisy_margins(12, 1.5, 4)
    model = AccuracyExtrapolator("gaussian").fit(margins[:6], np.arange(6))
    assert model.standard_error(50) > 0


@pytest.mark.parametrize("level", [0.5, 0.1, 1e-4])
def test_set_size_at_a_level_is_where_the_prediction_crosses_it(level):
    model = AccuracyExtrapolator("gaussian_mixture").fit(*noisy_margins(40, 2, 5))
    size = model.set_size_at(level)
    assert 2 < size < 1e15
    np.testing.assert_allclose(model.predict(size), level, rtol=1e-5)


def test_set_size_at_a_level_of_a_known_law():
    """U ~ Beta(a, 1): a / (a + k - 1) = 0.1 at k = 9 a + 1."""
    k = np.arange(60)
    wins = np.exp(_log_beta_binomial(k, 59, 30.0))
    model = AccuracyExtrapolator("pitman_yor").fit_wins(wins / wins.sum(), 600)
    assert abs(np.log10(model.set_size_at(0.5)) - np.log10(31)) < 0.05


def _log_beta_binomial(v, n, a):
    from scipy.special import betaln

    return (
        -np.log(n + 1)
        - betaln(v + 1, n - v + 1)
        + betaln(v + a, n - v + 1)
        - betaln(a, 1)
    )


def test_set_sizes_at_levels_never_reached_or_never_exceeded():
    always = AccuracyExtrapolator("spline").fit_wins(np.eye(20)[-1], 100)
    with pytest.warns(UserWarning, match="not identified beyond about 40"):
        assert always.set_size_at(0.1) == np.inf
    chance = AccuracyExtrapolator("gaussian").fit_wins(np.full(20, 1 / 20), 100)
    assert chance.set_size_at(0.6) == 2
    np.testing.assert_allclose(chance.set_size_at(0.01), 100, rtol=1e-6)


def test_set_size_at_warns_when_the_answer_is_past_the_range():
    model = AccuracyExtrapolator("moment", basis=1)
    model.fit_wins(np.full(20, 1 / 20), 100)
    assert model.set_size_at(0.2) < 6
    with pytest.warns(UserWarning, match="not identified"):
        np.testing.assert_allclose(model.set_size_at(0.001), 1000, rtol=0.06)


def test_wins_and_margins_give_the_same_fit():
    margins, y = noisy_margins(30, 1.5, 6, n_repeats=2)
    wins = win_distribution(margins, y)
    for name in ("gaussian", "gaussian_mixture", "spline", "monotone_mple"):
        one = AccuracyExtrapolator(name).fit(margins, y).predict([30, 60])
        two = AccuracyExtrapolator(name).fit_wins(wins, 60).predict([30, 60])
        np.testing.assert_array_equal(one, two)


def test_set_sizes_need_not_be_whole_and_may_be_huge():
    model = AccuracyExtrapolator("gaussian").fit(*noisy_margins(20, 3, 7))
    predicted = model.predict([2.5, 1e12, 1e15])
    assert (np.diff(predicted) < 0).all()
    assert predicted[-1] > 0


def test_unknown_names_and_options():
    with pytest.raises(ValueError, match=r"method='magic' must be one of .*auto"):
        AccuracyExtrapolator("magic")
    with pytest.raises(TypeError, match="no option 'fraction'; its options are: none"):
        AccuracyExtrapolator("gaussian", fraction=0.1)


def test_nothing_fitted():
    model = AccuracyExtrapolator()
    for call in (
        lambda: model.predict(10),
        lambda: model.standard_error(10),
        lambda: model.set_size_at(0.1),
        lambda: model.conditional_accuracy_cdf(0.5),
    ):
        with pytest.raises(ValueError, match="nothing was fitted yet"):
            call()


def test_arguments_out_of_range():
    model = AccuracyExtrapolator("gaussian").fit(*noisy_margins(20, 1, 8))
    with pytest.raises(ValueError, match="set_sizes must be at least 2"):
        model.predict([10, 1])
    with pytest.raises(ValueError, match="accuracy must lie strictly between 0 and 1"):
        model.set_size_at(1.0)
    with pytest.raises(ValueError, match=r"u must lie in \[0, 1\]"):
        model.conditional_accuracy_cdf([0.5, -0.1])
    with pytest.raises(ValueError, match="max_refits must be an integer >= 2"):
        model.standard_error(10, max_refits=1)


def test_wins_out_of_range():
    model = AccuracyExtrapolator("gaussian")
    with pytest.raises(ValueError, match="sum to one"):
        model.fit_wins([0.5, 0.1], 10)
    with pytest.raises(ValueError, match="one win distribution"):
        model.fit_wins(np.full((2, 4), 0.25), 10)
    with pytest.raises(ValueError, match="without NaN"):
        model.fit_wins(np.full(4, np.nan), 10)
    with pytest.raises(ValueError, match="n_test must be an integer >= 1"):
        model.fit_wins(np.full(4, 0.25), 0)
    with pytest.raises(TypeError, match="n_test must be an integer"):
        model.fit_wins(np.full(4, 0.25), 2.5)
    with pytest.raises(ValueError, match="n_classes at least 2"):
        model.fit_wins([1.0], 10)


def test_standard_errors_need_scores_and_classes():
    margins, y = noisy_margins(20, 1, 9)
    blind = AccuracyExtrapolator("gaussian").fit_wins(win_distribution(margins, y), 20)
    with pytest.raises(ValueError, match="leave out classes and need the scores"):
        blind.standard_error(10)
    few = AccuracyExtrapolator("gaussian").fit(margins[:3], y[:3])
    with pytest.raises(ValueError, match="at least 4 classes with test points, got 3"):
        few.standard_error(10)


@pytest.mark.parametrize(("max_refits", "n_repeats"), [(7, 2), (100, 1)])
@pytest.mark.parametrize(
    "name", ["auto", "gaussian", "gaussian_mixture", "moment", "tail"]
)
def test_refits_equal_those_from_scratch(name, max_refits, n_repeats):
    margins, y = noisy_margins(20, 1.5, 8, n_repeats)
    margins, y = margins.round(1)[y != 3], y[y != 3]  # with ties, class 3 not tested
    model = AccuracyExtrapolator(name).fit(margins, y)
    sizes, parts = np.array([20.0, 60.0]), LeftOut(model.sample_, max_refits)
    scratch = refits_from_scratch(model, parts)
    shared = model.method_.refits(parts)
    np.testing.assert_allclose(
        [each.projected_accuracy(sizes) for each in shared],
        [each.projected_accuracy(sizes) for each in scratch],
        rtol=1e-5,
    )


def refits_from_scratch(model, parts):
    """Cut the scores without some classes, and fit the method to them again."""
    margins, y = model.sample_.margins, model.sample_.y_true
    for classes in map(np.flatnonzero, parts.members):
        rows = np.isin(y, classes)
        part = margins[np.ix_(rows, classes)], np.searchsorted(classes, y[rows])
        yield deepcopy(model.method_).fit(WinSample.from_margins(*part))


@pytest.mark.parametrize(("n_classes", "max_refits"), [(4, 9), (20, 7), (60, 60)])
def test_tails_sought_in_those_of_the_whole_are_those_from_scratch(
    n_classes, max_refits, monkeypatch
):
    """To the bit, with ties; parts of four classes have three, too few for a fit."""
    margins, y = noisy_margins(n_classes, 1.5, 8, 2)
    model = AccuracyExtrapolator("tail", calibrate=False, fraction=0.3)
    parts = LeftOut(model.fit(margins.round(1), y).sample_, max_refits)
    shared = [each.mixture_ for each in model.method_.refits(parts)]
    monkeypatch.setattr(Tail, "fewest_classes", 3)
    for found, fit in zip(shared, refits_from_scratch(model, parts), strict=True):
        np.testing.assert_array_equal(found.atoms, fit.mixture_.atoms)
        np.testing.assert_array_equal(found.weights, fit.mixture_.weights)


def test_the_default_has_a_standard_error_of_four_classes():
    margins, y = noisy_margins(4, 1.0, 0, 10)
    model = AccuracyExtrapolator().fit(margins, y)
    assert len(model.method_.opinions) == 3
    assert ((error := model.standard_error([4, 8, 40])) > 0).all()
    assert (error < 0.5).all()


def test_a_jackknife_reports_progress():
    margins, y = noisy_margins(12, 1.5, 1)
    model, seen = AccuracyExtrapolator("gaussian").fit(margins, y), []
    model.standard_error(50, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i, 12) for i in range(1, 13)]
