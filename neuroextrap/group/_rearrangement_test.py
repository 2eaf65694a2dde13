"""The one loop of permutation tests over subjects: scores, their maxima, clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from neuroextrap.stats import _pvalues
from neuroextrap.stats._arrangements import Arrangements
from neuroextrap.stats._cluster_statistics import (
    Clusters,
    find_clusters,
    threshold_free_enhancement,
)
from neuroextrap.stats._linear_scores import Scorer
from neuroextrap.stats._null_counts import NullCounts
from neuroextrap.stats._tail_p_value import tail_p_value
from neuroextrap.stats._validation import FloatArray

_BATCH_NUMBERS = 2**21  # scores held at once
# scores that differ by less, relative to their size, are equal
_TIE = 1e-10


@dataclass(frozen=True)
class Corrections:
    """What is computed beside the maximum statistic.

    `neighbors` (n_pairs, 2) are needed by clusters and enhancement; `threshold`
    (n_features,) is the cluster-forming height, None for no clusters.
    """

    two_sided: bool = False
    step_down: bool = False
    neighbors: NDArray[np.intp] | None = None
    threshold: FloatArray | None = None
    enhance: bool = False


@dataclass
class _Batch:
    """What some arrangements amount to; arrays of maxima are (n_arrangements,)."""

    n_reached: NDArray[np.int64]
    maxima: FloatArray
    n_reached_below: NDArray[np.int64] | None = None
    cluster_maxima: dict[str, FloatArray] = field(default_factory=dict)


def rearrangement_test(
    scorer: Scorer,
    arrangements: Arrangements,
    design: FloatArray,
    corrections: Corrections,
    *,
    n_jobs: int | None = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Score every arrangement of a design; return the statistic and p-values by name.

    Also returned are the largest values of every arrangement, by the map that they
    belong to. `design` has shape (n_observations, n_columns), the effect first.
    Clusters are connected sets of one sign. `n_jobs` threads do not affect results;
    `progress` is called with (arrangements done, in all).
    """
    observed = scorer(arrangements.rows(design, slice(0, 1)))[0]
    compared = np.abs(observed) if corrections.two_sided else observed
    floor = _tie_floor(compared)
    order = np.argsort(compared, kind="stable") if corrections.step_down else None
    width = max(1, _BATCH_NUMBERS // len(observed))
    n_all = arrangements.n_permutations
    batches = [
        slice(1 + first, 1 + min(first + width, n_all))
        for first in range(0, n_all, width)
    ]

    def one_batch(batch: slice) -> _Batch:
        scores = scorer(arrangements.rows(design, batch))
        return _summarize(scorer, scores, floor, order, corrections)

    total = _add_up(
        Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(one_batch)(batch) for batch in batches
        ),
        len(observed),
        n_all,
        progress,
    )
    p_values = {
        "p_value": _pvalues.p_value_from_counts(total.n_reached, n_all),
        "p_value_fwe": _pvalues.max_statistic_p_value(floor, total.maxima),
    }
    if total.n_reached_below is not None and order is not None:
        p_values["p_value_fwe_step_down"] = _pvalues.step_down_from_counts(
            total.n_reached_below, order, n_all
        )
    if not arrangements.are_all:
        p_values["p_value_fwe_tail"] = _tail(scorer, compared, total.maxima)
    statistic = scorer.heights(observed)
    clusters = _cluster_p_values(statistic, total.cluster_maxima, corrections)
    maxima = {"statistic": scorer.heights(total.maxima)} | {
        name if name == "tfce" else f"cluster_{name}": values
        for name, values in total.cluster_maxima.items()
    }
    return {"statistic": statistic, **p_values, **clusters}, maxima


def _tail(scorer: Scorer, scores: FloatArray, maxima: FloatArray) -> FloatArray:
    """Refine small family-wise p-values by the tail of the maxima."""
    floor = scorer.heights(_tie_floor(scores))
    return tail_p_value(floor, scorer.heights(maxima))[0]


def _tie_floor(values: FloatArray) -> FloatArray:
    """Return the least numbers that tie with values, up to rounding."""
    return values - _TIE * (1 + np.abs(values))


def _summarize(
    scorer: Scorer,
    scores: FloatArray,
    floor: FloatArray,
    order: NDArray[np.intp] | None,
    corrections: Corrections,
) -> _Batch:
    """Count scores (n_arrangements, n_features) and find their maxima."""
    compared = np.abs(scores) if corrections.two_sided else scores
    counts = NullCounts.start(floor, len(scores))
    counts.add(compared.T, 0)
    batch = _Batch(counts.n_reached, counts.maxima)
    if order is not None:
        batch.n_reached_below = _pvalues.count_left(compared, floor, order)
    if corrections.neighbors is not None:
        rows = [_cluster_maxima(row, corrections) for row in scorer.heights(scores)]
        batch.cluster_maxima = {
            name: np.array([row[name] for row in rows]) for name in rows[0]
        }
    return batch


def _add_up(
    batches: Iterator[_Batch],
    n_features: int,
    n_all: int,
    progress: Callable[[int, int], None] | None,
) -> _Batch:
    """Add the counts of all batches and join their maxima."""
    total = _Batch(np.zeros(n_features, dtype=np.int64), np.empty(0))
    maxima: list[FloatArray] = []
    cluster_maxima: dict[str, list[FloatArray]] = {}
    n_done = 0
    for batch in batches:
        total.n_reached += batch.n_reached
        maxima.append(batch.maxima)
        if batch.n_reached_below is not None:
            if total.n_reached_below is None:
                total.n_reached_below = np.zeros(n_features, dtype=np.int64)
            total.n_reached_below += batch.n_reached_below
        for name, values in batch.cluster_maxima.items():
            cluster_maxima.setdefault(name, []).append(values)
        n_done += len(batch.maxima)
        if progress is not None:
            progress(n_done, n_all)
    total.maxima = np.concatenate(maxima)
    total.cluster_maxima = {n: np.concatenate(v) for n, v in cluster_maxima.items()}
    return total


def _signs(corrections: Corrections) -> tuple[int, ...]:
    """Return the signs whose clusters are looked at."""
    return (1, -1) if corrections.two_sided else (1,)


def _clusters(scores: FloatArray, sign: int, corrections: Corrections) -> Clusters:
    """Find the clusters of one sign."""
    assert corrections.neighbors is not None
    assert corrections.threshold is not None
    return find_clusters(sign * scores - corrections.threshold, corrections.neighbors)


def _cluster_maxima(scores: FloatArray, corrections: Corrections) -> dict[str, float]:
    """Return the largest extent, mass and enhanced score of one map."""
    assert corrections.neighbors is not None
    largest = {}
    if corrections.threshold is not None:
        found = [_clusters(scores, sign, corrections) for sign in _signs(corrections)]
        for name in ("extent", "mass"):
            values = [getattr(clusters, name).max(initial=0.0) for clusters in found]
            largest[name] = max(values)
    if corrections.enhance:
        largest["tfce"] = max(
            threshold_free_enhancement(sign * scores, corrections.neighbors).max()
            for sign in _signs(corrections)
        )
    return largest


def _cluster_p_values(
    scores: FloatArray, maxima: dict[str, FloatArray], corrections: Corrections
) -> dict[str, FloatArray]:
    """Return maps of extent, mass and enhanced scores, and their family-wise p.

    Outside of clusters extent and mass are 0 and p is 1.
    """
    if corrections.neighbors is None:
        return {}
    maps = {}
    for name in ("extent", "mass") if corrections.threshold is not None else ():
        value = np.zeros(len(scores))
        for sign in _signs(corrections):
            clusters = _clusters(scores, sign, corrections)
            value += clusters.spread(getattr(clusters, name))
        maps[f"cluster_{name}"] = value
        p = _pvalues.max_statistic_p_value(_tie_floor(value), maxima[name])
        maps[f"p_value_fwe_cluster_{name}"] = np.where(value > 0, p, 1.0)
    if corrections.enhance:
        value = np.zeros(len(scores))
        for sign in _signs(corrections):
            signed = threshold_free_enhancement(sign * scores, corrections.neighbors)
            value += sign * signed
        maps["tfce"] = value
        p = _pvalues.max_statistic_p_value(_tie_floor(np.abs(value)), maxima["tfce"])
        maps["p_value_fwe_tfce"] = p
    return maps
