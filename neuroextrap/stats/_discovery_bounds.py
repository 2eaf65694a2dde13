"""Bounds on the number of informative regions in any set, from one permutation run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuroextrap.stats._true_discoveries import (
    fewest_permutations,
    true_discoveries,
    true_discovery_thresholds,
)
from neuroextrap.stats._validation import FloatArray


@dataclass(frozen=True)
class DiscoveryBounds:
    """Observed statistics, and the thresholds above which few of them are by chance.

    `scores` (n_regions,) are NaN where a region was not analyzed, `thresholds`
    (n_largest,) those of :func:`true_discovery_thresholds`.
    """

    scores: FloatArray
    thresholds: FloatArray
    confidence_level: float

    @classmethod
    def of(
        cls,
        scores: FloatArray,
        largest: NDArray[np.floating] | None,
        confidence_level: float,
    ) -> DiscoveryBounds | None:
        """Calibrate with the largest values of every permuted map.

        None where these were not kept, or are of too few permutations. Ranks that a
        part of a run does not have (-inf) are left out. Statistics without limit are
        cut at the largest finite one, observed or permuted: the same in all maps.
        """
        known = ~np.isnan(scores)
        if largest is None or len(largest) < fewest_permutations(confidence_level):
            return None
        largest = largest[:, ~np.isneginf(largest).any(axis=0)]
        if not largest.size or not known.any():
            return None
        finite = [values[np.isfinite(values)] for values in (largest, scores[known])]
        most = max((values.max() for values in finite if values.size), default=0.0)
        thresholds = true_discovery_thresholds(
            np.minimum(largest, largest.dtype.type(most)),
            confidence_level=confidence_level,
        )
        return cls(np.minimum(scores, most), thresholds, confidence_level)

    def count(self, chosen: NDArray[np.bool_] | None = None) -> int:
        """Return how many of the chosen regions (n_regions,) are informative, at least.

        None means all. Regions that were not analyzed do not count.
        """
        return true_discoveries(self._known(chosen), self.thresholds)

    def curve(
        self, chosen: NDArray[np.bool_] | None = None
    ) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
        """Return levels, numbers of regions that reach each, and how many are true.

        Levels are the distinct statistics of the chosen regions, largest first.
        """
        scores = np.sort(self._known(chosen))[::-1]
        last = np.append(scores[1:] < scores[:-1], np.ones(min(1, len(scores)), bool))
        n_reached = np.flatnonzero(last) + 1
        n_above = len(scores) - np.searchsorted(scores[::-1], self.thresholds, "right")
        n_true = _bounds_of_strongest(np.asarray(n_above), len(scores))
        return scores[last], n_reached, n_true[n_reached]

    def proportions(self) -> FloatArray:
        """Return, for every region, a proportion of informative regions.

        It is the largest that is shown for any set of all regions above a level, to
        which the region belongs; shape (n_regions,), NaN stays NaN.
        """
        levels, n_reached, n_true = self.curve()
        best = np.maximum.accumulate((n_true / n_reached)[::-1])[::-1]
        proportions = np.full(self.scores.shape, np.nan)
        known = ~np.isnan(self.scores)
        place = np.searchsorted(-levels, -self.scores[known])
        proportions[known] = best[place]
        return proportions

    def _known(self, chosen: NDArray[np.bool_] | None) -> FloatArray:
        """Return the statistics of the chosen regions that were analyzed."""
        scores = self.scores if chosen is None else self.scores[chosen]
        return scores[~np.isnan(scores)]


def _bounds_of_strongest(n_above: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the bounds of the 0, 1, ..., n strongest regions, shape (n + 1,).

    `n_above` (n_largest,) counts the regions above every threshold, never decreasing.
    The bound of the j strongest is the largest of min(j, n_above[k]) - k: of thresholds
    that at most j are above, the best; of the others the first.
    """
    j = np.arange(n + 1)
    best = np.maximum.accumulate(n_above - np.arange(len(n_above)))
    n_passed = np.searchsorted(n_above, j, side="right")
    passed = np.where(n_passed > 0, best[n_passed - 1], 0)
    first = np.where(n_passed < len(n_above), j - n_passed, 0)
    return np.maximum(0, np.maximum(passed, first))
