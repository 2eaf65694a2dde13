"""Generalized Pareto tails: the limit itself, its true level, ties, refusals."""

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import permutation_p_value, tail_p_value
from tests.stats.seam import _fit_tail

Z = stats.norm.ppf(0.95)


def upper_limits_by_enumeration(null, scores):
    """Maximize tail probabilities over a grid of all three parameters."""
    ordered = np.sort(null)
    n_tail = len(null) // 10
    threshold = ordered[-n_tail - 1 : -n_tail + 1].mean()
    excess = ordered[-n_tail:] - threshold
    shape, scale = np.meshgrid(np.linspace(-0.49, 1.5, 250), np.geomspace(0.4, 4, 250))
    fits = stats.genpareto(shape[..., np.newaxis], scale=scale[..., np.newaxis])
    likelihood = fits.logpdf(excess).sum(axis=-1)
    share = np.linspace(0.05, 0.2, 150)
    binomial = stats.binom.logpmf(n_tail, len(null), share)
    best = likelihood.max() + binomial.max()
    largest = np.zeros(len(scores))
    for one_share, one_binomial in zip(share, binomial, strict=True):
        inside = likelihood + one_binomial >= best - Z**2 / 2
        if inside.any():
            tails = one_share * fits.sf(scores - threshold)[inside]
            largest = np.maximum(largest, tails.max(axis=0))
    return largest


def test_limit_is_that_of_the_profile_likelihood():
    null = np.sort(np.random.default_rng(0).exponential(size=400))
    scores = np.array([3.5, 5, 9])
    limit = np.ones(len(scores))
    _fit_tail(null, 360, 0.95).lower(limit, scores, 0.0)
    expected = upper_limits_by_enumeration(null, scores)
    np.testing.assert_allclose(limit, expected, rtol=0.03)


def lattice_tail(k):
    return stats.binom.sf(k * 96 - 0.5, 96, 1 / 8)


NULLS = {
    "maximum": (
        lambda rng, n: stats.norm.ppf(rng.random(n) ** (1 / 300)),
        lambda t: -np.expm1(300 * stats.norm.logcdf(t)),
        np.linspace(1, 9, 800),
    ),
    "normal": (
        lambda rng, n: rng.normal(size=n),
        stats.norm.sf,
        np.linspace(0, 9, 800),
    ),
    "t5": (
        lambda rng, n: rng.standard_t(5, size=n),
        stats.t(5).sf,
        np.linspace(0, 40, 2000),
    ),
    "accuracies": (
        lambda rng, n: rng.binomial(96, 1 / 8, size=n) / 96,
        lattice_tail,
        np.arange(8, 49) / 96,
    ),
}


def true_levels(name, n_permutations, n_sets, levels):
    """Return how likely a p-value of at most each level is, set by set, over it."""
    draw, tail, scores = NULLS[name]
    rng = np.random.default_rng(1)
    true = np.zeros((n_sets, len(levels)))
    for row in true:
        p, _ = tail_p_value(scores, draw(rng, n_permutations))
        for column, level in enumerate(levels):
            reached = scores[p <= level]
            row[column] = tail(reached[0]) / level if len(reached) else 0
    return true


@pytest.mark.parametrize(
    ("name", "n_permutations"), list(zip(NULLS, [200, 500] * 2, strict=True))
)
def test_levels_are_kept(name, n_permutations):
    true = true_levels(name, n_permutations, 80, (0.01, 0.001))
    error = true.std(axis=0) / np.sqrt(len(true))
    assert (true.mean(axis=0) <= 1.1 + 2 * error).all()
    # and the tail is of use: p-values that permutations alone cannot give
    assert true[:, 1].mean() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", NULLS)
@pytest.mark.parametrize("n_permutations", [200, 500, 1000, 2000])
def test_levels_are_kept_to_a_tenth(name, n_permutations):
    true = true_levels(name, n_permutations, 1500, (0.01, 0.001, 0.0001))
    error = true.std(axis=0) / np.sqrt(len(true))
    assert (true.mean(axis=0) - 1.65 * error <= 1.1).all()


def test_only_small_p_values_are_replaced_and_never_increase():
    null = np.random.default_rng(3).normal(size=999)
    scores = np.linspace(-3, 12, 400)
    p, fitted = tail_p_value(scores, null)
    assert fitted
    plain = permutation_p_value(scores, null[:, np.newaxis])
    low = scores < np.quantile(null, 0.89)
    np.testing.assert_array_equal(p[low], plain[low])
    assert (p <= plain).all()
    assert (np.diff(p) <= 0).all()
    assert p.min() == 0.2 / 1000


def test_a_higher_confidence_is_a_higher_limit():
    null = np.random.default_rng(0).normal(size=500)
    p = [tail_p_value(3.2, null, confidence_level=level)[0] for level in (0.5, 0.99)]
    assert p[0] < p[1]


def test_columns_are_fitted_alone():
    rng = np.random.default_rng(4)
    null, score = rng.normal(size=(500, 2, 3)), np.full((2, 3), 2.5)
    score[0, 1] = np.nan
    p, fitted = tail_p_value(score, null)
    assert p.shape == fitted.shape == (2, 3)
    assert np.isnan(p[0, 1])
    for i, j in np.ndindex(2, 3):
        alone, one_fitted = tail_p_value(score[i, j], null[:, i, j])
        np.testing.assert_array_equal([alone, one_fitted], [p[i, j], fitted[i, j]])


@pytest.mark.parametrize(
    "null", [np.arange(600) % 3, np.zeros(500), np.arange(20.0), np.arange(20_000) % 3]
)
def test_without_a_fit_the_permutation_p_value_stays(null):
    p, fitted = tail_p_value([100.0, 0.5], null)
    assert not fitted
    np.testing.assert_array_equal(p, permutation_p_value([100.0, 0.5], null[:, None]))


@pytest.mark.parametrize(
    ("score", "null", "message"),
    [
        (1.0, [], "n_permutations at least 1"),
        ([1.0, 2.0], np.ones((50, 3)), "broadcast"),
        ([1.0, 2.0], np.ones((50, 1)), "null_scores must have shape"),
        (1.0, [np.inf] * 50, "null_scores must be finite"),
        (1.0, [np.nan] * 50, "null_scores hold NaN"),
    ],
)
def test_refuses(score, null, message):
    with pytest.raises(ValueError, match=message):
        tail_p_value(score, null)


def test_refuses_a_confidence_level():
    with pytest.raises(ValueError, match="confidence_level must lie strictly"):
        tail_p_value(1.0, np.arange(50.0), confidence_level=1)
