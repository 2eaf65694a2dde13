"""The high-dimensional limit, and the normal mixture that has one parameter more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._accuracy import accuracy_weights
from neuroextrap.stats._extrapolation._method import (
    Fit,
    WinMethod,
    WinSample,
    log_spaced_set_sizes,
)
from neuroextrap.stats._extrapolation._mixtures import (
    LOG_SD_RANGE,
    MEAN_RANGE,
    NormalTable,
    binomial_table,
    power_table,
    table_derivatives,
    table_means,
)
from neuroextrap.stats._validation import batches, check_choice


def clip_to_resolution(accuracy: ArrayLike, n_test: ArrayLike) -> np.ndarray:
    """Keep accuracies half a test point away from 0 and 1."""
    half = 0.5 / np.asarray(n_test, float)
    return np.clip(accuracy, half, 1 - half)


def invert_gaussian_accuracy(accuracy: ArrayLike, n_classes: int) -> np.ndarray:
    """Return shifts c (n,) with E[Phi(Z + c)^(K - 1)] = accuracy, 0 at chance."""
    accuracy = np.atleast_1d(np.asarray(accuracy, float))
    table = power_table([n_classes])
    grid = np.arange(MEAN_RANGE[0], MEAN_RANGE[1], 0.05)
    curve = np.maximum.accumulate(table_means(table, grid, 0 * grid)[:, 0])
    shift = np.interp(accuracy, curve, grid)
    for batch in batches(len(shift), _BATCH):
        for _ in range(4):
            value, slope = table_derivatives(table, shift[batch], 0 * shift[batch])[:2]
            step = (accuracy[batch] - value[:, 0]) / np.maximum(slope[:, 0], 1e-12)
            shift[batch] = np.clip(shift[batch] + step, *MEAN_RANGE)
    return shift


class Gaussian(WinMethod):
    """One-parameter extrapolation of the high-dimensional limit.

    The shift c solves piBar_K(c) = A_K; the prediction is piBar_k(c), which at
    k = K gives A_K back. An A_K of 0 or 1 is taken to be half a test point away.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, the high-dimensional estimator.
    """

    name = "gaussian"

    def fit_many(self, wins: np.ndarray, n_test: np.ndarray) -> Fit:
        """Return the shift, and 0, the log standard deviation of the limit."""
        observed = clip_to_resolution(wins[:, -1], n_test)
        shift = invert_gaussian_accuracy(observed, wins.shape[1])
        return np.stack([shift, 0 * shift], 1), None

    def curves(self, parameters: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        table, every = power_table(set_sizes), batches(len(parameters), _BATCH)
        return np.concatenate([table_means(table, *parameters[b].T) for b in every])

    def cdf(self, u: ArrayLike) -> np.ndarray:
        mean, log_sd = self.parameters_[0]
        return special.ndtr((special.ndtri(u) - mean) / np.exp(log_sd))


Derivatives = tuple[np.ndarray, np.ndarray, np.ndarray]
Objective = Callable[[np.ndarray, np.ndarray], Derivatives]

SMALL_N_CLASSES = 50
_BATCH = 512
_CURVE_RIDGE = 1e-9
_FLOOR = 1e-16
_TOLERANCE = 1e-9  # of a step


def _resolved(wins: np.ndarray, n_test: np.ndarray) -> np.ndarray:
    """Move half a test point down where every distractor is always beaten, or up."""
    half, wins = 0.5 / n_test, wins.copy()
    for full, other in ((-1, -2), (0, 1)):
        excess = np.maximum(wins[:, full] - (1 - half), 0)
        wins[:, full] -= excess
        wins[:, other] += excess
    return wins


def _curve_objective(table: NormalTable, curves: np.ndarray) -> Objective:
    """Return the mean squared error of curves (n_regions, n_sizes)."""

    def objective(parameters: np.ndarray, rows: np.ndarray) -> Derivatives:
        terms = table_derivatives(table, *parameters.T)
        residual = terms[0] - curves[rows]
        value = np.mean(residual**2, 1)
        first = 2 * np.mean(residual * terms[1:3], 2)
        products = terms[[1, 1, 2]] * terms[[1, 2, 2]]
        second = 2 * np.mean(products + residual * terms[3:], 2)
        return _with_ridge(value, first, second, parameters[:, 1], _CURVE_RIDGE)

    return objective


def _likelihood_objective(
    table: NormalTable, wins: np.ndarray, ridge: np.ndarray
) -> Objective:
    """Return the mean negative log-likelihood of wins (n_regions, n_classes)."""
    seen = np.flatnonzero(wins.any(axis=0))  # no others enter the likelihood
    table, wins = table.columns(seen), wins[:, seen]

    def objective(parameters: np.ndarray, rows: np.ndarray) -> Derivatives:
        terms = table_derivatives(table, *parameters.T)
        mass, w = np.maximum(terms[0], _FLOOR), wins[rows]
        score = terms[1:3] / mass
        value = -np.sum(w * np.log(mass), 1)
        first = -np.sum(w * score, 2)
        products = score[[0, 0, 1]] * score[[0, 1, 1]]
        second = np.sum(w * (products - terms[3:] / mass), 2)
        return _with_ridge(value, first, second, parameters[:, 1], ridge[rows])

    return objective


def _with_ridge(
    value: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    log_sd: np.ndarray,
    ridge: np.ndarray | float,
) -> Derivatives:
    """Add ridge (log nu)^2 / 2; stack gradients (m, 2) and Hessians (m, 2, 2)."""
    value = value + 0.5 * ridge * log_sd**2
    gradient = np.stack([first[0], first[1] + ridge * log_sd], 1)
    corner = second[2] + ridge
    hessian = np.stack([second[0], second[1], second[1], corner], 1)
    return value, gradient, hessian.reshape(-1, 2, 2)


class GaussianMixture(Gaussian):
    """Two-parameter extrapolation: U = Phi(W) with W ~ N(mu, nu^2).

    nu = 1 is the high-dimensional limit. Fitted by least squares on the accuracy
    curve, or (few classes) by maximum pseudolikelihood of the wins with a normal
    prior on log nu added to the total log-likelihood.

    Parameters
    ----------
    loss : {"auto", "curve", "likelihood"}, default="auto"
        What is fitted; "auto" takes the likelihood up to 50 classes, the curve beyond.
    ridge_scale : float, default=0.3
        Standard deviation of the prior on log nu, fixed once on simulations that no
        reported figure uses.
    """

    name = "gaussian_mixture"

    def __init__(self, *, loss: str = "auto", ridge_scale: float = 0.3):
        self.loss = check_choice(loss, "loss", ("auto", "curve", "likelihood"))
        self.of_curve_ = loss == "curve"
        if not ridge_scale > 0:
            raise ValueError(f"ridge_scale must be positive, got {ridge_scale}")
        self.ridge_scale = ridge_scale

    def fit(self, sample: WinSample) -> Self:
        if self.loss == "auto":
            self.of_curve_ = sample.n_classes > SMALL_N_CLASSES
        return super().fit(sample)

    def fit_many(self, wins: np.ndarray, n_test: np.ndarray) -> Fit:
        """Fit mu and log nu, from the limit or from a warm start."""
        n_points = np.broadcast_to(np.asarray(n_test, float), len(wins))
        wins, start = _resolved(wins, n_points), self.warm_start
        if start is None:
            start = super().fit_many(wins, n_points)[0]
        start = np.broadcast_to(start, (len(wins), 2))
        lower, upper = np.transpose([MEAN_RANGE, LOG_SD_RANGE])
        fits = [
            minimize_pairs(objective, start[batch], lower, upper)
            for batch, objective in self._objectives(wins, n_points)
        ]
        parameters, converged = zip(*fits, strict=True)
        return np.concatenate(parameters), np.concatenate(converged)

    def _objectives(
        self, wins: np.ndarray, n_test: np.ndarray
    ) -> Iterator[tuple[slice, Objective]]:
        """Yield batches of regions, and what is minimized of each."""
        n_classes = wins.shape[1]
        if self.of_curve_:
            sizes = log_spaced_set_sizes(n_classes, 100)
            weights = accuracy_weights(n_classes, sizes)
            table = power_table(sizes, step=1 / 16)
            for batch in batches(len(wins), _BATCH):
                yield batch, _curve_objective(table, wins[batch] @ weights)
        else:
            table = binomial_table(n_classes)
            for batch in batches(len(wins), _BATCH):
                ridge = 1 / (n_test[batch] * self.ridge_scale**2)
                yield batch, _likelihood_objective(table, wins[batch], ridge)


def minimize_pairs(
    objective: Objective,
    start: ArrayLike,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    max_iter: int = 300,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize many functions of two bounded parameters, each by damped Newton.

    ``objective(parameters, rows)`` returns values (m,), gradients (m, 2) and Hessians
    (m, 2, 2). Returns minimizers (n, 2), and whether the last step of each was at most
    `_TOLERANCE`, or gained less than its square (n,).
    """
    points = np.clip(np.array(start, float), lower, upper)
    rows = np.arange(len(points))
    damping = np.full(len(points), 1e-3)
    value, gradient, hessian = objective(points, rows)
    converged = np.zeros(len(points), bool)
    for _ in range(max_iter):
        step = _newton_step(points[rows], gradient, hessian, damping, lower, upper)
        trial = np.clip(points[rows] + step, lower, upper)
        new = objective(trial, rows)
        better = new[0] <= value
        gain = np.abs(np.einsum("ij,ij->i", gradient, trial - points[rows]))
        small = np.abs(trial - points[rows]).max(1) < _TOLERANCE
        small |= gain <= _TOLERANCE**2 + 1e-16 * np.abs(value)
        points[rows[better]] = trial[better]
        value = np.where(better, new[0], value)
        gradient = np.where(better[:, None], new[1], gradient)
        hessian = np.where(better[:, None, None], new[2], hessian)
        damping = np.where(better, damping * 0.1, damping * 10)
        done = small | (damping > 1e12)
        converged[rows[done]] = True
        keep = ~done
        rows, damping, value = rows[keep], damping[keep], value[keep]
        gradient, hessian = gradient[keep], hessian[keep]
        if not rows.size:
            break
    return points, converged


def _newton_step(
    points: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
    damping: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> np.ndarray:
    """Solve the damped systems, parameters held at a bound they push against."""
    held = ((points <= lower) & (gradient > 0)) | ((points >= upper) & (gradient < 0))
    a, b, c = hessian[:, 0, 0], hessian[:, 0, 1], hessian[:, 1, 1]
    b = np.where(held.any(1), 0, b)
    a, c = np.where(held[:, 0], 1, a), np.where(held[:, 1], 1, c)
    g, h = np.where(held, 0, gradient).T
    center, radius = (a + c) / 2, np.hypot((a - c) / 2, b)
    size = np.maximum(np.abs(center) + radius, 1e-300)
    shift = np.maximum(0, 1e-10 * size - (center - radius))
    a, c = a + shift + damping * np.abs(a), c + shift + damping * np.abs(c)
    det = a * c - b * b
    return np.clip(np.stack([b * h - c * g, b * g - a * h], 1) / det[:, None], -2, 2)
