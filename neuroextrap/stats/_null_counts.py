"""Null distributions: counting of permuted statistics, ties, and a fitted tail.

Every permutation test of the package counts here, by one convention: the observed
labeling is not among the permuted ones, and p = (1 + count) / (1 + n_permutations).

Beyond the number of permutations, the largest tenth of the null scores, less a
threshold, is described by a generalized Pareto distribution. Its plug-in p-value is too
small exactly where it is wanted (1.5 to 3 times at .001, 4 to 15 times at .0001), so
the upper confidence limit is taken: the largest tail probability among all parameters
that the profile likelihood does not exclude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import lambertw, ndtri

from neuroextrap.stats import _pvalues
from neuroextrap.stats._bound_methods import kl_lower
from neuroextrap.stats._validation import FloatArray, batches, check_level, real_array

# Equal sums added in another order differ in the 16th digit, and what is solved from
# such sums in the 15th; a permutation test must see them as equal.
TIE = 1e-10
_DECIMALS = 12  # of proportions and bits
_MOST_LARGEST = 1000  # values kept of every permuted map
_MOST_KEPT = 2**22  # and of all permuted maps together
_BLOCK = 16  # values of which the largest is looked at first
_SINGLE = 1e-6  # values that differ by less may be one number in a float32
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
        self.n_reached[regions] += reached.sum(axis=1, dtype=np.int32)
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


def largest_heights(
    values: FloatArray,
    regions: NDArray[np.intp],
    n_kept: int,
    heights: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return packed the largest heights of values (n_permutations, n); both rise."""
    n_rows, n = values.shape
    n_blocks = n // _BLOCK
    if n_blocks <= n_kept:
        return keep_largest(packed_largest(heights(values), regions), n_kept)
    blocks = values[:, : n_blocks * _BLOCK].reshape(n_rows, _BLOCK, n_blocks)
    # of this size are as many blocks' maxima as are kept
    least = np.partition(blocks.max(axis=1), -n_kept, axis=1)[:, -n_kept:][:, :1]
    least *= np.where(least > 0, 1 - _SINGLE, 1 + _SINGLE)
    place = np.flatnonzero(values >= least)
    counts = np.bincount(place // n, minlength=n_rows)
    filled = np.arange(counts.max()) < counts[:, np.newaxis]
    largest = np.full(filled.shape, -np.inf)
    largest[filled] = packed_largest(heights(values.ravel()[place]), regions[place % n])
    return keep_largest(largest, n_kept)


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


_TAIL = 0.1  # share of the null scores that is fitted
_FEWEST = 10  # exceedances for a fit
_FLOOR = 0.2  # smallest p-value, as a multiple of 1 / (n_permutations + 1)
_LOWEST_SHAPE = -0.5  # below, the likelihood has no maximum
# shape / scale, times the largest excess where negative and the mean where positive
_NEGATIVE = -np.linspace(0.98, 1e-9, 25)
_POSITIVE = np.sinh(np.linspace(0.05, 4.5, 40)) / 5
_SPLITS = np.linspace(0, 1, 7)  # of the log-likelihood between scale and share
_BATCH = 4096  # scores at once


class _Tail(NamedTuple):
    """Tails that the null scores do not exclude: one candidate an entry."""

    threshold: float
    ratio: FloatArray  # (n_candidates,) shape over scale
    scale: FloatArray  # (n_candidates,)
    share: FloatArray  # (n_candidates,) probability of exceeding the threshold

    def lower(self, p_values: FloatArray, scores: FloatArray, floor: float) -> None:
        """Lower p-values (n,) to the largest tail probability, at most to a floor."""
        above = np.flatnonzero(scores > self.threshold)
        for part in (above[batch] for batch in batches(len(above), _BATCH)):
            excess = (scores[part] - self.threshold)[:, np.newaxis]
            with np.errstate(divide="ignore"):
                log_gain = np.log1p(np.maximum(self.ratio * excess, -1))
            tails = self.share * np.exp(-log_gain / (self.ratio * self.scale))
            limit = np.maximum(tails.max(axis=1), floor)
            p_values[part] = np.minimum(p_values[part], limit)


def tail_p_value(
    score: ArrayLike, null_scores: ArrayLike, *, confidence_level: float = 0.95
) -> tuple[FloatArray, np.ndarray]:
    """Compute permutation p-values, small ones refined by a generalized Pareto tail.

    Scores above nine tenths of the null scores get the smaller of their permutation
    p-value and an upper confidence limit of the probability of so large a null score,
    never below ``0.2 / (n_permutations + 1)``: a fifth of the smallest p-value of the
    permutations. Beyond that, more permutations are needed. Where no tail can be fitted
    (fewer than ten null scores in the upper tenth, or no two different ones),
    permutation p-values stay and the flag says so.

    Parameters
    ----------
    score : array-like of shape (...)
        Observed statistic, larger for stronger effects; NaN gives NaN.
    null_scores : array-like of shape (n_permutations,) or (n_permutations, ...)
        Permuted statistics: one distribution for all scores (for example the
        maxima over regions), or one for each.
    confidence_level : float, default=0.95
        Confidence level of the upper limit of the tail probability.

    Returns
    -------
    p_value : ndarray of shape (...)
        Never above the permutation p-value.
    fitted : ndarray of bool of shape () or (...)
        Whether a tail could be fitted, for each null distribution.

    Raises
    ------
    ValueError
        If `confidence_level` is not inside (0, 1), there is no permutation, or
        `null_scores` are not finite or have trailing axes other than those of `score`.

    Notes
    -----
    Simulated chance of a p-value of at most .01 and .001, over the nominal one, with
    200 to 1,000 permutations: .98 to 1.03 and .29 to 1.02 (normal, maximum of 300
    normals, t, chi-square), .70 to .73 and .31 to .70 (accuracy of 96 points); each is
    in the guide's table of simulated guarantees.

    At .0001 no p-value is so small with 200 to 1,000 permutations; with 2,000 and 5,000
    the ratio is .30 to .65.

    References
    ----------
    Winkler et al. 2016, "Faster permutation inference in brain imaging", section
    2.5 (the plug-in fit). Coles 2001, "An introduction to statistical modeling of
    extreme values", section 4.3.3 (profile likelihood).

    Examples
    --------
    >>> import numpy as np
    >>> null = np.random.default_rng(0).normal(size=499)
    >>> p, fitted = tail_p_value([0.1, 6.0], null)  # by permutations only: 0.002
    >>> p, bool(fitted)
    (array([0.446..., 0.000443...]), True)
    """
    level = check_level(confidence_level, "confidence_level")
    observed = real_array(score, "score")
    null = real_array(null_scores, "null_scores")
    plain = _pvalues.permutation_p_value(observed, null)
    if null.ndim != 1 and null.shape[1:] != observed.shape:
        raise ValueError(
            f"null_scores must have shape (n_permutations,) or (n_permutations, "
            f"*{observed.shape}); got {null.shape}"
        )
    if not np.isfinite(null).all():
        raise ValueError("null_scores must be finite: drop regions without scores")
    columns = np.sort(null.reshape(len(null), -1), axis=0)
    scores = observed.reshape(columns.shape[1], -1)  # one row a null distribution
    refined = plain.reshape(scores.shape)  # plain is new, and changed in place
    fitted = np.zeros(columns.shape[1], dtype=bool)
    for column, ordered in enumerate(columns.T):
        first = _first_of_tail(ordered)
        fitted[column] = first > 0
        if fitted[column] and (scores[column] > ordered[first]).any():
            tail = _fit_tail(ordered, first, level)
            tail.lower(refined[column], scores[column], _FLOOR / (len(null) + 1))
    return refined.reshape(observed.shape), fitted.reshape(null.shape[1:])


def _first_of_tail(ordered: FloatArray) -> int:
    """Return where the tail of increasing null scores begins; 0 if there is none."""
    n_tail = int(_TAIL * len(ordered))
    if n_tail < _FEWEST or ordered[-n_tail] == ordered[-1]:
        return 0
    return int(np.searchsorted(ordered, ordered[-n_tail]))  # ties stay together


def _fit_tail(ordered: FloatArray, first: int, confidence_level: float) -> _Tail:
    """Return the tails within the confidence limit, for increasing null scores (n,).

    For each ratio t = shape / scale, the log-likelihood of n excesses y with scale s is
    ``-n (log s + L + g / s)`` with L = mean(log(1 + t y)) and g = L / t the best s. The
    rest of the allowed loss is split between the scale and the binomial share.
    """
    step = np.diff(np.unique(ordered[first:])).min()
    threshold = (ordered[first - 1] + ordered[first]) / 2
    excess = ordered[first:] - threshold
    ratio = np.append(_NEGATIVE / excess[-1], _POSITIVE / excess.mean())
    shape = np.log1p(ratio[:, np.newaxis] * excess).mean(axis=1)
    ratio, shape = ratio[shape >= _LOWEST_SHAPE], shape[shape >= _LOWEST_SHAPE]
    scale = shape / ratio
    likelihood = -len(excess) * (np.log(scale) + shape)
    loss = ndtri(confidence_level) ** 2 / 2
    allowed = loss - (likelihood.max() - likelihood)
    ratio, scale = ratio[allowed >= 0], scale[allowed >= 0]
    allowed = allowed[allowed >= 0, np.newaxis]
    # r times the best scale loses log r + 1 / r - 1 of the mean log-likelihood
    spent = np.maximum(allowed * _SPLITS / len(excess), 1e-12)
    scales = scale[:, np.newaxis] / -lambertw(-np.exp(-1 - spent)).real
    shares = np.interp(allowed * (1 - _SPLITS), *_shares(first, len(ordered), loss))
    ratios = np.repeat(ratio, len(_SPLITS))
    return _Tail(threshold + step / 2, ratios, scales.ravel(), shares.ravel())


@lru_cache(maxsize=64)
def _shares(n_below: int, n_scores: int, loss: float) -> tuple[FloatArray, FloatArray]:
    """Tabulate upper limits of the share above the threshold against a loss."""
    losses = np.linspace(0, loss**0.5, 100) ** 2
    below = np.full(len(losses), n_below / n_scores)
    return losses, 1 - kl_lower(below, n_scores, losses)
