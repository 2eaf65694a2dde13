"""The one loop of permutation tests over subjects: scores, maxima, clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from neuroextrap.stats import _pvalues
from neuroextrap.stats._linear_scores import Scorer
from neuroextrap.stats._null_counts import (
    NullCounts,
    keep_largest,
    largest_heights,
    n_largest,
    tail_p_value,
    tie_floor,
)
from neuroextrap.stats._true_discoveries import DiscoveryBounds
from neuroextrap.stats._validation import FloatArray, batches

# exponents (Smith & Nichols 2009, "Threshold-free cluster enhancement", equation 1)
EXTENT_POWER, HEIGHT_POWER = 0.5, 2.0


class Clusters(NamedTuple):
    """The clusters of a map."""

    number: NDArray[np.intp]  # (n_features,) of its cluster, -1 outside
    extent: FloatArray  # (n_clusters,) number of features
    mass: FloatArray  # (n_clusters,) sum of heights above the threshold

    def spread(self, values: FloatArray) -> FloatArray:
        """Give every feature the value of its cluster, 0 outside."""
        return np.append(values, 0.0)[self.number]


def find_clusters(excess: FloatArray, neighbors: NDArray[np.intp]) -> Clusters:
    """Find the connected sets of positive excess (n_features,) over a threshold."""
    above = np.flatnonzero(excess > 0)
    number = np.full(len(excess), -1, dtype=np.intp)
    if not len(above):
        return Clusters(number, np.empty(0), np.empty(0))
    first, second = pairs_among(above, neighbors, len(excess)).T
    entries = np.ones(len(first), dtype=np.int8), (first, second)
    graph = coo_array(entries, shape=(len(above), len(above)))
    _, number[above] = connected_components(graph, directed=False)
    extent, mass = np.bincount(number[above]), np.bincount(number[above], excess[above])
    return Clusters(number, extent.astype(np.float64), mass.astype(np.float64))


def pairs_among(
    features: NDArray[np.intp], neighbors: NDArray[np.intp], n_features: int
) -> NDArray[np.intp]:
    """Return the pairs of neighbors (n_pairs, 2) among some features, as places."""
    place = np.full(n_features, -1, dtype=np.intp)
    place[features] = np.arange(len(features))
    pairs = place[neighbors]
    return pairs[(pairs[:, 0] >= 0) & (pairs[:, 1] >= 0)]


def threshold_free_enhancement(
    heights: FloatArray, neighbors: NDArray[np.intp]
) -> FloatArray:
    """Integrate extent ** 0.5 * height ** 2 up to each feature's height, exactly."""
    positive = np.flatnonzero(heights > 0)
    enhanced = np.zeros(len(heights))
    if not len(positive):
        return enhanced
    pairs = pairs_among(positive, neighbors, len(heights))
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
    (n_pairs, 2) are in falling order of `joined` (n_pairs,), the integral where the two
    join, `powers` (n + 1,) are extents to their exponent. What a cluster has gathered
    is kept at its root, less what roots above keep: a feature's value is the sum on its
    way to the root.
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


_BATCH_NUMBERS = 2**21  # scores held at once


@dataclass(frozen=True)
class Corrections:
    """What is computed beside the maximum statistic."""

    two_sided: bool = False
    step_down: bool = False
    neighbors: Any = None  # (n_pairs, 2), of clusters and heights
    threshold: FloatArray | None = None  # (n_features,) of clusters; None for none
    enhance: bool = False

    def compared(self, scores: FloatArray) -> FloatArray:
        """Return what is compared of scores."""
        return np.abs(scores) if self.two_sided else scores


class Part(NamedTuple):
    """Permutations, counted from 0 without the observed one, and features."""

    permutations: slice
    features: slice


@dataclass
class Permuted:
    """What the permutations amount to."""

    counts: NullCounts
    largest: FloatArray  # (n_permutations, n_largest), packed with their features
    order: NDArray[np.intp] | None = None  # of observed scores, None: no step-down
    n_left: NDArray[np.int64] | None = None  # as `count_left` counts
    cluster_maxima: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def n_permutations(self) -> int:
        """Number of permutations beside the observed one."""
        return len(self.counts.maxima)

    def p_values(self) -> dict[str, FloatArray]:
        """Return p-values by name, each (n_features,)."""
        p_values = {"p_value": self.counts.p_value()}
        p_values["p_value_fwe"] = self.counts.p_value_fwe()
        if self.n_left is not None and self.order is not None:
            p_values["p_value_fwe_step_down"] = _pvalues.step_down_from_counts(
                self.n_left, self.order, self.n_permutations
            )
        return p_values

    def add(self, part: Part, summary: Permuted) -> None:
        """Add what was found in one part."""
        self.counts.n_reached[part.features] += summary.counts.n_reached
        maxima = self.counts.maxima[part.permutations]
        np.maximum(maxima, summary.counts.maxima, out=maxima)
        largest = summary.largest
        if part.features != slice(None) or not largest.size:
            both = [self.largest[part.permutations], largest]
            largest = keep_largest(np.concatenate(both, axis=1), self.largest.shape[1])
        self.largest[part.permutations] = largest
        if self.n_left is not None and summary.n_left is not None:
            self.n_left += summary.n_left
        for name, values in summary.cluster_maxima.items():
            every = self.cluster_maxima.setdefault(name, np.empty(self.n_permutations))
            every[part.permutations] = values


def permute(  # noqa: PLR0913 - how work is cut and run changes no result
    score: Callable[[slice, slice], FloatArray],
    floor: FloatArray,
    n_permutations: int,
    corrections: Corrections = Corrections(),
    *,
    heights: Callable[[FloatArray], FloatArray] = np.asarray,
    parts: Iterable[Part] | None = None,
    run: Callable[..., Iterable[Any]] = map,
    progress: Callable[[int, int], None] | None = None,
) -> Permuted:
    """Score every permutation, and compare with what was observed.

    `score(permutations, features)` returns scores (n, n_features) of slices of both,
    `floor` (n_features,) are the least that tie with the observed ones, `heights` turns
    scores into those of clusters, and `run` is ``map`` or does so in threads. Work is
    cut by permutations, or into `parts` of features, without clusters and step-down.
    """
    n_kept = n_largest(len(floor), n_permutations)
    largest = np.full((n_permutations, n_kept), -np.inf)
    features = np.arange(len(floor))
    total = Permuted(NullCounts.start(floor, n_permutations), largest)
    if corrections.step_down:
        total.order = np.argsort(floor, kind="stable")
        total.n_left = np.zeros(len(floor), dtype=np.int64)
    if parts is None:
        rows = batches(n_permutations, _BATCH_NUMBERS // max(1, len(floor)))
        parts = [Part(batch, slice(None)) for batch in rows]

    def one_part(part: Part) -> tuple[Part, Permuted]:
        scores = score(*part)
        counts = NullCounts.start(floor[part.features], len(scores))
        compared = corrections.compared(scores)
        counts.add(compared.T, 0)
        regions = features[part.features]
        summary = Permuted(counts, largest_heights(compared, regions, n_kept, heights))
        if total.order is not None:
            summary.n_left = _pvalues.count_left(compared, floor, total.order)
        if corrections.neighbors is not None:
            summary.cluster_maxima = _cluster_maxima(heights(scores), corrections)
        return part, summary

    for part, part_summary in run(one_part, parts):
        total.add(part, part_summary)
        if progress is not None:
            progress(part.permutations.stop, n_permutations)
    return total


class Arrangements(NamedTuple):
    """How a permutation test rearranges the rows of a design, observed first."""

    source: NDArray[np.intp]  # (1 + n_permutations, n_observations) row that each gets
    signs: NDArray[np.int8]  # and what it is multiplied by
    are_all: bool  # that exist: the test is exact by enumeration

    @property
    def n_permutations(self) -> int:
        """Number of arrangements beside the observed one."""
        return len(self.signs) - 1

    def rows(self, design: FloatArray, batch: slice) -> FloatArray:
        """Return rearranged designs, shape (n_arrangements, n_observations, ...)."""
        signs = self.signs[batch].astype(design.dtype)
        return design[self.source[batch]] * signs[..., np.newaxis]


def rearrangement_test(
    scorer: Scorer,
    arrangements: Arrangements,
    design: FloatArray,
    corrections: Corrections,
    *,
    run: Callable[..., Iterable[Any]] = map,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], DiscoveryBounds | None]:
    """Score arrangements of a design; return maps, maxima by map, and discoveries."""
    observed = scorer(arrangements.rows(design, slice(0, 1)))[0]
    compared = corrections.compared(observed)
    floor = tie_floor(compared, scorer.scale + np.abs(compared))

    def score(permutations: slice, _: slice) -> FloatArray:
        batch = slice(1 + permutations.start, 1 + permutations.stop)
        return scorer(arrangements.rows(design, batch))

    total = permute(
        score,
        floor,
        arrangements.n_permutations,
        corrections,
        heights=scorer.heights,
        run=run,
        progress=progress,
    )
    statistic = scorer.heights(observed)
    compared = corrections.compared(statistic)
    bounds = DiscoveryBounds.of(compared, total.largest, 1 - _pvalues.LEVEL)
    maps = {scorer.name: statistic, **total.p_values()}
    maxima = scorer.heights(total.counts.maxima)
    if not arrangements.are_all:
        # small p-values are refined by the tail of the maxima
        tail = tail_p_value(scorer.heights(floor), maxima)
        maps["p_value_fwe_tail"] = tail[0]
    maps |= _cluster_p_values(statistic, total.cluster_maxima, corrections)
    return maps, total.cluster_maxima | {scorer.name: maxima}, bounds


def _sizes_of_clusters(
    heights: FloatArray, corrections: Corrections
) -> tuple[list[Clusters], dict[str, list[FloatArray]]]:
    """Return clusters by sign, and their extents, masses and enhanced heights."""
    clusters, sizes, pairs = [], {}, corrections.neighbors
    signs = (1, -1) if corrections.two_sided else (1,)
    if corrections.threshold is not None:
        excess = [s * heights - corrections.threshold for s in signs]
        clusters = [find_clusters(each, pairs) for each in excess]
        sizes["cluster_extent"] = [each.extent for each in clusters]
        sizes["cluster_mass"] = [each.mass for each in clusters]
    if corrections.enhance:
        signed = [s * threshold_free_enhancement(s * heights, pairs) for s in signs]
        sizes["tfce"] = signed
    return clusters, sizes


def _cluster_maxima(
    rows: FloatArray, corrections: Corrections
) -> dict[str, FloatArray]:
    """Return the largest extent, mass and enhanced height of each map, a row each."""
    largest: dict[str, list[float]] = {}
    for row in rows:
        for name, sizes in _sizes_of_clusters(row, corrections)[1].items():
            most = max(np.abs(each).max(initial=0.0) for each in sizes)
            largest.setdefault(name, []).append(most)
    return {name: np.array(values) for name, values in largest.items()}


def _cluster_p_values(
    heights: FloatArray, maxima: dict[str, FloatArray], corrections: Corrections
) -> dict[str, FloatArray]:
    """Return maps of clusters, and their family-wise p; outside, 0 and 1."""
    maps: dict[str, FloatArray] = {}
    clusters, sizes = _sizes_of_clusters(heights, corrections)
    for name, of_signs in sizes.items():
        spread = (
            of_signs if name == "tfce" else map(Clusters.spread, clusters, of_signs)
        )
        values = np.sum(list(spread), axis=0)
        size = np.abs(values)
        floor = tie_floor(size, size if name == "tfce" else 1 + size)
        p = _pvalues.max_statistic_p_value(floor, maxima[name])
        maps |= {name: values, f"p_value_fwe_{name}": np.where(size > 0, p, 1.0)}
    return maps
