"""Extreme values of the best distractors' scores, calibrated to the curve."""

from __future__ import annotations

from typing import Self

import numpy as np

from neuroextrap.stats._extrapolation._point_wins import (
    PointMethod,
    PointWins,
    split_ties,
)
from neuroextrap.stats._extrapolation._sample import WinSample, log_spaced_set_sizes

_LOG_LOSE_FLOOR = -80.0
_BATCH_NUMBERS = 4_000_000


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

    def __init__(self, *, fraction: float = 0.1, calibrate: bool = True):
        if not 0 < fraction < 1:
            raise ValueError(f"fraction must lie between 0 and 1, got {fraction}")
        self.fraction = fraction
        self.calibrate = calibrate

    def fit(self, sample: WinSample) -> Self:
        if sample.n_classes < 4:
            raise ValueError(
                f"the tail of the scores needs at least 4 classes, got "
                f"{sample.n_classes}; use method='gaussian_mixture'"
            )
        n_others = sample.n_classes - 1
        n_tail = int(np.clip(round(self.fraction * sample.n_classes), 2, n_others - 1))
        log_lose, weights, self.shape_, self.scale_ = tail_log_lose(sample, n_tail)
        self.calibration_ = np.array([0.0, 1.0])
        if self.calibrate:
            sizes = log_spaced_set_sizes(sample.n_classes, 100)
            curve = sample.curve(sizes)
            self.calibration_ = calibrate_log_lose(log_lose, weights, sizes, curve)
        self.points_ = PointWins(
            _log_win(_calibrated(log_lose, self.calibration_)), weights
        )
        return self


def tail_log_lose(
    sample: WinSample, n_tail: int
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return log q of each test point, q the chance to lose to one random distractor.

    The `n_tail` best wrong scores of a point make its tail. Returned are log q
    (n_split,), at least -80, where points with ties below the threshold are split; the
    weights of the points and their parts (n_split,), which sum to one; and shape and
    scale of the pooled generalized Pareto distribution of excess over mean excess.
    """
    true_scores, n_others = sample.own_scores(), sample.n_classes - 1
    width = max(1, _BATCH_NUMBERS // sample.n_classes)
    parts = [
        _excesses(
            true_scores[i : i + width],
            sample.distractor_scores(slice(i, i + width)),
            n_tail,
        )
        for i in range(0, len(true_scores), width)
    ]
    excess, ahead, above, tied = (np.concatenate(p) for p in zip(*parts, strict=True))
    shape, scale = fit_generalized_pareto(excess[excess > 0])
    rows, share, part = split_ties((ahead <= 0) & (tied > 0))
    ahead, beaten_by = ahead[rows], above[rows] + share * tied[rows]
    with np.errstate(divide="ignore"):
        log_lose = np.where(
            ahead > 0,
            np.log(n_tail) + _pareto_log_survival(np.maximum(ahead, 0), shape, scale),
            np.log(beaten_by),
        )
    log_lose = np.maximum(log_lose - np.log(n_others), _LOG_LOSE_FLOOR)
    return log_lose, sample.point_weights()[rows] * part, shape, scale


def _excesses(
    true_scores: np.ndarray, others: np.ndarray, n_tail: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return scaled excesses, scaled leads over it, numbers above and tied."""
    n_others = others.shape[1]
    ordered = np.partition(others, n_others - n_tail - 1, axis=1)
    threshold = ordered[:, n_others - n_tail - 1]
    excess = ordered[:, n_others - n_tail :] - threshold[:, None]
    mean = excess.mean(1)
    mean = np.where(mean > 0, mean, 1.0)
    above = np.count_nonzero(others > true_scores[:, None], axis=1)
    tied = np.count_nonzero(others == true_scores[:, None], axis=1)
    return excess / mean[:, None], (true_scores - threshold) / mean, above, tied


def _pareto_log_survival(x: np.ndarray, shape: float, scale: float) -> np.ndarray:
    """Return the log survival of a generalized Pareto; -inf past its end."""
    if abs(shape) < 1e-9:
        return -x / scale
    with np.errstate(divide="ignore"):
        return -np.log(np.maximum(1 + shape * x / scale, 0)) / shape


def fit_generalized_pareto(
    excess: np.ndarray, *, max_points: int = 200_000
) -> tuple[float, float]:
    """Fit shape and scale of a generalized Pareto by maximum likelihood.

    The profile likelihood of theta = shape / scale is maximized over a bounded
    range; the shape is then the mean of log(1 + theta x). Beyond `max_points`
    excesses, that many evenly spaced order statistics stand for all.
    """
    from scipy.optimize import minimize_scalar

    if not excess.size:
        return 0.0, 1.0
    if excess.size > max_points:
        places = (np.arange(max_points) + 0.5) * (excess.size / max_points)
        excess = np.sort(excess)[places.astype(int)]
    mean, largest = excess.mean(), excess.max()

    def negative_profile(theta: float) -> float:
        if abs(theta) < 1e-8:
            return np.log(mean)
        shape = np.mean(np.log1p(theta * excess))
        return np.log(shape / theta) + shape

    bounds = (-(1 - 1e-6) / largest, 5 / mean)
    theta = minimize_scalar(
        negative_profile, bounds=bounds, method="bounded", options={"xatol": 1e-7}
    ).x
    shape = float(np.mean(np.log1p(theta * excess)))
    if abs(theta) < 1e-8:
        return 0.0, float(mean)
    return shape, shape / float(theta)


def _calibrated(log_lose: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """Map log q to min(a + b log q, 0)."""
    return np.minimum(calibration[0] + calibration[1] * log_lose, 0.0)


def _log_win(log_lose: np.ndarray) -> np.ndarray:
    """Return log(1 - q) from log q."""
    with np.errstate(divide="ignore"):
        return np.log1p(-np.exp(log_lose))


def calibrate_log_lose(
    log_lose: np.ndarray,
    weights: np.ndarray,
    set_sizes: np.ndarray,
    curve: np.ndarray,
) -> np.ndarray:
    """Fit (a, b), b >= 0.05, of q -> exp(a + b log q) to an accuracy curve.

    `log_lose` and `weights` (n_test,) belong to the test points; `curve` (n_sizes,) is
    the observed average accuracy at `set_sizes`.
    """
    from scipy.optimize import least_squares

    log_lose, weights = compress(log_lose, weights)

    def residual(calibration: np.ndarray) -> np.ndarray:
        log_win = _log_win(_calibrated(log_lose, calibration))
        return PointWins(log_win, weights).accuracy(set_sizes) - curve

    fitted = least_squares(
        residual, [0.0, 1.0], bounds=([-20.0, 0.05], [20.0, 20.0]), x_scale=[1, 0.3]
    )
    return fitted.x


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
