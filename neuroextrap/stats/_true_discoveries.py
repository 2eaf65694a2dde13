"""How many regions of any set are informative, chosen after looking."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._null_counts import unpacked_largest
from neuroextrap.stats._validation import FloatArray, check_level, real_array

_SMALLEST_SPREAD = 0.05  # of a rank, relative to the largest over ranks
_ROUNDING = 8  # units in the last place that the observed statistics may be off


def true_discovery_thresholds(
    largest: ArrayLike, *, confidence_level: float = 0.95
) -> FloatArray:
    r"""Compute thresholds that bound the uninformative regions in every set at once.

    With the given confidence, for every k at the same time, fewer than k uninformative
    regions exceed the k-th threshold. :func:`true_discoveries` counts with them.

    Parameters
    ----------
    largest : array-like of shape (n_permutations, n_largest)
        Largest statistics over all regions of each permuted map, sorted or not, or
        whole maps; the observed map is not among them. Larger is stronger, and
        statistics are comparable between regions. Labelings are the same in all regions
        and, if not all possible ones are used, drawn at random.
    confidence_level : float, default=0.95
        Probability that all statements hold together.

    Returns
    -------
    thresholds : ndarray of shape (n_largest,)
        Never increasing, in the unit of the statistics.

    Raises
    ------
    TypeError, ValueError
        If `largest` is complex or masked, not two-dimensional, empty or not finite, if
        there are too few permutations (37 are needed at a confidence of .95), or if
        `confidence_level` is not between 0 and 1.

    Notes
    -----
    Let :math:`v_{bk}` be the k-th largest statistic of permutation b. The mean
    :math:`m_k` and the standard deviation :math:`s_k` come from a random half of the
    permutations. The other half, of size h, calibrates: t is the :math:`\lceil (1 -
    \alpha)(h + 1) \rceil`-th smallest of :math:`\max_k (v_{bk} - m_k) / s_k`, and the
    thresholds are :math:`c_k = m_k + t s_k`.

    *Validity.* Assume that labels are exchangeable given the data of all uninformative
    regions together. Restricted to these regions, the observed map is then exchangeable
    with the maps of the second half, given the first half. Its maximum over k, of the
    k-th largest values over these regions, is therefore at most the value of the same
    rank as t among theirs with probability at least :math:`1 - \alpha`. Each of theirs
    can only grow when it is taken over all regions, because the k-th largest of all
    values is never below the k-th largest of some; so t is at least as large.
    The argument needs no independence of regions, and no particular distribution. The
    split is random, because all labelings of a small design may come in a fixed order.

    *Ties.* Only statistics strictly above a threshold count, so that discrete
    accuracies are valid, and at most conservative. Thresholds are raised by a few units
    in the last place of the type of `largest`. A rank with almost no spread gets a
    twentieth of the largest one.

    *Fewer values than regions* leave out conditions and are valid; larger counts may be
    missed. The family of thresholds was chosen by simulation and does not depend on the
    data analyzed. Analyses know the region of every value, and step down: regions above
    the first threshold are left out, and the thresholds are calibrated again.

    References
    ----------
    Blanchard, Neuvial & Roquain 2020, "Post hoc confidence bounds on false positives
    using reference families", Annals of Statistics 48.

    Examples
    --------
    >>> import numpy as np
    >>> null = np.random.default_rng(0).normal(size=(200, 50))
    >>> thresholds = true_discovery_thresholds(null)
    >>> true_discoveries([5.0, 4.5, 6.0, 0.1], thresholds)
    3
    """
    check_level(confidence_level, "confidence_level")
    values, precision = _sorted_largest(largest)
    needed = fewest_permutations(confidence_level)
    if len(values) < needed:
        raise ValueError(
            f"largest has {len(values)} permutations, too few at a confidence_level of "
            f"{confidence_level}: use at least {needed}, or less confidence"
        )
    family = _Family.of(values, precision)
    return family.thresholds(values[family.calibrating], confidence_level)


@dataclass(frozen=True)
class _Family:
    """Mean and spread of every rank, and the permutations that calibrate them."""

    mean: FloatArray  # (n_largest,)
    spread: FloatArray  # (n_largest,)
    calibrating: NDArray[np.intp]
    precision: float

    @classmethod
    def of(cls, values: FloatArray, precision: float) -> _Family:
        """Learn from a random half of the permutations (n_permutations, n_largest)."""
        order = np.random.default_rng(0).permutation(len(values))
        shaping, calibrating = np.split(order, [len(values) // 2])
        mean, spread = values[shaping].mean(axis=0), values[shaping].std(axis=0, ddof=1)
        spread = np.maximum(spread, _SMALLEST_SPREAD * spread.max())
        if not spread.any():
            spread = np.ones_like(spread)
        return cls(mean, spread, calibrating, precision)

    def thresholds(self, values: FloatArray, confidence_level: float) -> FloatArray:
        """Calibrate the first n ranks with other permutations (h, n), sorted."""
        mean, spread = (each[: values.shape[1]] for each in (self.mean, self.spread))
        rank = math.ceil(confidence_level * (len(values) + 1) - 1e-9)
        excess = np.sort(((values - mean) / spread).max(axis=1))[rank - 1]
        size = np.abs(mean) + np.abs(excess) * spread
        thresholds = mean + excess * spread + _ROUNDING * self.precision * size
        return np.asarray(np.minimum.accumulate(thresholds))


def fewest_permutations(confidence_level: float) -> int:
    """Return how many permutations the thresholds need; 37 at a confidence of .95."""
    return max(4, 2 * math.ceil(1 / (1 - confidence_level) - 1 - 1e-9) - 1)


def _sorted_largest(largest: ArrayLike) -> tuple[FloatArray, float]:
    """Return the checked values, largest first, and the precision of their type."""
    values = real_array(largest, "largest", "n_permutations, n_largest")
    if not np.isfinite(values).all():
        raise ValueError("largest must be finite: drop regions without scores")
    kind = getattr(largest, "dtype", np.dtype(float))
    precision = np.finfo(kind if kind.kind == "f" else float).eps
    return -np.sort(-values, axis=1), float(precision)


def true_discoveries(scores: ArrayLike, thresholds: ArrayLike) -> int:
    """Count how many regions of a set are informative, at least.

    The statement holds for all sets of regions at once, with the confidence of the
    thresholds, so that the set may be chosen after looking at the results. It says that
    *regions* are informative; of voxels it says nothing, as a sphere is informative
    when any of its voxels are.

    Parameters
    ----------
    scores : array-like of any shape
        Observed statistics of the regions of the set, each region once.
    thresholds : array-like of shape (n_largest,)
        From :func:`true_discovery_thresholds`, of the permuted maps of *all* regions.

    Returns
    -------
    n_true : int
        Lower bound on the number of informative regions in the set; 0 for none.

    Raises
    ------
    TypeError, ValueError
        If an array is complex or masked, a score or a threshold is NaN, or `thresholds`
        are not one-dimensional or are empty.

    Notes
    -----
    Of the regions above the k-th threshold, fewer than k are uninformative. The bound
    is the largest over k of their number minus (k - 1), and never less for a larger
    set. No better bound follows from the same thresholds.

    References
    ----------
    Blanchard, Neuvial & Roquain 2020, as in :func:`true_discovery_thresholds`.

    Examples
    --------
    >>> true_discoveries([0.9, 0.8, 0.7, 0.2], [0.85, 0.6, 0.5])
    2
    """
    values = real_array(scores, "scores").ravel()
    limits = real_array(thresholds, "thresholds", "n_largest,")
    if np.isnan(limits).any():
        raise ValueError("thresholds must not hold NaN")
    if np.isnan(values).any():
        raise ValueError("scores must not hold NaN: leave out regions without scores")
    return int(_counts_of_strongest(values, limits)[1].max(initial=0))


def _counts_of_strongest(
    scores: FloatArray, thresholds: FloatArray
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return scores, largest first, and the bound of the 1, 2, ... strongest regions.

    If the weakest of j regions is above the k-th threshold (from 0), all are, and at
    most k of them are uninformative; adding regions never makes a bound smaller.
    """
    scores = np.sort(scores)[::-1]
    n_by_chance = len(thresholds) - np.searchsorted(thresholds[::-1], scores)
    bounds = np.arange(1, len(scores) + 1) - n_by_chance
    bounds[n_by_chance == len(thresholds)] = 0
    return scores, np.maximum.accumulate(np.maximum(bounds, 0))


@dataclass(frozen=True)
class DiscoveryBounds:
    """Observed statistics, and the thresholds above which few of them are by chance."""

    scores: FloatArray  # (n_regions,), NaN where a region was not analyzed
    thresholds: FloatArray  # (n_largest,), stepped down
    confidence_level: float

    @classmethod
    def of(
        cls, scores: FloatArray, largest: FloatArray | None, confidence_level: float
    ) -> DiscoveryBounds | None:
        """Calibrate with the packed largest values of every map; None without enough.

        Ranks that a part of a run lacks (-inf) are left out. Statistics without limit
        are cut at the largest finite one, observed or permuted: the same in all maps.
        """
        is_tested = ~np.isnan(scores)
        if largest is None or len(largest) < fewest_permutations(confidence_level):
            return None
        largest = largest[:, ~np.isneginf(largest).any(axis=0)]
        if not largest.size or not is_tested.any() or largest.dtype != np.float64:
            return None
        values, regions = unpacked_largest(largest)
        finite = [each[np.isfinite(each)] for each in (values, scores[is_tested])]
        most = max((each.max() for each in finite if each.size), default=0.0)
        values = np.minimum(values, values.dtype.type(most))
        scores = np.minimum(scores, most)
        thresholds = _stepped_down(scores, values, regions, confidence_level)
        return cls(scores, thresholds, confidence_level)

    def count(self, chosen: NDArray[np.bool_] | None = None) -> int:
        """Return how many of the chosen regions (None: of all) are informative."""
        return true_discoveries(self._tested(chosen), self.thresholds)

    def curve(
        self, chosen: NDArray[np.bool_] | None = None
    ) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
        """Return distinct levels, largest first, regions that reach each, true ones."""
        scores, n_true = _counts_of_strongest(self._tested(chosen), self.thresholds)
        last = np.append(scores[1:] < scores[:-1], np.ones(min(1, len(scores)), bool))
        return scores[last], np.flatnonzero(last) + 1, n_true[last]

    def proportions(self) -> FloatArray:
        """Return each region's best proportion of any set above a level with it."""
        levels, n_reached, n_true = self.curve()
        best = np.maximum.accumulate((n_true / n_reached)[::-1])[::-1]
        proportions = np.full(self.scores.shape, np.nan)
        finite = ~np.isnan(self.scores)
        place = np.searchsorted(-levels, -self.scores[finite])
        proportions[finite] = best[place]
        return proportions

    def _tested(self, chosen: NDArray[np.bool_] | None) -> FloatArray:
        """Return the statistics of the chosen regions that were analyzed."""
        scores = self.scores if chosen is None else self.scores[chosen]
        return scores[~np.isnan(scores)]


def _stepped_down(
    scores: FloatArray,
    values: NDArray[np.floating],
    regions: NDArray[np.intp],
    confidence_level: float,
) -> FloatArray:
    """Return thresholds that are calibrated again without the regions found one by one.

    Where thresholds hold, regions above the first are informative, so that those
    calibrated with the others hold as well. Ranks that not every permutation has left
    keep the thresholds they had.
    """
    sorted_values, precision = _sorted_largest(values)
    family = _Family.of(sorted_values, precision)
    values, regions = (each[family.calibrating] for each in (values, regions))
    thresholds = family.thresholds(sorted_values[family.calibrating], confidence_level)
    n_found = 0
    while (informative := scores > thresholds[0]).sum() > n_found:
        n_found = informative.sum()
        left = np.where(informative[regions], -np.inf, values).astype(float)
        n_left = np.isfinite(left).sum(axis=1).min()
        if not n_left:
            break
        again = family.thresholds(-np.sort(-left, axis=1)[:, :n_left], confidence_level)
        thresholds = np.minimum.accumulate(np.append(again, thresholds[n_left:]))
    return thresholds
