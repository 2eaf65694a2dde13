"""Bounds on a success rate against scipy, their definition and enumeration."""

import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest

from neuroextrap.stats import (
    TestDesign,
    accuracy_upper_bound,
    bayes_accuracy_lower_bound,
)
from tests.stats.seam import clopper_pearson_lower, kl_lower

EIGHT = {"n_classes": 8, "n_repeats": 12}


@pytest.mark.parametrize("n_test", [1, 7, 96])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_clopper_pearson_equals_scipy(n_test, alpha):
    counts = np.arange(n_test + 1)
    expected = [
        binomtest(int(count), n_test, alternative="greater")
        .proportion_ci(confidence_level=1 - alpha, method="exact")
        .low
        for count in counts
    ]
    lower = clopper_pearson_lower(counts.astype(float), n_test, alpha)
    np.testing.assert_allclose(lower, expected, atol=1e-12)


def test_kl_bound_solves_its_equation():
    share = np.array([0.1, 0.5, 0.9, 1.0])
    lower = kl_lower(share, 50, np.log(20))
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = share * np.log(share / lower)
        loss = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - lower)), 0)
    np.testing.assert_allclose(50 * (gain + loss), np.log(20), rtol=1e-9)


def test_published_values():
    """Eight classes, twelve repeats, 91 of 96 right: .894 and .874 at 95%."""
    assert clopper_pearson_lower(np.array(91.0), 96, 0.05).round(3) == 0.894
    assert kl_lower(np.array(91 / 96), 96, np.log(20)).round(3) == 0.874


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.93])
def test_each_misses_at_most_as_often_as_said(rate):
    """By enumeration of the binomial law, no simulation."""
    counts = np.arange(61.0)
    chance = binom.pmf(counts, 60, rate)
    assert chance[clopper_pearson_lower(counts, 60, 0.05) > rate].sum() <= 0.05
    assert chance[kl_lower(counts / 60, 60, np.log(20)) > rate].sum() <= 0.05


def test_nothing_and_unknown():
    assert clopper_pearson_lower(np.array(0.0), 5, 0.05) == 0
    assert np.isnan(clopper_pearson_lower(np.array(np.nan), 5, 0.05))
    assert kl_lower(np.array(0.0), 5, 3.0) == 0
    assert np.isnan(kl_lower(np.array(np.nan), 5, 3.0))


@pytest.mark.parametrize(
    ("method", "expected"),
    [("hoeffding", 0.823), ("kl", 0.874), ("clopper_pearson", 0.894)],
)
def test_published_bounds(method, expected):
    bound = bayes_accuracy_lower_bound(91 / 96, **EIGHT, method=method)
    assert bound.round(3) == expected


def test_methods_are_ordered():
    accuracy = np.arange(12, 97) / 96
    bounds = [
        bayes_accuracy_lower_bound(accuracy, **EIGHT, n_regions=50, method=method)
        for method in ("hoeffding", "kl", "clopper_pearson")
    ]
    assert (np.diff(bounds, axis=0) >= -1e-12).all()
    assert (bounds[0] >= 1 / 8).all()
    assert np.isnan(bayes_accuracy_lower_bound(np.nan, **EIGHT, method="kl"))


def test_one_row_of_folds_is_a_single_split():
    for method in ("hoeffding", "kl", "clopper_pearson"):
        row = TestDesign(4, np.full((1, 4), 6.0)).bayes_accuracy_bound(
            0.75, method=method
        )
        np.testing.assert_array_equal(
            row, TestDesign(4, 6).bayes_accuracy_bound(0.75, method=method)
        )


def poisson_binomial(chances):
    """Return the law of the number of successes of unequal chances."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return law


@pytest.mark.parametrize("method", ["hoeffding", "kl", "clopper_pearson"])
@pytest.mark.parametrize("level", [0.75, 0.95, 0.999])
@pytest.mark.parametrize("repeats", [1, 5])
def test_unequal_class_accuracies_are_covered(method, level, repeats):
    """By enumeration: classes that are always, never or sometimes identified."""
    design = TestDesign(6, repeats, confidence_level=level)
    n_test = 6 * repeats
    bound = design.bayes_accuracy_bound(np.arange(n_test + 1) / n_test, method=method)
    rng = np.random.default_rng(0)
    families = [
        np.full(6, 0.3),
        np.array([1, 1, 1, 0, 0, 0.4]),
        np.array([1.0, 0, 0, 0, 0, 0.2]),
        *rng.beta(0.3, 0.3, size=(30, 6)),
        *rng.beta(2, 1, size=(10, 6)),
    ]
    for chances in families:
        law = poisson_binomial(np.repeat(chances, repeats))
        truth = max(chances.mean(), 1 / 6)  # what the Bayes rule reaches at least
        assert law[bound > truth + 1e-12].sum() <= 1 - level + 1e-12


@pytest.mark.parametrize("repeats", [[1, 1, 2, 4], [2, 3, 5, 9], [1, 8, 8, 8]])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_unequal_repeats_are_covered(repeats, level):
    """By enumeration of every number of correct outcomes of every class."""
    design = TestDesign(4, repeats, confidence_level=level)
    counts = np.stack(
        np.meshgrid(*(np.arange(r + 1) for r in repeats), indexing="ij"), axis=-1
    )
    accuracy = (counts / repeats).mean(axis=-1)
    rng = np.random.default_rng(1)
    for method in ("hoeffding", "kl"):
        bound = design.bayes_accuracy_bound(accuracy, method=method)
        for chances in [np.full(4, 0.6), *rng.beta(0.5, 0.5, size=(20, 4))]:
            law = binom.pmf(counts, repeats, chances).prod(axis=-1)
            truth = max(chances.mean(), 1 / 4)
            assert law[bound > truth + 1e-12].sum() <= 1 - level


def test_ties_are_covered_by_kl():
    """Outcomes of one half, as a tie of two gives."""
    rng = np.random.default_rng(2)
    outcomes = rng.choice([0, 0.5, 1], p=[0.1, 0.4, 0.5], size=(20_000, 40))
    bound = TestDesign(4, 10).bayes_accuracy_bound(outcomes.mean(axis=1), method="kl")
    assert np.mean(bound > 0.7) <= 0.05


@pytest.mark.parametrize(
    ("accuracy", "design", "message"),
    [
        (0.9, {}, "got 86.4, as ties give: use method='kl'"),
        (0.5, {"n_repeats": [1, 2] * 4}, "must be equal for all classes"),
        (0.5, {"n_repeats": 12.5}, "must be whole numbers"),
        (0.5, {"n_repeats": np.ones((12, 8))}, "forward_bayes_accuracy_lower_bound"),
        (0.5, {"confidence_level": 0.7}, "must be at least 0.75"),
        (0.5, {"method": "wald"}, "method='wald' must be one of"),
    ],
)
def test_refuses(accuracy, design, message):
    arguments = EIGHT | {"method": "clopper_pearson"} | design
    with pytest.raises(ValueError, match=message):
        bayes_accuracy_lower_bound(accuracy, **arguments)


def test_many_regions_allow_a_low_level():
    arguments = EIGHT | {"confidence_level": 0.7, "n_regions": 2}
    bound = bayes_accuracy_lower_bound(0.5, **arguments, method="clopper_pearson")
    assert 0.4 < bound < 0.5


def test_information_about_the_classes_at_hand():
    design = TestDesign(8, 12)
    bits = design.class_information_bound([1 / 8, 0.05, 0.6, 1.0, np.nan])
    np.testing.assert_allclose(bits, [0, 0, 0.906, 3, np.nan], atol=5e-4)
    perfect = design.bayes_accuracy_bound(1.0, method="clopper_pearson")
    assert 2.5 < design.class_information_bound(perfect) < 3


@pytest.mark.parametrize("method", ["clopper_pearson", "kl"])
@pytest.mark.parametrize("level", [0.75, 0.95])
@pytest.mark.parametrize("repeats", [1, 5])
def test_upper_bound_covers_unequal_classes(method, level, repeats):
    """By enumeration, accuracies near one and a single hard class among them."""
    n_test = 6 * repeats
    bound = accuracy_upper_bound(
        np.arange(n_test + 1) / n_test,
        n_classes=6,
        n_repeats=repeats,
        confidence_level=level,
        method=method,
    )
    assert bound[-1] == 1
    assert (np.diff(bound) >= 0).all()
    rng = np.random.default_rng(3)
    one_hard = [np.append(np.ones(5), 1 - rate) for rate in np.geomspace(0.01, 1, 60)]
    two_hard = [
        np.append(np.ones(4), [1 - rate] * 2) for rate in np.geomspace(0.01, 1, 60)
    ]
    for chances in [*one_hard, *two_hard, *rng.beta(0.5, 0.5, size=(40, 6))]:
        law = poisson_binomial(np.repeat(chances, repeats))
        assert law[bound < chances.mean() - 1e-12].sum() <= 1 - level + 1e-12


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("n_regions", [None, 10])
def test_upper_bound_equals_its_formula(level, n_regions):
    """The beta quantile; for one error the least of it and the union bound."""
    options = {} if n_regions is None else {"n_regions": n_regions}
    alpha = (1 - level) / (n_regions or 1)
    for n_errors in (1, 2, 30):
        bound = accuracy_upper_bound(
            1 - n_errors / 96, **EIGHT, confidence_level=level, **options
        )
        lowest = beta.ppf(alpha, n_errors, 97 - n_errors)
        lowest = min(lowest, alpha / 96) if n_errors == 1 else lowest
        assert bound == pytest.approx(1 - lowest, rel=1e-12)


def test_upper_bound_of_unequal_repeats_and_refusals():
    bound = accuracy_upper_bound(0.3, n_classes=4, n_repeats=[9, 9, 9, 12], method="kl")
    assert 0.3 < bound < 0.6
    more = accuracy_upper_bound(
        0.3, n_classes=4, n_repeats=[9, 9, 9, 12], method="kl", n_regions=50
    )
    assert more > bound
    with pytest.raises(ValueError, match="must be one of 'clopper_pearson', 'kl'"):
        accuracy_upper_bound(0.3, **EIGHT, method="hoeffding")
    with pytest.raises(ValueError, match="forward_bayes_accuracy"):
        accuracy_upper_bound(0.5, n_classes=2, n_repeats=np.ones((3, 2)))
