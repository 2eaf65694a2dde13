"""Statistics in units of their own permuted ones, to be compared with one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def standardized_by_region(
    score: FloatArray, null: NDArray[np.floating]
) -> tuple[FloatArray, FloatArray]:
    """Return standardized statistics and largest permuted ones, region by region.

    ``score`` (n_regions,) are statistics, NaN where unknown, and ``null``
    (n_permutations, n_regions) the permuted ones. Each region's are standardized by
    mean and standard deviation over all labelings, the observed one among them: a
    region in which permuted statistics are large, too, hides no other. Where all are
    the same, nothing is unusual, and the observed one is -inf.

    >>> score, null = np.array([3.0, 1.0]), np.array([[1.0, 1.0], [2.0, 1.0]])
    >>> u, maxima = standardized_by_region(score, null)
    >>> u.round(3).tolist(), maxima.round(3).tolist()
    ([1.225, -inf], [-1.225, 0.0])
    """
    score = score.astype(null.dtype).astype(np.float64)  # rounded as permuted ones are
    n = len(null) + 1
    mean = score / n
    for row in null:  # one permutation at a time: the file may be large
        mean += row / n
    squares = (score - mean) ** 2
    for row in null:
        squares += (row - mean) ** 2
    spread = np.sqrt(squares / n)
    flat = spread <= TIE * np.abs(mean)
    spread[flat] = 1.0

    def standard(values: NDArray[np.floating]) -> FloatArray:
        return np.where(flat, -np.inf, (values - mean) / spread)

    return standard(score), np.array([np.nanmax(standard(row)) for row in null])
