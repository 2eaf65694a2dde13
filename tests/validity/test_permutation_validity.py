"""Permutation p-values are uniform, block-wise and family-wise."""

import itertools

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import (
    average_accuracy,
    binomial_p_value,
    max_statistic_p_value,
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


def observed_and_null(rng, x, y, runs, blocks=None, n_permutations=39):
    """Score the observed labeling and permutations in one call."""
    permuted = permute_labels(
        y, groups=runs, blocks=blocks, n_permutations=n_permutations, random_state=rng
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


@pytest.mark.parametrize("n_draws", N_DRAWS)
def test_scans_of_a_block_must_move_together(n_draws):
    rng = np.random.default_rng(1)
    # 3 runs of 6 blocks of 5 scans that share most of their noise
    runs = np.repeat(np.arange(3), 30)
    blocks = np.repeat(np.arange(18), 5)
    hits = np.zeros(2, dtype=int)
    for _ in range(n_draws):
        y = np.concatenate([rng.permutation([0, 0, 0, 1, 1, 1]) for _ in range(3)])[
            blocks
        ]
        x = rng.normal(size=(18, 8))[blocks] + 0.5 * rng.normal(size=(90, 8))
        whole = observed_and_null(rng, x, y, runs, blocks, n_permutations=19)
        single = observed_and_null(rng, x, y, runs, n_permutations=19)
        hits += [
            permutation_p_value(*whole) <= 0.05,
            permutation_p_value(*single) <= 0.05,
        ]
    assert consistent_with(0.05, hits[0], n_draws)
    assert hits[1] / n_draws > 0.12


@pytest.mark.parametrize("n_draws", N_DRAWS)
def test_family_wise_error(n_draws):
    rng = np.random.default_rng(2)
    runs, y = np.repeat(np.arange(4), 6), np.tile(np.repeat([0, 1, 2], 2), 4)
    any_hit = any_local = 0
    for _ in range(n_draws):
        x = rng.normal(size=(24, 30))
        permuted = permute_labels(y, groups=runs, n_permutations=39, random_state=rng)
        labels = np.vstack([y, permuted])
        scores = np.array(  # overlapping regions, the same permutations in each
            [pairwise_accuracy(x[:, i : i + 6], labels, runs) for i in range(0, 25, 3)]
        )
        p = max_statistic_p_value(scores[:, 0], scores[:, 1:].max(axis=0))
        any_hit += p.min() <= 0.05
        local = permutation_p_value(scores[:, 0], scores[:, 1:].T)
        any_local += local.min() <= 0.05
    assert consistent_with(0.05, any_hit, n_draws)
    assert any_local / n_draws > 0.15


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
