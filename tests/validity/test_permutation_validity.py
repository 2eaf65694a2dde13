"""Permutation p-values are uniform, and equal the ranks where all are enumerated."""

import itertools

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import (
    average_accuracy,
    binomial_p_value,
    permutation_p_value,
    permute_labels,
    win_distribution,
)

N_DRAWS = [
    pytest.param(300, id="quick"),
    pytest.param(3000, id="full", marks=pytest.mark.slow),
]


def pairwise_accuracy(x, labels, runs):
    """Leave-one-run-out nearest centroids for labelings (B, n): (B,)."""
    n_classes = labels.max() + 1
    hot = (labels[..., np.newaxis] == np.arange(n_classes)).astype(float)
    margins = np.empty(hot.shape)
    for run in np.unique(runs):
        train = runs != run
        weights = hot[:, train]
        centers = np.einsum("bnk,np->bkp", weights, x[train])
        centers /= weights.sum(axis=1)[..., np.newaxis]
        scores = 2 * np.einsum("np,bkp->bnk", x[~train], centers)
        margins[:, ~train] = scores - (centers**2).sum(axis=-1)[:, np.newaxis]
    return average_accuracy(win_distribution(margins, labels), 2)


def observed_and_null(rng, x, y, runs, n_permutations=39):
    """Score the observed labeling and permutations in one call."""
    permuted = permute_labels(
        y, groups=runs, n_permutations=n_permutations, random_state=rng
    )
    scores = pairwise_accuracy(x, np.vstack([y, permuted]), runs)
    return scores[0], scores[1:]


def consistent_with(rate, hits, n_draws):
    """Whether a binomial count is within four standard errors of its rate."""
    return abs(hits / n_draws - rate) < 4 * np.sqrt(rate * (1 - rate) / n_draws)


@pytest.mark.parametrize("n_draws", N_DRAWS)
def test_p_values_are_uniform_up_to_ties(n_draws):
    rng = np.random.default_rng(0)
    runs, y = np.repeat(np.arange(4), 6), np.tile(np.repeat([0, 1, 2], 2), 4)
    p, untied = [], []
    for _ in range(n_draws):
        x = rng.normal(size=(24, 12)) + rng.normal(size=(4, 12))[runs]
        score, null = observed_and_null(rng, x, y, runs)
        p.append(permutation_p_value(score, null))
        jitter = 1e-9 * rng.random(len(null) + 1)
        untied.append(permutation_p_value(score + jitter[0], null + jitter[1:]))
    for level in (0.05, 0.25, 0.5, 0.75):
        hits = np.count_nonzero(np.less_equal(untied, level + 1e-12))
        assert consistent_with(level, hits, n_draws)
        # equal scores count against the observed one: never more often
        assert np.count_nonzero(np.less_equal(p, level + 1e-12)) <= hits


def test_enumerated_p_values_are_exactly_the_ranks():
    rng = np.random.default_rng(3)
    x = rng.normal(size=4)
    labelings = sorted(set(itertools.permutations([0, 0, 1, 1])))
    p = []
    for y in labelings:
        others = permute_labels(np.array(y), n_permutations=5, random_state=0)
        p.append(permutation_p_value(np.dot(y, x), others @ x))
    np.testing.assert_allclose(sorted(p), np.arange(1, 7) / 6)


@pytest.mark.parametrize(("n_test", "n_classes"), [(20, 2), (96, 8)])
def test_binomial_size(n_test, n_classes):
    correct = np.arange(n_test + 1)
    chances = stats.binom.pmf(correct, n_test, 1 / n_classes)
    size = chances @ (binomial_p_value(correct, n_test, n_classes) <= 0.05)
    assert 0.01 < size <= 0.05
