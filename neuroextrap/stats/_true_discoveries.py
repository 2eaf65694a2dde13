"""How many regions of any set are informative, chosen after looking."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

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
    TypeError
        If `largest` is complex or masked.
    ValueError
        If it is not two-dimensional, is empty or not finite, if there are too few
        permutations (37 are needed at a confidence of .95), or if `confidence_level` is
        not between 0 and 1.

    Notes
    -----
    Let :math:`v_{bk}` be the k-th largest statistic of permutation b. The mean
    :math:`m_k` and the standard deviation :math:`s_k` come from a random half of the
    permutations. The other half, of size h, calibrates: t is the
    :math:`\lceil (1 - \alpha)(h + 1) \rceil`-th smallest of
    :math:`\max_k (v_{bk} - m_k) / s_k`, and the thresholds are
    :math:`c_k = m_k + t s_k`.

    *Validity.* Assume that labels are exchangeable given the data of all uninformative
    regions together. Restricted to these regions, the observed map is then exchangeable
    with the maps of the second half, given the first half. Its maximum over k, of the
    k-th largest values over these regions, is therefore at most the value of the same
    rank as t among theirs with probability at least :math:`1 - \alpha`. Each of theirs
    can only grow when it is taken over all regions, because the k-th largest of all
    values is never below the k-th largest of some; so t is at least as large.
    The argument needs no independence of
    regions, and no particular distribution. The split is random, because all labelings
    of a small design may come in a fixed order.

    *Ties.* Only statistics strictly above a threshold count, so that discrete
    accuracies are valid, and at most conservative. Thresholds are raised by a few units
    in the last place of the type of `largest`. A rank with almost no spread gets a
    twentieth of the largest one.

    *Fewer values than regions* leave out conditions and are valid; larger counts may be
    missed. The family of thresholds was chosen by simulation and does not depend on the
    data analyzed. A step-down form would need the place of every value and gained at
    most a few percent; there is none.

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
    alpha = 1 - check_level(confidence_level, "confidence_level")
    values, precision = _sorted_largest(largest)
    order = np.random.default_rng(0).permutation(len(values))
    shaping, calibrating = np.split(values[order], [len(values) // 2])
    rank = math.ceil((1 - alpha) * (len(calibrating) + 1) - 1e-9)
    needed = fewest_permutations(confidence_level)
    if len(values) < needed:
        raise ValueError(
            f"largest has {len(values)} permutations, too few at a confidence_level of "
            f"{confidence_level}: use at least {needed}, or less confidence"
        )
    mean, spread = shaping.mean(axis=0), shaping.std(axis=0, ddof=1)
    spread = np.maximum(spread, _SMALLEST_SPREAD * spread.max())
    if not spread.any():
        spread = np.ones_like(spread)
    excess = np.sort(((calibrating - mean) / spread).max(axis=1))[rank - 1]
    size = np.abs(mean) + np.abs(excess) * spread
    thresholds = mean + excess * spread + _ROUNDING * precision * size
    return np.asarray(np.minimum.accumulate(thresholds))


def fewest_permutations(confidence_level: float) -> int:
    """Return how many permutations the thresholds need; 37 at a confidence of .95."""
    return max(4, 2 * math.ceil(1 / (1 - confidence_level) - 1 - 1e-9) - 1)


def _sorted_largest(largest: ArrayLike) -> tuple[FloatArray, float]:
    """Return the checked values, largest first, and the precision of their type."""
    values = real_array(largest, "largest")
    if values.ndim != 2 or not values.size:
        raise ValueError(
            "largest must have shape (n_permutations, n_largest), none of them 0; "
            f"got {values.shape}"
        )
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
    TypeError
        If an array is complex or masked.
    ValueError
        If a score or a threshold is NaN, or if `thresholds` are not one-dimensional or
        are empty.

    Notes
    -----
    Of the regions above the k-th threshold, fewer than k are uninformative. The bound
    is the largest over k of their number minus (k - 1), and never less for a larger
    set. No better bound follows from the same thresholds.

    References
    ----------
    Blanchard, Neuvial & Roquain 2020, "Post hoc confidence bounds on false positives
    using reference families", Annals of Statistics 48.

    Examples
    --------
    >>> true_discoveries([0.9, 0.8, 0.7, 0.2], [0.85, 0.6, 0.5])
    2
    """
    values, limits = (
        real_array(scores, "scores").ravel(),
        real_array(thresholds, "thresholds"),
    )
    if limits.ndim != 1 or not limits.size or np.isnan(limits).any():
        raise ValueError(
            "thresholds must have shape (n_largest,) without NaN, as "
            f"true_discovery_thresholds returns them; got shape {limits.shape}"
        )
    if np.isnan(values).any():
        raise ValueError("scores must not hold NaN: leave out regions without scores")
    n_above = len(values) - np.searchsorted(np.sort(values), limits, side="right")
    return max(0, int((n_above - np.arange(len(limits))).max()))
