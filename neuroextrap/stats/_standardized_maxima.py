"""Statistics in units of their own permuted maxima, to be compared across analyses."""

from __future__ import annotations

import numpy as np

from neuroextrap.stats._null_counts import TIE
from neuroextrap.stats._validation import FloatArray


def standardized_by_maxima(
    score: FloatArray, maxima: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return standardized statistics and largest permuted ones of one analysis.

    ``score`` (n_regions,) are statistics, NaN where unknown, and ``maxima``
    (n_permutations,) the largest over regions under each permutation. Both are
    standardized by mean and standard deviation of the maxima over all labelings, the
    observed one among them, so that observed and permuted maps stay exchangeable. Bits
    may be infinite: they are left out of both, and stay the largest. If the largest
    statistic is always the same, nothing is unusual, and all are -inf.

    >>> score, maxima = np.array([3.0, 1.0]), np.array([1.0, 2.0])
    >>> u, of_maxima = standardized_by_maxima(score, maxima)
    >>> u.round(3).tolist(), of_maxima.round(3).tolist()
    ([1.225, -1.225], [-1.225, 0.0])
    """
    largest = np.append(np.nanmax(score), maxima)
    finite = largest[np.isfinite(largest)]
    mean, spread = (finite.mean(), finite.std()) if len(finite) else (0.0, 0.0)
    if spread <= TIE * np.abs(finite).max(initial=0.0):
        if len(finite) in (0, len(largest)):
            nothing = np.where(np.isnan(score), np.nan, -np.inf)
            return nothing, np.full(len(maxima), -np.inf)
        spread = 1.0  # some are infinite, and all others the same
    return (score - mean) / spread, (maxima - mean) / spread
