"""Bounds for every set of regions, against the definition set by set."""

import numpy as np
import pytest

from neuroextrap.stats import true_discoveries, true_discovery_thresholds
from tests.stats.seam import DiscoveryBounds, LargestValues, packed_largest


def bounds(seed=0, n_regions=30, n_kept=30, signal=2.0, decimals=1):
    """Return bounds over regions with ties, and the null that they come from."""
    rng = np.random.default_rng(seed)
    null = np.round(rng.normal(size=(60, n_regions)), decimals)
    scores = np.round(rng.normal(size=n_regions), decimals)
    scores[: n_regions // 2] += signal
    return DiscoveryBounds.of(scores, packed(null)[:, :n_kept], 0.95)


def packed(null):
    """Return whole permuted maps as a run keeps them, the largest values first."""
    return -np.sort(-packed_largest(null, np.arange(null.shape[1])), axis=1)


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
    found = DiscoveryBounds.of(scores, packed(null), 0.95)
    assert found.count() == 3
    assert found.count(np.isnan(scores)) == 0
    assert found.curve(np.isnan(scores))[0].size == 0
    np.testing.assert_array_equal(np.isnan(found.proportions()), np.isnan(scores))


def test_ranks_that_a_part_of_a_run_lacks_are_left_out():
    null = np.random.default_rng(0).normal(size=(99, 8)).astype(np.float32)
    part = np.where(np.arange(8) < 5, packed(null), -np.inf)
    found = DiscoveryBounds.of(np.zeros(8), part, 0.95)
    np.testing.assert_array_equal(
        found.thresholds, true_discovery_thresholds(-np.sort(-null, axis=1)[:, :5])
    )
    nothing = np.full((99, 8), -np.inf)
    assert DiscoveryBounds.of(np.full(8, 9.0), nothing, 0.95) is None


@pytest.mark.parametrize(("n", "known"), [(0, False), (36, False), (37, True)])
def test_no_number_is_made_up_of_few_permutations(n, known):
    null = packed(np.random.default_rng(0).normal(size=(n, 4)))
    assert (DiscoveryBounds.of(np.zeros(4), null, 0.95) is not None) == known
    assert DiscoveryBounds.of(np.zeros(4), None, 0.95) is None


def test_statistics_without_limit_tie_with_the_largest_finite_one():
    null = np.random.default_rng(0).normal(size=(99, 8))
    null[:3, 0] = np.inf
    scores = np.r_[np.inf, np.inf, 5.0, np.zeros(5)]
    found = DiscoveryBounds.of(scores, packed(null), 0.95)
    assert np.isfinite(found.thresholds).all()
    assert found.count(np.arange(8) < 2) <= found.count(np.arange(8) < 3)
    without_limit = packed(np.full((99, 8), np.inf))
    everywhere = DiscoveryBounds.of(np.full(8, np.inf), without_limit, 0.95)
    assert everywhere.count() == 0


@pytest.mark.parametrize("value", [1 / 3, 2 / 3, 0.1, 0.7, 1e-3, 123.4])
def test_single_precision_of_what_is_kept_makes_no_discovery(value):
    kept = packed(np.full((99, 40), value))
    assert DiscoveryBounds.of(np.full(40, value), kept, 0.95).count() == 0


def stepped_down(scores, null):
    """The step-down thresholds by their definition, from whole permuted maps."""
    order = np.random.default_rng(0).permutation(len(null))
    shaping, calibrating = np.split(order, [len(null) // 2])
    ranked = -np.sort(-null, axis=1)
    mean, sd = ranked[shaping].mean(axis=0), ranked[shaping].std(axis=0, ddof=1)
    sd = np.maximum(sd, 0.05 * sd.max())
    left, thresholds = np.ones(len(scores), dtype=bool), np.full(len(scores), np.inf)
    while True:
        values = -np.sort(-null[calibrating][:, left], axis=1)
        n = values.shape[1]
        excess = np.sort(((values - mean[:n]) / sd[:n]).max(axis=1))
        t = excess[int(np.ceil(0.95 * (len(values) + 1))) - 1]
        thresholds[:n] = mean[:n] + t * sd[:n]
        if ((scores <= thresholds[0]) == left).all():
            return np.minimum.accumulate(thresholds)
        left = scores <= thresholds[0]


@pytest.mark.parametrize("seed", range(4))
def test_thresholds_step_down_over_regions_found_one_by_one(seed):
    rng = np.random.default_rng(seed)
    null = rng.normal(size=(99, 60)) + rng.normal(size=(99, 1))
    scores = rng.normal(size=60) + np.where(np.arange(60) < 40, rng.uniform(1, 9), 0)
    found = DiscoveryBounds.of(scores, packed(null), 0.95)
    expected = stepped_down(scores, null.astype(np.float32).astype(float))
    np.testing.assert_allclose(found.thresholds, expected, atol=1e-5)
    single = true_discovery_thresholds(null)
    assert (found.thresholds <= single + 1e-5).all()
    assert found.count() >= true_discoveries(scores, single)
    fewer = DiscoveryBounds.of(scores, packed(null)[:, :30], 0.95)
    assert fewer.thresholds[0] <= single[0] + 1e-5


def test_a_shard_s_values_keep_their_regions():
    rng = np.random.default_rng(0)
    null, kept = rng.integers(0, 9, size=(50, 40)) / 9, LargestValues.start(50, 40)
    kept.n_kept = 12
    for part in np.split(rng.permutation(40), 4):
        kept.add(null[:, part], part)
    np.testing.assert_array_equal(kept.ordered(), packed(null)[:, :12])


@pytest.mark.parametrize(
    "n_sets", [150, pytest.param(3000, id="full", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("informative", [0, 30, 55])
def test_stepping_down_keeps_the_joint_error(n_sets, informative):
    rng, errors = np.random.default_rng(informative), 0
    for _ in range(n_sets):
        subjects = rng.normal(size=(20, 60)) + rng.normal(size=(20, 1))
        subjects[:, :informative] += rng.uniform(0.5, 2)
        null = rng.choice([-1, 1], size=(99, 20)) @ subjects / 20
        found = DiscoveryBounds.of(subjects.mean(axis=0), packed(null), 0.95)
        errors += found.count(np.arange(60) >= informative) > 0
    assert errors / n_sets <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_sets)
