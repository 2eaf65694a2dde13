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
    observed one among them, so that observed and permuted maps stay exchangeable. If
    the largest statistic is always the same, nothing is unusual, and all are -inf.

    >>> score, maxima = np.array([3.0, 1.0]), np.array([1.0, 2.0])
    >>> u, of_maxima = standardized_by_maxima(score, maxima)
    >>> u.round(3).tolist(), of_maxima.round(3).tolist()
    ([1.225, -1.225], [-1.225, 0.0])
    """
    largest = np.append(np.nanmax(score), maxima)
    mean, spread = largest.mean(), largest.std()
    if spread <= TIE * np.abs(largest).max():
        nothing = np.where(np.isnan(score), np.nan, -np.inf)
        return nothing, np.full(len(maxima), -np.inf)
    return (score - mean) / spread, (maxima - mean) / spread
