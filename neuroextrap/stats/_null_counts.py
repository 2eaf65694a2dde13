"""Counting of permuted statistics as they stream by, and what counts as a tie.

Every permutation test of the package counts here, by one convention: the observed
labeling is not among the permuted ones, and p = (1 + count) / (1 + n_permutations).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuroextrap.stats import _pvalues
from neuroextrap.stats._validation import FloatArray

# Equal sums added in another order differ in the 16th digit, and what is solved from
# such sums in the 15th; a permutation test must see them as equal.
TIE = 1e-10
_DECIMALS = 12  # of proportions and bits
_MOST_LARGEST = 1000  # values kept of every permuted map
_MOST_KEPT = 2**22  # and of all permuted maps together
_REGION_BITS = np.int64(2**29 - 1)  # those of float64 that are 0 in a float32
_WITHOUT_LIMIT = np.finfo(np.float32).max


def tie_floor(observed: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Return the least numbers that tie with statistics of numbers of size `scale`."""
    return observed - TIE * scale


def round_ties(statistics: FloatArray) -> FloatArray:
    """Round proportions or bits, so that sums in another order are the same number."""
    return np.round(statistics, _DECIMALS)


@dataclass(slots=True)
class NullCounts:
    """Observed statistics, and what the permuted ones seen so far amount to."""

    score: FloatArray  # (n_regions,) compared with
    n_reached: NDArray[np.int64]  # (n_regions,) permutations that are as large
    maxima: FloatArray  # (n_permutations,)
    null: NDArray[np.floating] | None = None  # all of them, where they are kept

    @classmethod
    def start(cls, score: FloatArray, n_permutations: int) -> NullCounts:
        """Return counts before the first permutation, with nothing kept."""
        n_reached = np.zeros(len(score), dtype=np.int64)
        return cls(score, n_reached, np.full(n_permutations, -np.inf))

    def add(self, permuted: FloatArray, first: int, regions: Any = slice(None)) -> None:
        """Count statistics (n_regions, n_labelings), of labeling `first` and more."""
        if permuted.size == 0:
            return
        labelings = slice(first, first + permuted.shape[1])
        reached = permuted >= self.score[regions, np.newaxis]
        self.n_reached[regions] += reached.sum(axis=1)
        maxima = self.maxima[labelings]
        np.maximum(maxima, permuted.max(axis=0), out=maxima)
        if self.null is not None:
            self.null[labelings, regions] = permuted.T

    def p_value(self) -> FloatArray:
        """Return the p-value of each region by itself, shape (n_regions,)."""
        return _pvalues.p_value_from_counts(self.n_reached, len(self.maxima))

    def p_value_fwe(self) -> FloatArray:
        """Return family-wise p-values by the maximum statistic, shape (n_regions,)."""
        return _pvalues.max_statistic_p_value(self.score, self.maxima)


def n_largest(n_regions: int, n_permutations: int) -> int:
    """Return how many of its largest values are kept of every permuted map."""
    affordable = _MOST_KEPT // max(1, n_permutations)
    return max(1, min(n_regions, _MOST_LARGEST, affordable))


def packed_largest(values: NDArray[np.floating], regions: Any) -> FloatArray:
    """Return `values` (n_permutations, n) with `regions` (n,) in their last bits."""
    # they sort like values, ties by region: what is kept depends on no order
    rounded = np.asarray(values, dtype=np.float32)
    limited = np.clip(rounded, -_WITHOUT_LIMIT, _WITHOUT_LIMIT).astype(np.float64)
    bits = limited.view(np.int64)
    bits |= regions
    return limited


def unpacked_largest(
    packed: FloatArray,
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return the statistics, and the number of the region of each."""
    bits = packed.view(np.int64)
    values = (bits & ~_REGION_BITS).view(np.float64).astype(np.float32)
    values[values == _WITHOUT_LIMIT] = np.inf
    return values, (bits & _REGION_BITS).astype(np.intp)


def keep_largest(values: FloatArray, n_kept: int) -> FloatArray:
    """Return the largest values of every row (n_permutations, n), in no order."""
    first = values.shape[1] - n_kept
    return values if first <= 0 else np.partition(values, first, axis=1)[:, first:]


@dataclass(slots=True)
class LargestValues:
    """The largest statistics of every permuted map, while parts of it stream by."""

    kept: FloatArray  # (n_permutations, n) packed with the regions, n <= n_kept
    n_kept: int
    new: list[FloatArray] = field(default_factory=list)

    @classmethod
    def start(cls, n_permutations: int, n_regions: int) -> LargestValues:
        """Return what is kept before the first part: nothing."""
        return cls(np.empty((n_permutations, 0)), n_largest(n_regions, n_permutations))

    def add(self, permuted: NDArray[np.floating], regions: NDArray[np.intp]) -> None:
        """Take in the statistics (n_permutations, n) of some regions (n,)."""
        self.join(packed_largest(permuted, regions))

    def join(self, packed: FloatArray) -> None:
        """Take in values (n_permutations, n) that are packed already."""
        self.new.append(keep_largest(packed, self.n_kept))
        waiting = sum(part.shape[1] for part in self.new)
        if self.kept.shape[1] + waiting >= 2 * self.n_kept:
            self._sift()

    def _sift(self) -> None:
        """Keep the largest of all that came."""
        everything = np.concatenate([self.kept, *self.new], axis=1)
        self.kept, self.new = keep_largest(everything, self.n_kept), []

    def ordered(self) -> FloatArray:
        """Return packed values (n_permutations, n_kept), largest first, then -inf."""
        self._sift()
        largest = np.full((len(self.kept), self.n_kept), -np.inf)
        largest[:, : self.kept.shape[1]] = -np.sort(-self.kept, axis=1)
        return largest


def spread_known(
    known: NDArray[np.bool_], values: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Place values (n_known, ...) of known regions among all; others are NaN."""
    spread = {}
    for name, value in values.items():
        spread[name] = np.full(known.shape + np.shape(value)[1:], np.nan)
        spread[name][known] = value
    return spread


def standardized_by_maxima(
    score: FloatArray, maxima: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Standardize statistics (n_regions,) and largest permuted ones (n_permutations,).

    Mean and deviation are those of the maxima over all labelings, the observed one
    among them, so that maps stay exchangeable. Infinite ones (bits) are left out of
    both, and stay the largest. If the largest is always the same, all are -inf.
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
    """Standardize statistics (n_regions,) and `null` by region, and return its maxima.

    Mean and deviation are over all labelings, the observed one among them, so that no
    region hides others by large permuted statistics; -inf where all are the same.
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
