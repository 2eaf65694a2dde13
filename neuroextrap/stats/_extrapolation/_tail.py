"""Extreme values of the best distractors' scores, calibrated to the curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroextrap.stats._extrapolation._method import PointMethod, PointWins, split_ties
from neuroextrap.stats._extrapolation._sample import WinSample, log_spaced_set_sizes
from neuroextrap.stats._validation import check_level

_LOG_LOSE_FLOOR = -80.0
_MAX_EXCESSES = 20_000


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
        K = sample.n_classes
        n_tail = int(np.clip(round(self.fraction * K), 2, K - 2))
        tails = best_distractors(sample, n_tail)
        log_lose, rows, part, self.shape_, self.scale_ = tails.log_lose(K - 1)
        weights = sample.point_weights()[rows] * part
        self.calibration_ = np.array([0.0, 1.0])
        if self.calibrate:
            sizes = log_spaced_set_sizes(K, 100)
            curve = sample.curve(sizes)
            self.calibration_ = calibrate_log_lose(log_lose, weights, sizes, curve)
        log_win = _log_win(_calibrated(log_lose, self.calibration_))
        return PointWins(log_win, weights)


@dataclass(frozen=True)
class Tails:
    """The best distractors of every test point, and how many are above and tied."""

    best: np.ndarray
    true_scores: np.ndarray
    above: np.ndarray
    tied: np.ndarray

    def log_lose(
        self, n_others: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
        """Return log q of losing to a distractor, points, shares, shape and scale."""
        n_tail, threshold = self.best.shape[1] - 1, self.best[:, -1]
        mean = self.best[:, :-1].mean(1) - threshold
        mean = np.where(mean > 0, mean, 1.0)
        ahead = (self.true_scores - threshold) / mean
        excess = (self.best[:, :-1] - threshold[:, None]) / mean[:, None]
        shape, scale = fit_generalized_pareto(excess[excess > 0])
        rows, share, part = split_ties((ahead <= 0) & (self.tied > 0))
        ahead = ahead[rows]
        beaten_by = self.above[rows] + share * self.tied[rows]
        with np.errstate(divide="ignore"):
            survival = _pareto_log_survival(np.maximum(ahead, 0), shape, scale)
            log_lose = np.where(ahead > 0, np.log(n_tail) + survival, np.log(beaten_by))
        log_lose = np.maximum(log_lose - np.log(n_others), _LOG_LOSE_FLOOR)
        return log_lose, rows, part, shape, scale


def best_distractors(sample: WinSample, n_tail: int) -> Tails:
    """Return the `n_tail` best distractors' scores of every point, and the next."""
    true_scores, n_others = sample.own_scores(), sample.n_classes - 1
    best = np.empty((sample.n_test, n_tail + 1))
    above, tied = np.empty((2, sample.n_test), np.intp)
    for rows, own, others in sample.distractor_scores():
        above[rows] = np.count_nonzero(others > own, axis=1)
        tied[rows] = np.count_nonzero(others == own, axis=1)
        others.partition(n_others - n_tail - 1, axis=1)
        best[rows] = np.sort(others[:, n_others - n_tail - 1 :], axis=1)[:, ::-1]
    return Tails(best, true_scores, above, tied)


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


def _log_win(log_lose: np.ndarray) -> np.ndarray:
    """Return log(1 - q) from log q."""
    with np.errstate(divide="ignore"):
        return np.log1p(-np.exp(log_lose))


def calibrate_log_lose(
    log_lose: np.ndarray, weights: np.ndarray, set_sizes: np.ndarray, curve: np.ndarray
) -> np.ndarray:
    """Fit (a, b), b >= 0.05, of q -> exp(a + b log q) to a `curve` (n_sizes,)."""
    from scipy.optimize import least_squares

    log_lose, weights = compress(log_lose, weights)

    power = set_sizes[:, None] - 1.0

    def residual(calibration: np.ndarray) -> np.ndarray:
        log_win = _log_win(_calibrated(log_lose, calibration))
        return PointWins(log_win, weights).accuracy(set_sizes) - curve

    def jacobian(calibration: np.ndarray) -> np.ndarray:
        mapped = _calibrated(log_lose, calibration)
        inside = mapped < 0
        log_win, values = _log_win(mapped[inside]), log_lose[inside]
        slope = -power * np.exp((power - 1) * log_win + mapped[inside])
        slope *= weights[inside]
        return np.stack([slope.sum(1), slope @ values], 1)

    return least_squares(
        residual,
        [0.0, 1.0],
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
