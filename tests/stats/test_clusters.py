"""Clusters and threshold-free enhancement on graphs, against searches step by step."""

import numpy as np
import pytest

from tests.stats.seam import (
    _rearrangement_test,
    enhance,
    find_clusters,
    threshold_free_enhancement,
)


def graph(seed, n=40, n_pairs=90):
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.sort(rng.integers(0, n, (n_pairs, 2)), axis=1), axis=0)
    heights = rng.normal(size=n)
    heights[:6] = heights[6]  # ties
    return heights, pairs[pairs[:, 0] != pairs[:, 1]]


def cluster_of(feature, inside, pairs):
    """Walk from a feature to all neighbors inside."""
    found, waiting = {feature}, [feature]
    while waiting:
        here = waiting.pop()
        for a, b in pairs.tolist():
            for one, other in ((a, b), (b, a)):
                if one == here and inside[other] and other not in found:
                    found.add(other)
                    waiting.append(other)
    return sorted(found)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_equal_a_walk(seed):
    heights, pairs = graph(seed)
    excess = heights - 0.2
    clusters = find_clusters(excess, pairs)
    extent, mass = (clusters.spread(v) for v in (clusters.extent, clusters.mass))
    for feature in range(len(heights)):
        if excess[feature] <= 0:
            assert clusters.number[feature] == -1
            assert extent[feature] == mass[feature] == 0
            continue
        members = cluster_of(feature, excess > 0, pairs)
        assert extent[feature] == len(members)
        assert mass[feature] == pytest.approx(excess[members].sum())
        assert (clusters.number[members] == clusters.number[feature]).all()
    assert len(clusters.extent) == clusters.number.max() + 1


def test_no_cluster():
    heights, pairs = graph(0)
    clusters = find_clusters(np.minimum(heights - 9, 0), pairs)
    assert len(clusters.extent) == len(clusters.mass) == 0
    assert (clusters.number == -1).all()
    np.testing.assert_array_equal(clusters.spread(clusters.extent), np.zeros(40))
    alone = find_clusters(np.array([0.0, 2.0, 0.0]), np.array([[0, 1], [1, 2]]))
    assert alone.extent.tolist() == [1]
    assert alone.mass.tolist() == [2]


def naive_enhancement(heights, pairs):
    """Add the slabs between successive heights; a slab's extent does not change."""
    levels = np.unique(heights[heights > 0])
    total = np.zeros(len(heights))
    for low, high in zip(np.r_[0, levels[:-1]], levels, strict=True):
        inside = heights >= high
        slab = (high**3 - low**3) / 3
        for feature in np.flatnonzero(inside):
            total[feature] += len(cluster_of(feature, inside, pairs)) ** 0.5 * slab
    return total


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_enhancement_equals_the_sum_of_slabs(seed, compiled, monkeypatch):
    """Compiled, and as the loop is written, in which coverage sees the lines."""
    if not compiled:
        monkeypatch.setattr(_rearrangement_test, "_enhance", lambda: enhance)
    heights, pairs = graph(seed)
    found = threshold_free_enhancement(heights, pairs)
    np.testing.assert_allclose(found, naive_enhancement(heights, pairs), rtol=1e-10)


def test_nothing_to_enhance():
    heights, pairs = graph(1)
    assert not threshold_free_enhancement(-np.abs(heights), pairs).any()
    one = threshold_free_enhancement(np.array([0.0, 2.0]), np.array([[0, 1]]))
    np.testing.assert_allclose(one, [0, 8 / 3])
