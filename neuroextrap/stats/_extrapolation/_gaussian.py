"""High-dimensional limit: one number carries the curve from K to every k."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._method import WinMethod
from neuroextrap.stats._extrapolation._mixtures import (
    MEAN_RANGE,
    batches,
    power_table,
    table_derivatives,
    table_means,
)


def clip_to_resolution(accuracy: ArrayLike, n_test: ArrayLike) -> np.ndarray:
    """Keep accuracies half a test point away from 0 and 1."""
    half = 0.5 / np.asarray(n_test, float)
    return np.clip(accuracy, half, 1 - half)


def invert_gaussian_accuracy(
    accuracy: ArrayLike, n_classes: int, *, n_newton: int = 4
) -> np.ndarray:
    """Return shifts c (n,) with E[Phi(Z + c)^(K - 1)] = accuracy, 0 at chance."""
    accuracy = np.atleast_1d(np.asarray(accuracy, float))
    table = power_table([n_classes])
    grid = np.arange(MEAN_RANGE[0], MEAN_RANGE[1], 0.05)
    curve = np.maximum.accumulate(table_means(table, grid, 0 * grid)[:, 0])
    shift = np.interp(accuracy, curve, grid)
    for batch in batches(len(shift)):
        for _ in range(n_newton):
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
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", the high-dimensional estimator.
    """

    name = "gaussian"

    def fit_many(
        self, wins: np.ndarray, n_test: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the shift, and 0, the log standard deviation of the limit."""
        del start
        observed = clip_to_resolution(wins[:, -1], n_test)
        shift = invert_gaussian_accuracy(observed, wins.shape[1])
        return np.stack([shift, 0 * shift], 1), None

    def curves(self, parameters: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        table, every = power_table(set_sizes), batches(len(parameters))
        return np.concatenate([table_means(table, *parameters[b].T) for b in every])

    def cdf(self, u: ArrayLike) -> np.ndarray:
        mean, log_sd = self.parameters_[0]
        return special.ndtr((special.ndtri(u) - mean) / np.exp(log_sd))
