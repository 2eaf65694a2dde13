"""Bounds for every set of regions, against the definition set by set."""

import numpy as np
import pytest

from neuroextrap.stats import true_discoveries, true_discovery_thresholds
from tests.stats.seam import DiscoveryBounds


def bounds(seed=0, n_regions=30, n_kept=30, signal=2.0, decimals=1):
    """Return bounds over regions with ties, and the null that they come from."""
    rng = np.random.default_rng(seed)
    null = np.round(rng.normal(size=(60, n_regions)), decimals)
    scores = np.round(rng.normal(size=n_regions), decimals)
    scores[: n_regions // 2] += signal
    largest = -np.sort(-null, axis=1)[:, :n_kept]
    return DiscoveryBounds.of(scores, largest, 0.95)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_kept", [1, 4, 30])
def test_a_curve_is_the_bound_of_every_level_set(seed, n_kept):
    found = bounds(seed, n_kept=n_kept)
    chosen = np.random.default_rng(seed + 100).random(30) < 0.6
    scores = found.scores[chosen]
    levels, n_reached, n_true = found.curve(chosen)
    np.testing.assert_array_equal(levels, np.unique(scores)[::-1])
    for level, reached, true in zip(levels, n_reached, n_true, strict=True):
        of_level = scores[scores >= level]
        assert reached == len(of_level)
        assert true == true_discoveries(of_level, found.thresholds)
    assert found.count(chosen) == n_true[-1] == n_true.max()


@pytest.mark.parametrize("seed", range(5))
def test_proportions_are_the_best_of_the_level_sets_around_a_region(seed):
    found = bounds(seed, signal=3.0)
    shares = found.proportions()
    for score, share in zip(found.scores, shares, strict=True):
        sets = [found.scores >= level for level in found.scores if level <= score]
        best = max(found.count(chosen) / chosen.sum() for chosen in sets)
        assert share == best
    assert shares.max() > 0.5
    assert (np.diff(shares[np.argsort(found.scores)]) >= 0).all()


def test_a_larger_set_never_has_a_smaller_bound():
    found, rng = bounds(3), np.random.default_rng(0)
    small = rng.random((50, 30)) < 0.4
    for chosen, more in zip(small, small | (rng.random((50, 30)) < 0.4), strict=True):
        assert found.count(chosen) <= found.count(more)


def test_regions_that_were_not_analyzed_do_not_count():
    null = np.random.default_rng(0).normal(size=(99, 8))
    scores = np.array([9.0, np.nan, 8.0, 0.0, np.nan, 7.0, 0.0, 0.0])
    found = DiscoveryBounds.of(scores, null, 0.95)
    assert found.count() == 3
    assert found.count(np.isnan(scores)) == 0
    assert found.curve(np.isnan(scores))[0].size == 0
    np.testing.assert_array_equal(np.isnan(found.proportions()), np.isnan(scores))


def test_ranks_that_a_part_of_a_run_lacks_are_left_out():
    null = -np.sort(-np.random.default_rng(0).normal(size=(99, 8)), axis=1)
    part = np.where(np.arange(8) < 5, null, -np.inf)
    found = DiscoveryBounds.of(np.full(8, 9.0), part, 0.95)
    np.testing.assert_array_equal(
        found.thresholds, true_discovery_thresholds(null[:, :5])
    )
    nothing = np.full((99, 8), -np.inf)
    assert DiscoveryBounds.of(np.full(8, 9.0), nothing, 0.95) is None


@pytest.mark.parametrize(("n", "known"), [(0, False), (36, False), (37, True)])
def test_no_number_is_made_up_of_few_permutations(n, known):
    null = np.random.default_rng(0).normal(size=(n, 4))
    assert (DiscoveryBounds.of(np.zeros(4), null, 0.95) is not None) == known
    assert DiscoveryBounds.of(np.zeros(4), None, 0.95) is None


def test_statistics_without_limit_tie_with_the_largest_finite_one():
    null = np.random.default_rng(0).normal(size=(99, 8))
    null[:3, 0] = np.inf
    scores = np.r_[np.inf, np.inf, 5.0, np.zeros(5)]
    found = DiscoveryBounds.of(scores, null, 0.95)
    assert np.isfinite(found.thresholds).all()
    assert found.count(np.arange(8) < 2) <= found.count(np.arange(8) < 3)
    everywhere = DiscoveryBounds.of(np.full(8, np.inf), np.full((99, 8), np.inf), 0.95)
    assert everywhere.count() == 0


@pytest.mark.parametrize("value", [1 / 3, 2 / 3, 0.1, 0.7, 1e-3, 123.4])
def test_single_precision_of_what_is_kept_makes_no_discovery(value):
    kept = np.full((99, 40), value, dtype=np.float32)
    assert DiscoveryBounds.of(np.full(40, value), kept, 0.95).count() == 0
