"""Clusters of a map over neighboring features, and threshold-free enhancement.

Features are the vertices of a graph: voxels that share a face, vertices of a mesh that
share an edge. Nothing here knows of images.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from neuroextrap.stats._validation import FloatArray

# exponents (Smith & Nichols 2009, "Threshold-free cluster enhancement", equation 1)
EXTENT_POWER, HEIGHT_POWER = 0.5, 2.0


class Clusters(NamedTuple):
    """The clusters of a map."""

    number: NDArray[np.intp]  # (n_features,) of its cluster, -1 outside
    extent: FloatArray  # (n_clusters,) number of features
    mass: FloatArray  # (n_clusters,) sum of heights above the threshold

    def spread(self, values: FloatArray) -> FloatArray:
        """Give every feature the value of its cluster, 0 outside."""
        padded = np.append(np.asarray(values, dtype=np.float64), 0.0)
        return padded[self.number]


def find_clusters(excess: FloatArray, neighbors: NDArray[np.intp]) -> Clusters:
    """Find the connected sets of positive excess (n_features,) over a threshold."""
    above = np.flatnonzero(excess > 0)
    number = np.full(len(excess), -1, dtype=np.intp)
    if not len(above):
        return Clusters(number, np.empty(0), np.empty(0))
    first, second = _pairs_among(above, neighbors, len(excess)).T
    entries = np.ones(len(first), dtype=np.int8), (first, second)
    graph = coo_array(entries, shape=(len(above), len(above)))
    _, number[above] = connected_components(graph, directed=False)
    extent, mass = np.bincount(number[above]), np.bincount(number[above], excess[above])
    return Clusters(number, extent.astype(np.float64), mass.astype(np.float64))


def _pairs_among(
    features: NDArray[np.intp], neighbors: NDArray[np.intp], n_features: int
) -> NDArray[np.intp]:
    """Return the pairs of neighbors (n_pairs, 2) among some features, as places."""
    place = np.full(n_features, -1, dtype=np.intp)
    place[features] = np.arange(len(features))
    pairs = place[neighbors]
    return pairs[(pairs >= 0).all(axis=1)]


def threshold_free_enhancement(
    heights: FloatArray, neighbors: NDArray[np.intp]
) -> FloatArray:
    """Integrate extent ** 0.5 * height ** 2 up to each feature's height, exactly."""
    positive = np.flatnonzero(heights > 0)
    enhanced = np.zeros(len(heights))
    if not len(positive):
        return enhanced
    pairs = _pairs_among(positive, neighbors, len(heights))
    integral = heights[positive] ** (HEIGHT_POWER + 1) / (HEIGHT_POWER + 1)
    joined = np.minimum(integral[pairs[:, 0]], integral[pairs[:, 1]])
    order = np.argsort(-joined)
    powers = np.arange(len(positive) + 1, dtype=np.float64) ** EXTENT_POWER
    enhanced[positive] = _enhance()(integral, pairs[order], joined[order], powers)
    return enhanced


@cache
def _enhance() -> Callable[..., FloatArray]:
    """Return the loop over pairs, compiled."""
    from numba import njit

    return njit(cache=True, nogil=True)(enhance)


def enhance(integral, pairs, joined, powers):
    """Grow clusters downward from the peaks; return each feature's integral.

    `integral` (n,) is that of height ** H from 0 to each feature's height, `pairs`
    (n_pairs, 2) are in falling order of `joined` (n_pairs,), the integral at the height
    at which the two are in one cluster, `powers` (n + 1,) are extents to their
    exponent. What a cluster has gathered since it was formed is kept at its root, less
    what is kept at the roots above, so that a feature's value is the sum on its way to
    the root.
    """
    n = len(integral)
    parent = np.arange(n)
    size = np.ones(n, dtype=np.int64)
    reached = integral.copy()  # down to where a root has been counted
    gathered = np.zeros(n)
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a == b:
            continue
        if size[a] < size[b]:
            a, b = b, a
        gathered[a] += powers[size[a]] * (reached[a] - joined[k])
        gathered[b] += powers[size[b]] * (reached[b] - joined[k])
        gathered[b] -= gathered[a]
        reached[a] = joined[k]
        parent[b] = a
        size[a] += size[b]
    total = np.empty(n)
    for i in range(n):
        a, value = i, gathered[i]
        while parent[a] != a:
            a = parent[a]
            value += gathered[a]
        total[i] = value + powers[size[a]] * reached[a]
    return total
