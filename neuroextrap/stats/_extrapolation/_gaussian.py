"""High-dimensional limit: one number carries the curve from K to every k."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._mixtures import (
    MEAN_RANGE,
    power_table,
    table_derivatives,
    table_means,
)
from neuroextrap.stats._extrapolation._sample import LeftOut, WinSample

_BATCH = 256


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
    for start in range(0, len(shift), _BATCH):
        batch = slice(start, start + _BATCH)
        for _ in range(n_newton):
            value, slope = table_derivatives(table, shift[batch], 0 * shift[batch])[:2]
            step = (accuracy[batch] - value[:, 0]) / np.maximum(slope[:, 0], 1e-12)
            shift[batch] = np.clip(shift[batch] + step, *MEAN_RANGE)
    return shift


class Gaussian(ExtrapolationMethod):
    """One-parameter extrapolation of the high-dimensional limit.

    The shift c solves piBar_K(c) = A_K; the prediction is piBar_k(c), which at
    k = K gives A_K back. An A_K of 0 or 1 is taken to be half a test point away.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", the high-dimensional estimator.
    """

    name = "gaussian"
    uses_scores = False

    def fit(self, sample: WinSample) -> Self:
        observed = clip_to_resolution(sample.wins[-1], sample.n_test)
        self.shift_ = float(invert_gaussian_accuracy(observed, sample.n_classes)[0])
        return self

    def refits(self, parts: LeftOut) -> Iterator[Self]:
        """Invert the accuracies of parts of one size together."""
        shifts = np.empty(len(parts))
        for places, wins, n_test in parts.same_size():
            observed = clip_to_resolution(wins[:, -1], n_test)
            shifts[places] = invert_gaussian_accuracy(observed, wins.shape[1])
        for shift in shifts:
            refit = copy(self)
            refit.shift_ = float(shift)
            yield refit

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return table_means(power_table(set_sizes), self.shift_, 0.0)[0]

    def cdf(self, u: ArrayLike) -> np.ndarray:
        return special.ndtr(special.ndtri(u) - self.shift_)
