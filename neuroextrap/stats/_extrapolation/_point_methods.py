"""Methods that see the scores: a kernel density, or a tail, of the wrong classes'.

Each gives every test point a win probability U of its own, so that A_k is the mean of
U^(k - 1) over points.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    LeftOut,
    PointWins,
    WinSample,
    log_spaced_set_sizes,
    log_win_of,
)
from neuroextrap.stats._gaussian_limit import gauss_legendre_panels
from neuroextrap.stats._validation import batches, check_level

_N_BINS = 1000
_GOLDEN = (3 - np.sqrt(5)) / 2
_LOG_LOSE_FLOOR = -80.0
_MAX_EXCESSES = 20_000


class PointMethod(ExtrapolationMethod):
    """A method that gives every test point a win probability of its own."""

    needs_scores = uses_scores = True
    fewest_classes: ClassVar[int]

    def fit(self, sample: WinSample) -> Self:
        if sample.n_classes < self.fewest_classes:
            raise ValueError(
                f"method={self.name!r} needs at least {self.fewest_classes} classes, "
                f"got {sample.n_classes}; use method='gaussian_mixture'"
            )
        self.mixture_ = self._points(sample)
        return self

    @abstractmethod
    def _points(self, sample: WinSample) -> PointWins:
        """Return the win probabilities of a sample of enough classes."""


def split_ties(tied: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split points that are `tied` (n_test,) into equally likely ways of breaking them.

    U = Pr(less) + s Pr(equal), s uniform on (0, 1), in cells that shrink towards both
    ends. Returned are the point of each part, s, and its share of the point (n_split,).
    """
    left = np.geomspace(1e-9, 0.5, 48)
    edges = np.r_[0.0, left, 1 - left[-2::-1], 1.0]
    node, part = gauss_legendre_panels(edges, 2)
    rows = np.repeat(np.arange(len(tied)), np.where(tied, len(node), 1))
    share, weight = np.zeros(len(rows)), np.ones(len(rows))
    share[tied[rows]] = np.tile(node, np.count_nonzero(tied))
    weight[tied[rows]] = np.tile(part, np.count_nonzero(tied))
    return rows, share, weight


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
            kernel_log_win(sample.own_scores[rows], others, self.bandwidth)
            for rows, others in sample.distractor_scores()
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
    return log_win_of(lose)


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


class Tail(PointMethod):
    """Win probabilities from a generalized Pareto tail of the distractors' scores.

    For each test point the best tenth of the wrong scores are its exceedances; in
    units of their mean they are pooled over points and given one generalized
    Pareto distribution. Losing probabilities q = 1 - U are then calibrated,
    exp(a + b log q), so that the mean of (1 - q)^(k-1) follows the observed curve.

    Parameters
    ----------
    fraction : float, default=0.1
        Share of the wrong scores that make the tail.
    calibrate : bool, default=True
        Whether to fit a and b; if False, a = 0 and b = 1.

    References
    ----------
    Coles 2001, "An introduction to statistical modeling of extreme values",
    chapter 4 (threshold excesses).
    """

    name = "tail"
    fewest_classes = 4

    def __init__(self, *, fraction: float = 0.1, calibrate: bool = True):
        self.fraction = check_level(fraction, "fraction")
        self.calibrate = calibrate

    def _points(self, sample: WinSample) -> PointWins:
        self.calibration_ = np.array([0.0, 1.0])
        n_best = self._n_best(sample.n_classes)
        best = [largest(others, n_best) for _, others in sample.distractor_scores()]
        return self._beyond(sample, np.concatenate(best))

    def refits(self, parts: LeftOut) -> Iterator[Self]:
        """Seek the best distractors of parts among those of the whole sample."""
        whole, n_left = parts.sample, np.count_nonzero(~parts.members, axis=1).max()
        classes = best_distractors(whole, self._n_best(whole.n_classes) + n_left)
        scores = np.take_along_axis(whole.margins, classes, 1)
        for part, member in zip(parts.win_samples, parts.members, strict=True):
            rows = member[whole.y_true]
            others = np.where(member[classes[rows]], scores[rows], -np.inf)
            best = largest(others, self._n_best(part.n_classes))
            refit = copy(self)
            refit.mixture_ = refit._beyond(part, best)
            yield refit

    def _n_best(self, n_classes: int) -> int:
        """Return how many distractors make the tail and its threshold."""
        return int(np.clip(round(self.fraction * n_classes), 2, n_classes - 2)) + 1

    def _beyond(self, sample: WinSample, best: np.ndarray) -> PointWins:
        """Fit the tail of the best distractors, and calibrate on from where it is."""
        log_lose, rows, part, self.shape_, self.scale_ = tail_log_lose(sample, best)
        weights = sample.point_weights()[rows] * part
        if self.calibrate:
            sizes = log_spaced_set_sizes(sample.n_classes, 100)
            curve, start = sample.curve(sizes), self.calibration_
            fitted = calibrate_log_lose(log_lose, weights, sizes, curve, start)
            self.calibration_ = fitted
        lose = np.exp(_calibrated(log_lose, self.calibration_))
        return PointWins(log_win_of(lose), weights)


def tail_log_lose(
    sample: WinSample, best: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
    """Return log q of losing to a distractor, points, shares, shape and scale."""
    threshold, n_others = best[:, -1], sample.n_classes - 1
    mean = best[:, :-1].mean(1) - threshold
    mean = np.where(mean > 0, mean, 1.0)
    ahead = (sample.own_scores - threshold) / mean
    excess = (best[:, :-1] - threshold[:, None]) / mean[:, None]
    shape, scale = fit_generalized_pareto(excess[excess > 0])
    rows, share, part = split_ties((ahead <= 0) & (sample.tied > 0))
    ahead, tied = ahead[rows], sample.tied[rows]
    beaten_by = n_others - sample.beaten[rows] - tied + share * tied
    with np.errstate(divide="ignore"):
        survival = _pareto_log_survival(np.maximum(ahead, 0), shape, scale)
        log_tail = np.log(best.shape[1] - 1) + survival
        log_lose = np.where(ahead > 0, log_tail, np.log(beaten_by))
    log_lose = np.maximum(log_lose - np.log(n_others), _LOG_LOSE_FLOOR)
    return log_lose, rows, part, shape, scale


def best_distractors(sample: WinSample, n_best: int) -> np.ndarray:
    """Return the columns of the best of others, in no order, (n_test, n_best)."""
    n_best = min(n_best, sample.n_classes - 1)
    columns = np.empty((sample.n_test, n_best), np.intp)
    for rows, others in sample.distractor_scores():
        best = np.argpartition(others, -n_best, axis=1)[:, -n_best:]
        columns[rows] = best + (best >= sample.y_true[rows, None])
    return columns


def largest(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the n largest of each row, falling."""
    return np.sort(np.partition(scores, -n, axis=1)[:, -n:], axis=1)[:, ::-1]


def _pareto_log_survival(x: np.ndarray, shape: float, scale: float) -> np.ndarray:
    """Return the log survival of a generalized Pareto; -inf past its end."""
    if abs(shape) < 1e-9:
        return -x / scale
    with np.errstate(divide="ignore"):
        return -np.log(np.maximum(1 + shape * x / scale, 0)) / shape


def fit_generalized_pareto(
    excess: np.ndarray, *, max_points: int = _MAX_EXCESSES
) -> tuple[float, float]:
    """Fit shape and scale of a generalized Pareto by the profile of shape / scale."""
    from scipy.optimize import minimize_scalar

    if not excess.size:
        return 0.0, 1.0
    mean, largest = excess.mean(), excess.max()
    weights = np.full(excess.size, 1 / excess.size)
    if excess.size > max_points:
        excess, weights = binned(excess, max_points)

    def negative_profile(theta: float) -> float:
        if abs(theta) < 1e-8:
            return np.log(mean)
        shape = weights @ np.log1p(theta * excess)
        return np.log(shape / theta) + shape

    bounds = (-(1 - 1e-6) / largest, 5 / mean)
    theta = minimize_scalar(
        negative_profile, bounds=bounds, method="bounded", options={"xatol": 1e-7}
    ).x
    shape = float(weights @ np.log1p(theta * excess))
    if abs(theta) < 1e-8:
        return 0.0, float(mean)
    return shape, shape / float(theta)


def binned(excess: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means and weights of bins of excesses, even in log(1 + x / mean)."""
    # which bin may be rounded, what is in it not
    place = np.log1p(np.divide(excess, excess.mean(), dtype=np.float32))
    place *= n_bins / place.max() * (1 - 1e-6)
    bins = place.astype(np.intp)
    counts = np.bincount(bins, minlength=n_bins)
    total = np.bincount(bins, excess, minlength=n_bins)
    occupied = counts > 0
    return total[occupied] / counts[occupied], counts[occupied] / excess.size


def _calibrated(log_lose: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """Map log q to min(a + b log q, 0)."""
    return np.minimum(calibration[0] + calibration[1] * log_lose, 0.0)


def calibrate_log_lose(
    log_lose: np.ndarray,
    weights: np.ndarray,
    set_sizes: np.ndarray,
    curve: np.ndarray,
    start: ArrayLike = (0.0, 1.0),
) -> np.ndarray:
    """Fit (a, b), b >= 0.05, of q -> exp(a + b log q) to a `curve` (n_sizes,)."""
    from scipy.optimize import least_squares

    log_lose, weights = compress(log_lose, weights)
    power = set_sizes[:, None] - 1.0

    def residual(calibration: np.ndarray) -> np.ndarray:
        log_win = log_win_of(np.exp(_calibrated(log_lose, calibration)))
        return PointWins(log_win, weights).accuracy(set_sizes) - curve

    def jacobian(calibration: np.ndarray) -> np.ndarray:
        mapped = _calibrated(log_lose, calibration)
        inside = mapped < 0
        log_win, values = log_win_of(np.exp(mapped[inside])), log_lose[inside]
        slope = -power * np.exp((power - 1) * log_win + mapped[inside])
        slope *= weights[inside]
        return np.stack([slope.sum(1), slope @ values], 1)

    return least_squares(
        residual,
        start,
        jac=jacobian,
        bounds=([-20.0, 0.05], [20.0, 20.0]),
        x_scale=[1, 0.3],
        xtol=1e-10,
        ftol=1e-12,
        gtol=1e-12,
    ).x


def compress(
    values: np.ndarray, weights: np.ndarray, *, max_points: int = 2000
) -> tuple[np.ndarray, np.ndarray]:
    """Merge neighboring points until at most `max_points` are left."""
    if len(values) <= max_points:
        return values, weights
    order = np.argsort(values, kind="stable")
    group = np.arange(len(values)) * max_points // len(values)
    total = np.bincount(group, weights[order])
    return np.bincount(group, weights[order] * values[order]) / total, total
