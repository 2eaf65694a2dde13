"""One kernel density of the wrong classes' scores for each test point."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from neuroextrap.stats._extrapolation._method import PointMethod, PointWins, split_ties
from neuroextrap.stats._extrapolation._sample import WinSample
from neuroextrap.stats._validation import batches

_N_BINS = 1000
_GOLDEN = (3 - np.sqrt(5)) / 2


class KernelDensity(PointMethod):
    """Win probability of every test point from a kernel density of its distractors.

    Two opposing biases: smoothing the density lowers the curve, powering a noisy
    probability raises it. The bandwidth of each is chosen by unbiased cross-validation.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, supplementary methods (set-size
    extrapolation); Zheng, Achanta & Benjamini 2018, section 5, with the accuracy
    a^(k-1) in place of the printed 1 - (1 - a)^(k-1).
    """

    name = "kde_ucv"
    continuous_scores = True
    fewest_classes = 3
    bandwidth = "ucv"

    def _points(self, sample: WinSample) -> PointWins:
        parts = [
            kernel_log_win(own[:, 0], others, self.bandwidth)
            for _, own, others in sample.distractor_scores()
        ]
        log_win = np.concatenate(parts)
        rows, share, weight = split_ties(np.isnan(log_win))
        log_win = np.where(share > 0, np.log(np.maximum(share, 1e-300)), log_win[rows])
        return PointWins(log_win, sample.point_weights()[rows] * weight)


class BiasedKernelDensity(KernelDensity):
    """As `kde_ucv`, with bandwidths by biased cross-validation."""

    name = "kde_bcv"
    bandwidth = "bcv"


def kernel_log_win(
    true_scores: np.ndarray, others: np.ndarray, bandwidth: str
) -> np.ndarray:
    """Return log probabilities (n_test,) of beating a random one of `others`."""
    width = cross_validated_bandwidth(others, bandwidth)
    smooth = width > 0
    lead = true_scores[:, None] - others
    lose = np.empty(len(true_scores))
    scaled = lead[smooth] / width[smooth, None]
    lose[smooth] = special.ndtr(-scaled).mean(1)
    behind = lead[~smooth, 0]
    lose[~smooth] = np.where(behind == 0, np.nan, behind < 0)
    with np.errstate(divide="ignore"):
        return np.log1p(-lose)


def cross_validated_bandwidth(scores: np.ndarray, criterion: str) -> np.ndarray:
    """Return bandwidths (n_rows,) of scores (n_rows, n_scores), 0 for a constant row.

    By unbiased ("ucv") or biased ("bcv") cross-validation (Scott & Terrell 1987): the
    minimizers in [0.1 h_max, h_max], h_max = 1.144 sd n^(-1/5), from binned distances.
    """
    n_scores = scores.shape[1]
    spread = scores.std(axis=1, ddof=1)
    longest = 1.144 * spread * n_scores**-0.2
    width = 1.01 * np.ptp(scores, axis=1) / _N_BINS
    bandwidth = np.zeros(len(scores))
    varied = np.flatnonzero(spread > 0)
    for rows in (varied[batch] for batch in batches(len(varied), 256)):
        lags = pair_lag_counts(scores[rows], width[rows])
        score = partial(_criterion, lags, width[rows], n_scores, criterion)
        bandwidth[rows] = _golden_section(score, 0.1 * longest[rows], longest[rows])
    return bandwidth


def pair_lag_counts(scores: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Count the pairs of binned scores at each distance in bins, (n_rows, 1000)."""
    lowest = scores.min(axis=1, keepdims=True)
    bins = np.minimum(((scores - lowest) / width[:, None]).astype(int), _N_BINS - 1)
    rows = np.arange(len(scores))[:, None] * _N_BINS
    counts = np.bincount((rows + bins).ravel(), minlength=len(scores) * _N_BINS)
    spectrum = np.fft.rfft(counts.reshape(-1, _N_BINS), 2 * _N_BINS)
    lags = np.fft.irfft(spectrum * spectrum.conj())[:, :_N_BINS].round()
    lags[:, 0] = (lags[:, 0] - scores.shape[1]) / 2
    return lags


def _criterion(
    lags: np.ndarray,
    width: np.ndarray,
    n_scores: int,
    criterion: str,
    bandwidth: np.ndarray,
) -> np.ndarray:
    """Return the cross-validation score of each row at its bandwidth."""
    delta = np.multiply.outer((width / bandwidth) ** 2, np.arange(_N_BINS) ** 2.0)
    quarter = np.exp(-delta / 4)
    if criterion == "ucv":
        kernel = quarter * (1 - np.sqrt(8) * quarter)
        numerator = 0.5 + np.einsum("ij,ij->i", lags, kernel) / n_scores
        return numerator / (n_scores * bandwidth * np.sqrt(np.pi))
    kernel = quarter * (delta * delta - 12 * delta + 12)
    numerator = 1 + np.einsum("ij,ij->i", lags, kernel) / (32 * n_scores)
    return numerator / (2 * n_scores * bandwidth * np.sqrt(np.pi))


def _golden_section(
    score: Callable[[np.ndarray], np.ndarray], lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Minimize a function of each row within its bracket, to 0.3% of it."""
    left = lower + _GOLDEN * (upper - lower)
    right = upper - _GOLDEN * (upper - lower)
    at_left, at_right = score(left), score(right)
    for _ in range(12):
        go_left = at_left < at_right
        lower, upper = np.where(go_left, lower, left), np.where(go_left, right, upper)
        fresh = lower + np.where(go_left, _GOLDEN, 1 - _GOLDEN) * (upper - lower)
        at_fresh = score(fresh)
        left, right = np.where(go_left, fresh, right), np.where(go_left, left, fresh)
        at_left, at_right = np.where(go_left, (at_fresh, at_left), (at_right, at_fresh))
    return np.where(at_left < at_right, left, right)
